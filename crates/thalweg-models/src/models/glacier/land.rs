//! The land under the ice.

use thalweg_core::{Edge, Field, Grid, Height};

/// The ground that ice flows over.
#[derive(Clone, Copy)]
pub struct IceBed<'a> {
    pub grid: &'a Grid,
    pub ground: &'a Field<Height>,
    pub nodata: Option<&'a Field<bool>>,
}

impl IceBed<'_> {
    /// Returns true if cell `k` has no data.
    pub fn is_void(&self, k: usize) -> bool {
        self.nodata.is_some_and(|mask| mask[k])
    }

    /// Returns the cells beyond the west, east, north and south side of cell `k`, `None` beyond an edge.
    #[inline(always)]
    pub fn side_neighbours(&self, k: usize) -> [Option<usize>; 4] {
        let [rows, cols] = self.grid.size;
        // Cells are counted in 32 bits, since 32-bit division is much faster than 64-bit division.
        let j = (k as u32 % cols as u32) as usize;
        [
            (j > 0).then(|| k - 1),
            (j + 1 < cols).then_some(k + 1),
            (k >= cols).then(|| k - cols),
            (k + cols < rows * cols).then_some(k + cols),
        ]
    }

    /// Returns true if cell `k` is at an open edge. The ground there is a fixed base level: nothing beyond would limit
    /// an incision.
    pub fn is_base_level(&self, k: usize) -> bool {
        // A side is at the map's edge if there is no cell beyond it.
        let around = self.side_neighbours(k);
        (0..4).any(|side| self.is_edge_open(side) && around[side].is_none())
    }

    /// Returns true if the edge at a side is open.
    pub fn is_edge_open(&self, side: usize) -> bool {
        // The grid orders edges clockwise from north; sides here are west, east, north, south.
        let [north, east, south, west] = self.grid.edges;
        [west, east, north, south][side] == Edge::Open
    }
}
