//! Steps from a cell to its neighbours, and codes of where a cell drains to.

use crate::base::rng::Key;
use crate::terrain::field::{Field, Size};
use crate::terrain::grid::Grid;

/// Steps (rows, columns) to the eight neighbours: E, SE, S, SW, W, NW, N, NE.
pub const STEPS: [[isize; 2]; 8] = [[0, 1], [1, 1], [1, 0], [1, -1], [0, -1], [-1, -1], [-1, 0], [-1, 1]];

/// Lengths in cells of a straight step and of a diagonal one: step k's is that of `k % 2`.
pub const LENGTHS: [f64; 2] = [1.0, std::f64::consts::SQRT_2];

/// The neighbours of cell (i, j) inside a field: their numbers and cells.
pub fn around([rows, cols]: Size, [i, j]: [usize; 2]) -> impl Iterator<Item = (usize, [usize; 2])> + use<> {
    STEPS.iter().enumerate().filter_map(move |(k, [di, dj])| {
        let (r, c) = (i.checked_add_signed(*di)?, j.checked_add_signed(*dj)?);
        (r < rows && c < cols).then_some((k, [r, c]))
    })
}

/// For each cell, the number of the neighbour it drains to, 0 to 7, or [`OUT`], [`PIT`], [`VOID`].
pub type Directions = Field<u8>;

/// Water leaves the land here: over an open edge, into a cell without data, into the sea, at a given outlet.
pub const OUT: u8 = 8;
/// Water stays here: no neighbour is lower, and no equal one leads on.
pub const PIT: u8 = 9;
/// Not land: no data.
pub const VOID: u8 = 255;

/// Index of the cell that cell `k` of a field with `cols` columns drains to, if it drains to one.
#[inline]
pub fn downstream(k: usize, direction: u8, cols: usize) -> Option<usize> {
    let [di, dj] = *STEPS.get(usize::from(direction))?;
    // A direction never points beyond the field: the sum cannot wrap.
    Some(k.wrapping_add_signed(di * cols as isize + dj))
}

/// A hash of the world cell of cell `k` of a grid: of equals, the least comes first.
pub(crate) fn lot(grid: &Grid, k: usize) -> u64 {
    Key::ZERO.cell(grid.world_cell(k / grid.cols(), k % grid.cols())).bits()
}
