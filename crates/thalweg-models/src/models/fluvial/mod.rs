//! Fluvial erosion: see [`Fluvial`].

mod cell_set;
mod rules;
mod state;

use rayon::prelude::*;

use crate::model::{
    About, DependentDefault, Family, MassBalance, Model, PlayedRole, Role, StepReach, Stepper, Tick, YEAR,
};
use crate::models::fluvial::cell_set::CellSet;
use crate::models::fluvial::rules::{CellPlan, FluvialRules, MAX_SUSPENDED, MAX_WATER};
use crate::models::fluvial::state::{FluvialState, FluvialTally, WaterDepths};
use thalweg_core::base::cast::clamp_share;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, HARDNESS, PROTECT, RAIN, SEDIMENT, SUSPENDED, WATER};
use thalweg_core::{Cell, Error, Field, Grid, Height, Point, Result, Terrain, choice, params};
use thalweg_noise::input_tables::springs::{self, SPRINGS, world_cell};

params! {
    /// Water from springs, rain or a single drop runs from cell to cell, erodes where it can carry more sediment and
    /// deposits where it cannot: channels below springs, fans at the ends of slopes, filled depressions.
    ///
    /// A cell has ground z, water h and sediment s, all as thicknesses. A step is computed for all cells at the same
    /// time. A cell with water compares itself with its eight neighbours k: d(k) = (z + h) − (z + h)(k), and those with
    /// d > 0 are its R receivers. Each receives the water Δw(k) = min(h, d(k)) · d(k)/Σd / (R + 1). With Δw = Σ Δw(k),
    /// the water that moves, the cell's capacity is C = Kc·Δw:
    ///
    /// - Δw = 0: Kd·s is deposited;
    /// - s ≥ C: C moves with the water, divided in the same shares, and Kd·(s − C) is deposited;
    /// - s < C: Ks·(C − s) is eroded, and moves with the water together with all of s.
    ///
    /// Kc, Kd and Ks are `capacity`, `deposition` and `softness`. The single drop erodes `pickup` where it falls.
    /// After the last step, all sediment settles where it is. The water stays, as the layer `water`.
    ///
    /// Source: Musgrave, Kolb & Mace (1989), *The synthesis and rendering of eroded fractal terrains*, SIGGRAPH, §4,
    /// doi:10.1145/74334.74337, and Musgrave's dissertation (1993), p. 58, as presented in the document by Craig
    /// (2008). Deviations: all cells act at the same time on the previous state, so that no order of cells is visible;
    /// with the whole Δw two cells would then exchange their water forever, hence the division by R + 1. Water is
    /// divided among all lower neighbours, not given to the lowest one; levels are those of the water surface. No cell
    /// is eroded below the lowest ground that receives its water; otherwise a spring would dig a shaft. The rules as
    /// the document has them are options (`receivers`, `moves`, `capacity_from`, `pits`); two errors of its code are
    /// not: it raises the ground where it should erode, and gives the whole sediment to each of several neighbours. A
    /// capacity that also depends on the fall, `capacity_from = "fall"`, is an addition of this model. Amounts of
    /// sediment below a unit are rounded up in some steps and down in others, so that they add up.
    ///
    /// Units and resolution. In a step water moves by one cell, which takes dx/velocity seconds at `velocity`: springs
    /// and rain supply water for that time. Springs are the table `springs` (`row`, `column`, `rate` in m³/s), in a
    /// recipe `tables = { springs = [{ x = 3000.0, y = 2500.0, rate = 2.0 }] }`, in metres from the north-western
    /// corner. Time and water are those of a single flood: rain of 20 mm an hour erodes centimetres, springs in flood
    /// several metres. A narrow channel is one cell wide at any resolution, so finer grids have narrower and deeper
    /// channels.
    ///
    /// Beyond an open edge and next to cells without data the ground continues level and dry: what flows there leaves.
    /// In the sea water disappears, and its sediment is deposited.
    ///
    /// Layers: it needs none, uses `rain`, `hardness`, `protect` and existing water in the layer `water`, and writes
    /// the ground, `sediment` and `water`. Only wet cells cost time.
    ///
    /// Limits: thin water is inaccurate, since shares are rounded down: up to 72 units (1.1 mm) stay on level ground as
    /// a film that only evaporation removes. On slopes, with a capacity from Δw alone, water is soon fully loaded and
    /// runs on without eroding; `capacity_from = "fall"` cuts channels all the way down. The eight directions are
    /// visible on even slopes.
    pub struct Fluvial {
        /// Time for which water runs, which also sets the number of steps.
        duration: f64 = 7200.0, within 0.0..=1e9, unit "s", scales Age Size, source "ours";
        /// Total number of steps, instead of a duration; 0 uses the duration.
        steps: u32 = 0, within 0..=1_000_000, unit "1", scales Age, source "Craig 2008, Iterations";
        /// Speed at which water runs from cell to cell, which sets the time that a step stands for. Slow water from the
        /// same springs becomes deeper.
        velocity: f64 = 1.0, within 0.001..=1000.0, unit "m/s", source "ours";
        /// Rain intensity on land, times the layer `rain` where there is one. If `drop` is given and `rain` is not,
        /// there is no rain.
        rain: f64 = 20.0, within 0.0..=100_000.0, unit "mm/h", scales Rain, source "ours";
        /// Evaporation from wet cells: dries films and puddles, and ends thin streams.
        evaporation: f64 = 0.0, within 0.0..=100_000.0, unit "mm/h", source "ours";
        /// Water of a single drop, poured before the first step; 0 pours none.
        drop: f64 = 0.0, within 0.0..=1e12, unit "m³", source "Craig 2008, WaterPercent";
        /// Position of the drop, eastward from the world's north-western corner.
        x: f64 = 0.0, within 0.0..=1e8, unit "m", scales Size, source "Craig 2008, X";
        /// Position of the drop, southward from the world's north-western corner.
        y: f64 = 0.0, within 0.0..=1e8, unit "m", scales Size, source "Craig 2008, Y";
        /// Thickness of ground that the drop erodes where it falls, down to the floor at most.
        pickup: f64 = 0.0, within 0.0..=16_000.0, unit "m", source "Craig 2008, PickupRate";
        /// Kc, the sediment that moving water can carry, as a share of the water: higher values erode deeper before
        /// anything is deposited.
        capacity: f64 = 0.3, within 0.0..=1.0, unit "1", source "Musgrave 1989; value ours";
        /// Kd, the share of the sediment over capacity that is deposited in a step: lower values carry it farther, into
        /// flatter fans.
        deposition: f64 = 0.1, within 0.0..=1.0, unit "1", source "Musgrave 1989";
        /// Ks, the share of the missing sediment that is eroded in a step: the softness of the ground.
        softness: f64 = 0.3, within 0.0..=1.0, unit "1", scales Erodibility^0.5, source "Musgrave 1989";
        /// The neighbours that receive a cell's water.
        receivers: Receivers = Receivers::All, within .., unit "1", source "ours; Musgrave 1989";
        /// The part of the difference in water levels that moves in a step.
        moves: Moves = Moves::Share, within .., unit "1", source "ours; Musgrave 1989";
        /// The water that determines the transport capacity.
        capacity_from: CapacityFrom = CapacityFrom::Moved, within .., unit "1", source "Musgrave 1989; Craig 2008";
        /// Allows a cell to be eroded below the ground that its water flows to, as in Craig's document: springs then
        /// dig shafts.
        pits: bool = false, within .., unit "1", source "Craig 2008";
        /// Elevation below which no cell is eroded.
        floor: f64 = -16_000.0, within -16_000.0..=16_000.0, none -16_000.0, unit "m", scales Relief,
            source "Craig 2008, where it is 0";
    }
}

choice! {
    /// The neighbours that receive a cell's water.
    pub enum Receivers {
        /// All neighbours with a lower water level, in proportion to the difference: streams spread and join.
        All = "all",
        /// The neighbour with the lowest water level, or several equal ones in equal shares: single threads.
        Lowest = "lowest",
        /// The neighbour with the lowest ground not above the cell's own, regardless of its water, as in the code of
        /// Craig's document.
        LowestGround = "lowest_ground",
    }
}

choice! {
    /// The part of the difference in water levels that moves in a step.
    pub enum Moves {
        /// The difference divided evenly among the receivers and the cell itself: water comes to rest.
        Share = "share",
        /// The whole difference, as in Musgrave's rules: water sloshes back and forth.
        Full = "full",
    }
}

choice! {
    /// The water that determines the transport capacity.
    pub enum CapacityFrom {
        /// The water that moves: deep still water carries little.
        Moved = "moved",
        /// All water of the cell, as in the code of Craig's document.
        Whole = "whole",
        /// The water that moves times its fall, the tangent of the slope of its surface, at most 1: steep water erodes
        /// all the way down, and slack water deposits.
        Fall = "fall",
    }
}

/// Maximum depth of the parameter `drop` on its cell, in metres: the highest elevation that can be stored.
const DEEPEST_DROP: f64 = 16_000.0;

impl Fluvial {
    /// Returns the seconds of flow that a step represents: the time in which water crosses a cell.
    pub fn seconds_per_step(&self, grid: &Grid) -> f64 {
        grid.cell / self.velocity
    }
}

impl Model for Fluvial {
    fn about(&self) -> About {
        About {
            name: "fluvial",
            title: "Running water",
            summary: "Water from springs, drops and rain flows from cell to cell, erodes channels and deposits fans.",
            source: "Musgrave, Kolb & Mace (1989), The synthesis and rendering of eroded fractal terrains",
            family: Family::Erosion,
            uses: &[RAIN, HARDNESS, PROTECT, WATER],
            writes: &[SEDIMENT, WATER, SUSPENDED],
            tables: &[SPRINGS],
            placed: self.drop > 0.0,
            ..About::default()
        }
    }

    fn roles(&self) -> &'static [PlayedRole] {
        &[PlayedRole { role: Role::Springs, with: &[("rain", 0.0)] }]
    }

    fn dependent_defaults(&self) -> &'static [DependentDefault] {
        &[DependentDefault { with: "drop", name: "rain", value: 0.0 }]
    }

    fn check(&self, grid: &Grid) -> Result<()> {
        if self.drop == 0.0 {
            return Ok(());
        }
        world_cell(grid, Point { x: self.x, y: self.y }).map_err(|axis| {
            let (name, value) = [("y", self.y), ("x", self.x)][axis];
            Error::invalid_value(format!("fluvial.{name}"), format!("{value} m"), grid.describe_span(axis))
        })?;
        let most = DEEPEST_DROP * grid.cell_area();
        if self.drop > most {
            let allowed = format!("0 to {most} m³ ({DEEPEST_DROP} m on a cell)");
            return Err(Error::invalid_value("fluvial.drop", format!("{} m³", self.drop), allowed));
        }
        Ok(())
    }

    fn steps(&self, grid: &Grid) -> u32 {
        if self.steps > 0 { self.steps } else { (self.duration / self.seconds_per_step(grid)).ceil().min(1e6) as u32 }
    }

    fn simulated_years(&self, grid: &Grid, step: u32) -> Option<f64> {
        Some(f64::from(step) * self.seconds_per_step(grid) / YEAR)
    }

    fn reach(&self, _grid: &Grid) -> StepReach {
        // The inflow of a cell depends on the outflow of its neighbours, which depends on their neighbours.
        StepReach::Cells(2)
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // The list of wet cells, at most all, and two sets of marks.
        4 * grid.len() as u64 + 2 * CellSet::memory_bytes(grid.size)
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        Ok(Box::new(FluvialStepper {
            model: self.clone(),
            steps: self.steps(grid),
            changed: CellSet::new(grid.size),
            active: CellSet::new(grid.size),
            fresh: true,
            wet: Vec::new(),
            plans: Vec::new(),
        }))
    }
}

struct FluvialStepper {
    model: Fluvial,
    steps: u32,
    /// Cells whose state changed in the last step, and those that are not at rest.
    changed: CellSet,
    /// These and their neighbours: all other cells are unaffected.
    active: CellSet,
    /// True until the marks have been set from the terrain.
    fresh: bool,
    /// Active cells with water or sediment, in row-major order.
    wet: Vec<u32>,
    /// Plans of cells that have been computed and not yet applied.
    plans: Vec<CellPlan>,
}

/// Number of cells planned together: enough for all threads, few enough for the cache.
const CHUNK: usize = 1 << 14;

impl Stepper for FluvialStepper {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        if tick.step == 0 {
            terrain.check_depths(&WATER)?;
        }
        // After a restart the marks are rebuilt from the layers, so that a resumed run has the same bits.
        if self.fresh {
            self.mark_wet_cells(terrain)?;
            self.fresh = false;
        }
        let sources = springs::spring_sources(terrain)?;
        let size = terrain.grid.size;
        terrain.loose.get_or_insert_with(|| Field::new(size, Height::ZERO));
        let (Cells::Float(water), Cells::Height(suspended)) =
            (terrain.take_layer(&WATER), terrain.take_layer(&SUSPENDED))
        else {
            return Err(Error::invalid_layer(
                WATER.name,
                "does not contain floating-point numbers, or the suspended sediment is not stored as heights",
            ));
        };
        let rules = FluvialRules::new(&self.model, &terrain.grid, tick.step);
        let water = WaterDepths { depths: water, lost: 0.0 };
        let mut state = FluvialState { terrain, water, suspended, tally: FluvialTally::default() };
        // The order within a step is sources, then weather, then flow and erosion; sediment settles after the last
        // step.
        self.add_sources(&mut state, &rules, &sources, tick.step);
        self.apply_weather(&mut state, &rules, tick.step);
        self.route_flow(&mut state, &rules);
        let ends = tick.step + 1 >= self.steps;
        if ends {
            self.settle_sediment(&mut state, &rules);
        }
        let FluvialState { terrain, water, suspended, tally } = state;
        let budget = tally.to_mass_balance(&water, &terrain.grid);
        terrain.insert_layer(&WATER, Cells::Float(water.depths))?;
        if !ends {
            terrain.insert_layer(&SUSPENDED, Cells::Height(suspended))?;
        }
        Ok(budget)
    }
}

impl FluvialStepper {
    /// Marks all wet cells and all cells with sediment, in one pass over the map.
    fn mark_wet_cells(&mut self, terrain: &Terrain) -> Result<()> {
        let cols = terrain.grid.cols();
        if let Some(water) = terrain.float_layer(&WATER) {
            for (at, _) in water.as_slice().iter().enumerate().filter(|(_, depth)| **depth > 0.0) {
                self.changed.insert(at / cols, at % cols);
            }
        }
        if let Some(suspended) = terrain.height_layer(&SUSPENDED) {
            for (at, sediment) in suspended.as_slice().iter().enumerate().filter(|(_, sediment)| sediment.0 != 0) {
                let (i, j) = (at / cols, at % cols);
                if terrain.is_nodata(i, j) || !(0..=MAX_SUSPENDED).contains(&sediment.0) {
                    let problem = format!(
                        "contains {sediment} at row {i}, column {j}; it must be 0 to 16384 m, and 0 in cells without \
                         data"
                    );
                    return Err(Error::invalid_layer(SUSPENDED.name, problem));
                }
                self.changed.insert(i, j);
            }
        }
        Ok(())
    }

    /// Adds the water of the springs in this step and, in the first step, the parameter `drop`.
    fn add_sources(
        &mut self,
        state: &mut FluvialState<'_>,
        rules: &FluvialRules,
        sources: &[springs::SpringSource],
        step: u32,
    ) {
        let (seconds, area) = (self.model.seconds_per_step(&state.terrain.grid), state.terrain.grid.cell_area());
        for source in sources {
            self.add_water(state, source.cell, units_in_step(source.rate * seconds / area, step));
        }
        if self.model.drop == 0.0 || step > 0 {
            return;
        }
        let grid = &state.terrain.grid;
        let Ok(world) = world_cell(grid, Point { x: self.model.x, y: self.model.y }) else { return };
        if let Some(cell) = grid.local_cell(world) {
            self.add_water(state, cell, (self.model.drop / area * UNITS).round() as i64);
            // The impact of the drop lifts sediment into the water once.
            let lifted = rules.compute_drop_pickup(&state.view(), cell, self.model.pickup * UNITS);
            state.erode_cell(cell, lifted);
        }
    }

    /// Adds water to a cell.
    fn add_water(&mut self, state: &mut FluvialState<'_>, cell: Cell, amount: i64) {
        if amount > 0 && !state.terrain.is_nodata(cell.row, cell.col) {
            state.water.change_depth(cell, amount);
            state.tally.poured += i128::from(amount);
            self.changed.insert(cell.row, cell.col);
        }
    }

    /// Applies rain and evaporation, removes water in the sea, and lists the cells that may act in this step.
    fn apply_weather(&mut self, state: &mut FluvialState<'_>, rules: &FluvialRules, step: u32) {
        // The rates are in mm/h: 3.6 million is the number of seconds in an hour times the millimetres in a metre.
        let per_hour = self.model.seconds_per_step(&state.terrain.grid) / 3.6e6;
        let (rain, evaporation) = (self.model.rain * per_hour, self.model.evaporation * per_hour);
        let (even, drying) = (units_in_step(rain, step), units_in_step(evaporation, step));
        let FluvialState { terrain, water, suspended, tally } = state;
        let mask = terrain.float_layer(&RAIN);
        self.changed.drain_with_neighbours(&mut self.active);
        // Rain falls everywhere, so every cell may act; otherwise only changed cells and their neighbours.
        if even > 0 || (mask.is_some() && rain > 0.0) {
            self.active.fill();
        }
        let (changed, wet, cols) = (&mut self.changed, &mut self.wet, terrain.grid.cols());
        wet.clear();
        self.active.drain(|i, j| {
            if terrain.is_nodata(i, j) {
                return;
            }
            let cell = Cell::new(i, j);
            let sea = rules.is_sea(terrain.ground[cell]);
            let depth = water.depth_in_units(cell);
            let rained = match mask {
                _ if sea => 0,
                Some(mask) => units_in_step(rain * f64::from(clamp_share(mask[cell])), step),
                None => even,
            };
            // Water that has reached the sea is removed at once; elsewhere no more evaporates than there is.
            let gone = if sea { depth } else { drying.min(depth + rained) };
            tally.rained += i128::from(rained);
            *(if sea { &mut tally.drained } else { &mut tally.evaporated }) += i128::from(gone);
            if rained != gone {
                // Only a change of the depth marks the cell as changed, not rain that evaporates at once.
                water.change_depth(cell, rained - gone);
                changed.insert(i, j);
            }
            if depth + rained > gone || suspended[cell].0 > 0 {
                wet.push((i * cols + j) as u32);
            }
        });
    }

    /// Lets all wet cells act simultaneously: a cell's plan is applied only once all plans that read the cells it
    /// changes have been computed.
    fn route_flow(&mut self, state: &mut FluvialState<'_>, rules: &FluvialRules) {
        let cols = state.terrain.grid.cols();
        let drying = self.model.evaporation > 0.0;
        let mut next = 0;
        while next < self.wet.len() {
            let chunk = &self.wet[next..(next + CHUNK).min(self.wet.len())];
            next += chunk.len();
            // Plans are computed in parallel from the unchanged state and applied by one thread, in row-major order.
            let scene = state.view();
            self.plans.par_extend(chunk.par_iter().with_min_len(512).map(|at| rules.plan_cell(&scene, *at)));
            // Applying a plan changes cells up to one row away, and computing one reads cells up to one row away.
            let front = self.wet.get(next).map_or(usize::MAX, |at| (*at as usize / cols).saturating_sub(2) * cols);
            let ready = self.plans.partition_point(|plan| (plan.at as usize) < front);
            for plan in self.plans.drain(..ready) {
                state.apply_plan(&plan, &mut self.changed, drying);
            }
        }
    }

    /// Deposits all sediment where it is, and removes the water of cells in the sea.
    fn settle_sediment(&mut self, state: &mut FluvialState<'_>, rules: &FluvialRules) {
        self.changed.drain(|i, j| {
            let cell = Cell::new(i, j);
            let sediment = state.suspended[cell].0;
            let deposited = sediment.min(Height::MAX.0 - state.terrain.ground[cell].0).max(0);
            state.deposit_on_cell(cell, deposited);
            state.tally.limited += u64::from(deposited < sediment);
            state.tally.exported += i64::from(sediment - deposited);
            if rules.is_sea(state.terrain.ground[cell]) {
                let depth = state.water.depth_in_units(cell);
                state.water.change_depth(cell, -depth);
                state.tally.drained += i128::from(depth);
            }
        });
    }
}

/// Returns the whole units that fall in step number `step` at a rate in metres per step. Amounts below a unit
/// accumulate over the steps.
fn units_in_step(metres: f64, step: u32) -> i64 {
    let until = |steps: f64| (steps * (metres * UNITS)).floor() as i64;
    // Differences of rounded totals sum exactly to the rounded total, so no water is lost to rounding over the steps.
    until(f64::from(step) + 1.0).saturating_sub(until(f64::from(step))).clamp(0, MAX_WATER)
}
