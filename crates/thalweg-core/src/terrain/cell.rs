//! [`Cell`] and [`CellRect`]: a cell by row and column, and a rectangle of cells.

use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

use crate::{Error, Result, Size};

/// The integer type of a row or column number: `usize` for the cells of a raster, `i64` for the cells of a world, which
/// has cells on both sides of its origin, and `i32` for the cells of a copied part of a raster, where a neighbour may
/// have a negative row or column.
pub trait CellIndex: Copy + Ord + Hash + Debug + Display + sealed::Sealed {
    /// Returns the row or column `count` after this one; the largest number if that overflows.
    #[must_use]
    fn saturating_add_count(self, count: usize) -> Self;

    /// Returns the number of rows or columns from `start` to this one; 0 if this one does not come after `start`.
    fn count_from(self, start: Self) -> usize;

    /// Returns the sum; the largest or smallest number if it overflows.
    #[must_use]
    fn saturating_add(self, other: Self) -> Self;

    /// Returns the difference; the largest or smallest number if it overflows.
    #[must_use]
    fn saturating_sub(self, other: Self) -> Self;

    /// Returns twice the number; the largest or smallest number if it overflows.
    #[must_use]
    fn saturating_double(self) -> Self;

    /// Returns half the number, rounded down.
    #[must_use]
    fn half_floor(self) -> Self;

    /// Returns half the number, rounded up.
    #[must_use]
    fn half_ceil(self) -> Self;

    /// Returns the next row or column; `None` after the largest number.
    fn next(self) -> Option<Self>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for usize {}
    impl Sealed for i64 {}
    impl Sealed for i32 {}
}

/// The methods of [`CellIndex`] whose code is the same for every integer type.
macro_rules! integer_methods {
    () => {
        #[inline]
        fn saturating_add(self, other: Self) -> Self {
            // The inherent methods of the integers take precedence over those of the trait: these calls are not
            // recursive.
            self.saturating_add(other)
        }

        #[inline]
        fn saturating_sub(self, other: Self) -> Self {
            self.saturating_sub(other)
        }

        #[inline]
        fn saturating_double(self) -> Self {
            self.saturating_mul(2)
        }

        #[inline]
        fn half_floor(self) -> Self {
            self.div_euclid(2)
        }

        #[inline]
        fn next(self) -> Option<Self> {
            self.checked_add(1)
        }
    };
}

impl CellIndex for usize {
    integer_methods!();

    #[inline]
    fn saturating_add_count(self, count: usize) -> Self {
        self.saturating_add(count)
    }

    #[inline]
    fn count_from(self, start: Self) -> usize {
        self.saturating_sub(start)
    }

    #[inline]
    fn half_ceil(self) -> Self {
        self.div_ceil(2)
    }
}

impl CellIndex for i64 {
    integer_methods!();

    #[inline]
    fn saturating_add_count(self, count: usize) -> Self {
        self.saturating_add_unsigned(count as u64)
    }

    #[inline]
    fn count_from(self, start: Self) -> usize {
        self.saturating_sub(start).max(0) as usize
    }

    #[inline]
    fn half_ceil(self) -> Self {
        // Adding 1 before the division, which rounds down, rounds up; this holds for negative numbers too.
        self.saturating_add(1).div_euclid(2)
    }
}

impl CellIndex for i32 {
    integer_methods!();

    #[inline]
    fn saturating_add_count(self, count: usize) -> Self {
        self.saturating_add_unsigned(u32::try_from(count).unwrap_or(u32::MAX))
    }

    #[inline]
    fn count_from(self, start: Self) -> usize {
        // The difference of two i32 needs 33 bits.
        (i64::from(self) - i64::from(start)).max(0) as usize
    }

    #[inline]
    fn half_ceil(self) -> Self {
        self.saturating_add(1).div_euclid(2)
    }
}

/// A cell by its row, counted southward, and its column, counted eastward.
///
/// Cells are ordered as a raster stores them: row by row from the north, west to east in each row. `cell[0]` is the row
/// and `cell[1]` the column, for code that handles both axes in the same way.
///
/// # Examples
/// ```
/// use thalweg_core::terrain::Cell;
/// use thalweg_core::terrain::field::Field;
///
/// let cell = Cell::new(1, 2);
/// assert_eq!(cell, Cell { row: 1, col: 2 });
/// assert_eq!(cell, Cell::from([1, 2]));
/// assert_eq!((cell[0], cell[1]), (1, 2));
///
/// let squares = Field::from_fn([3, 4], |row, col| row * col);
/// assert_eq!(squares[cell], 2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(from = "[T; 2]", into = "[T; 2]", bound(serialize = "T: Clone + Serialize"))]
// The row is the first field, so the derived order is row-major.
pub struct Cell<T = usize> {
    /// The row, counted southward.
    pub row: T,
    /// The column, counted eastward.
    pub col: T,
}

impl<T> Cell<T> {
    /// Makes the cell in this row and column.
    #[inline]
    pub const fn new(row: T, col: T) -> Self {
        Self { row, col }
    }

    /// Makes the cell whose row is `f(0)` and whose column is `f(1)`.
    #[inline]
    pub fn from_axes(mut f: impl FnMut(usize) -> T) -> Self {
        Self { row: f(0), col: f(1) }
    }

    /// Returns the cell with `f` applied to the row and to the column.
    #[inline]
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> Cell<U> {
        Cell { row: f(self.row), col: f(self.col) }
    }
}

impl<T> Index<usize> for Cell<T> {
    type Output = T;

    /// Returns the row for axis 0, the column for axis 1.
    #[inline]
    fn index(&self, axis: usize) -> &T {
        match axis {
            0 => &self.row,
            1 => &self.col,
            _ => panic!("axis {axis}: 0 (rows) or 1 (columns)"),
        }
    }
}

impl<T> IndexMut<usize> for Cell<T> {
    #[inline]
    fn index_mut(&mut self, axis: usize) -> &mut T {
        match axis {
            0 => &mut self.row,
            1 => &mut self.col,
            _ => panic!("axis {axis}: 0 (rows) or 1 (columns)"),
        }
    }
}

impl<T> From<[T; 2]> for Cell<T> {
    /// Converts a row and a column, in this order.
    #[inline]
    fn from([row, col]: [T; 2]) -> Self {
        Self { row, col }
    }
}

impl<T> From<Cell<T>> for [T; 2] {
    /// Converts to the row and the column, in this order.
    #[inline]
    fn from(cell: Cell<T>) -> Self {
        [cell.row, cell.col]
    }
}

/// A half-open rectangle of cells: those from `start` on whose row and column are before `end`'s.
///
/// `CellRect` is a rectangle of a raster's cells, `CellRect<i64>` one of world cells of a level. A rectangle whose end
/// does not come after its start, in rows or columns, contains no cell.
///
/// # Examples
/// ```
/// use thalweg_core::terrain::{Cell, CellRect};
///
/// let tile = CellRect::new([4_usize, 0], [2, 3]);
/// assert_eq!(tile.end, Cell::new(6, 3));
/// assert_eq!(tile.size(), [2, 3]);
/// assert_eq!(tile.cells().next(), Some(Cell::new(4, 0)));
///
/// // A halo of one cell, as far as the raster goes.
/// let raster = CellRect::new([0, 0], [8, 8]);
/// assert_eq!(tile.grow_within(1, raster), CellRect::from_corners([3, 0], [7, 4]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CellRect<T = usize> {
    /// The first row and column.
    pub start: Cell<T>,
    /// The row and column after the last.
    pub end: Cell<T>,
}

impl<T: CellIndex> CellRect<T> {
    /// Makes the rectangle of `size` rows and columns from `start`. An end that overflows is the largest number.
    #[inline]
    pub fn new(start: impl Into<Cell<T>>, size: Size) -> Self {
        let start = start.into();
        let end = Cell::new(start.row.saturating_add_count(size[0]), start.col.saturating_add_count(size[1]));
        Self { start, end }
    }

    /// Makes the rectangle from `start` to before `end`.
    #[inline]
    pub fn from_corners(start: impl Into<Cell<T>>, end: impl Into<Cell<T>>) -> Self {
        Self { start: start.into(), end: end.into() }
    }

    /// Makes the rectangle of one cell.
    #[inline]
    pub fn from_cell(cell: impl Into<Cell<T>>) -> Self {
        Self::new(cell, [1, 1])
    }

    /// Returns the number of rows; 0 if the end does not come after the start.
    #[inline]
    pub fn rows(&self) -> usize {
        self.end.row.count_from(self.start.row)
    }

    /// Returns the number of columns; 0 if the end does not come after the start.
    #[inline]
    pub fn cols(&self) -> usize {
        self.end.col.count_from(self.start.col)
    }

    /// Returns the numbers of rows and of columns.
    #[inline]
    pub fn size(&self) -> Size {
        [self.rows(), self.cols()]
    }

    /// Returns true if the rectangle contains no cell.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rows() == 0 || self.cols() == 0
    }

    /// Returns true if `other` starts at or after this rectangle's start and ends at or before its end, in rows and in
    /// columns, also if `other` is empty.
    #[inline]
    pub fn contains(&self, other: &Self) -> bool {
        (0..2).all(|axis| self.start[axis] <= other.start[axis] && other.end[axis] <= self.end[axis])
    }

    /// Returns true if `cell` is one of the rectangle's cells.
    #[inline]
    pub fn contains_cell(&self, cell: impl Into<Cell<T>>) -> bool {
        let cell = cell.into();
        (0..2).all(|axis| self.start[axis] <= cell[axis] && cell[axis] < self.end[axis])
    }

    /// Returns the rectangle enlarged by a halo of `by` cells on each side, clipped to `within`.
    #[inline]
    #[must_use]
    pub fn grow_within(&self, by: T, within: Self) -> Self {
        Self { start: self.start.map(|x| x.saturating_sub(by)), end: self.end.map(|x| x.saturating_add(by)) }
            .intersect(within)
    }

    /// Returns the cells that are in both rectangles. The result's end may come before its start if there are none.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::CellRect;
    ///
    /// let a = CellRect::new([0_usize, 0], [4, 4]);
    /// let b = CellRect::new([2_usize, 3], [4, 4]);
    /// assert_eq!(a.intersect(b), CellRect::from_corners([2, 3], [4, 4]));
    /// // Rectangles that only touch have no cell in common.
    /// assert!(a.intersect(CellRect::new([4_usize, 0], [2, 2])).is_empty());
    /// ```
    #[inline]
    #[must_use]
    pub fn intersect(&self, other: Self) -> Self {
        Self {
            start: Cell::new(self.start.row.max(other.start.row), self.start.col.max(other.start.col)),
            end: Cell::new(self.end.row.min(other.end.row), self.end.col.min(other.end.col)),
        }
    }

    /// Returns the smallest rectangle that contains both.
    #[inline]
    #[must_use]
    pub fn union(&self, other: Self) -> Self {
        Self {
            start: Cell::new(self.start.row.min(other.start.row), self.start.col.min(other.start.col)),
            end: Cell::new(self.end.row.max(other.end.row), self.end.col.max(other.end.col)),
        }
    }

    /// Returns the cells of the next finer level, half as wide, that make up this rectangle.
    #[inline]
    #[must_use]
    pub fn to_finer_level(&self) -> Self {
        Self { start: self.start.map(T::saturating_double), end: self.end.map(T::saturating_double) }
    }

    /// Returns the cells of the next coarser level, twice as wide, that this rectangle touches.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::CellRect;
    ///
    /// // Rows 1 to 2 and columns −2 to 0.
    /// let rect = CellRect::new([1_i64, -2], [2, 3]);
    /// assert_eq!(rect.to_coarser_level(), CellRect::from_corners([0, -1], [2, 1]));
    /// assert_eq!(rect.to_finer_level(), CellRect::new([2, -4], [4, 6]));
    /// assert_eq!(rect.to_finer_level().to_coarser_level(), rect);
    /// ```
    #[inline]
    #[must_use]
    pub fn to_coarser_level(&self) -> Self {
        // The start is rounded down and the end up, so that cells that are touched in part are included.
        Self { start: self.start.map(T::half_floor), end: self.end.map(T::half_ceil) }
    }

    /// Iterates over the rectangle's cells, row by row from the north, west to east in each row.
    pub fn cells(&self) -> impl Iterator<Item = Cell<T>> + use<T> {
        let Self { start, end } = *self;
        // A range of a generic integer is not an iterator, so each number is made from the one before.
        let rows = std::iter::successors((start.row < end.row).then_some(start.row), move |row| {
            row.next().filter(|row| *row < end.row)
        });
        rows.flat_map(move |row| {
            let cols = std::iter::successors((start.col < end.col).then_some(start.col), move |col| {
                col.next().filter(|col| *col < end.col)
            });
            cols.map(move |col| Cell { row, col })
        })
    }

    /// Rejects a rectangle that is empty or not inside `within`; `name` is the name of the rectangle in the message.
    ///
    /// # Errors
    /// Returns an error with the rows and columns of the rectangle if it is one of these.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::CellRect;
    ///
    /// let raster = CellRect::new([0_usize, 0], [100, 100]);
    /// assert!(CellRect::new([80_usize, 0], [20, 20]).check_within("window", raster).is_ok());
    ///
    /// let error = CellRect::new([90_usize, 0], [20, 20]).check_within("window", raster).unwrap_err();
    /// assert!(error.to_string().contains("rows 90 to 110, columns 0 to 20"));
    /// ```
    pub fn check_within(&self, name: &str, within: Self) -> Result<()> {
        if !self.is_empty() && within.contains(self) {
            return Ok(());
        }
        let Self { start, end } = within;
        let allowed = format!(
            "one cell or more, all within rows {} to {}, columns {} to {}",
            start.row, end.row, start.col, end.col
        );
        Err(Error::invalid_value(name, self.describe(), allowed))
    }

    /// Describes the rectangle for messages: `rows 0 to 4, columns 2 to 9`, where the ends are exclusive.
    pub fn describe(&self) -> String {
        let Self { start, end } = self;
        format!("rows {} to {}, columns {} to {}", start.row, end.row, start.col, end.col)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns all rectangles with corners between −2 and 2, including empty ones and ones that end before they start.
    fn rects() -> Vec<CellRect<i64>> {
        let corners = |n: i64| Cell::new(n / 5 - 2, n % 5 - 2);
        (0..625).map(|n| CellRect::from_corners(corners(n / 25), corners(n % 25))).collect()
    }

    /// Returns the cells of a rectangle, found by testing each cell in the surroundings.
    fn asked(rect: &CellRect<i64>) -> Vec<Cell<i64>> {
        let around = CellRect::from_corners([-12, -12], [12, 12]);
        around.cells().filter(|cell| rect.contains_cell(*cell)).collect()
    }

    #[test]
    fn cells_are_those_that_a_rectangle_contains() {
        for rect in rects() {
            let cells: Vec<_> = rect.cells().collect();
            assert_eq!(cells, asked(&rect), "{rect:?}");
            assert_eq!(cells.len(), rect.rows() * rect.cols());
            assert_eq!(cells.is_empty(), rect.is_empty());
            assert_eq!(rect.size(), [rect.rows(), rect.cols()]);
            if !rect.is_empty() {
                assert_eq!(CellRect::new(rect.start, rect.size()), rect);
            }
        }
    }

    #[test]
    fn operations_on_two_rectangles_agree_with_their_cells() {
        for a in rects() {
            for b in rects().into_iter().step_by(3) {
                let (of_a, of_b) = (asked(&a), asked(&b));
                let both: Vec<_> = of_a.iter().copied().filter(|cell| of_b.contains(cell)).collect();
                assert_eq!(a.intersect(b).cells().collect::<Vec<_>>(), both, "{a:?} {b:?}");
                assert_eq!(a.check_within("window", b).is_ok(), !of_a.is_empty() && both == of_a, "{a:?} {b:?}");
                if !of_a.is_empty() && !of_b.is_empty() {
                    assert_eq!(b.contains(&a), both == of_a);
                    let union = a.union(b);
                    assert!(union.contains(&a) && union.contains(&b));
                    for axis in 0..2 {
                        let all = || of_a.iter().chain(&of_b).map(|cell| cell[axis]);
                        assert_eq!(Some(union.start[axis]), all().min());
                        assert_eq!(Some(union.end[axis] - 1), all().max());
                    }
                }
            }
        }
    }

    #[test]
    fn a_halo_is_every_cell_near_enough_and_within() {
        let within = CellRect::from_corners([-3, -1], [2, 9]);
        for rect in rects().into_iter().filter(|rect| !rect.is_empty()) {
            for by in 0..4 {
                let near =
                    |cell: &Cell<i64>| rect.cells().any(|own| (0..2).all(|axis| (own[axis] - cell[axis]).abs() <= by));
                let halo: Vec<_> = within.cells().filter(near).collect();
                assert_eq!(rect.grow_within(by, within).cells().collect::<Vec<_>>(), halo, "{rect:?} {by}");
            }
        }
    }

    #[test]
    fn levels_halve_and_double_cells() {
        for rect in rects().into_iter().filter(|rect| !rect.is_empty()) {
            let parent = |cell: Cell<i64>| cell.map(|x| x.div_euclid(2));
            assert!(rect.to_finer_level().cells().all(|cell| rect.contains_cell(parent(cell))));
            assert_eq!(rect.to_finer_level().cells().count(), 4 * rect.cells().count());
            let mut touched: Vec<_> = rect.cells().map(parent).collect();
            touched.sort_unstable();
            touched.dedup();
            assert_eq!(rect.to_coarser_level().cells().collect::<Vec<_>>(), touched, "{rect:?}");
            assert_eq!(rect.to_finer_level().to_coarser_level(), rect);
        }
    }

    #[test]
    fn numbers_at_the_ends_of_their_range_do_not_overflow() {
        let whole = CellRect::from_corners([i64::MIN; 2], [i64::MAX; 2]);
        assert_eq!(whole.grow_within(9, whole), whole);
        assert_eq!(whole.to_finer_level(), whole);
        assert_eq!(whole.size(), [i64::MAX as usize; 2]);
        assert_eq!(CellRect::new([i64::MAX - 1; 2], [9, 9]).cells().count(), 1);
        assert_eq!(CellRect::new([usize::MAX - 1; 2], [9, 9]).size(), [1, 1]);
        assert_eq!(CellRect::new([i32::MAX - 1; 2], [usize::MAX; 2]).size(), [1, 1]);
        assert_eq!(CellRect::from_corners([i32::MIN; 2], [i32::MAX; 2]).size(), [u32::MAX as usize; 2]);
        assert_eq!(
            CellRect::new([1_usize, 2], [3, 3]).grow_within(2, CellRect::new([0, 0], [9, 9])).start,
            Cell::new(0, 0)
        );
    }

    #[test]
    fn a_refusal_names_the_rectangle_and_its_bounds() {
        let message =
            CellRect::new([3_usize, 5], [4, 0]).check_within("window", CellRect::new([0, 0], [9, 9])).unwrap_err();
        let message = message.to_string();
        assert!(message.contains("window") && message.contains("rows 3 to 7, columns 5 to 5"), "{message}");
        assert!(message.contains("rows 0 to 9, columns 0 to 9"), "{message}");
    }

    #[test]
    fn cells_convert_to_arrays_in_the_order_of_rows_and_columns() {
        let mut cell = Cell::from([3, 7]);
        assert_eq!((cell.row, cell.col), (3, 7));
        cell[1] += 1;
        assert_eq!(<[i32; 2]>::from(cell), [3, 8]);
        assert!(Cell::new(1, 9) < Cell::new(2, 0));
    }
}
