//! [`SettledLakes`]: water at rest between batches. Drops that ended in a lake start again at its sill, in proportion
//! to the share of the lake's inflow that overflows.

use rayon::prelude::*;

use crate::model::{MassBalance, Tick};
use crate::models::hydrology::Hydrology;
use crate::models::hydrology::drop::{self, Drop, divide_water};
use crate::models::hydrology::grade::{Grading, GradingMode};
use crate::models::hydrology::ground::MaterialPlanes;
use crate::models::hydrology::rules::{HydrologyRules, PASSES};
use crate::models::hydrology::weather;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Cell, Field, Height, Result, Terrain};
use thalweg_flow::Land;
use thalweg_flow::pools::{self, Outlet, Overflow, Pools, Stock};

/// The depressions of the terrain at the last time that water was settled.
pub struct SettledLakes {
    pools: Pools,
    ground: Field<Height>,
}

/// The inputs to the settling of a batch: the drops at rest and the state of the streams.
pub struct Settling<'a> {
    pub tick: Tick,
    pub resting: &'a [Drop],
    /// Stream share σ of each cell.
    pub stream: &'a Field<f32>,
}

impl SettledLakes {
    /// Adds a batch's rain to the lakes of the current terrain, and lets them evaporate and overflow. Returns the
    /// drops that start at sills: their water is the share of the resting drops' water that corresponds to the share
    /// of the inflow that overflows.
    ///
    /// `lakes` is the state of the previous settling, if there was one. It changes only the speed, not the result.
    ///
    /// # Errors
    /// Returns the errors of [`weather::compute_arrivals`] and [`Pools::balance_water`].
    pub fn settle_batch(
        lakes: &mut Option<Self>,
        terrain: &Terrain,
        stock: &mut Stock,
        model: &Hydrology,
        rules: &HydrologyRules,
        settling: &Settling<'_>,
        budget: &mut MassBalance,
    ) -> Result<Vec<Drop>> {
        let land = Land::from_terrain(terrain);
        let pools = &Self::update_or_create(lakes, &land).pools;
        let grid = &terrain.grid;
        let tick = settling.tick;
        let batches = weather::ArrivingBatches {
            depth: &stock.depth,
            stream: settling.stream,
            steps: tick.step..tick.step + 1,
            key: tick.key,
        };
        let arrivals = weather::compute_arrivals(terrain, model, rules, pools, batches, budget)?;
        let evaporation =
            model.evaporated_units(model.years_at_batch(grid, tick.step), model.years_at_batch(grid, tick.step + 1));
        // `PASSES` is in years, and the balance takes it as a multiple of the batch's duration.
        let how = pools::PoolRules { evaporation, release: rules.release, least: 1 };
        let balance = pools.balance_water(&land, stock, &arrivals, &how, PASSES / rules.years)?;
        budget.evaporated += balance.evaporated as f64;
        budget.drained += balance.left as f64;

        // Water of the resting drops, summed by the outlet of the lake in which they are.
        let mut rested = vec![0i64; balance.outlets.len()];
        for drop in settling.resting {
            let cell = Cell::from_axes(|a| (drop.cell[a] - grid.origin[a]) as usize);
            let outlet = balance.outlet_of.get(pools.hierarchy().leaf[cell] as usize);
            if let Some(sum) = outlet.and_then(|outlet| rested.get_mut(*outlet as usize)) {
                *sum += i64::from(drop.water);
            }
        }
        let runs_on = |(outlet, rested): (&Outlet, i64)| {
            let share = (outlet.outflow as f64 / outlet.inflow.max(1) as f64).min(1.0);
            // An outflow above the inflow, where a sill has been cut down, becomes drops as well.
            let burst = (outlet.outflow - outlet.inflow).max(0);
            let water = (rested as f64 * share) as i64 + burst;
            Overflow { cell: outlet.cell, toward: outlet.toward, water }
        };
        let over = balance.outlets.iter().zip(rested).map(runs_on).chain(balance.stranded);
        let mut drops = Vec::new();
        // The step is part of the number, so that no two batches use the same numbers.
        let mut number = drop::OVERFLOW | u64::from(tick.step) << drop::COUNT_BITS;
        for over in over.filter(|over| over.toward != over.cell) {
            // Only whole drops start. The remainder becomes one drop or none at random, in proportion to its size.
            let by_chance = tick.key.derive_key(number).derive_key(1).uniform_unit() * f64::from(rules.drop_water);
            let water = over.water.saturating_add(by_chance as i64);
            for water in divide_water(water, rules.drop_water, rules.max_drops) {
                drops.push(create_sill_drop(terrain, &over, water, rules, tick.key, number));
                number += 1;
            }
        }
        Ok(drops)
    }

    /// Evens the stream beds below dry pits, as [`Grading`] does, on the terrain last passed to [`Self::update_pools`].
    /// Returns the number of beds graded.
    ///
    /// # Errors
    /// Returns the errors of [`MaterialPlanes::from_terrain`].
    pub fn grade_dry_beds(
        &self,
        terrain: &mut Terrain,
        depth: &Field<Height>,
        rules: &HydrologyRules,
        mode: GradingMode,
        passes: impl Fn(usize) -> bool,
        budget: &mut MassBalance,
    ) -> Result<usize> {
        let ground = MaterialPlanes::from_terrain(terrain, rules.tan_talus)?;
        let grading = Grading { pools: &self.pools, depth, ground: &ground, rules, mode };
        Ok(grading.grade_beds(terrain, passes, budget))
    }

    /// Returns the depressions of the current terrain, updating or creating them as needed.
    pub fn update_or_create<'a>(lakes: &'a mut Option<Self>, land: &Land<'_>) -> &'a Self {
        match lakes {
            Some(lakes) => {
                lakes.update_pools(land);
                lakes
            }
            None => lakes.insert(Self { pools: Pools::from_land(land), ground: land.ground.clone() }),
        }
    }

    /// Frees all memory that [`Self::update_pools`] does not need.
    pub fn release_memory(&mut self) {
        self.pools.free_hierarchy();
    }

    /// Returns the depressions.
    pub fn pools(&self) -> &Pools {
        &self.pools
    }

    /// Updates the depressions to the current terrain; only the cells that changed cost time.
    pub fn update_pools(&mut self, land: &Land<'_>) {
        let mut changed = Field::new(land.ground.size(), false);
        changed.par_rows_mut().for_each(|(i, row)| {
            let cells = self.ground.row(i).iter().zip(land.ground.row(i));
            row.iter_mut().zip(cells).for_each(|(changed, (before, now))| *changed = before != now);
        });
        self.pools.update(land, Some(&changed));
        self.ground.as_mut_slice().copy_from_slice(land.ground.as_slice());
    }
}

/// Returns a drop on a sill that is about to flow over it.
fn create_sill_drop(
    terrain: &Terrain,
    overflow: &Overflow,
    water: i32,
    rules: &HydrologyRules,
    key: RandomKey,
    number: u64,
) -> Drop {
    let grid = &terrain.grid;
    let cell = |k: u32| grid.world_cell(k as usize / grid.cols(), k as usize % grid.cols());
    let (here, there) = (cell(overflow.cell), cell(overflow.toward));
    let unit = [0, 1].map(|a| (there[a] - here[a]) as f32);
    // Near the middle of the cell, so that a step of √2 cells leads to the neighbour.
    let part = Cell::from(key.derive_key(number).uniform_pair()).map(|x| 0.42 + 0.16 * x as f32);
    let ground = terrain.ground[overflow.cell as usize];
    Drop { part, speed: unit, spilled: true, ..Drop::new(number, here, ground, water, rules.turns) }
}
