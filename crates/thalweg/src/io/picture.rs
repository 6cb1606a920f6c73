//! Pictures as PNG files.

use std::path::Path;

use super::atomic;
use crate::base::error::{Error, Result};
use crate::pictures::picture::Picture;
use crate::pictures::shade::{ShadeOptions, shade};
use crate::pictures::water::Water;
use crate::process::forest::Forest;
use crate::terrain::Terrain;

/// Writes a picture as PNG, whole or not at all.
///
/// # Errors
/// A file that cannot be written.
pub fn save_picture(path: impl AsRef<Path>, picture: &Picture) -> Result<()> {
    let path = path.as_ref();
    atomic(path, |file| picture.encode(file).map_err(Error::io(path, "write")))
}

/// Draws a shaded map of a terrain, with the water and the trees that it holds, into a PNG; of `options` water and trees do not count.
///
/// # Errors
/// As [`save_picture`]; a table of trees that is none.
pub fn save_map(path: impl AsRef<Path>, terrain: &Terrain, options: ShadeOptions<'_>) -> Result<()> {
    let forest = Forest::read(terrain)?;
    save_picture(path, &shade(terrain, &ShadeOptions { water: Water::of(terrain), trees: forest.trees(), ..options })?)
}
