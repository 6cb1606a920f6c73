//! Recipes and files: opening a file as a recipe, and saving a recipe.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::recipe::{Recipe, Start};
use thalweg_core::{Error, Result};
use thalweg_io::atomic::write_atomically;
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::{FilePath, Format};
use thalweg_models::model::Role;
use thalweg_models::models;

impl Recipe {
    /// Returns true if a file's name is that of a recipe: it ends in `.toml`, in upper or lower case.
    pub fn is_named(path: &Path) -> bool {
        path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"))
    }

    /// Returns the recipe of a file: its text or, for an elevation model, a recipe in which water flows over it.
    ///
    /// # Errors
    /// Returns the errors of [`Recipe::read`]; also returns an error if no reader of terrain knows the file's name
    /// extension.
    pub fn open(path: impl Into<FilePath>) -> Result<Self> {
        let path = &path.into();
        if Self::is_named(path) {
            return Self::read(path);
        }
        Format::from_path(path)?;
        let absolute = path.to_absolute()?;
        let mut recipe = Self::with_single_stage(models::find_model_for_role(Role::Water)?, 1);
        recipe.name = path.file_stem().map_or("terrain".into(), |stem| stem.to_string_lossy().into_owned());
        recipe.folder = absolute.with_path("");
        recipe.start = Start::FromDem { path: absolute.into() };
        Ok(recipe)
    }

    /// Writes the recipe's text into a file, completely or not at all. If the file is in another folder than the
    /// recipe came from, the recipe's own files are named by absolute paths. An elevation model in the system's
    /// temporary folder, such as a preset's, would not persist: it is copied next to the recipe. Drawn lines that are
    /// in no file yet are written next to it too, as GeoJSON under the recipe's name.
    ///
    /// # Errors
    /// Returns an error if the recipe itself reads that file, it cannot be written, or another file exists in the
    /// place of that elevation model or of the lines.
    pub fn save(&self, path: &Path) -> Result<()> {
        check_distinct_files(&self.list_input_files(), &[path.to_path_buf()])?;
        let text = self.prepare_text_for_path(path)?;
        write_atomically(path, |file| file.write_all(text.as_bytes()).map_err(Error::io(path, "write")))
    }

    /// Returns its text for a file at this path.
    fn prepare_text_for_path(&self, path: &Path) -> Result<String> {
        let here =
            |folder: &Path| std::path::absolute(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        let folder = path.parent().unwrap_or(Path::new("."));
        // In the recipe's own folder, relative paths stay valid.
        if here(folder).ok() == here(&self.folder).ok() {
            let mut recipe = self.clone();
            recipe.save_lines(path)?;
            return Ok(recipe.to_toml());
        }
        let mut recipe = self.with_absolute_paths()?;
        if let Some(from) = recipe.dem_mut().filter(|from| from.starts_with(std::env::temp_dir())) {
            let name = PathBuf::from(from.file_name().unwrap_or_default());
            let data_file = folder.join(&name);
            let bytes = std::fs::read(&*from).map_err(Error::io(&*from, "read"))?;
            // An existing file of the same content is left as it is; one of other content is not overwritten.
            if !data_file.exists() {
                write_atomically(&data_file, |file| file.write_all(&bytes).map_err(Error::io(&data_file, "write")))?;
            } else if std::fs::read(&data_file).map_err(Error::io(&data_file, "read"))? != bytes {
                return Err(Error::invalid_file(
                    &data_file,
                    "already exists and is not the elevation model of the recipe; choose another folder",
                ));
            }
            *from = name;
        }
        recipe.save_lines(path)?;
        Ok(recipe.to_toml())
    }

    /// Returns the settings that turn `plain`, an earlier recipe, into this one: cells, seed, parameters. `None` if
    /// they differ in anything else.
    pub fn find_overrides(&self, plain: &Self) -> Option<Overrides> {
        let mut plain = plain.clone();
        let mut overrides = Overrides {
            cells: Some(self.cells).filter(|cells| *cells != plain.cells),
            seed: Some(self.seed).filter(|seed| *seed != plain.seed),
            parameters: Vec::new(),
        };
        // The settings that overrides can express are made equal; the texts at the end then show whether anything else
        // differs.
        (plain.cells, plain.seed) = (self.cells, self.seed);
        for (old, new) in plain.stages.iter_mut().zip(&self.stages) {
            let owner = old.model.about().name;
            if owner != new.model.about().name {
                return None;
            }
            for param in new.model.declared() {
                let value = new.model.get(param.name)?;
                if old.model.get(param.name) != Some(value) {
                    old.model.set(owner, param.name, &value.into()).ok()?;
                    overrides.parameters.push(format!("{}.{}={value}", old.label, param.name));
                }
            }
        }
        (plain.to_toml() == self.to_toml()).then_some(overrides)
    }
}

/// Changed settings of a recipe. `None` means unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overrides {
    /// Number of cells on the long side.
    pub cells: Option<usize>,
    /// The seed.
    pub seed: Option<u64>,
    /// Parameters, as `label.name=value`.
    pub parameters: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passing_elevation_model_is_saved_beside_the_recipe() {
        let [passing, saved] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let model = passing.path().join("dem.asc");
        std::fs::write(&model, "land").unwrap();
        let recipe = Recipe::parse(&format!("from = {:?}\n", model.to_string_lossy())).unwrap();
        let path = saved.path().join("r.toml");
        for _ in 0..2 {
            recipe.save(&path).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.contains("from = \"dem.asc\""), "{text}");
            assert_eq!(std::fs::read(saved.path().join("dem.asc")).unwrap(), b"land");
        }
        std::fs::write(saved.path().join("dem.asc"), "other land").unwrap();
        assert!(recipe.save(&path).unwrap_err().to_string().contains("is not the elevation model of the recipe"));
        assert!(recipe.save(&model).unwrap_err().to_string().contains("is also an input"));
    }

    #[test]
    fn settings_are_what_was_set_and_nothing_else_may_differ() {
        let text = "name = \"demo\"\nextent = [1000.0, 1000.0]\ncells = 64\n\
                    [[stage]]\nmodel = \"gradient_noise\"\nlabel = \"two words\"\n";
        let plain = Recipe::parse(text).unwrap();
        let mut recipe = plain.clone();
        let none = Overrides { cells: None, seed: None, parameters: Vec::new() };
        assert_eq!(recipe.find_overrides(&plain), Some(none));
        recipe.seed = 9;
        recipe.cells = 128;
        recipe.stages[0].model.set("gradient_noise", "amplitude", &12.5.into()).unwrap();
        let set = Overrides { cells: Some(128), seed: Some(9), parameters: vec!["two words.amplitude=12.5".into()] };
        assert_eq!(recipe.find_overrides(&plain), Some(set));
        recipe.stages.clear();
        assert_eq!(recipe.find_overrides(&plain), None);
    }

    #[test]
    fn an_elevation_model_opens_with_water_upon_it() {
        let recipe = Recipe::open(Path::new("some/where.tif")).unwrap();
        assert!(recipe.name == "where" && recipe.dem().is_some_and(Path::is_absolute));
        assert!(recipe.stages[0].model.plays_role(Role::Water));
        assert!(Recipe::open(Path::new("a.doc")).is_err() && Recipe::open(Path::new("no.toml")).is_err());
    }
}
