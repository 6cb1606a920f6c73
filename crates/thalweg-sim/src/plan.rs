//! The plan of a recipe: the grids on which it is built, the order of the work on each, and the memory that this
//! needs.
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
//! The number of cells doubles from level to level up to the recipe's `cells`. A smaller build is therefore the first
//! part of a larger one.

use std::collections::BTreeSet;

use crate::recipe::{Coarsest, Levels, LocalFrom, MapTrim, Recipe, RefinementMethod, Stage, When};
use thalweg_core::base::memory;
use thalweg_core::declare::params::ParamType;
use thalweg_core::terrain::{DRAINAGE_AREA, FLOW_DIRECTION, LAKE, POOL};
use thalweg_core::{Cell, CellRect, Edge, Error, Extent, Grid, Height, Result, Size, Terrain};
use thalweg_models::model::{Blend, Family};
use thalweg_render::products::resample::resample_terrain;

/// The fewest cells on the long side of an automatically chosen first level: the largest valleys are a few cells wide
/// there, and a thousand steps take a second or two.
pub const MIN_FIRST_LEVEL_CELLS: usize = 128;

/// The largest share by which whole cells of the first of several levels may miss the short side of the extent.
pub const MAX_SHORT_SIDE_MISFIT: f64 = 0.01;

/// The most cells on the long side of an automatically chosen global level, if no stage requires finer ones: work
/// over the whole terrain takes seconds there.
pub const MAX_AUTO_GLOBAL_CELLS: usize = 512;

/// A preview is the first level with more cells than this on the long side.
pub const PREVIEW: usize = 256;

/// One piece of work of the plan: a stage or another operation on a level.
///
/// # Examples
/// ```
/// use thalweg_sim::recipe::Recipe;
///
/// let recipe = Recipe::parse(
///     r#"
///     extent = [6400.0, 6400.0]
///     cells = 64
///     coarsest = 32
///
///     [[stage]]
///     model = "gradient_noise"
///
///     [[stage]]
///     model = "thermal"
///     "#,
/// )?;
/// let widths: Vec<f64> = recipe.grids()?.iter().map(|grid| grid.cell).collect();
/// assert_eq!(widths, [200.0, 100.0]);
/// // Both stages run on the first level. Then the terrain is refined, which includes the finer noise, and the second
/// // stage runs again.
/// let stages: Vec<Option<usize>> = recipe.turns(&widths).iter().map(|turn| turn.stage).collect();
/// assert_eq!(stages, [Some(0), Some(1), None, Some(1)]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The level, from 0, the coarsest.
    pub level: usize,
    /// Index of the stage in the recipe; `None` if the terrain is refined, the whole level is a local one, or the
    /// margin is cut away.
    pub stage: Option<usize>,
    /// True if the margin and the cut of the map are removed.
    pub trims: bool,
    /// The number of coarser levels on which the stage has run.
    pub pass: u32,
}

/// Estimated bytes that a thread takes while it computes a piece of a local level.
const LOCAL_SCRATCH: u64 = 96 << 20;

/// Bytes per cell that reading, drawing and writing take for their copies, in addition to the run itself. Measured: a
/// build of 4096² cells with 4 bytes per cell took 17.7.
const COPY_BYTES_PER_CELL: u64 = 14;

impl Stage {
    /// Returns true if the stage creates base terrain.
    pub fn is_base(&self) -> bool {
        self.model.about().family == Family::Base
    }

    /// Returns true if the stage only reads the terrain.
    fn is_read_only(&self) -> bool {
        self.model.about().family == Family::Analysis
    }

    /// Returns true if the stage runs on level `level`, with cells `cell` metres wide, of `levels` levels, of which
    /// the first `global` ones are computed over the whole terrain. If there is one level, all stages run on it.
    /// Stages that change the terrain end at the global level; stages that read it may run on any.
    fn runs_on(&self, level: usize, [global, levels]: [usize; 2], cell: f64) -> bool {
        let levels = if self.is_read_only() { levels } else { global };
        match self.when {
            _ if level >= levels => false,
            _ if levels == 1 => true,
            When::All => !self.is_read_only() || level + 1 == levels,
            When::First => level == 0,
            When::Last => level + 1 == levels,
            When::Widths(widths) => is_width_in_range(widths, cell),
        }
    }
}

/// Returns true if a cell's width is in a range. Widths are quotients, hence a tolerance of half a thousandth on
/// either side.
fn is_width_in_range([finest, coarsest]: [f64; 2], cell: f64) -> bool {
    (finest * 0.9995..=coarsest * 1.0005).contains(&cell)
}

impl Recipe {
    /// Returns the grid of the last level of a recipe that has an extent, including the margin if that level is
    /// computed over the whole terrain.
    ///
    /// # Errors
    /// Returns the errors of [`Recipe::grids`].
    pub fn last_grid(&self) -> Result<Grid> {
        let mut grids = self.grids()?;
        grids.pop().ok_or_else(|| Error::Recipe("the recipe has no levels".into()))
    }

    /// Returns `grid` with this recipe's edges, sea level and place on Earth.
    ///
    /// # Errors
    /// Returns an error if the sea level is outside the accepted elevations, or edges are looped that cannot be
    /// ([`Grid::check`]).
    pub fn configure_grid(&self, mut grid: Grid) -> Result<Grid> {
        grid.edges = self.edges;
        grid.sea_level = self.sea_level.map(Height::from_metres).transpose()?;
        if let Some(place) = self.world_place() {
            grid.georeference = Some(place.georeference(grid.cell));
        }
        grid.check()?;
        Ok(grid)
    }

    /// Returns the rows and columns to which an elevation model of `size` is resampled: with `cells` on the long
    /// side, if they are given.
    pub fn resampled_size(&self, size: Size) -> Size {
        let long = usize::from(size[1] >= size[0]);
        if self.cells == 0 || size[long] == self.cells {
            return size;
        }
        // Samples are at the ends of intervals, so the intervals keep the proportion.
        let [short_intervals, long_intervals] = [size[1 - long], size[long]].map(|n| n.saturating_sub(1) as f64);
        let other =
            (self.cells.saturating_sub(1) as f64 * short_intervals / long_intervals.max(1.0)).round() as usize + 1;
        if long == 1 { [other, self.cells] } else { [self.cells, other] }
    }

    /// Returns the terrain from which the recipe starts, for the elevation model `model`: on its own cells or
    /// resampled to [`Recipe::resampled_size`], with the recipe's edges and sea level.
    ///
    /// # Errors
    /// Returns the errors of [`Recipe::configure_grid`], and those of [`resample_terrain`] if the model is resampled.
    pub fn prepare_start_terrain(&self, model: Terrain) -> Result<Terrain> {
        let size = self.resampled_size(model.grid.size);
        let model = if size == model.grid.size { model } else { resample_terrain(&model, size)? };
        Ok(Terrain { grid: self.configure_grid(model.grid.clone())?, ..model })
    }

    /// Returns the grids of a recipe that has an extent, from the coarsest level to the last, which has `cells` on
    /// the long side. The short side has a whole number of the coarsest cells, at least one. Levels that are computed
    /// over the whole terrain have the margin around that, a whole number of the coarsest cells on each side, which
    /// is cut away after the last of them.
    ///
    /// # Errors
    /// Returns an error if there is no extent, there are too many cells, doubling the coarsest level's cells does not
    /// lead to their number, the coarsest cells are too wide for the short side, or nothing is left of the map after
    /// the cut; also returns the errors of [`Recipe::configure_grid`].
    pub fn grids(&self) -> Result<Vec<Grid>> {
        let Some(Extent { width, height }) = self.extent() else {
            return Err(Error::Recipe("this recipe has no `extent`, because its grid comes from a file".into()));
        };
        let halvings = self.halvings()?;
        let cell = width.max(height) / (self.cells >> halvings) as f64;
        let size = [height, width].map(|side| count_whole_cells(side, cell));
        // If the map is too large, the error names the requested size.
        let map = Grid::new(size.map(|n| n << halvings), cell / f64::from(1u32 << halvings))?.size;
        let cut = self.map_trim();
        if cut.cols >= map[1] || cut.rows >= map[0] {
            let allowed = format!("[columns, rows], less than the map's {} and {}", map[1], map[0]);
            return Err(Error::invalid_value("cut", format!("{:?}", <[usize; 2]>::from(cut)), allowed));
        }
        // The margin is a whole number of the coarsest cells, so that it doubles exactly from level to level.
        let margin = (self.margin() * size[0].min(size[1]) as f64).ceil() as usize;
        let global = halvings - self.local_levels()?.min(halvings);
        let level = |k: u32| {
            let mut grid = Grid::new(size.map(|n| (n + 2 * margin) << k), cell / f64::from(1u32 << k))?;
            grid.first = Cell::from_axes(|_| -((margin << k) as i64));
            grid.origin = grid.first;
            let grid = self.configure_grid(grid)?;
            // Local levels have no margin: it was cut away after the last global level.
            Ok(if k > global { self.map_grid(&grid) } else { grid })
        };
        // The last level comes first: if it is too large, the error names the requested size.
        let last = level(halvings)?;
        (0..halvings).map(level).chain([Ok(last)]).collect()
    }

    /// Returns the part of a level that is the map: without the margin, and on the last level without the cut.
    pub(crate) fn map_window(&self, level: &Grid) -> Option<CellRect> {
        let mut window = level.map_window()?;
        if self.map_trim() != MapTrim::NONE && self.map_size().is_ok_and(|size| size == window.size()) {
            let MapTrim { cols, rows } = self.map_trim();
            let size = [window.rows().saturating_sub(rows).max(1), window.cols().saturating_sub(cols).max(1)];
            window = CellRect::new(window.start, size);
        }
        Some(window)
    }

    /// Returns the rows and columns of the map on its last level, before the cut.
    fn map_size(&self) -> Result<Size> {
        let halvings = self.halvings()?;
        let Extent { width, height } = self.extent().unwrap_or_default();
        let cell = width.max(height) / (self.cells >> halvings) as f64;
        Ok([height, width].map(|side| count_whole_cells(side, cell) << halvings))
    }

    /// Returns the grid of that map, with open edges where something was removed.
    pub fn map_grid(&self, level: &Grid) -> Grid {
        let mut grid = self.map_window(level).map_or_else(|| level.clone(), |map| level.window(map));
        // After the cut a side is no edge of the world any more: what is beyond it was removed, so water may leave
        // there.
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

    /// Returns the number of cells on the long side of a preview: that of the first level with more than [`PREVIEW`],
    /// or of the last.
    ///
    /// # Errors
    /// Returns the errors of [`Recipe::grids`].
    pub fn preview_cells(&self) -> Result<usize> {
        let halvings = self.halvings()?;
        let levels = (0..=halvings).rev().map(|k| self.cells >> k);
        Ok(levels.into_iter().find(|cells| *cells > PREVIEW).unwrap_or(self.cells))
    }

    /// Returns the number of cells on the long side of the level nearest to `cells`; without levels, `cells` itself.
    ///
    /// # Errors
    /// Returns the errors of [`Recipe::grids`].
    pub fn level_near(&self, cells: usize) -> Result<usize> {
        if !self.has_levels() {
            return Ok(cells);
        }
        let levels = (0..=self.halvings()?).map(|k| self.cells >> k);
        // Levels double, so the nearest one is that with the smallest ratio.
        let times = |level: &usize| (*level).max(cells) as f64 / (*level).min(cells) as f64;
        Ok(levels.min_by(|a, b| times(a).total_cmp(&times(b))).unwrap_or(cells))
    }

    /// Limits a recipe that has an extent to `most` cells on the long side, or to the level nearest to this, if it
    /// has more.
    ///
    /// # Errors
    /// Returns the errors of [`Recipe::grids`].
    pub fn limit_cells(&mut self, most: usize) -> Result<()> {
        if self.extent().is_some() && self.cells > most {
            self.cells = self.level_near(most)?;
        }
        Ok(())
    }

    /// Returns true if it is built in levels of its own instead of on a given grid.
    pub fn has_levels(&self) -> bool {
        self.levels() != Levels::default()
    }

    /// Returns the number of its local levels.
    ///
    /// # Errors
    /// Returns an error if doubling the global level's cells does not lead to `cells`.
    pub fn local_levels(&self) -> Result<u32> {
        let (Some(Extent { width, height }), RefinementMethod::Local { from: local_from }) =
            (self.extent(), self.levels().beyond)
        else {
            return Ok(0);
        };
        let cell = width.max(height) / self.cells as f64;
        // Halve the cells until a level counts as global.
        let is_global = |halved: &u32| match local_from {
            LocalFrom::Auto => self.cells >> halved <= MAX_AUTO_GLOBAL_CELLS,
            LocalFrom::Cells(most) => self.cells >> halved <= most,
            // The tolerance is that of `is_width_in_range`.
            LocalFrom::Width(least) => double_width(cell, *halved) >= least * 0.9995,
        };
        // `cells` has at most 2²⁰, so 31 halvings are more than enough and the shifts stay defined.
        let mut levels = (0..31).find(|halved| is_global(halved) || self.cells >> halved <= 1).unwrap_or(31);
        if local_from == LocalFrom::Auto {
            levels = self.local_level_limits(cell).map(|(_, most)| most).fold(levels, u32::min);
        }
        // The global level must have a whole number of cells, and exactly the requested one if there is one.
        let part = 1usize << levels;
        if !self.cells.is_multiple_of(part) {
            let [less, more] = [self.cells / part, self.cells / part + 1].map(|n| n * part);
            let allowed = format!("a multiple of {part}, because {levels} of its levels are local: {less} or {more}");
            return Err(Error::invalid_value("cells", self.cells, allowed));
        }
        if let LocalFrom::Cells(from) = local_from
            && levels > 0
            && self.cells >> levels != from
        {
            let [less, more] = [from << (levels - 1), from << levels];
            return Err(Error::invalid_value(
                "cells",
                self.cells,
                format!("the global level's {from} times a power of 2: {less} or {more}"),
            ));
        }
        Ok(levels)
    }

    /// Returns the recipe up to its global level, which is the part that is computed over the whole terrain.
    ///
    /// # Errors
    /// Returns the errors of [`Recipe::local_levels`].
    pub fn to_global_recipe(&self) -> Result<Self> {
        let cells = self.cells >> self.local_levels()?;
        let mut global = Self { cells, ..self.clone() };
        global.set_refinement_method(RefinementMethod::Global)?;
        Ok(global)
    }

    /// Returns how often the first level's cells are halved until there are `cells` on the long side.
    ///
    /// # Errors
    /// Returns an error if `cells` is not such a number, or the first level that the recipe specifies does not fit
    /// the short side.
    pub fn halvings(&self) -> Result<u32> {
        let local = self.local_levels()?;
        Ok(local + self.global_halvings(self.cells >> local)?)
    }

    /// Returns how often the first level's cells are halved until there are `cells` on the long side of the global
    /// level.
    fn global_halvings(&self, cells: usize) -> Result<u32> {
        let first = match self.levels().coarsest {
            Coarsest::None => return Ok(0),
            Coarsest::Cells(first) => first,
            Coarsest::Auto => {
                // Cells are halved as long as the coarser level keeps MIN_FIRST_LEVEL_CELLS.
                let enough = (0..).take_while(|k| cells >> k >= 2 * MIN_FIRST_LEVEL_CELLS).count() as u32;
                let fits =
                    |k: &u32| self.short_side_misfit(cells as f64 / f64::from(1u32 << k)) <= MAX_SHORT_SIDE_MISFIT;
                // The coarsest fitting first level is preferred; if none fits, there is one level.
                let halvings = (1..=enough).rev().find(fits).unwrap_or(0);
                let part = 1usize << halvings;
                if cells.is_multiple_of(part) {
                    return Ok(halvings);
                }
                let [less, more] = [cells / part, cells / part + 1].map(|n| n * part);
                let allowed =
                    format!("a multiple of {part}, because it is built in {} levels: {less} or {more}", halvings + 1);
                return Err(Error::invalid_value("cells", cells, allowed));
            }
        };
        if cells < first {
            return Err(Error::invalid_value("cells", cells, format!("{first} (the coarsest level) or more")));
        }
        // The quotient is rounded down to a power of two; the next line refuses any other number of cells.
        let halvings = (cells / first).ilog2();
        if first << halvings != cells {
            let allowed = format!(
                "the coarsest level's {first} times a power of 2: {} or {}",
                first << halvings,
                first << (halvings + 1)
            );
            return Err(Error::invalid_value("cells", cells, allowed));
        }
        if halvings == 0 || self.short_side_misfit(first as f64) <= MAX_SHORT_SIDE_MISFIT {
            return Ok(halvings);
        }
        let fitting = (1..halvings)
            .map(|k| first << k)
            .find(|first| self.short_side_misfit(*first as f64) <= MAX_SHORT_SIDE_MISFIT);
        let fitting = fitting.map_or("left out, which makes a single level".into(), |first| format!("{first} or more"));
        let allowed = format!(
            "{fitting}, because the extent's short side is not a whole number of cells on the first level \
             (error above 1 %)"
        );
        Err(Error::invalid_value("coarsest", first, allowed))
    }

    /// Returns the share by which whole cells miss the short side of the extent, if there are `cells` along the long
    /// side. The finer the cells, the smaller it is.
    fn short_side_misfit(&self, cells: f64) -> f64 {
        let Some(Extent { width, height }) = self.extent() else { return 0.0 };
        let (short, cell) = (width.min(height), width.max(height) / cells);
        (count_whole_cells(short, cell) as f64 * cell / short - 1.0).abs()
    }

    /// Returns the work to be done, in order, on levels with cells of these widths in metres, the coarsest first: the
    /// stages of each level, and a refinement between two levels. Muted stages are included.
    pub fn turns(&self, widths: &[f64]) -> Vec<Turn> {
        let mut passes = vec![0; self.stages.len()];
        let mut turns = Vec::new();
        let counts = self.count_global_and_all(widths.len());
        for (level, cell) in widths.iter().enumerate() {
            if level > 0 {
                turns.push(Turn { level, stage: None, trims: false, pass: 0 });
            }
            for (number, stage) in self.stages.iter().enumerate() {
                if stage.runs_on(level, counts, *cell) {
                    // A base stage runs once; its additions on finer levels are part of the refinement.
                    if passes[number] == 0 || !stage.is_base() {
                        turns.push(Turn { level, stage: Some(number), trims: false, pass: passes[number] });
                    }
                    passes[number] += 1;
                }
            }
            // The margin is removed after the last global level: local levels need no surroundings.
            if (self.margin() > 0.0 || self.map_trim() != MapTrim::NONE) && level + 1 == counts[0] {
                turns.push(Turn { level, stage: None, trims: true, pass: 0 });
            }
        }
        turns
    }

    /// Returns the base stages that add detail on level `level`, grouped into blocks: between the stages of a block
    /// nothing has eroded the terrain yet.
    ///
    /// # Errors
    /// Returns an error if one of them comes after erosion and does not add to the terrain: what it would create on a
    /// finer terrain is not known then.
    pub(crate) fn group_detail_stages(&self, widths: &[f64], level: usize) -> Result<Vec<Vec<usize>>> {
        let counts = self.count_global_and_all(widths.len());
        let runs = |stage: &Stage, level: usize| stage.runs_on(level, counts, widths[level]);
        let has_run = |stage: &Stage| (0..level).any(|before| runs(stage, before));
        let mut blocks: Vec<Vec<usize>> = Vec::new();
        // `first` holds until a stage has eroded the terrain, `open` while the last block may take another stage.
        let (mut first, mut open) = (true, false);
        for (number, stage) in self.stages.iter().enumerate().filter(|(_, stage)| !stage.muted && has_run(stage)) {
            match stage.model.about().family {
                Family::Analysis => continue,
                // An erosion stage that first runs on this level or later has changed nothing yet, so it does not
                // separate blocks.
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

    /// Returns how many of `levels` levels are computed over the whole terrain, and `levels`.
    pub fn count_global_and_all(&self, levels: usize) -> [usize; 2] {
        let local = self.local_levels().map_or(0, |local| local as usize);
        // At least one level is global, because a local level is computed from one.
        [levels.saturating_sub(local).max(1), levels]
    }

    /// Returns, for each stage, on how many coarser levels it has run when it runs on its last level that is computed
    /// over the whole terrain.
    pub(crate) fn last_passes(&self) -> Vec<u32> {
        let grids = self.to_global_recipe().and_then(|recipe| recipe.grids()).unwrap_or_default();
        let widths: Vec<f64> = grids.iter().map(|grid| grid.cell).collect();
        let counts = [widths.len(); 2];
        let runs =
            |stage: &Stage| (0..widths.len()).filter(|level| stage.runs_on(*level, counts, widths[*level])).count();
        self.stages.iter().map(|stage| (runs(stage) as u32).saturating_sub(1)).collect()
    }

    /// Returns the stages that change the terrain on levels of specified widths, each with the most levels that may
    /// be local for it, if the last level's cells are `cell` metres wide: a stage with a finest width must have run
    /// on all its levels, one without it on its widest.
    fn local_level_limits(&self, cell: f64) -> impl Iterator<Item = (&Stage, u32)> {
        self.stages.iter().filter(|stage| !stage.muted && !stage.is_read_only()).filter_map(move |stage| {
            let When::Widths(widths) = stage.when else { return None };
            let mut levels = (0..31).filter(|halved| is_width_in_range(widths, double_width(cell, *halved)));
            // The finest suitable level comes first.
            let level = if widths[0] > 0.0 { levels.next() } else { levels.next_back() };
            Some((stage, level?))
        })
    }

    /// Checks that no stage that changes the terrain is to run on local levels, for levels with cells of these
    /// widths.
    ///
    /// # Errors
    /// Returns an error if one is, with the reason, and the global level that would suit all stages.
    pub(crate) fn check_local(&self, widths: &[f64]) -> Result<()> {
        let [global, levels] = self.count_global_and_all(widths.len());
        let (Some(last), Some(cell)) = (widths.get(global - 1), widths.last()) else { return Ok(()) };
        let local = (levels - global) as u32;
        let Some((stage, most)) = self.local_level_limits(*cell).find(|(_, most)| *most < local) else { return Ok(()) };
        let all = self.local_level_limits(*cell).map(|(_, most)| most).fold(local, u32::min);
        let problem = format!(
            "is not possible: levels with cells finer than {last} m are local, and this stage needs the whole \
             terrain; set local_from = {} or \"{} m\" to run it there",
            self.cells >> all,
            double_width(*cell, all)
        );
        let asked = format!("{}.levels = cells of {} m", stage.label, double_width(*cell, most));
        Err(Error::conflict(asked, problem))
    }

    /// Returns the indices of the stages that are not muted and never run on levels with cells of these widths.
    pub(crate) fn find_idle_stages(&self, turns: &[Turn]) -> impl Iterator<Item = usize> {
        let has_turn = |number: usize| turns.iter().any(|turn| turn.stage == Some(number));
        let stages = self.stages.iter().enumerate();
        stages.filter(move |(number, stage)| !stage.muted && !has_turn(*number)).map(|(number, _)| number)
    }

    /// Checks that a run on this grid fits into memory, including what reading, drawing and writing take.
    ///
    /// # Errors
    /// Returns an error with both numbers if the estimate is more than the system has free.
    pub fn check_memory(&self, grid: &Grid) -> Result<()> {
        let need = self.estimate_memory(grid).saturating_add(COPY_BYTES_PER_CELL.saturating_mul(grid.len() as u64));
        memory::check_memory(&format!("{} at {} × {} cells", self.name, grid.cols(), grid.rows()), need)
    }

    /// Returns an estimate of the memory that a run on this grid needs, in bytes: the terrain, the layers that models
    /// have written by then, and the scratch memory of the work, on the level where that is most.
    pub fn estimate_memory(&self, grid: &Grid) -> u64 {
        /// Results of base models on both levels, and a field of half its rows, in bytes per cell.
        const FINER: u64 = 10;
        // For a given terrain a recipe has one level.
        let levels = self.grids().ok().filter(|levels| levels.last().is_some_and(|last| last.size == grid.size));
        let levels = levels.unwrap_or_else(|| vec![grid.clone()]);
        let widths: Vec<f64> = levels.iter().map(|level| level.cell).collect();
        /// A local level's window, its layers, and the window from which it is computed, in bytes per cell.
        const LOCAL: u64 = 30;
        /// Checking a sketch and changing the terrain: flow directions, targets, the new terrain and factors, in
        /// bytes per cell.
        const SKETCH: u64 = 56;
        let [global, _] = self.count_global_and_all(levels.len());
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
                    let model = stage.model_for_pass(turn.pass);
                    let drawn = if self.sketch.is_some() { SKETCH * cells } else { 0 };
                    drawn + model.map_or_else(|_| stage.model.scratch(level), |model| model.scratch(level))
                }
                None if turn.trims => cells * (1 + layers.len() as u64),
                None if turn.level >= global => {
                    // Of all layers only those of the tree are left, which are counted.
                    layers.clear();
                    most = most.max(LOCAL * cells + LOCAL_SCRATCH * rayon::current_num_threads() as u64);
                    layers.extend([FLOW_DIRECTION, DRAINAGE_AREA, LAKE, POOL].map(|spec| spec.name));
                    continue;
                }
                // In addition to everything on the cells of twice the width.
                None => cells * (1 + layers.len() as u64) + FINER * cells,
            };
            // The elevation and each layer take four bytes per cell.
            most = most.max(cells * 4 * (1 + layers.len() as u64) + scratch);
        }
        most
    }
}

/// Returns a cell's width, doubled this many times.
fn double_width(cell: f64, times: u32) -> f64 {
    cell * libm::exp2(f64::from(times))
}

/// Returns the number of whole cells along a side, at least one.
fn count_whole_cells(side: f64, cell: f64) -> usize {
    ((side / cell).round() as usize).max(1)
}
