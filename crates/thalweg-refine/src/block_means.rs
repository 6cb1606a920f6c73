//! Restores the means of coarse cells: most of the change that uplift and incision made to a whole block is taken
//! back, within the order of the tree. A level is therefore the coarser one with finer relief added, and errors do
//! not accumulate from level to level.

use crate::cell_flags::{RIVER, SEA};
use crate::plane::{PaddedPlane, PlanePart};
use thalweg_core::base::cast;

/// The share of a block's change that is taken back.
// With a larger share a level follows the coarser one more closely; with a smaller one its operators change more of it.
const RESTORED_SHARE: f32 = 0.85;

/// How far from a cell changes are read, in cells: as far as the adjacent block.
pub(super) const REACH: i64 = 2;

/// Number of sweeps in which cells rise, and of those in which they sink.
pub(super) const SWEEPS: i64 = 1;

/// Computes the target elevations of the hills' cells of a part: lower or higher by [`RESTORED_SHARE`] of the mean
/// change from `before` to `now` around them. Planes begin with a whole block; `world` contains the rows and columns
/// that belong to the world.
pub(super) fn find_targets(
    before: &PaddedPlane<i32>,
    now: &PaddedPlane<i32>,
    flags: &PaddedPlane<u8>,
    part: &PlanePart,
    world: &PlanePart,
    targets: &mut PaddedPlane<i32>,
) {
    // Row or column 1 is the first behind the padding.
    let block = |x: usize| (x - 1) / 2;
    let [(rows, top, bottom), (cols, left, right)] =
        [(&part.rows, &world.rows), (&part.cols, &world.cols)].map(|(part, world)| {
            let [first, last] = [block(world.start), block(world.end - 1)];
            (block(part.start).max(first + 1) - 1..(block(part.end - 1) + 1).min(last) + 1, first, last)
        });
    // The mean changes of the blocks, including one more block on each side.
    let mut means = vec![0.0f32; rows.len() * cols.len()];
    for (b, out) in rows.clone().zip(means.chunks_exact_mut(cols.len())) {
        let span = 2 * cols.start + 1..2 * cols.end + 1;
        let pair = |i: usize| (before.span(i, &span).chunks_exact(2), now.span(i, &span).chunks_exact(2));
        let ((a, b), (c, d)) = (pair(2 * b + 1), pair(2 * b + 2));
        for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            let changes =
                [b[0].wrapping_sub(a[0]), b[1].wrapping_sub(a[1]), d[0].wrapping_sub(c[0]), d[1].wrapping_sub(c[1])];
            let [a, b, c, d] = changes.map(|change| change as f32);
            *out = 0.25 * RESTORED_SHARE * ((a + b) + (c + d));
        }
    }
    // For a row or column: its block, and the adjacent block to which it is nearer; beyond the world, as at its rim.
    let places = |x: usize, [first, last]: [usize; 2]| {
        let own = block(x);
        // With the padding, even rows and columns are the second ones of their blocks.
        [own, if x.is_multiple_of(2) { (own + 1).min(last) } else { own.max(first + 1) - 1 }]
    };
    // The change of a cell is interpolated between blocks, so that no edges of blocks show.
    let mut between = vec![0.0f32; cols.len()];
    for i in part.rows.clone() {
        let [own, adjacent] = places(i, [top, bottom]).map(|b| &means[(b - rows.start) * cols.len()..][..cols.len()]);
        for ((out, own), adjacent) in between.iter_mut().zip(own).zip(adjacent) {
            *out = 0.75 * own + 0.25 * adjacent;
        }
        let known = now.span(i, &part.cols).iter().zip(flags.span(i, &part.cols));
        for ((j, target), (here, flags)) in part.cols.clone().zip(targets.span_mut(i, &part.cols)).zip(known) {
            let [own, adjacent] = places(j, [left, right]).map(|b| between[b - cols.start]);
            // 2²⁸ units (4096 m) at most are subtracted, so the difference does not overflow.
            let back = cast::floor_to_int((0.75 * own + 0.25 * adjacent).clamp(-268_435_456.0, 268_435_456.0));
            *target = if flags & (RIVER | SEA) != 0 { *here } else { here.wrapping_sub(back) };
        }
    }
}
