//! Uplift that preserves the order of the tree.

use multiversion::multiversion;

use crate::plane::{LANES, PaddedPlane, PlanePart, read_lanes, write_lanes};
use crate::receivers::lowest_donor_heights;

/// Runs one sweep: each cell rises to its target, or at most to one unit below the cells that drain into it, as they
/// were before the sweep. No receiver reaches its donors, because donors do not sink. It needs elevations and
/// receivers one cell beyond.
pub(super) fn raise_to_targets(
    from: &PaddedPlane<i32>,
    targets: &PaddedPlane<i32>,
    codes: &PaddedPlane<u8>,
    part: &PlanePart,
    to: &mut PaddedPlane<i32>,
) {
    let cols = &part.cols;
    for i in part.rows.clone() {
        raise_row(
            from.span(i, cols),
            from.neighbour_rows(i, cols),
            targets.span(i, cols),
            codes.neighbour_rows(i, cols),
            to.span_mut(i, cols),
        );
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn raise_row(here: &[i32], near: [&[i32]; 8], targets: &[i32], codes: [&[u8]; 8], out: &mut [i32]) {
    for x in (0..out.len()).step_by(LANES) {
        let (here, targets) = (read_lanes::<_, LANES>(here, x), read_lanes::<_, LANES>(targets, x));
        let mut heights = lowest_donor_heights(&near, &codes, x);
        for l in 0..LANES {
            // A cell without donors has a wall as its lowest donor, so only its target limits it. No cell sinks here.
            heights[l] = targets[l].min(heights[l].wrapping_sub(1)).max(here[l]);
        }
        write_lanes(out, x, &heights);
    }
}
