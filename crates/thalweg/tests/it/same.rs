//! Is a preset the same world at another resolution? Asked by a test at small sizes, by the bench at those of the goal.

use thalweg::Result;
use thalweg::base::error::Error;
use thalweg::presets::PRESETS;
use thalweg::products::resample::reduce;
use thalweg::products::statistics::correlation;
use thalweg::recipe::Recipe;
use thalweg::run::Run;
use thalweg::terrain::field::Field;

/// Names and texts of the presets, by name, but for those whose cells are a file's.
pub fn presets() -> Vec<(String, String)> {
    let mut presets: Vec<_> = PRESETS.iter().map(|preset| (preset.name.to_string(), preset.text.to_string())).collect();
    presets.retain(|(_, text)| !text.contains("\nfrom = "));
    presets.sort();
    presets
}

/// Correlation of the ground that a recipe gives with two numbers of cells on the long side, both reduced to `common`.
pub fn likeness(recipe: &str, cells: [usize; 2], common: usize) -> Result<f64> {
    let [a, b] = cells.map(|cells| ground(recipe, cells, common));
    correlation(&a?, &b?)
}

fn ground(recipe: &str, cells: usize, common: usize) -> Result<Field<f32>> {
    let mut recipe = Recipe::parse(recipe)?;
    recipe.cells = cells;
    let mut run = Run::new(recipe)?;
    while run.step()?.is_some() {}
    let terrain = run.terrain();
    let long = *terrain.grid.size.iter().max().ok_or_else(|| Error::Recipe("no cells".into()))?;
    let size = terrain.grid.size.map(|side| (side * common).div_ceil(long).max(1));
    Ok(reduce(terrain, size)?.metres())
}
