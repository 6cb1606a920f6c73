//! Rows of cells as the kernels want them: with room on both sides, in whole blocks.

/// Columns worked on together: whole vectors on every machine.
pub const BLOCK: usize = 16;

/// A value for each column of a block.
pub type Block<T> = [T; BLOCK];

/// Room before a row's first cell, and after its last block.
pub const PAD: usize = BLOCK;

/// Columns that kernels run over for so many cells: one more, for the side of the last, in whole blocks.
pub fn whole(cols: usize) -> usize {
    (cols + 1).next_multiple_of(BLOCK)
}

/// A row for so many cells; cell j stands at `PAD + j`, and so does the flow through its west or north side.
pub fn padded<T: Clone>(cols: usize, value: T) -> Vec<T> {
    vec![value; PAD + whole(cols) + PAD]
}

/// The columns of a row from `j` on.
#[inline(always)]
pub fn block<T: Copy + Default>(row: &[T], j: usize) -> Block<T> {
    let mut values = [T::default(); BLOCK];
    values.copy_from_slice(&row[j..j + BLOCK]);
    values
}

/// The columns of some rows from `j` on. Without a closure: one in a kernel is compiled for another machine than its caller is.
#[inline(always)]
pub fn blocks<T: Copy + Default, const N: usize>(rows: [&[T]; N], j: usize) -> [Block<T>; N] {
    let mut values = [[T::default(); BLOCK]; N];
    for k in 0..N {
        values[k].copy_from_slice(&rows[k][j..j + BLOCK]);
    }
    values
}

/// Writes the columns of a row from `j` on: whole, so that no bound is checked cell by cell.
#[inline(always)]
pub fn write<T: Copy>(row: &mut [T], j: usize, values: &Block<T>) {
    row[j..j + BLOCK].copy_from_slice(values);
}

/// What stands upstream of a flow: `a` where it is positive, `b` where negative. By bits, since a choice between two places in
/// memory would make a kernel gather.
#[inline(always)]
pub fn upstream(flow: f32, a: f32, b: f32) -> f32 {
    let negative = ((flow.to_bits() as i32) >> 31) as u32;
    f32::from_bits((a.to_bits() & !negative) | (b.to_bits() & negative))
}

/// Bounds in one instruction: the standard library's heed what is not a number on both sides, which takes three.
pub trait Bound {
    /// This, or `least` where it is not above.
    fn at_least(self, least: Self) -> Self;
    /// This, or `most` where it is not below.
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

/// The last few of a sequence of rows, by number.
pub struct Ring<T> {
    rows: Vec<Vec<T>>,
}

impl<T: Clone> Ring<T> {
    /// Room for the last `count` rows.
    pub fn new(count: usize, cols: usize, value: T) -> Self {
        Self { rows: vec![padded(cols, value); count] }
    }

    /// Row number `n`, from its first cell on.
    pub fn at(&self, n: usize) -> &[T] {
        &self.all(n)[PAD..]
    }

    /// The same, one cell to the west.
    pub fn west(&self, n: usize) -> &[T] {
        &self.all(n)[PAD - 1..]
    }

    /// The same, one cell to the east.
    pub fn east(&self, n: usize) -> &[T] {
        &self.all(n)[PAD + 1..]
    }

    /// Row number `n` with its padding.
    pub fn all(&self, n: usize) -> &[T] {
        &self.rows[n % self.rows.len()]
    }

    /// Row number `n` with its padding, to be written.
    pub fn all_mut(&mut self, n: usize) -> &mut [T] {
        let count = self.rows.len();
        &mut self.rows[n % count]
    }

    /// Row number `n` from its first cell on, to be written.
    pub fn at_mut(&mut self, n: usize) -> &mut [T] {
        &mut self.all_mut(n)[PAD..]
    }
}
