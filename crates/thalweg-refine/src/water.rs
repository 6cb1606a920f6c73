//! Water over hills: drainage areas by multiple flow, in cells.

use multiversion::multiversion;

use crate::cell_flags::{RIVER, SEA};
use crate::plane::{LANES, PaddedPlane, PlanePart, read_lanes, write_lanes};
use thalweg_core::base::cast;
use thalweg_flow::OUT;

/// Computes the shares of its water that each cell passes to its eight neighbours, in 255ths: proportional to the
/// falls, times the widths of the sides that they cross (Quinn et al. 1991, doi:10.1002/hyp.3360050106). Rivers, the
/// sea and outlets pass on nothing.
pub(super) fn compute_flow_shares(
    ground: &PaddedPlane<i32>,
    flags: &PaddedPlane<u8>,
    codes: &PaddedPlane<u8>,
    part: &PlanePart,
    out: &mut [PaddedPlane<u8>; 8],
) {
    let cols = &part.cols;
    for i in part.rows.clone() {
        let out = out.each_mut().map(|plane| plane.span_mut(i, cols));
        compute_share_row(
            ground.span(i, cols),
            ground.neighbour_rows(i, cols),
            flags.span(i, cols),
            codes.span(i, cols),
            out,
        );
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn compute_share_row(here: &[i32], near: [&[i32]; 8], flags: &[u8], codes: &[u8], out: [&mut [u8]; 8]) {
    for x in (0..here.len()).step_by(LANES) {
        let (here, flags, codes) =
            (read_lanes::<_, LANES>(here, x), read_lanes::<_, LANES>(flags, x), read_lanes::<_, LANES>(codes, x));
        let mut falls = [[0.0f32; LANES]; 8];
        let mut sums = [0.0f32; LANES];
        for k in 0..8 {
            let near = read_lanes::<_, LANES>(near[k], x);
            // Quinn's contour lengths of ½ and √2/4 cells are divided here by the distances of 1 and √2 cells.
            let weight = if k % 2 == 0 { 0.5 } else { 0.25 };
            for l in 0..LANES {
                let fall = (here[l].wrapping_sub(near[l]) as f32 * weight).max(0.0);
                falls[k][l] = fall;
                sums[l] += fall;
            }
        }
        let mut scales = [0.0f32; LANES];
        for l in 0..LANES {
            let gives = flags[l] & (RIVER | SEA) == 0 && codes[l] != OUT && sums[l] > 0.0;
            // The smallest sum is that of one unit to a diagonal neighbour, 0.25. The lower limit prevents a division
            // by 0.
            scales[l] = if gives { 255.0 / sums[l].max(0.25) } else { 0.0 };
        }
        for k in 0..8 {
            let mut shares = [0u8; LANES];
            for l in 0..LANES {
                // Bytes take a quarter of the memory of `f32`. Their rounding changes a cell's water by at most 4/255.
                shares[l] = cast::round_half_even(falls[k][l] * scales[l]) as u8;
            }
            write_lanes(out[k], x, &shares);
        }
    }
}

/// Runs one sweep: each cell receives 1 for itself and its neighbours' shares of what they had before.
pub(super) fn sweep_accumulation(
    from: &PaddedPlane<f32>,
    shares: &[PaddedPlane<u8>; 8],
    part: &PlanePart,
    to: &mut PaddedPlane<f32>,
) {
    let cols = &part.cols;
    for i in part.rows.clone() {
        // Neighbour k passes water in the direction opposite to k. Gathering from neighbours instead of adding to them
        // writes each cell once, so the result does not depend on any order.
        let of = |k: usize| shares[k ^ 4].neighbour_row(k, i, cols);
        let given = [of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)];
        accumulate_row(from.neighbour_rows(i, cols), given, to.span_mut(i, cols));
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn accumulate_row(near: [&[f32]; 8], shares: [&[u8]; 8], out: &mut [f32]) {
    for x in (0..out.len()).step_by(LANES) {
        let mut sums = [0.0f32; LANES];
        for k in 0..8 {
            let (near, shares) = (read_lanes::<_, LANES>(near[k], x), read_lanes::<_, LANES>(shares[k], x));
            for l in 0..LANES {
                sums[l] += near[l] * f32::from(shares[l]);
            }
        }
        write_lanes(out, x, &sums.map(|sum| 1.0 + sum * (1.0 / 255.0)));
    }
}
