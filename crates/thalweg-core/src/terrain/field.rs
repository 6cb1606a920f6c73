//! [`Field`]: a two-dimensional array in row-major order, row 0 in the north.

use std::ops::{Index, IndexMut};

use rayon::prelude::*;

use crate::{Cell, CellRect, Error, Result};

/// The numbers of rows and columns.
pub type Size = [usize; 2];

/// A dense two-dimensional array. `field[(i, j)]` is row `i` (southward), column `j` (eastward).
///
/// # Examples
/// ```
/// use thalweg_core::Field;
///
/// let mut depth = Field::new([2, 3], 0.0);
/// depth[(1, 2)] = 7.5;
/// assert_eq!(depth.row(1), [0.0, 0.0, 7.5]);
/// assert_eq!(depth.len(), 6);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Field<T> {
    size: Size,
    data: Vec<T>,
}

impl<T: Clone> Field<T> {
    /// Makes a field with the same value in every cell.
    pub fn new(size: Size, value: T) -> Self {
        Self { size, data: vec![value; size[0] * size[1]] }
    }

    /// Copies the cells of `window`, which must be inside this field.
    pub fn copy_window(&self, window: CellRect) -> Self {
        let (size, columns) = (window.size(), window.start.col..window.end.col);
        let mut data = Vec::with_capacity(size[0] * size[1]);
        for i in window.start.row..window.end.row {
            data.extend_from_slice(&self.row(i)[columns.clone()]);
        }
        Self { size, data }
    }

    /// Copies the cells `from` of `part` into this field, the first of them to the cell `to`.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{CellRect, Field};
    ///
    /// let mut map = Field::new([4, 4], 0);
    /// let tile = Field::new([2, 2], 9);
    /// map.paste(&tile, CellRect::new([0, 0], [2, 2]), [1, 2]);
    /// assert_eq!(map.row(1), [0, 0, 9, 9]);
    /// assert_eq!(map.row(3), [0, 0, 0, 0]);
    /// ```
    pub fn paste(&mut self, part: &Self, from: CellRect, to: impl Into<Cell>) {
        let (to, cols) = (to.into(), from.cols());
        for r in 0..from.rows() {
            let source = &part.row(from.start.row + r)[from.start.col..from.start.col + cols];
            self.row_mut(to.row + r)[to.col..to.col + cols].clone_from_slice(source);
        }
    }
}

impl<T> Field<T> {
    /// Makes a field from its cells in row-major order.
    ///
    /// # Errors
    /// Returns an error if the number of cells is not rows × columns.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::Field;
    ///
    /// let field = Field::from_vec([2, 2], vec![1, 2, 3, 4])?;
    /// assert_eq!(field[(1, 0)], 3);
    ///
    /// // Three numbers are too few for four cells.
    /// assert!(Field::from_vec([2, 2], vec![1, 2, 3]).is_err());
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn from_vec(size: Size, data: Vec<T>) -> Result<Self> {
        // The size may come from a file, so the product may overflow.
        if size[0].checked_mul(size[1]) != Some(data.len()) {
            return Err(Error::invalid_value(
                "cells",
                data.len(),
                format!("{} × {} (rows × columns)", size[0], size[1]),
            ));
        }
        Ok(Self { size, data })
    }

    /// Computes a field cell by cell, with the rows in parallel; `cell` receives row and column.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::Field;
    ///
    /// // A plane that falls by 1 m per row southward and by 2 m per column eastward.
    /// let plane = Field::from_fn([3, 4], |row, col| 100.0 - row as f64 - 2.0 * col as f64);
    /// assert_eq!(plane[(2, 0)], 98.0);
    /// assert_eq!(plane[(0, 3)], 94.0);
    /// ```
    pub fn from_fn(size: Size, cell: impl Fn(usize, usize) -> T + Sync) -> Self
    where
        T: Send + Clone + Default,
    {
        let mut field = Self::new(size, T::default());
        // Each cell is a function of its row and column alone, so the result does not depend on the number of threads.
        field.par_rows_mut().for_each(|(i, row)| {
            for (j, value) in row.iter_mut().enumerate() {
                *value = cell(i, j);
            }
        });
        field
    }

    /// Returns the numbers of rows and columns.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.size[0]
    }

    /// Returns the number of columns.
    pub fn cols(&self) -> usize {
        self.size[1]
    }

    /// Returns the number of cells.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Returns true if there are no cells.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Returns row `i`, west to east.
    pub fn row(&self, i: usize) -> &[T] {
        &self.data[i * self.size[1]..(i + 1) * self.size[1]]
    }

    /// Returns row `i`, west to east, for writing.
    pub fn row_mut(&mut self, i: usize) -> &mut [T] {
        &mut self.data[i * self.size[1]..(i + 1) * self.size[1]]
    }

    /// Returns all cells in row-major order.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// Returns all cells in row-major order, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// Converts the field into its cells, in row-major order.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }

    /// Iterates over the rows in parallel, each with its index from 0 in the north.
    ///
    /// # Examples
    /// ```
    /// use rayon::prelude::*;
    /// use thalweg_core::Field;
    ///
    /// let mut field = Field::new([3, 2], 0_usize);
    /// field.par_rows_mut().for_each(|(i, row)| row.fill(i));
    /// assert_eq!(field.as_slice(), [0, 0, 1, 1, 2, 2]);
    /// ```
    pub fn par_rows_mut(&mut self) -> impl IndexedParallelIterator<Item = (usize, &mut [T])>
    where
        T: Send,
    {
        // A chunk of length 0 would panic; a field without columns has no chunk of length 1 either.
        self.data.par_chunks_mut(self.size[1].max(1)).enumerate()
    }

    /// Computes a field by applying `f` to each cell, with the rows in parallel.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::Field;
    ///
    /// let depth = Field::from_vec([1, 3], vec![0.0_f32, 0.2, 1.5])?;
    /// let is_deep = depth.map(|metres| *metres > 1.0);
    /// assert_eq!(is_deep.as_slice(), [false, false, true]);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn map<U: Send + Clone + Default>(&self, f: impl Fn(&T) -> U + Sync) -> Field<U>
    where
        T: Sync,
    {
        Field::from_fn(self.size, |i, j| f(&self[(i, j)]))
    }
}

impl<T: Copy + Default + Send + Sync> Field<T> {
    /// Returns the transposed field. It is computed in blocks, because the cells of a column are far apart in memory.
    pub fn transposed(&self) -> Self {
        // A block of 32 × 32 cells of four bytes has 4 KiB: source and target both stay in the first-level cache.
        const BLOCK: usize = 32;
        let [rows, cols] = self.size;
        let mut out = Self::new([cols, rows], T::default());
        out.data.par_chunks_mut((BLOCK * rows).max(1)).enumerate().for_each(|(band, out)| {
            for first in (0..rows).step_by(BLOCK) {
                for (r, row) in out.chunks_mut(rows).enumerate() {
                    for (i, cell) in row.iter_mut().enumerate().skip(first).take(BLOCK) {
                        *cell = self[(i, band * BLOCK + r)];
                    }
                }
            }
        });
        out
    }
}

impl<T> Index<(usize, usize)> for Field<T> {
    type Output = T;
    fn index(&self, (i, j): (usize, usize)) -> &T {
        // Without this check a column beyond the row would be a cell of the next row.
        debug_assert!(j < self.size[1]);
        &self.data[i * self.size[1] + j]
    }
}

impl<T> Index<usize> for Field<T> {
    type Output = T;
    fn index(&self, k: usize) -> &T {
        &self.data[k]
    }
}

impl<T> IndexMut<usize> for Field<T> {
    fn index_mut(&mut self, k: usize) -> &mut T {
        &mut self.data[k]
    }
}

impl<T> IndexMut<(usize, usize)> for Field<T> {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut T {
        debug_assert!(j < self.size[1]);
        &mut self.data[i * self.size[1] + j]
    }
}

impl<T> Index<Cell> for Field<T> {
    type Output = T;
    #[inline]
    fn index(&self, cell: Cell) -> &T {
        &self[(cell.row, cell.col)]
    }
}

impl<T> IndexMut<Cell> for Field<T> {
    #[inline]
    fn index_mut(&mut self, cell: Cell) -> &mut T {
        &mut self[(cell.row, cell.col)]
    }
}
