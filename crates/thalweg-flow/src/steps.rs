//! [`Directions`]: the flow-direction code of each cell.

use std::ops::{Deref, DerefMut};

use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::d8::D8;
#[cfg(doc)]
use thalweg_core::terrain::d8::{OUT, PIT, VOID};
use thalweg_core::{Field, Grid, Topology};

/// For each cell, the code of the neighbour that it drains to, 0 to 7 (see [`D8`]), or [`OUT`], [`PIT`] or [`VOID`],
/// together with the grid topology that determines which cell that neighbour is.
///
/// Directions converted from a field of codes have no looped axis. A code never leads out of the field.
///
/// # Examples
/// ```
/// use thalweg_core::Field;
/// use thalweg_flow::{Directions, OUT};
///
/// let directions = Directions::from(Field::from_vec([1, 3], vec![0, 0, OUT])?);
/// assert_eq!((directions.next(0), directions.next(2)), (Some(1), None));
/// // Where columns are looped, the last is adjacent to the first.
/// let looped = Directions::from(Field::from_vec([1, 3], vec![0_u8, OUT, 0])?).with_looped_axes([false, true]);
/// assert_eq!(looped.next(2), Some(0));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Directions {
    codes: Field<u8>,
    looped: [bool; 2],
}

impl Directions {
    /// Creates directions with the same code for all cells.
    pub fn new(topology: Topology, code: u8) -> Self {
        Self { codes: Field::new(topology.size, code), looped: topology.looped }
    }

    /// Returns the topology, which determines which cells are neighbours.
    #[inline]
    pub fn topology(&self) -> Topology {
        Topology { size: self.codes.size(), looped: self.looped }
    }

    /// Returns the same codes on a grid in which these axes (rows, columns) are looped.
    #[must_use]
    pub fn with_looped_axes(self, looped: [bool; 2]) -> Self {
        Self { looped, ..self }
    }

    /// Returns the row-major index of the receiver of cell `k`; `None` if it has none.
    #[inline]
    pub fn next(&self, k: usize) -> Option<usize> {
        receiver_index(self.topology(), k, self.codes[k])
    }

    /// Returns the codes without the topology.
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

/// Returns the row-major index of the receiver of cell `k` in a field with `cols` columns and no looped axis; `None`
/// if it has none. `direction` must not lead out of the field.
///
/// # Examples
/// ```
/// use thalweg_flow::{D8, OUT, find_receiver};
///
/// // Cell 4 is the middle of three rows and columns, cell 8 the south-eastern corner.
/// assert_eq!(find_receiver(4, D8::SouthEast.code(), 3), Some(8));
/// assert_eq!(find_receiver(8, OUT, 3), None);
/// ```
#[inline]
pub fn find_receiver(k: usize, direction: u8, cols: usize) -> Option<usize> {
    let [di, dj] = D8::from_code(direction)?.offset();
    // A direction never points beyond the field, so the sum cannot wrap.
    Some(k.wrapping_add_signed(di * cols as isize + dj))
}

/// Returns the row-major index of the receiver of cell `k` with this direction code; `None` if the code leads to no
/// neighbour.
#[inline(always)]
pub fn receiver_index(topology: Topology, k: usize, direction: u8) -> Option<usize> {
    // A direction never points beyond the field.
    Some(topology.offset_index(k, D8::from_code(direction)?.offset()))
}

/// Returns a tie-break hash of the world cell of cell `k` of a grid. Among equals, the cell with the smallest hash
/// comes first.
pub fn tie_break_hash(grid: &Grid, k: usize) -> u64 {
    // The key has no seed: ties depend on the position in the world alone, so every program run and every window breaks
    // them alike.
    RandomKey::ZERO.for_cell(grid.world_cell(k / grid.cols(), k % grid.cols())).random_bits()
}
