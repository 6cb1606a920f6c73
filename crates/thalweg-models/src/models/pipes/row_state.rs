//! The state of rows of cells: of those that a band updates, and of copies of those adjacent to it.

use std::ops::{Deref, Range};

use thalweg_core::Height;

/// The state of some rows, generic over the containers of heights (`H`) and of floating-point values (`F`).
#[derive(Default)]
pub struct RowState<H, F> {
    pub ground: H,
    pub loose: H,
    pub water: F,
    /// The speeds in m/s in the pipes through the west and the north side of each cell.
    pub pipes: [F; 2],
    pub suspended: H,
    pub fraction: F,
}

impl<H: Deref<Target = [Height]>, F: Deref<Target = [f32]>> RowState<H, F> {
    /// Returns the state of a range of cells.
    pub(super) fn slice_cells(&self, cells: Range<usize>) -> RowState<&[Height], &[f32]> {
        RowState {
            ground: &self.ground[cells.clone()],
            loose: &self.loose[cells.clone()],
            water: &self.water[cells.clone()],
            pipes: self.pipes.each_ref().map(|pipes| &pipes[cells.clone()]),
            suspended: &self.suspended[cells.clone()],
            fraction: &self.fraction[cells],
        }
    }
}

/// The rows that a band updates, from row `first` of the map on.
pub struct BandRows<'a> {
    pub first: usize,
    pub state: RowState<&'a mut [Height], &'a mut [f32]>,
    /// The eastward and southward velocity in m/s, if the model is set to write these layers.
    pub velocity: Option<[&'a mut [f32]; 2]>,
}

/// A copy of the rows adjacent to a band, from row `first` of the map on.
#[derive(Default)]
pub struct AdjacentRows {
    pub first: usize,
    pub state: RowState<Vec<Height>, Vec<f32>>,
}
