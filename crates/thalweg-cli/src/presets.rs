//! The recipes that come with the command.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use thalweg::io::atomic::{Temporary, atomic, sweep};
use thalweg::presets::{ELEVATION_MODEL, PRESETS};
use thalweg::recipe::Recipe;
use thalweg::{Error, Result};

use crate::console::print;
use thalweg::io::output::absolute;

/// What a preset's elevation model is called.
pub const MODEL_NAME: &str = ELEVATION_MODEL.0;

/// The names.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
}

/// The preset of that name, if there is one. Its elevation model, if it has one, lies nowhere yet: see [`laid`] and [`borrowed`].
///
/// # Errors
/// When its text is no recipe, which a test rules out.
pub fn find(name: &str) -> Option<Result<Recipe>> {
    Some(PRESETS.iter().find(|preset| preset.name == name)?.recipe())
}

/// A preset whose elevation model, if it has one, lies in this folder.
///
/// # Errors
/// When it cannot be written.
pub fn laid(mut recipe: Recipe, folder: &Path) -> Result<Recipe> {
    if let Some(name) = model_of(&recipe) {
        let path = folder.join(name);
        atomic(&path, |file| file.write_all(ELEVATION_MODEL.1).map_err(Error::io(&path, "write")))?;
        recipe.folder = absolute(folder)?;
    }
    Ok(recipe)
}

/// A preset whose elevation model, if it has one, lies in a folder that goes with this process.
///
/// # Errors
/// When it cannot be written.
pub fn borrowed(recipe: Recipe) -> Result<Recipe> {
    match recipe.from {
        Some(_) => laid(recipe, &own_folder()?),
        None => Ok(recipe),
    }
}

/// A recipe as it is written into a world's folder: an elevation model that goes with the process is laid there, to stay.
///
/// # Errors
/// When it cannot be written.
pub fn kept(mut recipe: Recipe, folder: &Path) -> Result<Recipe> {
    let own = held().as_ref().map(|(folder, _)| folder.clone());
    if recipe.from.as_deref().zip(own).is_some_and(|(from, own)| from.starts_with(own)) {
        recipe.from = Some(MODEL_NAME.into());
        recipe = laid(recipe, folder)?;
    }
    Ok(recipe)
}

/// The elevation model that lies beside a recipe of a preset.
pub fn model_of(recipe: &Recipe) -> Option<&'static str> {
    (recipe.from.as_deref() == Some(Path::new(MODEL_NAME))).then_some(MODEL_NAME)
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
            let recipe = Recipe::parse(text).ok().filter(|recipe| recipe.from.is_some())?;
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
    ("desert", include_bytes!("../thumbnails/desert.png")),
    ("fjords", include_bytes!("../thumbnails/fjords.png")),
    ("forest", include_bytes!("../thumbnails/forest.png")),
    ("glacial", include_bytes!("../thumbnails/glacial.png")),
    ("hills", include_bytes!("../thumbnails/hills.png")),
    ("lakes", include_bytes!("../thumbnails/lakes.png")),
    ("river_delta", include_bytes!("../thumbnails/river_delta.png")),
    ("rivers", include_bytes!("../thumbnails/rivers.png")),
    ("spring", include_bytes!("../thumbnails/spring.png")),
    ("storm", include_bytes!("../thumbnails/storm.png")),
    ("uplift", include_bytes!("../thumbnails/uplift.png")),
    ("volcanic_island", include_bytes!("../thumbnails/volcanic_island.png")),
];

/// Prints name, extent and landform of each.
///
/// # Errors
/// When nothing can be printed.
pub fn list() -> Result<()> {
    for name in names() {
        let recipe = find(name).unwrap_or_else(|| Err(Error::unknown("preset", name, names())))?;
        let extent = recipe.extent.map_or(String::new(), |[w, h]| format!(" [{} × {} km]", w / 1e3, h / 1e3));
        print(&format!("{name:<16} {}{extent}\n", recipe.about.trim()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_elevation_model_is_laid_where_it_is_wanted_or_goes_with_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let recipe = laid(find("aged").unwrap().unwrap(), folder.path()).unwrap();
        assert_eq!(std::fs::read(recipe.folder.join(recipe.from.unwrap())).unwrap(), ELEVATION_MODEL.1);
        let own = borrowed(find("aged").unwrap().unwrap()).unwrap();
        let path = own.folder.join(own.from.unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), ELEVATION_MODEL.1);
        // A world that is written keeps it, and names it from its own folder on.
        let world = tempfile::tempdir().unwrap();
        let recipe = borrowed(find("aged").unwrap().unwrap()).unwrap().within(world.path()).unwrap();
        let recipe = kept(recipe, world.path()).unwrap();
        assert!(recipe.to_toml().contains("from = \"jacksboro.tif\"") && world.path().join(MODEL_NAME).is_file());
        tidy();
        assert!(!path.exists() && !own.folder.exists());
    }

    #[cfg(feature = "studio")]
    #[test]
    fn every_preset_has_a_small_picture() {
        for (name, _, picture) in with_thumbnails() {
            assert!(thalweg::pictures::picture::Picture::decode(std::io::Cursor::new(picture)).is_ok(), "{name}");
        }
    }
}
