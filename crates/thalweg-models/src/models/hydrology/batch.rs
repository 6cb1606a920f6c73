//! One batch: drops start, run for a round, and update the maps and the lakes.

use rayon::prelude::*;

use crate::model::{MassBalance, Stepper, Tick};
use crate::models::hydrology::Hydrology;
use crate::models::hydrology::descent::DescentKernel;
use crate::models::hydrology::drop::Drop;
use crate::models::hydrology::drop_tile::{
    DRY, EAST, LEVEL, PASSED, PULL_EAST, PULL_SOUTH, ROCK, SOUTH, STREAM, TALUS, YIELDS,
};
use crate::models::hydrology::final_balance;
use crate::models::hydrology::grade::GradingMode;
use crate::models::hydrology::ground::MaterialPlanes;
use crate::models::hydrology::lakes::{SettledLakes, Settling};
use crate::models::hydrology::motion::WHOLE_DROP;
use crate::models::hydrology::rain;
use crate::models::hydrology::riparian_forest;
use crate::models::hydrology::rules::{HydrologyRules, PASSES};
use crate::models::hydrology::state::HydrologyState;
use crate::models::hydrology::water_record::WaterRecord;
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
    pub rules: HydrologyRules,
    pub model: Hydrology,
    pub last: u32,
    pub lakes: Option<SettledLakes>,
}

/// The water that passed each cell in a batch, in parts of a [`WHOLE_DROP`].
struct PassedWater {
    count: Field<u32>,
    south: Field<Height>,
    east: Field<Height>,
}

impl PassedWater {
    fn with_size(size: Size) -> Self {
        let nothing = || Field::new(size, Height::ZERO);
        Self { count: Field::new(size, 0), south: nothing(), east: nothing() }
    }
}

impl Stepper for Batches {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let mut budget = MassBalance::default();
        let mut state = HydrologyState::take_from(terrain, &self.rules)?;
        // Drops of rain, of springs and those left by earlier batches run together. Their numbers are unique, so that
        // the sort gives them the same order on every machine.
        let mut drops = rain::generate_rain_drops(terrain, &self.model, &self.rules, tick, &mut budget)?;
        drops.extend(rain::generate_spring_drops(terrain, &self.rules, tick, &mut budget)?);
        drops.append(&mut state.drops);
        drops.sort_unstable_by_key(|drop| drop.number);

        let is_last = tick.step == self.last;
        let mut books = None;
        if tick.step == 0 {
            state.past = WaterRecord::from_initial_water(terrain, &state.stock, &mut self.lakes);
        }
        // Lake levels stay fixed while drops run.
        let mut level = water_levels(terrain, &state.stock.depth);
        let stream = self.stream_shares(&state);
        let mut passed = PassedWater::with_size(terrain.grid.size);
        drops = self.run_round(terrain, &state, &stream, &mut level, &mut passed, drops, &mut budget)?;
        self.update_flow_averages(&mut state, &passed);
        if is_last {
            // What passes after the last batch belongs to no batch, so the maps do not learn from it.
            drop(passed);
            let mut adjacent_water = PassedWater::with_size(terrain.grid.size);
            // A round ends for a drop that leaves its tile, so that a long path takes several rounds. Drops at rest
            // have deposited their load and do not start again.
            for _ in 0..LAST_ROUNDS {
                drops.retain(|drop| !drop.rests);
                if drops.is_empty() {
                    break;
                }
                drops =
                    self.run_round(terrain, &state, &stream, &mut level, &mut adjacent_water, drops, &mut budget)?;
            }
            drops.retain(|drop| !drop.rests);
            deposit_remaining_loads(terrain, &mut drops, &mut budget);
            drop((adjacent_water, level));
            books = Some(self.finish_lakes_and_beds(terrain, &mut state, &stream, tick, &mut budget)?);
        } else {
            // Only pits that a drop has passed in this batch are graded below. One flag a cell replaces the three maps
            // of sums, whose memory is freed before the lakes are computed.
            let has_passed = passed.count.map(|count| *count > 0);
            drop((passed, level));
            let resting: Vec<Drop> = drops.extract_if(.., |drop| drop.rests).collect();
            let settling = Settling { tick, resting: &resting, stream: &stream };
            let (lakes, stock, model, rules) = (&mut self.lakes, &mut state.stock, &self.model, &self.rules);
            drops.extend(SettledLakes::settle_batch(lakes, terrain, stock, model, rules, &settling, &mut budget)?);
            if let Some(lakes) = self.lakes.as_ref().filter(|_| self.rules.grading > 0) {
                lakes.grade_dry_beds(
                    terrain,
                    &state.stock.depth,
                    &self.rules,
                    GradingMode::Level,
                    |k| has_passed[k],
                    &mut budget,
                )?;
            }
        }
        if let Some(lakes) = &mut self.lakes {
            lakes.release_memory();
        }
        state.drops = drops;
        riparian_forest::grow_forest(terrain, &self.model, &state, tick, self.last)?;
        // So far the amounts of water are in units × cells; the mass balance states them in m³.
        let cubic = terrain.grid.cell_area() / UNITS;
        for budget in [&mut budget].into_iter().chain(&mut books) {
            let MassBalance { rained, poured, evaporated, infiltrated, drained, .. } = budget;
            for amount in [rained, poured, evaporated, infiltrated, drained] {
                *amount *= cubic;
            }
        }
        match books {
            Some(books) => std::mem::take(&mut state.past).correct_balance(&books, &mut budget),
            None => state.past.book_batch(&budget),
        }
        state.store_in(terrain)?;
        Ok(budget)
    }
}

impl Batches {
    /// Returns each cell's stream share σ, from its discharge.
    fn stream_shares(&self, state: &HydrologyState) -> Field<f32> {
        // σ = 1 − exp(−Q/Q₁) is written with the base 2, for which `exp2` gives the same bits on all machines.
        let full = (-std::f64::consts::LOG2_E / self.rules.full) as f32;
        state.discharge.map(|q| 1.0 - exp2(q * full))
    }

    /// Runs all drops for one round over the terrain. Returns those that have not ended.
    #[expect(clippy::too_many_arguments, reason = "the planes of one round, used here alone")]
    fn run_round(
        &self,
        terrain: &mut Terrain,
        state: &HydrologyState,
        stream: &Field<f32>,
        level: &mut Field<Height>,
        passed: &mut PassedWater,
        drops: Vec<Drop>,
        budget: &mut MassBalance,
    ) -> Result<Vec<Drop>> {
        let rules = &self.rules;
        let ground = MaterialPlanes::from_terrain(terrain, rules.tan_talus)?;
        let grid = terrain.grid.clone();
        terrain.loose.get_or_insert_with(|| Field::new(grid.size, Height::ZERO));
        // Planes of material are passed only where they exist: the kernel then skips their reads.
        let always = [(STREAM, stream), (PULL_SOUTH, &state.south), (PULL_EAST, &state.east)];
        let rest = [(YIELDS, &ground.yields), (ROCK, &ground.rock), (TALUS, &ground.talus)];
        let rest = rest.into_iter().filter_map(|(name, plane)| Some((name, plane.as_ref()?)));
        let mut planes = Planes::from_terrain(terrain, &[]);
        planes.heights.extend([(LEVEL, level), (SOUTH, &mut passed.south), (EAST, &mut passed.east)]);
        planes.counts.push((PASSED, &mut passed.count));
        planes.factors.extend(always.into_iter().chain(rest));
        let (alive, balance) = particles::run_round(&DescentKernel(rules), &grid, &mut planes, drops)?;
        *budget += balance;
        Ok(alive)
    }

    /// Computes the lakes on the terrain that the last drops leave, evens the last stream beds, and computes the lakes
    /// again on the resulting terrain. Returns the water balance of the second computation, in units × cells.
    fn finish_lakes_and_beds(
        &mut self,
        terrain: &mut Terrain,
        state: &mut HydrologyState,
        stream: &Field<f32>,
        tick: Tick,
        budget: &mut MassBalance,
    ) -> Result<MassBalance> {
        let grid = &terrain.grid;
        // Without an outlet, cut material could not leave the land: beds are then levelled instead.
        let leads_out = grid.edges.contains(&Edge::Open) || grid.sea_level.is_some() || terrain.nodata.is_some();
        let reckon = |batches: &mut Self, terrain: &Terrain, state: &mut HydrologyState, passes: f64| {
            let settings =
                final_balance::BalanceSettings { model: &batches.model, rules: &batches.rules, tick, passes };
            final_balance::recompute_lakes(&mut batches.lakes, terrain, state, stream, settings)
        };
        // The first computation finds the pits that count as stream beds, which the grading then removes.
        reckon(self, terrain, state, PASSES)?;
        self.grade_last_beds(terrain, &state.stock.depth, leads_out, budget)?;
        // A depression that is left now could not be evened and therefore keeps its water.
        let mut books = reckon(self, terrain, state, 0.0)?;
        // The remainder of less than a unit on each lake counts as evaporated or drained.
        let stored = state.stock.held.drain(..).map(|stored| stored.water as f64).sum::<f64>();
        if !leads_out && self.model.lake_evaporation > 0.0 {
            books.evaporated += stored;
        } else {
            books.drained += stored;
        }
        Ok(books)
    }

    /// Grades the remaining stream beds, in several passes since one bed may end in another.
    fn grade_last_beds(
        &mut self,
        terrain: &mut Terrain,
        depth: &Field<Height>,
        leads_out: bool,
        budget: &mut MassBalance,
    ) -> Result<()> {
        let Some(lakes) = self.lakes.as_mut().filter(|_| self.rules.grading > 0) else { return Ok(()) };
        let grading = if leads_out { GradingMode::Cut } else { GradingMode::Level };
        for _ in 0..LAST_GRADINGS {
            lakes.update_pools(&Land::from_terrain(terrain));
            if lakes.grade_dry_beds(terrain, depth, &self.rules, grading, |_| true, budget)? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Updates the maps of discharge and momentum as exponential moving averages over the batches.
    fn update_flow_averages(&self, state: &mut HydrologyState, passed: &PassedWater) {
        let rules = &self.rules;
        let (keep, drowned) = (rules.keep as f32, rules.keep_drowned as f32);
        // The sums count a whole drop as `WHOLE_DROP`; `drop_rate` converts drops per batch to m³/s.
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
fn water_levels(terrain: &Terrain, depth: &Field<Height>) -> Field<Height> {
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
fn deposit_remaining_loads(terrain: &mut Terrain, drops: &mut Vec<Drop>, budget: &mut MassBalance) {
    for drop in drops.drain(..) {
        let cell = Cell::from_axes(|a| (drop.cell[a] - terrain.grid.origin[a]) as usize);
        // The load stays in the cell where the drop is.
        let room = (Height::MAX.0 - terrain.ground[cell].0).max(0);
        let deposited = drop.carried.min(room);
        terrain.ground[cell].0 += deposited;
        if let Some(loose) = &mut terrain.loose {
            loose[cell].0 = loose[cell].0.saturating_add(deposited);
        }
        budget.deposited += i128::from(deposited);
        // Above the highest elevation that can be stored, the rest counts as exported.
        budget.exported += i128::from(drop.carried - deposited);
        budget.limited += u64::from(deposited < drop.carried);
    }
}
