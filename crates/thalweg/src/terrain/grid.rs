//! [`Grid`]: where the cells of a terrain lie.

use serde::{Deserialize, Serialize};

use crate::base::error::{Error, Result};
use crate::terrain::field::{Size, Window};
use crate::terrain::height::Height;

/// What happens at a side of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Edge {
    /// Water and sediment leave; what leaves is counted as exported.
    #[default]
    Open,
    /// A wall: everything stays inside.
    Closed,
}

/// The four sides, north, east, south, west.
pub type Edges = [Edge; 4];

/// Which part of a GeoTIFF pixel its coordinate names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum PixelIs {
    /// The pixel covers an area; the coordinate is its corner (the usual case).
    #[default]
    Area,
    /// The pixel is a sample; the coordinate is its centre.
    Point,
}

/// Georeference of a real elevation model, carried from input to output untouched.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Georeference {
    /// GDAL-style affine transform of pixel corners: x = t0 + j·t1 + i·t2, y = t3 + j·t4 + i·t5, in CRS units.
    pub transform: Option<[f64; 6]>,
    /// Area or point.
    pub pixel: PixelIs,
    /// The numbers of the GeoKeyDirectory (tag 34735), as they stood in the file.
    pub keys: Vec<u16>,
    /// The numbers of GeoDoubleParams (tag 34736).
    pub doubles: Vec<f64>,
    /// The text of GeoAsciiParams (tag 34737).
    pub ascii: String,
}

impl Georeference {
    /// The EPSG code among the GeoKeys: of the projected system (3072), else of the geographic one (2048).
    pub fn epsg(&self) -> Option<u16> {
        // Four numbers of head, then four to each key: name, where it stands (0: right here), count, value.
        let entries = self.keys.as_chunks::<4>().0;
        let code = |name| entries.iter().skip(1).find(|e| e[0] == name && e[1] == 0).map(|e| e[3]);
        code(3072).or_else(|| code(2048)).filter(|code| *code != 32_767)
    }
}

/// Geometry of a terrain: a window of `size` cells at `origin` in a world of `world` cells, each `cell` metres wide.
///
/// A whole terrain has `origin = [0, 0]` and `world = size`; a tile is the same world seen through a smaller window,
/// so that whatever is keyed by world cell or world metre agrees between tiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// Rows and columns of this window.
    pub size: Size,
    /// Side of a square cell in metres.
    pub cell: f64,
    /// World row and column of this window's first cell.
    pub origin: [i64; 2],
    /// Rows and columns of the whole world.
    pub world: Size,
    /// North, east, south, west.
    pub edges: Edges,
    /// Below it there is sea.
    pub sea_level: Option<Height>,
    /// Where on Earth, if anywhere.
    pub georeference: Option<Georeference>,
}

/// The most cells that a grid may have (2³²: an index then always fits, and 16 GiB of ground).
pub const MAX_CELLS: u64 = 1 << 32;

impl Grid {
    /// A whole world of `size` cells of `cell` metres with open edges and no sea.
    ///
    /// # Errors
    /// When a side is zero, the cells are too many, or `cell` is not a positive number up to 100 km.
    pub fn new(size: Size, cell: f64) -> Result<Self> {
        let cells = (size[0] as u64).checked_mul(size[1] as u64);
        if size.contains(&0) || cells.is_none_or(|n| n > MAX_CELLS) {
            return Err(Error::value(
                "size",
                format!("{} × {} cells", size[0], size[1]),
                format!("1 × 1 to {MAX_CELLS} cells in all"),
            ));
        }
        if !(cell > 0.0 && (1e-3..=1e5).contains(&cell)) {
            return Err(Error::value("cell size", format!("{cell} m"), "0.001 to 100000 m"));
        }
        Ok(Self {
            size,
            cell,
            origin: [0, 0],
            world: size,
            edges: Edges::default(),
            sea_level: None,
            georeference: None,
        })
    }

    /// Checks a grid that was read from somewhere.
    ///
    /// # Errors
    /// When its world is none that [`Grid::new`] makes, its window is empty or not inside the world, or its sea level is
    /// outside the accepted elevations.
    pub fn check(&self) -> Result<()> {
        Self::new(self.world, self.cell)?;
        for axis in 0..2 {
            let [first, size, world] = [self.origin[axis], self.size[axis] as i64, self.world[axis] as i64];
            if size < 1 || size > world || !(0..=world - size).contains(&first) {
                let allowed = format!("a part of 0 to {world}");
                return Err(Error::value("window", format!("{size} cells from {first} on"), allowed));
            }
        }
        self.sea_level.map_or(Ok(()), |sea| Height::from_metres(sea.metres()).map(|_| ()))
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.size[0]
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.size[1]
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.size[0] * self.size[1]
    }

    /// Never true: a grid has at least one cell.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Area of a cell in m².
    pub fn cell_area(&self) -> f64 {
        self.cell * self.cell
    }

    /// Height (north–south) and width (west–east) of the whole world in metres.
    pub fn extent(&self) -> [f64; 2] {
        [self.world[0] as f64 * self.cell, self.world[1] as f64 * self.cell]
    }

    /// World metres, southward, of the centre of this window's row `i`.
    pub fn y(&self, i: usize) -> f64 {
        ((self.origin[0] + i as i64) as f64 + 0.5) * self.cell
    }

    /// World metres, eastward, of the centre of this window's column `j`.
    pub fn x(&self, j: usize) -> f64 {
        ((self.origin[1] + j as i64) as f64 + 0.5) * self.cell
    }

    /// World row and column of cell (i, j) of this window.
    pub fn world_cell(&self, i: usize, j: usize) -> [i64; 2] {
        [self.origin[0] + i as i64, self.origin[1] + j as i64]
    }

    /// Row and column of a world cell, if it lies in the window.
    #[inline]
    pub fn local(&self, [row, col]: [i64; 2]) -> Option<[usize; 2]> {
        let local = |cell: i64, axis: usize| {
            let x = cell.checked_sub(self.origin[axis])?;
            (0..self.size[axis] as i64).contains(&x).then_some(x as usize)
        };
        Some([local(row, 0)?, local(col, 1)?])
    }

    /// The same world through a smaller window.
    pub fn window(&self, window: Window) -> Self {
        Self {
            size: window.size,
            origin: [self.origin[0] + window.start[0] as i64, self.origin[1] + window.start[1] as i64],
            ..self.clone()
        }
    }
}
