//! [`Pools::balance_water`]: the water balance of lakes, with inflow, evaporation and overflow along the whole flow
//! path at once.

use crate::depressions::{Hierarchy, OUTSIDE};
use crate::pools::{Arrival, Overflow, PoolRules, Pools, Stock};
use crate::{Land, spill};
use thalweg_core::Result;

/// Maximum number of iterations to find pools that only pass water on. A few suffice, except for long chains of such
/// pools.
const MAX_ITERATIONS: u32 = 64;

/// The result of a balance: where the water went. Amounts are in units of height × cells.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Balance {
    /// The amount that evaporated from standing water, in units of height × cells like all amounts here.
    pub evaporated: i64,
    /// The amount that left the land: over its edges, into the sea, into cells without data. It includes `stranded`.
    pub left: i64,
    /// The outlets of pools that overflowed, in order of their depressions.
    pub outlets: Vec<Outlet>,
    /// For each leaf of the hierarchy the index, in `outlets`, of its pool's outlet; [`OUTSIDE`] if none.
    pub outlet_of: Vec<u32>,
    /// Water that stood where the ground no longer holds it and flowed off the land, at the lowest cell of each
    /// patch.
    pub stranded: Vec<Overflow>,
}

/// A sill that water flowed over. Amounts are in units of height × cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outlet {
    /// The row-major index of the sill.
    pub cell: u32,
    /// The index of a neighbour on the far side; the sill itself if water leaves the land there.
    pub toward: u32,
    /// The inflow of the pool: arrivals, and overflow from pools upstream.
    pub inflow: i64,
    /// The outflow over the sill. It exceeds the inflow if the sill has been eroded.
    pub outflow: i64,
}

impl Pools {
    /// Distributes `stock` and `arrivals` over the ground of the last update: water arrives, evaporates and flows
    /// over all sills along its way, until it stands or has left the land.
    ///
    /// Cells that are finally under water evaporate as the rules specify. A lake without an outlet therefore finds
    /// the size at which evaporation equals inflow, however much arrives at once (an implicit Euler step). Inflow
    /// beyond the spill level flows on at once. Water that already stood above a sill, because the sill was eroded,
    /// leaves at the rules' `release`, and the rest is held. A pool that its inflow would fill in less than the time
    /// of `least` balances is not a lasting pool but a pit along the water's path: all water passes through it, and
    /// none stands or evaporates there. With `least` = 0 all pools are kept.
    ///
    /// The mass balance is exact to the unit: depth and held water before, plus arrivals, equal depth and held water
    /// after, plus the amounts that evaporated and left.
    ///
    /// # Errors
    /// Returns the errors of [`Pools::settle_water`].
    pub fn balance_water(
        &self,
        land: &Land<'_>,
        stock: &mut Stock,
        arrivals: &[Arrival],
        rules: &PoolRules,
        least: f64,
    ) -> Result<Balance> {
        self.check_input(land, stock, arrivals, rules)?;
        let Hierarchy { depressions, .. } = &self.hierarchy;
        // Evaporation is deducted once the final surfaces are known, so gathering deducts none.
        let mut gathered = self.gather_water(stock, arrivals, &PoolRules { evaporation: 0, ..*rules })?;
        let (stranded, lost) = self.release_patches(land, &gathered.stranded, rules);
        let ran_off: i64 = stranded.iter().map(|overflow| overflow.water).sum();
        // Water that stood above an eroded sill leaves gradually. The part that stays is set aside before water is
        // poured.
        let withheld = self.withhold_surplus(&mut gathered.water, &gathered.arrived, rules);

        let leaves = self.hierarchy.leaf_count();
        // Evaporation is part of the volumes while water is poured, and is deducted when the levels are found. The
        // difference of the volumes before and after is therefore the amount that evaporated.
        let (water, arrived) = (&gathered.water[..leaves], &gathered.arrived[..leaves]);
        let Poured { mut pools, pool_of, flows, left, passed } =
            self.pour_water(water, arrived, rules.evaporation, least);
        let taken: i64 = pools.iter().map(|pool| pool.volume).sum();
        spill::raise_pools(land.ground.as_slice(), &self.hierarchy, &pool_of, &mut pools, rules.evaporation, &passed)?;
        let stands: i64 = pools.iter().map(|pool| pool.volume).sum();

        let mut balance = Balance {
            evaporated: taken - stands,
            left: gathered.left + lost + ran_off + left,
            outlets: Vec::new(),
            outlet_of: vec![OUTSIDE; pools.len()],
            stranded,
        };
        // Report the outlets, and hold the remainder of each pool at its lowest cell.
        let mut held = withheld;
        for (p, pool) in pools.iter().enumerate() {
            let depression = &depressions[pool.depression as usize];
            let [inflow, outflow] = flows[p];
            if outflow > 0 {
                let [cell, toward] = self.find_sill_crossing(land, pool.depression as usize);
                balance.outlet_of[p] = balance.outlets.len() as u32;
                balance.outlets.push(Outlet { cell, toward, inflow, outflow });
            }
            if pool.remainder > 0 {
                held.push(Arrival { cell: depression.pit, water: pool.remainder });
            }
        }
        let outlet_of = |pool: &u32| balance.outlet_of.get(*pool as usize).copied().unwrap_or(OUTSIDE);
        balance.outlet_of = pool_of[..leaves].iter().map(outlet_of).collect();
        // Merge entries of the same cell. The sums do not depend on the order of entries of one cell, so an unstable
        // sort is enough.
        held.sort_unstable_by_key(|held| held.cell);
        held.dedup_by(|next, first| {
            let same = next.cell == first.cell;
            first.water += if same { next.water } else { 0 };
            same
        });
        stock.held = held;
        self.set_depths(land, stock, &pool_of, |pool| pools[pool].level);
        Ok(balance)
    }

    /// Lets the water of each leaf flow into the pools.
    ///
    /// Lasting pools are determined iteratively. A pool that only passes water on increases the inflow of those
    /// downstream, some of which then only pass it on as well. No pool becomes lasting by that, so the iteration is
    /// monotonic.
    fn pour_water(&self, water: &[i64], arrived: &[i64], evaporation: i32, least: f64) -> Poured {
        let depressions = &self.hierarchy.depressions;
        let mut passed = vec![false; if least > 0.0 { depressions.len() } else { 0 }];
        let mut turns = if least > 0.0 { MAX_ITERATIONS } else { 0 };
        loop {
            let mut pour = spill::Pour::new(depressions, evaporation, &passed);
            for (leaf, amount) in water.iter().enumerate() {
                pour.add(leaf as u32, *amount);
            }
            let (pools, pool_of) = pour.collect_pools();
            let flows = self.compute_flows(&pools, &pool_of, water, arrived);
            // An inflow that fills the pool in less than `least` balances passes through. After the last turn, all
            // others count as lasting.
            let found = |(pool, [inflow, _]): (&spill::FilledPool, &[i64; 2])| {
                let d = pool.depression as usize;
                (turns > 0 && !passed[d] && (*inflow as f64) * least > depressions[d].volume as f64).then_some(d)
            };
            let found: Vec<usize> = pools.iter().zip(&flows).filter_map(found).collect();
            if found.is_empty() {
                return Poured { pools, pool_of, flows, left: pour.left, passed };
            }
            turns -= 1;
            for d in found {
                passed[d] = true;
            }
            // Mark all their descendants as well.
            for d in (0..depressions.len()).rev() {
                passed[d] |= depressions[d].parent.is_some_and(|parent| passed[parent as usize]);
            }
        }
    }

    /// Removes from each leaf's water the amount that already stood above a sill before the inflow and does not leave
    /// at once. Returns it as water held at the pools' lowest cells.
    fn withhold_surplus(&self, water: &mut [i64], arrived: &[i64], rules: &PoolRules) -> Vec<Arrival> {
        let mut stood: Vec<i64> = water.iter().zip(arrived).map(|(water, arrived)| water - arrived).collect();
        let full = self.merge_full_depressions(&mut stood, &mut vec![0; arrived.len()]);
        let (pools, pool_of) = self.build_pools(&stood, &full);
        // The water above the sill is withheld, except the part that is released now.
        let over = |pool: &spill::FilledPool| {
            let over = if pool.full { stood[pool.depression as usize] - pool.volume } else { 0 };
            over - rules.compute_release(over)
        };
        let withheld: Vec<i64> = pools.iter().map(over).collect();
        let mut rest = withheld.clone();
        // Take it from the leaves of the pool in order of their numbers, and only from water that stood there before.
        for (leaf, pool) in pool_of[..self.hierarchy.leaf_count()].iter().enumerate() {
            if let Some(rest) = rest.get_mut(*pool as usize).filter(|rest| **rest > 0) {
                let taken = (*rest).min(water[leaf] - arrived[leaf]);
                water[leaf] -= taken;
                *rest -= taken;
            }
        }
        let pit = |pool: &spill::FilledPool| self.hierarchy.depressions[pool.depression as usize].pit;
        let kept = pools.iter().zip(&withheld).filter(|(_, water)| **water > 0);
        kept.map(|(pool, water)| Arrival { cell: pit(pool), water: *water }).collect()
    }

    /// Computes the inflow of each pool and the outflow over its sill, from the highest pools down.
    fn compute_flows(
        &self,
        pools: &[spill::FilledPool],
        pool_of: &[u32],
        water: &[i64],
        arrived: &[i64],
    ) -> Vec<[i64; 2]> {
        let depressions = &self.hierarchy.depressions;
        let below = |pool: &spill::FilledPool| {
            let to = depressions[pool.depression as usize].spill.filter(|_| pool.full)?.to?;
            let below = pool_of[to as usize];
            (below != OUTSIDE).then_some(below as usize)
        };
        // For each pool, all water that is in it or has arrived, and the part that has arrived.
        let mut sums = vec![[0i64; 2]; pools.len()];
        let mut above = vec![0u32; pools.len()];
        for ((pool, water), arrived) in pool_of.iter().zip(water).zip(arrived) {
            if let Some([all, came]) = sums.get_mut(*pool as usize) {
                *all += water;
                *came += arrived;
            }
        }
        pools.iter().filter_map(below).for_each(|p| above[p] += 1);
        let mut flows = vec![[0; 2]; pools.len()];
        let mut ready: Vec<usize> = (0..pools.len()).filter(|p| above[*p] == 0).collect();
        // A pool is ready once all pools that overflow into it are done, so its inflow is complete.
        while let Some(p) = ready.pop() {
            let [all, came] = sums[p];
            let over = if pools[p].full { all - pools[p].volume } else { 0 };
            flows[p] = [came, over];
            if let Some(below) = below(&pools[p]) {
                sums[below][0] += over;
                sums[below][1] += over;
                above[below] -= 1;
                if above[below] == 0 {
                    ready.push(below);
                }
            }
        }
        flows
    }
}

/// The state after water has flowed into the pools.
struct Poured {
    /// The pools, without their levels; their volumes still include the evaporation.
    pools: Vec<spill::FilledPool>,
    /// For each depression, the pool that it is part of; [`OUTSIDE`] if none.
    pool_of: Vec<u32>,
    /// The inflow of each pool, and the outflow over its sill.
    flows: Vec<[i64; 2]>,
    /// The amount that left the land.
    left: i64,
    /// For each depression, true if water only passes through it; empty if all pools are kept.
    passed: Vec<bool>,
}
