//! World files: where a picture of a map lies, as programs of GIS read it beside the picture.
//!
//! Six numbers, a line each (Esri, "World files for raster datasets", ArcGIS documentation): how far a pixel reaches to the east along a
//! row, to the north along a row, to the east and to the north down a column, and where the middle of the upper left pixel lies.

use std::path::PathBuf;

use super::place::Place;
use super::{FilePath, write_text};
use thalweg_core::{Cell, Grid, MapPoint, Result, Size};
use thalweg_render::pictures::picture::size_within;

/// Which cells the pixels of a map show, in rows and columns from the terrain's north-western corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MapPixels {
    /// Position of the middle of the upper left pixel.
    pub first: Cell<f64>,
    /// Rows and columns from one pixel to the next.
    pub step: Cell<f64>,
}

impl MapPixels {
    /// Those of a [shaded map](thalweg_render::pictures::shade) of so many cells (rows, columns), `most` pixels on its longer side at most,
    /// or a pixel a cell.
    pub fn shaded(cells: Size, most: Option<usize>) -> Self {
        let pixels = most.map_or(cells, |most| size_within(cells, most));
        let step = Cell::from_axes(|axis| cells[axis] as f64 / pixels[axis] as f64);
        Self { first: step.map(|step| 0.5 * step), step }
    }
}

/// Writes the world file of a map of `grid` beside its picture, `map.pgw` of `map.png`, and gives its path. Coordinates are those of the
/// terrain's system; without one metres east and north of the corner of world cell (0, 0), as in its TIFFs.
///
/// # Errors
/// A file that cannot be written.
pub fn save_world_file(picture: impl Into<FilePath>, grid: &Grid, pixels: MapPixels) -> Result<PathBuf> {
    let place = Place::of(grid);
    let MapPixels { first, step } = pixels;
    let [_, east_along, east_down, _, north_along, north_down] = place.transform;
    let MapPoint { x, y } = place.at(first);
    let lines = [east_along * step.col, north_along * step.col, east_down * step.row, north_down * step.row, x, y]
        .map(|n| format!("{n}\n"));
    let path = picture.into().with_extension("pgw");
    write_text(&path, &lines.concat())?;
    Ok(path.into())
}
