//! Files in addition to maps for GIS: a style for each map, and the world's rivers, lakes and trees in one GeoPackage.

use std::fs;
use std::path::{Path, PathBuf};

use super::styles;
use thalweg_core::{Error, Georeference, Result};
use thalweg_io::{FilePath, write_text};
use thalweg_render::pictures::ramps::Ramp;

/// The bytes of features in memory per byte of their text.
#[cfg(feature = "geopackage")]
const FEATURE_BYTES: u64 = 24;

/// A map for which a style is written.
pub(super) struct StyledMap {
    /// The name of the map's file.
    pub file: String,
    /// The lowest and the highest value.
    pub range: [f64; 2],
    pub unit: String,
    /// The classes, if the values are classes.
    pub classes: Option<Vec<i64>>,
    /// True if the map is the elevation of the ground.
    pub ground: bool,
}

/// Returns the name of a map's style file.
pub(super) fn style_name(file: &str) -> String {
    format!("{}.qml", file.rsplit_once('.').map_or(file, |(stem, _)| stem))
}

/// Writes a map's style into a folder.
pub(super) fn write_style(folder: &FilePath, map: &StyledMap) -> Result<()> {
    let ramp = if map.ground { Ramp::land() } else { Ramp::viridis() };
    let text = match &map.classes {
        Some(classes) => styles::style_classes(classes),
        None => styles::style_values(ramp, map.range, &map.unit),
    };
    write_text(folder.join(style_name(&map.file)), &text)
}

/// Returns the feature collections (`.geojson`) of a world's folder, ordered by name. Without the feature `geopackage`
/// there are none.
pub(super) fn find_collections(folder: Option<&Path>) -> Result<Vec<PathBuf>> {
    let Some(folder) = folder.filter(|_| cfg!(feature = "geopackage")) else { return Ok(Vec::new()) };
    let entries = fs::read_dir(folder).map_err(Error::io(folder, "read"))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found: Vec<_> = paths.filter(|path| path.extension().is_some_and(|ending| ending == "geojson")).collect();
    // The order of a folder's entries differs between systems, and the GeoPackage has its layers in this order.
    found.sort();
    Ok(found)
}

/// Writes collections as layers of one GeoPackage, with the coordinate system of `place`.
#[cfg(feature = "geopackage")]
pub(super) fn write_lines(path: FilePath, collections: &[PathBuf], place: Option<&Georeference>) -> Result<()> {
    let mut file = thalweg_io::gpkg::GeoPackage::new(path, place.and_then(Georeference::epsg))?;
    if let Some(wkt) = place.and_then(thalweg_io::describe_system) {
        file = file.with_wkt(&wkt)?;
    }
    for source in collections {
        let bytes = fs::metadata(source).map_err(Error::io(source, "read"))?.len();
        thalweg_core::base::memory::check_memory(&source.display().to_string(), bytes.saturating_mul(FEATURE_BYTES))?;
        let text = fs::read(source).map_err(Error::io(source, "read"))?;
        let found = serde_json::from_slice(&text).map_err(|error| Error::invalid_file(source, error.to_string()))?;
        let name = source.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        file.add_layer(&name, &found)?;
    }
    file.save()
}

#[cfg(not(feature = "geopackage"))]
pub(super) fn write_lines(_: FilePath, _: &[PathBuf], _: Option<&Georeference>) -> Result<()> {
    Ok(())
}
