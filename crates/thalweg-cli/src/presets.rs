//! The recipes that come with the command.

use thalweg::recipe::Recipe;
use thalweg::{Error, Result};

use crate::voice::print;

/// Name and text of each; the default comes first. A published crate holds no file from outside its folder, so these are
/// copies of the repository's `recipes/`; a test compares them.
const PRESETS: &[(&str, &str)] = &[
    ("alpine", include_str!("../recipes/alpine.toml")),
    ("canyon", include_str!("../recipes/canyon.toml")),
    ("forest", include_str!("../recipes/forest.toml")),
    ("hills", include_str!("../recipes/hills.toml")),
    ("island", include_str!("../recipes/island.toml")),
    ("lakes", include_str!("../recipes/lakes.toml")),
    ("rivers", include_str!("../recipes/rivers.toml")),
    ("spring", include_str!("../recipes/spring.toml")),
    ("storm", include_str!("../recipes/storm.toml")),
    ("uplift", include_str!("../recipes/uplift.toml")),
    ("volcano", include_str!("../recipes/volcano.toml")),
];

/// The names.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}

/// The preset of that name, if there is one.
///
/// # Errors
/// When its text is no recipe, which a test rules out.
pub fn find(name: &str) -> Option<Result<Recipe>> {
    PRESETS.iter().find(|(known, _)| *known == name).map(|(_, text)| Recipe::parse(text))
}

/// Name, text and small picture (PNG) of each.
#[cfg(feature = "studio")]
pub fn with_thumbnails() -> impl Iterator<Item = (&'static str, &'static str, &'static [u8])> {
    PRESETS.iter().map(|(name, text)| {
        let picture = THUMBNAILS.iter().find(|(known, _)| known == name);
        (*name, *text, picture.map_or(&[] as &[u8], |(_, picture)| picture))
    })
}

/// Small pictures of the presets, drawn by `cargo xtask gallery`.
#[cfg(feature = "studio")]
const THUMBNAILS: &[(&str, &[u8])] = &[
    ("alpine", include_bytes!("../thumbnails/alpine.png")),
    ("canyon", include_bytes!("../thumbnails/canyon.png")),
    ("forest", include_bytes!("../thumbnails/forest.png")),
    ("hills", include_bytes!("../thumbnails/hills.png")),
    ("island", include_bytes!("../thumbnails/island.png")),
    ("lakes", include_bytes!("../thumbnails/lakes.png")),
    ("rivers", include_bytes!("../thumbnails/rivers.png")),
    ("spring", include_bytes!("../thumbnails/spring.png")),
    ("storm", include_bytes!("../thumbnails/storm.png")),
    ("uplift", include_bytes!("../thumbnails/uplift.png")),
    ("volcano", include_bytes!("../thumbnails/volcano.png")),
];

/// Prints name, extent and landform of each.
///
/// # Errors
/// When nothing can be printed.
pub fn list() -> Result<()> {
    for name in names() {
        let recipe = find(name).unwrap_or_else(|| Err(Error::unknown("preset", name, names())))?;
        let extent = recipe.extent.map_or(String::new(), |[w, h]| format!(" [{} × {} km]", w / 1e3, h / 1e3));
        print(&format!("{name:<10} {}{extent}\n", recipe.about.trim()))?;
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
            recipe.grid().unwrap();
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
    }
}
