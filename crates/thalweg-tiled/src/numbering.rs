//! [`Numbering`]: numbers items from 1 on, in row-major order of their first cells in the map.
//!
//! Items inside one tile are only counted there, by rows: given the number of the first item in each of its rows, the
//! tile numbers the rest itself. Solving therefore only requires one count per row and tile, and the items that
//! extend over rims.

use crate::codec::{Reader, Writer};
use thalweg_core::terrain::TileGrid;
use thalweg_core::{Cell, Error, Result};

/// The items in a tile that other tiles need not know of, by their first cells.
pub(super) struct Closed {
    /// Number of cells in a row of the tile.
    cols: usize,
    rows: usize,
    /// Tile indices of their first cells, in ascending order.
    firsts: Vec<u32>,
}

impl Closed {
    /// Creates the list; `firsts` must be in ascending order.
    pub(super) fn new([rows, cols]: [usize; 2], firsts: Vec<u32>) -> Self {
        Self { cols, rows, firsts }
    }

    /// Returns the number of items that begin in the same row of the tile before the cell of index `k`.
    pub(super) fn before(&self, k: u32) -> u32 {
        let start = (k as usize / self.cols * self.cols) as u32;
        let at = |end: u32| self.firsts.partition_point(|first| *first < end);
        (at(k) - at(start)) as u32
    }

    /// Writes the number of items that begin in each row.
    pub(super) fn write(&self, writer: &mut Writer) {
        let mut left = self.firsts.as_slice();
        for row in 1..=self.rows {
            let count = left.partition_point(|first| (*first as usize) < row * self.cols);
            left = &left[count..];
            writer.number(count as u64);
        }
    }
}

/// Where an item that tiles share begins, as known by one of its parts. The least of these is the beginning of the
/// item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Begin {
    /// The map index of the first cell.
    pub(super) first: u64,
    /// The number of closed items that begin before it in the same row of the tile.
    pub(super) before: u32,
}

/// For each row of each tile, the number of items that begin there; after [`settle`](Self::settle), the number of the
/// first of them.
pub(super) struct Numbering {
    tiling: TileGrid,
    /// In order of the map's rows, then of the columns of tiles.
    starts: Vec<u64>,
}

impl Numbering {
    pub(super) fn new(tiling: TileGrid) -> Self {
        Self { tiling, starts: vec![0; tiling.size()[0] * tiling.shape()[1]] }
    }

    fn segment(&self, Cell { row: i, col: j }: Cell) -> usize {
        i * self.tiling.shape()[1] + j / self.tiling.tile_size()
    }

    /// Adds the counts that [`Closed::write`] wrote for a tile.
    pub(super) fn read(&mut self, tile: usize, reader: &mut Reader<'_>) -> Result<()> {
        let window = self.tiling.window(tile);
        for row in 0..window.size()[0] {
            let at = self.segment(Cell::new(window.start[0] + row, window.start[1]));
            self.starts[at] += reader.below(window.size()[1] + 1)? as u64;
        }
        Ok(())
    }

    /// Numbers all items: the closed ones, and those that begin at `begins`, given in ascending order. `name`
    /// describes them in errors. Returns the numbers of the latter, and the total count.
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
            // The number is below `next`, which fits 32 bits.
            numbers.push((self.starts[at] + u64::from(begin.before) + shared) as u32);
        }
        Ok((numbers, next - 1))
    }

    /// Writes a tile's part of its answer: for each of its rows, the number of the first item that begins there.
    pub(super) fn write(&self, tile: usize, writer: &mut Writer) {
        let window = self.tiling.window(tile);
        for row in 0..window.size()[0] {
            writer.near(self.starts[self.segment(Cell::new(window.start[0] + row, window.start[1]))] as i64);
        }
    }
}

/// The numbers that a tile assigns, row by row.
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

    /// Returns the number of the next item that begins in the tile, at the cell of index `k`. Must be called in
    /// ascending order of `k`.
    pub(super) fn take(&mut self, k: u32) -> u32 {
        let next = &mut self.next[k as usize / self.cols];
        let number = *next;
        *next = number.wrapping_add(1);
        number
    }
}
