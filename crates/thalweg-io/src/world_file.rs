//! World files: the position of an image or raster, as GIS programs read it from a file next to it.
//!
//! A world file has six numbers, one per line (Esri, "World files for raster datasets", ArcGIS documentation): the
//! extent of a pixel towards the east and towards the north along a row, the same down a column, and the coordinates of
//! the centre of the upper left pixel.

use std::path::PathBuf;

use super::map_coordinates::MapTransform;
use super::{FilePath, write_text};
use thalweg_core::base::names;
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

/// Parses a world file; returns the transform of pixel corners in GDAL's form.
///
/// # Errors
/// Returns an error, in words that follow the name of the file, if it does not consist of six numbers, or if a pixel has
/// no extent.
pub(super) fn parse_world_file(text: &str) -> Result<[f64; 6], String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.len() != 6 {
        return Err(format!("has {} words; a world file has six numbers", words.len()));
    }
    let mut numbers = [0.0; 6];
    for (number, word) in numbers.iter_mut().zip(words) {
        // Some programs write a decimal comma.
        let found = word.replace(',', ".").parse::<f64>().ok().filter(|number| number.is_finite());
        *number = found.ok_or_else(|| {
            format!("has `{}`, which is not a number; a world file has six numbers", names::format_short(word))
        })?;
    }
    let [east_along, north_along, east_down, north_down, x, y] = numbers;
    if east_along * north_down == east_down * north_along {
        return Err(format!("has pixels of {east_along} × {north_down}, which have no extent"));
    }
    // The coordinates are those of the centre of the first pixel, half a pixel from its corner.
    let corner = [x - 0.5 * (east_along + east_down), y - 0.5 * (north_along + north_down)];
    Ok([corner[0], east_along, east_down, corner[1], north_along, north_down])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_numbers_are_the_transform_of_corners() {
        let parsed = parse_world_file("30\n0.0\n0.0\n-30\n515.0\n1985.0\n");
        assert_eq!(parsed, Ok([500.0, 30.0, 0.0, 2000.0, 0.0, -30.0]));
        let skewed = parse_world_file("2 1e0 4 -8 \r\n 103 204");
        assert_eq!(skewed, Ok([100.0, 2.0, 4.0, 207.5, 1.0, -8.0]));
        assert_eq!(parse_world_file("30,0\n0\n0\n-30,0\n515,0\n1985,0"), parsed);
    }

    #[test]
    fn broken_world_files_are_refused() {
        for (text, word) in [
            ("", "0 words"),
            ("30\n0\n0\n-30\n515", "5 words"),
            ("30 0 0 -30 515 north", "`north`"),
            ("30 0 0 -30 515 inf", "`inf`"),
            ("0 0 0 0 1 2", "no extent"),
            ("1 2 3 4 5 6 7", "7 words"),
        ] {
            assert!(parse_world_file(text).unwrap_err().contains(word), "{text}");
        }
    }
}
