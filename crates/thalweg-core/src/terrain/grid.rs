//! [`Grid`]: the size and position of a terrain's cells.

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};

use super::cell_shape::CellShape;
use crate::{Cell, CellRect, Error, Extent, Height, Point, Result, Size};

/// The boundary condition at a side of the world. For example, a world whose four sides are looped repeats without a
/// seam, as a tile of a texture does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Edge {
    /// Water and sediment leave the world; they are counted as exported.
    #[default]
    Open,
    /// A wall: nothing leaves.
    Closed,
    /// The world continues at the opposite side, which is looped too: there is no edge.
    Looped,
}

/// The edges of the four sides: north, east, south, west.
///
/// # Examples
/// ```
/// use thalweg_core::Edge;
/// use thalweg_core::terrain::grid::{Edges, check_edges};
///
/// // A world that continues from its eastern to its western side.
/// let edges: Edges = [Edge::Closed, Edge::Looped, Edge::Open, Edge::Looped];
/// assert!(check_edges("edges", edges).is_ok());
///
/// // A side cannot be looped alone.
/// let error = check_edges("edges", [Edge::Looped, Edge::Open, Edge::Open, Edge::Open]).unwrap_err();
/// assert!(error.to_string().contains("needs south looped as well"));
/// ```
pub type Edges = [Edge; 4];

/// The names of the four sides, in the order of [`Edges`].
pub const SIDES: [&str; 4] = ["north", "east", "south", "west"];

/// The neighbourhood of cells in a raster: the numbers of rows and columns, and the axes along which the last cells are
/// adjacent to the first.
///
/// All code that looks up a cell's neighbours uses this type, so that a looped world has no seam by construction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topology {
    /// The numbers of rows and columns.
    pub size: Size,
    /// True if the last row is adjacent to the first, and the last column to the first.
    pub looped: [bool; 2],
}

impl From<Size> for Topology {
    /// No axis is looped.
    fn from(size: Size) -> Self {
        Self { size, looped: [false; 2] }
    }
}

impl Topology {
    /// The fewest cells along a looped axis: with fewer, the neighbours of a cell on both sides would be the same cell.
    pub const MIN_LOOPED_CELLS: usize = 3;

    /// Returns true if any axis is looped.
    #[inline(always)]
    pub fn is_looped(self) -> bool {
        self.looped[0] | self.looped[1]
    }

    /// Returns the row (`axis` 0) or column (1) at a position that may be outside the raster: it wraps around if the
    /// axis is looped, and is `None` beyond an end otherwise.
    #[inline(always)]
    pub fn wrap_line(self, axis: usize, at: isize) -> Option<usize> {
        let count = self.size[axis];
        // A negative number becomes a large one, so one comparison covers both ends.
        if (at as usize) < count {
            return Some(at as usize);
        }
        (self.looped[axis] && count > 0).then(|| at.rem_euclid(count as isize) as usize)
    }

    /// Returns the cell `di` rows southward and `dj` columns eastward of a cell; `None` if that is beyond an end.
    #[inline(always)]
    pub fn offset_cell(self, cell: impl Into<Cell>, [di, dj]: [isize; 2]) -> Option<Cell> {
        let Cell { row, col } = cell.into();
        Some(Cell { row: self.wrap_line(0, row as isize + di)?, col: self.wrap_line(1, col as isize + dj)? })
    }

    /// Returns the row-major index of the cell `di` rows southward and `dj` columns eastward of cell `k`. If there is
    /// no such cell, the result is an index outside the raster or that of another cell; callers that cannot exclude
    /// this use [`Topology::offset_cell`].
    #[inline(always)]
    pub fn offset_index(self, k: usize, [di, dj]: [isize; 2]) -> usize {
        let cols = self.size[1];
        let plain = k.wrapping_add_signed(di * cols as isize + dj);
        // The looped case has divisions and is not inlined, so that the usual case stays a single addition.
        if self.is_looped() { self.wrapped_index(k, [di, dj]).unwrap_or(plain) } else { plain }
    }

    #[inline(never)]
    fn wrapped_index(self, k: usize, by: [isize; 2]) -> Option<usize> {
        let cols = self.size[1];
        self.offset_cell([k / cols, k % cols], by).map(|cell| cell.row * cols + cell.col)
    }
}

/// Checks that opposite sides are looped together.
///
/// # Errors
/// Returns an error if only one of two opposite sides is looped; `name` is the name of the edges in the message.
pub fn check_edges(name: &str, edges: Edges) -> Result<()> {
    // Sides are in the order north, east, south, west, so the opposite of a side is two further.
    match (0..4).find(|side| edges[*side] == Edge::Looped && edges[(side + 2) % 4] != Edge::Looped) {
        Some(side) => {
            let [here, there] = [side, (side + 2) % 4].map(|side| SIDES[side]);
            let problem = format!("needs {there} looped as well; loop both sides or neither");
            Err(Error::conflict(format!("{name}.{here} = \"looped\""), problem))
        }
        None => Ok(()),
    }
}

/// The part of a GeoTIFF pixel to which its coordinate refers. For example, a pixel 30 m wide has the coordinate
/// 500 000 m. If pixels are areas, this is the western side of the pixel; if they are points, it is the middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum PixelIs {
    /// The pixel covers an area; the coordinate is its corner (the usual case).
    #[default]
    Area,
    /// The pixel is a sample; the coordinate is its centre.
    Point,
}

/// The georeference of a real elevation model, copied from input to output unchanged.
///
/// # Examples
/// ```
/// use thalweg_core::Georeference;
///
/// // The header of the directory, then two keys: the model type (1024) is 1, a projected system; the projected system
/// // (3072) is EPSG 25832.
/// let keys = vec![1, 1, 0, 2, 1024, 0, 1, 1, 3072, 0, 1, 25832];
/// // Cells of 30 m whose north-western corner is at 500 000 m east and 5 600 000 m north.
/// let transform = Some([500_000.0, 30.0, 0.0, 5_600_000.0, 0.0, -30.0]);
/// let georeference = Georeference { transform, keys, ..Georeference::default() };
/// assert_eq!(georeference.epsg(), Some(25832));
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Georeference {
    /// The affine transform of pixel corners in GDAL's form: x = t0 + j·t1 + i·t2, y = t3 + j·t4 + i·t5, in CRS units,
    /// for column j and row i; `None` if it is not known.
    pub transform: Option<[f64; 6]>,
    /// The pixel's interpretation: area or point.
    pub pixel: PixelIs,
    /// The numbers of the GeoKeyDirectory (tag 34735), as in the file.
    pub keys: Vec<u16>,
    /// The numbers of GeoDoubleParams (tag 34736).
    pub doubles: Vec<f64>,
    /// The text of GeoAsciiParams (tag 34737).
    pub ascii: String,
}

impl Georeference {
    /// Returns the EPSG code from the GeoKeys: that of the projected system (3072), otherwise that of the geographic
    /// one (2048), unless that is only the base of a projected system without a code. `None` if neither is present, or
    /// if the code stands for a user-defined system (32 767).
    pub fn epsg(&self) -> Option<u16> {
        // The directory has a header of four numbers, then four numbers per key: key, location (0: in this entry),
        // count, value.
        let entries = self.keys.as_chunks::<4>().0;
        let code = |name| entries.iter().skip(1).find(|e| e[0] == name && e[1] == 0).map(|e| e[3]);
        // The model type (1024) is 2 for a geographic system, but other programs may leave it out.
        let is_geographic = code(1024).is_none_or(|model| model == 2);
        code(3072).or_else(|| code(2048).filter(|_| is_geographic)).filter(|code| *code != 32_767)
    }
}

/// The geometry of a terrain: a window of `size` cells at `origin` in a world of `world` cells, each `cell` metres
/// wide.
///
/// A whole terrain has `origin = first` ([0, 0] without a margin) and `world = size`. A tile is a smaller window of the
/// same world, so that everything keyed by world cell or world metre agrees between tiles. World metres are counted
/// from the map's north-western corner. A looped axis has no first cell: a window of the whole axis may begin anywhere,
/// and world cells and metres wrap around.
///
/// Cells need not be squares ([`CellShape`]): those of a file in degrees are not. World metres, extents and all other
/// lengths of such a grid are those of squares with the nominal side `cell`. True areas and distances are those of
/// [`Grid::cell_metrics`], and code that needs squares calls [`Grid::check_square`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Grid {
    /// The numbers of rows and columns of this window.
    pub size: Size,
    /// The side of a square cell in metres. If the cells are not squares, it is the side of a square with the area of a
    /// cell in the middle of the world.
    pub cell: f64,
    /// The world row and column of this window's first cell.
    pub origin: Cell<i64>,
    /// The numbers of rows and columns of the whole world.
    pub world: Size,
    /// The world row and column of the world's own first cell. They are negative if the world has a margin around the
    /// map; the map's first cell is row 0, column 0.
    pub first: Cell<i64>,
    /// The boundary conditions of the sides: north, east, south, west.
    pub edges: Edges,
    /// The elevation of the sea surface; lower ground is under the sea. `None` if there is no sea. For example, with a
    /// sea level of 0 m, a cell at −5 m is sea.
    pub sea_level: Option<Height>,
    /// The position on Earth; `None` if it is not known.
    pub georeference: Option<Georeference>,
    /// The shape of the cells. It is set by [`Grid::with_shape`], which also sets the nominal side. Text formats omit
    /// it for squares.
    #[serde(default)]
    pub shape: CellShape,
}

impl Serialize for Grid {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        // Naming all fields makes the compiler report one that is missing here.
        let Self { size, cell, origin, world, first, edges, sea_level, georeference, shape } = self;
        // Formats without names of fields cannot omit one. The others omit the shape of squares, so that files of
        // square cells have the bytes that they had before there were other shapes.
        let has_shape = !serializer.is_human_readable() || !shape.is_square();
        let mut fields = serializer.serialize_struct("Grid", 8 + usize::from(has_shape))?;
        fields.serialize_field("size", size)?;
        fields.serialize_field("cell", cell)?;
        fields.serialize_field("origin", origin)?;
        fields.serialize_field("world", world)?;
        fields.serialize_field("first", first)?;
        fields.serialize_field("edges", edges)?;
        fields.serialize_field("sea_level", sea_level)?;
        fields.serialize_field("georeference", georeference)?;
        if has_shape {
            fields.serialize_field("shape", shape)?;
        } else {
            fields.skip_field("shape")?;
        }
        fields.end()
    }
}

/// The greatest number of cells of a grid (2³²: an index then always fits in 32 bits, and the ground takes 16 GiB).
pub const MAX_CELLS: u64 = 1 << 32;

impl Grid {
    /// Makes a whole world of `size` cells of `cell` metres with open edges and no sea.
    ///
    /// # Errors
    /// Returns an error if a side is zero, if there are more than [`MAX_CELLS`] cells, or if `cell` is not 0.001 to
    /// 100 000 m.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::Grid;
    ///
    /// // 200 rows and 300 columns of cells that are 10 m wide.
    /// let grid = Grid::new([200, 300], 10.0)?;
    /// assert_eq!((grid.extent().width, grid.extent().height), (3000.0, 2000.0));
    /// assert_eq!(grid.cell_area(), 100.0);
    ///
    /// assert!(Grid::new([200, 300], 0.0).is_err());
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn new(size: Size, cell: f64) -> Result<Self> {
        let cells = (size[0] as u64).checked_mul(size[1] as u64);
        if size.contains(&0) || cells.is_none_or(|n| n > MAX_CELLS) {
            return Err(Error::invalid_value(
                "size",
                format!("{} × {} cells", size[0], size[1]),
                format!("1 to {MAX_CELLS} cells in all"),
            ));
        }
        Self::new_windowed(size, cell)
    }

    /// Makes a grid that may be too large for memory and is read by windows; [`Grid::new`] refuses such a grid. For
    /// example, a national model may have 1 000 000 × 1 000 000 cells.
    ///
    /// # Errors
    /// Returns an error if a side is zero, if there are more than 2⁶² cells, or if `cell` is not 0.001 to 100 000 m.
    pub fn new_windowed(size: Size, cell: f64) -> Result<Self> {
        const MAX_WORLD_CELLS: u64 = 1 << 62;
        let cells = (size[0] as u64).checked_mul(size[1] as u64);
        if cells.is_none_or(|cells| !(1..=MAX_WORLD_CELLS).contains(&cells)) {
            return Err(Error::invalid_value(
                "size",
                format!("{} × {} cells", size[0], size[1]),
                "1 to 2^62 cells in all",
            ));
        }
        // NaN fails the comparison.
        if !(cell > 0.0 && (1e-3..=1e5).contains(&cell)) {
            return Err(Error::invalid_value("cell size", format!("{cell} m"), "0.001 to 100000 m"));
        }
        Ok(Self {
            size,
            cell,
            origin: Cell::new(0, 0),
            world: size,
            first: Cell::new(0, 0),
            edges: Edges::default(),
            sea_level: None,
            georeference: None,
            shape: CellShape::Square,
        })
    }

    /// Checks a grid that was read from a file.
    ///
    /// # Errors
    /// Returns an error if [`Grid::new`] would not make its world, if its margin leaves no map, if its window is empty
    /// or not inside the world, if its sea level is outside the accepted elevations, if one side is looped and the
    /// opposite one is not, if fewer cells than [`Topology::MIN_LOOPED_CELLS`] are looped, or if the shape of its cells
    /// does not fit. For example, a window of 64 rows that begins at row 40 of a world of 100 rows would end outside it.
    pub fn check(&self) -> Result<()> {
        // The nominal side of other cells is checked with their shape.
        Self::new(self.world, if self.is_square() { self.cell } else { 1.0 })?;
        check_edges("edges", self.edges)?;
        for axis in 0..2 {
            let [size, world] = [self.size[axis] as i64, self.world[axis] as i64];
            // A margin of at most (world − 1)/2 on both sides leaves at least one cell of map. The numbers may be
            // forged, so nothing here may overflow.
            let margin = self.first[axis].checked_neg().filter(|margin| (0..=(world - 1) / 2).contains(margin));
            let allowed = || format!("-{} to 0, the negative of the margin in cells", (world - 1) / 2);
            margin.ok_or_else(|| Error::invalid_value("first", self.first[axis], allowed()))?;
            // The window's position is counted from the world's first cell, which a margin puts before 0.
            let first = self.origin[axis].saturating_sub(self.first[axis]);
            if self.is_looped(axis) && self.world[axis] < Topology::MIN_LOOPED_CELLS {
                let line = ["rows", "columns"][axis];
                let allowed = format!("{} or more, because the edges are looped", Topology::MIN_LOOPED_CELLS);
                return Err(Error::invalid_value(line, self.world[axis], allowed));
            }
            // A window of a whole looped axis may begin anywhere; any other window must end inside the world.
            let last = if self.is_looped(axis) && size == world { world - 1 } else { world - size };
            if size < 1 || size > world || !(0..=last).contains(&first) {
                let allowed = format!("a range within 0 to {world}");
                return Err(Error::invalid_value("window", format!("{size} cells from {first}"), allowed));
            }
        }
        self.check_shape()?;
        self.sea_level.map_or(Ok(()), |sea| Height::from_metres(sea.metres()).map(|_| ()))
    }

    /// Returns the number of rows of this window.
    pub fn rows(&self) -> usize {
        self.size[0]
    }

    /// Returns the number of columns of this window.
    pub fn cols(&self) -> usize {
        self.size[1]
    }

    /// Returns the number of cells of this window.
    pub fn len(&self) -> usize {
        self.size[0] * self.size[1]
    }

    /// Never true: a grid has at least one cell.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the area of a cell in m². If the cells are not squares, it is that of a cell in the middle of the world;
    /// [`Grid::cell_metrics`] has the area of each.
    pub fn cell_area(&self) -> f64 {
        self.cell * self.cell
    }

    /// Returns the size of the whole world in metres.
    pub fn extent(&self) -> Extent {
        Extent { width: self.world[1] as f64 * self.cell, height: self.world[0] as f64 * self.cell }
    }

    /// Returns the north-western corner of the world in world metres. Neither coordinate is above zero.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{Cell, Grid, Point};
    ///
    /// // A map of 4 × 4 cells with a margin of one cell around it.
    /// let mut grid = Grid::new([6, 6], 10.0)?;
    /// grid.first = Cell::new(-1, -1);
    /// grid.origin = grid.first;
    /// assert_eq!(grid.north_west_corner(), Point::new(-10.0, -10.0));
    /// assert_eq!(grid.map_extent().width, 40.0);
    /// assert_eq!(grid.world_cell(1, 1), Cell::new(0, 0));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn north_west_corner(&self) -> Point {
        Point { x: self.first[1] as f64 * self.cell, y: self.first[0] as f64 * self.cell }
    }

    /// Returns the size of the map, which is the world without its margin, in metres.
    pub fn map_extent(&self) -> Extent {
        let [height, width] = [0, 1].map(|axis| (self.world[axis] as i64 + 2 * self.first[axis]) as f64 * self.cell);
        Extent { width, height }
    }

    /// Returns the map's cells in this window; `None` if the window does not contain all of them.
    pub fn map_window(&self) -> Option<CellRect> {
        // The map's first cell is (0, 0); a window that begins after it does not contain the map.
        let start = self.origin.map(|origin| usize::try_from(-origin).ok());
        let size = [0, 1].map(|axis| usize::try_from(self.world[axis] as i64 + 2 * self.first[axis]).ok());
        let (Cell { row: Some(top), col: Some(left) }, [Some(rows), Some(cols)]) = (start, size) else { return None };
        let holds = top + rows <= self.size[0] && left + cols <= self.size[1];
        holds.then_some(CellRect::new([top, left], [rows, cols]))
    }

    /// Returns the position at these shares of the world's width and height, 0 to 1 from the west and from the north.
    /// For example, the shares 0.5 and 0.5 give the centre of the world.
    pub fn point_at_shares(&self, shares: Point) -> Point {
        let (extent, corner) = (self.extent(), self.north_west_corner());
        Point { x: shares.x * extent.width + corner.x, y: shares.y * extent.height + corner.y }
    }

    /// Describes the range of the world along an axis (0 is north–south) in words, for messages. For example, the text
    /// for a world 3000 m wide is `0 to 3000 m (the world's width)`.
    pub fn describe_span(&self, axis: usize) -> String {
        let from = self.north_west_corner().axis_coordinate(axis);
        let side = ["height", "width"][axis];
        format!("{from} to {} m (the world's {side})", from + self.extent().axis_length(axis))
    }

    /// Returns the axis (0 is north–south) along which a position is outside the world; `None` if it is inside. The
    /// eastern and southern sides belong to the world.
    pub fn find_axis_outside(&self, point: Point) -> Option<usize> {
        let (extent, corner) = (self.extent(), self.north_west_corner());
        (0..2).find(|axis| {
            let first = corner.axis_coordinate(*axis);
            !(first..=first + extent.axis_length(*axis)).contains(&point.axis_coordinate(*axis))
        })
    }

    /// Returns true if the rows (axis 0) or columns (1) of the world are looped.
    #[inline]
    pub fn is_looped(&self, axis: usize) -> bool {
        self.edges[axis] == Edge::Looped
    }

    /// Returns the topology of this window: an axis is looped if it is looped in the world and the window contains all
    /// of it.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{Cell, Edge, Grid};
    ///
    /// let mut grid = Grid::new([4, 5], 10.0)?;
    /// grid.edges = [Edge::Open, Edge::Looped, Edge::Open, Edge::Looped];
    /// let topology = grid.topology();
    /// // East of the last column is the first one. There is no row north of the first one.
    /// assert_eq!(topology.offset_cell([2, 4], [0, 1]), Some(Cell::new(2, 0)));
    /// assert_eq!(topology.offset_cell([0, 4], [-1, 0]), None);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn topology(&self) -> Topology {
        Topology {
            size: self.size,
            // A tile of a looped world is not looped itself: its first and last cells are not adjacent.
            looped: [0, 1].map(|axis| self.is_looped(axis) && self.size[axis] == self.world[axis]),
        }
    }

    /// Returns the world row (axis 0) or column (1) of this window's row or column `at`.
    #[inline]
    fn world_line(&self, axis: usize, at: usize) -> i64 {
        let line = self.origin[axis] + at as i64;
        let world = self.world[axis] as i64;
        // A window of a looped axis may begin anywhere, and therefore cross the seam.
        if line >= world && self.is_looped(axis) { line - world } else { line }
    }

    /// Returns the world metres, southward, of the centre of this window's row `i`.
    pub fn row_center_y(&self, i: usize) -> f64 {
        (self.world_line(0, i) as f64 + 0.5) * self.cell
    }

    /// Returns the world metres, eastward, of the centre of this window's column `j`.
    pub fn col_center_x(&self, j: usize) -> f64 {
        (self.world_line(1, j) as f64 + 0.5) * self.cell
    }

    /// Returns the centre of cell (i, j) of this window in world metres.
    pub fn cell_center(&self, i: usize, j: usize) -> Point {
        Point { x: self.col_center_x(j), y: self.row_center_y(i) }
    }

    /// Returns the world cell of cell (i, j) of this window.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{Cell, CellRect, Grid};
    ///
    /// let world = Grid::new([100, 100], 30.0)?;
    /// let tile = world.window(CellRect::new([40, 60], [10, 10]));
    /// assert_eq!(tile.world_cell(2, 3), Cell::new(42, 63));
    /// assert_eq!(tile.cell_center(2, 3), world.cell_center(42, 63));
    /// // `local` is the inverse.
    /// assert_eq!(tile.local_cell([42, 63]), Some(Cell::new(2, 3)));
    /// assert_eq!(tile.local_cell([0, 0]), None);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    #[inline]
    pub fn world_cell(&self, i: usize, j: usize) -> Cell<i64> {
        Cell { row: self.world_line(0, i), col: self.world_line(1, j) }
    }

    /// Returns the rows and columns from the world's own first cell to this window's first cell.
    pub fn world_offset(&self) -> Cell {
        let cell = self.world_cell(0, 0);
        Cell::from_axes(|axis| cell[axis].saturating_sub(self.first[axis]).max(0) as usize)
    }

    /// Returns the same grid with open instead of looped edges, for lines and pictures, which end at the sides.
    #[must_use]
    pub fn with_open_edges(&self) -> Self {
        Self { edges: self.edges.map(|edge| if edge == Edge::Looped { Edge::Open } else { edge }), ..self.clone() }
    }

    /// Returns the cell of this window that corresponds to a world cell; `None` if it is outside.
    #[inline]
    pub fn local_cell(&self, cell: impl Into<Cell<i64>>) -> Option<Cell> {
        let Cell { row, col } = cell.into();
        let local = |cell: i64, axis: usize| {
            // The cell may be any number, for example one of a table in a file, so the difference may overflow.
            let x = cell.checked_sub(self.origin[axis])?;
            (0..self.size[axis] as i64).contains(&x).then_some(x as usize)
        };
        Some(Cell { row: local(row, 0)?, col: local(col, 1)? })
    }

    /// Returns the grid of a smaller window of the same world. `window` is relative to this window's first cell.
    pub fn window(&self, window: CellRect) -> Self {
        Self {
            size: window.size(),
            origin: Cell::from_axes(|axis| self.origin[axis] + window.start[axis] as i64),
            ..self.clone()
        }
    }
}
