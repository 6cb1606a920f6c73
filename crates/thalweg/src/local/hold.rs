//! Coarse cells held near their means: what uplift and cuts did to a whole block is mostly taken back, in the order of the tree. So a level
//! is what the coarser one showed, with finer relief upon it, and errors do not add up from level to level.

use crate::base::cast;
use crate::local::paths::{RIVER, SEA};
use crate::local::plane::{Part, Plane};

/// The share of a block's change that is taken back.
const SHARE: f32 = 0.85;

/// How far beyond a cell its change is looked at, in cells: the block beside its own.
pub(super) const REACH: i64 = 2;

/// Sweeps by which cells rise and sink, each.
pub(super) const SWEEPS: i64 = 1;

/// Where hills' cells of a part want to be: lower or higher by [`SHARE`] of the mean change from `before` to `now` about them. Planes begin with a
/// whole block; `world` are the rows and columns that belong to it.
pub(super) fn wishes(
    (before, now): (&Plane<i32>, &Plane<i32>),
    flags: &Plane<u8>,
    part: &Part,
    world: &Part,
    wanted: &mut Plane<i32>,
) {
    let first = |x: usize| (x - 1) / 2;
    let blocks = first(part.cols.start).saturating_sub(1)..first(part.cols.end - 1) + 2;
    let ends = [first(world.rows.end - 1), first(world.cols.end - 1)];
    let starts = [first(world.rows.start), first(world.cols.start)];
    // Mean changes of a row of blocks; beyond the world as at its rim.
    let row = |block: usize, out: &mut Vec<f32>| {
        out.clear();
        let i = 2 * block.clamp(starts[0], ends[0]) + 1;
        for block in blocks.clone() {
            let j = 2 * block.clamp(starts[1], ends[1]) + 1;
            let change = |i: usize, j: usize| now.at(i, j).wrapping_sub(before.at(i, j)) as f32;
            out.push(0.25 * (change(i, j) + change(i, j + 1) + (change(i + 1, j) + change(i + 1, j + 1))));
        }
    };
    let [mut own, mut beside] = [Vec::new(), Vec::new()];
    for i in part.rows.clone() {
        let block = first(i);
        let is_second = (i - 1) % 2 == 1;
        row(block, &mut own);
        let next = if is_second { block + 1 } else { block.max(starts[0] + 1) - 1 };
        row(next, &mut beside);
        for j in part.cols.clone() {
            let here = now.at(i, j);
            let near = |block: usize| {
                let x = block - blocks.start;
                0.75 * own[x] + 0.25 * beside[x]
            };
            let b = first(j);
            let side = if (j - 1) % 2 == 1 { b + 1 } else { b.max(starts[1] + 1) - 1 };
            let mean = 0.75 * near(b) + 0.25 * near(side);
            let is_held = flags.at(i, j) & (RIVER | SEA) != 0;
            let back = cast::floor((SHARE * mean).clamp(-268_435_456.0, 268_435_456.0));
            wanted.set(i, j, if is_held { here } else { here.wrapping_sub(back) });
        }
    }
}
