//! [`Near`]: a row with its northern and southern neighbour rows, padded for vectorised kernels.

use multiversion::multiversion;

use crate::{CellRole, D8};
use thalweg_core::{Field, Height, Topology};

/// Number of columns processed together: whole vectors on every machine.
// Sixteen values of 32 bits fill one register of AVX-512 or two of AVX2.
pub const BLOCK: usize = 16;

/// One value for each column of a block.
pub type Block<T> = [T; BLOCK];

/// The height assigned to cells beyond the edges and without data: higher than any ground.
pub const WALL: i32 = i32::MAX;

/// The position of the cell itself in [`Near`]'s rows: row, and number of columns to skip.
pub const HERE: [usize; 2] = [1, 1];

/// The position of each neighbour in [`Near`]'s rows, by direction code: row, and number of columns to skip.
pub const NEIGHBOURS: [[usize; 2]; 8] = {
    let mut positions = [HERE; 8];
    let mut k = 0;
    while k < 8 {
        let [down, right] = D8::OFFSETS[k];
        positions[k] = [HERE[0].wrapping_add_signed(down), HERE[1].wrapping_add_signed(right)];
        k += 1;
    }
    positions
};

/// A row and its northern and southern neighbour rows, each with one padding cell before it and at least one after
/// it. The padding is the wall value, or the cell across the seam if columns are looped.
pub struct Near<T> {
    /// The northern row, the row itself and the southern row; column `j` of the grid is at index `j + 1`.
    pub rows: [Vec<T>; 3],
    topology: Topology,
    wall: T,
}

impl<T: Copy> Near<T> {
    /// Creates rows that are filled with `wall`.
    pub fn new(topology: Topology, wall: T) -> Self {
        // The two additional cells are the padding before the first and after the last column, so that no kernel checks
        // columns.
        Self { rows: [0; 3].map(|_| vec![wall; round_up_to_blocks(topology.size[1]) + 2]), topology, wall }
    }

    /// Advances to row `i`, from row i − 1 unless `fresh`; `read` fills a row.
    pub fn advance_to_row(&mut self, i: usize, fresh: bool, read: impl Fn(usize, &mut [T])) {
        let Topology { size: [_, cols], looped } = self.topology;
        let fill = |row: &mut Vec<T>, at: isize| match self.topology.wrap_line(0, at) {
            Some(i) => {
                read(i, &mut row[1..=cols]);
                if looped[1] {
                    (row[0], row[cols + 1]) = (row[cols], row[1]);
                }
            }
            // Beyond the first and the last row of a grid without looped rows there is only wall.
            None => row.fill(self.wall),
        };
        let at = i as isize;
        let [north, here, south] = &mut self.rows;
        if fresh {
            fill(north, at - 1);
            fill(here, at);
        } else {
            // The rows move up by one. The buffer of the former northern row receives the new southern row.
            std::mem::swap(north, here);
            std::mem::swap(here, south);
        }
        fill(south, at + 1);
    }
}

/// Rounds `cols` up to whole blocks.
pub fn round_up_to_blocks(cols: usize) -> usize {
    cols.next_multiple_of(BLOCK)
}

/// Returns a block of the neighbour at position `[row, shift]`, from column `j` on.
#[inline(always)]
pub fn read_block<T: Copy + Default>(rows: &[Vec<T>; 3], [row, shift]: [usize; 2], j: usize) -> Block<T> {
    let mut values = [T::default(); BLOCK];
    values.copy_from_slice(&rows[row][j + shift..j + shift + BLOCK]);
    values
}

/// Reads a row's heights, with walls where there is no data. Ground is clamped below the wall, although it never
/// reaches it.
pub fn read_heights(ground: &Field<Height>, roles: &Field<CellRole>, i: usize, row: &mut [i32]) {
    read_walled_heights(ground.row(i), roles.row(i), row);
}

/// The vectorised part of [`read_heights`].
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn read_walled_heights(ground: &[Height], roles: &[CellRole], row: &mut [i32]) {
    for ((to, from), part) in row.iter_mut().zip(ground).zip(roles) {
        // A mask of all ones or all zeros, to select without a branch.
        let void = -i32::from(*part == CellRole::Void);
        *to = (from.0.min(WALL - 1) & !void) | (WALL & void);
    }
}
