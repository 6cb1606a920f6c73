//! [`BuildJob`]: builds a recipe's world on a level of any size, into a store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thalweg_core::terrain::{DRAINAGE_AREA, LAKE, TileGrid};
use thalweg_core::{Cell, CellRect, Error, Georeference, Grid, Result, Size};
use thalweg_flow::D8;
use thalweg_io::{SampleType, Samples};
use thalweg_refine::LocalWindow;
use thalweg_sim::recipe::{Recipe, RefinementMethod};
use thalweg_sim::world::{Finite, WindowCache, World};
use thalweg_tiled::{Product, Summaries, TileInput, TileLayer, TileOutput, TilePass};

use super::{JobSetup, stored_layer_spec};
use crate::products::ProductWriter;
use crate::stored_level::StoredLevel;
use crate::{StoreSpec, StoredLayer, sidecar_path};

/// A recipe's world with all the cells that the recipe specifies: solved as a whole up to its last global level, and
/// refined tile by tile beyond that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuildJob {
    /// The recipe as TOML.
    pub recipe: String,
    /// The level that is built.
    pub level: u32,
    /// The cells of the level that are built; `None` for the whole level. A job's file contains their first row and
    /// column in the world and their numbers of rows and columns.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "write_part",
        deserialize_with = "read_part"
    )]
    pub part: Option<CellRect<i64>>,
}

impl BuildJob {
    /// Makes the job for a recipe. Levels beyond the first local one that the recipe would solve as a whole are
    /// refined instead.
    ///
    /// # Errors
    /// Returns an error that gives the reason if the recipe has no local levels.
    pub fn from_recipe(recipe: &Recipe) -> Result<Self> {
        let mut recipe = recipe.with_absolute_paths()?;
        // A level solved as a whole needs the memory of all its cells, so finer levels are refined by tiles instead.
        if recipe.levels().beyond == RefinementMethod::Global {
            recipe.set_refinement_method(RefinementMethod::LOCAL)?;
        }
        let level = recipe.local_levels()?;
        Ok(Self { recipe: recipe.to_toml(), level, part: None })
    }

    /// Makes the job for a rectangle of any level, given by its west, north, east and south sides in world metres
    /// eastward and southward, or for the whole level if none is given. All cells that the rectangle touches are
    /// included. Level 0 is the recipe's global one; the default is the recipe's last level.
    ///
    /// # Errors
    /// Returns the errors of [`BuildJob::from_recipe`]; also returns an error if the world does not have the level, if
    /// the rectangle is empty or not inside the world, or if no rectangle is given for an unbounded world.
    pub fn from_recipe_part(recipe: &Recipe, level: Option<u32>, within: Option<[f64; 4]>) -> Result<Self> {
        let job = Self::from_recipe(recipe)?;
        let world = World::open(&job.parse_recipe()?)?;
        let (frame, level) = (world.frame(), level.unwrap_or(job.level));
        frame.check(level)?;
        let Some([west, north, east, south]) = within else {
            return Ok(Self { level, ..job });
        };
        let said = format!("{west},{north},{east},{south}");
        if !(west < east && north < south && [west, north, east, south].iter().all(|x| x.is_finite())) {
            let allowed = "W,N,E,S in metres, with W less than E and N less than S (y grows to the south)";
            return Err(Error::invalid_value("rect", said, allowed));
        }
        let (width, whole) = (frame.cell_width(level), frame.world_rect(level));
        // Rounding outwards includes every cell that the rectangle touches.
        let start = [north, west].map(|metres| (metres / width).floor() as i64);
        let end = [south, east].map(|metres| (metres / width).ceil() as i64);
        let rect = CellRect::from_corners(start, end);
        if !whole.contains(&rect) {
            let [from, to] = [whole.start, whole.end].map(|cell| cell.map(|at| at as f64 * width));
            let (top, left, bottom, right) = (from.row, from.col, to.row, to.col);
            let allowed =
                format!("a part of the world, which extends from W,N = {left},{top} to E,S = {right},{bottom} m");
            return Err(Error::invalid_value("rect", said, allowed));
        }
        Ok(Self { level, part: Some(rect), ..job })
    }

    /// The cells that are built.
    fn target_rect(&self, world: &World) -> Result<CellRect<i64>> {
        match self.part {
            Some(rect) => Ok(rect),
            None if self.parse_recipe()?.continents().is_some() => {
                let need = "a world with `continents` has no end, so give the part to build as W,N,E,S in metres";
                Err(Error::missing_input("rect", need))
            }
            None => Ok(world.frame().world_rect(self.level)),
        }
    }

    fn parse_recipe(&self) -> Result<Recipe> {
        Recipe::parse(&self.recipe)
    }

    /// Opens the world, with level 0 stored in the file `kept` once it is solved.
    fn open_world(&self, kept: PathBuf) -> Result<World> {
        let recipe = self.parse_recipe()?;
        // Level 0 is solved by the first process that needs it and kept in a file next to the store for all others.
        let global = recipe.to_global_recipe()?;
        if recipe.continents().is_some() {
            return World::open(&recipe);
        }
        let coarse = StoredLevel::new(Finite::open(&global)?, kept);
        let local = recipe.combine_local_forms(thalweg_sim::world::CoarseLevel::frame(&coarse).cell);
        World::new(Arc::new(coarse), local.rules, recipe.seed)?.with_runoff(local.runoff)
    }

    pub(super) fn set_up(&self, side: usize, store: &Path) -> Result<JobSetup> {
        let recipe = self.parse_recipe()?;
        let world = self.open_world(sidecar_path(store, "level0"))?.with_cache(WindowCache::new(0));
        let rect = self.target_rect(&world)?;
        let cell = world.frame().cell_width(self.level);
        let mut grid = Grid::new_windowed(rect.size(), cell)?;
        (grid.edges, grid.sea_level) = (world.frame().edges, world.frame().sea);
        let area = StoredLayer {
            unit: DRAINAGE_AREA.unit.to_string(),
            ..StoredLayer::new(DRAINAGE_AREA.name, SampleType::F32, 0.0)
        };
        let layers = vec![
            stored_layer_spec(TileLayer::Height),
            stored_layer_spec(TileLayer::Direction),
            area,
            stored_layer_spec(TileLayer::Lake),
        ];
        let mut spec = StoreSpec::new(rect.size(), side, cell, "", layers);
        // A part keeps its position in the world; world metres count southward, whereas northing counts northward.
        let placed = recipe.world_place().map(|place| place.georeference(cell));
        let whole = || Georeference { transform: Some([0.0, cell, 0.0, 0.0, 0.0, -cell]), ..Georeference::default() };
        let Cell { row, col } = self.part.map_or(Cell::new(0, 0), |rect| rect.start);
        spec.georeference = placed.or_else(|| self.part.map(|_| whole()));
        if let Some([x, _, _, y, _, _]) = spec.georeference.as_mut().and_then(|place| place.transform.as_mut()) {
            (*x, *y) = (*x + col as f64 * cell, *y - row as f64 * cell);
        }
        let refined = Refined { start: rect.start, world, level: self.level, tiles: spec.tile_grid()? };
        let products = ProductWriter { grid, has_outlines: false };
        Ok(JobSetup { products, spec, passes: vec![Box::new(refined)], held_bytes: vec![0] })
    }
}

/// Serializes a part as its first cell and its size.
fn write_part<S: Serializer>(part: &Option<CellRect<i64>>, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    part.map(|rect| (rect.start, rect.size())).serialize(serializer)
}

/// Deserializes the form that [`write_part`] writes.
fn read_part<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<CellRect<i64>>, D::Error> {
    let part = Option::<(Cell<i64>, Size)>::deserialize(deserializer)?;
    Ok(part.map(|(start, size)| CellRect::new(start, size)))
}

/// The pass that computes the tiles of a level, each from the cells that it needs of the coarser levels.
struct Refined {
    world: World,
    level: u32,
    start: Cell<i64>,
    tiles: TileGrid,
}

impl TilePass for Refined {
    fn name(&self) -> &str {
        "refine"
    }

    fn output_layers(&self) -> Vec<String> {
        let names = [TileLayer::Height.name(), TileLayer::Direction.name(), DRAINAGE_AREA.name, LAKE.name];
        names.map(String::from).to_vec()
    }

    fn tile_bytes(&self, tiles: &TileGrid) -> u64 {
        // 40 bytes per cell for the tile and the coarser levels, each a quarter of the next finer one; and one piece
        // of 1400 × 1400 cells that is being computed with its margins.
        let side = tiles.tile_size() as u64;
        40 * side * side + 100 * 1400 * 1400
    }

    fn run_tile(&self, TileInput { tile, .. }: TileInput<'_>) -> Result<TileOutput> {
        let window = self.tiles.tile_window(tile);
        let start = Cell::from_axes(|axis| self.start[axis] + window.start[axis] as i64);
        let LocalWindow { ground, receivers, area, lakes, .. } =
            self.world.window(self.level, CellRect::new(start, window.size()))?;
        let heights = ground.as_slice().iter().map(|height| height.0).collect();
        // Flow directions in ESRI's encoding: 0 where water leaves the map.
        let codes = receivers.as_slice().iter().map(|code| D8::from_code(*code).map_or(0, D8::to_esri)).collect();
        // Without runoff, depressions are dry, so there are no lakes.
        let lakes = lakes
            .filter(|_| self.world.runoff() > 0.0)
            .map_or_else(|| vec![0; area.len()], |lakes| lakes.id.into_vec());
        let layers =
            vec![Samples::I32(heights), Samples::U8(codes), Samples::F32(area.into_vec()), Samples::U32(lakes)];
        Ok(TileOutput { layers, ..TileOutput::default() })
    }

    fn solve(&self, _: &dyn Summaries, found: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>> {
        found(Product::Figure("level", self.level.into()))?;
        Ok(Vec::new())
    }
}
