//! The recipes that are part of the library: finished worlds as starting points.

use std::io::Write as _;
use std::path::Path;

use crate::recipe::Recipe;
use crate::run::Run;
use thalweg_core::base::names::format_path;
use thalweg_core::{Error, Result};
use thalweg_io::atomic::{is_temporary, write_atomically};
use thalweg_io::{FilePath, Format, LoadOptions, convert_to_terrain, decode_raster};

/// A recipe that is part of the library.
///
/// # Examples
/// ```
/// use thalweg_sim::presets::{PRESETS, find_preset};
///
/// let hills = PRESETS.iter().find(|preset| preset.name == "hills").unwrap();
/// assert_eq!(hills.recipe()?.hash(), find_preset("hills")?.hash());
/// assert!(find_preset("hils").err().unwrap().to_string().contains("did you mean `hills`?"));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Its text, TOML.
    pub text: &'static str,
}

macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        &[$(Preset { name: $name, text: include_str!(concat!("../presets/", $name, ".toml")) }),*]
    };
}

/// All presets; the first is the recommended starting point.
pub const PRESETS: &[Preset] = presets![
    "alpine",
    "aged",
    "archipelago",
    "badlands",
    "canyon",
    "continent",
    "desert",
    "endless",
    "fjords",
    "forest",
    "glacial",
    "hills",
    "lakes",
    "river_delta",
    "rivers",
    "spring",
    "storm",
    "textbook",
    "uplift",
    "volcanic_island",
];

/// An elevation model that is part of the library: name and bytes (GeoTIFF). The preset that starts from it finds it
/// if the recipe's folder contains a file of this name.
pub const ELEVATION_MODEL: (&str, &[u8]) = ("jacksboro.tif", include_bytes!("../presets/jacksboro.tif"));

/// Creates a run of a recipe over the library's elevation model, for programs without files.
///
/// # Errors
/// Returns the errors of [`Run::with_terrain`].
pub fn create_run_on_model(recipe: Recipe) -> Result<Run> {
    let (name, bytes) = ELEVATION_MODEL;
    let path = Path::new(name);
    let raster = decode_raster(Format::from_path(path)?, bytes, None).map_err(|error| error.into_file_error(path))?;
    let loaded = convert_to_terrain(path, raster, None, &LoadOptions::default())?;
    let terrain = recipe.prepare_start_terrain(loaded.terrain)?;
    Run::with_terrain(recipe, terrain)
}

impl Preset {
    /// Returns its recipe.
    ///
    /// # Errors
    /// Returns an error if the text is not a valid recipe; a test rules this out for the presets of the library.
    pub fn recipe(&self) -> Result<Recipe> {
        Recipe::parse(self.text)
    }
}

/// Writes the elevation model of a preset that starts from one into this folder, and returns the recipe that finds it
/// there.
///
/// # Errors
/// Returns an error if the elevation model cannot be written.
///
/// # Examples
/// ```
/// use std::path::Path;
///
/// use thalweg_io::MemoryFiles;
/// use thalweg_sim::presets::{find_preset, write_elevation_model};
///
/// let files = MemoryFiles::default();
/// let recipe = write_elevation_model(find_preset("aged")?, files.path("worlds"))?;
/// assert_eq!(recipe.dem(), Some(Path::new("jacksboro.tif")));
/// assert!(files.get("worlds/jacksboro.tif").is_some());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn write_elevation_model(mut recipe: Recipe, folder: impl Into<FilePath>) -> Result<Recipe> {
    let folder = folder.into();
    if recipe.dem() == Some(Path::new(ELEVATION_MODEL.0)) {
        let path = folder.join(ELEVATION_MODEL.0);
        write_atomically(&path, |file| file.write_all(ELEVATION_MODEL.1).map_err(Error::io(&path, "write")))?;
        recipe.folder = folder.to_absolute()?;
    }
    Ok(recipe)
}

/// Returns true if a path is that of a preset's elevation model in a temporary folder that is removed with its
/// process.
pub fn is_passing(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == ELEVATION_MODEL.0) && path.parent().is_some_and(is_temporary)
}

/// Returns the recipe of the preset with this name, from [`PRESETS`].
///
/// # Errors
/// Returns an error if there is none; the message lists them or names the nearest.
pub fn find_preset(name: &str) -> Result<Recipe> {
    let preset = PRESETS.iter().find(|preset| preset.name == name);
    preset.ok_or_else(|| Error::unknown_name("preset", name, PRESETS.iter().map(|preset| preset.name)))?.recipe()
}

/// Returns the recipe of the preset with this name, or else the recipe in the file with this path; with true if it is a
/// preset. The elevation model of a preset is in no file yet: see [`write_elevation_model`].
///
/// # Errors
/// Returns an error if there is neither, and the errors of [`Recipe::read`].
///
/// # Examples
/// ```
/// use thalweg_sim::presets::find_recipe;
///
/// let (recipe, is_preset) = find_recipe("hills")?;
/// assert!(recipe.name == "hills" && is_preset);
/// assert!(find_recipe("hils").err().unwrap().to_string().contains("did you mean `hills`?"));
/// assert!(find_recipe("none.toml").err().unwrap().to_string().starts_with("none.toml: cannot read"));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn find_recipe(name: impl AsRef<Path>) -> Result<(Recipe, bool)> {
    let path = name.as_ref();
    match PRESETS.iter().find(|preset| path.to_str() == Some(preset.name)) {
        Some(preset) => Ok((preset.recipe()?, true)),
        // A name with the extension of recipes is reported as a missing file, any other as an unknown preset.
        None if path.exists() || path.extension().is_some_and(|ending| ending == "toml") => {
            Ok((Recipe::read(path)?, false))
        }
        None => Err(Error::unknown_name("preset", &format_path(path), PRESETS.iter().map(|preset| preset.name))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_a_recipe_of_its_own_name() {
        for preset in PRESETS {
            let recipe = preset.recipe().unwrap();
            assert_eq!(recipe.name, preset.name);
            assert!(!recipe.stages.is_empty() && !recipe.about.is_empty());
            assert!(recipe.dem().is_some() || recipe.last_grid().is_ok(), "{}", preset.name);
        }
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("presets");
        let texts = std::fs::read_dir(folder).unwrap().filter(|entry| {
            entry.as_ref().is_ok_and(|entry| entry.path().extension().is_some_and(|ending| ending == "toml"))
        });
        assert_eq!(texts.count(), PRESETS.len(), "every text is listed");
    }
}
