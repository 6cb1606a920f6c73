//! [`Frame`]: the world at all its levels. [`LocalWindow`]: ground, receivers and catchments of a rectangle.

use thalweg_core::base::clock::YEAR;
use thalweg_core::terrain::LakeRaster;
use thalweg_core::terrain::grid::{Edges, SIDES};
use thalweg_core::{Cell, CellRect, Edge, Error, Field, Grid, Height, Result, Size};
use thalweg_flow::{D8, OUT};

/// The narrowest cell that a level may have, in metres: there a slope of 1 in 65 is one unit of height (1/65 536 m) from cell to cell.
pub const NARROWEST: f64 = 1e-3;

/// The most cells that a window may have: 2²⁸, which take some 12 GiB while they are made.
pub const MOST_CELLS: u64 = 1 << 28;

/// A world at all its levels: level 0 is solved whole, a cell of level L is 2⁻ᴸ of its cell wide.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// World row and column of level 0's first cell. World metres count from the corner of cell (0, 0): the first of a terrain, the one in
    /// the middle of a world that has no end in sight.
    pub first: Cell<i64>,
    /// Rows and columns of level 0. They may be more than any memory holds.
    pub cells: Size,
    /// Width of level 0's cells in metres.
    pub cell: f64,
    /// North, east, south, west: over open sides water leaves.
    pub edges: Edges,
    /// Ground that is not higher is sea; `None` where there is no sea.
    pub sea: Option<Height>,
}

impl Frame {
    /// The frame of a world whose level 0 has this grid.
    ///
    /// # Errors
    /// When the grid is only a part of its world, looped, or refused by [`Grid::check`].
    pub fn of(grid: &Grid) -> Result<Self> {
        grid.check()?;
        if grid.size != grid.world {
            let [rows, cols] = grid.size;
            return Err(Error::unsupported(
                "level 0",
                format!("cannot be a part of {rows} × {cols} cells; give the whole world"),
            ));
        }
        if let Some(axis) = (0..2).find(|axis| grid.is_looped(*axis)) {
            let sides = format!("edges with {} and {} looped", SIDES[axis], SIDES[axis + 2]);
            return Err(Error::unsupported(sides, "are not supported by local levels; use open or closed edges"));
        }
        Ok(Self { first: Cell::new(0, 0), cells: grid.size, cell: grid.cell, edges: grid.edges, sea: grid.sea_level })
    }

    /// The finest level that it has, and what bounds it, in words.
    fn finest(&self) -> (u32, String) {
        let narrowest = (0..64).take_while(|level| self.width(level + 1) >= NARROWEST).count() as u32;
        let CellRect { start, end } = self.world(0);
        let farthest = [start.row, start.col, end.row, end.col].into_iter().map(i64::unsigned_abs).max().unwrap_or(0);
        // Rows are counted up to 2⁶⁰: twice as many, and what lies beyond a window's margin, are still whole numbers.
        let counted = (farthest | 1).leading_zeros().saturating_sub(4);
        if counted < narrowest {
            return (counted, "rows and columns from -2^60 to 2^60".into());
        }
        (narrowest, format!("cells of {NARROWEST} m, which heights of 1/65536 m can still resolve"))
    }

    /// Refuses a level whose cells are too narrow, or too many to be counted.
    ///
    /// # Errors
    /// When they are narrower than [`NARROWEST`], or lie farther than 2⁶⁰ rows or columns from the origin.
    pub fn check(&self, level: u32) -> Result<()> {
        let (finest, limit) = self.finest();
        if level > finest {
            return Err(Error::value("level", level, format!("0 to {finest}: {limit}")));
        }
        Ok(())
    }

    /// Width of a level's cells in metres.
    pub fn width(&self, level: u32) -> f64 {
        self.cell / libm::exp2(f64::from(level))
    }

    /// All cells of a level.
    pub fn world(&self, level: u32) -> CellRect<i64> {
        // More than can be counted are never worked on: [`Frame::check`] refuses such a level.
        let scaled = |n: i64| (i128::from(n) << level.min(63)).clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        let CellRect { start, end } = CellRect::new(self.first, self.cells);
        CellRect::from_corners(start.map(scaled), end.map(scaled))
    }

    /// Returns true if water leaves the world at a world cell of a level, over an open edge.
    pub fn is_rim(&self, level: u32, cell: Cell<i64>) -> bool {
        let CellRect { start: Cell { row: north, col: west }, end: Cell { row: south, col: east } } = self.world(level);
        let at = [cell.row == north, cell.col == east - 1, cell.row == south - 1, cell.col == west];
        at.into_iter().zip(self.edges).any(|(at, edge)| at && edge == Edge::Open)
    }

    /// The sea's level in units; under all ground where there is none.
    pub(super) fn sea_units(&self) -> i32 {
        self.sea.map_or(i32::MIN + 1, |sea| sea.0)
    }
}

/// Refuses a rectangle of a level that is empty, not inside `world`, or of more than [`MOST_CELLS`] cells.
///
/// # Errors
/// When it is one of these, naming its rows and columns.
pub fn check_window(rect: CellRect<i64>, world: CellRect<i64>) -> Result<()> {
    rect.check("window", world)?;
    if (rect.rows() as u64).checked_mul(rect.cols() as u64).is_none_or(|cells| cells > MOST_CELLS) {
        return Err(Error::value("window", rect.describe(), format!("{MOST_CELLS} cells at most")));
    }
    Ok(())
}

/// A rectangle of a level: its ground, where each cell drains to, and what drains through it.
///
/// Two things hold ([`LocalWindow::check`] tries what of them a window alone can show). I1: a cell's receiver is not higher than it (of a
/// lake its level counts), and following receivers never comes back. I2: of land, catchments never fall downstream, so that cells of
/// `area ≥ N · cell²` drain to such cells, for any N.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalWindow {
    /// The level: 0 is the coarsest.
    pub level: u32,
    /// Which world cells of that level. All layers are of its size.
    pub rect: CellRect<i64>,
    /// For each cell the elevation of the ground, under a lake of its bed.
    pub ground: Field<Height>,
    /// For each cell the neighbour it drains to, 0 to 7 (see [`thalweg_flow`]), or [`OUT`].
    pub receivers: Field<u8>,
    /// For each cell the catchment in m². Whole numbers of cells as they are counted, then carried: nothing is summed twice.
    pub area: Field<f32>,
    /// Lakes over its cells; `None` where there is none.
    pub lakes: Option<LakeRaster>,
    /// For each cell how thick what lies loose is, in its ground: level 0's, and carried to finer ones where their rules speak of sand
    /// ([`Rules::sand`](crate::Rules::sand)). `None` where there is none.
    pub loose: Option<Field<Height>>,
}

impl LocalWindow {
    /// Number of rows and of columns.
    pub fn size(&self) -> Size {
        self.rect.size()
    }

    /// The lake over a cell (row, column of the window): its number, 1 and more, and its level. `None` where there is none.
    #[inline]
    pub fn lake(&self, at: (usize, usize)) -> Option<(u32, Height)> {
        let lakes = self.lakes.as_ref()?;
        let id = lakes.id[at];
        (id != 0).then(|| (id, lakes.level[at]))
    }

    /// Height of the ground of a cell (row, column of the window), or of the lake over it; the sea is not looked at.
    #[inline]
    pub fn surface(&self, at: (usize, usize)) -> Height {
        self.lake(at).map_or(self.ground[at], |(_, level)| level)
    }

    /// Mean discharge of each cell in m³/s where land yields `runoff` metres of water a year; 0 in the sea of that world.
    pub fn discharge(&self, frame: &Frame, runoff: f64) -> Field<f32> {
        let yields = (runoff / YEAR) as f32;
        Field::generate(self.size(), |i, j| {
            let is_sea = frame.sea.is_some_and(|sea| self.ground[(i, j)] <= sea);
            if is_sea { 0.0 } else { self.area[(i, j)] * yields }
        })
    }

    /// A part of it: `rect` is in world cells of its level.
    ///
    /// # Errors
    /// When the rectangle is empty or not inside.
    pub fn part(&self, rect: CellRect<i64>) -> Result<Self> {
        check_window(rect, self.rect)?;
        let start = Cell::from_axes(|axis| (rect.start[axis] - self.rect.start[axis]) as usize);
        let window = CellRect::new(start, rect.size());
        Ok(Self {
            level: self.level,
            rect,
            ground: self.ground.window(window),
            receivers: self.receivers.window(window),
            area: self.area.window(window),
            lakes: self.lakes.as_ref().and_then(|lakes| lakes.window(window)),
            loose: self.loose.as_ref().map(|loose| loose.window(window)),
        })
    }

    /// Refuses a window that no level can have.
    ///
    /// # Errors
    /// When the level is too fine ([`Frame::check`]), the rectangle not one of the world, or a layer not of the rectangle's size. Naming
    /// the cell: when a height is outside the accepted ones, a lake lower than its bed, a receiver not 0 to 8, out of the world or uphill,
    /// a catchment not above 0, or smaller than that of a cell that drains there.
    pub fn check(&self, frame: &Frame) -> Result<()> {
        frame.check(self.level)?;
        let world = frame.world(self.level);
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
                    return Err(Error::value("height", format!("{z} {}", place()), "-16000 to 16000 m"));
                }
                if !(area > 0.0 && area < f32::MAX) {
                    return Err(Error::value("area", format!("{area} m² {}", place()), "more than 0 m²"));
                }
                if code > OUT {
                    return Err(Error::value("receiver", format!("{code} {}", place()), "0 to 8"));
                }
                let surface = self.surface((i, j));
                if surface < z {
                    return Err(Error::value(
                        "level of a lake",
                        format!("{surface} {}", place()),
                        format!("{z} or more"),
                    ));
                }
                let Some(direction) = D8::from_code(code) else { continue };
                let to = direction.neighbour_of(Cell::new(i as i64, j as i64));
                let on = Cell::from_axes(|axis| to[axis] + self.rect.start[axis]);
                if !world.contains_cell(on) {
                    return Err(Error::value("receiver", format!("{code} {}", place()), "a cell of the world, or 8"));
                }
                if !self.rect.contains_cell(on) {
                    continue;
                }
                let to = (to.row as usize, to.col as usize);
                let lower = self.surface(to);
                if lower > surface && lower.0 > sea {
                    let allowed = format!("{surface} or less (receivers are no higher)");
                    return Err(Error::value("height of the receiver", format!("{lower} {}", place()), allowed));
                }
                if self.area[to] < area && self.ground[to].0 > sea {
                    let allowed = format!("{area} m² or more (catchments grow downstream)");
                    return Err(Error::value(
                        "area of the receiver",
                        format!("{} m² {}", self.area[to], place()),
                        allowed,
                    ));
                }
            }
        }
        Ok(())
    }

    /// Refuses layers that are not of the rectangle's size.
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
                Err(Error::value(name, format!("{} × {} cells", is[0], is[1]), allowed))
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
        let frame = Frame::of(&grid).unwrap();
        let mut window = LocalWindow::blank(0, frame.world(0));
        window.ground = Field::generate([2, 3], |i, _| Height::saturating(i as f64));
        window.area = Field::generate([2, 3], |_, j| (j + 1) as f32 * 1e6);
        let discharge = window.discharge(&frame, 0.5);
        assert_eq!(discharge.as_slice()[..3], [0.0; 3]);
        for j in 0..3 {
            // Two roundings to 24 bits take less than 1 m³ of the 1.5 million of a year.
            let year = f64::from(discharge[(1, j)]) * YEAR;
            assert!((year - 0.5e6 * (j + 1) as f64).abs() < 1.0, "{year} m³");
        }
    }
}
