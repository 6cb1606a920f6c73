//! Stream-power incision on hills: implicit, from the receiver upstream (Braun & Willett 2013,
//! doi:10.1016/j.geomorph.2012.10.008), in sweeps.

use multiversion::multiversion;

use crate::plane::{LANES, PaddedPlane, PlanePart, read_lanes, write_lanes};
use crate::receivers::receiver_heights;
use thalweg_core::base::cast;

/// Runs one sweep: z = z_r + (b − z_r)·`remaining_shares`, where b is the elevation before all sweeps, and z_r the
/// receiver's before this one. The result is at least one unit above z_r, not below `floor`, and never higher than
/// before. It needs elevations one cell beyond.
pub(super) fn sweep_incision(
    from: &PaddedPlane<i32>,
    before: &PaddedPlane<i32>,
    remaining_shares: &PaddedPlane<f32>,
    floor: &PaddedPlane<i32>,
    codes: &PaddedPlane<u8>,
    part: &PlanePart,
    to: &mut PaddedPlane<i32>,
) {
    let cols = &part.cols;
    for i in part.rows.clone() {
        incise_row(
            from.span(i, cols),
            from.neighbour_rows(i, cols),
            before.span(i, cols),
            remaining_shares.span(i, cols),
            floor.span(i, cols),
            codes.span(i, cols),
            to.span_mut(i, cols),
        );
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn incise_row(
    here: &[i32],
    near: [&[i32]; 8],
    before: &[i32],
    remaining_shares: &[f32],
    floor: &[i32],
    codes: &[u8],
    out: &mut [i32],
) {
    for x in (0..out.len()).step_by(LANES) {
        let (here, codes) = (read_lanes::<_, LANES>(here, x), read_lanes::<_, LANES>(codes, x));
        let (before, floor) = (read_lanes::<_, LANES>(before, x), read_lanes::<_, LANES>(floor, x));
        let remaining_shares = read_lanes::<_, LANES>(remaining_shares, x);
        let mut heights = receiver_heights(&here, &near, &codes, x);
        for l in 0..LANES {
            let receiver = heights[l];
            // Rounding down, with one unit as the least, keeps the cell above its receiver where the terrain has a unit
            // left between them.
            let remaining_height = cast::floor_to_int(before[l].wrapping_sub(receiver) as f32 * remaining_shares[l]);
            let height = receiver.wrapping_add(remaining_height.max(1)).max(floor[l]).min(here[l]);
            // Where nothing is incised, rounding must not incise either.
            heights[l] = if remaining_shares[l] < 1.0 { height } else { here[l] };
        }
        write_lanes(out, x, &heights);
    }
}
