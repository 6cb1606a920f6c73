//! Web Mercator tiles (EPSG:3857): the tiles of a terrain, and the elevations of their pixels.

use std::f64::consts::PI;
use std::ops::RangeInclusive;

use super::place::{LonLat, MapPlace, Net};
use super::transverse::RADIUS;
use thalweg_core::{Cell, CellRect, Field, Point, Result};

/// The number of pixels along a tile's side.
pub const SIDE: usize = 256;

/// The last zoom that web maps use.
pub const MAX_ZOOM: u32 = 22;

/// A tile: zoom, column from the west, row from the north.
///
/// # Examples
/// The map of zoom 1 has two columns and two rows.
///
/// ```
/// use thalweg_render::web::MapTile;
///
/// assert!(MapTile { zoom: 1, column: 1, row: 0 }.is_valid());
/// assert!(!MapTile { zoom: 1, column: 2, row: 0 }.is_valid());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MapTile {
    /// The zoom: the whole map has 2^zoom columns and rows. For example, zoom 10 has 1024 of them.
    pub zoom: u32,
    /// The column from the west, starting at 0.
    pub column: u32,
    /// The row from the north, starting at 0.
    pub row: u32,
}

impl MapTile {
    /// Returns true if the zoom has such a tile.
    pub fn is_valid(&self) -> bool {
        self.zoom <= MAX_ZOOM && u64::from(self.column.max(self.row)) < 1 << self.zoom
    }
}

/// Elevations of a terrain at several levels, each with cells half as wide as those of the level before. The centre
/// of a level's cell [i, j] is (i + ½) cell widths south and (j + ½) east of the terrain's origin.
pub trait MapLand: Sync {
    /// Returns the number of the finest level; 0 is the coarsest.
    fn finest_level(&self) -> u32;
    /// Returns the width of a level's cells in metres.
    fn cell_width(&self, level: u32) -> f64;
    /// Returns the rectangle of all cells of a level.
    fn cells(&self, level: u32) -> CellRect<i64>;
    /// Returns the elevations of the given cells of a level in metres, rows from the north; NaN without data.
    ///
    /// # Errors
    /// Returns an error if the elevations cannot be computed or read.
    fn read_heights(&self, level: u32, cells: CellRect<i64>) -> Result<Field<f64>>;

    /// Returns the coarsest level whose cells are no wider than `metres`, or the finest level if there is none.
    fn level_for_width(&self, metres: f64) -> u32 {
        // The tolerance accepts cells that are wider by a rounding error.
        let narrow = |level: &u32| self.cell_width(*level) <= metres * (1.0 + 1e-9);
        (0..self.finest_level()).find(narrow).unwrap_or(self.finest_level())
    }
}

/// Returns the size of a zoom's pixel in metres of Web Mercator's plane.
pub fn pixel_size(zoom: u32) -> f64 {
    2.0 * PI * RADIUS / SIDE as f64 / libm::exp2(f64::from(zoom))
}

/// Returns the longitudes (radians) and the tangents of latitudes of sample positions, `parts` to a pixel, from
/// `margin` pixels before the tile to as many after it. The tangents come first.
fn sample_coordinates(tile: MapTile, margin: usize, parts: usize) -> [Vec<f64>; 2] {
    let all = libm::exp2(f64::from(tile.zoom)) * SIDE as f64;
    let share = |first: u32, k: usize| {
        // Samples are at the centres of equal parts of a pixel.
        let pixels = f64::from(first) * SIDE as f64 - margin as f64 + (k as f64 + 0.5) / parts as f64;
        (pixels / all - 0.5) * 2.0 * PI
    };
    let count = (SIDE + 2 * margin) * parts;
    // The hyperbolic sine of the Mercator coordinate is the tangent of the latitude.
    let tangents = (0..count).map(|k| libm::sinh(-share(tile.row, k))).collect();
    [tangents, (0..count).map(|k| share(tile.column, k)).collect()]
}

/// Returns the tangents of the latitudes of a tile's rows of pixels, with a margin.
pub(super) fn row_tangents(tile: MapTile, margin: usize) -> Vec<f64> {
    let [tangents, _] = sample_coordinates(tile, margin, 1);
    tangents
}

/// Returns the elevations in metres of a tile's pixels and of a margin around it; NaN without data, `None` if there
/// is no data at all.
///
/// Each is the mean of samples, as many along each axis as the level has cells along a pixel. Samples are
/// interpolated bilinearly between cell centres; if one of these has no data, a sample takes the nearest cell. The
/// result depends only on the position, so adjacent tiles agree.
///
/// # Errors
/// Returns the errors of [`MapLand::read_heights`].
pub fn sample_tile_heights(
    land: &dyn MapLand,
    place: &MapPlace,
    tile: MapTile,
    margin: usize,
) -> Result<Option<Field<f32>>> {
    let wide = pixel_size(tile.zoom) * ground_scale(land, place);
    let level = land.level_for_width(wide);
    // As many samples as cells along a pixel avoid aliasing; the tolerance keeps an exact ratio from being rounded up.
    let parts = (wide / land.cell_width(level) - 1e-9).ceil().max(1.0) as usize;
    let [tangents, longitudes] = sample_coordinates(tile, margin, parts);
    let net = place.project_crossings(&tangents, &longitudes);
    Ok(interpolate_heights(land, level, &net)?.and_then(|samples| {
        let size = SIDE + 2 * margin;
        let means = Field::from_fn([size; 2], |i, j| {
            let (mut sum, mut count) = (0.0, 0u32);
            for row in i * parts..(i + 1) * parts {
                for metres in &samples.row(row)[j * parts..(j + 1) * parts] {
                    if !metres.is_nan() {
                        sum += metres;
                        count += 1;
                    }
                }
            }
            if count > 0 { (sum / f64::from(count)) as f32 } else { f32::NAN }
        });
        means.as_slice().iter().any(|metres| !metres.is_nan()).then_some(means)
    }))
}

/// Returns the ground distance per metre of Web Mercator's plane in the middle of a terrain. It determines the level,
/// which is the same for all tiles of a zoom.
pub fn ground_scale(land: &dyn MapLand, place: &MapPlace) -> f64 {
    let CellRect { start, end } = land.cells(0);
    let along = |axis: usize| (start[axis] as f64 + end[axis] as f64) / 2.0 * land.cell_width(0);
    place.ground_scale(libm::tan(place.lon_lat(Point::new(along(1), along(0))).latitude))
}

/// Returns elevations in metres, interpolated between cell centres, at the crossings of a net; NaN without data,
/// `None` if the net is entirely outside the terrain.
pub(super) fn interpolate_heights(land: &dyn MapLand, level: u32, net: &Net<'_>) -> Result<Option<Field<f64>>> {
    let (width, cells) = (land.cell_width(level), land.cells(land.finest_level()));
    let fine = land.cell_width(land.finest_level());
    let ends = [0, 1].map(|axis| [cells.start[axis] as f64 * fine, cells.end[axis] as f64 * fine]);
    // Rows and columns of the level, counted from the centre of its first cell.
    let spots = Field::from_fn(net.size(), |i, j| {
        // Samples outside the terrain are NaN, also where a coarse cell extends beyond its edge.
        let inside = |at: &Point| (0..2).all(|axis| (ends[axis][0]..ends[axis][1]).contains(&at.axis_coordinate(axis)));
        let at = net.point_at(i, j).filter(inside).unwrap_or(Point::new(f64::NAN, f64::NAN));
        Cell::new(at.y, at.x).map(|metres| metres / width - 0.5)
    });
    let mut rect: Option<CellRect<i64>> = None;
    for spot in spots.as_slice().iter().filter(|spot| !spot.row.is_nan()) {
        // Bilinear interpolation needs the cell and the next one.
        let first = spot.map(|x| x.floor() as i64);
        let here = CellRect::from_corners(first, first.map(|x| x + 2));
        rect = Some(rect.map_or(here, |all| all.union(here)));
    }
    let Some(rect) = rect.map(|rect| rect.grow_within(0, land.cells(level))) else { return Ok(None) };
    let window = land.read_heights(level, rect)?;
    let last = rect.size().map(|n| n as i64 - 1);
    Ok(Some(spots.map(|spot| {
        if spot.row.is_nan() {
            return f64::NAN;
        }
        // Indices beyond the level's last cell are clamped, so that the outermost half cell is constant.
        let [(north, south, v), (west, east, u)] = [0, 1].map(|axis| {
            let first = spot[axis].floor();
            let at = |cell: i64| (cell - rect.start[axis]).clamp(0, last[axis]) as usize;
            (at(first as i64), at(first as i64 + 1), spot[axis] - first)
        });
        let row = |i: usize| window[(i, west)] + u * (window[(i, east)] - window[(i, west)]);
        let between = row(north) + v * (row(south) - row(north));
        // The interpolation is NaN if any of the four cells is.
        if !between.is_nan() {
            return between;
        }
        window[(if v < 0.5 { north } else { south }, if u < 0.5 { west } else { east })]
    })))
}

/// The tiles of a zoom as a rectangle of columns and rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapTileRange {
    /// The columns from 180° W.
    pub columns: RangeInclusive<u64>,
    /// The rows: from the north in [`tile_range`], from the south in `mesh_range`.
    pub rows: RangeInclusive<u64>,
}

impl MapTileRange {
    /// Returns the number of tiles.
    pub fn tile_count(&self) -> u64 {
        [&self.columns, &self.rows].map(|range| range.end() - range.start() + 1).into_iter().product()
    }
}

/// The range of longitudes and latitudes of a terrain, in radians.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LonLatBounds {
    /// The longitude of the western end.
    pub west: f64,
    /// The longitude of the eastern end.
    pub east: f64,
    /// The latitude of the northern end.
    pub north: f64,
    /// The latitude of the southern end.
    pub south: f64,
}

/// Returns the tiles of a zoom that may intersect a terrain. Rows are counted from the north. Columns may continue
/// across the 180th meridian; their numbers then exceed those of the zoom.
pub fn tile_range(land: &dyn MapLand, place: &MapPlace, zoom: u32) -> MapTileRange {
    let LonLatBounds { west, east, north, south } = geographic_bounds(land, place);
    let all = libm::exp2(f64::from(zoom));
    let tile = |turns: f64| (turns * all).floor();
    let up = |latitude: f64| libm::asinh(libm::tan(latitude)) / (2.0 * PI);
    let [first, last] = [west, east].map(|x| tile(x / (2.0 * PI) + 0.5));
    // The first column is reduced to the range of the zoom; for a terrain that crosses the 180th meridian the last
    // column exceeds it.
    let round = (first / all).floor() * all;
    let row = |latitude: f64| tile(0.5 - up(latitude)).clamp(0.0, all - 1.0) as u64;
    let column = |x: f64| (x - round).max(0.0) as u64;
    MapTileRange { columns: column(first)..=column(last), rows: row(north)..=row(south) }
}

/// Returns the bounds of a terrain in radians. Either longitude may be beyond the 180th meridian.
pub fn geographic_bounds(land: &dyn MapLand, place: &MapPlace) -> LonLatBounds {
    /// The number of points along each side of the rim. Between them the rim may bulge outward, which a small margin
    /// of the bounds allows for.
    const POINTS: usize = 64;
    let (cells, width) = (land.cells(land.finest_level()), land.cell_width(land.finest_level()));
    let point = |axis: usize, k: usize| {
        let [from, to] = [cells.start[axis], cells.end[axis]].map(|x| x as f64 * width);
        from + (to - from) * k as f64 / POINTS as f64
    };
    let middle = place.lon_lat(Point::new(point(1, POINTS / 2), point(0, POINTS / 2))).longitude;
    let mut found = [[f64::INFINITY, f64::NEG_INFINITY]; 2];
    for k in 0..=POINTS {
        for [i, j] in [[0, k], [POINTS, k], [k, 0], [k, POINTS]] {
            let LonLat { longitude, latitude } = place.lon_lat(Point::new(point(1, j), point(0, i)));
            // Relative to the middle, so that there is no jump at the 180th meridian.
            let longitude = middle + (longitude - middle + PI).rem_euclid(2.0 * PI) - PI;
            for (ends, x) in found.iter_mut().zip([longitude, latitude]) {
                *ends = [ends[0].min(x), ends[1].max(x)];
            }
        }
    }
    // The margin of a thousandth covers the curvature of the rim between the sampled points.
    let [[west, east], [south, north]] = found.map(|[from, to]| [from - 1e-3 * (to - from), to + 1e-3 * (to - from)]);
    // The limits of 1.55 rad, about 89° N and S, keep the tangent of the latitude finite.
    LonLatBounds { west, east, north: north.min(1.55), south: south.max(-1.55) }
}
