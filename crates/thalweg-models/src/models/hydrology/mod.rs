//! Streams and pools: see [`Hydrology`].

mod amounts;
mod batch;
mod descent;
mod drop;
mod grade;
mod ground;
mod grove;
mod lakes;
mod motion;
mod past;
mod rain;
mod reckoning;
mod rules;
mod state;
mod weather;

use std::ops::Range;

use crate::model::{About, Family, Model, PlayedRole, Role, StepReach, Stepper};
use crate::models::hydrology::batch::Batches;
use crate::models::hydrology::rules::Rules;
use crate::process::forest::TREES;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{
    DISCHARGE, HARDNESS, LOOSE, MOMENTUM_X, MOMENTUM_Y, POOL, PROTECT, RAIN, SOIL, TREE_DENSITY,
};
use thalweg_core::{Error, Grid, Result, choice, params};
use thalweg_noise::given::soils::{SOILS, strata};
use thalweg_noise::given::springs::SPRINGS;

params! {
    /// Drops of rain run down, dig and lay down, gather to streams that wind and keep to their beds, and stand as lakes that
    /// fill, spill and silt up.
    ///
    /// A drop descends, and comes to rest in the lake at its end. Drops meet through maps: the discharge that passes
    /// a cell, with its direction, and the lakes. A step of a drop, in lengths of the stride, with n the horizontal part of the
    /// ground's normal, V what is left of its water, and σ = 1 − exp(−Q/Q₁) the stream's share by the discharge Q there:
    ///
    /// - `momentum` (default): v ← v·(1 − F) + n/(V·ρ), then v ← v + μ·cos(v, m)/(V + σ)·m, drawn along by the momentum m that passes;
    ///   it moves √2 cells along v. It can carry c = (1 + e·σ)·Δz·V for a fall Δz.
    /// - `stream`: v ← v + dt·n/(V·ρ), it moves dt·v, or √2 cells if that is less, and v ← v·(1 − dt·F). It can carry |v|·Δz·V.
    ///
    /// ρ is `density`, μ `momentum`, e `entrainment`, D `deposition`, and Q₁ = `stream_discharge`/1.8.
    /// F = `friction`·(1 − `stream_friction`·σ). Where it can carry more than it does it digs, else lays down, D of the difference; at
    /// most the fall is dug. Roots, `hardness` and `protect` hold ground back. Then R = `evaporation`·(1 − `stream_evaporation`·σ) of its
    /// water is lost, and the banks of the new cell slide where they are steeper than `talus`. A drop that falls less than 5 in 10 000
    /// for the length of its `patience` sets out anew without its speed, `spill` times, then it rests. It rests as well when it is spent
    /// or before a wall. A pit that it comes through it fills as far as its load goes, so that beds have an even fall.
    /// Under water it runs on along the bottom and settles its load there,
    /// up to the level of the lake: deltas grow, lakes silt up. Over an open edge and in the sea water is gone; sediment settles in the
    /// sea as in a lake.
    ///
    /// Lakes stand at what the climate brings, however few drops there are: drops are samples of the rain that dig, the water itself
    /// is a field. In a batch of Δt years each cell of land gets `rain`·share·Δt, less what soaks in. It runs down by the steepest
    /// way, and on each √2 cells loses R; what is left comes to the lake or pit below. Each cell under water loses
    /// `lake_evaporation`·Δt. What a hollow cannot hold runs over its sill into the next one, at once, down to the edge of the land.
    /// So a lake without an outlet follows dV/dt = inflow − `lake_evaporation`·A(V) over its ground, rises until its area
    /// balances what it gets, and has got there after some times (mean depth)/`lake_evaporation` years; `years` is all the time there
    /// is. The areas are those at the end of a batch (implicit Euler), so that long batches are stable. Lakes are level to the unit,
    /// merge and part. A hollow that its inflow fills within 0.1 years is a pit in a bed and no lake: water runs through it, none
    /// stands there or evaporates; if it has not been evened in the end, it is a lake after all. Ground changes far more in the
    /// run than in its `years`, and silt lifts lakes. So once the ground is there, the water is reckoned anew on it: the whole
    /// `years`, in 32 parts, from what stood when the run began. The lakes that a run leaves are young where `years` are few,
    /// and never remember ground that is gone. The books are those of this reckoning: the last batch sets right what the others
    /// booked.
    /// Drops at rest in a lake that runs over set out again at its sill, as large a share of them as runs over of its
    /// inflow, and run and dig on. Where a sill is cut down, what stood over it leaves as drops too, not all at once (`release`).
    /// Maps learn from what passed in a batch and forget slowly.
    ///
    /// Where water has passed a dry pit no deeper than `grading`, the bed from it to lower ground is evened: it takes the nearest heights
    /// that fall all along and hold as much solid, unless it is firm or lies beside a lake. After the last batch the beds below all
    /// such pits are cut through, and what is dug is washed out.
    ///
    /// A forest of single plants, as the model `trees` grows it, takes root, seeds and dies beside the water as it runs (`forest`); none
    /// stands in it. Ground under roots is dug 1 − density as fast, so that banks hold and rivers keep to their beds.
    ///
    /// Soil is dug by its kind's erodibility times 1 − cohesion, and slides at its kind's slope. Under what is loose, `strata` are dug
    /// 1 − hardness as fast, and stand at their own slope where less than a metre lies on them. Of a soil that takes K of water, a share
    /// 1 − exp(−K/`storm`) of the rain soaks in, and does not come back. Springs put in drops, their rate over the run's years.
    ///
    /// Source: McDonald (2020), *Procedural hydrology*, and his later rules with momentum (2023), as McDonald 2020 renders them. We
    /// differ: mass is carried, not a concentration, so that solid closes to the unit; lakes are filled by the
    /// rain and not by drops, after Barnes, Callaghan & Wickert (2021, doi:10.5194/esurf-9-105-2021), so that water closes to rounding; a
    /// drop digs no deeper than it falls; no step skips a cell in the maps; drops can rest; discharge is in m³/s, whatever the batch.
    /// The article's stream map is the share of batches in which a drop passes; ours is what that is on average, and is full at
    /// `stream_discharge`.
    ///
    /// World terms. On cells of `stride` metres the numbers are the article's. On finer cells `deposition` and `settling` become
    /// 1 − (1 − share)^q with q = dx/stride; friction, evaporation and pulls are multiplied by q. A drop stands for the rain on a cell,
    /// so drops are counted by the cell. The rain of all batches is what falls in `years`: that sets the lakes. Erosion is that of a
    /// far longer time, as is usual where rivers' beds are computed.
    ///
    /// It needs nothing, heeds `rain`, `soil`, `hardness`, `protect`, `tree_density`, springs, kinds of soil, beds, and the layers
    /// that it leaves: the ground, `loose`, `pool`, `discharge`, `momentum_x`, `momentum_y`. It breaks where too much falls: plains
    /// between mountains fill with its sediment.
    pub struct Hydrology {
        /// The length that the other numbers are for: the width of the article's cells; 0 takes the grid's cell.
        stride: f64 = 0.0, within 0.0..=1e5, unit "m", scales Size, source "ours";
        /// How drops move, and how much they carry.
        rules: RuleSet = RuleSet::Momentum, within .., unit "1", source "McDonald 2020";
        /// Drops that fall on each cell in all: more dig longer.
        drops: f64 = 2.0, within 0.0..=1000.0, unit "1/cell", scales Age, source "McDonald 2020";
        /// Drops that a batch lets fall on each cell.
        batch: f64 = 0.0078125, within 1e-5..=1.0, unit "1/cell", source "McDonald 2020, 512 on 256 × 256 cells";
        /// Rain, times the layer `rain` where there is one.
        rain: f64 = 1.0, within 0.001..=20.0, unit "m/a", scales Rain, source "ours";
        /// Time in which all of it falls: the water of the lakes. Erosion is that of a far longer time.
        years: f64 = 20.0, within 0.001..=10_000.0, unit "a", source "ours";
        /// Share of the rain that the lowest land goes without, where the highest has all of it.
        orographic: f64 = 0.0, within 0.0..=1.0, unit "1", source "ours";
        /// Mean intensity of rain while it rains, for what soaks into soils.
        storm: f64 = 10.0, within 0.001..=1000.0, unit "mm/h", source "ours";
        /// Time step of the rule set `stream`: strides that a drop of speed 1 moves.
        dt: f64 = 1.2, within 0.01..=10.0, unit "1", source "McDonald 2020";
        /// Density of water: heavier drops turn later.
        density: f64 = 1.0, within 0.01..=100.0, unit "1", source "McDonald 2020";
        /// Share of speed lost over a stride.
        friction: f64 = 0.15, within 0.0..=0.99, unit "1", source "McDonald 2020";
        /// Share of the friction that a full stream takes away.
        stream_friction: f64 = 0.5, within 0.0..=1.0, unit "1", source "McDonald 2020";
        /// Share of a drop that evaporates over a stride.
        evaporation: f64 = 0.001, within 0.0..=0.5, unit "1", source "McDonald 2020";
        /// Share of the evaporation that a full stream takes away.
        stream_evaporation: f64 = 0.2, within 0.0..=1.0, unit "1", source "McDonald 2020";
        /// Water that evaporates from lakes.
        lake_evaporation: f64 = 0.6, within 0.0..=20.0, unit "m/a", source "ours";
        /// Share of the difference to what can be carried that is dug or laid over a stride.
        deposition: f64 = 0.1, within 0.0..=1.0, unit "1", scales Erodibility^0.25, source "McDonald 2020";
        /// How many times more a full stream can carry: 1 carries twice as much.
        entrainment: f64 = 10.0, within 0.0..=1000.0, unit "1", source "McDonald 2020";
        /// How strongly drops are drawn along with the stream: wide bends.
        momentum: f64 = 1.0, within 0.0..=100.0, unit "1", source "McDonald 2020";
        /// Discharge at which a stream is all but full, σ = 0.83; 0 takes that of the rain on some 920 strides squared.
        stream_discharge: f64 = 0.0, within 0.0..=1e6, unit "m³/s", source "McDonald 2020";
        /// Drops a cell after which the maps have forgotten all but a third.
        memory: f64 = 0.1, within 0.001..=100.0, unit "1/cell", source "ours; McDonald 2020 0.02 to 0.8";
        /// Share of a whole drop's water with which a drop ends.
        min_volume: f64 = 0.01, within 0.0001..=0.9, unit "1", source "McDonald 2020";
        /// Times that a drop which found no way down sets out anew.
        spill: u32 = 5, within 0..=100, unit "1", source "McDonald 2020";
        /// Way without a new lowest place after which a drop has found no way down.
        patience: f64 = 300.0, within 1.0..=1e5, unit "m", scales Size, source "ours";
        /// Share of its load that settles over a stride under water.
        settling: f64 = 0.2, within 0.001..=1.0, unit "1", source "ours";
        /// Steepest angle of banks.
        talus: f64 = 36.0, within 1.0..=89.0, unit "°", scales Repose, source "ours";
        /// Steepest angle of ground under water: how steep deltas' fronts are.
        wet_talus: f64 = 8.0, within 0.1..=89.0, unit "°", scales Repose, source "ours; delta fronts 1 to 30";
        /// Share of a bank's height over its steepest angle that is evened out when a drop passes; 1 brings it to that angle.
        slide: f64 = 0.8, within 0.0..=1.0, unit "1", source "McDonald 2020";
        /// Depth of the deepest dry pit in a bed that water levels.
        grading: f64 = 10.0, within 0.0..=1000.0, unit "m", source "ours";
        /// Drops a cell after which all but a third of what stood over a sill has run out when that is cut down; 0 lets it go at once.
        release: f64 = 0.03, within 0.0..=10.0, unit "1/cell", source "ours";
        /// Years that a forest lives beside the water, spread over the batches; 0 grows none.
        forest: f64 = 0.0, within 0.0..=10_000.0, unit "a", scales Age, source "ours; McDonald 2020 a step a batch";
        /// Side of the ground that a plant's roots hold.
        tree_patch: f64 = 10.0, within 0.1..=1000.0, unit "m", source "ours; McDonald 2020 a cell";
        /// Discharge above which no plant stands.
        tree_stream: f64 = 0.05, within 0.0..=1e6, unit "m³/s", source "ours; McDonald 2020 0.3 of a full stream";
        /// Elevation of the tree line above the sea.
        tree_line: f64 = 1800.0, within 0.0..=16_000.0, unit "m", source "ours";
        /// No cell is dug below this elevation.
        floor: f64 = -16_000.0, within -16_000.0..=16_000.0, none -16_000.0, unit "m", scales Relief, source "ours";
    }
}

choice! {
    /// How drops move, and how much they carry.
    pub enum RuleSet {
        /// The later rules: steps of one length, drawn along by the momentum of the stream; load by fall and discharge.
        Momentum = "momentum",
        /// Those of the article: speed, friction, load by speed and fall.
        Stream = "stream",
    }
}

/// Most batches.
const MAX_STEPS: f64 = 1e6;

impl Hydrology {
    fn stride(&self, grid: &Grid) -> f64 {
        if self.stride > 0.0 { self.stride } else { grid.cell }
    }

    /// Drops that a batch starts.
    fn batch(&self, grid: &Grid) -> u64 {
        let cells = (grid.world[0] * grid.world[1]) as f64;
        (cells * self.batch).round().max(1.0) as u64
    }

    /// Metres of rain that fall in some batches.
    fn depth(&self, grid: &Grid, steps: &Range<u32>) -> f64 {
        self.rain * (self.until(grid, steps.end) - self.until(grid, steps.start))
    }

    /// Units that evaporate from lakes between two times in years: whole ones, which add up.
    fn dries(&self, from: f64, until: f64) -> i32 {
        let units = |years: f64| (self.lake_evaporation * years * UNITS) as i64;
        (units(until) - units(from)).clamp(0, i64::from(i32::MAX)) as i32
    }

    /// Years until a batch begins. The last batch may start fewer drops than others.
    fn until(&self, grid: &Grid, step: u32) -> f64 {
        let drops = self.drops(grid);
        let started = u64::from(step).saturating_mul(self.batch(grid)).min(drops);
        self.years * started as f64 / drops.max(1) as f64
    }

    fn drops(&self, grid: &Grid) -> u64 {
        ((grid.world[0] * grid.world[1]) as f64 * self.drops).round() as u64
    }
}

impl Model for Hydrology {
    fn about(&self) -> About {
        About {
            name: "hydrology",
            summary: "Drops gather to streams that wind, and stand as lakes that fill and spill.",
            source: "McDonald (2020), Procedural hydrology",
            family: Family::Erosion,
            uses: &[HARDNESS, PROTECT, RAIN, SOIL, TREE_DENSITY, POOL, DISCHARGE, MOMENTUM_X, MOMENTUM_Y],
            writes: &[LOOSE, POOL, DISCHARGE, MOMENTUM_X, MOMENTUM_Y],
            tables: &[
                drop::TABLE,
                state::HELD,
                past::STOOD,
                past::BOOKED,
                TREES,
                SPRINGS,
                SOILS,
                strata::STRATA,
                strata::LIE,
            ],
            ..About::default()
        }
    }

    fn parts(&self) -> &'static [PlayedRole] {
        &[PlayedRole { role: Role::Water, with: &[] }]
    }

    fn check(&self, grid: &Grid) -> Result<()> {
        if self.drops(grid).div_ceil(self.batch(grid)) as f64 > MAX_STEPS {
            let value = format!("{} drops a cell in batches of {}", self.drops, self.batch);
            return Err(Error::value("hydrology.drops", value, format!("up to {MAX_STEPS} batches")));
        }
        if self.drops > 0.0 && self.rain * self.years / self.drops > 10_000.0 {
            let value = format!("{} m/a for {} years in {} drops a cell", self.rain, self.years, self.drops);
            return Err(Error::value("hydrology.rain", value, "up to 10000 m to a drop"));
        }
        if self.forest > 0.0 {
            // Seeds are the forest's own.
            grove::rules(self).check_for(["hydrology.tree_patch", "spawn"], grid)?;
        }
        Ok(())
    }

    fn steps(&self, grid: &Grid) -> u32 {
        self.drops(grid).div_ceil(self.batch(grid)).min(u64::from(u32::MAX)) as u32
    }

    fn years(&self, grid: &Grid, step: u32) -> Option<f64> {
        Some(self.until(grid, step))
    }

    fn reach(&self, _grid: &Grid) -> StepReach {
        // Lakes join what lies at their shores at once.
        StepReach::Whole
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        48 * grid.len() as u64
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        let rules = Rules::new(self, grid);
        Ok(Box::new(Batches { rules, model: self.clone(), last: self.steps(grid).max(1) - 1, lakes: None }))
    }
}
