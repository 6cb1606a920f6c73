//! [`begin_run`]: begins a run that may use the library's own elevation model, for a folder that gets a copy of it.

use std::path::Path;

use thalweg_core::{Error, Result};
use thalweg_io::LoadOptions;
use thalweg_io::atomic::Temporary;
use thalweg_io::output::{absolute_path, make_folder};
use thalweg_sim::presets::{ELEVATION_MODEL, write_elevation_model};
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;

/// Begins the run of a recipe for a world that will be written to `folder`, which is created if necessary. If the
/// recipe begins with the presets' elevation model, the model is read from a temporary folder there; the recipe names
/// the copy that will be written next to the world at the end.
///
/// # Errors
/// Returns an error if the folder cannot be written or the recipe begins with something else; and the errors of
/// [`Run::from_elevation_file`].
pub fn begin_run(recipe: Recipe, folder: &Path, options: &LoadOptions) -> Result<Run> {
    make_folder(folder)?;
    // The temporary folder is removed at the end of this function, when the run has read the model.
    let passing = Temporary::create_folder(folder).map_err(Error::io(folder, "write into"))?;
    let recipe = write_elevation_model(recipe, passing.path())?;
    let model = passing.path().join(ELEVATION_MODEL.0);
    Run::from_elevation_file(Recipe { folder: absolute_path(folder)?.into(), ..recipe }, &model, options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_sim::presets::find_preset;

    #[test]
    fn an_elevation_model_is_read_from_a_place_that_passes() {
        let passing = tempfile::tempdir().unwrap();
        let folder = passing.path().join("world");
        let recipe = Recipe { cells: 64, ..find_preset("aged").unwrap() };
        let run = begin_run(recipe, &folder, &LoadOptions::default()).unwrap();
        assert_eq!(*run.recipe().folder, *absolute_path(&folder).unwrap());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "nothing stays of it");
        assert!(begin_run(find_preset("hills").unwrap(), &folder, &LoadOptions::default()).is_err());
    }
}
