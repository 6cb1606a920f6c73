//! [`Tiling`]: a map cut into square tiles.

use thalweg_core::base::error::{Error, Result};
use thalweg_core::terrain::CellRect;
use thalweg_core::terrain::field::Size;
use thalweg_flow::D8;

/// A map cut into square tiles, smaller ones in the last row and column. Tiles are numbered row by row from the north-west.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiling {
    size: Size,
    side: usize,
}

/// The greatest side of a tile: indices of its cells and of a few round it fit 32 bits.
pub const MOST: usize = 1 << 15;

impl Tiling {
    /// A map of `size` cells (rows, columns) in tiles of `side` cells.
    ///
    /// # Errors
    /// When the map has no cell or more than 2⁶², or the side is not 1 to [`MOST`].
    pub fn new(size: Size, side: usize) -> Result<Self> {
        let cells = (size[0] as u64).checked_mul(size[1] as u64);
        if cells.is_none_or(|cells| !(1..=1 << 62).contains(&cells)) {
            return Err(Error::value("size", format!("{} × {} cells", size[0], size[1]), "1 to 2^62 cells in all"));
        }
        if !(1..=MOST).contains(&side) {
            return Err(Error::value("side of a tile", format!("{side} cells"), format!("1 to {MOST} cells")));
        }
        Ok(Self { size, side })
    }

    /// Rows and columns of the map.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Cells of a tile's side.
    pub fn side(&self) -> usize {
        self.side
    }

    /// Rows and columns of tiles.
    pub fn across(&self) -> Size {
        self.size.map(|cells| cells.div_ceil(self.side))
    }

    /// Number of tiles.
    pub fn count(&self) -> usize {
        let [rows, cols] = self.across();
        rows * cols
    }

    /// The own cells of a tile of the map.
    pub fn window(&self, tile: usize) -> CellRect {
        self.around(tile, 0)
    }

    /// The tile's cells and `more` rows and columns on each side, where the map has them.
    pub fn around(&self, tile: usize, more: usize) -> CellRect {
        let cols = self.across()[1];
        let at = [tile / cols, tile % cols];
        let start = [0, 1].map(|axis| (at[axis] * self.side).saturating_sub(more));
        let size = [0, 1].map(|axis| ((at[axis] + 1) * self.side + more).min(self.size[axis]) - start[axis]);
        CellRect::new(start, size)
    }

    /// The tiles that hold any of the cells [around](Tiling::around) a tile, itself with them, in the order of their numbers.
    pub fn near(&self, tile: usize, more: usize) -> Vec<usize> {
        let window = self.around(tile, more);
        let (first, last) = (window.start.map(|at| at / self.side), window.end.map(|at| (at - 1) / self.side));
        let cols = self.across()[1];
        (first.row..=last.row).flat_map(|i| (first.col..=last.col).map(move |j| i * cols + j)).collect()
    }

    /// Refuses a tile that is none of the map.
    pub(super) fn check(&self, tile: usize) -> Result<()> {
        let count = self.count();
        if tile < count { Ok(()) } else { Err(Error::value("tile", tile, format!("0 to {}", count - 1))) }
    }

    /// Refuses another number of summaries than there are tiles.
    pub(super) fn check_count(&self, summaries: usize) -> Result<()> {
        let count = self.count();
        if summaries == count { Ok(()) } else { Err(Error::value("summaries", summaries, format!("{count}"))) }
    }

    /// Cells on the rims of all tiles.
    pub(super) fn rims(&self) -> u64 {
        let [down, across] = self.across();
        // Tiles are of four kinds: with all their rows and columns, and those of the last row and column.
        let kinds = |axis: usize, count: usize| {
            let last = self.size[axis] - (count - 1) * self.side;
            [(count - 1, self.side), (1, last)]
        };
        let pairs = kinds(0, down).into_iter().flat_map(|rows| kinds(1, across).map(|cols| (rows, cols)));
        pairs.map(|((n, rows), (m, cols))| (n * m) as u64 * Rim([rows, cols]).len() as u64).sum()
    }

    /// Index in row-major order of a cell of the map.
    pub(super) fn index(&self, [i, j]: [usize; 2]) -> u64 {
        i as u64 * self.size[1] as u64 + j as u64
    }

    /// The cell of the map of that index.
    pub(super) fn cell(&self, index: u64) -> [usize; 2] {
        let cols = self.size[1] as u64;
        [(index / cols) as usize, (index % cols) as usize]
    }

    /// The tile that holds a cell of the map, and the cell's place on its rim, if it is on that.
    pub(super) fn place(&self, cell: [usize; 2]) -> (usize, Option<usize>) {
        let at = cell.map(|at| at / self.side);
        let tile = at[0] * self.across()[1] + at[1];
        let window = self.window(tile);
        let (start, size) = (window.start, window.size());
        (tile, Rim(size).place([cell[0] - start[0], cell[1] - start[1]]))
    }

    /// The neighbour of a cell of the map in a direction, if the map has it.
    pub(super) fn step(&self, cell: [usize; 2], direction: D8) -> Option<[usize; 2]> {
        let [down, right] = direction.offset();
        let to = [cell[0].wrapping_add_signed(down), cell[1].wrapping_add_signed(right)];
        (to[0] < self.size[0] && to[1] < self.size[1]).then_some(to)
    }

    /// The position of the neighbour of a cell of the map in a direction, if it is on another tile: the tile and the
    /// place on its rim.
    pub(super) fn across_border(&self, cell: [usize; 2], direction: D8) -> Option<(usize, usize)> {
        let to = self.step(cell, direction)?;
        let other = (0..2).any(|axis| to[axis] / self.side != cell[axis] / self.side);
        if !other {
            return None;
        }
        // What lies beside another tile is on its rim.
        let (tile, place) = self.place(to);
        Some((tile, place?))
    }
}

/// The outermost cells of a tile of so many rows and columns, in row-major order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rim(pub(super) Size);

impl Rim {
    pub(super) fn len(self) -> usize {
        let [rows, cols] = self.0;
        if rows == 1 { cols } else { 2 * cols + (rows - 2) * cols.min(2) }
    }

    /// Where a cell of the tile stands on the rim.
    pub(super) fn place(self, [i, j]: [usize; 2]) -> Option<usize> {
        let [rows, cols] = self.0;
        let between = cols.min(2);
        if i == 0 {
            Some(j)
        } else if i + 1 == rows {
            Some(cols + (rows - 2) * between + j)
        } else if j == 0 {
            Some(cols + (i - 1) * between)
        } else if j + 1 == cols {
            Some(cols + i * between - 1)
        } else {
            None
        }
    }

    /// The cell of the tile at a place on the rim.
    pub(super) fn cell(self, place: usize) -> [usize; 2] {
        let [rows, cols] = self.0;
        let between = cols.min(2);
        if place < cols {
            return [0, place];
        }
        let (side, last) = (place - cols, (rows.max(2) - 2) * between);
        if side >= last { [rows - 1, side - last] } else { [1 + side / between, side % between * (cols - 1)] }
    }

    /// The cells of the tile that are on the rim.
    pub(super) fn cells(self) -> impl Iterator<Item = [usize; 2]> {
        let [rows, cols] = self.0;
        (0..rows).flat_map(move |i| {
            let step = if i == 0 || i + 1 == rows { 1 } else { (cols - 1).max(1) };
            (0..cols).step_by(step).map(move |j| [i, j])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rim_counts_its_cells_once_in_order() {
        for (rows, cols) in (1..7).flat_map(|rows| (1..7).map(move |cols| (rows, cols))) {
            let rim = Rim([rows, cols]);
            let cells: Vec<_> = rim.cells().collect();
            assert_eq!(cells.len(), rim.len(), "{rows} × {cols}");
            assert!(
                cells
                    .iter()
                    .enumerate()
                    .all(|(place, cell)| rim.place(*cell) == Some(place) && rim.cell(place) == *cell)
            );
            let inner =
                (0..rows).flat_map(|i| (0..cols).map(move |j| [i, j])).filter(|cell| rim.place(*cell).is_none());
            assert_eq!(inner.count(), rows.saturating_sub(2) * cols.saturating_sub(2));
        }
    }

    #[test]
    fn rims_are_those_of_all_tiles() {
        for (size, side) in [([1, 1], 1), ([7, 5], 3), ([9, 9], 3), ([64, 100], 32), ([5, 40], 64)] {
            let tiling = Tiling::new(size, side).unwrap();
            let each = (0..tiling.count()).map(|tile| Rim(tiling.window(tile).size()).len() as u64);
            assert_eq!(tiling.rims(), each.sum::<u64>(), "{size:?} by {side}");
        }
    }
}
