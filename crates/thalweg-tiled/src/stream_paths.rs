//! [`StreamPath`]: a stream from source or junction to the next junction or outlet, in about a byte a cell.

use thalweg_core::terrain::field::Size;
use thalweg_core::terrain::height::Height;
use thalweg_flow::{D8, Link};

/// A reach of a stream without tributaries: a [`Link`] in little memory.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct StreamPath {
    /// Row and column of its first cell, source or junction.
    pub head: [usize; 2],
    /// For each step down to its last cell the code of the neighbour that it goes to ([`D8`]).
    pub steps: Vec<u8>,
    /// Heights of its first and its last cell on the filled surface, in units of 1/65 536 m.
    pub heights: [Height; 2],
    /// Number of cells that drain through it, those of the junction that it ends in left out.
    pub cells: u64,
    /// Strahler's order, from 1.
    pub order: u32,
    /// Shreve's magnitude, from 1.
    pub magnitude: u32,
    /// Place, from 0, in the list of the one that it runs into; `None` at an outlet.
    pub downstream: Option<u32>,
}

impl StreamPath {
    /// Its cells (row, column) from first to last.
    pub fn cells(&self) -> impl Iterator<Item = [usize; 2]> + '_ {
        let mut at = self.head;
        std::iter::once(at).chain(self.steps.iter().map(move |step| {
            let [di, dj] = D8::OFFSETS[usize::from(step & 7)];
            at = [at[0].wrapping_add_signed(di), at[1].wrapping_add_signed(dj)];
            at
        }))
    }

    /// Metres along the cells' centres, where a cell is `cell` metres wide.
    pub fn length(&self, cell: f64) -> f64 {
        let diagonal = self.steps.iter().filter(|step| **step & 1 == 1).count();
        cell * ((self.steps.len() - diagonal) as f64 + D8::DISTANCES[1] * diagonal as f64)
    }

    /// The same as [`links`](thalweg_flow::links::links) has it; `id` is its place in the list, `cell` the width
    /// of a cell in metres.
    pub fn link(&self, id: u32, cell: f64) -> Link {
        let length = self.length(cell);
        let drop = self.heights[0].metres() - self.heights[1].metres();
        Link {
            id,
            order: self.order,
            magnitude: self.magnitude,
            cells: self.cells().collect(),
            length,
            drop,
            slope: drop / length,
            catchment: self.cells as f64 * (cell * cell),
            downstream: self.downstream,
        }
    }

    /// Whether all its cells lie on a map of that size.
    pub(super) fn fits(&self, [rows, cols]: Size) -> bool {
        self.cells().all(|[i, j]| i < rows && j < cols)
    }
}
