//! Uplift that preserves the order of the tree.

use multiversion::multiversion;

use crate::plane::{LANES, Part, Plane, put, take};
use crate::receive::above;

/// Runs one sweep: each cell rises to its target, or at most to one unit below the cells that drain into it, as they
/// were before the sweep. No receiver reaches its donors, because donors do not sink. It needs elevations and
/// receivers one cell beyond.
pub(super) fn sweep(from: &Plane<i32>, wanted: &Plane<i32>, codes: &Plane<u8>, part: &Part, to: &mut Plane<i32>) {
    let cols = &part.cols;
    for i in part.rows.clone() {
        rise(
            from.span(i, cols),
            from.around(i, cols),
            wanted.span(i, cols),
            codes.around(i, cols),
            to.span_mut(i, cols),
        );
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn rise(here: &[i32], near: [&[i32]; 8], wanted: &[i32], codes: [&[u8]; 8], out: &mut [i32]) {
    for x in (0..out.len()).step_by(LANES) {
        let (here, wanted) = (take::<_, LANES>(here, x), take::<_, LANES>(wanted, x));
        let mut heights = above(&near, &codes, x);
        for l in 0..LANES {
            heights[l] = wanted[l].min(heights[l].wrapping_sub(1)).max(here[l]);
        }
        put(out, x, &heights);
    }
}
