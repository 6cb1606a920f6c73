//! The model's parameters, converted to the units of a step on a given grid.

use crate::model::YEAR;
use crate::models::hydrology::{Hydrology, RuleSet};
use thalweg_core::Grid;
use thalweg_core::terrain::grid::Edges;
use thalweg_core::terrain::height::UNITS;

/// Cells of a stride's width per drop in a batch of the article's map: 512 drops on 512 × 512 cells.
const CELLS_PER_DROP: f64 = 512.0;

/// Characteristic discharge of the stream share, in drops per batch: the article's erf(0.4·x) is fitted best by
/// 1 − exp(−x/1.8).
const FULL: f64 = 1.8;

/// Steps under water after which a drop deposits its remaining load.
pub const MAX_SUNK: u32 = 48;

/// Slope below which water comes to rest.
const MIN_SLOPE: f64 = 5e-4;

/// Factor by which the map of discharge forgets faster under a lake.
const DROWNED: f64 = 8.0;

/// Maximum filling time, in years, of a depression that counts as a pit in a stream bed and not as a lake.
pub const PASSES: f64 = 0.1;

/// The converted parameters: lengths in cells, heights in units.
pub struct HydrologyRules {
    pub set: RuleSet,
    /// Cell size of the grid divided by the stride.
    pub q: f32,
    /// Slope of one unit of height over two cells, the distance between opposite neighbours.
    pub slope: f32,
    /// Water of a whole drop, in units × cells.
    pub drop_water: i32,
    pub min_volume: f32,
    pub dt: f32,
    /// 1/`density`, the factor of the pull of a slope.
    pub pull: f32,
    pub friction: f32,
    pub stream_friction: f32,
    pub evaporation: f32,
    pub stream_evaporation: f32,
    /// Share of the difference to the transport capacity that is deposited or eroded in a step.
    pub deposition: f32,
    pub entrainment: f32,
    pub momentum: f32,
    /// Share of a drop's load that settles in a step under water.
    pub settling: f32,
    /// Steepest stable slope, as rise over run.
    pub tan_talus: f64,
    /// Maximum stable height difference in units between orthogonal neighbours.
    pub talus: f32,
    /// The same under water.
    pub wet_talus: f32,
    /// Half the parameter `slide`: the lower cell rises by as much as the higher one falls.
    pub slide: f32,
    /// Steps without a new lowest elevation after which a drop comes to rest.
    pub patience: u32,
    /// Units by which a new lowest elevation must be lower: water on a gentler slope comes to rest.
    pub least_fall: i32,
    pub turns: u32,
    pub floor: i32,
    /// Depth in units of the deepest pit that is graded.
    pub grading: i32,
    pub edges: Edges,
    /// Discharge in m³/s that one whole drop per batch stands for.
    pub drop_rate: f64,
    /// Discharge in m³/s at which the stream share is 1 − 1/e.
    pub full: f64,
    /// Discharge in m³/s by which momentum is divided.
    pub unit: f64,
    /// Share of the old discharge that a batch keeps.
    pub keep: f64,
    /// The same under a lake.
    pub keep_drowned: f64,
    /// Share of the water above a lake's sill that leaves in a batch.
    pub release: f64,
    /// Drops of a batch per cell.
    pub batch: f64,
    /// Drops of a batch in all.
    pub max_drops: u64,
    /// Years in a batch.
    pub years: f64,
}

impl HydrologyRules {
    /// Converts the parameters of `model` for `grid`.
    pub fn new(model: &Hydrology, grid: &Grid) -> Self {
        let stride = model.effective_stride(grid);
        let q = grid.cell / stride;
        // A drop stands for the rain on one cell over the time in which one drop per cell falls; a batch is a share of
        // that.
        let batch = model.drops_per_batch(grid) as f64 / grid.world.iter().map(|n| *n as f64).product::<f64>();
        let years = model.years * batch / model.drops;
        let depth = model.rain * model.years / model.drops;
        let unit = if model.stream_discharge > 0.0 {
            model.stream_discharge / FULL
        } else {
            model.rain * CELLS_PER_DROP * stride * stride / YEAR
        };
        // A share per stride becomes a share per step on cells of q strides. Without the cap of 0.999 a share of 1
        // would stay 1 on cells of any size.
        let share = |x: f64| (1.0 - libm::pow(1.0 - x.min(0.999), q)) as f32;
        let tan_talus = libm::tan(model.talus.to_radians());
        Self {
            set: model.rules,
            q: q as f32,
            slope: (0.5 / (grid.cell * UNITS)) as f32,
            drop_water: ((depth * UNITS).round() as i32).max(1),
            min_volume: (model.min_volume) as f32,
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
            // A step is √2 cells long. At least two steps are allowed, however large the cells are.
            patience: (model.patience / (grid.cell * std::f64::consts::SQRT_2)).ceil().clamp(2.0, 1e6) as u32,
            least_fall: (MIN_SLOPE * model.patience * UNITS) as i32,
            turns: model.spill,
            grading: (model.grading * UNITS).round() as i32,
            floor: (model.floor * UNITS).round() as i32,
            edges: grid.edges,
            drop_rate: model.rain * grid.cell_area() / batch / YEAR,
            full: unit * FULL,
            unit,
            // `memory` and `batch` are both in drops per cell, so that the averages do not depend on the size of a
            // batch.
            keep: libm::exp(-batch / model.memory),
            keep_drowned: libm::exp(-DROWNED * batch / model.memory),
            // `expm1` computes 1 − exp(−x) with all digits of a small x.
            release: if model.release > 0.0 { -libm::expm1(-batch / model.release) } else { 1.0 },
            batch,
            max_drops: model.drops_per_batch(grid),
            years,
        }
    }
}
