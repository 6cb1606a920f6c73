//! One batch: drops start, run for a round, and update the maps and the lakes.

use rayon::prelude::*;

use crate::model::{MassBalance, Stepper, Tick};
use crate::models::hydrology::Hydrology;
use crate::models::hydrology::descent::{
    DRY, Descent, EAST, LEVEL, PASSED, PULL_EAST, PULL_SOUTH, ROCK, SOUTH, STREAM, TALUS, YIELDS,
};
use crate::models::hydrology::drop::Drop;
use crate::models::hydrology::grade::Way;
use crate::models::hydrology::ground::Ground;
use crate::models::hydrology::grove;
use crate::models::hydrology::lakes::{Lakes, Settling};
use crate::models::hydrology::motion::WHOLE_DROP;
use crate::models::hydrology::past::Past;
use crate::models::hydrology::rain;
use crate::models::hydrology::reckoning;
use crate::models::hydrology::rules::{PASSES, Rules};
use crate::models::hydrology::state::State;
use crate::process::particles::{self, Planes};
use thalweg_core::base::power::exp2;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Edge, Field, Height, Result, Size, Terrain};
use thalweg_flow::Land;

/// Maximum number of rounds after the last batch in which the remaining drops may finish.
const LAST_ROUNDS: u64 = 400;

/// Maximum number of passes that even stream beds after the last batch.
const LAST_GRADINGS: usize = 12;

/// The stepper of the model: one step is one batch of drops.
pub struct Batches {
    pub rules: Rules,
    pub model: Hydrology,
    pub last: u32,
    pub lakes: Option<Lakes>,
}

/// The water that passed each cell in a batch, in parts of a [`WHOLE_DROP`].
struct Passed {
    count: Field<u32>,
    south: Field<Height>,
    east: Field<Height>,
}

impl Passed {
    fn none(size: Size) -> Self {
        let nothing = || Field::new(size, Height::ZERO);
        Self { count: Field::new(size, 0), south: nothing(), east: nothing() }
    }
}

impl Stepper for Batches {
    fn step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let mut budget = MassBalance::default();
        let mut state = State::take(terrain, &self.rules)?;
        let mut drops = rain::fallen(terrain, &self.model, &self.rules, tick, &mut budget)?;
        drops.extend(rain::well_up(terrain, &self.rules, tick, &mut budget)?);
        drops.append(&mut state.drops);
        drops.sort_unstable_by_key(|drop| drop.number);

        let is_last = tick.step == self.last;
        let mut books = None;
        if tick.step == 0 {
            state.past = Past::begin(terrain, &state.stock, &mut self.lakes);
        }
        // Lake levels stay fixed while drops run.
        let mut level = level(terrain, &state.stock.depth);
        let stream = self.stream(&state);
        let mut passed = Passed::none(terrain.grid.size);
        drops = self.round(terrain, &state, &stream, &mut level, &mut passed, drops, &mut budget)?;
        self.learn(&mut state, &passed);
        if is_last {
            // What passes after the last batch belongs to no batch, so the maps do not learn from it.
            drop(passed);
            let mut beside = Passed::none(terrain.grid.size);
            for _ in 0..LAST_ROUNDS {
                drops.retain(|drop| !drop.rests);
                if drops.is_empty() {
                    break;
                }
                drops = self.round(terrain, &state, &stream, &mut level, &mut beside, drops, &mut budget)?;
            }
            drops.retain(|drop| !drop.rests);
            lay_down(terrain, &mut drops, &mut budget);
            drop((beside, level));
            books = Some(self.finish(terrain, &mut state, &stream, tick, &mut budget)?);
        } else {
            let has_passed = passed.count.map(|count| *count > 0);
            drop((passed, level));
            let resting: Vec<Drop> = drops.extract_if(.., |drop| drop.rests).collect();
            let settling = Settling { tick, resting: &resting, stream: &stream };
            let (lakes, stock, by) = (&mut self.lakes, &mut state.stock, (&self.model, &self.rules));
            drops.extend(Lakes::settle(lakes, terrain, stock, by, &settling, &mut budget)?);
            if let Some(lakes) = self.lakes.as_ref().filter(|_| self.rules.grading > 0) {
                lakes.grade(terrain, &state.stock.depth, &self.rules, Way::Level, |k| has_passed[k], &mut budget)?;
            }
        }
        if let Some(lakes) = &mut self.lakes {
            lakes.rest();
        }
        state.drops = drops;
        grove::grow(terrain, &self.model, &state, tick, self.last)?;
        // So far the amounts of water are in units × cells; the mass balance states them in m³.
        let cubic = terrain.grid.cell_area() / UNITS;
        for budget in [&mut budget].into_iter().chain(&mut books) {
            let MassBalance { rained, poured, evaporated, infiltrated, drained, .. } = budget;
            for amount in [rained, poured, evaporated, infiltrated, drained] {
                *amount *= cubic;
            }
        }
        match books {
            Some(books) => std::mem::take(&mut state.past).settle(&books, &mut budget),
            None => state.past.book(&budget),
        }
        state.give(terrain)?;
        Ok(budget)
    }
}

impl Batches {
    /// Returns each cell's stream share σ, from its discharge.
    fn stream(&self, state: &State) -> Field<f32> {
        let full = (-std::f64::consts::LOG2_E / self.rules.full) as f32;
        state.discharge.map(|q| 1.0 - exp2(q * full))
    }

    /// Runs all drops for one round over the terrain. Returns those that have not ended.
    #[expect(clippy::too_many_arguments, reason = "the planes of one round, used here alone")]
    fn round(
        &self,
        terrain: &mut Terrain,
        state: &State,
        stream: &Field<f32>,
        level: &mut Field<Height>,
        passed: &mut Passed,
        drops: Vec<Drop>,
        budget: &mut MassBalance,
    ) -> Result<Vec<Drop>> {
        let rules = &self.rules;
        let ground = Ground::of(terrain, rules.tan_talus)?;
        let grid = terrain.grid.clone();
        terrain.loose.get_or_insert_with(|| Field::new(grid.size, Height::ZERO));
        let always = [(STREAM, stream), (PULL_SOUTH, &state.south), (PULL_EAST, &state.east)];
        let rest = [(YIELDS, &ground.yields), (ROCK, &ground.rock), (TALUS, &ground.talus)];
        let rest = rest.into_iter().filter_map(|(name, plane)| Some((name, plane.as_ref()?)));
        let mut planes = Planes::of(terrain, &[]);
        planes.heights.extend([(LEVEL, level), (SOUTH, &mut passed.south), (EAST, &mut passed.east)]);
        planes.counts.push((PASSED, &mut passed.count));
        planes.factors.extend(always.into_iter().chain(rest));
        let (alive, done) = particles::round(&Descent(rules), &grid, &mut planes, drops)?;
        *budget += done;
        Ok(alive)
    }

    /// Computes the lakes on the terrain that the last drops leave, evens the last stream beds, and computes the lakes
    /// again on the resulting terrain. Returns the water balance of the second computation, in units × cells.
    fn finish(
        &mut self,
        terrain: &mut Terrain,
        state: &mut State,
        stream: &Field<f32>,
        tick: Tick,
        budget: &mut MassBalance,
    ) -> Result<MassBalance> {
        let grid = &terrain.grid;
        let leads_out = grid.edges.contains(&Edge::Open) || grid.sea_level.is_some() || terrain.nodata.is_some();
        let reckon = |batches: &mut Self, terrain: &Terrain, state: &mut State, passes: f64| {
            let by = (&batches.model, &batches.rules);
            reckoning::reckon(&mut batches.lakes, terrain, state, stream, by, (tick, passes))
        };
        reckon(self, terrain, state, PASSES)?;
        self.even_out(terrain, &state.stock.depth, leads_out, budget)?;
        // A depression that is left now could not be evened and therefore keeps its water.
        let mut books = reckon(self, terrain, state, 0.0)?;
        // The remainder of less than a unit on each lake counts as evaporated or drained.
        let held = state.stock.held.drain(..).map(|held| held.water as f64).sum::<f64>();
        if !leads_out && self.model.lake_evaporation > 0.0 {
            books.evaporated += held;
        } else {
            books.drained += held;
        }
        Ok(books)
    }

    /// Grades the remaining stream beds, in several passes since one bed may end in another.
    fn even_out(
        &mut self,
        terrain: &mut Terrain,
        depth: &Field<Height>,
        leads_out: bool,
        budget: &mut MassBalance,
    ) -> Result<()> {
        let Some(lakes) = self.lakes.as_mut().filter(|_| self.rules.grading > 0) else { return Ok(()) };
        let way = if leads_out { Way::Cut } else { Way::Level };
        for _ in 0..LAST_GRADINGS {
            lakes.follow(&Land::of(terrain));
            if lakes.grade(terrain, depth, &self.rules, way, |_| true, budget)? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Updates the maps of discharge and momentum as exponential moving averages over the batches.
    fn learn(&self, state: &mut State, passed: &Passed) {
        let rules = &self.rules;
        let (keep, drowned) = (rules.keep as f32, rules.keep_drowned as f32);
        let learn = ((1.0 - rules.keep) * rules.drop_rate / f64::from(WHOLE_DROP)) as f32;
        for (map, sums) in [(&mut state.south, &passed.south), (&mut state.east, &passed.east)] {
            map.par_rows_mut().for_each(|(i, row)| {
                row.iter_mut().zip(sums.row(i)).for_each(|(map, sum)| *map = keep * *map + learn * sum.0 as f32);
            });
        }
        let depth = &state.stock.depth;
        state.discharge.par_rows_mut().for_each(|(i, row)| {
            for ((map, sum), depth) in row.iter_mut().zip(passed.count.row(i)).zip(depth.row(i)) {
                // No discharge is recorded under lakes: what was recorded before the lake rose decays quickly.
                let keep = if depth.0 > 0 { drowned } else { keep };
                *map = keep * *map + learn * *sum as f32;
            }
        });
    }
}

/// Returns the water level of the lake or sea over each cell, [`DRY`] where there is none.
fn level(terrain: &Terrain, depth: &Field<Height>) -> Field<Height> {
    let sea = terrain.grid.sea_level;
    let mut level = Field::new(terrain.grid.size, Height(DRY));
    level.par_rows_mut().for_each(|(i, row)| {
        for ((level, ground), depth) in row.iter_mut().zip(terrain.ground.row(i)).zip(depth.row(i)) {
            if depth.0 > 0 {
                level.0 = ground.0.saturating_add(depth.0);
            } else if let Some(sea) = sea.filter(|sea| ground < sea) {
                *level = sea;
            }
        }
    });
    level
}

/// Deposits the load of the drops that have not finished by the end of the run.
fn lay_down(terrain: &mut Terrain, drops: &mut Vec<Drop>, budget: &mut MassBalance) {
    for drop in drops.drain(..) {
        let cell = Cell::from_axes(|a| (drop.cell[a] - terrain.grid.origin[a]) as usize);
        let room = (Height::MAX.0 - terrain.ground[cell].0).max(0);
        let laid = drop.carried.min(room);
        terrain.ground[cell].0 += laid;
        if let Some(loose) = &mut terrain.loose {
            loose[cell].0 = loose[cell].0.saturating_add(laid);
        }
        budget.deposited += i128::from(laid);
        // Above the highest elevation that can be stored, the rest counts as exported.
        budget.exported += i128::from(drop.carried - laid);
        budget.limited += u64::from(laid < drop.carried);
    }
}
