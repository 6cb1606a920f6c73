//! [`Numbering`]: numbers from 1 on for things, in the order in which rows from the north, and columns from the west, first meet them.
//!
//! What lies within a tile is only counted there, by rows: with the number of the first thing in each of its rows a tile numbers the rest by
//! itself. So who solves holds a count for each row of each tile, and what goes on over rims.

use crate::codec::{Reader, Writer};
use thalweg_core::terrain::TileGrid;
use thalweg_core::{Cell, Error, Result};

/// Things in a tile that others need not know of, by their first cells.
pub(super) struct Closed {
    /// Cells of a row of the tile.
    cols: usize,
    rows: usize,
    /// Indices in the tile of their first cells, in rising order.
    firsts: Vec<u32>,
}

impl Closed {
    /// `firsts` in rising order.
    pub(super) fn new([rows, cols]: [usize; 2], firsts: Vec<u32>) -> Self {
        Self { cols, rows, firsts }
    }

    /// How many of them a row of the tile meets first, before the cell of index `k`.
    pub(super) fn before(&self, k: u32) -> u32 {
        let start = (k as usize / self.cols * self.cols) as u32;
        let at = |end: u32| self.firsts.partition_point(|first| *first < end);
        (at(k) - at(start)) as u32
    }

    /// How many each row meets first.
    pub(super) fn write(&self, writer: &mut Writer) {
        let mut left = self.firsts.as_slice();
        for row in 1..=self.rows {
            let count = left.partition_point(|first| (*first as usize) < row * self.cols);
            left = &left[count..];
            writer.number(count as u64);
        }
    }
}

/// Where a thing that tiles share begins, as each of its parts knows it; the least is the thing's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Begin {
    /// Index in the map of the first cell.
    pub(super) first: u64,
    /// Closed things that the tile's row meets before it.
    pub(super) before: u32,
}

/// How many things begin in each row of each tile, and then the number of the first of them.
pub(super) struct Numbering {
    tiling: TileGrid,
    /// By rows of the map, then by columns of tiles.
    starts: Vec<u64>,
}

impl Numbering {
    pub(super) fn new(tiling: TileGrid) -> Self {
        Self { tiling, starts: vec![0; tiling.size()[0] * tiling.shape()[1]] }
    }

    fn segment(&self, Cell { row: i, col: j }: Cell) -> usize {
        i * self.tiling.shape()[1] + j / self.tiling.tile_size()
    }

    /// Counts what [`Closed::write`] wrote of a tile.
    pub(super) fn read(&mut self, tile: usize, reader: &mut Reader<'_>) -> Result<()> {
        let window = self.tiling.window(tile);
        for row in 0..window.size()[0] {
            let at = self.segment(Cell::new(window.start[0] + row, window.start[1]));
            self.starts[at] += reader.below(window.size()[1] + 1)? as u64;
        }
        Ok(())
    }

    /// Numbers all things: the closed ones, and those that begin where `begins` says, in rising order. `name` is what they are. Gives the
    /// numbers of the latter, and how many there are in all.
    pub(super) fn settle(&mut self, name: &str, begins: &[Begin]) -> Result<(Vec<u32>, u64)> {
        let segments: Vec<usize> = begins.iter().map(|begin| self.segment(self.tiling.cell(begin.first))).collect();
        segments.iter().for_each(|segment| self.starts[*segment] += 1);
        let mut next = 1u64;
        for start in &mut self.starts {
            next += std::mem::replace(start, next);
        }
        let most = u64::from(u32::MAX);
        if next > most {
            return Err(Error::value(name, next - 1, format!("fewer than {most}: numbers have 32 bits")));
        }
        let mut numbers = Vec::with_capacity(begins.len());
        let (mut segment, mut shared) = (usize::MAX, 0);
        for (begin, at) in begins.iter().zip(segments) {
            shared = if at == segment { shared + 1 } else { 0 };
            segment = at;
            // Below the last number, which has 32 bits.
            numbers.push((self.starts[at] + u64::from(begin.before) + shared) as u32);
        }
        Ok((numbers, next - 1))
    }

    /// What a tile is told: for each of its rows the number of the first thing that begins there.
    pub(super) fn write(&self, tile: usize, writer: &mut Writer) {
        let window = self.tiling.window(tile);
        for row in 0..window.size()[0] {
            writer.near(self.starts[self.segment(Cell::new(window.start[0] + row, window.start[1]))] as i64);
        }
    }
}

/// The numbers that a tile gives, row by row.
pub(super) struct Counter {
    cols: usize,
    next: Vec<u32>,
}

impl Counter {
    /// Reads what [`Numbering::write`] wrote.
    pub(super) fn read([rows, cols]: [usize; 2], reader: &mut Reader<'_>) -> Result<Self> {
        let next = (0..rows).map(|_| {
            let number = reader.near()?;
            u32::try_from(number).map_err(|_| reader.damaged())
        });
        Ok(Self { cols, next: next.collect::<Result<_>>()? })
    }

    /// The number of the next thing that begins in the tile, at the cell of index `k`: they must be asked for in rising order.
    pub(super) fn take(&mut self, k: u32) -> u32 {
        let next = &mut self.next[k as usize / self.cols];
        let number = *next;
        *next = number.wrapping_add(1);
        number
    }
}
