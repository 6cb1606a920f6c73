//! The plan of a recipe: the grids that it is built on, what is done on each in which order, and the memory that this needs.
//!
//! ```toml
//! coarsest = 128              # cells on the long side of the first level; "auto" chooses; left out, there is one level
//!
//! [[stage]]
//! model = "stream_power"
//! finer = { years = 0.2 }     # on each finer level a fifth of the time of the level before
//!
//! [[stage]]
//! model = "hydrology"
//! levels = "last"             # or "all", or "first", or { coarsest = 240.0, finest = 30.0 }: by the width of cells in metres
//! ```
//!
//! Levels double until the recipe's `cells`. So a smaller build is the first part of a larger one.

use std::collections::BTreeSet;

use crate::recipe::{Beyond, Coarsest, Cut, Levels, LocalFrom, Recipe, Stage, When};
use thalweg_core::base::memory;
use thalweg_core::declare::params::ParamType;
use thalweg_core::terrain::{CATCHMENT, LAKE, POOL, RECEIVER};
use thalweg_core::{Cell, CellRect, Edge, Error, Extent, Grid, Height, Result, Size, Terrain};
use thalweg_models::model::{Blend, Family};
use thalweg_render::products::resample::resample;

/// Fewest cells on the long side of a first level that is chosen: the largest valleys are some cells wide there, and a
/// thousand steps take a second or two.
pub const FEWEST: usize = 128;

/// The largest share by which whole cells of the first of several levels may miss the short side of the extent.
pub const OFF: f64 = 0.01;

/// Most cells on the long side of a global level that is chosen, if no stage asks for finer ones: what is solved over the whole terrain
/// takes seconds there.
pub const GLOBAL: usize = 512;

/// A preview is the first level with more cells than this on the long side.
pub const PREVIEW: usize = 256;

/// One thing after the other: what is done on which level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The level, from 0, the coarsest.
    pub level: usize,
    /// Number of the stage in the recipe; `None` where the ground is made finer, the whole level is a local one, or the margin is cut away.
    pub stage: Option<usize>,
    /// Whether the margin, and what is cut of the map, is cut away.
    pub trims: bool,
    /// On how many coarser levels the stage has run.
    pub pass: u32,
}

/// Bytes that a thread takes while it makes a piece of a local level, as reckoned.
const LOCAL_SCRATCH: u64 = 96 << 20;

/// Bytes a cell that reading, drawing and writing take for their copies, beyond what a run itself holds. Measured: a
/// build of 4096² cells that holds 4 bytes a cell came to 17.7.
const COPIES: u64 = 14;

impl Stage {
    /// Whether it makes ground.
    pub fn is_base(&self) -> bool {
        self.model.about().family == Family::Base
    }

    /// Whether it only reads what is there.
    fn reads(&self) -> bool {
        self.model.about().family == Family::Analysis
    }

    /// Whether it runs on level `level`, on cells `cell` metres wide, of so many `levels` of which the first `global` ones are solved
    /// over the whole terrain. Where there is one level, all do. What changes ground ends at the global level; what reads it may
    /// read any.
    fn runs_on(&self, level: usize, [global, levels]: [usize; 2], cell: f64) -> bool {
        let levels = if self.reads() { levels } else { global };
        match self.when {
            _ if level >= levels => false,
            _ if levels == 1 => true,
            When::All => !self.reads() || level + 1 == levels,
            When::First => level == 0,
            When::Last => level + 1 == levels,
            When::Widths(widths) => within(widths, cell),
        }
    }
}

/// Whether cells are of such a width. Widths are quotients: half a thousandth either way.
fn within([finest, coarsest]: [f64; 2], cell: f64) -> bool {
    (finest * 0.9995..=coarsest * 1.0005).contains(&cell)
}

impl Recipe {
    /// The grid of a recipe that fixes its extent, on its last level, with the margin if that is solved over the whole terrain.
    ///
    /// # Errors
    /// As [`Recipe::grids`].
    pub fn grid(&self) -> Result<Grid> {
        let mut grids = self.grids()?;
        grids.pop().ok_or_else(|| Error::Recipe("has no level".into()))
    }

    /// `grid` with this recipe's edges, sea level and place on Earth.
    ///
    /// # Errors
    /// When the sea level is outside the accepted elevations, or edges are looped that cannot be ([`Grid::check`]).
    pub fn framed(&self, mut grid: Grid) -> Result<Grid> {
        grid.edges = self.edges;
        grid.sea_level = self.sea_level.map(Height::from_metres).transpose()?;
        if let Some(place) = self.place() {
            grid.georeference = Some(place.georeference(grid.cell));
        }
        grid.check()?;
        Ok(grid)
    }

    /// Rows and columns to which an elevation model of `size` is brought: `cells` on the long side, where they are given.
    pub fn size_over(&self, size: Size) -> Size {
        let long = usize::from(size[1] >= size[0]);
        if self.cells == 0 || size[long] == self.cells {
            return size;
        }
        // Samples stand at the ends of intervals, so it is the intervals that keep the proportion.
        let [short_intervals, long_intervals] = [size[1 - long], size[long]].map(|n| n.saturating_sub(1) as f64);
        let other =
            (self.cells.saturating_sub(1) as f64 * short_intervals / long_intervals.max(1.0)).round() as usize + 1;
        if long == 1 { [other, self.cells] } else { [self.cells, other] }
    }

    /// The ground that the recipe begins with, of the elevation model `model`: on its own cells or on [`Recipe::size_over`],
    /// with the recipe's edges and sea level.
    ///
    /// # Errors
    /// As [`Recipe::framed`]; as [`resample`], where the model is brought to other cells.
    pub fn over(&self, model: Terrain) -> Result<Terrain> {
        let size = self.size_over(model.grid.size);
        let model = if size == model.grid.size { model } else { resample(&model, size)? };
        Ok(Terrain { grid: self.framed(model.grid.clone())?, ..model })
    }

    /// The grids of a recipe that fixes its extent, from the coarsest level to the last, of `cells` on the long side.
    /// The short side has a whole number of the coarsest cells, at least one. Levels that are solved over the whole
    /// terrain have the margin round that, a whole number of the coarsest cells on each side, which is cut away after
    /// the last of them.
    ///
    /// # Errors
    /// When there is no extent, the cells are too many, the coarsest level's doubled never come to them, its cells are
    /// too wide for the short side, or nothing is left of the map after the cut; as [`Recipe::framed`].
    pub fn grids(&self) -> Result<Vec<Grid>> {
        let Some(Extent { width, height }) = self.extent() else {
            return Err(Error::Recipe("has no `extent`; its grid comes from a file".into()));
        };
        let halvings = self.halvings()?;
        let cell = width.max(height) / (self.cells >> halvings) as f64;
        let size = [height, width].map(|side| whole(side, cell));
        // If the map is too large, its size is the one that was asked for.
        let map = Grid::new(size.map(|n| n << halvings), cell / f64::from(1u32 << halvings))?.size;
        let cut = self.cut();
        if cut.cols >= map[1] || cut.rows >= map[0] {
            let allowed = format!("fewer than the map's {} columns and {} rows", map[1], map[0]);
            return Err(Error::value("cut", format!("{:?}", <[usize; 2]>::from(cut)), allowed));
        }
        let margin = (self.margin() * size[0].min(size[1]) as f64).ceil() as usize;
        let global = halvings - self.local_levels()?.min(halvings);
        let level = |k: u32| {
            let mut grid = Grid::new(size.map(|n| (n + 2 * margin) << k), cell / f64::from(1u32 << k))?;
            grid.first = Cell::from_axes(|_| -((margin << k) as i64));
            grid.origin = grid.first;
            let grid = self.framed(grid)?;
            Ok(if k > global { self.map(&grid) } else { grid })
        };
        // The last first: if it is too large, that is the size that was asked for.
        let last = level(halvings)?;
        (0..halvings).map(level).chain([Ok(last)]).collect()
    }

    /// The map that a level of the recipe holds: without its margin, and without what is cut away of the last level.
    pub(crate) fn map_window(&self, level: &Grid) -> Option<CellRect> {
        let mut window = level.map_window()?;
        if self.cut() != Cut::NONE && self.map_size().is_ok_and(|size| size == window.size()) {
            let Cut { cols, rows } = self.cut();
            let size = [window.rows().saturating_sub(rows).max(1), window.cols().saturating_sub(cols).max(1)];
            window = CellRect::new(window.start, size);
        }
        Some(window)
    }

    /// Rows and columns of the map on its last level, before anything is cut away.
    fn map_size(&self) -> Result<Size> {
        let halvings = self.halvings()?;
        let Extent { width, height } = self.extent().unwrap_or_default();
        let cell = width.max(height) / (self.cells >> halvings) as f64;
        Ok([height, width].map(|side| whole(side, cell) << halvings))
    }

    /// The grid of that map, open where something was taken away.
    pub fn map(&self, level: &Grid) -> Grid {
        let mut grid = self.map_window(level).map_or_else(|| level.clone(), |map| level.window(map));
        let has_margin = level.first != Cell::new(0, 0);
        let is_cut = [0, 1].map(|axis| !has_margin && grid.size[axis] < level.size[axis]);
        if has_margin || is_cut != [false; 2] {
            (grid.origin, grid.first, grid.world) = (Cell::new(0, 0), Cell::new(0, 0), grid.size);
            let sides = [has_margin, has_margin || is_cut[1], has_margin || is_cut[0], has_margin];
            for (edge, _) in grid.edges.iter_mut().zip(sides).filter(|(_, opens)| *opens) {
                *edge = Edge::Open;
            }
        }
        grid
    }

    /// Cells on the long side of a preview: of the first level with more than [`PREVIEW`], or of the last.
    ///
    /// # Errors
    /// As [`Recipe::grids`].
    pub fn preview(&self) -> Result<usize> {
        let halvings = self.halvings()?;
        let levels = (0..=halvings).rev().map(|k| self.cells >> k);
        Ok(levels.into_iter().find(|cells| *cells > PREVIEW).unwrap_or(self.cells))
    }

    /// Cells on the long side of the level that has about so many. Without levels, just so many.
    ///
    /// # Errors
    /// As [`Recipe::grids`].
    pub fn level_near(&self, cells: usize) -> Result<usize> {
        if !self.has_levels() {
            return Ok(cells);
        }
        let levels = (0..=self.halvings()?).map(|k| self.cells >> k);
        let times = |level: &usize| (*level).max(cells) as f64 / (*level).min(cells) as f64;
        Ok(levels.min_by(|a, b| times(a).total_cmp(&times(b))).unwrap_or(cells))
    }

    /// Gives a recipe of an extent that has more than so many cells on the long side so many, or as many as its level that is
    /// nearest has.
    ///
    /// # Errors
    /// As [`Recipe::grids`].
    pub fn limit_cells(&mut self, most: usize) -> Result<()> {
        if self.extent().is_some() && self.cells > most {
            self.cells = self.level_near(most)?;
        }
        Ok(())
    }

    /// Whether it is built in levels of its own, and not on the grid that it is given.
    pub fn has_levels(&self) -> bool {
        self.levels() != Levels::default()
    }

    /// How many of its levels are local.
    ///
    /// # Errors
    /// When the global level's cells doubled never come to `cells`.
    pub fn local_levels(&self) -> Result<u32> {
        let (Some(Extent { width, height }), Beyond::Local { from: local_from }) =
            (self.extent(), self.levels().beyond)
        else {
            return Ok(0);
        };
        let cell = width.max(height) / self.cells as f64;
        let is_global = |halved: &u32| match local_from {
            LocalFrom::Auto => self.cells >> halved <= GLOBAL,
            LocalFrom::Cells(most) => self.cells >> halved <= most,
            LocalFrom::Width(least) => doubled(cell, *halved) >= least * 0.9995,
        };
        let mut levels = (0..31).find(|halved| is_global(halved) || self.cells >> halved <= 1).unwrap_or(31);
        if local_from == LocalFrom::Auto {
            levels = self.ends(cell).map(|(_, most)| most).fold(levels, u32::min);
        }
        let part = 1usize << levels;
        if !self.cells.is_multiple_of(part) {
            let [less, more] = [self.cells / part, self.cells / part + 1].map(|n| n * part);
            let allowed = format!("a multiple of {part}, for {levels} of its levels are local: {less} or {more}");
            return Err(Error::value("cells", self.cells, allowed));
        }
        if let LocalFrom::Cells(from) = local_from
            && levels > 0
            && self.cells >> levels != from
        {
            let [less, more] = [from << (levels - 1), from << levels];
            return Err(Error::value(
                "cells",
                self.cells,
                format!("the global level's {from} doubled: {less} or {more}"),
            ));
        }
        Ok(levels)
    }

    /// The same recipe up to its global level: what is solved over the whole terrain.
    ///
    /// # Errors
    /// As [`Recipe::local_levels`].
    pub fn global(&self) -> Result<Self> {
        let cells = self.cells >> self.local_levels()?;
        let mut global = Self { cells, ..self.clone() };
        global.set_beyond(Beyond::Global)?;
        Ok(global)
    }

    /// How often the first level's cells are halved until there are `cells` on the long side.
    ///
    /// # Errors
    /// When `cells` is no such number, or the first level that the recipe names does not fit the short side.
    pub fn halvings(&self) -> Result<u32> {
        let local = self.local_levels()?;
        Ok(local + self.global_halvings(self.cells >> local)?)
    }

    /// How often the first level's cells are halved until there are so many on the long side of the global level.
    fn global_halvings(&self, cells: usize) -> Result<u32> {
        let first = match self.levels().coarsest {
            Coarsest::None => return Ok(0),
            Coarsest::Cells(first) => first,
            Coarsest::Auto => {
                let enough = (0..).take_while(|k| cells >> k >= 2 * FEWEST).count() as u32;
                let fits = |k: &u32| self.off(cells as f64 / f64::from(1u32 << k)) <= OFF;
                let halvings = (1..=enough).rev().find(fits).unwrap_or(0);
                let part = 1usize << halvings;
                if cells.is_multiple_of(part) {
                    return Ok(halvings);
                }
                let [less, more] = [cells / part, cells / part + 1].map(|n| n * part);
                let allowed =
                    format!("a multiple of {part}, for it is built in {} levels: {less} or {more}", halvings + 1);
                return Err(Error::value("cells", cells, allowed));
            }
        };
        if cells < first {
            return Err(Error::value("cells", cells, format!("{first} (the coarsest level) and more")));
        }
        let halvings = (cells / first).ilog2();
        if first << halvings != cells {
            let allowed =
                format!("the coarsest level's {first} doubled: {} or {}", first << halvings, first << (halvings + 1));
            return Err(Error::value("cells", cells, allowed));
        }
        if halvings == 0 || self.off(first as f64) <= OFF {
            return Ok(halvings);
        }
        let fitting = (1..halvings).map(|k| first << k).find(|first| self.off(*first as f64) <= OFF);
        let fitting = fitting.map_or("none, for one level".into(), |first| format!("{first} and more"));
        let allowed =
            format!("{fitting}: whole cells of the first level miss the extent's short side by more than 1 %");
        Err(Error::value("coarsest", first, allowed))
    }

    /// The share by which whole cells miss the short side of the extent, where so many lie along the long side. The finer
    /// they are, the less.
    fn off(&self, cells: f64) -> f64 {
        let Some(Extent { width, height }) = self.extent() else { return 0.0 };
        let (short, cell) = (width.min(height), width.max(height) / cells);
        (whole(short, cell) as f64 * cell / short - 1.0).abs()
    }

    /// What is done, in order, on levels with cells of these widths in metres, the coarsest first: on each level its
    /// stages, and between two levels the ground is made finer. Muted stages have their turns.
    pub fn turns(&self, widths: &[f64]) -> Vec<Turn> {
        let mut passes = vec![0; self.stages.len()];
        let mut turns = Vec::new();
        let counts = self.counts(widths.len());
        for (level, cell) in widths.iter().enumerate() {
            if level > 0 {
                turns.push(Turn { level, stage: None, trims: false, pass: 0 });
            }
            for (number, stage) in self.stages.iter().enumerate() {
                if stage.runs_on(level, counts, *cell) {
                    // Base ground is laid once; what it adds on finer levels comes with those.
                    if passes[number] == 0 || !stage.is_base() {
                        turns.push(Turn { level, stage: Some(number), trims: false, pass: passes[number] });
                    }
                    passes[number] += 1;
                }
            }
            if (self.margin() > 0.0 || self.cut() != Cut::NONE) && level + 1 == counts[0] {
                turns.push(Turn { level, stage: None, trims: true, pass: 0 });
            }
        }
        turns
    }

    /// Base stages that have more to add on level `level`: blocks of those between which nothing has worn the ground yet.
    ///
    /// # Errors
    /// When one of them stands after erosion and does not add to the ground, for what it would lay on finer ground is not
    /// known then.
    pub(crate) fn octaves(&self, widths: &[f64], level: usize) -> Result<Vec<Vec<usize>>> {
        let counts = self.counts(widths.len());
        let runs = |stage: &Stage, level: usize| stage.runs_on(level, counts, widths[level]);
        let has_run = |stage: &Stage| (0..level).any(|before| runs(stage, before));
        let mut blocks: Vec<Vec<usize>> = Vec::new();
        let (mut first, mut open) = (true, false);
        for (number, stage) in self.stages.iter().enumerate().filter(|(_, stage)| !stage.muted && has_run(stage)) {
            match stage.model.about().family {
                Family::Analysis => continue,
                // A stage that comes on this level or later has changed nothing yet, and so parts nothing.
                Family::Erosion => {
                    (first, open) = (false, false);
                    continue;
                }
                Family::Base if !runs(stage, level) => continue,
                Family::Base => {}
            }
            let blend = stage.model.blend();
            if !first && blend != Blend::Add {
                let problem =
                    "would undo the erosion before it on finer levels; use add, or give the stage levels = \"first\"";
                return Err(Error::conflict(format!("{}.blend = {}", stage.label, blend.value()), problem));
            }
            match blocks.last_mut().filter(|_| open) {
                Some(block) => block.push(number),
                None => blocks.push(vec![number]),
            }
            open = true;
        }
        Ok(blocks)
    }

    /// How many of so many levels are solved over the whole terrain, and how many there are.
    pub fn counts(&self, levels: usize) -> [usize; 2] {
        let local = self.local_levels().map_or(0, |local| local as usize);
        [levels.saturating_sub(local).max(1), levels]
    }

    /// For each stage, on how many coarser levels it has run when it runs last on a level that is solved over the whole terrain.
    pub(crate) fn last_passes(&self) -> Vec<u32> {
        let grids = self.global().and_then(|recipe| recipe.grids()).unwrap_or_default();
        let widths: Vec<f64> = grids.iter().map(|grid| grid.cell).collect();
        let counts = [widths.len(); 2];
        let runs =
            |stage: &Stage| (0..widths.len()).filter(|level| stage.runs_on(*level, counts, widths[*level])).count();
        self.stages.iter().map(|stage| (runs(stage) as u32).saturating_sub(1)).collect()
    }

    /// Stages that change ground on levels of named widths, each with the most levels that may be local for it, where the last level's
    /// cells are `cell` metres wide: a stage whose widths end must have had all of them, one that names no finest one has its widest.
    fn ends(&self, cell: f64) -> impl Iterator<Item = (&Stage, u32)> {
        self.stages.iter().filter(|stage| !stage.muted && !stage.reads()).filter_map(move |stage| {
            let When::Widths(wanted) = stage.when else { return None };
            let mut levels = (0..31).filter(|halved| within(wanted, doubled(cell, *halved)));
            let most = if wanted[0] > 0.0 { levels.next() } else { levels.next_back() };
            Some((stage, most?))
        })
    }

    /// Refuses stages that change ground and are to run on local levels, where all levels have cells of these widths.
    ///
    /// # Errors
    /// When one is, with the reason, and the global level that would do for all.
    pub(crate) fn check_local(&self, widths: &[f64]) -> Result<()> {
        let [global, levels] = self.counts(widths.len());
        let (Some(last), Some(cell)) = (widths.get(global - 1), widths.last()) else { return Ok(()) };
        let local = (levels - global) as u32;
        let Some((stage, most)) = self.ends(*cell).find(|(_, most)| *most < local) else { return Ok(()) };
        let all = self.ends(*cell).map(|(_, most)| most).fold(local, u32::min);
        let problem = format!(
            "only applies to cells of {last} m and wider: finer levels are local, and this stage reaches over the whole \
             terrain; set local_from = {} or \"{} m\" to run it there",
            self.cells >> all,
            doubled(*cell, all)
        );
        let asked = format!("{}.levels = cells of {} m", stage.label, doubled(*cell, most));
        Err(Error::conflict(asked, problem))
    }

    /// Stages that are not muted and have no turn on levels with cells of these widths, by number.
    pub(crate) fn idle(&self, turns: &[Turn]) -> impl Iterator<Item = usize> {
        let has_turn = |number: usize| turns.iter().any(|turn| turn.stage == Some(number));
        let stages = self.stages.iter().enumerate();
        stages.filter(move |(number, stage)| !stage.muted && !has_turn(*number)).map(|(number, _)| number)
    }

    /// Refuses a run on this grid that does not fit into memory with what reading, drawing and writing take.
    ///
    /// # Errors
    /// When the estimate is more than the system has free; with both numbers.
    pub fn check_memory(&self, grid: &Grid) -> Result<()> {
        let need = self.memory(grid).saturating_add(COPIES.saturating_mul(grid.len() as u64));
        memory::check_memory(&format!("{} at {} × {} cells", self.name, grid.cols(), grid.rows()), need)
    }

    /// An estimate of the memory that a run on this grid needs, in bytes: ground, the layers that models have written by
    /// then, and the scratch of what is done, on the level where that is most.
    pub fn memory(&self, grid: &Grid) -> u64 {
        /// What base models make of the ground on both levels, and a field of half its rows, bytes a cell.
        const FINER: u64 = 10;
        // Over a terrain that is there already a recipe has one level.
        let levels = self.grids().ok().filter(|levels| levels.last().is_some_and(|last| last.size == grid.size));
        let levels = levels.unwrap_or_else(|| vec![grid.clone()]);
        let widths: Vec<f64> = levels.iter().map(|level| level.cell).collect();
        /// What a local level takes, bytes a cell: its window, what of it becomes layers, and what it was made of.
        const LOCAL: u64 = 30;
        /// What it takes to see whether a sketch is kept, and to change the ground, bytes a cell: where water goes, targets, ground anew, factors.
        const SKETCH: u64 = 56;
        let [global, _] = self.counts(levels.len());
        let mut layers = BTreeSet::new();
        let mut most = 0;
        for turn in self.turns(&widths) {
            let Some(level) = levels.get(turn.level) else { continue };
            let cells = level.len() as u64;
            let scratch = match turn.stage.and_then(|stage| self.stages.get(stage)) {
                Some(stage) if stage.muted => continue,
                Some(stage) => {
                    let about = stage.model.about();
                    layers.extend(about.needs.iter().chain(about.writes).map(|spec| spec.name));
                    layers.extend(stage.layers.keys().map(String::as_str));
                    let model = stage.model_at(turn.pass);
                    let drawn = if self.sketch.is_some() { SKETCH * cells } else { 0 };
                    drawn + model.map_or_else(|_| stage.model.scratch(level), |model| model.scratch(level))
                }
                None if turn.trims => cells * (1 + layers.len() as u64),
                None if turn.level >= global => {
                    // Of all layers those of its tree are left, which are counted.
                    layers.clear();
                    most = most.max(LOCAL * cells + LOCAL_SCRATCH * rayon::current_num_threads() as u64);
                    layers.extend([RECEIVER, CATCHMENT, LAKE, POOL].map(|spec| spec.name));
                    continue;
                }
                // All that lay on cells of twice the width, too.
                None => cells * (1 + layers.len() as u64) + FINER * cells,
            };
            most = most.max(cells * 4 * (1 + layers.len() as u64) + scratch);
        }
        most
    }
}

/// The width of cells, doubled so often.
fn doubled(cell: f64, times: u32) -> f64 {
    cell * libm::exp2(f64::from(times))
}

/// Whole cells along a side, at least one.
fn whole(side: f64, cell: f64) -> usize {
    ((side / cell).round() as usize).max(1)
}
