//! Distances of cells from the sea, within the reach of the operators that need them.

use crate::cell_flags::{LAKE, SEA};
use crate::plane::PaddedPlane;

/// The value where no sea is within reach.
pub(super) const NO_SEA: u32 = 1 << 30;

/// Returns the squared distances, in cells, from each cell's centre to that of the nearest sea cell; [`NO_SEA`] where
/// none is within `reach` cells, which are at most 256. Values are correct up to `reach` cells inside the area where
/// the flags are correct.
pub(super) fn compute_squared_distances(flags: &PaddedPlane<u8>, reach: u32) -> PaddedPlane<u32> {
    let [rows, cols] = flags.size();
    let far = reach + 1;
    // The distance transform in two passes: distances along columns first, then along each row the cell that is
    // nearest by both.
    let mut down = PaddedPlane::new([rows, cols], far);
    for i in 1..rows + 1 {
        for j in 1..cols + 1 {
            let is_sea = flags.value_at(i, j) & (SEA | LAKE) == SEA;
            down.set(i, j, if is_sea { 0 } else { (down.value_at(i - 1, j) + 1).min(far) });
        }
    }
    for i in (1..rows + 1).rev() {
        for j in 1..cols + 1 {
            down.set(i, j, down.value_at(i, j).min(down.value_at(i + 1, j) + 1));
        }
    }
    let mut out = PaddedPlane::new([rows, cols], NO_SEA);
    let max_square = reach * reach;
    for i in 1..rows + 1 {
        let row = down.row(i);
        // No cell of this row has the sea within reach in its column, so no distance can be within reach.
        let nearest = row.iter().min().copied().unwrap_or(far);
        if nearest == far {
            continue;
        }
        for (j, out) in out.row_mut(i).iter_mut().enumerate().skip(1).take(cols) {
            let first = j.saturating_sub(reach as usize).max(1);
            let near = &row[first..(j + reach as usize + 1).min(cols + 1)];
            let square = |(c, down): (usize, &u32)| {
                // Distances are at most 257, so the sum of their squares is far below 2³⁰.
                let across = (first + c).abs_diff(j) as u32;
                if *down == far { NO_SEA } else { across * across + down * down }
            };
            let nearest = near.iter().enumerate().map(square).min().unwrap_or(NO_SEA);
            *out = if nearest <= max_square { nearest } else { NO_SEA };
        }
    }
    out
}
