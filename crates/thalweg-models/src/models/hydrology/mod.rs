//! Procedural hydrology with drops, streams and lakes: see [`Hydrology`].

mod amounts;
mod batch;
mod descent;
mod drop;
mod drop_tile;
mod final_balance;
mod grade;
mod ground;
mod lakes;
mod motion;
mod rain;
mod riparian_forest;
mod rules;
mod sediment_exchange;
mod state;
mod water_record;
mod weather;

use std::ops::Range;

use crate::model::{About, Family, Model, PlayedRole, Role, StepReach, Stepper};
use crate::models::hydrology::batch::Batches;
use crate::models::hydrology::rules::HydrologyRules;
use crate::process::forest::TREES;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{
    DISCHARGE, HARDNESS, MOMENTUM_X, MOMENTUM_Y, POOL, PROTECT, RAIN, SEDIMENT, SOIL, TREE_DENSITY,
};
use thalweg_core::{Error, Grid, Result, choice, params};
use thalweg_noise::input_tables::soils::{SOILS, strata};
use thalweg_noise::input_tables::springs::SPRINGS;

params! {
    /// Drops of rain run downhill, erode and deposit, gather to streams that meander and keep to their beds, and form
    /// lakes that fill, overflow and silt up.
    ///
    /// A drop descends, and comes to rest in the lake at its end. Drops interact through maps: the discharge that
    /// passes a cell, with its direction, and the lakes. A step of a drop, in lengths of the stride, depends on n, the
    /// horizontal part of the ground's normal, V, the share of its water that is left, the momentum m of the water that
    /// passes, in units of Q₁/1.8, and σ = 1 − exp(−Q/Q₁), the stream share for the discharge Q there:
    ///
    /// - `momentum` (default): v ← v·(1 − F) + n/(V·ρ), then v ← v + μ·cos(v, m)/(V + σ)·m, which draws the drop along
    ///   with the stream; v is then scaled to √2, and the drop moves by v in cells. It can carry c = (1 + e·σ)·Δz·V for
    ///   a fall Δz.
    /// - `stream`: v ← v + dt·n/(V·ρ), the drop moves by dt·v, or by √2 cells if that is less, and v ← v·(1 − dt·F). It
    ///   can carry |v|·Δz·V.
    ///
    /// ρ is `density`, μ `momentum`, e `entrainment`, D `deposition`, and Q₁ = `stream_discharge`, at which σ is
    /// 1 − 1/e = 0.63. With `stream_discharge` 0, Q₁ is the discharge of `rain` on 1.8·512, about 920, squares of
    /// `stride` metres. F = `friction`·(1 − `stream_friction`·σ). A drop that can carry more than it does erodes the
    /// share D of the difference, at most the fall; otherwise it deposits the share D of the excess. Roots, `hardness`
    /// and `protect` reduce erosion. Then the drop loses the share R = `evaporation`·(1 − `stream_evaporation`·σ) of
    /// its water, and the banks of the new cell slide where they are steeper than `talus`. A drop that falls by less
    /// than 5 in 10 000 over the length of its `patience` starts again without its speed, `spill` times, and then
    /// rests. It also rests when its water is used up or in front of a wall. A pit on its path is filled as far as its
    /// load suffices, so that beds fall evenly. Under water it runs on along the bottom and deposits its load there, up
    /// to the level of the lake: deltas grow, and lakes silt up. Over an open edge and in the sea water is lost;
    /// sediment settles in the sea as in a lake.
    ///
    /// Lakes have the level that the climate supplies, however few drops there are: drops are samples of the rain that
    /// erode, while the water itself is a field. In a batch of Δt years each cell of land receives `rain`·share·Δt,
    /// less what infiltrates. The water flows down the steepest path and loses R in each √2 cells; the rest arrives at
    /// the lake or pit below. Each cell under water loses `lake_evaporation`·Δt. What a depression cannot store
    /// overflows at its sill into the next one, at once, down to the edge of the land. A lake without an outlet
    /// therefore follows dV/dt = inflow − `lake_evaporation`·A(V) over its ground, rises until its area balances its
    /// inflow, and reaches that state after several times (mean depth)/`lake_evaporation` years; the time available is
    /// `years`. The areas are those at the end of a batch (implicit Euler), so that long batches are stable. Lakes are
    /// level to the unit; they merge and split. A depression that its inflow fills within 0.1 years is a pit in a
    /// stream bed and not a lake: water flows through it, and none stays or evaporates there; if it has not been evened
    /// by the end, it becomes a lake after all. The ground changes far more in a run than it would in `years`, and
    /// deposits raise lakes. Once the ground is final, the water is therefore computed again on it: for the whole of
    /// `years`, in 32 parts, from the water that stood when the run began. Lakes are young where `years` are few, and
    /// never depend on ground that no longer exists. The water balance is that of this computation: the last batch
    /// corrects what the others have booked.
    ///
    /// Drops at rest in a lake that overflows start again at its sill, in the proportion of its inflow that overflows,
    /// and run and erode on. Where a sill is cut down, the water above it leaves as drops too, but not all at once
    /// (`release`). The maps of discharge and momentum are moving averages of what passes in each batch (`memory`).
    ///
    /// Where water has passed a dry pit no deeper than `grading`, the bed from it to lower ground is evened: it takes
    /// the nearest heights that fall all along it and keep the solid volume, unless the bed is firm or next to a lake.
    /// After the last batch the beds below all such pits are cut through, and the eroded material is washed out (in a
    /// world without an outlet they are evened as before).
    ///
    /// A forest of single plants, grown as by the model `trees`, takes root, seeds and dies next to the water while it
    /// runs (`forest`); no plant stands in water. Ground under roots is eroded 1 − density times as fast, so that banks
    /// are stable and rivers keep to their beds.
    ///
    /// Soil is eroded in proportion to its kind's erodibility times 1 − cohesion, and slides at its kind's slope. Below
    /// the sediment, `strata` are eroded 1 − hardness times as fast, and have their own steepest slope where less than
    /// a metre of sediment covers them. For a soil with the infiltration capacity K, a share 1 − exp(−K/`storm`) of the
    /// rain infiltrates and does not return. Springs supply drops at their rate over the run's years.
    ///
    /// Source: McDonald (2020), *Procedural hydrology*, and his later rules with momentum (2023), as presented in
    /// McDonald 2020. Deviations: drops carry mass, not a concentration, so that the solid mass balance closes to the
    /// unit; lakes are filled by rain and not by drops, after Barnes, Callaghan & Wickert (2021,
    /// doi:10.5194/esurf-9-105-2021), so that the water balance closes to rounding; a drop erodes no deeper than it
    /// falls; no step skips a cell in the maps; drops can rest; discharge is in m³/s, independent of the batch. The
    /// article's stream map is the share of batches in which a drop passes; here σ is the expected value of that share.
    ///
    /// Units and resolution. On cells of `stride` metres the numbers are the article's. On finer cells `deposition` and
    /// `settling` become 1 − (1 − share)^q with q = dx/stride; friction, evaporation and pulls are multiplied by q. A
    /// drop stands for the rain on a cell, so drops are counted per cell. The rain of all batches is what falls in
    /// `years`, which determines the lakes. Erosion is that of a far longer time, as is usual where river beds are
    /// computed.
    ///
    /// Layers: it needs none, uses `rain`, `soil`, `hardness`, `protect`, `tree_density`, springs, kinds of soil,
    /// strata, and the layers that it writes: the ground, `sediment`, `pool`, `discharge`, `momentum_x` and
    /// `momentum_y`.
    ///
    /// Limits: with too many drops, plains between mountains fill with their sediment.
    pub struct Hydrology {
        /// Length that the other parameters refer to, the cell width of the article; 0 uses the grid's cell.
        stride: f64 = 0.0, within 0.0..=1e5, unit "m", scales Size, source "ours";
        /// The rules by which drops move and carry sediment.
        rules: RuleSet = RuleSet::Momentum, within .., unit "1", source "McDonald 2020";
        /// Total number of drops that fall on each cell: more erode longer.
        drops: f64 = 2.0, within 0.0..=1000.0, unit "1/cell", scales Age, source "McDonald 2020";
        /// Drops that fall on each cell in a batch.
        batch: f64 = 0.0078125, within 1e-5..=1.0, unit "1/cell", source "McDonald 2020, 512 on 256 × 256 cells";
        /// Rain, times the layer `rain` where there is one.
        rain: f64 = 1.0, within 0.001..=20.0, unit "m/a", scales Rain, source "ours";
        /// Time in which all the rain falls, which determines the water of the lakes. Erosion is that of a far longer
        /// time.
        years: f64 = 20.0, within 0.001..=10_000.0, unit "a", source "ours";
        /// Share of the rain that the lowest land does not receive, where the highest receives all of it.
        orographic: f64 = 0.0, within 0.0..=1.0, unit "1", source "ours";
        /// Mean intensity of rain while it rains, which determines the share that infiltrates into soils.
        storm: f64 = 10.0, within 0.001..=1000.0, unit "mm/h", source "ours";
        /// Time step of the rule set `stream`: strides that a drop of speed 1 moves.
        dt: f64 = 1.2, within 0.01..=10.0, unit "1", source "McDonald 2020";
        /// Density of water: heavier drops change direction more slowly.
        density: f64 = 1.0, within 0.01..=100.0, unit "1", source "McDonald 2020";
        /// Share of the speed lost over a stride.
        friction: f64 = 0.15, within 0.0..=0.99, unit "1", source "McDonald 2020";
        /// Share by which friction is lower in a full stream.
        stream_friction: f64 = 0.5, within 0.0..=1.0, unit "1", source "McDonald 2020";
        /// Share of a drop that evaporates over a stride.
        evaporation: f64 = 0.001, within 0.0..=0.5, unit "1", source "McDonald 2020";
        /// Share by which evaporation is lower in a full stream.
        stream_evaporation: f64 = 0.2, within 0.0..=1.0, unit "1", source "McDonald 2020";
        /// Water that evaporates from lakes: more makes closed lakes smaller.
        lake_evaporation: f64 = 0.6, within 0.0..=20.0, unit "m/a", source "ours";
        /// Share of the difference to the transport capacity that is eroded or deposited over a stride.
        deposition: f64 = 0.1, within 0.0..=1.0, unit "1", scales Erodibility^0.25, source "McDonald 2020";
        /// Increase of the transport capacity in a full stream, as a factor: 1 doubles the capacity.
        entrainment: f64 = 10.0, within 0.0..=1000.0, unit "1", source "McDonald 2020";
        /// Strength with which streams draw drops along: higher values give wider meanders.
        momentum: f64 = 1.0, within 0.0..=100.0, unit "1", source "McDonald 2020";
        /// Discharge Q₁ at which the stream share σ is 1 − 1/e = 0.63: lower values make small streams count as full. 0
        /// uses the discharge of `rain` on about 920 squares of `stride`.
        stream_discharge: f64 = 0.0, within 0.0..=1e6, unit "m³/s", source "McDonald 2020";
        /// Number of drops per cell after which old values have a weight of 1/e in the moving averages of discharge and
        /// momentum.
        memory: f64 = 0.1, within 0.001..=100.0, unit "1/cell", source "ours; McDonald 2020 0.02 to 0.8";
        /// Share of a whole drop's water below which a drop ends.
        min_volume: f64 = 0.01, within 0.0001..=0.9, unit "1", source "McDonald 2020";
        /// Number of times that a drop without a path down starts again.
        spill: u32 = 5, within 0..=100, unit "1", source "McDonald 2020";
        /// Length of the path without a new lowest elevation after which a drop has found no path down.
        patience: f64 = 300.0, within 1.0..=1e5, unit "m", scales Size, source "ours";
        /// Share of its load that a drop deposits over a stride under water.
        settling: f64 = 0.2, within 0.001..=1.0, unit "1", source "ours";
        /// Steepest angle of banks.
        talus: f64 = 36.0, within 1.0..=89.0, unit "°", scales Repose, source "ours";
        /// Steepest angle of ground under water: the slope of delta fronts.
        wet_talus: f64 = 8.0, within 0.1..=89.0, unit "°", scales Repose, source "ours; delta fronts 1 to 30";
        /// Share of a bank's excess height above its steepest angle that slides when a drop passes; 1 brings it to that
        /// angle.
        slide: f64 = 0.8, within 0.0..=1.0, unit "1", source "McDonald 2020";
        /// Depth of the deepest dry pit in a stream bed that water levels.
        grading: f64 = 10.0, within 0.0..=1000.0, unit "m", source "ours";
        /// Number of drops per cell after which 1/e of the water above a lowered sill is left; 0 releases it at once.
        release: f64 = 0.03, within 0.0..=10.0, unit "1/cell", source "ours";
        /// Years for which a forest grows next to the water, spread over the batches; 0 for no forest.
        forest: f64 = 0.0, within 0.0..=10_000.0, unit "a", scales Age, source "ours; McDonald 2020 a step a batch";
        /// Side of the square of ground that a plant's roots stabilise.
        tree_patch: f64 = 10.0, within 0.1..=1000.0, unit "m", source "ours; McDonald 2020 a cell";
        /// Discharge above which no plant grows in a cell.
        tree_stream: f64 = 0.05, within 0.0..=1e6, unit "m³/s", source "ours; McDonald 2020 0.3 of a full stream";
        /// Elevation of the tree line above the sea.
        tree_line: f64 = 1800.0, within 0.0..=16_000.0, unit "m", source "ours";
        /// Elevation below which no cell is eroded.
        floor: f64 = -16_000.0, within -16_000.0..=16_000.0, none -16_000.0, unit "m", scales Relief, source "ours";
    }
}

choice! {
    /// The rules by which drops move and carry sediment.
    pub enum RuleSet {
        /// The later rules: steps of one length, drawn along by the momentum of the stream; the load depends on fall
        /// and discharge.
        Momentum = "momentum",
        /// The rules of the article: speed and friction; the load depends on speed and fall.
        Stream = "stream",
    }
}

/// Maximum number of batches in a run.
const MAX_STEPS: f64 = 1e6;

impl Hydrology {
    /// Returns the length in metres that the parameters refer to: `stride`, or the cell size if that is 0.
    fn effective_stride(&self, grid: &Grid) -> f64 {
        if self.stride > 0.0 { self.stride } else { grid.cell }
    }

    /// Returns the number of drops that a batch starts.
    fn drops_per_batch(&self, grid: &Grid) -> u64 {
        let cells = (grid.world[0] * grid.world[1]) as f64;
        // A batch starts at least one drop: the number of batches is the quotient by this number.
        (cells * self.batch).round().max(1.0) as u64
    }

    /// Returns the rain that falls in the given batches, in metres.
    fn rain_depth(&self, grid: &Grid, steps: &Range<u32>) -> f64 {
        self.rain * (self.years_at_batch(grid, steps.end) - self.years_at_batch(grid, steps.start))
    }

    /// Returns the units that evaporate from lakes between two times in years. The amounts are whole units whose sum
    /// over successive intervals is exact.
    fn evaporated_units(&self, from: f64, until: f64) -> i32 {
        // Both times are converted to whole units before the subtraction, so that an interval ends at exactly the
        // number at which the next one begins.
        let units = |years: f64| (self.lake_evaporation * years * UNITS) as i64;
        (units(until) - units(from)).clamp(0, i64::from(i32::MAX)) as i32
    }

    /// Returns the years that have passed when a batch begins. The last batch may start fewer drops than the others.
    fn years_at_batch(&self, grid: &Grid, step: u32) -> f64 {
        let drops = self.total_drops(grid);
        let started = u64::from(step).saturating_mul(self.drops_per_batch(grid)).min(drops);
        // A run without drops has no batches; the divisor of 1 then avoids 0/0.
        self.years * started as f64 / drops.max(1) as f64
    }

    /// Returns the number of drops that a run starts in all.
    fn total_drops(&self, grid: &Grid) -> u64 {
        ((grid.world[0] * grid.world[1]) as f64 * self.drops).round() as u64
    }
}

impl Model for Hydrology {
    fn about(&self) -> About {
        About {
            name: "hydrology",
            title: "Streams and lakes",
            summary: "Drops of rain form meandering streams and lakes that fill and spill.",
            source: "McDonald (2020), Procedural hydrology",
            family: Family::Erosion,
            uses: &[HARDNESS, PROTECT, RAIN, SOIL, TREE_DENSITY, POOL, DISCHARGE, MOMENTUM_X, MOMENTUM_Y],
            writes: &[SEDIMENT, POOL, DISCHARGE, MOMENTUM_X, MOMENTUM_Y],
            tables: &[
                drop::TABLE,
                state::PENDING_WATER_TABLE,
                water_record::INITIAL_WATER_TABLE,
                water_record::BOOKED,
                TREES,
                SPRINGS,
                SOILS,
                strata::STRATA,
                strata::STRATA_ORIENTATION,
            ],
            ..About::default()
        }
    }

    fn roles(&self) -> &'static [PlayedRole] {
        &[PlayedRole { role: Role::Water, with: &[] }]
    }

    fn check(&self, grid: &Grid) -> Result<()> {
        if self.total_drops(grid).div_ceil(self.drops_per_batch(grid)) as f64 > MAX_STEPS {
            let value = format!("{} drops per cell in batches of {}", self.drops, self.batch);
            let allowed = format!("at most {MAX_STEPS} batches; use fewer drops or larger batches (hydrology.batch)");
            return Err(Error::invalid_value("hydrology.drops", value, allowed));
        }
        // A drop stores its water in units of 1/65 536 m. The limit of 10 000 m, 6.6e8 units, keeps it below
        // `drop::MAX_WATER`.
        if self.drops > 0.0 && self.rain * self.years / self.drops > 10_000.0 {
            let value = format!("{} m/a for {} years in {} drops per cell", self.rain, self.years, self.drops);
            let allowed = "at most 10000 m of rain per drop; use more drops (hydrology.drops)";
            return Err(Error::invalid_value("hydrology.rain", value, allowed));
        }
        if self.forest > 0.0 {
            // The number of seeds, `spawn`, is the forest's own parameter: this model has none.
            riparian_forest::forest_rules(self).check_with_names(["hydrology.tree_patch", "spawn"], grid)?;
        }
        Ok(())
    }

    fn steps(&self, grid: &Grid) -> u32 {
        // `check` allows far fewer; parameters that were not checked must still not wrap around.
        self.total_drops(grid).div_ceil(self.drops_per_batch(grid)).min(u64::from(u32::MAX)) as u32
    }

    fn simulated_years(&self, grid: &Grid, step: u32) -> Option<f64> {
        Some(self.years_at_batch(grid, step))
    }

    fn reach(&self, _grid: &Grid) -> StepReach {
        // Lakes link all cells along their shores within a single step.
        StepReach::Whole
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        48 * grid.len() as u64
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        let rules = HydrologyRules::new(self, grid);
        Ok(Box::new(Batches { rules, model: self.clone(), last: self.steps(grid).max(1) - 1, lakes: None }))
    }
}
