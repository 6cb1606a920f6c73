//! [`CellShape`]: the shape of a grid's cells on the ground, and [`CellMetrics`]: the areas of cells and the distances
//! between their centres by rows.
//!
//! A cell of a geographic grid covers a fixed number of degrees, so its width in metres shrinks towards the poles. All
//! of its measures depend on its latitude only: they are the same along a row. [`CellMetrics`] computes them for each
//! row once, from the row's number in the world, so a tile has the same bits as the whole grid.
//!
//! ```
//! use thalweg_core::terrain::cell_shape::{CellMetrics, CellShape, Ellipsoid, GeographicCells};
//! use thalweg_core::{Grid, terrain::d8::D8};
//!
//! // 3600 × 3600 cells of one second of arc, whose northern side is at 61° N.
//! let second = 1.0 / 3600.0;
//! let cells = GeographicCells { north_deg: 61.0, d_lat_deg: second, d_lon_deg: second, ellipsoid: Ellipsoid::WGS_84 };
//! let grid = Grid::new([3600, 3600], 1.0)?.with_shape(CellShape::Geographic(cells))?;
//!
//! let metrics = grid.cell_metrics();
//! let row = metrics.row(1800);
//! // At 60.5° N a second is 31 m from north to south and half of that from west to east.
//! assert!((row.distance(D8::South) - 30.947).abs() < 1e-3 && (row.distance(D8::East) - 15.272).abs() < 1e-3);
//! assert!((row.area - 472.62).abs() < 1e-2);
//! // `cell` is the side of a square with the area of a cell in the middle of the grid.
//! assert!((grid.cell - row.area.sqrt()).abs() < 1e-9);
//!
//! // Square cells have one row of measures, which stands for all.
//! let squares = Grid::new([10, 10], 30.0)?.cell_metrics();
//! assert!(squares.is_uniform());
//! assert_eq!((squares.area(7), squares.row(7).distance(D8::East)), (900.0, 30.0));
//! # Ok::<(), thalweg_core::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use crate::terrain::d8::D8;
use crate::{Error, Grid, Result};

/// The shape of a grid's cells on the ground.
///
/// # Examples
/// ```
/// use thalweg_core::Grid;
/// use thalweg_core::terrain::cell_shape::CellShape;
///
/// // Cells of a projected map that are 20 m wide and 45 m high.
/// let grid = Grid::new([10, 10], 1.0)?.with_shape(CellShape::Rectangular { width: 20.0, height: 45.0 })?;
/// assert_eq!((grid.cell, grid.cell_area()), (30.0, 900.0));
/// assert!(grid.check_square("erosion").is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellShape {
    /// Squares in metres, whose side is [`Grid::cell`].
    #[default]
    Square,
    /// Rectangles in metres.
    Rectangular {
        /// The length of a cell from west to east in metres.
        width: f64,
        /// The length of a cell from north to south in metres.
        height: f64,
    },
    /// Cells of a geographic grid, whose sides are meridians and parallels.
    Geographic(GeographicCells),
}

/// The cells of a geographic grid. Longitudes do not matter for measures, so only the position along the meridian is
/// stored; [`Georeference`](crate::Georeference) has both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GeographicCells {
    /// The geodetic latitude of the northern side of the world row 0 in degrees. It may exceed 90 by half of a cell,
    /// where the centres of the first row are at the pole.
    pub north_deg: f64,
    /// The length of a cell from north to south in degrees.
    pub d_lat_deg: f64,
    /// The length of a cell from west to east in degrees.
    pub d_lon_deg: f64,
    /// The figure of the planet.
    pub ellipsoid: Ellipsoid,
}

/// An ellipsoid of revolution that is flattened at the poles, or a sphere.
///
/// # Examples
/// ```
/// use thalweg_core::terrain::cell_shape::Ellipsoid;
///
/// let bessel = Ellipsoid::new(6_377_397.155, 299.152_812_8)?;
/// assert!((bessel.eccentricity_squared() - 0.006_674_372_2).abs() < 1e-10);
/// // The mean sphere of the Moon.
/// assert_eq!(Ellipsoid::new(1_737_400.0, 0.0)?.eccentricity_squared(), 0.0);
/// assert!(Ellipsoid::new(-1.0, 0.0).is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ellipsoid {
    /// The semi-major axis in metres: the radius at the equator.
    pub semi_major_m: f64,
    /// The inverse of the flattening; 0 for a sphere, as in the EPSG dataset.
    pub inverse_flattening: f64,
}

impl Ellipsoid {
    /// The ellipsoid of WGS 84 (EPSG:7030).
    pub const WGS_84: Self = Self { semi_major_m: 6_378_137.0, inverse_flattening: 298.257_223_563 };
    /// The ellipsoid of GRS 1980 (EPSG:7019), which ETRS89 and NAD83 use.
    pub const GRS_80: Self = Self { semi_major_m: 6_378_137.0, inverse_flattening: 298.257_222_101 };

    /// Makes an ellipsoid and checks its numbers.
    ///
    /// # Errors
    /// Returns an error if the semi-major axis is not 1 to 10⁹ m, or if the inverse flattening is neither 0 nor 2 or
    /// more.
    pub fn new(semi_major_m: f64, inverse_flattening: f64) -> Result<Self> {
        let ellipsoid = Self { semi_major_m, inverse_flattening };
        ellipsoid.check()?;
        Ok(ellipsoid)
    }

    /// Checks the numbers of an ellipsoid that was read from a file.
    ///
    /// # Errors
    /// Returns the errors of [`Ellipsoid::new`].
    pub fn check(&self) -> Result<()> {
        // NaN is in no range.
        if !(1.0..=1e9).contains(&self.semi_major_m) {
            return Err(Error::invalid_value(
                "semi-major axis",
                format!("{} m", self.semi_major_m),
                "1 to 1000000000 m",
            ));
        }
        if self.inverse_flattening != 0.0 && !(2.0..f64::INFINITY).contains(&self.inverse_flattening) {
            let allowed = "2 or more, or 0 for a sphere";
            return Err(Error::invalid_value("inverse flattening", self.inverse_flattening, allowed));
        }
        Ok(())
    }

    /// Returns the square of the first eccentricity; 0 for a sphere.
    pub fn eccentricity_squared(&self) -> f64 {
        let flattening = if self.inverse_flattening == 0.0 { 0.0 } else { 1.0 / self.inverse_flattening };
        flattening * (2.0 - flattening)
    }

    /// Returns the length in metres of an arc of a parallel: of `d_lon_deg` degrees of longitude at a latitude. It is
    /// N·cos φ·Δλ with the radius of curvature N in the prime vertical.
    pub fn parallel_length(&self, latitude_deg: f64, d_lon_deg: f64) -> f64 {
        let sine = libm::sin(latitude_deg.to_radians());
        // The angle from the pole is exact in degrees, so the cosine keeps its digits close to the pole.
        let cosine = libm::sin((90.0 - latitude_deg.abs()).abs().to_radians());
        let normal = self.semi_major_m / (1.0 - self.eccentricity_squared() * sine * sine).sqrt();
        normal * cosine * d_lon_deg.to_radians()
    }

    /// Returns the length in metres of an arc of a meridian that extends `half_deg` degrees of latitude to both sides
    /// of its middle.
    ///
    /// The length is the integral of the radius of curvature M = a(1 − e²)/(1 − e² sin² φ)^(3/2), by Gauss and Legendre
    /// with five points. For an arc of 10° its relative error is below 10⁻¹⁵, and the difference of two long arcs,
    /// which would lose digits, is not formed.
    pub fn meridian_length(&self, middle_deg: f64, half_deg: f64) -> f64 {
        // The points and the weights on −1 to 1 (Abramowitz & Stegun 1964, table 25.4).
        const POINTS: [f64; 3] = [0.0, 0.538_469_310_105_683_1, 0.906_179_845_938_664];
        const WEIGHTS: [f64; 3] = [0.568_888_888_888_888_9, 0.478_628_670_499_366_47, 0.236_926_885_056_189_08];
        let squared = self.eccentricity_squared();
        let radius = |latitude_deg: f64| {
            let sine = libm::sin(latitude_deg.to_radians());
            let w = 1.0 - squared * sine * sine;
            1.0 / (w * w.sqrt())
        };
        let pair = |k: usize| {
            let by = POINTS[k] * half_deg;
            WEIGHTS[k] * (radius(middle_deg - by) + radius(middle_deg + by))
        };
        let mean = 0.5 * (WEIGHTS[0] * radius(middle_deg) + pair(1) + pair(2));
        self.semi_major_m * (1.0 - squared) * mean * (2.0 * half_deg).to_radians()
    }

    /// Returns the area in m² between two meridians `d_lon_deg` degrees apart and two parallels that are `half_deg`
    /// degrees to the north and to the south of a latitude.
    ///
    /// The area is a²·Δλ·(q₁ − q₂)/2 with q(φ) = (1 − e²)·[sin φ/(1 − e² sin² φ) + artanh(e sin φ)/e] (Snyder 1987,
    /// doi:10.3133/pp1395, equation 3-12). The difference is formed with sin φ₁ − sin φ₂ = 2 cos φ sin(Δφ/2) and with
    /// the difference formula of artanh, so small cells lose no digits.
    pub fn zone_area(&self, middle_deg: f64, half_deg: f64, d_lon_deg: f64) -> f64 {
        let squared = self.eccentricity_squared();
        let [north, south] = [middle_deg + half_deg, middle_deg - half_deg].map(|at| libm::sin(at.to_radians()));
        let cosine = libm::sin((90.0 - middle_deg.abs()).to_radians());
        let difference = 2.0 * cosine * libm::sin(half_deg.to_radians());
        let product = squared * north * south;
        let fraction = |sine: f64| 1.0 - squared * sine * sine;
        let first = difference * (1.0 + product) / (fraction(north) * fraction(south));
        let inner = difference / (1.0 - product);
        let eccentricity = squared.sqrt();
        let second = if squared == 0.0 { inner } else { libm::atanh(eccentricity * inner) / eccentricity };
        let radius = self.semi_major_m;
        0.5 * radius * radius * (1.0 - squared) * (first + second) * d_lon_deg.to_radians()
    }
}

impl GeographicCells {
    /// Returns the latitude in degrees of the centres of a world row. If a part of the row is beyond a pole, the row
    /// ends at the pole, and its centre is the middle of the rest. A grid whose first centres are at the pole itself,
    /// as those of global models often are, therefore has its first centres a quarter of a cell from the pole.
    pub fn center_latitude(&self, world_row: i64) -> f64 {
        self.row_span(world_row).0
    }

    /// Returns the latitude of a row's middle and half of its height, both in degrees, without what is beyond a pole.
    fn row_span(&self, world_row: i64) -> (f64, f64) {
        // The latitude of the middle is computed from the row's number, and half of the height is the same number
        // everywhere. The difference of two latitudes would lose the digits of small cells.
        let (middle, half) = (self.north_deg - (world_row as f64 + 0.5) * self.d_lat_deg, 0.5 * self.d_lat_deg);
        let beyond = middle.abs() + half - 90.0;
        // A row that ends at the pole may exceed it by rounding, which is no part of a cell.
        if beyond <= ROUNDING * self.d_lat_deg {
            return (middle, half);
        }
        let half = 0.5 * (2.0 * half - beyond);
        ((90.0 - half).copysign(middle), half)
    }

    /// Returns the area in m² of a cell of a world row.
    fn area(&self, world_row: i64) -> f64 {
        let (middle, half) = self.row_span(world_row);
        self.ellipsoid.zone_area(middle, half, self.d_lon_deg)
    }

    /// Returns the distance in metres from the centre of a cell of a world row to that of its southern neighbour, and
    /// to that of its south-eastern or south-western one.
    fn southern_distances(&self, world_row: i64) -> [f64; 2] {
        let (here, half) = self.row_span(world_row);
        let (there, other) = self.row_span(world_row + 1);
        // Halves of different heights occur at the poles only. Elsewhere the centres are one cell apart, without
        // rounding, and the middle between them is the side that the rows share.
        let (middle, half) = match half == other {
            true => (self.north_deg - (world_row + 1) as f64 * self.d_lat_deg, half),
            false => (0.5 * (here + there), 0.5 * (here - there).abs()),
        };
        let down = self.ellipsoid.meridian_length(middle, half);
        let across = self.ellipsoid.parallel_length(middle, self.d_lon_deg);
        [down, (down * down + across * across).sqrt()]
    }

    /// Checks the numbers for a world of `rows` rows of which row `first` is the first.
    fn check(&self, first: i64, rows: usize, cols: usize) -> Result<()> {
        self.ellipsoid.check()?;
        for (name, size) in [("cell height", self.d_lat_deg), ("cell width", self.d_lon_deg)] {
            // The least size is that of a cell of 0.01 mm on Earth.
            if !(1e-10..=90.0).contains(&size) {
                return Err(Error::invalid_value(name, format!("{size}°"), "0.0000000001° to 90°"));
            }
        }
        let last = first + rows as i64 - 1;
        for row in [first, last] {
            let center = self.north_deg - (row as f64 + 0.5) * self.d_lat_deg;
            // NaN fails the comparison.
            if !(center.abs() <= 90.0 + ROUNDING * self.d_lat_deg) {
                let value = format!("{center}° at the centres of row {row}");
                return Err(Error::invalid_value("latitude", value, "-90° to 90°"));
            }
        }
        // Global grids may repeat the first column at the end.
        let span = (cols as f64 - 1.0) * self.d_lon_deg;
        if span > 360.0 + ROUNDING * self.d_lon_deg {
            let value = format!("{cols} columns of {}°", self.d_lon_deg);
            return Err(Error::invalid_value("longitudes", value, "360°, or 360° and one column, at most"));
        }
        Ok(())
    }
}

/// The share of a cell by which the positions of cells may be off because files store rounded numbers.
const ROUNDING: f64 = 1e-2;

/// The measures of the cells of a row. The eastern and the western neighbour are equally far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowMetrics {
    /// The area of a cell in m².
    pub area: f64,
    /// The distance to the eastern and to the western neighbour in metres: along the parallel.
    pub across: f64,
    /// The distance to the northern neighbour in metres: along the meridian.
    pub north: f64,
    /// The distance to the southern neighbour in metres.
    pub south: f64,
    /// The distance to the north-eastern and to the north-western neighbour in metres: the square root of the sum of
    /// the squares of `north` and of the length of a cell along the parallel midway between the two centres.
    pub north_diagonal: f64,
    /// The distance to the south-eastern and to the south-western neighbour in metres.
    pub south_diagonal: f64,
}

impl RowMetrics {
    /// Returns the distance to a neighbour in metres.
    #[inline(always)]
    pub const fn distance(&self, direction: D8) -> f64 {
        match direction {
            D8::East | D8::West => self.across,
            D8::South => self.south,
            D8::North => self.north,
            D8::SouthEast | D8::SouthWest => self.south_diagonal,
            D8::NorthEast | D8::NorthWest => self.north_diagonal,
        }
    }

    /// Returns the distances to the eight neighbours in metres, by direction code.
    pub fn distances(&self) -> [f64; 8] {
        D8::ALL.map(|direction| self.distance(direction))
    }

    /// Returns the length of a cell from north to south in metres: the mean of the distances to both neighbours.
    pub fn height(&self) -> f64 {
        0.5 * (self.north + self.south)
    }

    /// Returns the measures of square cells.
    fn from_side(side: f64) -> Self {
        Self { area: side * side, ..Self::from_sides(side, side, side * D8::DISTANCES[1]) }
    }

    /// Returns the measures of rectangles.
    fn from_sides(width: f64, height: f64, diagonal: f64) -> Self {
        Self {
            area: width * height,
            across: width,
            north: height,
            south: height,
            north_diagonal: diagonal,
            south_diagonal: diagonal,
        }
    }
}

/// The areas of a grid's cells and the distances between their centres, by the rows of the grid's window.
///
/// [`Grid::cell_metrics`] makes them. Squares and rectangles have one entry, which stands for every row.
#[derive(Debug, Clone, PartialEq)]
pub struct CellMetrics {
    /// One entry for each row of the window, or a single one.
    rows: Vec<RowMetrics>,
    uniform: bool,
}

impl CellMetrics {
    /// Computes the measures of the rows of a grid's window.
    pub fn from_grid(grid: &Grid) -> Self {
        let uniform = |row| Self { rows: vec![row], uniform: true };
        match grid.shape {
            CellShape::Square => uniform(RowMetrics::from_side(grid.cell)),
            CellShape::Rectangular { width, height } => {
                uniform(RowMetrics::from_sides(width, height, (width * width + height * height).sqrt()))
            }
            CellShape::Geographic(cells) => {
                let first = grid.world_cell(0, 0).row;
                let mut northern = cells.southern_distances(first - 1);
                let rows = (0..grid.rows() as i64).map(|i| {
                    let southern = cells.southern_distances(first + i);
                    let [[north, north_diagonal], [south, south_diagonal]] =
                        [std::mem::replace(&mut northern, southern), southern];
                    let latitude = cells.center_latitude(first + i);
                    RowMetrics {
                        area: cells.area(first + i),
                        across: cells.ellipsoid.parallel_length(latitude, cells.d_lon_deg),
                        north,
                        south,
                        north_diagonal,
                        south_diagonal,
                    }
                });
                Self { rows: rows.collect(), uniform: false }
            }
        }
    }

    /// Returns the measures of the cells of the window's row `i`.
    ///
    /// # Panics
    /// Panics if there is no such row and the rows differ.
    #[inline(always)]
    pub fn row(&self, i: usize) -> &RowMetrics {
        &self.rows[if self.uniform { 0 } else { i }]
    }

    /// Returns the area in m² of a cell in the window's row `i`.
    ///
    /// # Panics
    /// Panics if there is no such row and the rows differ.
    #[inline(always)]
    pub fn area(&self, i: usize) -> f64 {
        self.row(i).area
    }

    /// Returns true if all rows have the same measures, so that [`CellMetrics::row`] returns the same for all.
    pub fn is_uniform(&self) -> bool {
        self.uniform
    }

    /// Returns the sum of the areas in m² of cells: `counts` has the number of cells in each row of the window, from
    /// north to south.
    pub fn sum_areas(&self, counts: impl IntoIterator<Item = u64>) -> f64 {
        if self.uniform {
            return counts.into_iter().sum::<u64>() as f64 * self.rows[0].area;
        }
        counts.into_iter().zip(&self.rows).map(|(count, row)| count as f64 * row.area).sum()
    }
}

/// Cell areas as whole numbers of one unit, whose sums are exact in any order.
///
/// The unit is a power of two in m², so small that the sum of all cells of the world just fits 62 bits. The relative
/// error of a cell's area is about the number of cells of the world divided by 2⁶²: 10⁻⁹ for the 2³² cells that fit in
/// memory. A tile has the same unit as the whole world.
///
/// # Examples
/// ```
/// use thalweg_core::Grid;
/// use thalweg_core::terrain::cell_shape::{CellAreas, CellShape, Ellipsoid, GeographicCells};
///
/// let ellipsoid = Ellipsoid::WGS_84;
/// let cells = GeographicCells { north_deg: 90.0, d_lat_deg: 1.0, d_lon_deg: 1.0, ellipsoid };
/// let globe = Grid::new([180, 360], 1.0)?.with_shape(CellShape::Geographic(cells))?;
/// let areas = CellAreas::from_grid(&globe);
/// let sum: i64 = (0..180).map(|i| 360 * areas.units(i)).sum();
/// // The surface of the ellipsoid is 510 065 621.724 km².
/// assert!((sum as f64 * areas.unit_m2() / 510_065_621.724e6 - 1.0).abs() < 1e-11);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct CellAreas {
    /// One number for each row of the window, or a single one.
    units: Vec<i64>,
    unit_m2: f64,
}

impl CellAreas {
    /// Computes the areas of the cells of a grid's window.
    pub fn from_grid(grid: &Grid) -> Self {
        let total = grid.world_area();
        let unit_m2 = libm::ldexp(1.0, libm::ilogb(total) - 60);
        let units = grid.cell_metrics().rows.iter().map(|row| ((row.area / unit_m2).round() as i64).max(1)).collect();
        Self { units, unit_m2 }
    }

    /// Returns the area of a cell in the window's row `i`, in units.
    ///
    /// # Panics
    /// Panics if there is no such row and the rows differ.
    #[inline(always)]
    pub fn units(&self, i: usize) -> i64 {
        self.units[if self.units.len() == 1 { 0 } else { i }]
    }

    /// Returns the size of a unit in m².
    pub fn unit_m2(&self) -> f64 {
        self.unit_m2
    }

    /// Returns the least number of units that are not less than an area in m²; at least 1, and [`i64::MAX`] if the area
    /// is larger than any sum.
    pub fn units_from_m2(&self, area_m2: f64) -> i64 {
        ((area_m2 / self.unit_m2).ceil() as i64).max(1)
    }
}

impl CellShape {
    /// Returns true for squares.
    pub const fn is_square(&self) -> bool {
        matches!(self, Self::Square)
    }

    /// Describes the cells in words, for messages. For example, cells of half a degree are `0.5° × 0.5°`.
    pub fn describe(&self, cell: f64) -> String {
        match self {
            Self::Square => format!("{cell} m × {cell} m"),
            Self::Rectangular { width, height } => format!("{width} m × {height} m"),
            Self::Geographic(cells) => format!("{}° × {}°", cells.d_lon_deg, cells.d_lat_deg),
        }
    }

    /// Checks the shape of the cells of a world, whose first row is `first`, and returns the nominal side of a cell.
    pub(super) fn check(&self, first: i64, [rows, cols]: [usize; 2], cell: f64) -> Result<f64> {
        // These sides do not occur on Earth, whose quarter meridian is 10 000 km long.
        const SIDES: std::ops::RangeInclusive<f64> = 1e-3..=1e7;
        let cell = match *self {
            Self::Square => return Ok(cell),
            Self::Rectangular { width, height } => {
                for (name, size) in [("cell width", width), ("cell height", height)] {
                    if !(1e-3..=1e5).contains(&size) {
                        return Err(Error::invalid_value(name, format!("{size} m"), "0.001 to 100000 m"));
                    }
                }
                (width * height).sqrt()
            }
            Self::Geographic(cells) => {
                cells.check(first, rows, cols)?;
                cells.area(first + (rows / 2) as i64).sqrt()
            }
        };
        if !SIDES.contains(&cell) {
            return Err(Error::invalid_value("cell size", format!("{cell} m"), "0.001 to 10000000 m"));
        }
        Ok(cell)
    }
}

/// Adds what depends on the shape of cells.
impl Grid {
    /// Returns the same grid with cells of another shape. [`Grid::cell`] becomes the nominal side: the side of a square
    /// with the area of a cell, of the row in the middle of the world if the areas differ.
    ///
    /// # Errors
    /// Returns an error if a size is out of range, if rows are beyond a pole, or if there are more than 360° of
    /// longitude.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::Grid;
    /// use thalweg_core::terrain::cell_shape::{CellShape, Ellipsoid, GeographicCells};
    ///
    /// let cells = |north_deg| {
    ///     let (d_lat_deg, d_lon_deg) = (0.5, 0.5);
    ///     CellShape::Geographic(GeographicCells { north_deg, d_lat_deg, d_lon_deg, ellipsoid: Ellipsoid::GRS_80 })
    /// };
    /// assert!(Grid::new([10, 10], 1.0)?.with_shape(cells(50.0)).is_ok());
    /// // The centres of the first row would be at 90.75° N.
    /// let error = Grid::new([10, 10], 1.0)?.with_shape(cells(91.0)).unwrap_err();
    /// assert!(error.to_string().contains("latitude = 90.75°"));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn with_shape(self, shape: CellShape) -> Result<Self> {
        let cell = shape.check(self.first.row, self.world, self.cell)?;
        Ok(Self { shape, cell, ..self })
    }

    /// Checks that the shape of the cells fits the world and its edges.
    ///
    /// # Errors
    /// Returns the errors of [`Grid::with_shape`]; an error if rows of a geographic grid are looped, or if its columns
    /// are looped and do not span 360°.
    pub fn check_shape(&self) -> Result<()> {
        self.shape.check(self.first.row, self.world, self.cell)?;
        let CellShape::Geographic(cells) = self.shape else { return Ok(()) };
        if self.is_looped(0) {
            return Err(Error::conflict("edges.north = \"looped\"", "does not apply to a map in degrees"));
        }
        let span = self.world[1] as f64 * cells.d_lon_deg;
        if self.is_looped(1) && (span - 360.0).abs() > ROUNDING * cells.d_lon_deg {
            let problem = format!("needs a map in degrees that spans 360° of longitude; this one spans {span}°");
            return Err(Error::conflict("edges.east = \"looped\"", problem));
        }
        Ok(())
    }

    /// Computes the areas of the cells and the distances between their centres, by the rows of this window.
    pub fn cell_metrics(&self) -> CellMetrics {
        CellMetrics::from_grid(self)
    }

    /// Returns true if the cells are squares in metres.
    pub fn is_square(&self) -> bool {
        self.shape.is_square()
    }

    /// Returns the area of the whole world in m².
    pub fn world_area(&self) -> f64 {
        let [rows, cols] = self.world.map(|count| count as f64);
        match self.shape {
            CellShape::Square | CellShape::Rectangular { .. } => rows * cols * self.cell_area(),
            CellShape::Geographic(cells) => {
                let first = self.first.row;
                let (north, half_of_first) = cells.row_span(first);
                let (south, half_of_last) = cells.row_span(first + self.world[0] as i64 - 1);
                let [north, south] = [north + half_of_first, south - half_of_last];
                let (middle, half) = (0.5 * (north + south), 0.5 * (north - south));
                cols * cells.ellipsoid.zone_area(middle, half, cells.d_lon_deg)
            }
        }
    }

    /// Checks that the cells are squares in metres. `subject` names what needs squares, for example `the model thermal`.
    ///
    /// # Errors
    /// Returns [`Error::Content`] that describes the cells and how to convert the map. If the map is a file,
    /// [`Error::into_file_error`] makes it an error about the file.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::terrain::cell_shape::{CellShape, Ellipsoid, GeographicCells};
    /// use thalweg_core::{Georeference, Grid};
    ///
    /// let cells =
    ///     GeographicCells { north_deg: 47.0, d_lat_deg: 0.01, d_lon_deg: 0.01, ellipsoid: Ellipsoid::WGS_84 };
    /// let transform = Some([7.0, 0.01, 0.0, 47.0, 0.0, -0.01]);
    /// let georeference = Some(Georeference { transform, ..Georeference::default() });
    /// let grid = Grid { georeference, ..Grid::new([100, 100], 1.0)? }.with_shape(CellShape::Geographic(cells))?;
    /// let message = grid.check_square("the model thermal").unwrap_err().to_string();
    /// // 7.5° E 46.5° N is in zone 32 of UTM.
    /// assert!(message.contains("is in degrees") && message.contains("`gdalwarp -t_srs EPSG:32632 -tr 920 920 IN OUT`"));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn check_square(&self, subject: &str) -> Result<()> {
        let cells = self.shape.describe(self.cell);
        // Two significant digits are enough for a resolution.
        let side = format_rounded(self.cell);
        let needs = format!("{subject} needs square cells in metres");
        let problem = match self.shape {
            CellShape::Square => return Ok(()),
            CellShape::Rectangular { .. } => format!(
                "has cells of {cells} that are not square, and {needs}: make them square (`gdalwarp -tr {side} {side} \
                 IN OUT`), or give the cell size in metres"
            ),
            CellShape::Geographic(_) => format!(
                "is in degrees (a geographic CRS) with cells of {cells}, and {needs}: reproject it to metres \
                 (`gdalwarp -t_srs {} -tr {side} {side} IN OUT`), or give the cell size in metres",
                self.suggest_projection()
            ),
        };
        Err(Error::invalid_content("map", problem))
    }

    /// Returns the projected system that suits a geographic grid: the zone of UTM, or a polar one.
    fn suggest_projection(&self) -> String {
        let Some([west, width, _, north, _, height]) = self.georeference.as_ref().and_then(|place| place.transform)
        else {
            return "EPSG:326<zone>".to_string();
        };
        let [rows, cols] = self.world.map(|count| count as f64);
        let (longitude, latitude) = (west + 0.5 * cols * width, north + 0.5 * rows * height);
        // UTM is defined from 80° S to 84° N. Beyond it are the polar stereographic systems of WGS 84.
        if latitude > 84.0 {
            return "EPSG:3413".to_string();
        } else if latitude < -80.0 {
            return "EPSG:3031".to_string();
        }
        let zone = ((longitude + 180.0).rem_euclid(360.0) / 6.0).floor() as u32 % 60 + 1;
        format!("EPSG:{}{zone:02}", if latitude < 0.0 { 327 } else { 326 })
    }
}

/// Formats a number with two significant digits.
fn format_rounded(number: f64) -> String {
    let place = 1 - libm::floor(libm::log10(number)) as i32;
    let digits = place.clamp(0, 9) as usize;
    let step = libm::pow(10.0, f64::from(place.min(0)).abs());
    format!("{:.digits$}", if place < 0 { (number / step).round() * step } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, CellRect, Edge};

    const SPHERE: Ellipsoid = Ellipsoid { semi_major_m: 6_371_000.0, inverse_flattening: 0.0 };

    fn geographic(size: [usize; 2], north_deg: f64, [d_lat_deg, d_lon_deg]: [f64; 2], ellipsoid: Ellipsoid) -> Grid {
        let cells = GeographicCells { north_deg, d_lat_deg, d_lon_deg, ellipsoid };
        Grid::new(size, 1.0).unwrap().with_shape(CellShape::Geographic(cells)).unwrap()
    }

    /// The area of a cell by Simpson's rule with many intervals: the integral of M·N·cos φ.
    fn integrate_area(ellipsoid: Ellipsoid, [south, north]: [f64; 2], d_lon_deg: f64) -> f64 {
        const N: usize = 4000;
        let squared = ellipsoid.eccentricity_squared();
        let (from, step) = (south.to_radians(), (north - south).to_radians() / N as f64);
        let value = |k: usize| {
            let at = from + k as f64 * step;
            let w = 1.0 - squared * at.sin() * at.sin();
            let weight = if k == 0 || k == N { 1.0 } else { 2.0 + 2.0 * (k % 2) as f64 };
            weight * (1.0 - squared) * at.cos() / (w * w)
        };
        let sum: f64 = (0..=N).map(value).sum();
        ellipsoid.semi_major_m.powi(2) * sum * step / 3.0 * d_lon_deg.to_radians()
    }

    #[test]
    fn areas_are_those_of_the_ellipsoid() {
        let flat = Ellipsoid::new(6_000_000.0, 10.0).unwrap();
        for ellipsoid in [Ellipsoid::WGS_84, Ellipsoid::GRS_80, SPHERE, flat] {
            for (middle, half) in [(0.0, 0.5), (-33.0, 2.0), (60.0, 1e-3), (-89.0, 1.0), (85.0, 5.0), (0.0, 90.0)] {
                let exact = integrate_area(ellipsoid, [middle - half, middle + half], 0.25);
                let area = ellipsoid.zone_area(middle, half, 0.25);
                assert!((area / exact - 1.0).abs() < 1e-12, "{middle} ± {half}: {area} for {exact}");
            }
        }
        // Snyder (1987), table of the Clarke ellipsoid of 1866: the authalic radius is 6 370 997.2 m.
        let clarke = Ellipsoid::new(6_378_206.4, 294.978_698_2).unwrap();
        let radius = (clarke.zone_area(0.0, 90.0, 360.0) / (4.0 * std::f64::consts::PI)).sqrt();
        assert!((radius - 6_370_997.2).abs() < 0.1, "{radius}");
    }

    #[test]
    fn tiny_cells_keep_their_digits() {
        for middle in [0.0, 12.3, 45.0, -60.5, 89.9] {
            // A cell divided into 1000 × 1000 cells: the sum of the parts of its middle column.
            let whole = Ellipsoid::WGS_84.zone_area(middle, 0.5e-5, 1e-5);
            let parts: f64 = (0..1000)
                .map(|k| Ellipsoid::WGS_84.zone_area(middle + (k as f64 - 499.5) * 1e-8, 0.5e-8, 1e-8) * 1000.0)
                .sum();
            assert!((parts / whole - 1.0).abs() < 1e-11, "{middle}: {}", parts / whole - 1.0);
            let [north, east] =
                [Ellipsoid::WGS_84.meridian_length(middle, 0.5e-5), Ellipsoid::WGS_84.parallel_length(middle, 1e-5)];
            assert!((north * east / whole - 1.0).abs() < 1e-9, "{middle}");
        }
    }

    #[test]
    fn lengths_are_those_of_the_ellipsoid() {
        // The quarter meridians of WGS 84 and of the Clarke ellipsoid (Snyder 1987, p. 16: 10 001 888 m).
        let quarter = |ellipsoid: Ellipsoid| (0..90).map(|k| ellipsoid.meridian_length(k as f64 + 0.5, 0.5)).sum();
        let sums: [f64; 2] = [Ellipsoid::WGS_84, Ellipsoid::new(6_378_206.4, 294.978_698_2).unwrap()].map(quarter);
        assert!((sums[0] - 10_001_965.729).abs() < 1e-3 && (sums[1] - 10_001_888.0).abs() < 0.5, "{sums:?}");
        assert!((Ellipsoid::WGS_84.parallel_length(0.0, 360.0) - 40_075_016.686).abs() < 1e-3);
        // On a sphere the lengths are those of plain formulas.
        let degree = SPHERE.semi_major_m * 1f64.to_radians();
        assert!((SPHERE.meridian_length(33.0, 0.5) / degree - 1.0).abs() < 1e-15);
        assert!((SPHERE.parallel_length(-60.0, 1.0) / (0.5 * degree) - 1.0).abs() < 1e-14);
        // One degree of latitude at 45° N, and one of longitude at 60° N.
        assert!((Ellipsoid::WGS_84.meridian_length(45.0, 0.5) - 111_131.777).abs() < 1e-2);
        assert!((Ellipsoid::WGS_84.parallel_length(60.0, 1.0) - 55_800.0).abs() < 1.0);
    }

    #[test]
    fn both_hemispheres_are_alike_and_neighbours_agree() {
        let grid = geographic([180, 360], 90.0, [1.0, 1.0], Ellipsoid::WGS_84);
        let metrics = grid.cell_metrics();
        for i in 0..180 {
            let (north, south) = (metrics.row(i), metrics.row(179 - i));
            assert!((north.area / south.area - 1.0).abs() < 1e-14 && (north.across - south.across).abs() < 1e-8);
            assert!((north.south - south.north).abs() < 1e-8);
            // The way to the southern neighbour is the way back to the northern one, to the bit.
            if i < 179 {
                let next = metrics.row(i + 1);
                assert_eq!([north.south, north.south_diagonal], [next.north, next.north_diagonal]);
                assert!(north.south_diagonal > north.south && north.across > 0.0);
            }
            assert_eq!(north.distances()[D8::NorthWest.index()], north.north_diagonal);
        }
        let sum = metrics.sum_areas([360; 180]);
        assert!((sum / grid.world_area() - 1.0).abs() < 1e-13);
    }

    #[test]
    fn centres_at_the_poles_have_half_a_cell() {
        // The centres of the first and of the last row are at the poles.
        let grid = geographic([181, 361], 90.5, [1.0, 1.0], Ellipsoid::WGS_84);
        let metrics = grid.cell_metrics();
        let CellShape::Geographic(cells) = grid.shape else { unreachable!() };
        assert_eq!(
            [cells.center_latitude(0), cells.center_latitude(1), cells.center_latitude(180)],
            [89.75, 89.0, -89.75]
        );
        let cap = Ellipsoid::WGS_84.zone_area(89.75, 0.25, 1.0);
        assert_eq!([metrics.area(0), metrics.area(180)], [cap; 2]);
        let row = metrics.row(0);
        assert!((row.south / Ellipsoid::WGS_84.meridian_length(89.375, 0.375) - 1.0).abs() < 1e-15);
        assert!(row.across > 0.0 && (0..181).all(|i| metrics.row(i).distances().iter().all(|d| *d > 0.0)));
        assert!((metrics.sum_areas([361; 181]) / grid.world_area() - 1.0).abs() < 1e-13);
        // Rounding of the northern side does not cut a cell.
        let rounded = geographic([180, 360], 90.000_000_1, [1.0, 1.0], Ellipsoid::WGS_84);
        assert!(
            (rounded.cell_metrics().area(0)
                / geographic([180, 360], 90.0, [1.0, 1.0], Ellipsoid::WGS_84).cell_metrics().area(0)
                - 1.0)
                .abs()
                < 1e-6
        );
    }

    #[test]
    fn what_is_not_on_the_planet_is_refused() {
        let cells = |north_deg, d_lat_deg, d_lon_deg, ellipsoid| {
            let cells = GeographicCells { north_deg, d_lat_deg, d_lon_deg, ellipsoid };
            Grid::new([10, 20], 1.0).unwrap().with_shape(CellShape::Geographic(cells)).map(|_| ()).unwrap_err()
        };
        let wgs = Ellipsoid::WGS_84;
        for (error, word) in [
            (cells(91.0, 1.0, 1.0, wgs), "latitude = 90.5°"),
            (cells(-81.0, 1.0, 1.0, wgs), "latitude = -90.5°"),
            (cells(f64::NAN, 1.0, 1.0, wgs), "latitude"),
            (cells(50.0, 0.0, 1.0, wgs), "cell height = 0°"),
            (cells(50.0, 1.0, f64::NAN, wgs), "cell width = NaN°"),
            (cells(50.0, 1.0, 20.0, wgs), "20 columns of 20°"),
            (cells(50.0, 1.0, 1.0, Ellipsoid { semi_major_m: 0.0, ..wgs }), "semi-major axis = 0 m"),
            (cells(50.0, 1.0, 1.0, Ellipsoid { inverse_flattening: 1.0, ..wgs }), "inverse flattening = 1"),
        ] {
            assert!(error.to_string().contains(word), "{word}: {error}");
        }
        let looped = |edges, d_lon_deg| {
            let grid = geographic([10, 20], 50.0, [1.0, d_lon_deg], wgs);
            Grid { edges, ..grid }.check()
        };
        let [east, north] = [1, 0].map(|side| {
            let mut edges = [Edge::Open; 4];
            (edges[side], edges[side + 2]) = (Edge::Looped, Edge::Looped);
            edges
        });
        assert!(looped(east, 18.0).is_ok() && looped(east, 18.0 + 1e-9).is_ok());
        assert!(looped(east, 17.0).unwrap_err().to_string().contains("spans 340°"));
        assert!(looped(north, 18.0).unwrap_err().to_string().contains("map in degrees"));
    }

    #[test]
    fn a_tile_has_the_bits_of_the_whole() {
        let grid = geographic([300, 70], 61.3, [1.0 / 3600.0, 1.0 / 1800.0], Ellipsoid::GRS_80);
        let tile = grid.window(CellRect::new([123, 5], [60, 30]));
        let (all, part) = (grid.cell_metrics(), tile.cell_metrics());
        let (areas, part_areas) = (CellAreas::from_grid(&grid), CellAreas::from_grid(&tile));
        assert_eq!(areas.unit_m2(), part_areas.unit_m2());
        for i in 0..60 {
            assert_eq!((all.row(123 + i), areas.units(123 + i)), (part.row(i), part_areas.units(i)));
            assert!((areas.units(i) as f64 * areas.unit_m2() / all.area(i) - 1.0).abs() < 1e-12);
        }
        assert_eq!(tile.cell, grid.cell);
    }

    #[test]
    fn squares_and_rectangles_are_uniform() {
        let squares = Grid::new([5, 6], 30.0).unwrap();
        let metrics = squares.cell_metrics();
        assert_eq!(metrics.row(4).distances(), [0, 1, 2, 3, 4, 5, 6, 7].map(|k| 30.0 * D8::DISTANCES[k % 2]));
        assert_eq!((metrics.area(9), squares.world_area(), metrics.sum_areas([6; 5])), (900.0, 27_000.0, 27_000.0));
        let shape = CellShape::Rectangular { width: 3.0, height: 4.0 };
        let oblong = Grid::new([5, 6], 1.0).unwrap().with_shape(shape).unwrap();
        let metrics = oblong.cell_metrics();
        assert_eq!(metrics.row(2).distances(), [3.0, 5.0, 4.0, 5.0, 3.0, 5.0, 4.0, 5.0]);
        assert!(metrics.is_uniform() && metrics.area(0) == 12.0 && oblong.cell == 12f64.sqrt());
        assert!(oblong.check_square("thermal").unwrap_err().to_string().contains("gdalwarp -tr 3.5 3.5"));
        assert!(squares.check_square("thermal").is_ok());
    }

    #[test]
    fn text_of_squares_has_no_shape_and_old_text_is_read() {
        let squares = Grid { first: Cell::new(-1, -1), origin: Cell::new(-1, -1), ..Grid::new([5, 6], 30.0).unwrap() };
        let text = serde_json::to_string(&squares).unwrap();
        assert!(!text.contains("shape") && text.ends_with("\"georeference\":null}"), "{text}");
        assert_eq!(serde_json::from_str::<Grid>(&text).unwrap(), squares);
        for grid in [
            geographic([5, 6], 50.0, [0.1, 0.2], Ellipsoid::WGS_84),
            Grid::new([5, 6], 1.0).unwrap().with_shape(CellShape::Rectangular { width: 3.0, height: 4.0 }).unwrap(),
        ] {
            let text = serde_json::to_string(&grid).unwrap();
            assert_eq!(serde_json::from_str::<Grid>(&text).unwrap(), grid, "{text}");
        }
    }
}
