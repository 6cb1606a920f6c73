//! Row buffers for the vectorised kernels: padded on both sides and processed in whole blocks of columns.

/// The number of columns that are processed together: a whole number of SIMD vectors on every supported machine.
pub const BLOCK: usize = 16;

/// One value for each column of a block.
pub type Block<T> = [T; BLOCK];

/// The padding before a row's first cell and after its last block.
pub const PAD: usize = BLOCK;

/// Returns the number of columns that kernels process for a row of `cols` cells: one more than the cells, for the
/// last cell's eastern side, rounded up to whole blocks.
pub fn count_kernel_columns(cols: usize) -> usize {
    (cols + 1).next_multiple_of(BLOCK)
}

/// Allocates a row of `cols` cells. Cell j is stored at index `PAD + j`, and so is the flow through its west or north
/// side.
pub fn allocate_row<T: Clone>(cols: usize, value: T) -> Vec<T> {
    vec![value; PAD + count_kernel_columns(cols) + PAD]
}

/// Returns a copy of the block of columns that starts at `j`.
#[inline(always)]
pub fn read_block<T: Copy + Default>(row: &[T], j: usize) -> Block<T> {
    let mut values = [T::default(); BLOCK];
    values.copy_from_slice(&row[j..j + BLOCK]);
    values
}

/// Returns copies of the blocks of several rows that start at `j`. A loop is used instead of a closure, because a
/// closure inside a multiversioned kernel is compiled for the base target and not for the kernel's.
#[inline(always)]
pub fn read_blocks<T: Copy + Default, const N: usize>(rows: [&[T]; N], j: usize) -> [Block<T>; N] {
    let mut values = [[T::default(); BLOCK]; N];
    for k in 0..N {
        values[k].copy_from_slice(&rows[k][j..j + BLOCK]);
    }
    values
}

/// Writes a block of columns at `j`, as a whole, so that there is one bounds check and not one per cell.
#[inline(always)]
pub fn write_block<T: Copy>(row: &mut [T], j: usize, values: &Block<T>) {
    row[j..j + BLOCK].copy_from_slice(values);
}

/// Returns the value upstream of a flow: `a` if the flow is positive, `b` if it is negative. It selects by masking
/// bits, because a branch between two memory locations would make the compiler emit gather instructions.
#[inline(always)]
pub fn select_upstream(flow: f32, a: f32, b: f32) -> f32 {
    // The arithmetic shift copies the sign bit into all 32 bits.
    let negative = ((flow.to_bits() as i32) >> 31) as u32;
    f32::from_bits((a.to_bits() & !negative) | (b.to_bits() & negative))
}

/// Minimum and maximum in one instruction each. The standard library's versions handle NaN in either argument, which
/// takes three instructions.
pub trait Bound {
    /// Returns this value, or `least` if it is not above that.
    fn at_least(self, least: Self) -> Self;
    /// Returns this value, or `most` if it is not below that.
    fn at_most(self, most: Self) -> Self;
}

impl Bound for f32 {
    #[inline(always)]
    fn at_least(self, least: Self) -> Self {
        if self > least { self } else { least }
    }

    #[inline(always)]
    fn at_most(self, most: Self) -> Self {
        if self < most { self } else { most }
    }
}

/// A ring buffer of the last few rows of a sequence, addressed by row number.
pub struct RowRing<T> {
    rows: Vec<Vec<T>>,
}

impl<T: Clone> RowRing<T> {
    /// Allocates a ring for the last `count` rows.
    pub fn new(count: usize, cols: usize, value: T) -> Self {
        Self { rows: vec![allocate_row(cols, value); count] }
    }

    /// Returns row number `n`, from its first cell on.
    pub fn row(&self, n: usize) -> &[T] {
        &self.padded_row(n)[PAD..]
    }

    /// Returns row number `n`, shifted so that index j is the western neighbour of cell j.
    pub fn western_neighbours(&self, n: usize) -> &[T] {
        &self.padded_row(n)[PAD - 1..]
    }

    /// Returns row number `n`, shifted so that index j is the eastern neighbour of cell j.
    pub fn eastern_neighbours(&self, n: usize) -> &[T] {
        &self.padded_row(n)[PAD + 1..]
    }

    /// Returns row number `n` with its padding.
    pub fn padded_row(&self, n: usize) -> &[T] {
        // A row is overwritten by the one that comes `rows.len()` later.
        &self.rows[n % self.rows.len()]
    }

    /// Returns row number `n` with its padding, for writing.
    pub fn padded_row_mut(&mut self, n: usize) -> &mut [T] {
        let count = self.rows.len();
        &mut self.rows[n % count]
    }

    /// Returns row number `n` from its first cell on, for writing.
    pub fn row_mut(&mut self, n: usize) -> &mut [T] {
        &mut self.padded_row_mut(n)[PAD..]
    }
}
