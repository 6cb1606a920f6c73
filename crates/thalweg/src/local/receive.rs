//! Receivers: the steepest way down, where there is one; else the tree as it was.
//!
//! Ground on which no cell's receiver is higher keeps a tree: a circle would have to be level all the way round, so made of kept
//! receivers alone, and those were a tree before.

use multiversion::multiversion;

use crate::local::paths::{RIVER, SEA};
use crate::local::plane::{LANES, Part, Plane, WALL, put, take};

/// Receivers of a part. It needs the ground a cell beyond, and `kept` ones for where nothing is lower and for rivers.
pub(super) fn receivers(ground: &Plane<i32>, flags: &Plane<u8>, kept: &Plane<u8>, part: &Part, out: &mut Plane<u8>) {
    let cols = &part.cols;
    for i in part.rows.clone() {
        steepest(
            ground.span(i, cols),
            ground.around(i, cols),
            flags.span(i, cols),
            kept.span(i, cols),
            out.span_mut(i, cols),
        );
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn steepest(here: &[i32], near: [&[i32]; 8], flags: &[u8], kept: &[u8], out: &mut [u8]) {
    for x in (0..out.len()).step_by(LANES) {
        let (here, flags, kept) = (take::<_, LANES>(here, x), take::<_, LANES>(flags, x), take::<_, LANES>(kept, x));
        let mut codes = kept.map(i32::from);
        let mut most = [0.0f32; LANES];
        for k in 0..8 {
            let near = take::<_, LANES>(near[k], x);
            let weight = if k % 2 == 0 { 1.0 } else { std::f32::consts::FRAC_1_SQRT_2 };
            for l in 0..LANES {
                // Heights are within ±16 000 m, walls 16 384 m: no difference passes 2³¹.
                let fall = here[l].wrapping_sub(near[l]) as f32 * weight;
                codes[l] = if fall > most[l] { k as i32 } else { codes[l] };
                most[l] = if fall > most[l] { fall } else { most[l] };
            }
        }
        let mut found = [0u8; LANES];
        for l in 0..LANES {
            found[l] = if flags[l] & (RIVER | SEA) != 0 { kept[l] } else { codes[l] as u8 };
        }
        put(out, x, &found);
    }
}

/// Heights of the receivers of cells from column `x` of a row on; their own where `codes` lead nowhere.
#[inline(always)]
pub(super) fn below(here: &[i32; LANES], near: &[&[i32]; 8], codes: &[u8; LANES], x: usize) -> [i32; LANES] {
    let mut heights = *here;
    for k in 0..8 {
        let near = take::<_, LANES>(near[k], x);
        for l in 0..LANES {
            heights[l] = if codes[l] == k as u8 { near[l] } else { heights[l] };
        }
    }
    heights
}

/// The lowest of the cells that drain into each cell from column `x` of a row on; the wall where none does. `codes` are the neighbours'
/// receivers.
#[inline(always)]
pub(super) fn above(near: &[&[i32]; 8], codes: &[&[u8]; 8], x: usize) -> [i32; LANES] {
    let mut heights = [WALL; LANES];
    for k in 0..8 {
        let (near, codes) = (take::<_, LANES>(near[k], x), take::<_, LANES>(codes[k], x));
        for l in 0..LANES {
            let donor = if codes[l] == (k ^ 4) as u8 { near[l] } else { WALL };
            heights[l] = heights[l].min(donor);
        }
    }
    heights
}
