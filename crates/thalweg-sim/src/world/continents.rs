//! [`Continents`]: an endless level 0 of continents in a sea. Each one is the recipe with a seed of its own, solved
//! when it is first needed.

use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use crate::recipe::{Recipe, Scatter};
use crate::run::Run;
use crate::world::coarse::{Solved, finish_run};
use crate::world::lazy_value::LazyValue;
use crate::world::{CoarseLevel, CoarseWater};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::RAIN;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, CellRect, Edge, Error, Field, Grid, Height, Progress, Result, Size, Terrain};
use thalweg_flow::OUT;
use thalweg_noise::fractal::{Fractal, FractalSettings};
use thalweg_refine::{Frame, LocalWindow};

/// Rows and columns of the world's level 0: half of them before the origin, half after it.
const CELLS: usize = 1 << 30;

/// The number of continents that are kept. The least recently used one is dropped first; when it is solved again, it
/// is the same.
const MAX_KEPT_CONTINENTS: usize = 12;

/// Share of a continent's side over which its terrain blends into the open sea's floor.
const RIM: f64 = 0.05;

/// The longest waves of the sea's floor, as a share of a continent's longer side, and their standard deviation, as a
/// share of the depth.
const WAVES: f64 = 0.25;
const SWELL: f64 = 0.06;

/// Row and column of a square of the lattice, which identify the continent in it.
pub type ContinentId = Cell<i64>;

/// The square whose continent is the recipe itself.
const MIDDLE: ContinentId = Cell::new(0, 0);

/// Level 0 of an endless world.
///
/// The plane is a lattice of squares. Each contains one map of the recipe or none. A map's position in its square is
/// random, but determined by its [`ContinentId`]; maps never overlap. Each map's seed is determined by its id too, and
/// parameters that depend on latitude follow the map's place in the world
/// ([`Model::shift_map_origin`](thalweg_models::model::Model::shift_map_origin)). The map of row 0 and column 0 is the recipe itself, in
/// the middle of the world. Between maps there is sea, whose floor is one function of position; over the outermost
/// twentieth of its side a map's terrain blends into that floor, so that there is no visible edge.
pub struct Continents {
    recipe: Recipe,
    /// Depth of the open sea's floor below sea level in metres, spacing, and share of empty squares.
    scatter: Scatter,
    frame: Frame,
    /// Grid of one map, and the number of cells along a side of a square.
    map: Grid,
    square: i64,
    key: RandomKey,
    floor: Fractal,
    /// Continents in the order of their last use.
    solved: Mutex<Vec<(ContinentId, Arc<CachedContinent>)>>,
}

/// A continent, and the run that solves it until it is solved.
#[derive(Default)]
struct CachedContinent {
    whole: LazyValue<Solved>,
    run: Mutex<Option<Run>>,
}

impl Continents {
    /// Opens the world of a recipe that specifies how its continents are distributed.
    ///
    /// # Errors
    /// Returns an error if the recipe has no `continents`, no extent or no sea level, or if its map is wider than a
    /// square; also returns the errors of [`Run::check`].
    pub fn from_recipe(recipe: &Recipe) -> Result<Self> {
        let Some(scatter) = recipe.continents() else {
            return Err(Error::Recipe(
                "this recipe has no `continents`, so its world ends at its extent; add `continents` for an endless \
                 world"
                    .into(),
            ));
        };
        Run::check(recipe)?;
        let map = recipe.last_grid()?;
        let Some(sea) = map.sea_level else {
            return Err(Error::Recipe(
                "`continents` only applies to a recipe with `sea_level`; add `sea_level = 0.0`".into(),
            ));
        };
        let square = (scatter.spacing / map.cell).floor() as i64;
        let longest = map.rows().max(map.cols()) as i64;
        if square < longest {
            let allowed = format!("{} m or more, the longer side of the extent", longest as f64 * map.cell);
            return Err(Error::invalid_value("continents.spacing", format!("{} m", scatter.spacing), allowed));
        }
        let key = RandomKey::new(recipe.seed, "continents");
        let waves = WAVES * longest as f64 * map.cell;
        let half = (CELLS / 2) as i64;
        Ok(Self {
            frame: Frame {
                first: Cell::new(-half, -half),
                cells: [CELLS; 2],
                cell: map.cell,
                edges: [Edge::Open; 4],
                sea: Some(sea),
            },
            floor: Fractal::new(&FractalSettings::fbm(12, waves, 0.5), None, key.derive_key(0), map.cell),
            recipe: recipe.clone(),
            scatter,
            map,
            square,
            key,
            solved: Mutex::default(),
        })
    }

    /// Returns the square of the lattice that contains a cell of level 0.
    pub fn id_at(&self, cell: Cell<i64>) -> ContinentId {
        // The origin is in the middle of square (0, 0), hence half a square is added before the division, which rounds
        // down.
        cell.map(|x| (x + self.square / 2).div_euclid(self.square))
    }

    /// Returns the cells of level 0 that the map of an id covers; `None` if the square is empty, or the map would
    /// extend beyond the world.
    pub fn map_rect(&self, id: ContinentId) -> Option<CellRect<i64>> {
        // The numbers of the derived keys are part of the world: another number would move every continent.
        let key = self.key.derive_key(1).for_cell(id);
        let middle = id == MIDDLE;
        if !middle && key.derive_key(0).uniform_unit() < self.scatter.empty {
            return None;
        }
        // The map keeps a random distance from the sides of its square; that of the recipe itself is in the middle.
        let start = Cell::from_axes(|axis| {
            // There are `room` + 1 positions, and the share is below 1, so the map never leaves its square.
            let room = self.square - self.map.size[axis] as i64;
            let part = if middle { 0.5 } else { key.derive_key(1 + axis as u64).uniform_unit() };
            id[axis] * self.square - self.square / 2 + (part * (room + 1) as f64) as i64
        });
        let map = CellRect::new(start, self.map.size);
        self.frame.world_rect(0).contains(&map).then_some(map)
    }

    /// Returns the recipe of an id's continent: with a seed of its own, and moved to its latitude. For an empty
    /// square it is the unchanged recipe.
    pub fn continent_recipe(&self, id: ContinentId) -> Recipe {
        let mut recipe = self.recipe.clone();
        if let (Some(map), true) = (self.map_rect(id), id != MIDDLE) {
            recipe.seed = self.key.derive_key(2).for_cell(id).random_bits();
            let middle = |axis: usize| 0.5 * (map.start[axis] + map.end[axis]) as f64 * self.map.cell;
            let by = [middle(1), middle(0)];
            recipe.stages.iter_mut().for_each(|stage| stage.model.shift_map_origin(by));
        }
        recipe
    }

    /// Returns the continent of an id, and marks it as the most recently used one.
    fn fetch_continent(&self, id: ContinentId) -> Arc<CachedContinent> {
        let mut solved = self.solved.lock().unwrap_or_else(PoisonError::into_inner);
        let found = solved.iter().position(|(other, _)| *other == id).map(|at| solved.remove(at));
        let (_, continent) = found.unwrap_or_default();
        // The list is in the order of last use; the most recently used continent is the last item.
        solved.push((id, continent.clone()));
        // A continent that is being solved stays alive, because the thread that solves it has a reference to it.
        while solved.len() > MAX_KEPT_CONTINENTS {
            solved.remove(0);
        }
        continent
    }

    /// Solves the continent of an id on its map's cells; continues where an earlier call was stopped.
    fn solve(
        &self,
        id: ContinentId,
        map: CellRect<i64>,
        continent: &CachedContinent,
        progress: &mut dyn Progress,
    ) -> Result<Solved> {
        let mut place = continent.run.lock().unwrap_or_else(PoisonError::into_inner);
        let run = match &mut *place {
            Some(run) => run,
            none => {
                self.recipe.check_memory(&self.map)?;
                none.insert(Run::new(self.continent_recipe(id))?)
            }
        };
        finish_run(run, &format!("continent {} {}", id[0], id[1]), progress)?;
        let Some(run) = place.take() else {
            return Err(Error::unsupported("a continent", "cannot be solved, because its run is missing"));
        };
        let rules = run.recipe().combine_local_forms(self.frame.cell).rules;
        let mut terrain = run.into_terrain();
        // Its other layers and tables are not needed here.
        terrain.layers.retain(|name, _| name == RAIN.name);
        terrain.tables.clear();
        self.sink_rim(&mut terrain, map);
        let (_, mut solved) = Solved::from_terrain(&terrain, &rules)?;
        solved.window.rect = map;
        if let Some(lakes) = solved.window.lakes.as_mut().filter(|_| id != MIDDLE) {
            // Each map numbers its lakes from 1, so those of other maps begin with a number of their own.
            let first = (self.key.derive_key(3).for_cell(id).random_bits() as u32 & 0x7fff) << 16;
            // 0 means no lake, so a number that wraps to 0 becomes 1.
            let number = |lake: &u32| if *lake == 0 { 0 } else { lake.wrapping_add(first).max(1) };
            lakes.id = lakes.id.map(number);
        }
        Ok(solved)
    }

    /// Returns the continents whose maps a rectangle touches, with the rectangles of these maps.
    fn find_touched_continents(&self, rect: CellRect<i64>) -> impl Iterator<Item = (ContinentId, CellRect<i64>)> + '_ {
        let [first, last] = [self.id_at(rect.start), self.id_at(rect.end.map(|end| end - 1))];
        let ids = CellRect::from_corners(first, last.map(|last| last + 1)).cells();
        let maps = ids.filter_map(|id| Some((id, self.map_rect(id)?)));
        maps.filter(move |(_, map)| !map.grow_within(0, rect).size().contains(&0))
    }

    /// Blends the terrain into the open sea's floor towards the map's rim.
    fn sink_rim(&self, terrain: &mut Terrain, map: CellRect<i64>) {
        let [rows, cols] = self.map.size;
        let band = RIM * rows.max(cols) as f64;
        // The distance is measured from the map's side to the cell's centre, in widths of the band.
        let from_rim = |at: usize, size: usize| (at.min(size - 1 - at) as f64 + 0.5) / band;
        terrain.ground.par_rows_mut().for_each(|(i, row)| {
            let mut floor = Vec::new();
            for (j, height) in row.iter_mut().enumerate() {
                let t = from_rim(i, rows).min(from_rim(j, cols));
                if t < 1.0 {
                    // The floor of a row is computed once, at the row's first cell in the band.
                    if floor.is_empty() {
                        floor = self.floor_row(map.start[0] + i as i64, map.start[1], cols);
                    }
                    // A smoothstep joins the map and the floor without a crease at either end of the band.
                    let weight = t * t * (3.0 - 2.0 * t);
                    let [low, high] = [floor[j], *height].map(|height| f64::from(height.0));
                    height.0 = (low + weight * (high - low)).floor() as i32;
                }
            }
        });
    }

    /// Returns the elevations of the open sea's floor for `count` cells of a row of level 0.
    fn floor_row(&self, row: i64, col: i64, count: usize) -> Vec<Height> {
        let grid = Grid { size: [1, count], origin: Cell::new(row, col), ..self.map.clone() };
        let mut values = vec![0.0; count];
        self.floor.fill_row(&grid, 0, &mut values);
        let sea = self.frame.sea.unwrap_or(Height::ZERO);
        // The noise has a standard deviation of a third. At least half of the depth stays under water everywhere.
        let depth = |value: f32| self.scatter.depth * (1.0 + 3.0 * SWELL * f64::from(value)).max(0.5);
        let height = |value: &f32| sea.0.saturating_sub((depth(*value) * UNITS) as i32).max(Height::MIN.0);
        // The floor is at least one unit below the sea, so that no cell of it counts as land.
        values.iter().map(|value| Height(height(value).min(sea.0 - 1))).collect()
    }

    /// Returns a rectangle of open sea.
    fn open_sea_window(&self, rect: CellRect<i64>) -> LocalWindow {
        let size: Size = rect.size();
        let mut ground = Field::new(size, Height::ZERO);
        ground.par_rows_mut().for_each(|(i, row)| {
            row.copy_from_slice(&self.floor_row(rect.start[0] + i as i64, rect.start[1], size[1]));
        });
        LocalWindow {
            level: 0,
            rect,
            ground,
            receivers: Field::new(size, OUT),
            area: Field::new(size, (self.frame.cell * self.frame.cell) as f32),
            lakes: None,
            loose: None,
        }
    }
}

impl CoarseLevel for Continents {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Open sea needs nothing to be solved; every map that the rectangle touches is solved, whatever is in the shared
    /// part.
    fn window(&self, rect: CellRect<i64>, progress: &mut dyn Progress) -> Result<LocalWindow> {
        thalweg_refine::check_window(rect, self.frame.world_rect(0))?;
        let mut window = self.open_sea_window(rect);
        for (id, map) in self.find_touched_continents(rect) {
            let continent = self.fetch_continent(id);
            // Maps do not overlap, so the order of pasting does not matter.
            window.paste(&continent.whole.get_or_make(|| self.solve(id, map, &continent, progress))?.window);
        }
        Ok(window)
    }

    fn water(&self, rect: CellRect<i64>, progress: &mut dyn Progress) -> Result<Option<CoarseWater>> {
        thalweg_refine::check_window(rect, self.frame.world_rect(0))?;
        let mut water: Option<CoarseWater> = None;
        for (id, map) in self.find_touched_continents(rect) {
            let continent = self.fetch_continent(id);
            let solved = continent.whole.get_or_make(|| self.solve(id, map, &continent, progress))?;
            if let Some(of_map) = &solved.water {
                let shared = map.grow_within(0, rect);
                let water = water.get_or_insert_with(|| CoarseWater::blank(rect, self.frame.cell * self.frame.cell));
                water.paste(rect, &of_map.crop_to(map, shared)?, shared);
            }
        }
        Ok(water)
    }

    fn bytes(&self) -> u64 {
        let solved = self.solved.lock().unwrap_or_else(PoisonError::into_inner);
        solved.iter().filter_map(|(_, continent)| continent.whole.get()).map(Solved::bytes).sum()
    }

    fn identity(&self) -> u64 {
        xxhash_rust::xxh3::xxh3_64(self.recipe.to_toml().as_bytes())
    }
}
