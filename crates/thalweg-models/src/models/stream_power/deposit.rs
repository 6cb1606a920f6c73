//! The implicit stream-power step with deposition: sediment eroded upstream is deposited again further downstream.

use multiversion::multiversion;
use rayon::prelude::*;

use crate::models::stream_power::solve::{IncisionInputs, solve_remaining_height};
use thalweg_core::Height;

/// The greatest number of iterations; with G about 1, some five reach convergence.
const MAX_ITERATIONS: u32 = 20;

/// The iterations end when no cell's change differs by more than this from the last iteration, in height units: 2 mm.
const CONVERGENCE_UNITS: f32 = 131.0;

/// The number of parts into which the drainage trees are grouped, which are processed in parallel.
const TREE_GROUPS: usize = 16;

/// The result of a step, in height units.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ErosionSums {
    /// The eroded sum.
    pub eroded: i64,
    /// The sum deposited as sediment.
    pub deposited: i64,
}

/// Erodes and deposits by one implicit step of ∂z/∂t = −K·Aᵐ·Sⁿ + G/A·∫(−∂z/∂t) dA (Yuan et al. 2019; the integral
/// covers everything that drains through the cell; uplift was applied before). Returns the eroded and deposited sums.
///
/// As in that paper, it iterates two sweeps: one from base level upstream, which computes the changes with the
/// sediment load of the last iteration, and one downstream, which accumulates the sediment. There are two
/// differences. Sediment follows the flow directions alone, and the A of its term counts the cells along them, so that
/// no cell receives more than there is. And in standing water all arriving sediment settles, up to the water's level.
/// A last downstream sweep in whole height units deposits no more than what actually arrives, so the mass balance
/// closes exactly. `levels` is updated to the water's level over the new ground.
///
/// The iteration stores the change of each cell and its load in f32, and levels in whole units. That is far more
/// precise than its convergence criterion and takes half the memory of heights in f64. Cells with the same number of
/// steps to their outlet form a layer. No cell of a layer depends on another, so a layer is processed in vectors;
/// sums keep the order of the cells in `water`.
pub fn erode_and_deposit(
    ground: &mut [Height],
    levels: &mut [Height],
    loose: &mut [Height],
    mut water: IncisionInputs<'_>,
    ease: f64,
    deposition: f64,
) -> ErosionSums {
    let rule = DepositionRule { scale: water.scale, n: water.n, ease, deposition };
    let mut groups = group_drainage_trees(ground, levels, loose, &mut water);
    let chance = |k: u32| water.rounding_chance(k as usize);
    for _ in 0..MAX_ITERATIONS {
        // Trees do not exchange sediment, so that the parts need no order among themselves.
        let max_change = groups.par_iter_mut().map(|part| {
            let max_change = part.compute_changes(&rule);
            part.accumulate_sediment();
            max_change
        });
        if max_change.reduce(|| 0.0, f32::max) < CONVERGENCE_UNITS {
            break;
        }
    }
    let moved = groups.par_iter_mut().map(|part| part.apply_changes(&chance));
    let moved = moved.reduce(ErosionSums::default, |a, b| ErosionSums {
        eroded: a.eroded + b.eroded,
        deposited: a.deposited + b.deposited,
    });
    // The results are written back for all cells but the outlets, which are layer 0 and keep their height.
    for part in groups {
        let settled = part.cell.iter().zip(part.ground.iter().zip(&part.level));
        for (cell, (height, level)) in settled.skip(part.layers[1]) {
            let k = *cell as usize;
            loose[k].0 = (loose[k].0 + (height - ground[k].0)).max(0);
            (ground[k].0, levels[k].0) = (*height, *level);
        }
    }
    moved
}

/// The parameters that are the same for all cells.
struct DepositionRule {
    /// See [`IncisionInputs`]; `ease` is the erodibility of sediment relative to rock, and `deposition` the coefficient
    /// G.
    scale: f64,
    n: f64,
    ease: f64,
    deposition: f64,
}

/// A group of drainage trees, stored layer by layer: outlets first, each layer in the order of the water's cells.
struct TreeGroup {
    /// The index at which each layer begins, and the index at which the last one ends.
    layers: Vec<usize>,
    /// The cell at each index, and the index of its receiver (for an outlet its own).
    cell: Vec<u32>,
    below: Vec<u32>,
    /// The number of cells that drain through it, including itself.
    drains: Vec<f32>,
    /// The strength of its incision, negative where sediment covers it; see [`IncisionInputs::strength`].
    strength: Vec<f32>,
    /// The elevation, and the level of the water over it, in height units.
    ground: Vec<i32>,
    level: Vec<i32>,
    /// The change of elevation, and the sediment that arrives, in height units.
    change: Vec<f32>,
    load: Vec<f32>,
    /// The water levels of the receivers of one layer.
    base: Vec<i32>,
}

/// Groups the drainage trees into parts of about equal size.
///
/// It takes the water's order and strength out of `water`: they are no longer needed once the parts exist, and their
/// memory can be freed.
fn group_drainage_trees(
    ground: &[Height],
    levels: &[Height],
    loose: &[Height],
    water: &mut IncisionInputs<'_>,
) -> Vec<TreeGroup> {
    let order = std::mem::take(&mut water.order);
    let strength = std::mem::take(&mut water.strength);
    let water = &*water;
    let below = |k: u32| water.receiver(k as usize);
    // `places` stores in turn the number of cells that drain through each cell, its number of steps to its outlet,
    // and its index in its part.
    let mut places = vec![0u32; ground.len()];
    for &k in &order {
        places[k as usize] += 1;
        if let Some(n) = below(k) {
            places[n] += places[k as usize];
        }
    }
    // Cells are visited upstream from the outlets. A cell belongs to the part of its receiver, and an outlet's tree
    // goes to the part that is smallest so far. The grouping depends on the order alone and not on the threads.
    let mut part_of = vec![0u8; ground.len()];
    let mut sizes = [0u64; TREE_GROUPS];
    let mut counts: [Vec<usize>; TREE_GROUPS] = Default::default();
    for &k in order.iter().rev() {
        let (part, steps) = match below(k) {
            Some(n) => (usize::from(part_of[n]), places[n] + 1),
            None => {
                let smallest = (0..TREE_GROUPS).min_by_key(|part| sizes[*part]).unwrap_or(0);
                sizes[smallest] += u64::from(places[k as usize]);
                (smallest, 0)
            }
        };
        (part_of[k as usize], places[k as usize]) = (part as u8, steps);
        let counts = &mut counts[part];
        if counts.len() <= steps as usize {
            counts.resize(steps as usize + 1, 0);
        }
        counts[steps as usize] += 1;
    }
    // Now that all counts are known, the cells are placed by counting sort, which keeps their order within a layer.
    let mut groups: Vec<TreeGroup> =
        counts.into_iter().zip(sizes).map(|(counts, size)| TreeGroup::new(&counts, size)).collect();
    for &k in &order {
        let part = &mut groups[usize::from(part_of[k as usize])];
        let steps = places[k as usize] as usize;
        // While cells are placed, a layer's begin serves as the layer's next free index.
        let place = part.layers[steps];
        part.layers[steps] += 1;
        part.cell[place] = k;
        places[k as usize] = place as u32;
    }
    drop((order, part_of));
    groups.par_iter_mut().for_each(|part| {
        // Each begin has moved to the begin of the next layer; the rotation makes it the list of begins and ends again.
        part.layers.rotate_right(1);
        part.layers[0] = 0;
        part.below = part.cell.iter().map(|k| places[below(*k).unwrap_or(*k as usize)]).collect();
    });
    // Free the shared arrays before the parts allocate more memory.
    drop(places);
    groups.par_iter_mut().for_each(|part| part.read_strength(&strength, loose));
    drop(strength);
    groups.par_iter_mut().for_each(|part| part.read_heights(ground, levels));
    groups.retain(|part| part.layers.len() > 1);
    groups
}

impl TreeGroup {
    /// Creates a part with the given number of cells in each layer.
    fn new(counts: &[usize], size: u64) -> Self {
        let mut layers: Vec<usize> = counts.iter().scan(0, |at, n| Some(std::mem::replace(at, *at + n))).collect();
        layers.push(0); // the end of the last layer, once all cells are placed
        Self {
            layers,
            cell: vec![0; size as usize],
            below: Vec::new(),
            drains: Vec::new(),
            strength: Vec::new(),
            ground: Vec::new(),
            level: Vec::new(),
            change: Vec::new(),
            load: Vec::new(),
            base: vec![0; counts.iter().copied().max().unwrap_or(0)],
        }
    }

    /// Reads the incision strength of the part's cells.
    fn read_strength(&mut self, strength: &[f32], loose: &[Height]) {
        // The sign distinguishes sediment from rock, which saves an array of flags.
        let strength = |k: usize| if loose[k].0 > 0 { -strength[k] } else { strength[k] };
        self.strength = self.cell.iter().map(|k| strength(*k as usize)).collect();
    }

    /// Reads the elevations and levels of the part's cells, and accumulates the number of cells that drain through
    /// each.
    fn read_heights(&mut self, ground: &[Height], levels: &[Height]) {
        let count = self.cell.len();
        self.ground = self.cell.iter().map(|k| ground[*k as usize].0).collect();
        self.level = self.cell.iter().map(|k| levels[*k as usize].0).collect();
        (self.change, self.load) = (vec![0.0; count], vec![0.0; count]);
        self.drains = vec![1.0; count];
        for ends in self.layers.windows(2).skip(1).rev() {
            for at in ends[0]..ends[1] {
                self.drains[self.below[at] as usize] += self.drains[at];
            }
        }
    }

    /// Computes the cells' changes from base level upstream, with the sediment that arrived in the last iteration.
    /// Returns the greatest difference to the last iteration's changes.
    fn compute_changes(&mut self, rule: &DepositionRule) -> f32 {
        let mut max_change = 0;
        for ends in self.layers.windows(2).skip(1) {
            let here = ends[0]..ends[1];
            // Receivers are in earlier layers: their new levels are read while this layer's are written.
            let (under, level) = self.level.split_at_mut(here.start);
            let base = &mut self.base[..here.len()];
            for (base, below) in base.iter_mut().zip(&self.below[here.clone()]) {
                *base = under[*below as usize];
            }
            let layer = TreeLayer {
                base,
                ground: &self.ground[here.clone()],
                load: &self.load[here.clone()],
                drains: &self.drains[here.clone()],
                strength: &self.strength[here.clone()],
            };
            let level = &mut level[..here.len()];
            max_change = max_change.max(compute_layer_changes(&layer, rule, &mut self.change[here], level));
        }
        f32::from_bits(max_change)
    }

    /// Accumulates the eroded sediment downstream.
    fn accumulate_sediment(&mut self) {
        let Self { layers, below, change, load, .. } = self;
        load.fill(0.0);
        for ends in layers.windows(2).skip(1).rev() {
            for at in ends[0]..ends[1] {
                load[below[at] as usize] += (load[at] - change[at]).max(0.0);
            }
        }
    }

    /// Changes the ground in whole units, depositing no more than actually arrives, and derives the water levels over
    /// it. `chance` returns a cell's random number from 0 to 1 for rounding.
    fn apply_changes(&mut self, chance: &(impl Fn(u32) -> f64 + Sync)) -> ErosionSums {
        let Self { layers, cell, below, ground, level, .. } = self;
        let change = std::mem::take(&mut self.change);
        (self.load, self.drains, self.strength) = Default::default();
        let mut load = vec![0i64; cell.len()];
        let mut moved = ErosionSums::default();
        for ends in layers.windows(2).skip(1).rev() {
            for at in ends[0]..ends[1] {
                let requested = f64::from(change[at]) + chance(cell[at]);
                // Rounds down to a whole number.
                let whole = requested as i64 - i64::from(requested as i64 as f64 > requested);
                let change = whole.min(load[at]).clamp(i32::MIN.into(), i32::MAX.into()) as i32;
                // The sediment that the range of heights excludes stays in the load and runs on.
                let limit = Height(ground[at] + change).clamped();
                let change = limit.0 - ground[at];
                ground[at] = limit.0;
                moved.eroded += i64::from((-change).max(0));
                moved.deposited += i64::from(change.max(0));
                load[below[at] as usize] += load[at] - i64::from(change);
            }
        }
        for at in layers[1]..cell.len() {
            level[at] = ground[at].max(level[below[at] as usize]);
        }
        moved
    }
}

/// The inputs of a layer's cells; see [`TreeGroup`].
struct TreeLayer<'a> {
    base: &'a [i32],
    ground: &'a [i32],
    load: &'a [f32],
    drains: &'a [f32],
    strength: &'a [f32],
}

/// Computes the changes of one layer; see [`TreeGroup::compute_changes`]. Returns the bits of the greatest difference.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2+bmi1+bmi2", "aarch64+neon"))]
fn compute_layer_changes(layer: &TreeLayer<'_>, rule: &DepositionRule, change: &mut [f32], level: &mut [i32]) -> u32 {
    if rule.n == 1.0 {
        solve_layer_changes::<true>(layer, rule, change, level)
    } else {
        solve_layer_changes::<false>(layer, rule, change, level)
    }
}

#[inline(always)]
fn solve_layer_changes<const LINEAR: bool>(
    layer: &TreeLayer<'_>,
    rule: &DepositionRule,
    change: &mut [f32],
    level: &mut [i32],
) -> u32 {
    let count = change.len();
    let (base, ground, level) = (&layer.base[..count], &layer.ground[..count], &mut level[..count]);
    let (load, drains, strength) = (&layer.load[..count], &layer.drains[..count], &layer.strength[..count]);
    let mut max_change = 0;
    for k in 0..count {
        // The height above the water level of the receiver.
        let over = f64::from(ground[k]) - f64::from(base[k]);
        let arriving = f64::from(load[k]);
        // This is G/A with the area in cells: a small catchment deposits a larger share of the sediment that arrives.
        let share = rule.deposition / f64::from(drains[k]);
        // The cell's own share of the sediment is solved implicitly as well.
        let start = over + share / (1.0 + share) * arriving;
        let soft = if strength[k] < 0.0 { rule.ease } else { 1.0 };
        let strength = soft * (f64::from(strength[k].abs()) * rule.scale) / (1.0 + share);
        // Where the cell is below its receiver's water level, arriving sediment fills it up to that level.
        let filled = (-over).min(arriving);
        let now = if LINEAR {
            let cut = start / (1.0 + strength) - over;
            if start <= 0.0 { filled } else { cut }
        } else if start <= 0.0 {
            filled
        } else {
            solve_remaining_height(start, strength, rule.n) - over
        };
        // The bits of non-negative floating-point numbers have the order of their values.
        max_change = max_change.max((now as f32 - change[k]).abs().to_bits());
        change[k] = now as f32;
        // The level is rounded half up by a comparison, which needs no call of a function.
        let water = (over + now).max(0.0);
        let whole = water as i32;
        let rounded = whole.saturating_add(i32::from(water - f64::from(whole) >= 0.5));
        level[k] = base[k].saturating_add(rounded);
    }
    max_change
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::{Cell, Edge, Field, Grid};
    use thalweg_flow::{FlowGraph, Land, OUT};

    /// Computes the same step cell by cell, directly from the formulas.
    fn plain(
        ground: &mut [Height],
        levels: &mut [Height],
        loose: &mut [Height],
        water: &IncisionInputs<'_>,
        ease: f64,
        deposition: f64,
    ) -> ErosionSums {
        let count = ground.len();
        let below = |k: usize| water.receiver(k);
        let mut cells = vec![1.0f32; count];
        for &k in &water.order {
            if let Some(n) = below(k as usize) {
                cells[n] += cells[k as usize];
            }
        }
        let mut changes = vec![0.0f32; count];
        let mut load = vec![0.0f32; count];
        for _ in 0..MAX_ITERATIONS {
            let mut max_change = 0.0f32;
            for &k in water.order.iter().rev() {
                let k = k as usize;
                let Some(n) = below(k) else { continue };
                let arriving = f64::from(load[k]);
                // The height above the water level of the receiver.
                let over = f64::from(ground[k].0) - f64::from(levels[n].0);
                let share = deposition / f64::from(cells[k]);
                // The cell's own share of the sediment is solved implicitly as well.
                let start = over + share / (1.0 + share) * arriving;
                let change = if start <= 0.0 {
                    (-over).min(arriving)
                } else {
                    let soft = if loose[k].0 > 0 { ease } else { 1.0 };
                    solve_remaining_height(start, soft * water.scaled_strength(k) / (1.0 + share), water.n) - over
                };
                max_change = max_change.max((change as f32 - changes[k]).abs());
                changes[k] = change as f32;
                levels[k] = Height(levels[n].0.saturating_add((over + change).max(0.0).round() as i32));
            }
            load.fill(0.0);
            for &k in &water.order {
                let k = k as usize;
                if let Some(n) = below(k) {
                    load[n] += (load[k] - changes[k]).max(0.0);
                }
            }
            if max_change < CONVERGENCE_UNITS {
                break;
            }
        }
        drop((cells, load));
        // Whole units are exact in f64, since a load is less than 2⁵³.
        let mut load = vec![0.0f64; count];
        let mut moved = ErosionSums::default();
        for &k in &water.order {
            let k = k as usize;
            let Some(n) = below(k) else { continue };
            let requested = (f64::from(changes[k]) + water.rounding_chance(k)).floor();
            let change = requested.min(load[k]) as i32;
            let limit = Height(ground[k].0 + change).clamped();
            let change = limit.0 - ground[k].0;
            ground[k] = limit;
            loose[k].0 = (loose[k].0 + change).max(0);
            moved.eroded += i64::from((-change).max(0));
            moved.deposited += i64::from(change.max(0));
            load[n] += load[k] - f64::from(change);
        }
        for &k in water.order.iter().rev() {
            if let Some(n) = below(k as usize) {
                levels[k as usize] = ground[k as usize].max(levels[n]);
            }
        }
        moved
    }

    #[test]
    fn layers_have_the_bits_of_cell_by_cell() {
        for number in 0..60u64 {
            let key = RandomKey::new(number, "layers");
            let size = [
                1 + (key.derive_key(1).random_bits() % 60) as usize,
                1 + (key.derive_key(2).random_bits() % 60) as usize,
            ];
            let mut grid = Grid::new(size, 30.0).unwrap();
            if number % 3 == 0 {
                grid.edges = [Edge::Closed, Edge::Open, Edge::Closed, Edge::Closed];
            }
            let relief = [3.0, 300.0, 3000.0][number as usize % 3];
            let at = |i: usize, j: usize, part: u64| key.derive_key(part).for_cell([i as i64, j as i64]).uniform_unit();
            let ground = Field::from_fn(size, |i, j| Height::from_metres_clamped(relief * at(i, j, 3)));
            let loose = Field::from_fn(size, |i, j| Height::from_metres_clamped((4.0 * at(i, j, 4) - 2.0).max(0.0)));
            let mut drainage = FlowGraph::new(&Land { grid: &grid, ground: &ground, nodata: None, outlets: &[] });
            let order = drainage.take_upstream_order();
            let (levels, codes) = drainage.into_parts();
            let strength = |(k, code): (usize, &u8)| {
                if *code >= OUT { 0.0 } else { (key.derive_key(5).derive_key(k as u64).uniform_unit() * 0.4) as f32 }
            };
            let n = [1.0, 1.0, 1.6][number as usize / 3 % 3];
            let water = || IncisionInputs {
                codes: codes.as_slice(),
                order: order.clone(),
                strength: codes.as_slice().iter().enumerate().map(strength).collect(),
                scale: libm::pow(thalweg_core::terrain::height::UNITS, 1.0 - n),
                n,
                topology: grid.topology(),
                origin: Cell::new(0, 0),
                salt: 77,
            };
            let start = [ground, levels, loose].map(Field::into_vec);
            let [mut a, mut b] = [start.clone(), start];
            let deposition = [0.2, 1.0, 3.0][number as usize % 3];
            let one = {
                let [ground, levels, loose] = &mut a;
                erode_and_deposit(ground, levels, loose, water(), 2.0, deposition)
            };
            let [ground, levels, loose] = &mut b;
            let other = plain(ground, levels, loose, &water(), 2.0, deposition);
            assert_eq!(one, other, "land {number}");
            assert!(a == b, "land {number}");
            assert!(size == [1, 1] || size.contains(&1) || one.eroded > 0);
        }
    }
}
