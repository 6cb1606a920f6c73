//! Hillslope diffusion: slopes lose some of their curvature, within the order of the tree.

use multiversion::multiversion;

use crate::paths::{RIVER, SEA};
use crate::plane::{LANES, Part, Plane, WALL, put, take};
use crate::receive::{above, below};
use thalweg_core::base::cast;
use thalweg_flow::OUT;

/// Runs the first half: fills concave cells, at most to one unit below their lowest donor before the sweep. It needs
/// elevations and receivers one cell beyond.
pub(super) fn fill(
    from: &Plane<i32>,
    flags: &Plane<u8>,
    codes: &Plane<u8>,
    creep: f32,
    part: &Part,
    to: &mut Plane<i32>,
) {
    let cols = &part.cols;
    for i in part.rows.clone() {
        let here = (from.span(i, cols), flags.span(i, cols), codes.span(i, cols));
        fill_row(here, from.around(i, cols), codes.around(i, cols), creep, to.span_mut(i, cols));
    }
}

/// Runs the second half: wears crests, at most to one unit above their receiver before the sweep, and not below
/// `floor`.
pub(super) fn wear(
    from: &Plane<i32>,
    (flags, floor): (&Plane<u8>, &Plane<i32>),
    codes: &Plane<u8>,
    creep: f32,
    part: &Part,
    to: &mut Plane<i32>,
) {
    let cols = &part.cols;
    for i in part.rows.clone() {
        let here = (from.span(i, cols), flags.span(i, cols), codes.span(i, cols), floor.span(i, cols));
        wear_row(here, from.around(i, cols), creep, to.span_mut(i, cols));
    }
}

/// Lowers cells to their target, at most to one unit above their receiver before the sweep, and not below `floor`.
pub(super) fn lower(
    from: &Plane<i32>,
    (wanted, floor): (&Plane<i32>, &Plane<i32>),
    codes: &Plane<u8>,
    part: &Part,
    to: &mut Plane<i32>,
) {
    let cols = &part.cols;
    for i in part.rows.clone() {
        let here = (from.span(i, cols), wanted.span(i, cols), codes.span(i, cols), floor.span(i, cols));
        lower_row(here, from.around(i, cols), to.span_mut(i, cols));
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn lower_row((here, wanted, own, floor): (&[i32], &[i32], &[u8], &[i32]), near: [&[i32]; 8], out: &mut [i32]) {
    for x in (0..out.len()).step_by(LANES) {
        let (here, wanted, own) = (take::<_, LANES>(here, x), take::<_, LANES>(wanted, x), take::<_, LANES>(own, x));
        let floor = take::<_, LANES>(floor, x);
        let mut heights = below(&here, &near, &own, x);
        for l in 0..LANES {
            let least = heights[l].wrapping_add(1).max(floor[l]);
            let sinks = wanted[l] < here[l] && own[l] != OUT;
            heights[l] = if sinks { wanted[l].max(least).min(here[l]) } else { here[l] };
        }
        put(out, x, &heights);
    }
}

/// Returns how far the neighbours' mean is above each cell from column `x` of a row on, in units. Straight neighbours
/// have four times the weight of diagonal ones (Patra & Karttunen 2006, "Stencils with isotropic discretisation
/// error"). A neighbour beyond the world counts as being as high as the cell.
#[inline(always)]
fn curvature(here: &[i32; LANES], near: &[&[i32]; 8], x: usize) -> [f32; LANES] {
    let mut sums = [0.0f32; LANES];
    for k in 0..8 {
        let weight = if k % 2 == 0 { 0.2 } else { 0.05 };
        let near = take::<_, LANES>(near[k], x);
        for l in 0..LANES {
            let over = near[l].wrapping_sub(here[l]) as f32 * weight;
            sums[l] += if near[l] == WALL { 0.0 } else { over };
        }
    }
    sums
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn fill_row(
    (here, flags, own): (&[i32], &[u8], &[u8]),
    near: [&[i32]; 8],
    codes: [&[u8]; 8],
    creep: f32,
    out: &mut [i32],
) {
    for x in (0..out.len()).step_by(LANES) {
        let (here, flags, own) = (take::<_, LANES>(here, x), take::<_, LANES>(flags, x), take::<_, LANES>(own, x));
        let bends = curvature(&here, &near, x);
        let mut heights = above(&near, &codes, x);
        for l in 0..LANES {
            let up = cast::floor((bends[l] * creep).max(0.0));
            let held = flags[l] & (RIVER | SEA) != 0 || own[l] == OUT;
            let height = here[l].wrapping_add(up).min(heights[l].wrapping_sub(1)).max(here[l]);
            heights[l] = if held { here[l] } else { height };
        }
        put(out, x, &heights);
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn wear_row((here, flags, own, floor): (&[i32], &[u8], &[u8], &[i32]), near: [&[i32]; 8], creep: f32, out: &mut [i32]) {
    for x in (0..out.len()).step_by(LANES) {
        let (here, flags, own) = (take::<_, LANES>(here, x), take::<_, LANES>(flags, x), take::<_, LANES>(own, x));
        let floor = take::<_, LANES>(floor, x);
        let bends = curvature(&here, &near, x);
        let mut heights = below(&here, &near, &own, x);
        for l in 0..LANES {
            let down = cast::floor((bends[l] * creep).min(0.0));
            let held = flags[l] & (RIVER | SEA) != 0 || own[l] == OUT;
            let least = heights[l].wrapping_add(1).max(floor[l]);
            let height = here[l].wrapping_add(down).max(least).min(here[l]);
            heights[l] = if held { here[l] } else { height };
        }
        put(out, x, &heights);
    }
}
