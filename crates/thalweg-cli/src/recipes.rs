//! The recipes that a command names: presets and files; and what it changes in them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use thalweg_core::base::names::shown;
use thalweg_core::declare::params::parse_value;
use thalweg_core::terrain::grid::Edges;
use thalweg_core::{Error, Result};
use thalweg_io::atomic::{Temporary, sweep};
use thalweg_io::output::absolute;
use thalweg_models::model::set_parameters;
use thalweg_models::models;
use thalweg_sim::presets::{PRESETS, write_elevation_model};
use thalweg_sim::recipe::{From, LayerSource, Recipe};
use thalweg_sim::run::Run;

use crate::console::Voice;

/// The names.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
}

/// One model as it is typed.
pub struct OneModel<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its parameters.
    pub set: &'a [(String, String)],
    /// Its layers' files.
    pub layers: &'a [(String, PathBuf)],
    /// The seed of its random numbers.
    pub seed: u64,
    /// Below it there is sea.
    pub sea_level: Option<f64>,
    /// What happens at the sides.
    pub edges: Edges,
}

/// The recipe of one model.
///
/// # Errors
/// No such model, parameter or layer; a value that is not allowed.
pub fn of_model(asked: &OneModel<'_>) -> Result<Recipe> {
    let mut model = models::find_model(asked.name)?;
    let about = model.about();
    let set: Vec<_> = asked.set.iter().map(|(name, value)| (name.as_str(), parse_value(value))).collect();
    set_parameters(&mut *model, set.iter().map(|(name, value)| (*name, value)))?;
    let mut recipe = Recipe::single(model, asked.seed);
    // Layers are read when the stage begins, which after a resume may be in another folder.
    recipe.folder = std::env::current_dir().map_err(Error::io(".", "find"))?.into();
    recipe.sea_level = asked.sea_level;
    recipe.edges = asked.edges;
    let inputs = || about.needs.iter().chain(about.uses).map(|spec| spec.name);
    for (name, file) in asked.layers {
        if !inputs().any(|known| known == name) {
            return Err(Error::unknown("input layer", name, inputs()));
        }
        for stage in &mut recipe.stages {
            stage.layers.insert(name.clone(), LayerSource { from: From::File(file.clone()), scale: None });
        }
    }
    Ok(recipe)
}

/// The preset of that name, if there is one. Its elevation model, if it has one, lies nowhere yet: see [`laid`] and [`borrowed`].
///
/// # Errors
/// When its text is no recipe, which a test rules out.
pub fn find(name: &str) -> Option<Result<Recipe>> {
    Some(PRESETS.iter().find(|preset| preset.name == name)?.recipe())
}

/// A preset whose elevation model, if it has one, lies in a folder that goes with this process.
///
/// # Errors
/// When it cannot be written.
pub fn borrowed(recipe: Recipe) -> Result<Recipe> {
    match recipe.dem() {
        Some(_) => write_elevation_model(recipe, &own_folder()?),
        None => Ok(recipe),
    }
}

/// Removes what goes with the process.
pub fn tidy() {
    drop(held().take());
}

/// A folder of this process's own among the passing files.
static FOLDER: Mutex<Option<(PathBuf, Temporary)>> = Mutex::new(None);

fn held() -> MutexGuard<'static, Option<(PathBuf, Temporary)>> {
    // A path is whole whoever failed while he held it.
    FOLDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the folder that goes with this process, once. It is new, and nobody else may look into it: whoever else writes among
/// passing files cannot have put anything there.
fn own_folder() -> Result<PathBuf> {
    let mut held = held();
    if let Some((folder, _)) = &*held {
        return Ok(folder.clone());
    }
    let temp = std::env::temp_dir();
    sweep(&temp);
    let own = Temporary::folder(&temp).map_err(Error::io(&temp, "write into"))?;
    let folder = absolute(own.path())?;
    *held = Some((folder.clone(), own));
    Ok(folder)
}

/// Name, text and small picture (PNG) of each.
#[cfg(feature = "studio")]
pub fn with_thumbnails() -> impl Iterator<Item = (&'static str, String, &'static [u8])> {
    PRESETS.iter().map(|preset| {
        let (name, text) = (&preset.name, &preset.text);
        let picture = THUMBNAILS.iter().find(|(known, _)| known == name);
        // Without room for its elevation model the studio says that the file is missing, when it is asked for.
        let placed = || {
            let recipe = Recipe::parse(text).ok().filter(|recipe| recipe.dem().is_some())?;
            Some(borrowed(recipe).ok()?.absolute().ok()?.to_toml())
        };
        (*name, placed().unwrap_or_else(|| (*text).to_string()), picture.map_or(&[] as &[u8], |(_, picture)| picture))
    })
}

/// Small pictures of the presets, drawn by `cargo xtask gallery`.
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

/// Sets LABEL.PARAMETER to a value as typed.
///
/// # Errors
/// No such stage or parameter, a value that it does not take.
pub fn set(recipe: &mut Recipe, key: &str, value: &str) -> Result<()> {
    let Some((label, param)) = key.split_once('.') else {
        return Err(Error::value("--set", key, "LABEL.PARAMETER=VALUE"));
    };
    recipe.set(label, param, &parse_value(value))
}

/// Refuses a parameter that is given twice.
///
/// # Errors
/// When one is.
pub fn each_once(sets: &[(String, String)]) -> Result<()> {
    for (number, (key, value)) in sets.iter().enumerate() {
        if let Some((_, before)) = sets[..number].iter().find(|(known, _)| known == key) {
            return Err(Error::value("--set", format!("{key}={before} and {key}={value}"), "each parameter once"));
        }
    }
    Ok(())
}

/// The preset of that name, its elevation model at hand as long as this process is, or the recipe in that file.
///
/// # Errors
/// When there is neither.
pub fn named(name: &OsStr) -> Result<Recipe> {
    match found(name)? {
        (preset, true) => borrowed(preset),
        (recipe, false) => Ok(recipe),
    }
}

/// The file that a recipe is read from, if it is none of the presets.
pub fn recipe_file(name: &OsStr) -> Option<PathBuf> {
    name.to_str().is_none_or(|name| find(name).is_none()).then(|| name.into())
}

/// The preset of that name, or the recipe in that file; and whether it is a preset.
///
/// # Errors
/// When there is neither.
pub fn found(name: &OsStr) -> Result<(Recipe, bool)> {
    let path = Path::new(name);
    match name.to_str().and_then(find) {
        Some(preset) => Ok((preset?, true)),
        None if path.exists() || path.extension().is_some_and(|e| e == "toml") => Ok((Recipe::read(path)?, false)),
        None => Err(Error::unknown("preset", &shown(path), names())),
    }
}

/// The run from the recipe's own start, warnings said.
///
/// # Errors
/// When the recipe cannot be run, or its own terrain not be read.
pub fn start(recipe: Recipe, voice: Voice) -> Result<Run> {
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
        let own = borrowed(find("aged").unwrap().unwrap()).unwrap();
        let path = own.folder.join(own.dem().unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), ELEVATION_MODEL.1);
        tidy();
        assert!(!path.exists() && !own.folder.exists());
    }

    #[cfg(feature = "studio")]
    #[test]
    fn every_preset_has_a_small_picture() {
        for (name, _, picture) in with_thumbnails() {
            assert!(
                thalweg_render::pictures::picture::Picture::decode(std::io::Cursor::new(picture)).is_ok(),
                "{name}"
            );
        }
    }
}
