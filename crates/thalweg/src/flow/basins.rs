//! Basins: which cells drain to the same place.

use crate::error::{Error, Result};
use crate::field::Field;
use crate::flow::{Directions, OUT, PIT, STEPS, VOID, downstream};

/// For each cell the number of the outlet that it drains to, counted from 1 in row-major order of the outlets; 0 where
/// there is no data.
///
/// An outlet is a cell where a path ends: [`OUT`], or [`PIT`] on ground that was not filled.
pub fn basins(directions: &Directions) -> Field<u32> {
    let mut labels = Field::new(directions.size(), 0);
    let mut outlets = 0;
    for (label, code) in labels.as_mut_slice().iter_mut().zip(directions.as_slice()) {
        if matches!(*code, OUT | PIT) {
            outlets += 1;
            *label = outlets;
        }
    }
    spread(directions, &mut labels, 0);
    labels
}

/// The cells that drain through `cell` (row, column), itself among them.
///
/// # Errors
/// When the cell lies outside the directions or has no data.
pub fn catchment(directions: &Directions, cell: [usize; 2]) -> Result<Field<bool>> {
    let [rows, cols] = directions.size();
    let [i, j] = cell;
    if i >= rows || j >= cols || directions[(i, j)] == VOID {
        let allowed = format!("a cell with data in {rows} rows and {cols} columns, both counted from 0");
        return Err(Error::value("cell", format!("row {i}, column {j}"), allowed));
    }
    let mut inside = Field::new([rows, cols], false);
    inside[(i, j)] = true;
    let mut stack = vec![cell];
    while let Some([i, j]) = stack.pop() {
        for (d, [di, dj]) in STEPS.iter().enumerate() {
            let (Some(r), Some(c)) = (i.checked_add_signed(*di), j.checked_add_signed(*dj)) else { continue };
            // It drains here if it points the opposite way.
            if r < rows && c < cols && usize::from(directions[(r, c)]) == d ^ 4 && !inside[(r, c)] {
                inside[(r, c)] = true;
                stack.push([r, c]);
            }
        }
    }
    Ok(inside)
}

/// Not labelled yet.
const UNSET: u32 = u32::MAX - 1;
/// On the path that is being followed.
const BUSY: u32 = u32::MAX - 2;

/// Gives every cell that drains to another the label of the cell where its path ends.
///
/// [`d8`](crate::flow::d8) makes no circles; in directions from elsewhere, what runs into one gets `circle`.
pub(crate) fn spread(directions: &Directions, labels: &mut Field<u32>, circle: u32) {
    let cols = directions.cols();
    let codes = directions.as_slice();
    let labels = labels.as_mut_slice();
    for (label, code) in labels.iter_mut().zip(codes) {
        if usize::from(*code) < STEPS.len() {
            *label = UNSET;
        }
    }
    for first in 0..codes.len() {
        // Down to the first cell whose label is known, then the same way again to write it.
        let mut k = first;
        while labels[k] == UNSET {
            labels[k] = BUSY;
            k = downstream(k, codes[k], cols).unwrap_or(k);
        }
        let label = if labels[k] == BUSY { circle } else { labels[k] };
        k = first;
        while labels[k] == BUSY {
            labels[k] = label;
            k = downstream(k, codes[k], cols).unwrap_or(k);
        }
    }
}
