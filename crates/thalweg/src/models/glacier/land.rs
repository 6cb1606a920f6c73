//! The land that ice flows over.

use crate::terrain::field::Field;
use crate::terrain::grid::{Edge, Grid};
use crate::terrain::height::Height;

/// The cells beyond the west, east, north and south side of a cell; none beyond an edge.
pub type Around = [Option<usize>; 4];

/// The ground that ice lies on.
#[derive(Clone, Copy)]
pub struct Land<'a> {
    pub grid: &'a Grid,
    pub ground: &'a Field<Height>,
    pub nodata: Option<&'a Field<bool>>,
}

impl Land<'_> {
    /// Whether cell number `k` has no data.
    #[inline(always)]
    pub fn is_void(&self, k: usize) -> bool {
        self.nodata.is_some_and(|mask| mask[k])
    }

    /// What lies around cell `k`; where its column is at hand, [`Land::around_in`] is quicker.
    #[inline(always)]
    pub fn around(&self, k: usize) -> Around {
        // Cells are counted in 32 bits, which are divided far sooner than 64.
        self.around_in(k, (k as u32 % self.grid.cols() as u32) as usize)
    }

    /// What lies around cell `k`, in column `j`.
    #[inline(always)]
    pub fn around_in(&self, k: usize, j: usize) -> Around {
        let [rows, cols] = self.grid.size;
        [
            (j > 0).then(|| k - 1),
            (j + 1 < cols).then_some(k + 1),
            (k >= cols).then(|| k - cols),
            (k + cols < rows * cols).then_some(k + cols),
        ]
    }

    /// Whether a cell lies at an open edge, where the ground keeps its height: beyond it nothing would
    /// hold a cut back.
    #[inline(always)]
    pub fn is_base_level(&self, around: Around) -> bool {
        (0..4).any(|side| self.opens(side) && around[side].is_none())
    }

    /// Whether the edge at a side is open.
    #[inline(always)]
    pub fn opens(&self, side: usize) -> bool {
        let [north, east, south, west] = self.grid.edges;
        [west, east, north, south][side] == Edge::Open
    }
}
