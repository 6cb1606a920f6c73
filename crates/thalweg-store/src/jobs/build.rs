//! [`BuildJob`]: a recipe's world on a level of any size, into a store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thalweg::Result;
use thalweg::io::{SampleType, Samples};
use thalweg::local::{LocalWindow, Rect};
use thalweg::recipe::{Beyond, Recipe};
use thalweg::terrain::grid::Grid;
use thalweg::terrain::{CATCHMENT, LAKE};
use thalweg::tiled::{TileLayer, Tiling};
use thalweg::world::{Cache, Finite, World};

use super::{Layout, spec_of};
use crate::kept::Kept;
use crate::stage::{Answers, Need, Stage};
use crate::{LayerSpec, StoreSpec};

/// A recipe's world with all cells that it asks for: solved whole up to its last global level, refined tile by tile beyond.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuildJob {
    /// The recipe as TOML.
    pub recipe: String,
    /// The finest level.
    pub level: u32,
}

impl BuildJob {
    /// The job for a recipe; levels that it would solve whole beyond its first local one are refined.
    ///
    /// # Errors
    /// A recipe that has no local levels, and why.
    pub fn of(recipe: &Recipe) -> Result<Self> {
        let recipe = Recipe { beyond: Beyond::Local, ..recipe.absolute()? };
        let level = recipe.local_levels()?;
        Ok(Self { recipe: recipe.to_toml(), level })
    }

    fn recipe(&self) -> Result<Recipe> {
        Recipe::parse(&self.recipe)
    }

    /// The world, whose level 0 is kept in a file once it is solved.
    fn world(&self, kept: PathBuf) -> Result<World> {
        let recipe = self.recipe()?;
        let global = recipe.global()?;
        if recipe.continents.is_some() {
            return World::open(&recipe);
        }
        let coarse = Kept::new(Finite::open(&global)?, kept);
        let local = recipe.local(thalweg::world::Coarse::frame(&coarse).cell);
        World::new(Arc::new(coarse), local.rules, recipe.seed)?.with_runoff(local.runoff)
    }

    pub(super) fn layout(&self, side: usize) -> Result<Layout> {
        let world = World::open(&self.recipe()?)?;
        let rect = world.frame().world(self.level);
        let cell = world.frame().width(self.level);
        let mut grid = Grid::of_windows(rect.size(), cell)?;
        (grid.edges, grid.sea_level) = (world.frame().edges, world.frame().sea);
        let area =
            LayerSpec { unit: CATCHMENT.unit.to_string(), ..LayerSpec::new(CATCHMENT.name, SampleType::F32, 0.0) };
        let layers = vec![
            spec_of(TileLayer::Height),
            spec_of(TileLayer::Direction),
            area,
            LayerSpec::new(LAKE.name, SampleType::U32, 0.0),
        ];
        let spec = StoreSpec::new(rect.size(), side, cell, "", layers);
        Ok(Layout { grid, spec })
    }

    pub(super) fn stages(&self, layout: &Layout, store: &Path) -> Result<Vec<Box<dyn Stage>>> {
        let tiling = Tiling::new(layout.spec.size, layout.spec.side)?;
        let world = self.world(crate::stage::beside(store, "level0"))?.with_cache(Cache::new(0));
        Ok(vec![Box::new(Refined { start: world.frame().world(self.level).start, world, level: self.level, tiling })])
    }
}

/// Tiles of the level, each out of what it needs of the levels before.
struct Refined {
    world: World,
    level: u32,
    start: [i64; 2],
    tiling: Tiling,
}

impl Stage for Refined {
    fn name(&self) -> &str {
        "refine"
    }

    fn reads(&self) -> Vec<Need> {
        Vec::new()
    }

    fn writes(&self) -> Vec<String> {
        let names = [TileLayer::Height.name(), TileLayer::Direction.name(), CATCHMENT.name, LAKE.name];
        names.map(String::from).to_vec()
    }

    fn bytes(&self) -> u64 {
        // The tile and the levels before it, each a quarter of the next; and one piece that is worked on with its margins.
        let side = self.tiling.side() as u64;
        40 * side * side + 100 * 1400 * 1400
    }

    fn tile(&self, tile: usize, _: Vec<Samples>, _: &[u8]) -> Result<(Vec<Samples>, Vec<u8>)> {
        let window = self.tiling.window(tile);
        let start = [0, 1].map(|axis| self.start[axis] + window.start[axis] as i64);
        let LocalWindow { ground, receivers, area, lakes, .. } =
            self.world.window(self.level, Rect::new(start, window.size))?;
        let heights = ground.as_slice().iter().map(|height| height.0).collect();
        // ESRI's codes: 0 where water leaves.
        let codes = receivers.as_slice().iter().map(|code| 1u8.checked_shl(u32::from(*code)).unwrap_or(0)).collect();
        let lakes = lakes.map_or_else(|| vec![0; area.len()], |lakes| lakes.id.into_vec());
        Ok((
            vec![Samples::I32(heights), Samples::U8(codes), Samples::F32(area.into_vec()), Samples::U32(lakes)],
            Vec::new(),
        ))
    }

    fn solve(&self, _: Vec<Vec<u8>>, _: &Path) -> Result<Answers> {
        let mut answers = Answers::default();
        answers.found.insert("level".into(), self.level.into());
        Ok(answers)
    }
}
