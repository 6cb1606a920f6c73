//! Water that the climate supplies to lakes in a batch: rain on every cell, and springs, less the losses on the way.
//!
//! Drops are only samples of that water, which erode. The water itself is computed as a field: a lake receives the
//! rain on all land that drains to it, however few drops there are.

use std::ops::Range;

use rayon::prelude::*;

use crate::model::MassBalance;
use crate::models::hydrology::Hydrology;
use crate::models::hydrology::rain::{Share, compute_spring_water};
use crate::models::hydrology::rules::HydrologyRules;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Field, Height, Result, Terrain};
use thalweg_flow::pools::{Arrival, Pools};
use thalweg_flow::{D8, find_receiver};

/// Parts of a unit in which amounts are summed (fixed-point arithmetic, so that sums do not depend on the order).
const PARTS: f64 = 65_536.0;

/// Number of rows whose water is computed at once.
const ROWS: usize = 128;

/// Lengths of an orthogonal and of a diagonal step in steps of a drop, which are √2 cells long. The index is the
/// direction modulo 2.
const DROP_STEPS: [f32; 2] = [1.0 / D8::DISTANCES_F32[1], 1.0];

/// The batches whose water arrives, and the water that it meets.
pub struct ArrivingBatches<'a> {
    /// Depth of standing water.
    pub depth: &'a Field<Height>,
    /// Stream share σ of each cell.
    pub stream: &'a Field<f32>,
    /// The batches.
    pub steps: Range<u32>,
    pub key: RandomKey,
}

/// Returns the water that arrives at the pits of the terrain in the given batches. Adds rain, infiltration,
/// evaporation, springs and what drains off the land to the mass balance, in units × cells.
///
/// # Errors
/// Returns the errors of [`Share::from_terrain`] and [`compute_spring_water`].
pub fn compute_arrivals(
    terrain: &Terrain,
    model: &Hydrology,
    rules: &HydrologyRules,
    pools: &Pools,
    batches: ArrivingBatches<'_>,
    budget: &mut MassBalance,
) -> Result<Vec<Arrival>> {
    let ArrivingBatches { depth, stream, steps, key } = batches;
    let (grid, leaf) = (&terrain.grid, pools.hierarchy().leaf.as_slice());
    let comes = (rules.evaporation > 0.0).then(|| compute_arriving_shares(pools, rules, depth, stream.as_slice()));
    let comes = |k: usize| comes.as_ref().map_or(1.0, |comes| f64::from(comes[k]));
    let share = Share::from_terrain(terrain, model)?;
    // At most 200 000 m fall (20 m/a for 10 000 years), 8.6e14 parts: an `i64` and the 53 bits of an `f64` have room
    // for that.
    let falls = model.rain_depth(grid, &steps) * UNITS * PARTS;
    let mut sums = vec![0i128; pools.hierarchy().leaf_count()];
    // Parts of units that infiltrate, evaporate on the way, and run off the land.
    let [mut soaked, mut lost, mut drained] = [0i128; 3];
    // Water that arrives from each cell of some rows. It is added to the depressions sequentially, one band at a time:
    // the values of all cells at once would take eight bytes per cell.
    let come_of_row = |i: usize, row: &mut [i64]| {
        let [mut soaked, mut lost] = [0i128; 2];
        for (j, coming) in row.iter_mut().enumerate() {
            let Some([share, runs]) = share.rain_and_runoff_shares(i, j) else {
                *coming = 0;
                continue;
            };
            let fallen = (falls * share) as i64;
            let running = (fallen as f64 * runs) as i64;
            *coming = (running as f64 * comes(i * grid.cols() + j)) as i64;
            soaked += i128::from(fallen - running);
            lost += i128::from(running - *coming);
        }
        [soaked, lost]
    };
    let cols = grid.cols();
    let mut coming = vec![0i64; ROWS * cols];
    for (band, leaf) in leaf.chunks(ROWS * cols).enumerate() {
        let coming = &mut coming[..leaf.len()];
        let rows = coming.par_chunks_mut(cols).enumerate().map(|(i, row)| come_of_row(band * ROWS + i, row));
        let [more_soaked, more_lost] = rows.reduce(|| [0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
        soaked += more_soaked;
        lost += more_lost;
        for (coming, leaf) in coming.iter().zip(leaf) {
            // Cells of no depression have the number `OUTSIDE`, which is no index of `sums`: their water drains off the
            // land.
            *sums.get_mut(*leaf as usize).unwrap_or(&mut drained) += i128::from(*coming);
        }
    }
    let mut poured = 0;
    for (water, Cell { row: i, col: j }) in compute_spring_water(terrain, rules, &steps)? {
        let k = i * grid.cols() + j;
        // Springs supply whole units, and lose the same share on their way as rain does.
        let all = i128::from(water) * PARTS as i128;
        let coming = (water as f64 * comes(k) * PARTS) as i128;
        poured += all;
        lost += all - coming.min(all);
        *sums.get_mut(leaf[k] as usize).unwrap_or(&mut drained) += coming.min(all);
    }
    // Whole units are passed on. The remainder is rounded up or down at random, in proportion to its size.
    let key = key.derive_key(WHOLE_UNITS);
    let mut arrivals = Vec::new();
    let mut came = 0i128;
    for (sum, depression) in sums.iter().zip(&pools.hierarchy().depressions) {
        let by_chance = i128::from(draw_rounding_parts(key, u64::from(depression.pit)));
        let water = (sum + by_chance).div_euclid(PARTS as i128);
        if water > 0 {
            came += water;
            arrivals.push(Arrival { cell: depression.pit, water: i64::try_from(water).unwrap_or(i64::MAX / 4) });
        }
    }
    let units = |parts: i128| parts as f64 / PARTS;
    budget.infiltrated += units(soaked);
    budget.evaporated += units(lost);
    budget.drained += units(drained);
    budget.poured += units(poured);
    // The rain is the sum of all its fates, so that the balance closes exactly.
    budget.rained += units(soaked + lost + drained - poured) + came as f64;
    Ok(arrivals)
}

/// Subkey for the random rounding of parts of units.
const WHOLE_UNITS: u64 = 1 << 40;

/// Returns a random number of parts below one unit.
fn draw_rounding_parts(key: RandomKey, k: u64) -> u16 {
    // The upper 16 bits are a number from 0 to 65 535, and a unit has 65 536 parts.
    (key.derive_key(k).random_bits() >> 48) as u16
}

/// Returns the share of each cell's water that arrives at the lake or pit below it, or leaves the land. The rest
/// evaporates on the way, as it does from drops.
fn compute_arriving_shares(pools: &Pools, rules: &HydrologyRules, depth: &Field<Height>, stream: &[f32]) -> Vec<f32> {
    let (directions, cols) = (pools.directions().as_slice(), pools.directions().cols());
    let (leaf, depth) = (pools.hierarchy().leaf.as_slice(), depth.as_slice());
    let next = |at: usize| find_receiver(at, directions[at], cols);
    // 1 where the flow path ends. Elsewhere the share that remains after the first step, stored as a negative number
    // while the share of the whole path is unknown.
    let first_step = |at: usize| {
        if depth[at].0 != 0 || next(at).is_none_or(|next| leaf[next] != leaf[at]) {
            return 1.0;
        }
        let length = DROP_STEPS[usize::from(directions[at] % 2)];
        let lost = length * rules.evaporation * (1.0 - rules.stream_evaporation * stream[at]);
        // If nothing remains this is 0, which is not below zero and so counts as known, whatever the rest of the path.
        0.0 - (1.0 - lost).max(0.0)
    };
    let mut comes: Vec<f32> = (0..directions.len()).into_par_iter().with_min_len(1 << 12).map(first_step).collect();
    // Follow each flow path down to a cell whose share is known, then multiply the shares on the way back up. Each
    // cell is resolved once, so the time is linear in the number of cells.
    let mut path = Vec::new();
    for first in 0..directions.len() {
        let mut at = first;
        while comes[at] < 0.0 {
            path.push(at);
            let Some(next) = next(at) else { break };
            at = next;
        }
        let mut share = comes[at];
        while let Some(at) = path.pop() {
            share *= -comes[at];
            comes[at] = share;
        }
    }
    comes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use thalweg_core::Grid;
    use thalweg_core::terrain::{Cells, RAIN};
    use thalweg_flow::Land;

    #[test]
    fn every_cell_of_a_tall_land_brings_its_own_rain() {
        // Two full bands of rows and a partial one, each row with another share of rain.
        let grid = Grid::new([2 * ROWS + 45, 9], 30.0).unwrap();
        let key = RandomKey::new(3, "tall");
        let ground = Field::from_fn(grid.size, |i, j| {
            Height::from_metres_clamped(100.0 * key.for_cell([i as i64, j as i64]).uniform_unit() - 0.01 * i as f64)
        });
        let mut terrain = Terrain::from_ground(grid.clone(), ground).unwrap();
        let share = |i: usize| 1.0 / (1 + i / 3) as f32;
        terrain.insert_layer(&RAIN, Cells::Float(Field::from_fn(grid.size, |i, _| share(i)))).unwrap();
        let model = Hydrology { evaporation: 0.0, ..Hydrology::default() };
        let rules = HydrologyRules::new(&model, &grid);
        let pools = Pools::from_land(&Land::from_terrain(&terrain));
        let depth = Field::new(grid.size, Height::ZERO);
        let stream = Field::new(grid.size, 0.0);
        let steps = 0..model.steps(&grid);
        let falls = model.rain_depth(&grid, &steps) * UNITS;
        let mut want = vec![0.0; pools.hierarchy().depressions.len()];
        for (k, leaf) in pools.hierarchy().leaf.as_slice().iter().enumerate() {
            if let Some(sum) = want.get_mut(*leaf as usize) {
                *sum += falls * f64::from(share(k / 9));
            }
        }
        let mut budget = MassBalance::default();
        let batches = ArrivingBatches { depth: &depth, stream: &stream, steps, key };
        let arrivals = compute_arrivals(&terrain, &model, &rules, &pools, batches, &mut budget).unwrap();
        assert!(arrivals.len() > 100);
        for arrival in arrivals {
            let leaf = pools.hierarchy().leaf[arrival.cell as usize] as usize;
            // Parts of units are rounded at random.
            assert!((arrival.water as f64 - want[leaf]).abs() < 1.01, "{arrival:?}: {}", want[leaf]);
        }
    }

    #[test]
    fn what_comes_is_what_each_step_of_the_way_leaves() {
        for number in 0..30u64 {
            let key = RandomKey::new(number, "ways");
            let size = [3 + (key.random_bits() % 40) as usize, 3 + (key.derive_key(1).random_bits() % 40) as usize];
            let grid = Grid::new(size, 30.0).unwrap();
            let of = |part: u64, i: usize, j: usize| key.derive_key(part).for_cell([i as i64, j as i64]).uniform_unit();
            let ground = Field::from_fn(size, |i, j| Height::from_metres_clamped(40.0 * of(2, i, j) + 5.0 * i as f64));
            let land = Land { grid: &grid, ground: &ground, nodata: None, outlets: &[] };
            let pools = Pools::from_land(&land);
            let depth = Field::from_fn(size, |i, j| Height(i32::from(of(3, i, j) < 0.1)));
            let stream = Field::from_fn(size, |i, j| of(4, i, j) as f32);
            // The highest evaporation leaves nothing on some paths.
            let evaporation = [0.01, 0.3, 1.3][number as usize % 3];
            let rules = HydrologyRules { evaporation, ..HydrologyRules::new(&Hydrology::default(), &grid) };
            let comes = compute_arriving_shares(&pools, &rules, &depth, stream.as_slice());
            let (directions, leaf) = (pools.directions(), pools.hierarchy().leaf.as_slice());
            for first in 0..comes.len() {
                let (mut steps, mut at) = (Vec::new(), first);
                while let Some(next) = find_receiver(at, directions[at], size[1]) {
                    if leaf[next] != leaf[at] || depth[at].0 != 0 {
                        break;
                    }
                    let diagonal = at % size[1] != next % size[1] && at / size[1] != next / size[1];
                    let length = if diagonal { 1.0 } else { std::f32::consts::FRAC_1_SQRT_2 };
                    let lost = length * rules.evaporation * (1.0 - rules.stream_evaporation * stream[at]);
                    steps.push((1.0 - lost).max(0.0));
                    at = next;
                }
                assert_eq!(
                    comes[first],
                    steps.into_iter().rev().fold(1.0, |share, left| share * left),
                    "{number}: {first}"
                );
            }
        }
    }
}
