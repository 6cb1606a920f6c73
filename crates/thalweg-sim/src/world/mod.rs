//! A world of any size: any tile of any level, made as it is asked for.
//!
//! Level 0 is a [`Coarse`]: a recipe solved whole ([`Finite`]), or continents solved one by one ([`Continents`]). Every finer level is made
//! of it by [`local`], tile by tile, the same bits whatever was asked for before.
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
//! let way: Vec<_> = world.follow(3, 5000.0, 6000.0)?.collect::<thalweg_core::base::error::Result<_>>()?;
//! assert!(way.last().unwrap().end.is_some());
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

mod around;
mod cache;
mod coarse;
mod continents;
mod finite;
mod follow;
mod growth;
mod once;
mod rivers;
mod tiles;

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::recipe::Recipe;
use thalweg_core::base::rng::Key;
use thalweg_core::{Cell, CellRect, Error, Progress, Result, Terrain};
use thalweg_models::model::{Growth, Local};
use thalweg_refine as local;
use thalweg_refine::{Frame, Ledger, LocalWindow, Rules, needed_window, refine_with_ledger};

pub use around::Wanted;
pub use cache::Cache;
pub use coarse::{Coarse, CoarseWater};
pub use continents::{Continents, Id};
pub use finite::Finite;
pub use follow::{End, Follow, Footing};
pub use rivers::{RiverLine, RiverVertex};

/// Cells of a tile's side, if nothing else is said.
pub const TILE: usize = 512;

/// Sides that a tile may have.
const TILES: [usize; 2] = [16, 4096];

/// Bytes of windows that a world keeps, if nothing else is said: 512 MiB, a few hundred tiles.
pub const KEPT: u64 = 512 << 20;

/// A world at all its levels. It may be asked by any number of threads at once; a clone shares level 0 and the cache.
#[derive(Clone)]
pub struct World {
    coarse: Arc<dyn Coarse>,
    rules: Rules,
    key: Key,
    identity: u64,
    cache: Arc<Cache>,
    tile: usize,
    halo: i64,
    runoff: f64,
    growth: Option<Arc<dyn Growth>>,
}

impl World {
    /// The world of a recipe: its global level is level 0, and its stages' local forms make the levels beyond, as in a build of it.
    /// Level 0 is solved when a tile first needs it; [`World::solve`] does so earlier and reports its progress.
    ///
    /// # Errors
    /// As [`Finite::open`], [`Continents::of`]; local forms that come to rules out of range.
    pub fn open(recipe: &Recipe) -> Result<Self> {
        let global = recipe.global()?;
        let coarse: Arc<dyn Coarse> = match recipe.continents() {
            Some(_) => Arc::new(Continents::of(&global)?),
            None => Arc::new(Finite::open(&global)?),
        };
        let local = recipe.local(coarse.frame().cell);
        let world = Self::new(coarse, local.rules, recipe.seed)?.with_runoff(local.runoff)?;
        Ok(Self { growth: local.growth, ..world })
    }

    /// The world of which a whole terrain is level 0.
    ///
    /// # Errors
    /// As [`Finite::of`], [`World::new`].
    pub fn over(terrain: &Terrain, rules: Rules, seed: u64) -> Result<Self> {
        Self::new(Arc::new(Finite::of(terrain, &rules)?), rules, seed)
    }

    /// The world of a level 0, with the rules by which finer levels are made, and the seed of what is random there.
    ///
    /// # Errors
    /// Rules out of range.
    pub fn new(coarse: Arc<dyn Coarse>, rules: Rules, seed: u64) -> Result<Self> {
        rules.check()?;
        let identity = xxh3_64(format!("{:016x} {seed} {rules:?}", coarse.identity()).as_bytes());
        let halo = tiles::halo(coarse.frame(), &rules);
        let (key, cache) = (local::refinement_key(seed), Cache::new(KEPT));
        let runoff = Local::new(1.0).runoff;
        Ok(Self { coarse, rules, key, identity, cache, tile: TILE, halo, runoff, growth: None })
    }

    /// The same world that keeps its windows there: one cache may serve several worlds. With a cache of 0 level 0 is kept all the
    /// same.
    #[must_use]
    pub fn with_cache(mut self, cache: Arc<Cache>) -> Self {
        self.cache = cache;
        self
    }

    /// The same world with tiles of `side` cells along a side. What is on them stays what it is.
    ///
    /// # Errors
    /// A side of fewer than 16 or more than 4096 cells.
    pub fn with_tiles(mut self, side: usize) -> Result<Self> {
        if !(TILES[0]..=TILES[1]).contains(&side) {
            return Err(Error::value("tile", side, format!("{} to {} cells", TILES[0], TILES[1])));
        }
        self.tile = side;
        Ok(self)
    }

    /// The same world in which land under full rain yields so many metres of water a year. Discharges of rivers go by it, and where plants stand; with 0 there are
    /// no rivers.
    ///
    /// # Errors
    /// Less than 0 or more than 100 m.
    pub fn with_runoff(mut self, metres: f64) -> Result<Self> {
        if !(0.0..=100.0).contains(&metres) {
            return Err(Error::value("runoff", metres, "0 to 100 m a year"));
        }
        self.runoff = metres;
        Ok(self)
    }

    /// The world at all its levels: level 0's cells, their width, edges, sea.
    pub fn frame(&self) -> &Frame {
        self.coarse.frame()
    }

    /// How levels are made.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Water that runs off its land where all rain falls, in metres a year.
    pub fn runoff(&self) -> f64 {
        self.runoff
    }

    /// Where its windows are kept.
    pub fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }

    /// Cells of a tile's side.
    pub fn tile_side(&self) -> usize {
        self.tile
    }

    /// What tells it from other worlds: two that have the same one have the same cells.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// Bytes that level 0 and the cache hold now.
    pub fn bytes(&self) -> u64 {
        self.coarse.bytes().saturating_add(self.cache.bytes())
    }

    /// Solves the parts of level 0 that a rectangle of a level needs and that are not solved yet. `progress` receives a
    /// report after each step and may stop the work: the steps done are kept, and the next call continues from them.
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
    /// A level or a rectangle that the world does not have; what cannot be solved; [`Error::Stopped`].
    pub fn solve(&self, level: u32, rect: CellRect<i64>, progress: &mut dyn Progress) -> Result<()> {
        self.check(level, rect)?;
        let need = (1..=level).rev().fold(rect, |rect, finer| needed_window(self.frame(), &self.rules, finer, rect));
        self.coarse.window(need, progress).map(drop)
    }

    /// What each operator gave to a rectangle of a level and took from it when it was made out of the level before, to the unit; `None` on level 0, which
    /// is solved. It is made anew for that, on one thread.
    ///
    /// # Errors
    /// As [`World::window`].
    pub fn ledger(&self, level: u32, rect: CellRect<i64>) -> Result<Option<Ledger>> {
        self.check(level, rect)?;
        let Some(before) = level.checked_sub(1) else { return Ok(None) };
        let source = self.window(before, needed_window(self.frame(), &self.rules, level, rect))?;
        let (_, ledger) = refine_with_ledger(self.frame(), &self.rules, self.key, &source, rect)?;
        Ok(Some(ledger))
    }

    /// The tile of a level that holds a place, given in world metres eastward and southward: its cells, as far as the world goes.
    ///
    /// # Errors
    /// As [`World::cell_at`], [`World::tile_at`].
    pub fn tile(&self, level: u32, x: f64, y: f64) -> Result<Arc<LocalWindow>> {
        self.tile_at(level, self.tile_of(self.cell_at(level, x, y)?))
    }

    /// A tile of a level by its row and column: that of row 0 and column 0 has the cells from (0, 0) on. Where the
    /// world begins before that cell there are tiles with negative rows and columns.
    ///
    /// # Errors
    /// A level or a tile that the world does not have; what level 0 cannot be solved for; no memory.
    pub fn tile_at(&self, level: u32, tile: Cell<i64>) -> Result<Arc<LocalWindow>> {
        let mut tiles = self.tiles(level, &[tile])?;
        tiles.pop().ok_or_else(|| Error::value("tiles", "none", "one"))
    }

    /// Tiles of a level by their rows and columns, made side by side on all threads: quicker than one by one.
    ///
    /// # Errors
    /// As [`World::tile_at`].
    pub fn tiles(&self, level: u32, tiles: &[Cell<i64>]) -> Result<Vec<Arc<LocalWindow>>> {
        self.frame().check(level)?;
        let rects: Vec<CellRect<i64>> =
            tiles.iter().map(|tile| self.checked_tile(level, *tile)).collect::<Result<_>>()?;
        self.tiles_of(level, &rects)
    }

    /// The row and column, among the tiles of a level, of the tile that holds a cell of that level.
    pub fn tile_of(&self, cell: Cell<i64>) -> Cell<i64> {
        cell.map(|x| x.div_euclid(self.tile as i64))
    }

    /// The cells of a tile of a level, as far as the world goes: none of a tile outside.
    pub fn rect_of(&self, level: u32, tile: Cell<i64>) -> CellRect<i64> {
        let start = tile.map(|x| x.saturating_mul(self.tile as i64));
        CellRect::new(start, [self.tile; 2]).grown(0, self.frame().world(level))
    }

    fn checked_tile(&self, level: u32, tile: Cell<i64>) -> Result<CellRect<i64>> {
        let rect = self.rect_of(level, tile);
        if rect.size().contains(&0) {
            let world = self.frame().world(level);
            let [first, last] = [self.tile_of(world.start), self.tile_of(world.end.map(|x| x - 1))];
            let told = format!("row {}, column {} of level {level}", tile.row, tile.col);
            let allowed = format!("rows {} to {}, columns {} to {}", first.row, last.row, first.col, last.col);
            return Err(Error::value("tile", told, allowed));
        }
        Ok(rect)
    }

    /// Any rectangle of a level's cells.
    ///
    /// # Errors
    /// A level that the world does not have; a rectangle that is empty, not inside the world, or of more than
    /// [`MOST_CELLS`](thalweg_refine::MOST_CELLS); what level 0 cannot be solved for; no memory.
    pub fn window(&self, level: u32, rect: CellRect<i64>) -> Result<LocalWindow> {
        self.check(level, rect)?;
        self.part(level, rect)
    }

    fn check(&self, level: u32, rect: CellRect<i64>) -> Result<()> {
        self.frame().check(level)?;
        thalweg_refine::check_window(rect, self.frame().world(level))
    }

    /// The cell of a level that holds a place, given in world metres eastward and southward.
    ///
    /// # Errors
    /// A level that the world does not have, a place outside.
    pub fn cell_at(&self, level: u32, x: f64, y: f64) -> Result<Cell<i64>> {
        self.frame().check(level)?;
        let (world, width) = (self.frame().world(level), self.frame().width(level));
        let [Cell { row: top, col: left }, Cell { row: bottom, col: right }] =
            [world.start, world.end].map(|cell| cell.map(|x| x as f64 * width));
        // Outside, or no number at all.
        if !((left..=right).contains(&x) && (top..=bottom).contains(&y)) {
            let allowed = format!("{left} to {right} m eastward, {top} to {bottom} m southward");
            return Err(Error::value("place", format!("{x} m, {y} m"), allowed));
        }
        // The far edges belong to the last cells.
        let cell = |x: f64, axis: usize| ((x / width).floor() as i64).clamp(world.start[axis], world.end[axis] - 1);
        Ok(Cell { row: cell(y, 0), col: cell(x, 1) })
    }

    /// The height of the ground in metres at a place, in world metres eastward and southward, on a level: bilinear between the centres of
    /// the four cells around, so that it is continuous; within half a cell of the world's edge that of the cells beside.
    ///
    /// # Errors
    /// As [`World::cell_at`], [`World::tile_at`].
    pub fn height_at(&self, x: f64, y: f64, level: u32) -> Result<f64> {
        self.cell_at(level, x, y)?;
        let (world, width) = (self.frame().world(level), self.frame().width(level));
        let [(row, v), (col, u)] = [(y, 0), (x, 1)].map(|(metres, axis)| {
            let place = (metres / width - 0.5).clamp(world.start[axis] as f64, (world.end[axis] - 1) as f64);
            // A world of one row has no second one.
            let first = (place.floor() as i64).min(world.end[axis] - 2).max(world.start[axis]);
            (first, place - first as f64)
        });
        let four = CellRect::new([row, col], [2, 2]).grown(0, world);
        let window = self.near(level, four)?;
        let at = |i: usize, j: usize| {
            let [rows, cols] = window.size();
            window.ground[(i.min(rows - 1), j.min(cols - 1))].metres()
        };
        let across = |i: usize| at(i, 0) + u * (at(i, 1) - at(i, 0));
        Ok(across(0) + v * (across(1) - across(0)))
    }

    /// A few cells, out of the tiles that hold them, for more will be asked for beside them; without a cache just these.
    fn near(&self, level: u32, rect: CellRect<i64>) -> Result<LocalWindow> {
        if self.cache.most() < LocalWindow::BYTES * (self.tile * self.tile) as u64 {
            return self.part(level, rect);
        }
        let [first, last] = [self.tile_of(rect.start), self.tile_of(rect.end.map(|x| x - 1))];
        if first == last {
            return self.tile_at(level, first)?.part(rect);
        }
        let tiles: Vec<_> = CellRect::from_corners(first, last.map(|x| x + 1)).cells().collect();
        let mut window = LocalWindow::blank(level, rect);
        self.tiles(level, &tiles)?.iter().for_each(|tile| window.paste(tile));
        Ok(window)
    }

    /// The way of water from a place (world metres eastward and southward) down to where it ends, cell by cell of a level.
    ///
    /// # Errors
    /// As [`World::cell_at`].
    pub fn follow(&self, level: u32, x: f64, y: f64) -> Result<Follow<'_>> {
        Ok(Follow::new(self, level, self.cell_at(level, x, y)?))
    }
}
