//! Basins: which cells drain to the same place.

use crate::streams::check;
use crate::{D8, Directions, Land, Neighbourhood, OUT, VOID};
use thalweg_core::{Cell, Error, Field, Result};

/// The basin of each land cell: all that drain to one outlet share a number, from 1 on in the order in which rows from
/// the north, and columns from the west, first meet a basin; 0 in the sea, where there is no data, and for
/// what runs in a circle.
///
/// An outlet is a cell where a path ends: [`OUT`], or [`PIT`](crate::PIT) on ground that was not
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
        let leads = directions[k] != VOID && land.is_dry(k / cols, k % cols);
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

/// Whether each cell drains through `cell` (row, column), which itself does.
///
/// # Errors
/// When the cell lies outside the directions or has no data.
pub fn catchment(directions: &Directions, cell: impl Into<Cell>) -> Result<Field<bool>> {
    let [rows, cols] = directions.size();
    let cell = cell.into();
    let Cell { row: i, col: j } = cell;
    if i >= rows || j >= cols || directions[(i, j)] == VOID {
        let allowed = format!("a cell with data in {rows} rows and {cols} columns, both counted from 0");
        return Err(Error::value("cell", format!("row {i}, column {j}"), allowed));
    }
    let mut inside = Field::new([rows, cols], false);
    inside[(i, j)] = true;
    let mut stack = vec![cell];
    while let Some(cell) = stack.pop() {
        for (direction, Cell { row: r, col: c }) in Neighbourhood::new(directions.topology(), cell) {
            // It drains here if it points the opposite way.
            if directions[(r, c)] == direction.opposite().code() && !inside[(r, c)] {
                inside[(r, c)] = true;
                stack.push(Cell::new(r, c));
            }
        }
    }
    Ok(inside)
}

/// The label of what runs in a circle, which no outlet has: a grid has fewer cells.
const CIRCLE: u32 = u32::MAX;
/// On the path that is being followed.
const BUSY: u32 = u32::MAX;

/// Gives every cell that drains to another the label of the cell where its path ends.
///
/// [`d8`](crate::d8) makes no circles; in directions from elsewhere, what runs into one, or out of the field, gets `circle`.
///
/// Whether the cell at hand leads on cannot be guessed, and wrong guesses cost more than all else. So sweeps without
/// branches, there and back, let each cell point ever farther down its path; few are then not at its end.
pub fn spread(directions: &Directions, labels: &mut Field<u32>, circle: u32) {
    let topology = directions.topology();
    let cols = directions.cols();
    let codes = directions.as_slice();
    let labels = labels.as_mut_slice();
    let mut offsets = [0; 256];
    for (offset, [di, dj]) in offsets.iter_mut().zip(D8::OFFSETS) {
        *offset = di * cols as isize + dj;
    }
    let mut far = vec![0u32; codes.len()];
    for k in 0..codes.len() {
        let offset = offsets[usize::from(codes[k])];
        let next = match D8::from_code(codes[k]).filter(|_| topology.is_looped()) {
            Some(direction) => topology.beside(k, direction.offset()),
            None => k.wrapping_add_signed(offset),
        };
        far[k] = match far.get(next) {
            // What lies before this cell points onward already.
            Some(beyond) if next < k => *beyond,
            Some(_) => next as u32,
            None => k as u32,
        };
    }
    for k in (0..codes.len()).rev() {
        far[k] = far[far[k] as usize];
    }
    for k in 0..codes.len() {
        far[k] = far[far[k] as usize];
    }
    let mut path = Vec::new();
    for k in 0..codes.len() {
        let mut end = far[k];
        if far[end as usize] != end {
            end = k as u32;
            while far[end as usize] != end && far[end as usize] != BUSY {
                path.push(end);
                end = std::mem::replace(&mut far[end as usize], BUSY);
            }
            for cell in path.drain(..) {
                far[cell as usize] = end;
            }
            // In a circle the path has come back to its own cell: that now ends it.
        }
        // No path ends where a cell drains to another, unless it is in a circle.
        labels[k] = if codes[end as usize] < OUT { circle } else { labels[end as usize] };
    }
}
