//! Basins: which cells drain to the same place.

use crate::error::{Error, Result};
use crate::field::Field;
use crate::flow::streams::check;
use crate::flow::{Directions, Land, STEPS, VOID};

/// The basin of each land cell: all that drain to one outlet share a number, from 1 on in the order in which rows from
/// the north, and columns from the west, first meet a basin; 0 in the sea and where there is no data.
///
/// An outlet is a cell where a path ends: [`OUT`](crate::flow::OUT), or [`PIT`](crate::flow::PIT) on ground that was not
/// filled.
///
/// # Errors
/// When the directions are not of the land's size.
pub fn basins(land: &Land<'_>, directions: &Directions) -> Result<Field<u32>> {
    check("directions", directions, land.grid.size)?;
    let mut outlets = Field::new(directions.size(), CIRCLE);
    for (k, outlet) in outlets.as_mut_slice().iter_mut().enumerate() {
        *outlet = k as u32;
    }
    spread(directions, &mut outlets, CIRCLE);
    let mut numbers = vec![0u32; outlets.len()];
    let mut count = 0;
    let mut basins = outlets;
    let cols = directions.cols();
    for (k, basin) in basins.as_mut_slice().iter_mut().enumerate() {
        let outlet = *basin as usize;
        let leads = directions.as_slice()[k] != VOID && land.is_dry(k / cols, k % cols);
        *basin = match numbers.get_mut(outlet).filter(|_| leads) {
            Some(number) => {
                if *number == 0 {
                    count += 1;
                    *number = count;
                }
                *number
            }
            None => 0,
        };
    }
    Ok(basins)
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

/// The label of what runs in a circle, which no outlet has: a grid has fewer cells.
const CIRCLE: u32 = u32::MAX;
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
    let offsets = STEPS.map(|[di, dj]| di * cols as isize + dj);
    let next = |k: usize| k.wrapping_add_signed(offsets[usize::from(codes[k] & 7)]);
    let mut path = Vec::new();
    for first in 0..codes.len() {
        let mut k = first;
        while labels[k] == UNSET {
            labels[k] = BUSY;
            path.push(k as u32);
            k = next(k);
        }
        let label = if labels[k] == BUSY { circle } else { labels[k] };
        for k in path.drain(..) {
            labels[k as usize] = label;
        }
    }
}
