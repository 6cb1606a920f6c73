//! Hillslope diffusion: slopes lose some of their curvature, within the order of the tree.

use multiversion::multiversion;

use crate::cell_flags::{RIVER, SEA};
use crate::plane::{LANES, PaddedPlane, PlanePart, WALL, read_lanes, write_lanes};
use crate::receivers::{lowest_donor_heights, receiver_heights};
use thalweg_core::base::cast;
use thalweg_flow::OUT;

/// Runs the first half: fills concave cells, at most to one unit below their lowest donor before the sweep. It needs
/// elevations and receivers one cell beyond.
pub(super) fn fill_concavities(
    from: &PaddedPlane<i32>,
    flags: &PaddedPlane<u8>,
    codes: &PaddedPlane<u8>,
    creep: f32,
    part: &PlanePart,
    to: &mut PaddedPlane<i32>,
) {
    let cols = &part.cols;
    for i in part.rows.clone() {
        fill_row(
            from.span(i, cols),
            flags.span(i, cols),
            codes.span(i, cols),
            from.neighbour_rows(i, cols),
            codes.neighbour_rows(i, cols),
            creep,
            to.span_mut(i, cols),
        );
    }
}

/// Runs the second half: erodes crests, at most to one unit above their receiver before the sweep, and not below
/// `floor`.
pub(super) fn erode_crests(
    from: &PaddedPlane<i32>,
    flags: &PaddedPlane<u8>,
    floor: &PaddedPlane<i32>,
    codes: &PaddedPlane<u8>,
    creep: f32,
    part: &PlanePart,
    to: &mut PaddedPlane<i32>,
) {
    let cols = &part.cols;
    for i in part.rows.clone() {
        erode_row(
            from.span(i, cols),
            flags.span(i, cols),
            codes.span(i, cols),
            floor.span(i, cols),
            from.neighbour_rows(i, cols),
            creep,
            to.span_mut(i, cols),
        );
    }
}

/// Lowers cells to their elevation in `targets`, at most to one unit above their receiver before the sweep, and not
/// below `floor`.
pub(super) fn lower_to_targets(
    from: &PaddedPlane<i32>,
    targets: &PaddedPlane<i32>,
    floor: &PaddedPlane<i32>,
    codes: &PaddedPlane<u8>,
    part: &PlanePart,
    to: &mut PaddedPlane<i32>,
) {
    let cols = &part.cols;
    for i in part.rows.clone() {
        lower_row(
            from.span(i, cols),
            targets.span(i, cols),
            codes.span(i, cols),
            floor.span(i, cols),
            from.neighbour_rows(i, cols),
            to.span_mut(i, cols),
        );
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn lower_row(here: &[i32], targets: &[i32], own: &[u8], floor: &[i32], near: [&[i32]; 8], out: &mut [i32]) {
    for x in (0..out.len()).step_by(LANES) {
        let (here, targets, own) =
            (read_lanes::<_, LANES>(here, x), read_lanes::<_, LANES>(targets, x), read_lanes::<_, LANES>(own, x));
        let floor = read_lanes::<_, LANES>(floor, x);
        let mut heights = receiver_heights(&here, &near, &own, x);
        for l in 0..LANES {
            let lower_bound = heights[l].wrapping_add(1).max(floor[l]);
            // A cell without a receiver, for example an outlet at the edge, keeps its elevation.
            let sinks = targets[l] < here[l] && own[l] != OUT;
            heights[l] = if sinks { targets[l].max(lower_bound).min(here[l]) } else { here[l] };
        }
        write_lanes(out, x, &heights);
    }
}

/// Returns how far the neighbours' mean is above each cell from column `x` of a row on, in units. Straight neighbours
/// have four times the weight of diagonal ones (Patra & Karttunen 2006, "Stencils with isotropic discretisation
/// error"). A neighbour beyond the world counts as being as high as the cell.
#[inline(always)]
fn compute_curvature(here: &[i32; LANES], near: &[&[i32]; 8], x: usize) -> [f32; LANES] {
    let mut sums = [0.0f32; LANES];
    for k in 0..8 {
        // The weights sum to 1: four of 0.2 and four of 0.05.
        let weight = if k % 2 == 0 { 0.2 } else { 0.05 };
        let near = read_lanes::<_, LANES>(near[k], x);
        for l in 0..LANES {
            let over = near[l].wrapping_sub(here[l]) as f32 * weight;
            // Both cases are computed and one is chosen, so that the loop has no branch and the compiler can vectorise
            // it.
            sums[l] += if near[l] == WALL { 0.0 } else { over };
        }
    }
    sums
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn fill_row(here: &[i32], flags: &[u8], own: &[u8], near: [&[i32]; 8], codes: [&[u8]; 8], creep: f32, out: &mut [i32]) {
    for x in (0..out.len()).step_by(LANES) {
        let (here, flags, own) =
            (read_lanes::<_, LANES>(here, x), read_lanes::<_, LANES>(flags, x), read_lanes::<_, LANES>(own, x));
        let curvatures = compute_curvature(&here, &near, x);
        let mut heights = lowest_donor_heights(&near, &codes, x);
        for l in 0..LANES {
            // Rounding down lets no cell rise by more than its share of the curvature.
            let up = cast::floor_to_int((curvatures[l] * creep).max(0.0));
            let keeps_elevation = flags[l] & (RIVER | SEA) != 0 || own[l] == OUT;
            // The donors' elevations before the sweep are the limit. In this half donors can only rise, so the order
            // remains.
            let height = here[l].wrapping_add(up).min(heights[l].wrapping_sub(1)).max(here[l]);
            heights[l] = if keeps_elevation { here[l] } else { height };
        }
        write_lanes(out, x, &heights);
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn erode_row(here: &[i32], flags: &[u8], own: &[u8], floor: &[i32], near: [&[i32]; 8], creep: f32, out: &mut [i32]) {
    for x in (0..out.len()).step_by(LANES) {
        let (here, flags, own) =
            (read_lanes::<_, LANES>(here, x), read_lanes::<_, LANES>(flags, x), read_lanes::<_, LANES>(own, x));
        let floor = read_lanes::<_, LANES>(floor, x);
        let curvatures = compute_curvature(&here, &near, x);
        let mut heights = receiver_heights(&here, &near, &own, x);
        for l in 0..LANES {
            let down = cast::floor_to_int((curvatures[l] * creep).min(0.0));
            let keeps_elevation = flags[l] & (RIVER | SEA) != 0 || own[l] == OUT;
            let lower_bound = heights[l].wrapping_add(1).max(floor[l]);
            // The receiver's elevation before the sweep is the limit. In this half receivers can only sink.
            let height = here[l].wrapping_add(down).max(lower_bound).min(here[l]);
            heights[l] = if keeps_elevation { here[l] } else { height };
        }
        write_lanes(out, x, &heights);
    }
}
