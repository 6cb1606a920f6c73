//! [`ItemNumbering`]: numbers items from 1 on, in row-major order of their first cells in the map.
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
    pub(super) fn count_before_in_row(&self, k: u32) -> u32 {
        let start = (k as usize / self.cols * self.cols) as u32;
        // The list is sorted, so two bisections count the items between the row's first cell and this one.
        let at = |end: u32| self.firsts.partition_point(|first| *first < end);
        (at(k) - at(start)) as u32
    }

    /// Writes the number of items that begin in each row.
    pub(super) fn write(&self, writer: &mut Writer) {
        let mut remaining = self.firsts.as_slice();
        for row in 1..=self.rows {
            let count = remaining.partition_point(|first| (*first as usize) < row * self.cols);
            remaining = &remaining[count..];
            writer.write_number(count as u64);
        }
    }
}

/// Where an item that tiles share begins, as known by one of its parts. The least of these is the beginning of the
/// item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ItemStart {
    /// The map index of the first cell.
    pub(super) first: u64,
    /// The number of closed items that begin before it in the same row of the tile.
    pub(super) before: u32,
}

/// For each row of each tile, the number of items that begin there; after [`assign_numbers`](Self::assign_numbers),
/// the number of the first of them.
pub(super) struct ItemNumbering {
    tiling: TileGrid,
    /// In order of the map's rows, then of the columns of tiles.
    starts: Vec<u64>,
}

impl ItemNumbering {
    pub(super) fn new(tiling: TileGrid) -> Self {
        Self { tiling, starts: vec![0; tiling.size()[0] * tiling.tiles_per_axis()[1]] }
    }

    fn segment_index(&self, Cell { row: i, col: j }: Cell) -> usize {
        i * self.tiling.tiles_per_axis()[1] + j / self.tiling.tile_size()
    }

    /// Adds the counts that [`Closed::write`] wrote for a tile.
    pub(super) fn add_counts(&mut self, tile: usize, reader: &mut Reader<'_>) -> Result<()> {
        let window = self.tiling.tile_window(tile);
        for row in 0..window.size()[0] {
            let at = self.segment_index(Cell::new(window.start[0] + row, window.start[1]));
            self.starts[at] += reader.read_number_below(window.size()[1] + 1)? as u64;
        }
        Ok(())
    }

    /// Numbers all items: the closed ones, and those that begin at `begins`, given in ascending order. `name`
    /// describes them in errors. Returns the numbers of the latter, and the total count.
    pub(super) fn assign_numbers(&mut self, name: &str, begins: &[ItemStart]) -> Result<(Vec<u32>, u64)> {
        // A segment is one row of one tile. Segments are in row-major order of the map, so running totals over them
        // give the numbers of the first items.
        let segments: Vec<usize> =
            begins.iter().map(|begin| self.segment_index(self.tiling.cell_from_index(begin.first))).collect();
        segments.iter().for_each(|segment| self.starts[*segment] += 1);
        let mut next = 1u64;
        for start in &mut self.starts {
            // Each count is replaced by the number of the first item of its segment (an exclusive prefix sum).
            next += std::mem::replace(start, next);
        }
        let max_number = u64::from(u32::MAX);
        if next > max_number {
            let allowed = format!("fewer than {max_number}, because they are numbered with 32 bits");
            return Err(Error::invalid_value(name, next - 1, allowed));
        }
        let mut numbers = Vec::with_capacity(begins.len());
        let (mut segment, mut shared) = (usize::MAX, 0);
        for (begin, at) in begins.iter().zip(segments) {
            // The beginnings are sorted, so those of one segment follow one another. Each comes after the closed items
            // before it and after the shared ones of the same segment.
            shared = if at == segment { shared + 1 } else { 0 };
            segment = at;
            // The number is below `next`, which fits 32 bits.
            numbers.push((self.starts[at] + u64::from(begin.before) + shared) as u32);
        }
        Ok((numbers, next - 1))
    }

    /// Writes a tile's part of its answer: for each of its rows, the number of the first item that begins there.
    pub(super) fn write_row_starts(&self, tile: usize, writer: &mut Writer) {
        let window = self.tiling.tile_window(tile);
        for row in 0..window.size()[0] {
            writer.write_difference(
                self.starts[self.segment_index(Cell::new(window.start[0] + row, window.start[1]))] as i64,
            );
        }
    }
}

/// The numbers that a tile assigns, row by row.
pub(super) struct Counter {
    cols: usize,
    next: Vec<u32>,
}

impl Counter {
    /// Reads what [`ItemNumbering::write_row_starts`] wrote.
    pub(super) fn from_reader([rows, cols]: [usize; 2], reader: &mut Reader<'_>) -> Result<Self> {
        let next = (0..rows).map(|_| {
            let number = reader.read_difference()?;
            u32::try_from(number).map_err(|_| reader.damage_error())
        });
        Ok(Self { cols, next: next.collect::<Result<_>>()? })
    }

    /// Returns the number of the next item that begins in the tile, at the cell of index `k`. Must be called in
    /// ascending order of `k`.
    pub(super) fn next_number(&mut self, k: u32) -> u32 {
        let next = &mut self.next[k as usize / self.cols];
        let number = *next;
        // The counter may wrap after the last number, which is not used then.
        *next = number.wrapping_add(1);
        number
    }
}
