//! World files: the position of a map image, as GIS programs read it from a file next to the image.
//!
//! A world file has six numbers, one per line (Esri, "World files for raster datasets", ArcGIS documentation): the
//! extent of a pixel towards the east and towards the north along a row, the same down a column, and the coordinates of
//! the centre of the upper left pixel.

use std::path::PathBuf;

use super::map_coordinates::MapTransform;
use super::{FilePath, write_text};
use thalweg_core::{Cell, Grid, MapPoint, Result, Size};
use thalweg_render::pictures::picture::size_within;

/// The position of a map's pixels, in rows and columns from the terrain's north-western corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MapPixels {
    /// The centre of the upper left pixel.
    pub first: Cell<f64>,
    /// The rows and columns from one pixel to the next.
    pub step: Cell<f64>,
}

impl MapPixels {
    /// Returns the position of the pixels of a [shaded map](thalweg_render::pictures::shade) of a terrain with this
    /// number of cells (rows, columns), with at most `most` pixels on its longer side, or one pixel per cell.
    pub fn for_shaded_map(cells: Size, most: Option<usize>) -> Self {
        let pixels = most.map_or(cells, |most| size_within(cells, most));
        let step = Cell::from_axes(|axis| cells[axis] as f64 / pixels[axis] as f64);
        Self { first: step.map(|step| 0.5 * step), step }
    }
}

/// Writes the world file of a map of `grid` next to its image, for example `map.pgw` for `map.png`, and returns its
/// path. Coordinates are those of the terrain's CRS; without one, metres east and north of the corner of world cell (0,
/// 0), as in its TIFFs.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn save_world_file(picture: impl Into<FilePath>, grid: &Grid, pixels: MapPixels) -> Result<PathBuf> {
    let place = MapTransform::from_grid(grid);
    let MapPixels { first, step } = pixels;
    let [_, east_along, east_down, _, north_along, north_down] = place.transform;
    let MapPoint { x, y } = place.to_map_point(first);
    let lines = [east_along * step.col, north_along * step.col, east_down * step.row, north_down * step.row, x, y]
        .map(|n| format!("{n}\n"));
    let path = picture.into().with_extension("pgw");
    write_text(&path, &lines.concat())?;
    Ok(path.into())
}
