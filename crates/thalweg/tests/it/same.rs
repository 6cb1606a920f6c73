//! Compares builds of one preset at two resolutions. A test does it at small sizes, the benchmark at those of the
//! goal.

use thalweg_core::{Error, Field, Result, Terrain};
use thalweg_render::products::resample::reduce_terrain;
use thalweg_render::products::statistics::correlate_fields;
use thalweg_sim::presets::PRESETS;

/// Returns the names and texts of the presets, sorted by name, except those whose cells come from a file.
pub fn presets() -> Vec<(String, String)> {
    let mut presets: Vec<_> = PRESETS.iter().map(|preset| (preset.name.to_string(), preset.text.to_string())).collect();
    presets.retain(|(_, text)| !text.contains("\nfrom = "));
    presets.sort();
    presets
}

/// Returns the correlation of the elevations of two builds of one recipe, both reduced to `common` cells on the longer
/// side.
pub fn likeness(one: &Terrain, other: &Terrain, common: usize) -> Result<f64> {
    correlate_fields(&reduced(one, common)?, &reduced(other, common)?)
}

fn reduced(terrain: &Terrain, common: usize) -> Result<Field<f32>> {
    let long = *terrain.grid.size.iter().max().ok_or_else(|| Error::Recipe("no cells".into()))?;
    let size = terrain.grid.size.map(|side| (side * common).div_ceil(long).max(1));
    Ok(reduce_terrain(terrain, size)?.ground_metres())
}
