//! [`TileGrid`]: the partition of a grid into square tiles.

use crate::base::error::{Error, Result};
use crate::terrain::d8::D8;
use crate::terrain::field::Size;
use crate::terrain::{Cell, CellRect};

/// The partition of a grid into square tiles of one size, with smaller tiles in the last row and column. Tiles are
/// numbered row by row from the north-west.
///
/// The halo is an argument and not a field, because a pass over tiles reads each layer with a halo of its own.
///
/// # Examples
/// ```
/// use thalweg_core::terrain::{CellRect, TileGrid};
///
/// let tiles = TileGrid::new([100, 150], 64)?;
/// assert_eq!(tiles.tile_count(), 6);
/// assert_eq!(tiles.tile_window(5), CellRect::new([64, 128], [36, 22]));
/// assert_eq!(tiles.window_with_halo(5, 2), CellRect::new([62, 126], [38, 24]));
/// # Ok::<(), thalweg_core::base::error::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileGrid {
    size: Size,
    tile_size: usize,
}

impl TileGrid {
    /// The greatest side of a tile in cells: the indices of its cells and of a halo of a few cells fit in 32 bits.
    pub const MAX_TILE_SIZE: usize = 1 << 15;

    /// Divides a grid of `size` cells (rows, columns) into tiles of `tile_size` × `tile_size` cells.
    ///
    /// # Errors
    /// Returns an error if the grid has no cell or more than 2⁶², or if the tile size is not 1 to
    /// [`MAX_TILE_SIZE`](Self::MAX_TILE_SIZE). For example, tiles of 40 000 cells are too large.
    pub fn new(size: Size, tile_size: usize) -> Result<Self> {
        let cells = (size[0] as u64).checked_mul(size[1] as u64);
        if cells.is_none_or(|cells| !(1..=1 << 62).contains(&cells)) {
            return Err(Error::invalid_value(
                "size",
                format!("{} × {} cells", size[0], size[1]),
                "1 to 2^62 cells in all",
            ));
        }
        if !(1..=Self::MAX_TILE_SIZE).contains(&tile_size) {
            let allowed = format!("1 to {} cells", Self::MAX_TILE_SIZE);
            return Err(Error::invalid_value("tile side", format!("{tile_size} cells"), allowed));
        }
        Ok(Self { size, tile_size })
    }

    /// Returns the rows and columns of the grid.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns the side of a tile in cells.
    pub fn tile_size(&self) -> usize {
        self.tile_size
    }

    /// Returns the numbers of rows and of columns of tiles. For example, 100 × 150 cells make 2 rows and 3 columns of
    /// tiles of 64 cells.
    pub fn tiles_per_axis(&self) -> Size {
        self.size.map(|cells| cells.div_ceil(self.tile_size))
    }

    /// Returns the number of tiles.
    pub fn tile_count(&self) -> usize {
        let [rows, cols] = self.tiles_per_axis();
        rows * cols
    }

    /// Returns the tile's own cells.
    pub fn tile_window(&self, tile: usize) -> CellRect {
        self.window_with_halo(tile, 0)
    }

    /// Returns the tile's cells and `halo` rows and columns on each side, clipped to the grid.
    pub fn window_with_halo(&self, tile: usize, halo: usize) -> CellRect {
        let cols = self.tiles_per_axis()[1];
        let at = [tile / cols, tile % cols];
        let start = [0, 1].map(|axis| (at[axis] * self.tile_size).saturating_sub(halo));
        // The last tiles and the halo at the grid's edges are clipped to the grid.
        let end = |axis: usize| ((at[axis] + 1) * self.tile_size).saturating_add(halo).min(self.size[axis]);
        let size = [0, 1].map(|axis| end(axis) - start[axis]);
        CellRect::new(start, size)
    }

    /// Returns the tiles with at least one cell in the tile's [window with that halo](Self::window_with_halo), in the
    /// order of their numbers. The tile itself is one of them.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::terrain::TileGrid;
    ///
    /// // Two rows of three tiles.
    /// let tiles = TileGrid::new([100, 150], 64)?;
    /// assert_eq!(tiles.tiles_within_halo(0, 1), [0, 1, 3, 4]);
    /// assert_eq!(tiles.tiles_within_halo(0, 0), [0]);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn tiles_within_halo(&self, tile: usize, halo: usize) -> Vec<usize> {
        let window = self.window_with_halo(tile, halo);
        // The window's end is exclusive, so its last cell is one before it.
        let (first, last) =
            (window.start.map(|at| at / self.tile_size), window.end.map(|at| (at - 1) / self.tile_size));
        let cols = self.tiles_per_axis()[1];
        (first.row..=last.row).flat_map(|i| (first.col..=last.col).map(move |j| i * cols + j)).collect()
    }

    /// Checks that the grid has a tile of this number.
    ///
    /// # Errors
    /// Returns an error if it has none.
    pub fn check_tile(&self, tile: usize) -> Result<()> {
        let count = self.tile_count();
        if tile < count { Ok(()) } else { Err(Error::invalid_value("tile", tile, format!("0 to {}", count - 1))) }
    }

    /// Checks that there is one summary for each tile.
    ///
    /// # Errors
    /// Returns an error if there are fewer or more.
    pub fn check_count(&self, summaries: usize) -> Result<()> {
        let count = self.tile_count();
        if summaries == count {
            Ok(())
        } else {
            Err(Error::invalid_value("number of summaries", summaries, format!("{count}")))
        }
    }

    /// Returns the number of cells on the rims of all tiles.
    pub fn rim_cell_count(&self) -> u64 {
        let [down, across] = self.tiles_per_axis();
        // There are four kinds of tiles: complete ones, those of the last row, those of the last column, and the corner
        // tile.
        let kinds = |axis: usize, count: usize| {
            let last = self.size[axis] - (count - 1) * self.tile_size;
            [(count - 1, self.tile_size), (1, last)]
        };
        let pairs = kinds(0, down).into_iter().flat_map(|rows| kinds(1, across).map(|cols| (rows, cols)));
        pairs.map(|((n, rows), (m, cols))| (n * m) as u64 * Rim([rows, cols]).len() as u64).sum()
    }

    /// Returns the row-major index of a cell of the grid.
    pub fn index(&self, cell: impl Into<Cell>) -> u64 {
        let Cell { row, col } = cell.into();
        row as u64 * self.size[1] as u64 + col as u64
    }

    /// Returns the cell of the grid at a row-major index.
    pub fn cell_from_index(&self, index: u64) -> Cell {
        let cols = self.size[1] as u64;
        Cell { row: (index / cols) as usize, col: (index % cols) as usize }
    }

    /// Returns the tile that contains a cell of the grid, and the cell's position on the tile's rim if it is on the
    /// rim.
    pub fn locate_cell(&self, cell: impl Into<Cell>) -> (usize, Option<usize>) {
        let cell = cell.into();
        let at = cell.map(|at| at / self.tile_size);
        let tile = at[0] * self.tiles_per_axis()[1] + at[1];
        let window = self.tile_window(tile);
        let (start, size) = (window.start, window.size());
        (tile, Rim(size).position_of_cell(Cell::from_axes(|axis| cell[axis] - start[axis])))
    }

    /// Returns the neighbour of a cell in a direction, if the grid has one.
    pub fn neighbour_cell(&self, cell: impl Into<Cell>, direction: D8) -> Option<Cell> {
        let cell = cell.into();
        let [down, right] = direction.offset();
        // A row or column of −1 wraps to the largest number and fails the comparison below.
        let to = Cell { row: cell.row.wrapping_add_signed(down), col: cell.col.wrapping_add_signed(right) };
        (to.row < self.size[0] && to.col < self.size[1]).then_some(to)
    }

    /// Returns the neighbour of a cell in a direction if it is in another tile: that tile, and the position on its rim.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::terrain::TileGrid;
    /// use thalweg_core::terrain::d8::D8;
    ///
    /// // Two rows of three tiles: south of tile 0 is tile 3.
    /// let tiles = TileGrid::new([100, 150], 64)?;
    /// assert_eq!(tiles.across_border([63, 5], D8::South), Some((3, 5)));
    /// assert_eq!(tiles.across_border([63, 5], D8::North), None);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn across_border(&self, cell: impl Into<Cell>, direction: D8) -> Option<(usize, usize)> {
        let cell = cell.into();
        let to = self.neighbour_cell(cell, direction)?;
        let other = (0..2).any(|axis| to[axis] / self.tile_size != cell[axis] / self.tile_size);
        if !other {
            return None;
        }
        // A neighbour in another tile is on the rim of that tile.
        let (tile, place) = self.locate_cell(to);
        Some((tile, place?))
    }
}

/// The rim of a tile of this many rows and columns, at least one of each: its outermost cells in row-major order.
#[derive(Debug, Clone, Copy)]
pub struct Rim(pub Size);

#[allow(clippy::len_without_is_empty)] // a tile has at least one cell, and so has its rim
impl Rim {
    /// Returns the number of cells.
    pub fn len(self) -> usize {
        let [rows, cols] = self.0;
        // The first and the last row are complete; each row between has two cells, or one if there is a single column.
        if rows == 1 { cols } else { 2 * cols + (rows - 2) * cols.min(2) }
    }

    /// Returns the position on the rim of a cell of the tile, if it is on the rim.
    pub fn position_of_cell(self, cell: impl Into<Cell>) -> Option<usize> {
        let Cell { row: i, col: j } = cell.into();
        let [rows, cols] = self.0;
        let between = cols.min(2);
        // Positions run in row-major order: the first row, the ends of the rows between, and the last row.
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

    /// Returns the cell of the tile at a position on the rim.
    pub fn cell_from_position(self, place: usize) -> Cell {
        let [rows, cols] = self.0;
        let between = cols.min(2);
        if place < cols {
            return Cell { row: 0, col: place };
        }
        // `last` is the number of rim cells in the rows between the first and the last one.
        let (side, last) = (place - cols, (rows.max(2) - 2) * between);
        if side >= last {
            Cell { row: rows - 1, col: side - last }
        } else {
            Cell { row: 1 + side / between, col: side % between * (cols - 1) }
        }
    }

    /// Iterates over all cells of the rim.
    pub fn cells(self) -> impl Iterator<Item = Cell> {
        let [rows, cols] = self.0;
        (0..rows).flat_map(move |i| {
            // Rows between the first and the last one contribute their two ends; a single column is visited once.
            let step = if i == 0 || i + 1 == rows { 1 } else { (cols - 1).max(1) };
            (0..cols).step_by(step).map(move |j| Cell { row: i, col: j })
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
                cells.iter().enumerate().all(|(place, cell)| rim.position_of_cell(*cell) == Some(place)
                    && rim.cell_from_position(place) == *cell)
            );
            let inner = (0..rows)
                .flat_map(|i| (0..cols).map(move |j| Cell { row: i, col: j }))
                .filter(|cell| rim.position_of_cell(*cell).is_none());
            assert_eq!(inner.count(), rows.saturating_sub(2) * cols.saturating_sub(2));
        }
    }

    #[test]
    fn rims_are_those_of_all_tiles() {
        for (size, side) in [([1, 1], 1), ([7, 5], 3), ([9, 9], 3), ([64, 100], 32), ([5, 40], 64)] {
            let tiling = TileGrid::new(size, side).unwrap();
            let each = (0..tiling.tile_count()).map(|tile| Rim(tiling.tile_window(tile).size()).len() as u64);
            assert_eq!(tiling.rim_cell_count(), each.sum::<u64>(), "{size:?} by {side}");
        }
    }
}
