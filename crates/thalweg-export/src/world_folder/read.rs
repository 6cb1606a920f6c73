//! Reads a world's folder, or a file of heights, as a terrain.

use std::path::{Path, PathBuf};

use super::{HEIGHT, REPORT, TREES};
use thalweg_core::terrain::{ReadBack, earlier_layer_names};
use thalweg_core::{Error, Result, Terrain};
use thalweg_io::file_identity::is_same_file;
use thalweg_io::trees::load_trees;
use thalweg_io::{Format, LoadOptions, Sidecar, VrtWindows, load_square_terrain, load_terrain_layer, plain};
use thalweg_models::models::Models;
use thalweg_models::process::forest::{Forest, Tree};
use thalweg_models::rocks::Rock;
use thalweg_render::products::textures::{GroundCover, TextureRules};
use thalweg_sim::recipe::{RECIPE_FILE, Recipe};

/// The greatest size of a report that is read, in bytes.
const LONGEST: u64 = 16 << 20;

/// Reads a terrain, and returns it with warnings. `path` is a file, or a folder that was written as a world's folder or
/// by [a survey](crate::survey::Survey::write_draft) with runoff. From a folder the layers of [`ReadBack::Always`] are
/// read too, and edges and sea level from its recipe.
///
/// # Errors
/// Returns an error if a file cannot be read, if a layer does not have the size of the heights, or if the folder has no
/// heights.
///
/// # Examples
/// A file of heights is read as [`load_terrain`](thalweg_io::load_terrain) reads it; its cells must be squares.
///
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_export::world_folder::read_world;
/// use thalweg_io::{LoadOptions, SaveOptions, save_terrain};
///
/// let folder = tempfile::tempdir().unwrap();
/// let file = folder.path().join("dem.tif");
/// let terrain = Terrain::from_metres(Grid::new([2, 2], 30.0)?, &[0.0, 10.0, 20.0, 30.0])?;
/// save_terrain(&file, &terrain, &SaveOptions::default())?;
/// assert_eq!(read_world(&file, &LoadOptions::default())?.0.ground, terrain.ground);
/// // The folder itself is not that of a world: it has no height.tif.
/// assert!(read_world(folder.path(), &LoadOptions::default()).is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn read_world(path: &Path, options: &LoadOptions) -> Result<(Terrain, Vec<String>)> {
    read_world_with_models(path, options, &Models::default())
}

/// Reads a terrain as [`read_world`] does, for a world that a caller's own models may have made: the layers that these
/// models declare are read too.
///
/// # Errors
/// Returns the errors of [`read_world`].
pub fn read_world_with_models(path: &Path, options: &LoadOptions, models: &Models) -> Result<(Terrain, Vec<String>)> {
    if !path.is_dir() {
        let loaded = load_square_terrain(path, options, SUBJECT)?;
        return Ok((loaded.terrain, loaded.warnings));
    }
    let loaded = load_square_terrain(find_heights_file(path)?, options, SUBJECT)?;
    let mut terrain = loaded.terrain;
    // Layers need the terrain's mask, so they are read after the heights.
    add_layers(path, ReadBack::Always, models, &mut terrain)?;
    // The files do not state edges and sea level, so these come from the recipe.
    if let Some(recipe) =
        find_folder_file(path, RECIPE_FILE).map(|file| Recipe::read_with(&file, models)).transpose()?
    {
        terrain.grid = recipe.configure_grid(terrain.grid)?;
    }
    Ok((terrain, loaded.warnings))
}

/// What needs square cells, in messages.
const SUBJECT: &str = "this operation";

/// Returns the file of heights in a world's folder.
///
/// # Errors
/// Returns an error if the folder has no heights.
pub fn find_heights_file(path: &Path) -> Result<PathBuf> {
    let problem = "is a folder without height.tif; give an elevation file, or the output folder of `build` or of \
                   `drain --runoff`";
    find_folder_file(path, HEIGHT).ok_or_else(|| Error::invalid_file(path, problem))
}

/// Reads a terrain as [`read_world`] does, with everything that a live view shows: also the layers of
/// [`ReadBack::InViews`], and the trees.
///
/// # Errors
/// Returns the errors of [`read_world`].
pub fn read_displayed_terrain(path: &Path, options: &LoadOptions) -> Result<(Terrain, Vec<String>)> {
    let (mut terrain, mut warnings) = read_world(path, options)?;
    add_layers(path, ReadBack::InViews, &Models::default(), &mut terrain)?;
    let (trees, said) = read_world_trees(path, None, &terrain)?;
    warnings.extend(said);
    if !trees.is_empty() {
        Forest::from_trees(trees, &terrain.grid)?.write(&mut terrain)?;
    }
    Ok((terrain, warnings))
}

/// Reads the trees of the table `given`, or otherwise of the folder's own table, and returns them with warnings; no
/// trees if there is no table.
///
/// # Errors
/// Returns the errors of [`load_trees`].
pub fn read_world_trees(path: &Path, given: Option<&Path>, terrain: &Terrain) -> Result<(Vec<Tree>, Vec<String>)> {
    let table = given.map(Path::to_path_buf).or_else(|| find_folder_file(path, TREES[0]));
    table.map_or(Ok(Default::default()), |table| load_trees(table, &terrain.grid))
}

/// Returns the files that are read for a terrain: a file and its sidecar, for a virtual raster also the files of its
/// mosaic, or the files of a folder.
pub fn list_input_files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        let is_virtual = Format::from_path(path).is_ok_and(|format| format == Format::Vrt);
        let mosaic_files = is_virtual.then(|| VrtWindows::open(path).ok()).flatten();
        let mosaic_files = mosaic_files.iter().flat_map(VrtWindows::files).map(Path::to_path_buf);
        return Sidecar::input_files(path).into_iter().chain(mosaic_files).collect();
    }
    let layers = Models::default().declared_layers();
    let layers = layers.iter().filter(|spec| spec.traits.in_world_folder != ReadBack::Never);
    let layers = layers.flat_map(|spec| std::iter::once(spec.name).chain(earlier_layer_names(spec.name)));
    let names = layers.map(|name| format!("{name}.tif")).chain([HEIGHT, RECIPE_FILE, TREES[0]].map(String::from));
    names.filter_map(|name| find_folder_file(path, &name)).collect()
}

/// Computes the ground cover of a terrain that was read from `path`, by the rules and the rock of its recipe, or by the
/// defaults.
///
/// # Errors
/// Returns an error if the recipe cannot be read, and the errors of [`GroundCover::from_terrain`].
pub fn read_cover(path: &Path, terrain: &Terrain) -> Result<GroundCover> {
    let (rules, rock) = read_texture_rules(path)?;
    GroundCover::from_terrain(terrain, &rules, rock)
}

/// Returns the texture rules and the rock of the recipe in a world's folder; the defaults if there is no recipe.
///
/// # Errors
/// Returns an error if the recipe cannot be read.
pub fn read_texture_rules(path: &Path) -> Result<(TextureRules, &'static Rock)> {
    let recipe = read_recipe(path)?;
    Ok(recipe.map_or_else(|| (TextureRules::default(), Rock::usual()), |recipe| (recipe.textures, recipe.rock)))
}

/// Reads the recipe in a world's folder; `None` if there is none.
///
/// # Errors
/// Returns an error if it cannot be read.
///
/// # Examples
/// ```
/// use thalweg_export::world_folder::read_recipe;
/// use thalweg_sim::presets::find_preset;
///
/// let folder = tempfile::tempdir().unwrap();
/// assert!(read_recipe(folder.path())?.is_none());
/// let mut recipe = find_preset("hills")?;
/// recipe.seed = 7;
/// recipe.write(folder.path())?;
/// assert_eq!(read_recipe(folder.path())?.map(|recipe| recipe.seed), Some(7));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn read_recipe(path: &Path) -> Result<Option<Recipe>> {
    find_folder_file(path, RECIPE_FILE).as_deref().map(Recipe::read).transpose()
}

/// Returns true if a folder's report belongs to a world of another recipe; false if there is no report.
pub fn is_of_another(folder: &Path, recipe: &Recipe) -> bool {
    let report = plain::read_plain_file(folder.join(REPORT), LONGEST).ok();
    let report: Option<serde_json::Value> = report.and_then(|text| serde_json::from_slice(&text).ok());
    report.is_some_and(|report| report["recipe_hash"].as_str().is_some_and(|hash| hash != recipe.hash()))
}

/// Returns true if `file` is the recipe in a world's folder, and would not be changed when a world of this recipe is
/// written there.
pub fn is_unchanged_recipe(folder: &Path, recipe: &Recipe, file: &Path) -> bool {
    let is_kept = |own: Recipe| std::fs::read_to_string(file).is_ok_and(|text| text == own.to_file());
    is_same_file(file, &folder.join(RECIPE_FILE)) && recipe.with_paths_relative_to(folder).is_ok_and(is_kept)
}

/// Adds the layers that are declared to be read back in this way and have a file in the folder.
fn add_layers(folder: &Path, read_back: ReadBack, models: &Models, terrain: &mut Terrain) -> Result<()> {
    let declared = models.declared_layers();
    for spec in declared.iter().filter(|spec| spec.traits.in_world_folder == read_back) {
        if let Some(file) = find_layer_file(folder, spec.name) {
            let cells = load_terrain_layer(file, terrain, spec)?;
            terrain.insert_layer(spec, cells)?;
        }
    }
    Ok(())
}

/// Returns the file of a layer in a world's folder. Its name may be an earlier name of the layer.
pub(crate) fn find_layer_file(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut names = std::iter::once(name).chain(earlier_layer_names(name));
    names.find_map(|name| find_folder_file(folder, &format!("{name}.tif")))
}

fn find_folder_file(folder: &Path, name: &str) -> Option<PathBuf> {
    Some(folder.join(name)).filter(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::terrain::Cells;
    use thalweg_core::{Field, Grid, Height};
    use thalweg_io::{SaveOptions, save_layer, save_terrain};
    use thalweg_sim::presets;

    #[test]
    fn a_layer_is_read_from_a_file_with_its_earlier_name() {
        let folder = tempfile::tempdir().unwrap();
        let terrain = Terrain::new(Grid::new([3, 4], 10.0).unwrap());
        let thickness = |metres| Field::new([3, 4], Height::from_metres_clamped(metres));
        let save = |name: &str, metres| {
            let cells = Cells::Height(thickness(metres));
            save_layer(folder.path().join(format!("{name}.tif")), &terrain, name, &cells).unwrap();
        };
        save_terrain(folder.path().join(HEIGHT), &terrain, &SaveOptions::default()).unwrap();
        save("loose", 2.0);
        let read = || read_world(folder.path(), &LoadOptions::default()).unwrap().0.loose;
        assert_eq!(read(), Some(thickness(2.0)));
        assert!(list_input_files(folder.path()).contains(&folder.path().join("loose.tif")));
        // The file with the current name takes precedence.
        save("sediment", 3.0);
        assert_eq!(read(), Some(thickness(3.0)));
    }

    #[test]
    fn a_recipe_stays_in_its_folder_only_as_it_is_written_there() {
        let folder = tempfile::tempdir().unwrap();
        let recipe = presets::find_preset("hills").unwrap();
        let [own, other] = [RECIPE_FILE, "other.toml"].map(|name| folder.path().join(name));
        for file in [&own, &other] {
            std::fs::write(file, recipe.with_paths_relative_to(folder.path()).unwrap().to_file()).unwrap();
        }
        assert!(is_unchanged_recipe(folder.path(), &recipe, &own));
        assert!(!is_unchanged_recipe(folder.path(), &recipe, &other), "another file");
        assert!(
            !is_unchanged_recipe(folder.path(), &Recipe { seed: recipe.seed + 1, ..recipe }, &own),
            "another recipe"
        );
    }
}
