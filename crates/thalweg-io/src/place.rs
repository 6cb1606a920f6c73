//! Where cells lie in the coordinates of lines, areas and points: those of the terrain's own system.
//!
//! What is drawn through cells' centres then lies on the rasters written with it. Without a georeference coordinates are metres east and
//! (negative) metres north of the north-west corner, as in our TIFFs.

use std::path::Path;

use super::{geokeys, save};
use thalweg_core::{Cell, Grid};

/// Where cells lie.
pub(super) struct Place {
    /// GDAL's, of the terrain's north-western corner.
    pub transform: [f64; 6],
    /// The code of the coordinate reference system.
    pub epsg: Option<u16>,
    /// Whether there is no such system: coordinates are metres.
    pub is_local: bool,
}

impl Place {
    pub fn of(grid: &Grid) -> Self {
        let georeference = save::placed(grid);
        let local = [0.0, grid.cell, 0.0, 0.0, 0.0, -grid.cell];
        let is_local = !geokeys::has_crs(&georeference);
        Self { transform: georeference.transform.unwrap_or(local), epsg: georeference.epsg(), is_local }
    }

    /// Coordinates of a position that is given in cells from the north-west corner.
    pub fn at(&self, position: impl Into<Cell<f64>>) -> [f64; 2] {
        let Cell { row: i, col: j } = position.into();
        let t = self.transform;
        [t[0] + j * t[1] + i * t[2], t[3] + j * t[4] + i * t[5]]
    }

    /// The position in cells of these coordinates.
    pub fn back(&self, [x, y]: [f64; 2]) -> Cell<f64> {
        let t = self.transform;
        let (x, y, area) = (x - t[0], y - t[3], t[1] * t[5] - t[2] * t[4]);
        Cell::new((y * t[1] - x * t[4]) / area, (x * t[5] - y * t[2]) / area)
    }
}

/// What is to be said where the CRS could not be kept.
pub(super) fn unnamed(path: &Path, grid: &Grid) -> Vec<String> {
    let unnamed = grid.georeference.as_ref().is_some_and(geokeys::has_crs) && Place::of(grid).epsg.is_none();
    let warning = "names no coordinate reference system: that of the terrain has no EPSG code; the rasters keep it";
    unnamed.then(|| format!("{} {warning}", path.display())).into_iter().collect()
}

/// The cell that holds the point (x, y) of the terrain's own coordinates, metres east and north of the corner of world
/// cell (0, 0) if it has no others; `None` if it lies outside.
pub fn cell_at(grid: &Grid, point: [f64; 2]) -> Option<Cell> {
    let Cell { row: i, col: j } = Place::of(grid).back(point);
    let inside = |k: f64, n: usize| (k >= 0.0 && k < n as f64).then_some(k as usize);
    Some(Cell::new(inside(i, grid.rows())?, inside(j, grid.cols())?))
}
