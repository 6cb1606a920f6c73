//! Steps from a cell to its neighbours, and codes of where a cell drains to.

use std::ops::{Deref, DerefMut};

use thalweg_core::base::rng::Key;
use thalweg_core::terrain::field::Field;
use thalweg_core::terrain::grid::{Grid, Topology};

/// Steps (rows, columns) to the eight neighbours, numbered 0 to 7 clockwise: E, SE, S, SW, W, NW, N, NE.
pub const STEPS: [[isize; 2]; 8] = [[0, 1], [1, 1], [1, 0], [1, -1], [0, -1], [-1, -1], [-1, 0], [-1, 1]];

/// Lengths in cells of a straight step and of a diagonal one: step k's is that of `k % 2`.
pub const LENGTHS: [f64; 2] = [1.0, std::f64::consts::SQRT_2];

/// [`LENGTHS`] in 32 bits.
pub const LENGTHS_F32: [f32; 2] = [1.0, std::f32::consts::SQRT_2];

/// One over [`LENGTHS`], in 32 bits.
pub(crate) const NEARNESS: [f32; 2] = [1.0, std::f32::consts::FRAC_1_SQRT_2];

/// The neighbours of `cell` (row, column) that exist: their numbers in [`STEPS`], and their cells. Where nothing is looped a field's size
/// is its topology.
pub fn around<T: Into<Topology>>(topology: T, cell: [usize; 2]) -> impl Iterator<Item = (usize, [usize; 2])> + use<T> {
    let topology = topology.into();
    STEPS.iter().enumerate().filter_map(move |(k, step)| Some((k, topology.cell(cell, *step)?)))
}

/// For each cell, the number of the neighbour it drains to, 0 to 7, or [`OUT`], [`PIT`], [`VOID`]; and which cell that neighbour is.
///
/// A field of such numbers makes directions in which nothing is looped. A number never leads out of the field.
#[derive(Debug, Clone, PartialEq)]
pub struct Directions {
    codes: Field<u8>,
    looped: [bool; 2],
}

impl Directions {
    /// The same number, as [`Directions`] holds them, for all cells.
    pub fn new(topology: Topology, code: u8) -> Self {
        Self { codes: Field::new(topology.size, code), looped: topology.looped }
    }

    /// Which cells lie beside which.
    #[inline]
    pub fn topology(&self) -> Topology {
        Topology { size: self.codes.size(), looped: self.looped }
    }

    /// The same numbers where these axes (rows, columns) are looped.
    #[must_use]
    pub fn looped(self, looped: [bool; 2]) -> Self {
        Self { looped, ..self }
    }

    /// Row-major index of the cell that cell `k` drains to, if it drains to one.
    #[inline]
    pub fn next(&self, k: usize) -> Option<usize> {
        leads_to(self.topology(), k, self.codes[k])
    }

    /// The numbers alone.
    pub fn into_codes(self) -> Field<u8> {
        self.codes
    }
}

impl From<Field<u8>> for Directions {
    fn from(codes: Field<u8>) -> Self {
        Self { codes, looped: [false; 2] }
    }
}

impl Deref for Directions {
    type Target = Field<u8>;

    #[inline]
    fn deref(&self) -> &Field<u8> {
        &self.codes
    }
}

impl DerefMut for Directions {
    #[inline]
    fn deref_mut(&mut self) -> &mut Field<u8> {
        &mut self.codes
    }
}

/// Water leaves the land here: over an open edge, into a cell without data, into the sea, at a given outlet.
pub const OUT: u8 = 8;
/// Water stays here: no neighbour is lower, and no equal one leads on.
pub const PIT: u8 = 9;
/// Not land: no data.
pub const VOID: u8 = 255;

/// Row-major index of the cell that cell `k` of a field with `cols` columns drains to, if it drains to one, where nothing is looped.
/// `direction` does not lead out of the field.
#[inline]
pub fn downstream(k: usize, direction: u8, cols: usize) -> Option<usize> {
    let [di, dj] = *STEPS.get(usize::from(direction))?;
    // A direction never points beyond the field: the sum cannot wrap.
    Some(k.wrapping_add_signed(di * cols as isize + dj))
}

/// Index of the cell that a cell `k` with this number drains to, if it drains to one.
#[inline(always)]
pub fn leads_to(topology: Topology, k: usize, direction: u8) -> Option<usize> {
    // A direction never points beyond the field.
    Some(topology.beside(k, *STEPS.get(usize::from(direction))?))
}

/// A hash of the world cell of cell `k` of a grid: of equals, the least comes first.
pub fn lot(grid: &Grid, k: usize) -> u64 {
    Key::ZERO.cell(grid.world_cell(k / grid.cols(), k % grid.cols())).bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_steps() {
        for (k, [down, across]) in STEPS.into_iter().enumerate() {
            let length = ((down * down + across * across) as f64).sqrt();
            assert_eq!(LENGTHS[k % 2], length);
            assert_eq!(LENGTHS_F32[k % 2], length as f32);
            assert_eq!(NEARNESS[k % 2], (1.0 / length) as f32);
        }
    }
}
