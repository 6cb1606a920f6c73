//! [`Pools::balance`]: lakes at what comes, evaporates and runs over, all down the land at once.

use crate::depressions::{Hierarchy, OUTSIDE};
use crate::pools::{Arrival, Overflow, PoolRules, Pools, Stock};
use crate::{Land, spill};
use thalweg_core::Result;

/// Turns at most in which pools are found that only pass water on: a few do, but for long chains of them.
const TURNS: u32 = 64;

/// What became of water in a balance.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Balance {
    /// What evaporated from standing water, in units of height × cells, as all amounts here.
    pub evaporated: i64,
    /// What left the land: over its edges, into the sea, into cells without data. What is stranded is part of it.
    pub left: i64,
    /// The pools that ran over, in order of their depressions.
    pub outlets: Vec<Outlet>,
    /// For each leaf of the hierarchy the place, in `outlets`, of the outlet that its pool has; [`OUTSIDE`] if none.
    pub outlet_of: Vec<u32>,
    /// What stood where the ground no longer holds it, and ran off the land, at the lowest cell of each patch.
    pub stranded: Vec<Overflow>,
}

/// A sill that water ran over. Amounts are in units of height × cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outlet {
    /// Index of the sill, row-major.
    pub cell: u32,
    /// Index of a neighbour on the far side; the sill itself where water leaves the land there.
    pub toward: u32,
    /// What came to the pool, of arrivals and over sills above.
    pub inflow: i64,
    /// What ran over: more than came where the sill has been cut down.
    pub outflow: i64,
}

impl Pools {
    /// Lets water come, evaporate and run over all sills on its way, until it stands or has left the land: `stock` and
    /// `arrivals`, on the ground of the last update.
    ///
    /// The cells that are under water in the end evaporate what the rules say, so a lake that has no outlet finds the size at
    /// which that is what comes, however much comes at once (an implicit Euler step). What comes runs on at once; what stood
    /// over a sill before, since that has been cut down, leaves by the rules' `release`, and the rest is held. A pool that
    /// what comes would fill in less than the time of `least` balances is none that lasts, but a pit on water's way: all runs
    /// on through it, none stands or evaporates there. `least` 0 lets all stand.
    ///
    /// Amounts are kept to the unit: depth and held water before, and arrivals, are depth and held water after, what evaporated
    /// and what left.
    ///
    /// # Errors
    /// As [`Pools::settle`].
    pub fn balance(
        &self,
        land: &Land<'_>,
        stock: &mut Stock,
        arrivals: &[Arrival],
        rules: &PoolRules,
        least: f64,
    ) -> Result<Balance> {
        self.check(land, stock, arrivals, rules)?;
        let Hierarchy { depressions, .. } = &self.hierarchy;
        let mut gathered = self.gather(stock, arrivals, &PoolRules { evaporation: 0, ..*rules })?;
        let (stranded, lost) = self.release_patches(land, &gathered.stranded, rules);
        let ran_off: i64 = stranded.iter().map(|overflow| overflow.water).sum();
        let withheld = self.withhold(&mut gathered.water, &gathered.arrived, rules);

        let leaves = self.hierarchy.leaves();
        let (water, arrived) = (&gathered.water[..leaves], &gathered.arrived[..leaves]);
        let Poured { mut pools, pool_of, flows, left, passed } = self.pour(water, arrived, rules.evaporation, least);
        let taken: i64 = pools.iter().map(|pool| pool.volume).sum();
        spill::rise(land.ground.as_slice(), &self.hierarchy, &pool_of, &mut pools, rules.evaporation, &passed)?;
        let stands: i64 = pools.iter().map(|pool| pool.volume).sum();

        let mut balance = Balance {
            evaporated: taken - stands,
            left: gathered.left + lost + ran_off + left,
            outlets: Vec::new(),
            outlet_of: vec![OUTSIDE; pools.len()],
            stranded,
        };
        let mut held = withheld;
        for (p, pool) in pools.iter().enumerate() {
            let depression = &depressions[pool.depression as usize];
            let [inflow, outflow] = flows[p];
            if outflow > 0 {
                let [cell, toward] = self.way_over(land, pool.depression as usize);
                balance.outlet_of[p] = balance.outlets.len() as u32;
                balance.outlets.push(Outlet { cell, toward, inflow, outflow });
            }
            if pool.remainder > 0 {
                held.push(Arrival { cell: depression.pit, water: pool.remainder });
            }
        }
        let outlet_of = |pool: &u32| balance.outlet_of.get(*pool as usize).copied().unwrap_or(OUTSIDE);
        balance.outlet_of = pool_of[..leaves].iter().map(outlet_of).collect();
        held.sort_unstable_by_key(|held| held.cell);
        held.dedup_by(|next, first| {
            let same = next.cell == first.cell;
            first.water += if same { next.water } else { 0 };
            same
        });
        stock.held = held;
        self.stand(land, stock, &pool_of, |pool| pools[pool].level);
        Ok(balance)
    }

    /// Lets the water of each leaf run into the pools.
    ///
    /// Which pools last is found in turns: one that only passes water on lets more come to those below it, so that some of these
    /// only pass it on as well. None becomes lasting by that.
    fn pour(&self, water: &[i64], arrived: &[i64], evaporation: i32, least: f64) -> Poured {
        let depressions = &self.hierarchy.depressions;
        let mut passed = vec![false; if least > 0.0 { depressions.len() } else { 0 }];
        let mut turns = if least > 0.0 { TURNS } else { 0 };
        loop {
            let mut pour = spill::Pour::new(depressions, evaporation, &passed);
            for (leaf, amount) in water.iter().enumerate() {
                pour.add(leaf as u32, *amount);
            }
            let (pools, pool_of) = pour.pools();
            let flows = self.flows(&pools, &pool_of, water, arrived);
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
            // And all that lie in them.
            for d in (0..depressions.len()).rev() {
                passed[d] |= depressions[d].parent.is_some_and(|parent| passed[parent as usize]);
            }
        }
    }

    /// Takes out of each leaf's water what stood over a sill before anything came, and does not leave at once.
    fn withhold(&self, water: &mut [i64], arrived: &[i64], rules: &PoolRules) -> Vec<Arrival> {
        let mut stood: Vec<i64> = water.iter().zip(arrived).map(|(water, arrived)| water - arrived).collect();
        let full = self.merge(&mut stood, &mut vec![0; arrived.len()]);
        let (pools, pool_of) = self.pools(&stood, &full);
        let over = |pool: &spill::FilledPool| {
            let over = if pool.full { stood[pool.depression as usize] - pool.volume } else { 0 };
            over - rules.released(over)
        };
        let withheld: Vec<i64> = pools.iter().map(over).collect();
        let mut rest = withheld.clone();
        for (leaf, pool) in pool_of[..self.hierarchy.leaves()].iter().enumerate() {
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

    /// What came to each pool, and what ran over its sill: from the highest pools down.
    fn flows(&self, pools: &[spill::FilledPool], pool_of: &[u32], water: &[i64], arrived: &[i64]) -> Vec<[i64; 2]> {
        let depressions = &self.hierarchy.depressions;
        let below = |pool: &spill::FilledPool| {
            let to = depressions[pool.depression as usize].spill.filter(|_| pool.full)?.to?;
            let below = pool_of[to as usize];
            (below != OUTSIDE).then_some(below as usize)
        };
        // All that is in a pool and has come to it, and of that what has come.
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

/// Water that has run into the pools.
struct Poured {
    /// Without their levels, and with what evaporates in their volumes.
    pools: Vec<spill::FilledPool>,
    /// For each depression the pool that it is part of; [`OUTSIDE`] if none.
    pool_of: Vec<u32>,
    /// What came to each pool, and what ran over its sill.
    flows: Vec<[i64; 2]>,
    /// What left the land.
    left: i64,
    /// For each depression whether water only passes it; empty where all is to stand.
    passed: Vec<bool>,
}
