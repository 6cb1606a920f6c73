//! [`Ending`]: the output of a finished run, checked before the work and written after it.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::lock;
use super::{Frames, HEIGHT, MAP, MAP_PLACE, REPORT, TREES};
use thalweg_core::base::names;
use thalweg_core::terrain::{Cells, SEDIMENT};
use thalweg_core::{Error, Result, Terrain};
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::output::{self, absolute_path};
use thalweg_io::staging::{JOURNAL, LAYERS};
use thalweg_io::trees::save_trees;
use thalweg_io::water::{self, save_water};
use thalweg_io::{
    Draft, FilePath, MapPixels, SampleType, SaveOptions, Saved, Sidecar, save_layer_as, save_map, save_terrain,
    save_world_file, write_atomically, writes_sidecar,
};
use thalweg_models::process::forest::{self, Forest};
use thalweg_render::pictures::look::LookOptions;
use thalweg_render::pictures::shade::{SCREEN, ShadeOptions};
use thalweg_sim::presets;
use thalweg_sim::recipe::{RECIPE_FILE, Recipe, SCHEMA_FILE, Start};
use thalweg_sim::run::Run;

/// The output of a finished run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Ending {
    /// A whole folder: heights, layers, water, trees, a map, the recipe, the report.
    World {
        /// The folder.
        #[serde(with = "names::path")]
        dir: PathBuf,
        /// The type of the samples of heights and layers; `None` for 32-bit floats.
        sample: Option<SampleType>,
        /// True if the preset's elevation model, with which the run began, is written next to the world.
        model: bool,
    },
    /// One file of heights, and optionally a folder of other layers.
    File {
        /// The file of heights.
        #[serde(with = "names::path")]
        output: PathBuf,
        /// The type of the samples of heights and layers; `None` for the format's default type.
        sample: Option<SampleType>,
        /// The sample that stands for no data, that of the input if it had one; `None` for the default
        /// ([`SaveOptions::nodata`]).
        nodata: Option<f64>,
        /// The folder of other layers; `None` if none are written.
        #[serde(with = "names::path_option")]
        layers: Option<PathBuf>,
    },
}

/// Writes a finished run's world to a folder, which is created if necessary.
///
/// # Errors
/// Returns an error if the folder or a file cannot be written, if a name belongs to something else, or if the recipe
/// reads one of the files.
///
/// # Examples
/// ```
/// use thalweg_export::world_folder::write_world;
/// use thalweg_io::MemoryFiles;
/// use thalweg_sim::{presets, run::Run};
///
/// let mut recipe = presets::find_preset("hills")?;
/// recipe.cells = 32;
/// let mut run = Run::new(recipe)?;
/// while run.take_step()?.is_some() {}
/// let files = MemoryFiles::default();
/// write_world(&run, files.path("world"))?;
/// assert!(["height.tif", "recipe.toml", "report.json"].iter().all(|name| files.path("world").join(name).exists()));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn write_world(run: &Run, folder: impl Into<FilePath>) -> Result<()> {
    let folder = folder.into().to_absolute()?;
    let ending = Ending::World { dir: folder.to_path_buf(), sample: None, model: false };
    let recipe = run.recipe();
    // A store in memory belongs to its caller, so the names of files are not checked there.
    if !folder.is_in_memory() {
        check_distinct_files(&recipe.list_input_files(), &ending.output_files(recipe)?)?;
        ending.check(recipe)?;
    }
    let mut draft = ending.write_store_draft(&folder, run, None, None)?;
    draft.report["seconds"] = run.reports().iter().map(|report| report.seconds).sum::<f64>().into();
    draft.commit(&recipe.list_input_files()).map(drop)
}

impl Ending {
    /// Makes the paths absolute.
    ///
    /// # Errors
    /// Returns an error if there is no current folder.
    pub fn with_absolute_paths(mut self) -> Result<Self> {
        match &mut self {
            Self::World { dir, .. } => *dir = absolute_path(dir)?,
            Self::File { output, layers, .. } => {
                *output = absolute_path(output)?;
                *layers = layers.as_deref().map(absolute_path).transpose()?;
            }
        }
        Ok(self)
    }

    /// Returns the folder of a world; `None` for a file.
    pub fn world_folder(&self) -> Option<&Path> {
        match self {
            Self::World { dir, .. } => Some(dir),
            Self::File { .. } => None,
        }
    }

    /// Returns the path of the preset's elevation model that is written next to the world. The recipe may name this
    /// file although the run writes it. `None` if it is not written.
    pub fn dem_path(&self) -> Option<PathBuf> {
        match self {
            Self::World { dir, model: true, .. } => Some(dir.join(presets::ELEVATION_MODEL.0)),
            _ => None,
        }
    }

    /// Checks that all files that a run of this recipe may write can be written; folders are created.
    ///
    /// # Errors
    /// Returns an error if a folder cannot be created or written, if a name belongs to something else, or to a folder
    /// or a device, if an extension is unknown, or if a format cannot store such samples.
    pub fn check(&self, recipe: &Recipe) -> Result<()> {
        match self {
            Self::World { dir, .. } => {
                output::make_folder(dir)?;
                output::check_names(dir, REPORT, &names_within_folder(dir, &self.output_files(recipe)?))
            }
            Self::File { output, sample, layers, .. } => {
                output::check_terrain(output, *sample)?;
                if let Some(folder) = layers {
                    output::make_folder(folder)?;
                    output::check_names(
                        folder,
                        LAYERS,
                        &names_within_folder(folder, &layer_file_paths(folder, recipe)),
                    )?;
                }
                // The longest of the names that are derived from the output's name.
                if can_plant_trees(recipe) {
                    output::check_writable(&tree_file_paths(&output.into())[1])
                } else {
                    Ok(())
                }
            }
        }
    }

    /// Returns all files that a run of this recipe may write.
    ///
    /// # Errors
    /// Returns an error for a file with an unknown extension.
    pub fn output_files(&self, recipe: &Recipe) -> Result<Vec<PathBuf>> {
        Ok(match self {
            Self::World { dir, .. } => {
                let own = [
                    HEIGHT,
                    "height.png",
                    "height.png.json",
                    MAP,
                    MAP_PLACE,
                    RECIPE_FILE,
                    SCHEMA_FILE,
                    REPORT,
                    lock::NAME,
                    JOURNAL,
                ];
                // All files are listed that a run may write, even those that it will not need, because none of their
                // names may belong to something else.
                let own = own.into_iter().chain(TREES).chain(water::FILES).map(|name| dir.join(name));
                let mut files: Vec<PathBuf> = own.chain(self.dem_path()).collect();
                let layers = layer_file_paths(dir, recipe).into_iter().filter(|layer| !files.contains(layer));
                files.extend(layers.collect::<Vec<_>>());
                files
            }
            Self::File { output, sample, layers: folder, .. } => {
                let mut files = vec![output.clone()];
                files.extend(writes_sidecar(output, *sample)?.then(|| Sidecar::path_for(output)));
                if let Some(folder) = folder {
                    files.extend(layer_file_paths(folder, recipe));
                    files.extend([LAYERS, JOURNAL].map(|name| folder.join(name)));
                }
                if can_plant_trees(recipe) {
                    files.extend(tree_file_paths(&output.into()).map(PathBuf::from));
                }
                files
            }
        })
    }

    /// Writes the output of a finished run, with the animation of `frames` if one is requested, and a copy of the
    /// report to the file `report`. The files get their names by [`Draft::commit`]; until then the caller may add to
    /// the report.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub fn write_draft(&self, run: &Run, frames: Option<&Frames>, report: Option<&Path>) -> Result<Draft> {
        self.write_store_draft(&FilePath::default(), run, frames, report)
    }

    /// Writes the output as [`Ending::write_draft`] does, with the world's folder, or its file, in the store to which
    /// `store` belongs.
    fn write_store_draft(
        &self,
        store: &FilePath,
        run: &Run,
        frames: Option<&Frames>,
        report: Option<&Path>,
    ) -> Result<Draft> {
        Draft::new(|draft| {
            draft.report = run.report();
            match self {
                Self::World { dir, sample, model } => {
                    let dir = &store.with_path(dir);
                    let at = draft.temporary_folder(dir)?;
                    let (recipe, terrain) = (run.recipe(), run.terrain());
                    // Lines and wetness are computed by a single thread, while the other threads write the other files.
                    let (saved, water) = rayon::join(
                        || write_world_files(recipe, terrain, dir, &at, *sample, *model),
                        || save_water(&at, terrain),
                    );
                    draft.add_saved(saved?);
                    let (saved, lakes) = water?;
                    draft.add_saved(saved);
                    if let Some(lakes) = lakes {
                        draft.report["lakes"] = json!(lakes);
                    }
                }
                Self::File { output, sample, nodata, layers } => {
                    let path = draft.temporary_path(store.with_path(output))?;
                    let options = SaveOptions { sample: *sample, nodata: *nodata, ..save_options(run.recipe()) };
                    let said = save_terrain(&path, run.terrain(), &options)?;
                    draft.add_saved(Saved { files: vec![path.to_path_buf()], said });
                    if let Some(folder) = layers {
                        let folder = store.with_path(folder);
                        let saved = save_layers(&draft.temporary_folder(&folder)?, run.terrain(), *sample)?;
                        draft.add_file_list(&folder, LAYERS, &run.recipe().hash(), &saved.files)?;
                        draft.add_saved(saved);
                    }
                    draft.add_saved(save_forest(&tree_file_paths(&path), run.terrain())?);
                }
            }
            if let Some((frames, animation)) = frames.and_then(|frames| Some((frames, frames.animation()?))) {
                let path = draft.temporary_path(animation)?;
                frames.write_animation(&path)?;
                draft.add_saved(Saved { files: vec![path.into()], said: Vec::new() });
            }
            // The world's own report is written last, because it states that all files exist.
            let own = self.world_folder().map(|dir| store.with_path(dir.join(REPORT)));
            for path in report.map(FilePath::from).into_iter().chain(own) {
                draft.add_report_path(&path, self.world_folder().is_some() && path.parent() == self.world_folder());
            }
            Ok(())
        })
    }
}

/// Writes all files of a world in `dir`, except those of its water, to the temporary folder `at`.
fn write_world_files(
    recipe: &Recipe,
    terrain: &Terrain,
    dir: &FilePath,
    at: &FilePath,
    sample: Option<SampleType>,
    model: bool,
) -> Result<Saved> {
    // Each file is computed partly by a single thread, so several files are written in parallel to keep all threads
    // busy.
    let heights = || {
        let mut saved = Saved::default();
        // The PNG has the default type of its format, whatever `sample` is.
        for (name, sample) in [(HEIGHT, sample), ("height.png", None)] {
            let path = at.join(name);
            saved.said.extend(save_terrain(&path, terrain, &SaveOptions { sample, ..save_options(recipe) })?);
            saved.add_file(path);
        }
        Ok::<_, Error>(saved)
    };
    let pictures = || {
        let mut saved = save_forest(&TREES.map(|name| at.join(name)), terrain)?;
        let map = at.join(MAP);
        let look = LookOptions { ramp: Some(recipe.ramp), ..LookOptions::default() };
        save_map(&map, terrain, &ShadeOptions { look, max_size: Some(SCREEN), ..ShadeOptions::default() })?;
        saved.add_file(save_world_file(
            &map,
            &terrain.grid,
            MapPixels::for_shaded_map(terrain.grid.size, Some(SCREEN)),
        )?);
        saved.add_file(map);
        Ok::<_, Error>(saved)
    };
    let (heights, (layers, pictures)) =
        rayon::join(heights, || rayon::join(|| save_layers(at, terrain, sample), pictures));
    let mut saved = heights?;
    saved.extend(layers?);
    saved.extend(pictures?);
    // The recipe's paths are relative to the folder that it is written to, which is not the one from which it was read.
    let mut recipe = if recipe.folder.is_in_memory() { recipe.clone() } else { recipe.with_paths_relative_to(dir)? };
    saved.files.extend(copy_from_memory(&mut recipe, at)?);
    let lays = model || recipe.dem().is_some_and(presets::is_passing);
    if lays {
        recipe.start = Start::FromDem { path: presets::ELEVATION_MODEL.0.into() };
        recipe = presets::write_elevation_model(recipe, at)?;
    }
    let model = at.join(presets::ELEVATION_MODEL.0);
    if recipe.dem() == Some(Path::new(presets::ELEVATION_MODEL.0)) && !saved.files.iter().any(|file| **file == *model) {
        saved.add_file(model);
    }
    saved.files.extend(recipe.write(at)?);
    Ok(saved)
}

/// Copies the files in memory that a recipe names to a folder, with their sidecars, and changes the recipe's paths to
/// the copies.
fn copy_from_memory(recipe: &mut Recipe, folder: &FilePath) -> Result<Vec<PathBuf>> {
    let mut copied = Vec::new();
    let own = recipe.folder.clone();
    let Some(files) = own.memory_store() else { return Ok(copied) };
    for path in recipe.files_mut() {
        let file = own.join(&*path);
        // A file need not have a sidecar.
        for file in [file.with_suffix(".json"), file] {
            let (Some(bytes), Some(name)) = (files.get(&file), file.file_name()) else { continue };
            let copy = folder.join(name);
            write_atomically(&copy, |out| out.write_all(&bytes).map_err(Error::io(&copy, "write")))?;
            copied.push(copy.into());
        }
        // The recipe names the copy by its file name, so that the folder can be moved.
        *path = PathBuf::from(path.file_name().unwrap_or_default());
    }
    copied.dedup();
    Ok(copied)
}

/// Writes every layer except the ground as a TIFF with its name.
fn save_layers(folder: &FilePath, terrain: &Terrain, sample: Option<SampleType>) -> Result<Saved> {
    let loose = terrain.loose.clone().map(Cells::Height);
    let loose = loose.as_ref().map(|loose| (SEDIMENT.name, loose));
    let layers = terrain.layers.iter().map(|(name, layer)| (name.as_str(), &layer.cells));
    let write = |(name, cells): (&str, &Cells)| {
        let path = folder.join(format!("{name}.tif"));
        save_layer_as(&path, terrain, name, cells, sample)?;
        Ok::<_, Error>(path.into())
    };
    // Layers are written in parallel, one per task, because they take different times; `collect` keeps their order.
    let layers: Vec<(&str, &Cells)> = loose.into_iter().chain(layers).collect();
    let files = layers.into_par_iter().with_max_len(1).map(write).collect::<Result<Vec<_>>>()?;
    Ok(Saved { files, said: Vec::new() })
}

/// Writes the trees, if there are any, as a table and as points.
fn save_forest(files: &[FilePath; 2], terrain: &Terrain) -> Result<Saved> {
    let forest = Forest::read(terrain)?;
    let mut saved = Saved::default();
    for path in files.iter().filter(|_| !forest.trees().is_empty()) {
        saved.said.extend(save_trees(path, forest.trees(), terrain)?);
        saved.add_file(path.clone());
    }
    Ok(saved)
}

fn save_options(recipe: &Recipe) -> SaveOptions {
    SaveOptions { seed: Some(recipe.seed), recipe_hash: Some(recipe.hash()), ..SaveOptions::default() }
}

/// Returns true if the recipe has a stage that may plant trees.
fn can_plant_trees(recipe: &Recipe) -> bool {
    recipe.stages.iter().any(|stage| stage.model.about().tables.contains(&forest::TREES))
}

/// Returns the files for the trees of a terrain that is written to a single file.
fn tree_file_paths(output: &FilePath) -> [FilePath; 2] {
    ["csv", "geojson"].map(|ending| output.with_extension("").with_suffix(&format!("_trees.{ending}")))
}

/// Returns the layers that a run of this recipe may write, as files in a folder.
fn layer_file_paths(folder: &Path, recipe: &Recipe) -> Vec<PathBuf> {
    let given = recipe.stages.iter().flat_map(|stage| stage.layers.keys().map(String::as_str));
    let made = recipe.stages.iter().flat_map(|stage| stage.model.about().writes).map(|spec| spec.name);
    let layers: BTreeSet<&str> = given.chain(made).chain([SEDIMENT.name]).collect();
    layers.iter().map(|name| folder.join(format!("{name}.tif"))).collect()
}

/// Returns the names of those files that are in a folder.
fn names_within_folder(folder: &Path, files: &[PathBuf]) -> Vec<String> {
    let here = files.iter().filter(|path| path.parent() == Some(folder));
    here.filter_map(|path| Some(path.file_name()?.to_str()?.to_string())).collect()
}
