//! The levels at which basins spill to the outside: minimax paths over the graph of their passes.

use rayon::prelude::*;

/// The basin that is no basin.
pub const OUTSIDE_BASIN: u32 = 0;

/// Water that stands at `level` in one of two basins runs into the other.
#[derive(Debug, Clone, Copy)]
pub struct Pass {
    /// The two basins; [`OUTSIDE_BASIN`] stands for the outlet.
    pub ends: [u32; 2],
    /// Height of the pass, in units of [`Height`](thalweg_core::terrain::height::Height).
    pub level: i32,
}

/// For each of `count` basins, the lowest level at which it is joined to the outside; the least i32 where that is never.
///
/// Borůvka's algorithm (1926), turned about: each basin spills over its lowest pass, at level h, into another. Basins that
/// are joined so make one basin, and that one's level in the smaller graph, where lower than h, is raised to h. Each
/// round leaves at most half of the basins.
pub fn levels(count: usize, mut passes: Vec<Vec<Pass>>) -> Vec<i32> {
    let mut rounds = Vec::new();
    let mut count = count;
    while passes.iter().any(|passes| !passes.is_empty()) {
        let lowest = lowest(count, &passes);
        let mut joined: Vec<u32> = (0..count as u32).collect();
        for (basin, into) in joined.iter_mut().enumerate().skip(1) {
            *into = spills(&lowest, basin as u32);
        }
        // The basin of a pair that stays spills over no pass of its own.
        let heights: Vec<i32> =
            (0..count).map(|x| if joined[x] == x as u32 { i32::MIN } else { level(lowest[x]) }).collect();
        count = contract(&mut joined);
        passes.par_iter_mut().for_each(|passes| {
            passes.retain_mut(|pass| {
                pass.ends = pass.ends.map(|end| joined[end as usize]);
                pass.ends[0] != pass.ends[1]
            });
        });
        rounds.push((heights, joined));
    }
    let mut levels = vec![i32::MIN; count];
    for (heights, joined) in rounds.iter().rev() {
        levels = heights.iter().zip(joined).map(|(height, into)| levels[*into as usize].max(*height)).collect();
    }
    levels
}

/// Each basin's lowest pass: its level, then the basin beyond, so that equals are ordered alike from both sides.
fn lowest(count: usize, passes: &[Vec<Pass>]) -> Vec<u64> {
    let mut lowest = vec![u64::MAX; count];
    for pass in passes.iter().flatten() {
        let level = u64::from(pass.level as u32 ^ 1 << 31) << 32;
        let [a, b] = pass.ends;
        for (from, to) in [(a, b), (b, a)] {
            let best = &mut lowest[from as usize];
            *best = (level | u64::from(to)).min(*best);
        }
    }
    lowest
}

/// The level of a lowest pass.
fn level(pass: u64) -> i32 {
    ((pass >> 32) as u32 ^ 1 << 31) as i32
}

/// The basin that a basin spills into: itself where it has no pass, or is the first of two that spill into each other.
fn spills(lowest: &[u64], basin: u32) -> u32 {
    let into = lowest[basin as usize];
    let to = into as u32;
    if into == u64::MAX || (to > basin && lowest[to as usize] as u32 == basin) { basin } else { to }
}

/// Follows pointers to their roots, and numbers these in their order: each pointer becomes its root's number. The number
/// of roots.
pub(super) fn contract(pointers: &mut [u32]) -> usize {
    for k in 0..pointers.len() {
        let mut root = pointers[k];
        while pointers[root as usize] != root {
            root = pointers[root as usize];
        }
        let mut at = k as u32;
        while at != root {
            at = std::mem::replace(&mut pointers[at as usize], root);
        }
    }
    let mut count = 0;
    let mut numbers = vec![0; pointers.len()];
    for (k, pointer) in pointers.iter().enumerate() {
        if *pointer == k as u32 {
            numbers[k] = count;
            count += 1;
        }
    }
    for pointer in pointers {
        *pointer = numbers[*pointer as usize];
    }
    count as usize
}
