//! Drainage areas of hills, counted in cells up the tree, to the largest that a hill may have.

use multiversion::multiversion;

use crate::plane::{PaddedPlane, PlanePart, read_lanes, write_lanes};

/// The number of columns that are counted together.
// Counts are bytes, of which 64 fill one register of AVX-512.
const BYTES: usize = 64;

/// Runs one sweep: each cell counts itself and the counts of its donors, up to `max_count`. After `max_count` sweeps
/// that begin with 1, the result is the number of cells upstream, or `max_count`: a chain of k cells takes k sweeps to
/// count, and one longer than `max_count` reaches the limit.
pub(super) fn sweep_upstream_counts(
    from: &PaddedPlane<u8>,
    codes: &PaddedPlane<u8>,
    max_count: u8,
    part: &PlanePart,
    to: &mut PaddedPlane<u8>,
) {
    let cols = &part.cols;
    for i in part.rows.clone() {
        count_row(from.neighbour_rows(i, cols), codes.neighbour_rows(i, cols), max_count, to.span_mut(i, cols));
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn count_row(near: [&[u8]; 8], codes: [&[u8]; 8], max_count: u8, out: &mut [u8]) {
    for x in (0..out.len()).step_by(BYTES) {
        let mut sums = [1u8; BYTES];
        for k in 0..8 {
            let (near, codes) = (read_lanes::<_, BYTES>(near[k], x), read_lanes::<_, BYTES>(codes[k], x));
            for l in 0..BYTES {
                let donor = if codes[l] == (k ^ 4) as u8 { near[l] } else { 0 };
                // Eight donors may exceed a byte. Saturation is harmless, because the count is limited to less than 255
                // anyway.
                sums[l] = sums[l].saturating_add(donor);
            }
        }
        write_lanes(out, x, &sums.map(|sum| sum.min(max_count)));
    }
}
