//! The parameters as a step on a grid uses them.

use crate::model::YEAR;
use crate::models::hydrology::{Hydrology, RuleSet};
use thalweg_core::Grid;
use thalweg_core::terrain::grid::Edges;
use thalweg_core::terrain::height::UNITS;

/// Cells of the stride that give the article's map one drop in a batch: 512 drops on 512 × 512 cells.
const CELLS_PER_DROP: f64 = 512.0;

/// The discharge of a drop in a batch over that at which a stream is full: the article's erf(0.4·x) is nearest to
/// 1 − exp(−x/1.8).
const FULL: f64 = 1.8;

/// Steps under water after which a drop lays down what it still carries.
pub const MAX_SUNK: u32 = 48;

/// Slope below which water comes to rest.
const LEAST_SLOPE: f64 = 5e-4;

/// How many times as quickly the map of discharge forgets under a lake.
const DROWNED: f64 = 8.0;

/// Years in which what comes to a hollow fills it at most, if it is none that lasts: such a one is a pit in a stream's bed, and
/// no lake.
pub const PASSES: f64 = 0.1;

/// Lengths in cells, heights in units.
pub struct Rules {
    pub set: RuleSet,
    /// Cells of the grid over cells of the stride.
    pub q: f32,
    /// Slope of one unit from a cell to the one after the next.
    pub slope: f32,
    /// Water of a whole drop, in units × cells.
    pub drop: i32,
    pub least: f32,
    pub dt: f32,
    /// 1/(density), by which the pull of a slope is multiplied.
    pub pull: f32,
    pub friction: f32,
    pub stream_friction: f32,
    pub evaporation: f32,
    pub stream_evaporation: f32,
    /// Share of the difference to capacity that a step of a stride lays down or digs.
    pub deposition: f32,
    pub entrainment: f32,
    pub momentum: f32,
    /// Share of what a drop carries that settles in a step under water.
    pub settling: f32,
    /// Steepest slope, as rise over run.
    pub tan_talus: f64,
    /// Units by which a cell may stand over its neighbour.
    pub talus: f32,
    /// The same under water.
    pub wet_talus: f32,
    pub slide: f32,
    /// Steps without a new lowest place after which a drop comes to rest.
    pub patience: u32,
    /// Units that it must be lower for that: water that falls less stands.
    pub least_fall: i32,
    pub turns: u32,
    pub floor: i32,
    /// Depth in units of the deepest pit that is graded.
    pub grading: i32,
    pub edges: Edges,
    /// m³/s of a whole drop a batch.
    pub drop_rate: f64,
    /// m³/s at which the share of a stream is 1 − 1/e, and by which momentum is measured.
    pub full: f64,
    pub unit: f64,
    /// Share of the old discharge that a batch keeps.
    pub keep: f64,
    /// The same under a lake.
    pub keep_drowned: f64,
    /// Share of what is over a lake's sill that leaves in a batch.
    pub release: f64,
    /// Drops that a batch lets fall on a cell, and in all.
    pub batch: f64,
    pub most: u64,
    /// Years in a batch.
    pub years: f64,
}

impl Rules {
    pub fn new(model: &Hydrology, grid: &Grid) -> Self {
        let stride = model.stride(grid);
        let q = grid.cell / stride;
        // A batch is a share of a drop to each cell; a drop is what falls on a cell in its time.
        let batch = model.batch(grid) as f64 / grid.world.iter().map(|n| *n as f64).product::<f64>();
        let years = model.years * batch / model.drops;
        let depth = model.rain * model.years / model.drops;
        let unit = if model.stream_discharge > 0.0 {
            model.stream_discharge / FULL
        } else {
            model.rain * CELLS_PER_DROP * stride * stride / YEAR
        };
        let share = |x: f64| (1.0 - libm::pow(1.0 - x.min(0.999), q)) as f32;
        let tan_talus = libm::tan(model.talus.to_radians());
        Self {
            set: model.rules,
            q: q as f32,
            slope: (0.5 / (grid.cell * UNITS)) as f32,
            drop: ((depth * UNITS).round() as i32).max(1),
            least: (model.min_volume) as f32,
            dt: model.dt as f32,
            pull: (1.0 / model.density) as f32,
            friction: model.friction as f32,
            stream_friction: model.stream_friction as f32,
            evaporation: (model.evaporation * q) as f32,
            stream_evaporation: model.stream_evaporation as f32,
            deposition: share(model.deposition),
            entrainment: model.entrainment as f32,
            momentum: (model.momentum * q) as f32,
            settling: share(model.settling),
            tan_talus,
            talus: (tan_talus * grid.cell * UNITS) as f32,
            wet_talus: (libm::tan(model.wet_talus.to_radians()) * grid.cell * UNITS) as f32,
            slide: (0.5 * model.slide) as f32,
            patience: (model.patience / (grid.cell * std::f64::consts::SQRT_2)).ceil().clamp(2.0, 1e6) as u32,
            least_fall: (LEAST_SLOPE * model.patience * UNITS) as i32,
            turns: model.spill,
            grading: (model.grading * UNITS).round() as i32,
            floor: (model.floor * UNITS).round() as i32,
            edges: grid.edges,
            drop_rate: model.rain * grid.cell_area() / batch / YEAR,
            full: unit * FULL,
            unit,
            keep: libm::exp(-batch / model.memory),
            keep_drowned: libm::exp(-DROWNED * batch / model.memory),
            release: if model.release > 0.0 { -libm::expm1(-batch / model.release) } else { 1.0 },
            batch,
            most: model.batch(grid),
            years,
        }
    }
}
