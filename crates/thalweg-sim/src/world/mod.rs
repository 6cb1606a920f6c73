//! A world of any size: any tile of any level, computed on request.
//!
//! Level 0 is a [`CoarseLevel`]: a recipe solved as a whole ([`Finite`]), or continents solved one by one
//! ([`Continents`]). Every finer level is computed from it by [`local`], tile by tile. A tile's bits do not depend on
//! what was requested before.
//!
//! ```
//! use thalweg_sim::world::World;
//! use thalweg_sim::presets;
//!
//! let mut recipe = presets::find_preset("hills")?;
//! recipe.cells = 32;
//! let world = World::open(&recipe)?;
//! // The tile of cells an eighth as wide about a place, in world metres eastward and southward.
//! let tile = world.tile(3, 5000.0, 6000.0)?;
//! assert_eq!(tile.level, 3);
//! // Water is followed to where it leaves.
//! let way: Vec<_> = world.trace_flow_path(3, 5000.0, 6000.0)?.collect::<thalweg_core::base::error::Result<_>>()?;
//! assert!(way.last().unwrap().end.is_some());
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

mod cache;
mod coarse;
mod continents;
mod finite;
mod flow_path;
mod growth;
mod lazy_value;
mod rivers;
mod tile_selection;
mod tiles;

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::recipe::Recipe;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Cell, CellRect, Error, Progress, Result, Terrain};
use thalweg_models::model::{Growth, Local};
use thalweg_refine as local;
use thalweg_refine::{Frame, Ledger, LocalWindow, Rules, needed_window, refine_with_ledger};

pub use cache::WindowCache;
pub use coarse::{CoarseLevel, CoarseWater};
pub use continents::{ContinentId, Continents};
pub use finite::Finite;
pub use flow_path::{FlowPathCell, FlowPathCells, PathEnd};
pub use rivers::{RiverLine, RiverVertex};
pub use tile_selection::SelectedTile;

/// The default number of cells along a tile's side.
pub const TILE: usize = 512;

/// The range of the numbers of cells that a tile may have along a side.
pub const TILES: [usize; 2] = [16, 4096];

/// The default size of a world's cache in bytes: 512 MiB, which is a few hundred tiles.
pub const DEFAULT_CACHE_BYTES: u64 = 512 << 20;

/// A world at all its levels. Any number of threads may use it at once; a clone shares level 0 and the cache.
#[derive(Clone)]
pub struct World {
    coarse: Arc<dyn CoarseLevel>,
    rules: Rules,
    key: RandomKey,
    identity: u64,
    cache: Arc<WindowCache>,
    tile: usize,
    halo: i64,
    runoff: f64,
    growth: Option<Arc<dyn Growth>>,
}

impl World {
    /// Opens the world of a recipe: the recipe's global level is level 0, and the local forms of its stages define
    /// the finer levels, as in a build of the recipe. Level 0 is solved when a tile first needs it; [`World::solve`]
    /// does so earlier and reports its progress.
    ///
    /// # Errors
    /// Returns the errors of [`Finite::open`] and [`Continents::from_recipe`]; also returns an error if the local forms
    /// result in rules out of range.
    pub fn open(recipe: &Recipe) -> Result<Self> {
        let global = recipe.to_global_recipe()?;
        let coarse: Arc<dyn CoarseLevel> = match recipe.continents() {
            Some(_) => Arc::new(Continents::from_recipe(&global)?),
            None => Arc::new(Finite::open(&global)?),
        };
        let local = recipe.combine_local_forms(coarse.frame().cell);
        let world = Self::new(coarse, local.rules, recipe.seed)?.with_runoff(local.runoff)?;
        Ok(Self { growth: local.growth, ..world })
    }

    /// Creates the world whose level 0 is a whole terrain.
    ///
    /// # Errors
    /// Returns the errors of [`Finite::from_terrain`], [`World::new`].
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{Field, Grid, Height, Terrain};
    /// use thalweg_refine::Rules;
    /// use thalweg_sim::world::World;
    ///
    /// // A valley that slopes down to the east, on cells of 30 m.
    /// let height = |i: usize, j: usize| Height::from_metres_clamped(100.0 + 10.0 * (i as f64 - 16.0).abs() - j as f64);
    /// let terrain = Terrain::from_ground(Grid::new([32, 32], 30.0)?, Field::from_fn([32, 32], height))?;
    /// let world = World::from_terrain(&terrain, Rules::default(), 1)?;
    /// // Two levels on, its cells are 7.5 m wide, and one tile contains all of them.
    /// assert_eq!(world.frame().cell_width(2), 7.5);
    /// let tile = world.tile(2, 480.0, 480.0)?;
    /// assert_eq!(tile.size(), [128, 128]);
    /// assert!(world.height_at(480.0, 480.0, 2)?.is_finite());
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn from_terrain(terrain: &Terrain, rules: Rules, seed: u64) -> Result<Self> {
        Self::new(Arc::new(Finite::from_terrain(terrain, &rules)?), rules, seed)
    }

    /// Creates a world from a level 0, the rules by which finer levels are computed, and the seed of the random
    /// numbers there.
    ///
    /// # Errors
    /// Returns an error if the rules are out of range.
    pub fn new(coarse: Arc<dyn CoarseLevel>, rules: Rules, seed: u64) -> Result<Self> {
        rules.check()?;
        // The identity covers all that determines the cells: level 0, the seed and the rules. Caches are keyed by it.
        let identity = xxh3_64(format!("{:016x} {seed} {rules:?}", coarse.identity()).as_bytes());
        let halo = tiles::compute_halo(coarse.frame(), &rules);
        let (key, cache) = (local::refinement_key(seed), WindowCache::new(DEFAULT_CACHE_BYTES));
        let runoff = Local::new(1.0).runoff;
        Ok(Self { coarse, rules, key, identity, cache, tile: TILE, halo, runoff, growth: None })
    }

    /// Returns the world with another cache for its windows: one cache may serve several worlds. Level 0 is kept even
    /// with a cache of 0 bytes.
    #[must_use]
    pub fn with_cache(mut self, cache: Arc<WindowCache>) -> Self {
        self.cache = cache;
        self
    }

    /// Returns the world with tiles of `side` cells along a side. The cells themselves do not change.
    ///
    /// # Errors
    /// Returns an error if the side is below 16 or above 4096 cells.
    pub fn with_tiles(mut self, side: usize) -> Result<Self> {
        if !(TILES[0]..=TILES[1]).contains(&side) {
            return Err(Error::invalid_value("tile", side, format!("{} to {} cells", TILES[0], TILES[1])));
        }
        self.tile = side;
        Ok(self)
    }

    /// Returns the world with this runoff in metres a year for land under full rain. It scales the discharge of
    /// rivers, and determines where plants grow; with 0 there are no rivers. For example, with 0.5 m a year a river
    /// that drains 100 km² has 1.6 m³/s.
    ///
    /// # Errors
    /// Returns an error if it is below 0 or above 100 m.
    pub fn with_runoff(mut self, metres: f64) -> Result<Self> {
        if !(0.0..=100.0).contains(&metres) {
            return Err(Error::invalid_value("runoff", metres, "0 to 100 m a year"));
        }
        self.runoff = metres;
        Ok(self)
    }

    /// Returns the geometry of the world at all its levels: level 0's cells, their width, the edges and the sea.
    pub fn frame(&self) -> &Frame {
        self.coarse.frame()
    }

    /// Returns the rules by which levels are computed.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the runoff of land under full rain, in metres a year.
    pub fn runoff(&self) -> f64 {
        self.runoff
    }

    /// Returns the cache of its windows.
    pub fn cache(&self) -> &Arc<WindowCache> {
        &self.cache
    }

    /// Returns the number of cells along a tile's side.
    pub fn tile_side(&self) -> usize {
        self.tile
    }

    /// Returns the world's fingerprint: two worlds with the same one have the same cells.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// Returns the number of bytes that level 0 and the cache take now.
    pub fn bytes(&self) -> u64 {
        self.coarse.bytes().saturating_add(self.cache.bytes())
    }

    /// Solves the parts of level 0 that a rectangle of a level needs and that are not solved yet. `progress` receives
    /// a report after each step and may stop the work: the steps done are kept, and the next call continues from
    /// them.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use thalweg_core::{CellRect, ProgressReport};
    /// use thalweg_sim::presets;
    /// use thalweg_sim::world::World;
    ///
    /// let mut recipe = presets::find_preset("hills")?;
    /// recipe.cells = 32;
    /// let world = World::open(&recipe)?;
    /// world.solve(0, CellRect::new([0, 0], [8, 8]), &mut |report: &ProgressReport<'_>| {
    ///     eprintln!("{}: {} of {} steps", report.task, report.done, report.total);
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the world does not have the level or the rectangle, or if level 0 cannot be solved;
    /// [`Error::Stopped`] if `progress` stops the work.
    pub fn solve(&self, level: u32, rect: CellRect<i64>, progress: &mut dyn Progress) -> Result<()> {
        self.check(level, rect)?;
        // From level to level down to 0, each window is what the next finer one needs.
        let need = (1..=level).rev().fold(rect, |rect, finer| needed_window(self.frame(), &self.rules, finer, rect));
        self.coarse.window(need, progress).map(drop)
    }

    /// Returns the exact mass balance of each operator over a rectangle of a level, for the step from the level
    /// before; `None` on level 0, which is solved as a whole. The rectangle is computed again for this, on one
    /// thread.
    ///
    /// # Errors
    /// Returns the errors of [`World::window`].
    pub fn ledger(&self, level: u32, rect: CellRect<i64>) -> Result<Option<Ledger>> {
        self.check(level, rect)?;
        let Some(before) = level.checked_sub(1) else { return Ok(None) };
        let source = self.window(before, needed_window(self.frame(), &self.rules, level, rect))?;
        let (_, ledger) = refine_with_ledger(self.frame(), &self.rules, self.key, &source, rect)?;
        Ok(Some(ledger))
    }

    /// Returns the tile of a level that contains a place, given in world metres eastward and southward. At the edges
    /// of the world tiles are smaller.
    ///
    /// # Errors
    /// Returns the errors of [`World::cell_at`], [`World::tile_at`].
    pub fn tile(&self, level: u32, x: f64, y: f64) -> Result<Arc<LocalWindow>> {
        self.tile_at(level, self.containing_tile(self.cell_at(level, x, y)?))
    }

    /// Returns a tile of a level by its row and column: the tile of row 0 and column 0 has the cells from (0, 0) on.
    /// Where the world begins before that cell there are tiles with negative rows and columns.
    ///
    /// # Errors
    /// Returns an error if the world does not have the level or the tile, if level 0 cannot be solved, or if there is
    /// not enough memory.
    pub fn tile_at(&self, level: u32, tile: Cell<i64>) -> Result<Arc<LocalWindow>> {
        let mut tiles = self.tiles(level, &[tile])?;
        tiles.pop().ok_or_else(|| Error::invalid_value("tiles", 0, "1"))
    }

    /// Returns tiles of a level by their rows and columns, computed in parallel on all threads: faster than one by
    /// one.
    ///
    /// # Errors
    /// Returns the errors of [`World::tile_at`].
    pub fn tiles(&self, level: u32, tiles: &[Cell<i64>]) -> Result<Vec<Arc<LocalWindow>>> {
        self.frame().check(level)?;
        let rects: Vec<CellRect<i64>> =
            tiles.iter().map(|tile| self.checked_tile(level, *tile)).collect::<Result<_>>()?;
        self.load_tiles(level, &rects)
    }

    /// Returns the row and column, among the tiles of a level, of the tile that contains a cell of that level. For
    /// example, with tiles of 512 cells, cell (600, −1) is in tile (1, −1).
    pub fn containing_tile(&self, cell: Cell<i64>) -> Cell<i64> {
        cell.map(|x| x.div_euclid(self.tile as i64))
    }

    /// Returns the cells of a tile of a level, clipped to the world: none for a tile outside. For example, tile (0, 1)
    /// of 512 cells has the columns 512 to 1023.
    pub fn tile_rect(&self, level: u32, tile: Cell<i64>) -> CellRect<i64> {
        let start = tile.map(|x| x.saturating_mul(self.tile as i64));
        CellRect::new(start, [self.tile; 2]).grow_within(0, self.frame().world_rect(level))
    }

    fn checked_tile(&self, level: u32, tile: Cell<i64>) -> Result<CellRect<i64>> {
        let rect = self.tile_rect(level, tile);
        if rect.size().contains(&0) {
            let world = self.frame().world_rect(level);
            let [first, last] = [self.containing_tile(world.start), self.containing_tile(world.end.map(|x| x - 1))];
            let value = format!("row {}, column {} of level {level}", tile.row, tile.col);
            let allowed = format!("rows {} to {}, columns {} to {}", first.row, last.row, first.col, last.col);
            return Err(Error::invalid_value("tile", value, allowed));
        }
        Ok(rect)
    }

    /// Returns any rectangle of a level's cells. For example, a window may cross the borders of tiles.
    ///
    /// # Errors
    /// Returns an error if the world does not have the level; if the rectangle is empty, not inside the world, or of
    /// more than [`MAX_WINDOW_CELLS`](thalweg_refine::MAX_WINDOW_CELLS); if level 0 cannot be solved; or if there is
    /// not enough memory.
    pub fn window(&self, level: u32, rect: CellRect<i64>) -> Result<LocalWindow> {
        self.check(level, rect)?;
        self.fetch_rect(level, rect)
    }

    fn check(&self, level: u32, rect: CellRect<i64>) -> Result<()> {
        self.frame().check(level)?;
        thalweg_refine::check_window(rect, self.frame().world_rect(level))
    }

    /// Returns the cell of a level that contains a place, given in world metres eastward and southward.
    ///
    /// # Errors
    /// Returns an error if the world does not have the level, or the place is outside.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::Cell;
    /// use thalweg_sim::presets::find_preset;
    /// use thalweg_sim::world::World;
    ///
    /// let mut recipe = find_preset("hills")?;
    /// recipe.cells = 32;
    /// let world = World::open(&recipe)?;
    /// // The cells of level 0 are 15 360 / 32 = 480 m wide, those of level 1 half as wide.
    /// assert_eq!(world.cell_at(0, 1000.0, 2000.0)?, Cell::new(4, 2));
    /// assert_eq!(world.cell_at(1, 1000.0, 2000.0)?, Cell::new(8, 4));
    /// assert!(world.cell_at(0, -1.0, 0.0).is_err());
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn cell_at(&self, level: u32, x: f64, y: f64) -> Result<Cell<i64>> {
        self.frame().check(level)?;
        let (world, width) = (self.frame().world_rect(level), self.frame().cell_width(level));
        let [Cell { row: top, col: left }, Cell { row: bottom, col: right }] =
            [world.start, world.end].map(|cell| cell.map(|x| x as f64 * width));
        // The place is outside, or a coordinate is not a number.
        if !((left..=right).contains(&x) && (top..=bottom).contains(&y)) {
            let allowed = format!("{left} to {right} m eastward, {top} to {bottom} m southward");
            return Err(Error::invalid_value("place", format!("{x} m, {y} m"), allowed));
        }
        // The far edges belong to the last cells.
        let cell = |x: f64, axis: usize| ((x / width).floor() as i64).clamp(world.start[axis], world.end[axis] - 1);
        Ok(Cell { row: cell(y, 0), col: cell(x, 1) })
    }

    /// Returns the elevation in metres at a place, in world metres eastward and southward, on a level. It is
    /// interpolated bilinearly between the centres of the four surrounding cells, so it is continuous; within half a
    /// cell of the world's edge it is that of the outermost cells.
    ///
    /// # Errors
    /// Returns the errors of [`World::cell_at`], [`World::tile_at`].
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{Field, Grid, Height, Terrain};
    /// use thalweg_refine::Rules;
    /// use thalweg_sim::world::World;
    ///
    /// let height = |i: usize, j: usize| Height::from_metres_clamped(100.0 + 10.0 * (i as f64 - 16.0).abs() - j as f64);
    /// let terrain = Terrain::from_ground(Grid::new([32, 32], 30.0)?, Field::from_fn([32, 32], height))?;
    /// let world = World::from_terrain(&terrain, Rules::default(), 1)?;
    /// // At the centre of a cell it is that of the cell.
    /// let tile = world.tile(0, 15.0, 15.0)?;
    /// assert_eq!(world.height_at(15.0, 15.0, 0)?, tile.ground[(0, 0)].metres());
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn height_at(&self, x: f64, y: f64, level: u32) -> Result<f64> {
        self.cell_at(level, x, y)?;
        let (world, width) = (self.frame().world_rect(level), self.frame().cell_width(level));
        let [(row, v), (col, u)] = [(y, 0), (x, 1)].map(|(metres, axis)| {
            let place = (metres / width - 0.5).clamp(world.start[axis] as f64, (world.end[axis] - 1) as f64);
            // A world of one row has no second one.
            let first = (place.floor() as i64).min(world.end[axis] - 2).max(world.start[axis]);
            (first, place - first as f64)
        });
        let four = CellRect::new([row, col], [2, 2]).grow_within(0, world);
        let window = self.cut_from_tiles(level, four)?;
        let at = |i: usize, j: usize| {
            let [rows, cols] = window.size();
            window.ground[(i.min(rows - 1), j.min(cols - 1))].metres()
        };
        let across = |i: usize| at(i, 0) + u * (at(i, 1) - at(i, 0));
        Ok(across(0) + v * (across(1) - across(0)))
    }

    /// Returns a few cells, cut from the tiles that contain them, because nearby cells are likely to be requested
    /// next. Without enough cache only these cells are computed.
    fn cut_from_tiles(&self, level: u32, rect: CellRect<i64>) -> Result<LocalWindow> {
        // If not even one tile fits into the cache, it would be computed again for each request.
        if self.cache.byte_limit() < LocalWindow::BYTES * (self.tile * self.tile) as u64 {
            return self.fetch_rect(level, rect);
        }
        let [first, last] = [self.containing_tile(rect.start), self.containing_tile(rect.end.map(|x| x - 1))];
        if first == last {
            return self.tile_at(level, first)?.crop(rect);
        }
        let tiles: Vec<_> = CellRect::from_corners(first, last.map(|x| x + 1)).cells().collect();
        let mut window = LocalWindow::blank(level, rect);
        self.tiles(level, &tiles)?.iter().for_each(|tile| window.paste(tile));
        Ok(window)
    }

    /// Returns the flow path from a place (world metres eastward and southward) down to where it ends, cell by cell
    /// of a level.
    ///
    /// # Errors
    /// Returns the errors of [`World::cell_at`].
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{Field, Grid, Height, Result, Terrain};
    /// use thalweg_refine::Rules;
    /// use thalweg_sim::world::{PathEnd, World};
    ///
    /// let height = |i: usize, j: usize| Height::from_metres_clamped(100.0 + 10.0 * (i as f64 - 16.0).abs() - j as f64);
    /// let terrain = Terrain::from_ground(Grid::new([32, 32], 30.0)?, Field::from_fn([32, 32], height))?;
    /// let world = World::from_terrain(&terrain, Rules::default(), 1)?;
    /// let path: Vec<_> = world.trace_flow_path(1, 45.0, 45.0)?.collect::<Result<_>>()?;
    /// assert!(path.windows(2).all(|pair| pair[1].height <= pair[0].height));
    /// // The edges are open: the water leaves the world.
    /// assert_eq!(path.last().unwrap().end, Some(PathEnd::Rim));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn trace_flow_path(&self, level: u32, x: f64, y: f64) -> Result<FlowPathCells<'_>> {
        Ok(FlowPathCells::new(self, level, self.cell_at(level, x, y)?))
    }
}
