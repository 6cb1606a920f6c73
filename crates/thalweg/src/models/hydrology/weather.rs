//! What the climate brings to lakes in a batch: rain on every cell, and springs, less what is lost on the way.
//!
//! Drops are samples of it that dig. The water itself is a field: what comes to a lake is the rain on all land above it,
//! however few drops there are.

use std::ops::Range;

use crate::base::error::Result;
use crate::base::rng::Key;
use crate::flow::downstream;
use crate::flow::pools::{Arrival, Pools};
use crate::model::Budget;
use crate::models::hydrology::Hydrology;
use crate::models::hydrology::rain::{Share, sourced};
use crate::models::hydrology::rules::Rules;
use crate::terrain::Terrain;
use crate::terrain::field::Field;
use crate::terrain::height::{Height, UNITS};

/// Parts of a unit in which amounts are summed.
const PARTS: f64 = 65_536.0;

/// The water that comes to the pits of the ground in some batches. What falls is booked, and what is lost or drains off the land.
pub fn come(
    terrain: &Terrain,
    model: &Hydrology,
    rules: &Rules,
    pools: &Pools,
    (depth, stream): (&Field<Height>, &Field<f32>),
    (steps, key): (Range<u32>, Key),
    budget: &mut Budget,
) -> Result<Vec<Arrival>> {
    let (grid, leaf) = (&terrain.grid, pools.hierarchy().leaf.as_slice());
    let comes = (rules.evaporation > 0.0).then(|| comes(pools, rules, depth, stream.as_slice()));
    let comes = |k: usize| comes.as_ref().map_or(1.0, |comes| f64::from(comes[k]));
    let share = Share::of(terrain, model)?;
    let falls = model.depth(grid, &steps) * UNITS * PARTS;
    let mut sums = vec![0i128; pools.hierarchy().leaves()];
    // Parts: soaked in, lost on the way, run off the land.
    let [mut soaked, mut lost, mut left] = [0i128; 3];
    for (k, leaf) in leaf.iter().enumerate() {
        let Some([share, runs]) = share.at(k / grid.cols(), k % grid.cols()) else { continue };
        let fallen = (falls * share) as i64;
        let running = (fallen as f64 * runs) as i64;
        let coming = (running as f64 * comes(k)) as i64;
        soaked += i128::from(fallen - running);
        lost += i128::from(running - coming);
        *sums.get_mut(*leaf as usize).unwrap_or(&mut left) += i128::from(coming);
    }
    let mut poured = 0;
    for (water, [i, j]) in sourced(terrain, rules, &steps)? {
        let k = i * grid.cols() + j;
        let all = i128::from(water) * PARTS as i128;
        let coming = (water as f64 * comes(k) * PARTS) as i128;
        poured += all;
        lost += all - coming.min(all);
        *sums.get_mut(leaf[k] as usize).unwrap_or(&mut left) += coming.min(all);
    }
    // Whole units go on; what is less does, by chance, as one or not at all.
    let key = key.and(WHOLE_UNITS);
    let mut arrivals = Vec::new();
    let mut came = 0i128;
    for (sum, depression) in sums.iter().zip(&pools.hierarchy().depressions) {
        let by_chance = i128::from(dither(key, u64::from(depression.pit)));
        let water = (sum + by_chance).div_euclid(PARTS as i128);
        if water > 0 {
            came += water;
            arrivals.push(Arrival { cell: depression.pit, water: i64::try_from(water).unwrap_or(i64::MAX / 4) });
        }
    }
    let units = |parts: i128| parts as f64 / PARTS;
    budget.infiltrated += units(soaked);
    budget.evaporated += units(lost);
    budget.drained += units(left);
    budget.poured += units(poured);
    // What rained is all that became of it.
    budget.rained += units(soaked + lost + left - poured) + came as f64;
    Ok(arrivals)
}

/// Purpose of the key by which parts of units are rounded.
const WHOLE_UNITS: u64 = 1 << 40;

fn dither(key: Key, k: u64) -> u16 {
    (key.and(k).bits() >> 48) as u16
}

/// Share of the water of each cell that comes to the lake or pit below it, or off the land: the rest evaporates on the way,
/// as it does from drops.
fn comes(pools: &Pools, rules: &Rules, depth: &Field<Height>, stream: &[f32]) -> Vec<f32> {
    let (directions, cols) = (pools.directions().as_slice(), pools.directions().cols());
    let leaf = pools.hierarchy().leaf.as_slice();
    let depth = depth.as_slice();
    let mut comes = vec![f32::NAN; directions.len()];
    let mut way = Vec::new();
    for first in 0..directions.len() {
        let mut at = first;
        while comes[at].is_nan() {
            comes[at] = 1.0;
            let next = downstream(at, directions[at], cols).filter(|next| leaf[*next] == leaf[at]);
            let Some(next) = next.filter(|_| depth[at].0 == 0) else { break };
            way.push((at, next));
            at = next;
        }
        while let Some((at, next)) = way.pop() {
            let diagonal = at % cols != next % cols && at / cols != next / cols;
            // A step of a drop leads √2 cells.
            let length = if diagonal { 1.0 } else { std::f32::consts::FRAC_1_SQRT_2 };
            let lost = length * rules.evaporation * (1.0 - rules.stream_evaporation * stream[at]);
            comes[at] = comes[next] * (1.0 - lost).max(0.0);
        }
    }
    comes
}
