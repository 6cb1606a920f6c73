//! [`Frame`]: the geometry of a world at all its levels. [`LocalWindow`]: elevation, receivers and drainage areas of
//! a rectangle of cells.

use thalweg_core::base::clock::YEAR;
use thalweg_core::terrain::LakeRaster;
use thalweg_core::terrain::grid::{Edges, SIDES};
use thalweg_core::{Cell, CellRect, Edge, Error, Field, Grid, Height, Result, Size};
use thalweg_flow::{D8, OUT};

/// The narrowest cell that a level may have, in metres. At this width a slope of 1 in 65 is one unit of height
/// (1/65 536 m) from cell to cell.
pub const MIN_CELL_WIDTH_M: f64 = 1e-3;

/// The most cells that a window may have: 2²⁸, which take some 12 GiB while they are computed. For example, a window of
/// 16 384 × 16 384 cells has just as many.
pub const MAX_WINDOW_CELLS: u64 = 1 << 28;

/// The geometry of a world at all its levels: level 0 is solved as a whole, and a cell of level L is 2⁻ᴸ times as
/// wide as a cell of level 0.
///
/// # Examples
/// ```
/// use thalweg_core::Grid;
/// use thalweg_refine::Frame;
///
/// let frame = Frame::from_grid(&Grid::new([64, 96], 100.0)?)?;
/// // Level 2 has four times as many rows and columns, of cells a quarter as wide.
/// assert_eq!(frame.world_rect(2).size(), [256, 384]);
/// assert_eq!(frame.cell_width(2), 25.0);
/// // Level 17 would have cells narrower than a millimetre.
/// frame.check(16)?;
/// assert!(frame.check(17).is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// World row and column of level 0's first cell. World metres are measured from the corner of cell (0, 0): the
    /// first cell of a terrain, or the cell in the middle of a world without practical bounds.
    pub first: Cell<i64>,
    /// Rows and columns of level 0. There may be more of them than fit into any memory.
    pub cells: Size,
    /// Width of level 0's cells in metres.
    pub cell: f64,
    /// The edges in the order north, east, south, west. Water leaves over open ones.
    pub edges: Edges,
    /// The sea level: cells at or below it are sea. `None` if there is no sea.
    pub sea: Option<Height>,
}

impl Frame {
    /// Returns the frame of a world whose level 0 has this grid.
    ///
    /// # Errors
    /// Returns an error if the grid is only a part of its world, is looped, or is refused by [`Grid::check`].
    pub fn from_grid(grid: &Grid) -> Result<Self> {
        grid.check()?;
        if grid.size != grid.world {
            let [rows, cols] = grid.size;
            return Err(Error::unsupported(
                "level 0",
                format!("cannot be a part of the world ({rows} × {cols} cells); give the whole world"),
            ));
        }
        if let Some(axis) = (0..2).find(|axis| grid.is_looped(*axis)) {
            let sides = format!("edges with {} and {} looped", SIDES[axis], SIDES[axis + 2]);
            return Err(Error::unsupported(sides, "are not supported by local levels; use open or closed edges"));
        }
        Ok(Self { first: Cell::new(0, 0), cells: grid.size, cell: grid.cell, edges: grid.edges, sea: grid.sea_level })
    }

    /// Returns the finest level that the world has, and the limit that determines it, in words.
    fn finest_level(&self) -> (u32, String) {
        // Two limits apply: the width of a cell that heights can resolve, and the number of cells that can be counted.
        let narrowest = (0..64).take_while(|level| self.cell_width(level + 1) >= MIN_CELL_WIDTH_M).count() as u32;
        let CellRect { start, end } = self.world_rect(0);
        let farthest = [start.row, start.col, end.row, end.col].into_iter().map(i64::unsigned_abs).max().unwrap_or(0);
        // Rows and columns may go up to 2⁶⁰: twice as many, and those of a window's margin, still fit into an `i64`.
        let counted = (farthest | 1).leading_zeros().saturating_sub(4);
        if counted < narrowest {
            return (counted, "rows and columns are limited to -2^60 to 2^60".into());
        }
        (narrowest, format!("heights in steps of 1/65536 m do not resolve cells narrower than {MIN_CELL_WIDTH_M} m"))
    }

    /// Checks that a level's cells are not too narrow, and not too many to be counted.
    ///
    /// # Errors
    /// Returns an error if they are narrower than [`MIN_CELL_WIDTH_M`], or farther than 2⁶⁰ rows or columns
    /// from the origin.
    pub fn check(&self, level: u32) -> Result<()> {
        let (finest, limit) = self.finest_level();
        if level > finest {
            return Err(Error::invalid_value("level", level, format!("0 to {finest}, because {limit}")));
        }
        Ok(())
    }

    /// Returns the width of a level's cells in metres. For example, if the cells of level 0 are 100 m wide, those of
    /// level 3 are 12.5 m wide.
    pub fn cell_width(&self, level: u32) -> f64 {
        self.cell / libm::exp2(f64::from(level))
    }

    /// Returns the rectangle of all cells of a level.
    pub fn world_rect(&self, level: u32) -> CellRect<i64> {
        // The rectangle saturates: levels with more cells than can be counted are refused by [`Frame::check`] and
        // never computed.
        // A shift by at most 63 bits of a 64-bit number fits 128 bits.
        let scaled = |n: i64| (i128::from(n) << level.min(63)).clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        let CellRect { start, end } = CellRect::new(self.first, self.cells);
        CellRect::from_corners(start.map(scaled), end.map(scaled))
    }

    /// Returns true if water leaves the world over an open edge at this world cell of a level.
    pub fn is_rim(&self, level: u32, cell: Cell<i64>) -> bool {
        let CellRect { start: Cell { row: north, col: west }, end: Cell { row: south, col: east } } =
            self.world_rect(level);
        let at = [cell.row == north, cell.col == east - 1, cell.row == south - 1, cell.col == west];
        at.into_iter().zip(self.edges).any(|(at, edge)| at && edge == Edge::Open)
    }

    /// Returns the sea level in units; if there is no sea, a value below all terrain.
    pub(super) fn sea_units(&self) -> i32 {
        self.sea.map_or(i32::MIN + 1, |sea| sea.0)
    }
}

/// Checks that a rectangle of a level is not empty, is inside `world`, and has at most [`MAX_WINDOW_CELLS`] cells.
///
/// # Errors
/// Returns an error that names its rows and columns otherwise.
pub fn check_window(rect: CellRect<i64>, world: CellRect<i64>) -> Result<()> {
    rect.check_within("window", world)?;
    if (rect.rows() as u64).checked_mul(rect.cols() as u64).is_none_or(|cells| cells > MAX_WINDOW_CELLS) {
        return Err(Error::invalid_value("window", rect.describe(), format!("at most {MAX_WINDOW_CELLS} cells")));
    }
    Ok(())
}

/// A rectangle of a level: elevation, receivers and drainage areas.
///
/// Two invariants hold ([`LocalWindow::check`] tests what a window alone can show of them). I1: a cell's receiver is
/// not higher than the cell (for a lake, its level counts), and following receivers never returns to the cell. I2: on
/// land, drainage areas never decrease downstream, so that cells of `area ≥ N · cell²` drain to such cells, for any
/// N.
///
/// # Examples
/// ```
/// use thalweg_core::{Field, Grid, Height, Terrain};
/// use thalweg_flow::OUT;
/// use thalweg_refine::LocalWindow;
///
/// // A slope to the south of 16 × 16 cells of 100 m².
/// let ground = Field::from_fn([16, 16], |i, _| Height::from_metres_clamped(32.0 - 2.0 * i as f64));
/// let terrain = Terrain::from_ground(Grid::new([16, 16], 10.0)?, ground)?;
/// let (frame, level_0) = LocalWindow::from_terrain(&terrain)?;
/// level_0.check(&frame)?;
/// // The drainage areas of the cells where water leaves sum to the world's area.
/// let cells = level_0.receivers.as_slice().iter().zip(level_0.area.as_slice());
/// let area: f64 = cells.filter(|(receiver, _)| **receiver == OUT).map(|(_, area)| f64::from(*area)).sum();
/// assert_eq!(area, 25_600.0);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LocalWindow {
    /// The level: 0 is the coarsest.
    pub level: u32,
    /// The rectangle in world cells of that level. All layers have its size.
    pub rect: CellRect<i64>,
    /// The elevation of the ground of each cell; under a lake, that of its bed.
    pub ground: Field<Height>,
    /// The direction of the neighbour to which each cell drains, 0 to 7 (see [`thalweg_flow`]), or [`OUT`].
    pub receivers: Field<u8>,
    /// The drainage area of each cell in m². It is counted as a whole number of cells and then carried to finer
    /// levels: nothing is summed twice.
    pub area: Field<f32>,
    /// The lakes over the cells; `None` if there are none.
    pub lakes: Option<LakeRaster>,
    /// The thickness of the sediment in each cell, as the upper part of its ground. Level 0 has it, and it is carried
    /// to finer levels if their rules have sand ([`Rules::sand`](crate::Rules::sand)). `None` if there is none.
    pub loose: Option<Field<Height>>,
}

impl LocalWindow {
    /// Returns the numbers of rows and columns.
    pub fn size(&self) -> Size {
        self.rect.size()
    }

    /// Returns the lake over a cell (row, column of the window): its number, 1 or more, and its level. `None` if
    /// there is none.
    #[inline]
    pub fn lake(&self, at: (usize, usize)) -> Option<(u32, Height)> {
        let lakes = self.lakes.as_ref()?;
        let id = lakes.id[at];
        (id != 0).then(|| (id, lakes.level[at]))
    }

    /// Returns the elevation of a cell's ground (row, column of the window), or that of the lake over it. The sea is
    /// not considered.
    #[inline]
    pub fn surface(&self, at: (usize, usize)) -> Height {
        self.lake(at).map_or(self.ground[at], |(_, level)| level)
    }

    /// Returns the mean discharge of each cell in m³/s if land yields `runoff` metres of water a year; 0 in the sea
    /// of this world. For example, a runoff of 0.5 m a year from 100 km² is 1.6 m³/s.
    pub fn discharge(&self, frame: &Frame, runoff: f64) -> Field<f32> {
        let yields = (runoff / YEAR) as f32;
        Field::from_fn(self.size(), |i, j| {
            let is_sea = frame.sea.is_some_and(|sea| self.ground[(i, j)] <= sea);
            if is_sea { 0.0 } else { self.area[(i, j)] * yields }
        })
    }

    /// Returns a part of the window: `rect` is in world cells of its level.
    ///
    /// # Errors
    /// Returns an error if the rectangle is empty or not inside the window.
    pub fn crop(&self, rect: CellRect<i64>) -> Result<Self> {
        check_window(rect, self.rect)?;
        let start = Cell::from_axes(|axis| (rect.start[axis] - self.rect.start[axis]) as usize);
        let window = CellRect::new(start, rect.size());
        Ok(Self {
            level: self.level,
            rect,
            ground: self.ground.copy_window(window),
            receivers: self.receivers.copy_window(window),
            area: self.area.copy_window(window),
            lakes: self.lakes.as_ref().and_then(|lakes| lakes.copy_window(window)),
            loose: self.loose.as_ref().map(|loose| loose.copy_window(window)),
        })
    }

    /// Checks that a level can have this window.
    ///
    /// # Errors
    /// Returns an error if the level is too fine ([`Frame::check`]), the rectangle is not one of the world, or a
    /// layer does not have the rectangle's size. Returns an error that names the cell if an elevation is outside the
    /// accepted range, a lake is lower than its bed, a receiver is not 0 to 8, outside the world or uphill, or if a
    /// drainage area is not above 0, or is larger than that of the receiver.
    pub fn check(&self, frame: &Frame) -> Result<()> {
        frame.check(self.level)?;
        let world = frame.world_rect(self.level);
        check_window(self.rect, world)?;
        self.check_sizes()?;
        let size = self.size();
        let sea = frame.sea_units();
        for i in 0..size[0] {
            for j in 0..size[1] {
                let place =
                    || format!("at row {}, column {}", self.rect.start[0] + i as i64, self.rect.start[1] + j as i64);
                let (z, code, area) = (self.ground[(i, j)], self.receivers[(i, j)], self.area[(i, j)]);
                if !(Height::MIN..=Height::MAX).contains(&z) {
                    return Err(Error::invalid_value("height", format!("{z} {}", place()), "-16000 to 16000 m"));
                }
                if !(area > 0.0 && area < f32::MAX) {
                    return Err(Error::invalid_value("area", format!("{area} m² {}", place()), "more than 0 m²"));
                }
                if code > OUT {
                    return Err(Error::invalid_value("receiver", format!("{code} {}", place()), "0 to 8"));
                }
                let surface = self.surface((i, j));
                if surface < z {
                    return Err(Error::invalid_value(
                        "level of a lake",
                        format!("{surface} {}", place()),
                        format!("{z} or more"),
                    ));
                }
                let Some(direction) = D8::from_code(code) else { continue };
                let to = direction.adjacent_cell(Cell::new(i as i64, j as i64));
                let on = Cell::from_axes(|axis| to[axis] + self.rect.start[axis]);
                if !world.contains_cell(on) {
                    return Err(Error::invalid_value(
                        "receiver",
                        format!("{code} {}", place()),
                        "a cell of the world, or 8",
                    ));
                }
                // Cells beyond the window are unknown here, so only receivers within it are checked.
                if !self.rect.contains_cell(on) {
                    continue;
                }
                let to = (to.row as usize, to.col as usize);
                let lower = self.surface(to);
                // A receiver in the sea counts as an outlet, whatever its elevation.
                if lower > surface && lower.0 > sea {
                    let allowed = format!("{surface} or less (receivers are no higher)");
                    return Err(Error::invalid_value(
                        "height of the receiver",
                        format!("{lower} {}", place()),
                        allowed,
                    ));
                }
                if self.area[to] < area && self.ground[to].0 > sea {
                    let allowed = format!("{area} m² or more (drainage areas grow downstream)");
                    return Err(Error::invalid_value(
                        "area of the receiver",
                        format!("{} m² {}", self.area[to], place()),
                        allowed,
                    ));
                }
            }
        }
        Ok(())
    }

    /// Checks that all layers have the rectangle's size.
    pub(super) fn check_sizes(&self) -> Result<()> {
        let size = self.size();
        let layers = [
            ("local.ground", self.ground.size()),
            ("local.receivers", self.receivers.size()),
            ("local.area", self.area.size()),
            ("local.lakes.id", self.lakes.as_ref().map_or(size, |lakes| lakes.id.size())),
            ("local.loose", self.loose.as_ref().map_or(size, Field::size)),
            ("local.lakes.level", self.lakes.as_ref().map_or(size, |lakes| lakes.level.size())),
        ];
        match layers.into_iter().find(|(_, is)| *is != size) {
            Some((name, is)) => {
                let allowed = format!("{} × {} (the window)", size[0], size[1]);
                Err(Error::invalid_value(name, format!("{} × {} cells", is[0], is[1]), allowed))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discharge_is_what_the_catchment_yields_and_the_sea_has_none() {
        let grid = Grid { sea_level: Some(Height::ZERO), ..Grid::new([2, 3], 10.0).unwrap() };
        let frame = Frame::from_grid(&grid).unwrap();
        let mut window = LocalWindow::blank(0, frame.world_rect(0));
        window.ground = Field::from_fn([2, 3], |i, _| Height::from_metres_clamped(i as f64));
        window.area = Field::from_fn([2, 3], |_, j| (j + 1) as f32 * 1e6);
        let discharge = window.discharge(&frame, 0.5);
        assert_eq!(discharge.as_slice()[..3], [0.0; 3]);
        for j in 0..3 {
            // Two roundings to 24 bits take less than 1 m³ of the 1.5 million of a year.
            let year = f64::from(discharge[(1, j)]) * YEAR;
            assert!((year - 0.5e6 * (j + 1) as f64).abs() < 1.0, "{year} m³");
        }
    }
}
