//! [`PaddedPlane`]: cells of a window with a ring of padding, so that every cell has eight neighbours.

use std::ops::Range;

use thalweg_core::{Cell, CellRect, Size};
use thalweg_flow::D8;

/// The elevation of padding cells: higher than all terrain.
// This is 16 384 m. Terrain is below 16 000 m, so a difference from a wall is less than 2³¹ units.
pub(super) const WALL: i32 = 1 << 30;

/// The receiver code of padding cells: drains nowhere.
pub(super) const NOWHERE: u8 = 255;

/// Cells with a ring of padding. Rows and columns are counted from the padding: the first cell is (1, 1).
#[derive(Debug, Clone)]
pub(super) struct PaddedPlane<T> {
    stride: usize,
    cells: Vec<T>,
}

/// A part of a plane: rows and columns, counted from the padding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlanePart {
    pub rows: Range<usize>,
    pub cols: Range<usize>,
}

impl PlanePart {
    /// Returns the part that covers `rect`, of a plane whose first cell is the world's cell `origin`.
    pub fn from_rect(rect: CellRect<i64>, origin: Cell<i64>) -> Self {
        let range = |axis: usize| {
            let from = |x: i64| (x - origin[axis] + 1) as usize;
            from(rect.start[axis])..from(rect.end[axis])
        };
        Self { rows: range(0), cols: range(1) }
    }
}

impl<T: Copy> PaddedPlane<T> {
    /// Creates a plane with one value in all cells, padding included.
    pub fn new([rows, cols]: Size, value: T) -> Self {
        // The padding lets kernels read all eight neighbours of a cell without checking for an edge.
        Self { stride: cols + 2, cells: vec![value; (rows + 2) * (cols + 2)] }
    }

    /// Returns the numbers of rows and columns, without the padding.
    pub fn size(&self) -> Size {
        [self.cells.len() / self.stride - 2, self.stride - 2]
    }

    #[inline]
    pub fn row(&self, i: usize) -> &[T] {
        &self.cells[i * self.stride..(i + 1) * self.stride]
    }

    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [T] {
        &mut self.cells[i * self.stride..(i + 1) * self.stride]
    }

    /// Returns row `i` of a part.
    #[inline]
    pub fn span(&self, i: usize, cols: &Range<usize>) -> &[T] {
        &self.row(i)[cols.clone()]
    }

    #[inline]
    pub fn span_mut(&mut self, i: usize, cols: &Range<usize>) -> &mut [T] {
        &mut self.row_mut(i)[cols.clone()]
    }

    /// Returns the eight neighbours of row `i` of a part, in the order of their codes ([`D8`]), each as a row of its
    /// own.
    #[inline]
    pub fn neighbour_rows(&self, i: usize, cols: &Range<usize>) -> [&[T]; 8] {
        let of = |k| self.neighbour_row(k, i, cols);
        [of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)]
    }

    /// Returns neighbour `k` of row `i` of a part.
    #[inline]
    pub fn neighbour_row(&self, k: usize, i: usize, cols: &Range<usize>) -> &[T] {
        let [di, dj] = D8::OFFSETS[k];
        &self.row(i.wrapping_add_signed(di))[cols.start.wrapping_add_signed(dj)..cols.end.wrapping_add_signed(dj)]
    }

    #[inline]
    pub fn value_at(&self, i: usize, j: usize) -> T {
        self.cells[i * self.stride + j]
    }

    #[inline]
    pub fn set(&mut self, i: usize, j: usize, value: T) {
        self.cells[i * self.stride + j] = value;
    }
}

/// The number of columns that are processed together: whole vectors on every machine.
pub(super) const LANES: usize = 16;

/// Returns `N` values of a row from column `x` on; those beyond its end are the default value (0).
#[inline(always)]
pub(super) fn read_lanes<T: Copy + Default, const N: usize>(row: &[T], x: usize) -> [T; N] {
    let row = &row[x..];
    // All runs but the last of a row are whole and are copied at once.
    if let Some(lanes) = row.first_chunk() {
        return *lanes;
    }
    let mut lanes = [T::default(); N];
    for (lane, value) in lanes.iter_mut().zip(row) {
        *lane = *value;
    }
    lanes
}

/// Writes as many of the values as the row has columns from `x` on.
#[inline(always)]
pub(super) fn write_lanes<T: Copy, const N: usize>(row: &mut [T], x: usize, lanes: &[T; N]) {
    let row = &mut row[x..];
    if let Some(all) = row.first_chunk_mut() {
        *all = *lanes;
        return;
    }
    for (value, lane) in row.iter_mut().zip(lanes) {
        *value = *lane;
    }
}
