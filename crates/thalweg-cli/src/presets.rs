//! The recipes that come with the command.

use std::io::Write as _;
use std::path::PathBuf;

use thalweg::io::atomic::atomic;
use thalweg::recipe::Recipe;
use thalweg::{Error, Result};

use crate::voice::print;

/// Name and text of each; the default comes first. A published crate holds no file from outside its folder, so these are
/// copies of the repository's `recipes/`; a test compares them.
const PRESETS: &[(&str, &str)] = &[
    ("alpine", include_str!("../recipes/alpine.toml")),
    ("aged", include_str!("../recipes/aged.toml")),
    ("archipelago", include_str!("../recipes/archipelago.toml")),
    ("badlands", include_str!("../recipes/badlands.toml")),
    ("canyon", include_str!("../recipes/canyon.toml")),
    ("desert", include_str!("../recipes/desert.toml")),
    ("fjords", include_str!("../recipes/fjords.toml")),
    ("forest", include_str!("../recipes/forest.toml")),
    ("glacial", include_str!("../recipes/glacial.toml")),
    ("hills", include_str!("../recipes/hills.toml")),
    ("lakes", include_str!("../recipes/lakes.toml")),
    ("river_delta", include_str!("../recipes/river_delta.toml")),
    ("rivers", include_str!("../recipes/rivers.toml")),
    ("spring", include_str!("../recipes/spring.toml")),
    ("storm", include_str!("../recipes/storm.toml")),
    ("uplift", include_str!("../recipes/uplift.toml")),
    ("volcanic_island", include_str!("../recipes/volcanic_island.toml")),
];

/// The elevation model that a preset begins with, as its recipe calls it.
const MODEL: (&str, &[u8]) = ("jacksboro.tif", include_bytes!("../recipes/jacksboro.tif"));

/// The names.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}

/// The preset of that name, if there is one.
///
/// # Errors
/// When its text is no recipe, which a test rules out, or its elevation model cannot be unpacked.
pub fn find(name: &str) -> Option<Result<Recipe>> {
    let (_, text) = PRESETS.iter().find(|(known, _)| *known == name)?;
    let unpacked = |mut recipe: Recipe| {
        if recipe.from.is_some() {
            recipe.folder = unpacked()?;
        }
        Ok(recipe)
    };
    Some(Recipe::parse(text).and_then(unpacked))
}

/// The folder, among the system's passing files, where the elevation model of a preset lies.
fn unpacked() -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(concat!("thalweg-", env!("CARGO_PKG_VERSION")));
    let (name, bytes) = MODEL;
    let path = folder.join(name);
    if std::fs::read(&path).is_ok_and(|there| there == bytes) {
        return Ok(folder);
    }
    std::fs::create_dir_all(&folder).map_err(Error::io(&folder, "make"))?;
    atomic(&path, |file| file.write_all(bytes).map_err(Error::io(&path, "write")))?;
    Ok(folder)
}

/// Name, text and small picture (PNG) of each.
#[cfg(feature = "studio")]
pub fn with_thumbnails() -> impl Iterator<Item = (&'static str, String, &'static [u8])> {
    PRESETS.iter().map(|(name, text)| {
        let picture = THUMBNAILS.iter().find(|(known, _)| known == name);
        // Without room to unpack its elevation model the studio says that the file is missing, when it is asked for.
        let placed = || {
            let mut recipe = Recipe::parse(text).ok().filter(|recipe| recipe.from.is_some())?;
            recipe.from = Some(unpacked().ok()?.join(MODEL.0));
            Some(recipe.to_toml())
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
    fn every_preset_is_a_recipe_of_its_own_name() {
        for name in names() {
            let recipe = find(name).unwrap().unwrap();
            assert_eq!(recipe.name, name);
            assert!(!recipe.stages.is_empty() && !recipe.about.is_empty());
            assert!(recipe.from.is_some() || recipe.grid().is_ok(), "{name}");
        }
    }

    #[cfg(feature = "studio")]
    #[test]
    fn every_preset_has_a_small_picture() {
        for (name, _, picture) in with_thumbnails() {
            assert!(thalweg::pictures::picture::Picture::decode(std::io::Cursor::new(picture)).is_ok(), "{name}");
        }
    }

    #[test]
    fn copies_are_the_repository_s_recipes() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes");
        for (name, text) in PRESETS {
            let original =
                std::fs::read_to_string(folder.join(format!("{name}.toml"))).expect("the repository is there");
            assert_eq!(*text, original, "copy recipes/{name}.toml to crates/thalweg-cli/recipes/");
        }
        assert_eq!(MODEL.1, std::fs::read(folder.join(MODEL.0)).expect("the repository is there"));
    }
}
