//! Receivers: the steepest descent, drawn at random from the two neighbours between which it points; where no
//! neighbour is lower, the carried tree.
//!
//! The tree is preserved on terrain where no cell's receiver is higher than the cell: a cycle would have to be level
//! all the way round, so it would consist of carried receivers only, and those formed a tree before.

use multiversion::multiversion;

use crate::cell_flags::{RIVER, SEA};
use crate::plane::{LANES, PaddedPlane, PlanePart, WALL, read_lanes, write_lanes};
use thalweg_core::Cell;
use thalweg_noise::gradient::mix_bits;

/// Computes the receivers of a part. It needs elevations one cell beyond, and the carried receivers in `kept`, for
/// rivers and where nothing is lower. `origin` is the world cell of the planes' first cell, `seed` that of the random
/// draw.
pub(super) fn compute_receivers(
    ground: &PaddedPlane<i32>,
    flags: &PaddedPlane<u8>,
    kept: &PaddedPlane<u8>,
    origin: Cell<i64>,
    seed: u32,
    part: &PlanePart,
    out: &mut PaddedPlane<u8>,
) {
    let cols = &part.cols;
    for i in part.rows.clone() {
        compute_receiver_row(
            ground.span(i, cols),
            ground.neighbour_rows(i, cols),
            flags.span(i, cols),
            kept.span(i, cols),
            mix_bits((origin[0] + i as i64 - 1) as u32 ^ seed),
            (origin[1] + cols.start as i64 - 1) as u32,
            out.span_mut(i, cols),
        );
    }
}

/// Computes the receivers of a row. `row_hash` is the hash of its world row and the seed, `first_col` the world column
/// of its first cell.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn compute_receiver_row(
    here: &[i32],
    near: [&[i32]; 8],
    flags: &[u8],
    kept: &[u8],
    row_hash: u32,
    first_col: u32,
    out: &mut [u8],
) {
    for x in (0..out.len()).step_by(LANES) {
        let (here, flags, kept) =
            (read_lanes::<_, LANES>(here, x), read_lanes::<_, LANES>(flags, x), read_lanes::<_, LANES>(kept, x));
        let mut falls = [[0.0f32; LANES]; 8];
        for k in 0..8 {
            let near = read_lanes::<_, LANES>(near[k], x);
            for l in 0..LANES {
                // Elevations are within ±16 000 m and walls at 16 384 m, so no difference exceeds 2³¹ units.
                falls[k][l] = here[l].wrapping_sub(near[l]) as f32;
            }
        }
        let mut lots = [0.0f32; LANES];
        for l in 0..LANES {
            let hash = mix_bits(row_hash ^ first_col.wrapping_add((x + l) as u32).wrapping_mul(0x85eb_ca77));
            // An `f32` represents 24 bits exactly, so the number is below 1 and has no rounding.
            lots[l] = (hash >> 8) as f32 * (1.0 / 16_777_216.0);
        }
        let codes = draw_receivers(&falls, &lots, &kept.map(i32::from));
        let mut found = [0u8; LANES];
        for l in 0..LANES {
            // Rivers keep the receivers that they are carried with, so that they have the same course on all finer
            // levels.
            found[l] = if flags[l] & (RIVER | SEA) != 0 { kept[l] } else { codes[l] as u8 };
        }
        write_lanes(out, x, &found);
    }
}

/// Draws the receiver from the two neighbours between which the steepest descent points (Tarboton 1997,
/// doi:10.1029/96WR03137), with probabilities that follow the angle: in the mean of many cells water follows the
/// slope, and the eight directions do not show. `falls` are the falls to the eight neighbours, `lots` uniform random
/// numbers from 0 to 1; the result is `kept` where none is lower. A drawn neighbour is always lower.
#[inline(always)]
pub(super) fn draw_receivers<const N: usize>(falls: &[[f32; N]; 8], lots: &[f32; N], kept: &[i32; N]) -> [i32; N] {
    let mut codes = *kept;
    let mut steepest = [0.0f32; N];
    for facet in 0..8 {
        // Each straight neighbour has two facets, with the diagonal neighbours on either side of it.
        let straight = facet & 6;
        let aslant = (straight + if facet & 1 == 0 { 1 } else { 7 }) & 7;
        for l in 0..N {
            let (along, across) = (falls[straight][l], falls[aslant][l] - falls[straight][l]);
            // The tangent of the angle from the straight neighbour, up to the diagonal one.
            let t = (across / along.max(1e-3)).clamp(0.0, 1.0);
            // At t = 1 the diagonal neighbour's own fall is used: the sum is rounded where the straight neighbour is
            // far higher.
            let fall = if t < 1.0 { along + t * across } else { falls[aslant][l] };
            let steep = if fall > 0.0 { fall * fall / (1.0 + t * t) } else { 0.0 };
            // An approximation of the angle, as a share of 45°. The factor 4/π = 1.2732 is exact for small angles, and
            // at t = 1 the share is 1.
            let share = t * (1.2732 - 0.2732 * t);
            let code = if lots[l] < share { aslant } else { straight } as i32;
            // Among equally steep facets the first one counts.
            codes[l] = if steep > steepest[l] { code } else { codes[l] };
            steepest[l] = steepest[l].max(steep);
        }
    }
    codes
}

/// Returns the elevations of the receivers of the cells from column `x` of a row on; their own where `codes` lead
/// nowhere.
#[inline(always)]
pub(super) fn receiver_heights(here: &[i32; LANES], near: &[&[i32]; 8], codes: &[u8; LANES], x: usize) -> [i32; LANES] {
    let mut heights = *here;
    for k in 0..8 {
        let near = read_lanes::<_, LANES>(near[k], x);
        for l in 0..LANES {
            heights[l] = if codes[l] == k as u8 { near[l] } else { heights[l] };
        }
    }
    heights
}

/// Returns the lowest of the cells that drain into each cell from column `x` of a row on; [`WALL`] where none does.
/// `codes` are the neighbours' receivers.
#[inline(always)]
pub(super) fn lowest_donor_heights(near: &[&[i32]; 8], codes: &[&[u8]; 8], x: usize) -> [i32; LANES] {
    let mut heights = [WALL; LANES];
    for k in 0..8 {
        let (near, codes) = (read_lanes::<_, LANES>(near[k], x), read_lanes::<_, LANES>(codes[k], x));
        for l in 0..LANES {
            let donor = if codes[l] == (k ^ 4) as u8 { near[l] } else { WALL };
            heights[l] = heights[l].min(donor);
        }
    }
    heights
}
