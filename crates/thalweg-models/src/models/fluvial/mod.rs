//! Fluvial erosion: see [`Fluvial`].

mod marks;
mod rules;
mod state;

use rayon::prelude::*;

use crate::model::{About, Beside, Family, MassBalance, Model, PlayedRole, Role, StepReach, Stepper, Tick, YEAR};
use crate::models::fluvial::marks::Marks;
use crate::models::fluvial::rules::{MAX_SUSPENDED, MAX_WATER, Plan, Rules};
use crate::models::fluvial::state::{State, Tally, Water};
use thalweg_core::base::cast::share_of;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, HARDNESS, LOOSE, PROTECT, RAIN, SUSPENDED, WATER};
use thalweg_core::{Cell, Error, Field, Grid, Height, Point, Result, Terrain, choice, params};
use thalweg_noise::given::springs::{self, SPRINGS, world_cell};

params! {
    /// Water poured, welling up or raining on the ground runs down from cell to cell, digs where it can carry more and
    /// lays down where it cannot: channels below springs, fans where slopes end, filled hollows.
    ///
    /// A cell has ground z, water h and sediment s, all thicknesses. In a step, at once for all cells, a cell with water
    /// looks at its eight neighbours k: d(k) = (z + h) − (z + h)(k), and those with d > 0 are its R receivers. Each gets
    /// Δw(k) = min(h, d(k)) · d(k)/Σd / (R + 1) of water. With Δw = Σ Δw(k), the water that moves, the cell's capacity is
    /// C = Kc·Δw:
    ///
    /// - Δw = 0: it lays Kd·s;
    /// - s ≥ C: C goes with the water, in its shares, and Kd·(s − C) is laid;
    /// - s < C: Ks·(C − s) is dug, and all of s with it goes with the water.
    ///
    /// Kc, Kd and Ks are `capacity`, `deposition` and `softness`. A drop lifts `pickup` of ground with it where it falls; when
    /// the last step is done, all sediment settles where it is. The water stays, as the layer `water`.
    ///
    /// Source: Musgrave, Kolb & Mace (1989), *The synthesis and rendering of eroded fractal terrains*, SIGGRAPH, §4,
    /// doi:10.1145/74334.74337, and Musgrave's dissertation (1993), p. 58, as Craig 2008 renders it. We differ. All cells act
    /// at once on the state before, so that no order of cells shows; the whole Δw would then make two cells swap for ever,
    /// hence the R + 1. Water is shared among all lower neighbours, not given to the lowest; levels are those of the
    /// water's surface. No cell is dug below the lowest ground that takes its water, without which a spring digs a
    /// shaft. The rules as the document has them are options (`receivers`, `moves`, `capacity_from`, `pits`); that its code
    /// raises the ground where it should dig, and gives all the sediment to each of several neighbours, is not. A capacity
    /// from the fall as well, `capacity_from = "fall"`, is ours. Amounts of sediment under a unit are rounded up in some
    /// steps and down in others, so that they add up.
    ///
    /// World terms. In a step water goes one cell, which at `velocity` takes dx/velocity seconds: so long do springs run
    /// and rain falls in it. Springs are the table `springs` (`row`, `column`, `rate` in m³/s), in a recipe
    /// `tables = { springs = [{ x = 3000.0, y = 2500.0, rate = 2.0 }] }`, in metres from the north-western corner. Time and
    /// water are those of one flood: rain of 20 mm an hour digs centimetres, springs in spate some metres. A narrow channel
    /// is a cell wide whatever the cell, so finer grids have narrower and deeper ones.
    ///
    /// Beyond an open edge and beside cells without data the ground goes on level and dry: what flows there leaves. In
    /// the sea water is gone, and its sediment laid down.
    ///
    /// It needs nothing, heeds `rain`, `hardness`, `protect` and water that is there or given as the layer `water`, and leaves
    /// the ground, `loose` and `water`. Only wet cells cost.
    /// It breaks where water is thin: shares are rounded down, so up to 72 units (1.1 mm) stay on even ground as a film that
    /// only evaporation takes away. On slopes with a capacity from Δw alone, water is soon laden and runs on without a
    /// trace; `capacity_from = "fall"` cuts channels all the way down. The eight directions show on even slopes.
    pub struct Fluvial {
        /// How long water runs, with the steps that go with it.
        duration: f64 = 7200.0, within 0.0..=1e9, unit "s", scales Age Size, source "ours";
        /// Steps in all, instead of a duration; 0 leaves it to the duration.
        steps: u32 = 0, within 0..=1_000_000, unit "1", scales Age, source "Craig 2008, Iterations";
        /// How fast water runs from cell to cell: sets how long a step is. Slow water gathers deeper from the same springs.
        velocity: f64 = 1.0, within 0.001..=1000.0, unit "m/s", source "ours";
        /// Rain over all land, times the layer `rain` where there is one: rills everywhere, more where waters meet. Where a drop
        /// is poured and rain is not given, there is none.
        rain: f64 = 20.0, within 0.0..=100_000.0, unit "mm/h", scales Rain, source "ours";
        /// Water that evaporates where there is some: dries films and puddles, ends thin streams.
        evaporation: f64 = 0.0, within 0.0..=100_000.0, unit "mm/h", source "ours";
        /// Water of a single drop, poured before the first step; 0 is none.
        drop: f64 = 0.0, within 0.0..=1e12, unit "m³", source "Craig 2008, WaterPercent";
        /// Where the drop falls, eastward from the world's north-western corner.
        x: f64 = 0.0, within 0.0..=1e8, unit "m", scales Size, source "Craig 2008, X";
        /// Where the drop falls, southward from the world's north-western corner.
        y: f64 = 0.0, within 0.0..=1e8, unit "m", scales Size, source "Craig 2008, Y";
        /// Ground that the drop lifts where it falls, down to the floor at most.
        pickup: f64 = 0.0, within 0.0..=16_000.0, unit "m", source "Craig 2008, PickupRate";
        /// Kc: sediment that moving water can carry, as a share of it; more digs deeper before anything is laid.
        capacity: f64 = 0.3, within 0.0..=1.0, unit "1", source "Musgrave 1989; value ours";
        /// Kd: share of the sediment over capacity that is laid in a step; less carries it farther, into flatter fans.
        deposition: f64 = 0.1, within 0.0..=1.0, unit "1", source "Musgrave 1989";
        /// Ks: share of the missing sediment that is dug in a step: how soft the ground is.
        softness: f64 = 0.3, within 0.0..=1.0, unit "1", scales Erodibility^0.5, source "Musgrave 1989";
        /// Which neighbours take a cell's water.
        receivers: Receivers = Receivers::All, within .., unit "1", source "ours; Musgrave 1989";
        /// How much of the difference in levels moves.
        moves: Moves = Moves::Share, within .., unit "1", source "ours; Musgrave 1989";
        /// Which water the capacity is reckoned from.
        capacity_from: CapacityFrom = CapacityFrom::Moved, within .., unit "1", source "Musgrave 1989; Craig 2008";
        /// Whether a cell may be dug below the ground that its water goes to, as in the document: shafts under springs.
        pits: bool = false, within .., unit "1", source "Craig 2008";
        /// No cell is dug below this elevation.
        floor: f64 = -16_000.0, within -16_000.0..=16_000.0, none -16_000.0, unit "m", scales Relief,
            source "Craig 2008, where it is 0";
    }
}

choice! {
    /// The neighbours that take a cell's water.
    pub enum Receivers {
        /// All whose water stands lower, in proportion to the difference: streams that spread and join.
        All = "all",
        /// That with the lowest water, equals alike: single threads.
        Lowest = "lowest",
        /// That with the lowest ground not above the cell's own, whatever water stands on it, as in the document's code.
        LowestGround = "lowest_ground",
    }
}

choice! {
    /// How much of a difference in levels moves.
    pub enum Moves {
        /// The receivers' and the cell's own even share: water comes to rest.
        Share = "share",
        /// All of it, as Musgrave has it: water sloshes to and fro.
        Full = "full",
    }
}

choice! {
    /// The water that the capacity is reckoned from.
    pub enum CapacityFrom {
        /// What moves: deep still water carries little.
        Moved = "moved",
        /// All that the cell has, as in the document's code.
        Whole = "whole",
        /// What moves times its fall, the tangent of the slope of its surface, 1 at most: steep water digs all the way
        /// down, and slack water lays down.
        Fall = "fall",
    }
}

/// Deepest drop accepted, in metres: as deep as heights are high.
const DEEPEST_DROP: f64 = 16_000.0;

impl Fluvial {
    /// Seconds of flow that a step stands for: those in which water runs the width of a cell.
    pub fn seconds(&self, grid: &Grid) -> f64 {
        grid.cell / self.velocity
    }
}

impl Model for Fluvial {
    fn about(&self) -> About {
        About {
            name: "fluvial",
            summary: "Water from springs, drops and rain runs from cell to cell, digs channels and lays fans.",
            source: "Musgrave, Kolb & Mace (1989), The synthesis and rendering of eroded fractal terrains",
            family: Family::Erosion,
            uses: &[RAIN, HARDNESS, PROTECT, WATER],
            writes: &[LOOSE, WATER, SUSPENDED],
            tables: &[SPRINGS],
            placed: self.drop > 0.0,
            ..About::default()
        }
    }

    fn parts(&self) -> &'static [PlayedRole] {
        &[PlayedRole { role: Role::Springs, with: &[("rain", 0.0)] }]
    }

    fn beside(&self) -> &'static [Beside] {
        &[Beside { with: "drop", name: "rain", value: 0.0 }]
    }

    fn check(&self, grid: &Grid) -> Result<()> {
        if self.drop == 0.0 {
            return Ok(());
        }
        world_cell(grid, Point { x: self.x, y: self.y }).map_err(|axis| {
            let (name, value) = [("y", self.y), ("x", self.x)][axis];
            Error::value(format!("fluvial.{name}"), format!("{value} m"), grid.span(axis))
        })?;
        let most = DEEPEST_DROP * grid.cell_area();
        if self.drop > most {
            let allowed = format!("0 to {most} m³ ({DEEPEST_DROP} m on a cell)");
            return Err(Error::value("fluvial.drop", format!("{} m³", self.drop), allowed));
        }
        Ok(())
    }

    fn steps(&self, grid: &Grid) -> u32 {
        if self.steps > 0 { self.steps } else { (self.duration / self.seconds(grid)).ceil().min(1e6) as u32 }
    }

    fn years(&self, grid: &Grid, step: u32) -> Option<f64> {
        Some(f64::from(step) * self.seconds(grid) / YEAR)
    }

    fn reach(&self, _grid: &Grid) -> StepReach {
        // What a cell gets depends on what its neighbours give, which depends on their neighbours.
        StepReach::Cells(2)
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // The list of wet cells, at most all, and two sets of marks.
        4 * grid.len() as u64 + 2 * Marks::bytes(grid.size)
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        Ok(Box::new(Flow {
            model: self.clone(),
            steps: self.steps(grid),
            changed: Marks::new(grid.size),
            active: Marks::new(grid.size),
            fresh: true,
            wet: Vec::new(),
            plans: Vec::new(),
        }))
    }
}

struct Flow {
    model: Fluvial,
    steps: u32,
    /// Cells whose state the last step changed, and those that are not at rest.
    changed: Marks,
    /// These and their neighbours: all others do nothing.
    active: Marks,
    /// Whether the marks are still to be found from the terrain.
    fresh: bool,
    /// Active cells with water or sediment, in row-major order.
    wet: Vec<u32>,
    /// What those near the front do.
    plans: Vec<Plan>,
}

/// Cells planned together: enough for all threads, few enough for the cache.
const CHUNK: usize = 1 << 14;

impl Stepper for Flow {
    fn step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        if tick.step == 0 {
            terrain.check_depths(&WATER)?;
        }
        if self.fresh {
            self.find(terrain)?;
            self.fresh = false;
        }
        let sources = springs::spring_sources(terrain)?;
        let size = terrain.grid.size;
        terrain.loose.get_or_insert_with(|| Field::new(size, Height::ZERO));
        let (Cells::Float(water), Cells::Height(suspended)) = (terrain.take(&WATER), terrain.take(&SUSPENDED)) else {
            return Err(Error::layer(WATER.name, "is of another type than declared"));
        };
        let rules = Rules::new(&self.model, &terrain.grid, tick.step);
        let water = Water { depths: water, lost: 0.0 };
        let mut state = State { terrain, water, suspended, tally: Tally::default() };
        self.pour(&mut state, &rules, &sources, tick.step);
        self.weather(&mut state, &rules, tick.step);
        self.flow(&mut state, &rules);
        let ends = tick.step + 1 >= self.steps;
        if ends {
            self.settle(&mut state, &rules);
        }
        let State { terrain, water, suspended, tally } = state;
        let budget = tally.budget(&water, &terrain.grid);
        terrain.insert(&WATER, Cells::Float(water.depths))?;
        if !ends {
            terrain.insert(&SUSPENDED, Cells::Height(suspended))?;
        }
        Ok(budget)
    }
}

impl Flow {
    /// Marks all that is wet, in one look over the map.
    fn find(&mut self, terrain: &Terrain) -> Result<()> {
        let cols = terrain.grid.cols();
        if let Some(water) = terrain.float(&WATER) {
            for (at, _) in water.as_slice().iter().enumerate().filter(|(_, depth)| **depth > 0.0) {
                self.changed.set(at / cols, at % cols);
            }
        }
        if let Some(suspended) = terrain.heights(&SUSPENDED) {
            for (at, sediment) in suspended.as_slice().iter().enumerate().filter(|(_, sediment)| sediment.0 != 0) {
                let (i, j) = (at / cols, at % cols);
                if terrain.is_nodata(i, j) || !(0..=MAX_SUSPENDED).contains(&sediment.0) {
                    let problem = format!("holds {sediment}; allowed is 0 to 16384 m, and 0 where there is no data");
                    return Err(Error::layer(SUSPENDED.name, problem));
                }
                self.changed.set(i, j);
            }
        }
        Ok(())
    }

    /// Pours what springs give in this step, and before the first the drop.
    fn pour(&mut self, state: &mut State<'_>, rules: &Rules, sources: &[springs::SpringSource], step: u32) {
        let (seconds, area) = (self.model.seconds(&state.terrain.grid), state.terrain.grid.cell_area());
        for source in sources {
            self.put(state, source.cell, within_step(source.rate * seconds / area, step));
        }
        if self.model.drop == 0.0 || step > 0 {
            return;
        }
        let grid = &state.terrain.grid;
        let Ok(world) = world_cell(grid, Point { x: self.model.x, y: self.model.y }) else { return };
        if let Some(cell) = grid.local(world) {
            self.put(state, cell, (self.model.drop / area * UNITS).round() as i64);
            let lifted = rules.lifted(&state.scene(), cell, self.model.pickup * UNITS);
            state.dig(cell, lifted);
        }
    }

    /// Puts water on a cell.
    fn put(&mut self, state: &mut State<'_>, cell: Cell, amount: i64) {
        if amount > 0 && !state.terrain.is_nodata(cell.row, cell.col) {
            state.water.add(cell, amount);
            state.tally.poured += i128::from(amount);
            self.changed.set(cell.row, cell.col);
        }
    }

    /// Rain and evaporation, the sea's taking of what has reached it; and the list of cells that may act.
    fn weather(&mut self, state: &mut State<'_>, rules: &Rules, step: u32) {
        let per_hour = self.model.seconds(&state.terrain.grid) / 3.6e6;
        let (rain, evaporation) = (self.model.rain * per_hour, self.model.evaporation * per_hour);
        let (even, drying) = (within_step(rain, step), within_step(evaporation, step));
        let State { terrain, water, suspended, tally } = state;
        let mask = terrain.float(&RAIN);
        self.changed.spread(&mut self.active);
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
            let depth = water.units(cell);
            let rained = match mask {
                _ if sea => 0,
                Some(mask) => within_step(rain * f64::from(share_of(mask[cell])), step),
                None => even,
            };
            let gone = if sea { depth } else { drying.min(depth + rained) };
            tally.rained += i128::from(rained);
            *(if sea { &mut tally.drained } else { &mut tally.evaporated }) += i128::from(gone);
            if rained != gone {
                water.add(cell, rained - gone);
                changed.set(i, j);
            }
            if depth + rained > gone || suspended[cell].0 > 0 {
                wet.push((i * cols + j) as u32);
            }
        });
    }

    /// Lets all wet cells act at once: a cell's plan is carried out only when all that look at what it changes are made.
    fn flow(&mut self, state: &mut State<'_>, rules: &Rules) {
        let cols = state.terrain.grid.cols();
        let drying = self.model.evaporation > 0.0;
        let mut next = 0;
        while next < self.wet.len() {
            let chunk = &self.wet[next..(next + CHUNK).min(self.wet.len())];
            next += chunk.len();
            let scene = state.scene();
            self.plans.par_extend(chunk.par_iter().with_min_len(512).map(|at| rules.plan(&scene, *at)));
            // A plan changes cells up to a row away, and plans look a row away.
            let front = self.wet.get(next).map_or(usize::MAX, |at| (*at as usize / cols).saturating_sub(2) * cols);
            let ready = self.plans.partition_point(|plan| (plan.at as usize) < front);
            for plan in self.plans.drain(..ready) {
                state.carry_out(&plan, &mut self.changed, drying);
            }
        }
    }

    /// Lays down all sediment where it is; water that has reached the sea is gone.
    fn settle(&mut self, state: &mut State<'_>, rules: &Rules) {
        self.changed.drain(|i, j| {
            let cell = Cell::new(i, j);
            let sediment = state.suspended[cell].0;
            let laid = sediment.min(Height::MAX.0 - state.terrain.ground[cell].0).max(0);
            state.lay(cell, laid);
            state.tally.limited += u64::from(laid < sediment);
            state.tally.exported += i64::from(sediment - laid);
            if rules.is_sea(state.terrain.ground[cell]) {
                let depth = state.water.units(cell);
                state.water.add(cell, -depth);
                state.tally.drained += i128::from(depth);
            }
        });
    }
}

/// Whole units that fall in step number `step` of an amount in metres a step: amounts under a unit add up over the steps.
fn within_step(metres: f64, step: u32) -> i64 {
    let until = |steps: f64| (steps * (metres * UNITS)).floor() as i64;
    until(f64::from(step) + 1.0).saturating_sub(until(f64::from(step))).clamp(0, MAX_WATER)
}
