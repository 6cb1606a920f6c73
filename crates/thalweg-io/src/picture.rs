//! Pictures as PNG files.

use std::io;
use std::ops::Range;

use super::{FilePath, write_atomically};
use thalweg_core::{Error, Result, Terrain};
use thalweg_models::process::forest::Forest;
use thalweg_render::pictures::bands::ShadedMap;
use thalweg_render::pictures::drawn_land::DrawnLand;
use thalweg_render::pictures::picture::Picture;
use thalweg_render::pictures::shade::{ShadeOptions, draw_map};
use thalweg_render::pictures::water::Water;

/// Writes a picture as PNG, completely or not at all.
///
/// # Errors
/// Returns an error if the file cannot be written.
///
/// # Examples
/// ```
/// use thalweg_io::{MemoryFiles, save_picture};
/// use thalweg_render::pictures::picture::Picture;
///
/// let files = MemoryFiles::default();
/// save_picture(files.path("blue.png"), &Picture::new([2, 2], [30, 60, 200]))?;
/// assert!(files.get("blue.png").is_some_and(|bytes| bytes.starts_with(b"\x89PNG")));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn save_picture(path: impl Into<FilePath>, picture: &Picture) -> Result<()> {
    let path = &path.into();
    write_atomically(path, |file| picture.encode_png(file).map_err(Error::io(path, "write")))
}

/// Writes a map that is drawn in bands as PNG, completely or not at all. The bytes are those of [`save_picture`].
///
/// # Errors
/// Returns the errors of [`ShadedMap::draw_rows`]; an error if the file cannot be written.
pub fn save_shaded(path: impl Into<FilePath>, mut map: ShadedMap<'_>) -> Result<()> {
    let path = &path.into();
    let size = map.size();
    let mut met = None;
    let written = write_atomically(path, |file| {
        let rows = |rows: Range<usize>| {
            map.draw_rows(rows.len()).map_err(|error| io::Error::other(met.insert(error).to_string()))
        };
        Picture::encode_rows(file, size, rows).map_err(Error::io(path, "write"))
    });
    met.map_or(written, Err)
}

/// Draws a shaded map of a terrain with its water and trees into a PNG.
///
/// # Errors
/// Returns the errors of [`save_picture`], of [`draw_map`], and of [`Forest::read`] for the terrain's table of trees.
///
/// # Examples
/// ```
/// use std::io::Cursor;
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_io::{MemoryFiles, save_map};
/// use thalweg_render::pictures::picture::Picture;
/// use thalweg_render::pictures::shade::ShadeOptions;
///
/// let files = MemoryFiles::default();
/// save_map(files.path("map.png"), &Terrain::new(Grid::new([16, 24], 10.0)?), &ShadeOptions::default())?;
/// let png = files.get("map.png").unwrap();
/// assert_eq!(Picture::decode_png(Cursor::new(&*png)).unwrap().size(), [16, 24]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn save_map(path: impl Into<FilePath>, terrain: &Terrain, options: &ShadeOptions) -> Result<()> {
    let forest = Forest::read(terrain)?;
    let land = DrawnLand { water: Water::from_terrain(terrain), trees: forest.trees(), ..terrain.into() };
    save_picture(path, &draw_map(land, options)?)
}
