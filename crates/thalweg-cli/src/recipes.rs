//! The recipes that a command refers to: presets and files.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use thalweg_core::{Error, Result};
use thalweg_io::atomic::{Temporary, remove_stale_temporaries};
use thalweg_io::output::absolute_path;
use thalweg_sim::presets::{PRESETS, find_recipe, write_elevation_model};
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;

use crate::console::Reporter;

/// The names of the presets.
pub fn preset_names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
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
    preset_names().all(|preset| name != preset).then(|| name.into())
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
    use thalweg_sim::presets::{ELEVATION_MODEL, find_preset};

    #[test]
    fn an_elevation_model_goes_with_the_process() {
        let own = with_dem_file(find_preset("aged").unwrap()).unwrap();
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
