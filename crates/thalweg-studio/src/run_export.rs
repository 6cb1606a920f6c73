//! [`RunExport`]: the kinds of export of a run, and [`ExportRequest`]: one with its options.

use std::sync::Arc;

use serde_json::Map;
use thalweg_core::base::names::format_path;
use thalweg_core::declare::operation::{Json, Operation, WorkForm};
use thalweg_core::{Error, NoProgress, Result, Terrain};
use thalweg_export::export::{Export, ExportOptions, ExportTarget, MANIFEST, TARGETS};
use thalweg_export::survey::{DrainOptions, Survey, check_files};
use thalweg_export::world_folder;
use thalweg_io::output::make_folder;
use thalweg_io::{FilePath, SaveOptions, save_terrain};
use thalweg_sim::run::Run;

/// A kind of export of a run.
#[derive(Debug, Clone, Copy)]
pub enum RunExport {
    /// The heights, as one file.
    Heights,
    /// Everything that `thalweg build` writes, in a folder.
    World,
    /// The drainage of the terrain as `thalweg drain` writes it, in a folder on a disk.
    Drainage,
    /// The files that `thalweg export` writes for a program, in a folder: heights, and the layers that the program
    /// supports.
    For(&'static ExportTarget),
}

impl PartialEq for RunExport {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for RunExport {}

/// An export with its options.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportRequest {
    /// The kind of export.
    pub export: RunExport,
    /// Options of the export's operation, by name. The others have the values of [`RunExport::suggest_options`].
    pub options: Map<String, Json>,
}

impl From<RunExport> for ExportRequest {
    fn from(export: RunExport) -> Self {
        Self { export, options: Map::new() }
    }
}

impl RunExport {
    /// All kinds of export.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::Heights, Self::World, Self::Drainage].into_iter().chain(TARGETS.iter().map(Self::For))
    }

    /// The name: `heights`, `world`, `drainage`, or the program's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Heights => "heights",
            Self::World => "world",
            Self::Drainage => "drainage",
            Self::For(target) => target.name,
        }
    }

    /// The title in menus and windows.
    pub fn title(self) -> &'static str {
        match self {
            Self::Heights => "Heights",
            Self::World => "All layers",
            Self::Drainage => "Drainage",
            Self::For(target) => target.about,
        }
    }

    /// Returns the kind of export of that name.
    ///
    /// # Errors
    /// Returns an error with the valid names if there is none.
    pub fn from_name(name: &str) -> Result<Self> {
        let found = Self::all().find(|export| export.name() == name);
        found.ok_or_else(|| Error::unknown_name("export", name, Self::all().map(Self::name)))
    }

    /// The name of the file that a page gives its user, for a world called `stem`.
    pub fn file_name(self, stem: &str) -> String {
        match self {
            Self::Heights => format!("{stem}.tif"),
            Self::World => format!("{stem}.zip"),
            Self::Drainage | Self::For(_) => format!("{stem}-{}.zip", self.name()),
        }
    }

    /// Returns the operation whose options the export has, with values that suit a world called `name`; `None` if the
    /// export has no options.
    pub fn suggest_options(self, name: &str, terrain: &Terrain) -> Option<Box<dyn Operation>> {
        match self {
            Self::Heights | Self::World => None,
            Self::Drainage => Some(Box::new(DrainOptions::default())),
            Self::For(target) => Some(Box::new(suggest_export_options(target, name, terrain))),
        }
    }
}

impl ExportRequest {
    /// Writes the export of a run into the folder `place` (heights into the file `place`); returns a message for the
    /// user.
    ///
    /// # Errors
    /// Returns an error if it cannot be written there, if an option is invalid, or if the program does not support the
    /// world's size or range.
    pub fn write(&self, run: &Run, place: impl Into<FilePath>) -> Result<String> {
        let place = &place.into();
        let recipe = run.recipe();
        match self.export {
            RunExport::Heights => {
                let (seed, recipe_hash) = (Some(recipe.seed), Some(recipe.hash()));
                let said =
                    save_terrain(place, run.terrain(), &SaveOptions { seed, recipe_hash, ..SaveOptions::default() })?;
                // The warnings of the writer follow the message.
                Ok([vec![format!("The heights are in {}.", format_path(place))], said].concat().join(" "))
            }
            RunExport::World => {
                world_folder::write_world(run, place)?;
                Ok(format!("All layers are in {}.", format_path(place)))
            }
            RunExport::Drainage => {
                let mut options = DrainOptions::default();
                options.set_all(&self.options)?;
                options.check_form(WorkForm::Folder, |option| option.name.to_string())?;
                write_drainage(&run.terrain_without_margin(), place, &options)
            }
            RunExport::For(target) => {
                let mut options = suggest_export_options(target, &recipe.name, run.terrain());
                options.set_all(&self.options)?;
                let done = Export::from_terrain(Arc::new(run.terrain().clone()), place, target, options)?.finish()?;
                let words = format!(
                    "{} files for {} are in {}; the instructions are in {MANIFEST}, under import.",
                    done.files.len(),
                    target.name,
                    format_path(place)
                );
                Ok([vec![words], done.warnings].concat().join(" "))
            }
        }
    }
}

/// Returns the options with which a terrain is exported for a program: with all layers that the program can use.
fn suggest_export_options(target: &ExportTarget, name: &str, terrain: &Terrain) -> ExportOptions {
    // If the program cannot read the world's name, another one is used instead of refusing the export.
    let name = [name, "terrain"].into_iter().find(|name| target.check_name(name).is_ok());
    let layers = target.usable_layers(terrain);
    ExportOptions { name: name.map(String::from), layers, ..ExportOptions::default() }
}

/// Writes the drainage of a terrain into a folder; returns a message for the user.
fn write_drainage(terrain: &Terrain, folder: &FilePath, options: &DrainOptions) -> Result<String> {
    if folder.is_in_memory() {
        let problem = "can only be written to a disk; use the desktop studio or `thalweg drain`";
        return Err(Error::unsupported("the drainage", problem));
    }
    check_files(folder, options, &[])?;
    make_folder(folder)?;
    let survey = Survey::from_terrain(terrain, options, &mut NoProgress)?;
    let draft = survey.write_draft(folder, terrain, None)?;
    let (count, warnings) = (draft.final_paths().len(), draft.warnings().to_vec());
    draft.commit(&[])?;
    let words = format!("{count} files of the drainage are in {}.", format_path(folder));
    Ok([vec![words], warnings].concat().join(" "))
}
