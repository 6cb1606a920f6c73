//! Stream-power incision on hills: implicit, from the receiver upstream (Braun & Willett 2013,
//! doi:10.1016/j.geomorph.2012.10.008), in sweeps.

use multiversion::multiversion;

use crate::plane::{LANES, PaddedPlane, PlanePart, read_lanes, write_lanes};
use crate::receivers::receiver_heights;
use thalweg_core::base::cast;

/// Runs one sweep: z = z_r + (b − z_r)·`left`, where b is the elevation before all sweeps, and z_r the receiver's
/// before this one. The result is at least one unit above z_r, not below `floor`, and never higher than before. It
/// needs elevations one cell beyond.
pub(super) fn sweep_incision(
    from: &PaddedPlane<i32>,
    (before, left, floor): (&PaddedPlane<i32>, &PaddedPlane<f32>, &PaddedPlane<i32>),
    codes: &PaddedPlane<u8>,
    part: &PlanePart,
    to: &mut PaddedPlane<i32>,
) {
    let cols = &part.cols;
    for i in part.rows.clone() {
        let known = (before.span(i, cols), left.span(i, cols), floor.span(i, cols), codes.span(i, cols));
        incise_row(from.span(i, cols), from.neighbour_rows(i, cols), known, to.span_mut(i, cols));
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn incise_row(
    here: &[i32],
    near: [&[i32]; 8],
    (before, left, floor, codes): (&[i32], &[f32], &[i32], &[u8]),
    out: &mut [i32],
) {
    for x in (0..out.len()).step_by(LANES) {
        let (here, codes) = (read_lanes::<_, LANES>(here, x), read_lanes::<_, LANES>(codes, x));
        let (before, left, floor) =
            (read_lanes::<_, LANES>(before, x), read_lanes::<_, LANES>(left, x), read_lanes::<_, LANES>(floor, x));
        let mut heights = receiver_heights(&here, &near, &codes, x);
        for l in 0..LANES {
            let receiver = heights[l];
            // Rounding down, with one unit as the least, keeps the cell above its receiver where the terrain has a unit
            // left between them.
            let stands = cast::floor_to_int(before[l].wrapping_sub(receiver) as f32 * left[l]);
            let height = receiver.wrapping_add(stands.max(1)).max(floor[l]).min(here[l]);
            // Where nothing is incised, rounding must not incise either.
            heights[l] = if left[l] < 1.0 { height } else { here[l] };
        }
        write_lanes(out, x, &heights);
    }
}
