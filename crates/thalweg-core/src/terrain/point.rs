//! [`Point`], [`MapPoint`] and [`Extent`]: a position in the world, a position in a coordinate reference system, and
//! the size of a region.

use serde::{Deserialize, Serialize};

/// A position in world metres: `x` grows eastward, `y` southward.
///
/// Positions in cells, for example those of a river line, are `Cell<f64>`.
///
/// # Examples
/// ```
/// use thalweg_core::{Grid, Point};
///
/// let grid = Grid::new([3, 4], 10.0)?;
/// assert_eq!(grid.cell_center(1, 2), Point { x: 25.0, y: 15.0 });
/// assert_eq!(grid.cell_center(1, 2).distance_to(grid.cell_center(1, 3)), 10.0);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub struct Point {
    /// Metres eastward.
    pub x: f64,
    /// Metres southward.
    pub y: f64,
}

impl Point {
    /// Makes the position `x` metres eastward and `y` metres southward.
    #[inline]
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    /// Returns the coordinate along an axis of a raster: `y` for axis 0, which runs along the rows southward, `x` for
    /// axis 1.
    #[inline]
    pub fn axis_coordinate(self, axis: usize) -> f64 {
        if axis == 0 { self.y } else { self.x }
    }

    /// Returns the distance to another position in metres.
    #[inline]
    pub fn distance_to(self, other: Self) -> f64 {
        let (dx, dy) = (other.x - self.x, other.y - self.y);
        (dx * dx + dy * dy).sqrt()
    }
}

impl From<[f64; 2]> for Point {
    /// Converts `x` and `y`, in this order, as recipes write a position.
    #[inline]
    fn from([x, y]: [f64; 2]) -> Self {
        Self { x, y }
    }
}

impl From<Point> for [f64; 2] {
    /// Converts to `x` and `y`, in this order.
    #[inline]
    fn from(point: Point) -> Self {
        [point.x, point.y]
    }
}

/// A position in map coordinates, those of a raster's coordinate reference system: `x` grows eastward, `y` northward.
///
/// The unit is that of the system: metres, feet or degrees. A raster without a system has metres east and north of the
/// corner of world cell (0, 0), so `y` is negative south of it.
///
/// # Examples
/// ```
/// use thalweg_core::MapPoint;
///
/// // The corner of row 10 and column 20 of a map of 30 m cells that begins at 500 000 m east and 5 600 000 m north.
/// let corner = MapPoint::new(500_000.0 + 20.0 * 30.0, 5_600_000.0 - 10.0 * 30.0);
/// assert_eq!(<[f64; 2]>::from(corner), [500_600.0, 5_599_700.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub struct MapPoint {
    /// The easting, or the longitude.
    pub x: f64,
    /// The northing, or the latitude.
    pub y: f64,
}

impl MapPoint {
    /// Makes the position with the easting `x` and the northing `y`.
    #[inline]
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }
}

impl From<[f64; 2]> for MapPoint {
    /// Converts `x` and `y`, in this order, as GeoJSON writes a position.
    #[inline]
    fn from([x, y]: [f64; 2]) -> Self {
        Self { x, y }
    }
}

impl From<MapPoint> for [f64; 2] {
    /// Converts to `x` and `y`, in this order.
    #[inline]
    fn from(point: MapPoint) -> Self {
        [point.x, point.y]
    }
}

/// The width (west–east) and height (north–south) of a region in metres.
///
/// # Examples
/// ```
/// use thalweg_core::{Extent, Grid};
///
/// let extent = Grid::new([200, 300], 10.0)?.extent();
/// assert_eq!(extent, Extent { width: 3000.0, height: 2000.0 });
/// assert_eq!((extent.longer_side(), extent.axis_length(0)), (3000.0, 2000.0));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Extent {
    /// The width, west–east, in metres.
    pub width: f64,
    /// The height, north–south, in metres.
    pub height: f64,
}

impl Extent {
    /// Returns the size along an axis of a raster: the height for axis 0, which runs along the rows southward, the
    /// width for axis 1.
    #[inline]
    pub fn axis_length(self, axis: usize) -> f64 {
        if axis == 0 { self.height } else { self.width }
    }

    /// Returns the greater of width and height.
    #[inline]
    pub fn longer_side(self) -> f64 {
        self.width.max(self.height)
    }

    /// Returns the smaller of width and height.
    #[inline]
    pub fn shorter_side(self) -> f64 {
        self.width.min(self.height)
    }
}

impl From<[f64; 2]> for Extent {
    /// Converts width and height, in this order, as recipes write them.
    #[inline]
    fn from([width, height]: [f64; 2]) -> Self {
        Self { width, height }
    }
}

impl From<Extent> for [f64; 2] {
    /// Converts to width and height, in this order.
    #[inline]
    fn from(extent: Extent) -> Self {
        [extent.width, extent.height]
    }
}
