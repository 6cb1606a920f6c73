//! The recipes that a command refers to: presets and files, and the changes that the command makes to them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use thalweg_core::base::names::format_path;
use thalweg_core::declare::params::parse_value;
use thalweg_core::terrain::grid::Edges;
use thalweg_core::{Error, Result};
use thalweg_io::atomic::{Temporary, remove_stale_temporaries};
use thalweg_io::output::absolute_path;
use thalweg_models::model::set_parameters;
use thalweg_models::models;
use thalweg_render::pictures::look::LookOptions;
use thalweg_sim::presets::{PRESETS, write_elevation_model};
use thalweg_sim::recipe::{LayerOrigin, LayerSource, Recipe};
use thalweg_sim::run::Run;

use crate::console::Reporter;

/// The names of the presets.
pub fn preset_names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
}

/// A single model with its settings, as given on the command line.
pub struct OneModel<'a> {
    /// The model's name.
    pub name: &'a str,
    /// The parameters.
    pub set: &'a [(String, String)],
    /// The files of the input layers.
    pub layers: &'a [(String, PathBuf)],
    /// The seed of the random numbers.
    pub seed: u64,
    /// The sea level in metres; `None` without a sea.
    pub sea_level: Option<f64>,
    /// The boundary conditions of the sides.
    pub edges: Edges,
}

/// Makes the recipe of a single model.
///
/// # Errors
/// Returns an error if there is no such model, parameter or layer, or if a value is not allowed.
pub fn create_model_recipe(asked: &OneModel<'_>) -> Result<Recipe> {
    let mut model = models::find_model(asked.name)?;
    let about = model.about();
    let set: Vec<_> = asked.set.iter().map(|(name, value)| (name.as_str(), parse_value(value))).collect();
    set_parameters(&mut *model, set.iter().map(|(name, value)| (*name, value)))?;
    let mut recipe = Recipe::with_single_stage(model, asked.seed);
    // Layers are read when the stage starts, which after a resume may be in another current folder.
    recipe.folder = std::env::current_dir().map_err(Error::io(".", "find the current folder"))?.into();
    recipe.sea_level = asked.sea_level;
    recipe.edges = asked.edges;
    let inputs = || about.needs.iter().chain(about.uses).map(|spec| spec.name);
    for (name, file) in asked.layers {
        if !inputs().any(|known| known == name) {
            return Err(Error::unknown_name("input layer", name, inputs()));
        }
        for stage in &mut recipe.stages {
            stage.layers.insert(name.clone(), LayerSource { from: LayerOrigin::File(file.clone()), scale: None });
        }
    }
    Ok(recipe)
}

/// Returns the preset of that name, if there is one. Its elevation model, if it has one, has not been written to a
/// file yet: see [`write_elevation_model`] and [`with_dem_file`].
///
/// # Errors
/// Returns an error if the preset's text is not a valid recipe, which a test rules out.
pub fn find_preset(name: &str) -> Option<Result<Recipe>> {
    Some(PRESETS.iter().find(|preset| preset.name == name)?.recipe())
}

/// Returns a preset whose elevation model, if it has one, has been written to a temporary folder of this process.
///
/// # Errors
/// Returns an error if the elevation model cannot be written.
pub fn with_dem_file(recipe: Recipe) -> Result<Recipe> {
    match recipe.dem() {
        Some(_) => write_elevation_model(recipe, &temporary_folder()?),
        None => Ok(recipe),
    }
}

/// Removes the temporary folder of this process.
pub fn remove_own_folder() {
    drop(lock_own_folder().take());
}

/// The temporary folder of this process, once it has been created.
static FOLDER: Mutex<Option<(PathBuf, Temporary)>> = Mutex::new(None);

fn lock_own_folder() -> MutexGuard<'static, Option<(PathBuf, Temporary)>> {
    // The path is intact even if a thread panicked while it held the lock.
    FOLDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates the temporary folder of this process, once. The folder is new and private, so no other process that writes
/// to the system's temporary folder can have put anything into it.
fn temporary_folder() -> Result<PathBuf> {
    let mut held = lock_own_folder();
    if let Some((folder, _)) = &*held {
        return Ok(folder.clone());
    }
    let temp = std::env::temp_dir();
    remove_stale_temporaries(&temp);
    let own = Temporary::create_folder(&temp).map_err(Error::io(&temp, "write into"))?;
    let folder = absolute_path(own.path())?;
    *held = Some((folder.clone(), own));
    Ok(folder)
}

/// Returns the name, text and thumbnail (PNG) of each preset.
#[cfg(feature = "studio")]
pub fn with_thumbnails() -> impl Iterator<Item = (&'static str, String, &'static [u8])> {
    PRESETS.iter().map(|preset| {
        let (name, text) = (&preset.name, &preset.text);
        let picture = THUMBNAILS.iter().find(|(known, _)| known == name);
        // If there is no space for the preset's elevation model, the studio reports the missing file when the preset
        // is opened.
        let placed = || {
            let recipe = Recipe::parse(text).ok().filter(|recipe| recipe.dem().is_some())?;
            Some(with_dem_file(recipe).ok()?.with_absolute_paths().ok()?.to_toml())
        };
        (*name, placed().unwrap_or_else(|| (*text).to_string()), picture.map_or(&[] as &[u8], |(_, picture)| picture))
    })
}

/// Thumbnails of the presets, drawn by `cargo xtask gallery`.
#[cfg(feature = "studio")]
const THUMBNAILS: &[(&str, &[u8])] = &[
    ("alpine", include_bytes!("../thumbnails/alpine.png")),
    ("aged", include_bytes!("../thumbnails/aged.png")),
    ("archipelago", include_bytes!("../thumbnails/archipelago.png")),
    ("badlands", include_bytes!("../thumbnails/badlands.png")),
    ("canyon", include_bytes!("../thumbnails/canyon.png")),
    ("continent", include_bytes!("../thumbnails/continent.png")),
    ("desert", include_bytes!("../thumbnails/desert.png")),
    ("endless", include_bytes!("../thumbnails/endless.png")),
    ("fjords", include_bytes!("../thumbnails/fjords.png")),
    ("forest", include_bytes!("../thumbnails/forest.png")),
    ("glacial", include_bytes!("../thumbnails/glacial.png")),
    ("hills", include_bytes!("../thumbnails/hills.png")),
    ("lakes", include_bytes!("../thumbnails/lakes.png")),
    ("river_delta", include_bytes!("../thumbnails/river_delta.png")),
    ("rivers", include_bytes!("../thumbnails/rivers.png")),
    ("spring", include_bytes!("../thumbnails/spring.png")),
    ("storm", include_bytes!("../thumbnails/storm.png")),
    ("textbook", include_bytes!("../thumbnails/textbook.png")),
    ("uplift", include_bytes!("../thumbnails/uplift.png")),
    ("volcanic_island", include_bytes!("../thumbnails/volcanic_island.png")),
];

/// Sets `LABEL.PARAMETER` to a value given as text.
///
/// # Errors
/// Returns an error if there is no such stage or parameter, or if the parameter does not accept the value.
pub fn set_parameter(recipe: &mut Recipe, key: &str, value: &str) -> Result<()> {
    let Some((label, param)) = key.split_once('.') else {
        return Err(Error::invalid_value("--set", key, "LABEL.PARAMETER=VALUE"));
    };
    recipe.set_parameter(label, param, &parse_value(value))
}

/// Refuses a parameter that is given twice.
///
/// # Errors
/// Returns an error that names the parameter with both values.
pub fn check_unique_parameters(sets: &[(String, String)]) -> Result<()> {
    for (number, (key, value)) in sets.iter().enumerate() {
        if let Some((_, before)) = sets[..number].iter().find(|(known, _)| known == key) {
            return Err(Error::invalid_value(
                "--set",
                format!("{key}={before} and {key}={value}"),
                "one value for each parameter",
            ));
        }
    }
    Ok(())
}

/// Returns the preset of that name, with its elevation model in the temporary folder of this process, or the recipe in
/// that file.
///
/// # Errors
/// Returns an error if there is neither.
pub fn load_recipe(name: &OsStr) -> Result<Recipe> {
    match find_recipe(name)? {
        (preset, true) => with_dem_file(preset),
        (recipe, false) => Ok(recipe),
    }
}

/// Returns the file from which a recipe is read; `None` for a preset.
pub fn recipe_file(name: &OsStr) -> Option<PathBuf> {
    name.to_str().is_none_or(|name| find_preset(name).is_none()).then(|| name.into())
}

/// Returns the preset of that name, or the recipe in that file; with true if it is a preset.
///
/// # Errors
/// Returns an error if there is neither.
pub fn find_recipe(name: &OsStr) -> Result<(Recipe, bool)> {
    let path = Path::new(name);
    match name.to_str().and_then(find_preset) {
        Some(preset) => Ok((preset?, true)),
        // A name with the extension of recipes is reported as a missing file, any other as an unknown preset.
        None if path.exists() || path.extension().is_some_and(|e| e == "toml") => Ok((Recipe::read(path)?, false)),
        None => Err(Error::unknown_name("preset", &format_path(path), preset_names())),
    }
}

/// Returns the look with the colours of the recipe, if there is one and no others were requested. A recipe chooses the
/// ramp of its world, for example sand for deserts.
pub fn with_recipe_ramp(look: &LookOptions, recipe: Option<&Recipe>) -> LookOptions {
    LookOptions { ramp: look.ramp.or(recipe.map(|recipe| recipe.ramp)), ..look.clone() }
}

/// Starts a run of the recipe, and prints the warnings.
///
/// # Errors
/// Returns an error if the recipe cannot be run, or if its elevation model cannot be read.
pub fn start_run(recipe: Recipe, voice: Reporter) -> Result<Run> {
    let run = Run::new(recipe)?;
    voice.warn_all(&run.input().warnings);
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_sim::presets::ELEVATION_MODEL;

    #[test]
    fn an_elevation_model_goes_with_the_process() {
        let own = with_dem_file(find_preset("aged").unwrap().unwrap()).unwrap();
        let path = own.folder.join(own.dem().unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), ELEVATION_MODEL.1);
        remove_own_folder();
        assert!(!path.exists() && !own.folder.exists());
    }

    #[cfg(feature = "studio")]
    #[test]
    fn every_preset_has_a_small_picture() {
        for (name, _, picture) in with_thumbnails() {
            assert!(
                thalweg_render::pictures::picture::Picture::decode_png(std::io::Cursor::new(picture)).is_ok(),
                "{name}"
            );
        }
    }
}
