//! Drainage basins: sets of cells that drain to the same outlet.

use crate::streams::check_size;
use crate::{D8, Directions, Land, Neighbourhood, OUT, VOID};
use thalweg_core::{Cell, Error, Field, Result};

/// Returns the basin of each land cell: all cells that drain to one outlet have the same number. Basins are numbered
/// from 1 on, in row-major order of their first cells. The number is 0 in the sea, where there is no data, and for
/// cells that drain into a cycle.
///
/// An outlet is a cell where a flow path ends: [`OUT`], or [`PIT`](crate::PIT) on ground that was not filled.
///
/// # Errors
/// Returns an error if the directions do not have the land's size.
///
/// # Examples
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_flow::Land;
/// use thalweg_flow::basins::label_basins;
/// use thalweg_flow::d8::route_d8;
///
/// // The second cell is a divide that drains down its steeper side, to the west.
/// let terrain = Terrain::from_metres(Grid::new([1, 4], 10.0)?, &[1.0, 3.0, 2.0, 0.0])?;
/// let land = Land::from_terrain(&terrain);
/// assert_eq!(label_basins(&land, &route_d8(&land))?.as_slice(), [1, 1, 2, 2]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn label_basins(land: &Land<'_>, directions: &Directions) -> Result<Field<u32>> {
    check_size("directions", directions, land.grid.size)?;
    let mut outlets = Field::new(directions.size(), CIRCLE);
    for (k, outlet) in outlets.as_mut_slice().iter_mut().enumerate() {
        *outlet = k as u32;
    }
    propagate_outlet_labels(directions, &mut outlets, CIRCLE);
    let mut numbers = vec![0u32; outlets.len()];
    let mut count = 0;
    let mut basins = outlets;
    let cols = directions.cols();
    for (k, basin) in basins.as_mut_slice().iter_mut().enumerate() {
        let outlet = *basin as usize;
        // The row-major order of this loop numbers a basin when its first dry cell comes.
        let has_basin = directions[k] != VOID && land.is_dry(k / cols, k % cols);
        *basin = match numbers.get_mut(outlet).filter(|_| has_basin) {
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

/// Returns true for each cell that drains through `cell` (row, column), including itself. For example, the cell of a
/// stream gauge gives the catchment whose runoff passes the gauge.
///
/// # Errors
/// Returns an error if the cell is outside the directions or has no data.
///
/// # Examples
/// ```
/// use thalweg_core::{Cell, Field};
/// use thalweg_flow::basins::delineate_catchment;
/// use thalweg_flow::{Directions, OUT};
///
/// let directions = Directions::from(Field::from_vec([1, 5], vec![0, 0, 0, OUT, 4])?);
/// let upstream = delineate_catchment(&directions, Cell::new(0, 2))?;
/// assert_eq!(upstream.as_slice(), [true, true, true, false, false]);
/// assert!(delineate_catchment(&directions, Cell::new(0, 5)).is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn delineate_catchment(directions: &Directions, cell: impl Into<Cell>) -> Result<Field<bool>> {
    let [rows, cols] = directions.size();
    let cell = cell.into();
    let Cell { row: i, col: j } = cell;
    if i >= rows || j >= cols || directions[(i, j)] == VOID {
        let allowed = format!("a cell with data within {rows} rows and {cols} columns, counted from 0");
        return Err(Error::invalid_value("cell", format!("row {i}, column {j}"), allowed));
    }
    let mut inside = Field::new([rows, cols], false);
    inside[(i, j)] = true;
    let mut stack = vec![cell];
    while let Some(cell) = stack.pop() {
        for (direction, Cell { row: r, col: c }) in Neighbourhood::new(directions.topology(), cell) {
            // A neighbour drains here if its direction is opposite to ours.
            if directions[(r, c)] == direction.opposite().code() && !inside[(r, c)] {
                inside[(r, c)] = true;
                stack.push(Cell::new(r, c));
            }
        }
    }
    Ok(inside)
}

/// The label for cells on or above a cycle. No outlet has it, because a grid has fewer cells.
const CIRCLE: u32 = u32::MAX;
/// Marks cells on the path that is being followed.
const ON_PATH: u32 = u32::MAX;

/// Assigns to every cell that has a receiver the label of the cell where its flow path ends.
///
/// [`d8`](crate::d8) creates no cycles. In directions from elsewhere, cells whose path runs into a cycle or out of
/// the field get `circle`.
///
/// A branch on whether a cell has a receiver is unpredictable, and mispredictions would dominate the cost.
/// Branch-free sweeps, forward and backward, therefore let each cell point ever farther down its path, after which
/// few cells do not yet point to its end.
pub fn propagate_outlet_labels(directions: &Directions, labels: &mut Field<u32>, circle: u32) {
    let topology = directions.topology();
    let cols = directions.cols();
    let codes = directions.as_slice();
    let labels = labels.as_mut_slice();
    let mut offsets = [0; 256];
    for (offset, [di, dj]) in offsets.iter_mut().zip(D8::OFFSETS) {
        *offset = di * cols as isize + dj;
    }
    // Codes without a receiver have offset 0, so those cells point to themselves.
    let mut far = vec![0u32; codes.len()];
    for k in 0..codes.len() {
        let offset = offsets[usize::from(codes[k])];
        let next = match D8::from_code(codes[k]).filter(|_| topology.is_looped()) {
            Some(direction) => topology.offset_index(k, direction.offset()),
            None => k.wrapping_add_signed(offset),
        };
        far[k] = match far.get(next) {
            // An earlier cell already points farther downstream.
            Some(beyond) if next < k => *beyond,
            Some(_) => next as u32,
            None => k as u32,
        };
    }
    // The first sweep followed paths that lead to earlier cells. This one shortens paths that lead to later cells, and
    // the next one those that alternate.
    for k in (0..codes.len()).rev() {
        far[k] = far[far[k] as usize];
    }
    for k in 0..codes.len() {
        far[k] = far[far[k] as usize];
    }
    let mut path = Vec::new();
    for k in 0..codes.len() {
        // The few paths that remain are followed step by step, and all their cells then point to the end.
        let mut end = far[k];
        if far[end as usize] != end {
            end = k as u32;
            while far[end as usize] != end && far[end as usize] != ON_PATH {
                path.push(end);
                end = std::mem::replace(&mut far[end as usize], ON_PATH);
            }
            for cell in path.drain(..) {
                far[cell as usize] = end;
            }
            // On a cycle the path has returned to its own cell, which now serves as its end.
        }
        // No path ends at a cell that has a receiver, unless the cell is on a cycle.
        labels[k] = if codes[end as usize] < OUT { circle } else { labels[end as usize] };
    }
}
