//! Spill levels of basins: minimax paths over the graph of the passes between them.

use rayon::prelude::*;

/// The basin number of the outside.
pub const OUTSIDE_BASIN: u32 = 0;

/// A pass: water that rises to `level` in one of two basins flows into the other.
#[derive(Debug, Clone, Copy)]
pub struct BasinPass {
    /// The two basins; [`OUTSIDE_BASIN`] is the outside of the land.
    pub ends: [u32; 2],
    /// The height of the pass, in units of [`Height`](thalweg_core::terrain::height::Height).
    pub level: i32,
}

/// Returns, for each of `count` basins, the lowest level at which it is connected to the outside; `i32::MIN` if it
/// never is.
///
/// This is a variant of Borůvka's algorithm (1926). Each basin spills over its lowest pass, at level h, into another
/// basin. Basins that are connected in this way are contracted to one, and where the level of that one in the
/// contracted graph is lower than h, it is raised to h. Each round at least halves the number of basins.
pub fn compute_spill_levels(count: usize, mut passes: Vec<Vec<BasinPass>>) -> Vec<i32> {
    let mut rounds = Vec::new();
    let mut count = count;
    while passes.iter().any(|passes| !passes.is_empty()) {
        let lowest = find_lowest_passes(count, &passes);
        let mut joined: Vec<u32> = (0..count as u32).collect();
        // Basin 0, the outside, spills nowhere and is always a root.
        for (basin, into) in joined.iter_mut().enumerate().skip(1) {
            *into = find_spill_target(&lowest, basin as u32);
        }
        // Of a pair of basins that spill into each other, the one that is kept spills over no pass of its own.
        let heights: Vec<i32> =
            (0..count).map(|x| if joined[x] == x as u32 { i32::MIN } else { unpack_level(lowest[x]) }).collect();
        count = contract_pointers(&mut joined);
        passes.par_iter_mut().for_each(|passes| {
            passes.retain_mut(|pass| {
                // Passes within a contracted basin are dropped, so the lists shrink from round to round.
                pass.ends = pass.ends.map(|end| joined[end as usize]);
                pass.ends[0] != pass.ends[1]
            });
        });
        rounds.push((heights, joined));
    }
    // Undo the contractions from the last round to the first. A basin spills at the level of the basin that it was
    // contracted to, or at its own pass if that is higher.
    let mut levels = vec![i32::MIN; count];
    for (heights, joined) in rounds.iter().rev() {
        levels = heights.iter().zip(joined).map(|(height, into)| levels[*into as usize].max(*height)).collect();
    }
    levels
}

/// Returns each basin's lowest pass, packed as its level and then the other basin, so that ties are ordered
/// consistently from both sides.
fn find_lowest_passes(count: usize, passes: &[Vec<BasinPass>]) -> Vec<u64> {
    let mut lowest = vec![u64::MAX; count];
    for pass in passes.iter().flatten() {
        // Flipping the sign bit makes unsigned numbers sort like the signed levels.
        let level = u64::from(pass.level as u32 ^ 1 << 31) << 32;
        let [a, b] = pass.ends;
        for (from, to) in [(a, b), (b, a)] {
            let best = &mut lowest[from as usize];
            *best = (level | u64::from(to)).min(*best);
        }
    }
    lowest
}

/// Returns the level of a packed pass.
fn unpack_level(pass: u64) -> i32 {
    ((pass >> 32) as u32 ^ 1 << 31) as i32
}

/// Returns the basin that a basin spills into; itself if it has no pass, or if it is the first of two that spill into
/// each other.
fn find_spill_target(lowest: &[u64], basin: u32) -> u32 {
    let into = lowest[basin as usize];
    let to = into as u32;
    // Two basins that spill into each other would point in a circle, so the one with the smaller number keeps itself.
    if into == u64::MAX || (to > basin && lowest[to as usize] as u32 == basin) { basin } else { to }
}

/// Replaces each pointer by the number of its root; roots are numbered in ascending order. Returns the number of
/// roots.
pub(super) fn contract_pointers(pointers: &mut [u32]) -> usize {
    for k in 0..pointers.len() {
        let mut root = pointers[k];
        while pointers[root as usize] != root {
            root = pointers[root as usize];
        }
        // Let all pointers on the path lead directly to the root, so that later paths are short.
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
