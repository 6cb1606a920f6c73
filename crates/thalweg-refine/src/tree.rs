//! Drainage areas of hills, counted in cells up the tree, to the largest that a hill may have.

use multiversion::multiversion;

use crate::plane::{Part, Plane, put, take};

/// The number of columns that are counted together.
const BYTES: usize = 64;

/// Runs one sweep: each cell counts itself and the counts of its donors, up to `most`. After `most` sweeps that begin
/// with 1, the result is the number of cells upstream, or `most`: a chain of k cells takes k sweeps to count, and one
/// longer than `most` reaches the limit.
pub(super) fn sweep(from: &Plane<u8>, codes: &Plane<u8>, most: u8, part: &Part, to: &mut Plane<u8>) {
    let cols = &part.cols;
    for i in part.rows.clone() {
        count(from.around(i, cols), codes.around(i, cols), most, to.span_mut(i, cols));
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn count(near: [&[u8]; 8], codes: [&[u8]; 8], most: u8, out: &mut [u8]) {
    for x in (0..out.len()).step_by(BYTES) {
        let mut sums = [1u8; BYTES];
        for k in 0..8 {
            let (near, codes) = (take::<_, BYTES>(near[k], x), take::<_, BYTES>(codes[k], x));
            for l in 0..BYTES {
                let donor = if codes[l] == (k ^ 4) as u8 { near[l] } else { 0 };
                sums[l] = sums[l].saturating_add(donor);
            }
        }
        put(out, x, &sums.map(|sum| sum.min(most)));
    }
}
