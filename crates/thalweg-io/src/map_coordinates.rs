//! Conversion of cells to the map coordinates of lines, areas and points: those of the terrain's own CRS.
//!
//! A line through the centres of cells therefore coincides with the rasters written with it. Without a georeference,
//! coordinates are metres east and (negative) metres north of the north-western corner, as in the TIFFs that this crate
//! writes.

use std::path::Path;

use super::{geokeys, save, wkt};
use thalweg_core::{Cell, Error, Grid, MapPoint, Result};

/// The transform from cells to map coordinates.
pub(super) struct MapTransform {
    /// The affine transform in GDAL's form, for the terrain's north-western corner.
    pub transform: [f64; 6],
    /// The EPSG code of the coordinate reference system.
    pub epsg: Option<u16>,
    /// The text of a coordinate reference system without an EPSG code, in WKT, if it can be described.
    pub wkt: Option<String>,
    /// True if there is no such system and coordinates are metres.
    pub is_local: bool,
}

impl MapTransform {
    pub fn from_grid(grid: &Grid) -> Self {
        let georeference = save::window_georeference(grid);
        let local = [0.0, grid.cell, 0.0, 0.0, 0.0, -grid.cell];
        let is_local = !geokeys::has_crs(&georeference);
        Self {
            transform: georeference.transform.unwrap_or(local),
            epsg: georeference.epsg(),
            wkt: wkt::describe_system(&georeference),
            is_local,
        }
    }

    /// Converts a position in cells from the north-western corner to map coordinates.
    pub fn to_map_point(&self, position: Cell<f64>) -> MapPoint {
        let Cell { row: i, col: j } = position;
        let t = self.transform;
        MapPoint::new(t[0] + j * t[1] + i * t[2], t[3] + j * t[4] + i * t[5])
    }

    /// Converts map coordinates to a position in cells.
    pub fn to_cell_position(&self, point: MapPoint) -> Cell<f64> {
        let t = self.transform;
        // This is the inverse of the 2 × 2 matrix of the transform; `area` is its determinant.
        let (x, y, area) = (point.x - t[0], point.y - t[3], t[1] * t[5] - t[2] * t[4]);
        Cell::new((y * t[1] - x * t[4]) / area, (x * t[5] - y * t[2]) / area)
    }
}

/// Returns a warning if the CRS cannot be stored because it has no EPSG code. FlatGeobuf stores its text instead.
pub(super) fn warn_unnamed_crs(path: &Path, grid: &Grid) -> Vec<String> {
    let place = MapTransform::from_grid(grid);
    let is_stored = place.wkt.is_some() && path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("fgb"));
    let unnamed = grid.georeference.as_ref().is_some_and(geokeys::has_crs) && place.epsg.is_none() && !is_stored;
    let warning = "is written without a coordinate reference system, because that of the terrain has no EPSG \
         code; the rasters keep theirs";
    unnamed.then(|| format!("{} {warning}", path.display())).into_iter().collect()
}

/// Returns the cell that contains a point in the grid's map coordinates; `None` if the point is outside the grid.
pub fn cell_at(grid: &Grid, point: MapPoint) -> Option<Cell> {
    let Cell { row: i, col: j } = MapTransform::from_grid(grid).to_cell_position(point);
    let inside = |k: f64, n: usize| (k >= 0.0 && k < n as f64).then_some(k as usize);
    Some(Cell::new(inside(i, grid.rows())?, inside(j, grid.cols())?))
}

/// Returns `cells`, then the cells that contain `points` in the grid's map coordinates; `name` is the name of the
/// option that gives the points.
///
/// # Errors
/// Returns an error if a point is outside the grid.
pub fn locate_cells(grid: &Grid, cells: &[Cell], points: &[MapPoint], name: &str) -> Result<Vec<Cell>> {
    let located = points.iter().map(|point| {
        let allowed = "a point inside the file, in its coordinates";
        cell_at(grid, *point).ok_or_else(|| Error::invalid_value(name, format!("{},{}", point.x, point.y), allowed))
    });
    cells.iter().copied().map(Ok).chain(located).collect()
}
