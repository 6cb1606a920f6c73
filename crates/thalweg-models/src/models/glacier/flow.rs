//! The flow of ice: one sweep over the cells, each after its higher neighbours.

use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};

use rayon::prelude::*;

use crate::models::glacier::cascade::TopologicalTraversal;
use crate::models::glacier::cell::{CellSurroundings, IceFluxFactors, STEEPEST};
use crate::models::glacier::land::IceBed;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Field, Grid, Height};

/// Memory in bytes per cell that the flow and the erosion of the bed use.
pub const SCRATCH: u64 = 76;

/// Snowfall and melt.
#[derive(Clone, Copy)]
pub struct IceClimate<'a> {
    /// Elevation in metres at which snowfall and melt are equal.
    pub snowline: f64,
    /// Increase of the gain per metre of elevation, in 1/a.
    pub gradient: f64,
    /// Maximum gain in m/a.
    pub most: f64,
    /// Factor of positive gain.
    pub snow: Option<&'a Field<f32>>,
    /// Metres by which the snowline is lower.
    pub shade: Option<&'a Field<f32>>,
}

impl IceClimate<'_> {
    /// Returns the net gain of cell `k` in metres per year, negative for melt, with its surface at `level` in units.
    fn net_gain(&self, level: i32, k: usize) -> f64 {
        let lower = self.shade.map_or(0.0, |shade| f64::from(shade[k]));
        let rate = (self.gradient * (Height(level).metres() - self.snowline + lower)).min(self.most);
        match self.snow {
            // If the factor is NaN so is the product, and `max` turns it into zero.
            Some(snow) if rate > 0.0 => (rate * f64::from(snow[k])).max(0.0),
            _ => rate,
        }
    }
}

/// The mass balance of the ice, in units × cells.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// Ice that fell as snow.
    pub gained: i64,
    /// Ice that melted, calved, or left over an edge.
    pub lost: i64,
    /// Number of cells with more ice than the range of elevations has room for.
    pub limited: u64,
}

impl Spent {
    fn add(&mut self, other: &Self) {
        self.gained += other.gained;
        self.lost += other.lost;
        self.limited += other.limited;
    }
}

/// Density of ice in kg/m³.
const ICE_DENSITY: i64 = 917;
/// Density of sea water in kg/m³.
const SEA_DENSITY: i64 = 1028;

/// Limit of a step: the maximum of D·dt/dx² over all cells, where D = |q|/|∇s| is the diffusivity. On rough mountains
/// steps are stable up to about 80.
const MAX_DIFFUSION_NUMBER: f64 = 30.0;

/// The flow over a grid.
pub struct IceFlow {
    /// Level of the surface, which is ice, bare ground or the sea, in units.
    pub surface: Field<i32>,
    /// Units that each cell passed over its west, east, north and south side in the last step.
    pub gave: Vec<[AtomicI32; 4]>,
    /// Units that melted in each cell, or calved.
    pub gone: Vec<AtomicI64>,
    /// Units that have arrived in cells during the step.
    comes: Vec<AtomicI64>,
    /// Units of ice after the step.
    stays: Vec<AtomicI32>,
    /// Cells with ice, or with snow that stays.
    live: Vec<bool>,
    /// Live cells and their neighbours: only these are visited.
    matters: Vec<bool>,
    /// Traversal from the highest surface to the lowest.
    pub cascade: TopologicalTraversal,
}

/// The constants of a step of the ice.
struct IceStep<'a> {
    rates: &'a IceFluxFactors,
    climate: &'a IceClimate<'a>,
    years: f64,
}

impl IceFlow {
    pub fn new(grid: &Grid) -> Self {
        let cells = || 0..grid.len();
        Self {
            surface: Field::new(grid.size, 0),
            gave: cells().map(|_| Default::default()).collect(),
            gone: cells().map(|_| AtomicI64::new(0)).collect(),
            comes: cells().map(|_| AtomicI64::new(0)).collect(),
            stays: cells().map(|_| AtomicI32::new(0)).collect(),
            live: vec![false; grid.len()],
            matters: vec![false; grid.len()],
            cascade: TopologicalTraversal::new(grid.len()),
        }
    }

    /// Computes the surface.
    pub fn update_surface(&mut self, land: IceBed<'_>, ice: &Field<Height>) {
        let sea = land.grid.sea_level.map_or(i32::MIN, |sea| sea.0);
        self.surface.par_rows_mut().for_each(|(i, row)| {
            for ((level, ground), ice) in row.iter_mut().zip(land.ground.row(i)).zip(ice.row(i)) {
                *level = (ground.0 + ice.0).max(sea);
            }
        });
    }

    /// Returns the downward slopes from cell `k` to its west, east, north and south; 0 for ascents, missing data and
    /// edges.
    #[inline(always)]
    pub fn downward_slopes(&self, land: IceBed<'_>, k: usize) -> [f64; 4] {
        let level = self.surface.as_slice();
        let per = 1.0 / (land.grid.cell * UNITS);
        let around = land.side_neighbours(k);
        let fall = |side: usize| match around[side] {
            Some(to) if !land.is_void(to) => {
                ((i64::from(level[k]) - i64::from(level[to])).max(0) as f64 * per).min(STEEPEST)
            }
            _ => 0.0,
        };
        // Written out because `map` is not inlined here, which doubles the time.
        [fall(0), fall(1), fall(2), fall(3)]
    }

    /// Returns the longest stable step in years, at most `longest`.
    fn stable_step_years(&self, land: IceBed<'_>, ice: &Field<Height>, rates: &IceFluxFactors, longest: f64) -> f64 {
        let (cols, ice) = (land.grid.cols(), ice.as_slice());
        let row = |i: usize| {
            let spread = |k: usize| {
                let h = ice[k].metres();
                let [west, east, north, south] = self.downward_slopes(land, k);
                let (across, along) = (west.max(east), north.max(south));
                // This is the diffusivity D of the shallow-ice flux, with the steepest descents along both axes.
                (rates.creep * h * h + rates.slide) * h * h * h * (across * across + along * along)
            };
            let icy = (i * cols..(i + 1) * cols).filter(|k| ice[*k].0 > 0 && !land.is_void(*k));
            icy.map(spread).fold(0.0, f64::max)
        };
        // A maximum of floats, unlike a sum, does not depend on the order of threads.
        let most = (0..land.grid.rows()).into_par_iter().map(row).reduce(|| 0.0, f64::max);
        if most * longest > MAX_DIFFUSION_NUMBER * land.grid.cell_area() {
            MAX_DIFFUSION_NUMBER * land.grid.cell_area() / most
        } else {
            longest
        }
    }

    /// Marks the cells that take part in the step.
    fn mark_active_cells(&mut self, land: IceBed<'_>, ice: &[Height], climate: &IceClimate<'_>) {
        let cols = land.grid.cols();
        let level = self.surface.as_slice();
        self.live.par_chunks_mut(cols).enumerate().for_each(|(i, row)| {
            for (k, live) in (i * cols..).zip(row) {
                *live = !land.is_void(k) && (ice[k].0 > 0 || climate.net_gain(level[k], k) > 0.0);
            }
        });
        // Neighbours of live cells take part because ice may flow into them and on from them in the same step.
        let live = &self.live;
        self.matters.par_chunks_mut(cols).enumerate().for_each(|(i, row)| {
            for (k, matters) in (i * cols..).zip(row) {
                let is_adjacent_live = || land.side_neighbours(k).into_iter().flatten().any(|n| live[n]);
                *matters = live[k] || (is_adjacent_live() && !land.is_void(k));
            }
        });
    }

    /// Advances the ice by snowfall, melt, flow and calving, for at most `longest` years. Returns the years that
    /// passed.
    ///
    /// Each cell in its turn divides its ice and the ice that has arrived ([`IceFluxFactors::solve_outflow`]). Ice is
    /// therefore conserved, no cell gives more than it has, and in equilibrium the result does not depend on the length
    /// of the step. A cell's turn requires only its higher neighbours to be done, so many cells are processed in
    /// parallel.
    pub fn advance_ice(
        &mut self,
        land: IceBed<'_>,
        ice: &mut Field<Height>,
        rates: &IceFluxFactors,
        climate: &IceClimate<'_>,
        longest: f64,
        spent: &mut Spent,
    ) -> f64 {
        self.update_surface(land, ice);
        let years = self.stable_step_years(land, ice, rates, longest);
        self.mark_active_cells(land, ice.as_slice(), climate);
        // The traversal is taken out, so that the closures can borrow the rest of `self`.
        let mut cascade = std::mem::replace(&mut self.cascade, TopologicalTraversal::new(0));
        let (level, flow) = (self.surface.as_slice(), &*self);
        let step = IceStep { rates, climate, years };
        let sums = cascade.visit_in_order(
            land,
            |k| flow.matters[k],
            // If two cells have the same level, the lower index comes first, so the relation has no cycles.
            |k, _, to| (level[k], to) > (level[to], k),
            |k, spent| flow.update_cell(land, ice.as_slice(), &step, k, spent),
        );
        self.cascade = cascade;
        sums.iter().for_each(|sum| spent.add(sum));
        spent.lost += self.store_thickness(land, ice);
        years
    }

    /// Stores the new thickness, and adds the ice that arrived in cells that were not visited. Returns the ice that
    /// has no room.
    fn store_thickness(&mut self, land: IceBed<'_>, ice: &mut Field<Height>) -> i64 {
        let cols = ice.cols();
        let rows = ice.par_rows_mut().zip(self.comes.par_chunks_mut(cols)).zip(self.stays.par_chunks(cols));
        let rows = rows.zip(self.gave.par_chunks_mut(cols)).zip(self.gone.par_chunks_mut(cols));
        let settled = rows.map(|(((((i, ice), comes), stays), gave), gone)| {
            let mut lost = 0;
            for (j, ice) in ice.iter_mut().enumerate() {
                let k = i * cols + j;
                let came = std::mem::take(comes[j].get_mut());
                if self.matters[k] {
                    ice.0 = stays[j].load(Ordering::Relaxed);
                    continue;
                }
                (gave[j], gone[j]) = Default::default();
                // Ice that ran farther than the marked cells stays in the first unmarked cell until the next step.
                let kept = came.min(i64::from(Height::MAX.0) - i64::from(land.ground[k].0) - i64::from(ice.0));
                lost += came - kept;
                ice.0 += kept as i32;
            }
            lost
        });
        settled.sum()
    }

    /// Processes one cell.
    fn update_cell(&self, land: IceBed<'_>, ice: &[Height], step: &IceStep<'_>, k: usize, spent: &mut Spent) {
        let IceStep { rates, climate, years } = *step;
        let (level, ground) = (self.surface.as_slice(), land.ground.as_slice());
        let moved = i64::from(ice[k].0) + self.comes[k].load(Ordering::Relaxed);
        let depth = land.grid.sea_level.map_or(0, |sea| (i64::from(sea.0) - i64::from(ground[k].0)).max(0));
        // Snow that falls on open sea is lost.
        let gain = if moved == 0 && depth > 0 { 0 } else { (climate.net_gain(level[k], k) * years * UNITS) as i64 };
        // The gain was rounded toward zero. No more melts than there is, including ice that has just arrived.
        let melts = (-gain).clamp(0, moved);
        let there = moved + gain.max(0) - melts;
        spent.gained += gain.max(0);
        let mut keeps = there;
        let mut gave = [0; 4];
        if there > 0 {
            let metres = |units: i64| units as f64 / UNITS;
            let around = land.side_neighbours(k);
            let beyond = self.cell_surroundings(land, ice, k, around);
            let (kept, over) = rates.solve_outflow(metres(there), ice[k].metres(), &beyond, land.grid.cell, years);
            let sum: f64 = over.iter().sum();
            // The kept ice and the parts below are rounded down to units; the remainders of the parts stay in the cell.
            let gives = there - ((kept * UNITS) as i64).clamp(0, there);
            for side in 0..4 {
                if sum > 0.0 && over[side] > 0.0 {
                    // The four parts are rounded down, so they never exceed the outflow.
                    let units = ((gives as f64 * (over[side] / sum)) as i64).clamp(0, keeps).min(i32::MAX.into());
                    keeps -= units;
                    gave[side] = units as i32;
                    match around[side] {
                        Some(to) => _ = self.comes[to].fetch_add(units, Ordering::Relaxed),
                        None => spent.lost += units,
                    }
                }
            }
        }
        // Calving: ice that is thin enough to float is lost.
        let room = (i64::from(Height::MAX.0) - i64::from(ground[k].0)).max(0);
        let floats = keeps * ICE_DENSITY < depth * SEA_DENSITY;
        let stays = if floats { 0 } else { keeps.min(room) };
        spent.limited += u64::from(!floats && keeps > room);
        let gone = melts + keeps - stays;
        spent.lost += gone;
        for (to, units) in self.gave[k].iter().zip(gave) {
            to.store(units, Ordering::Relaxed);
        }
        self.gone[k].store(gone, Ordering::Relaxed);
        self.stays[k].store(stays as i32, Ordering::Relaxed);
    }

    /// Returns the surroundings of a cell.
    #[inline(always)]
    fn cell_surroundings(
        &self,
        land: IceBed<'_>,
        ice: &[Height],
        k: usize,
        around: [Option<usize>; 4],
    ) -> CellSurroundings {
        let (level, ground) = (self.surface.as_slice(), land.ground.as_slice());
        let mut beyond = CellSurroundings::WALLS;
        for (side, to) in around.into_iter().enumerate() {
            match to {
                // Missing data and higher neighbours are walls. The order of equal levels is that of the traversal.
                Some(to) if land.is_void(to) || (level[to], k) > (level[k], to) => {}
                Some(to) => {
                    beyond.levels[side] = (i64::from(level[to]) - i64::from(ground[k].0)) as f64 / UNITS;
                    beyond.ice[side] = ice[to].metres();
                }
                // Over an open edge ice falls onto bare, level ground: with the slope from behind the edge it would
                // dam itself up.
                None if land.is_edge_open(side) => beyond.levels[side] = 0.0,
                None => {}
            }
        }
        beyond
    }
}
