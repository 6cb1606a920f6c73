//! [`RunExport`]: the kinds of export of a run.

use std::sync::Arc;

use thalweg_core::base::names::format_path;
use thalweg_core::{Error, Result};
use thalweg_export::export::{Export, ExportOptions, ExportTarget, MANIFEST, TARGETS};
use thalweg_export::world_folder;
use thalweg_io::{FilePath, SaveOptions, save_terrain};
use thalweg_sim::run::Run;

/// A kind of export of a run.
#[derive(Debug, Clone, Copy)]
pub enum RunExport {
    /// The heights, as one file.
    Heights,
    /// Everything that `thalweg build` writes, in a folder.
    World,
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

impl RunExport {
    /// All kinds of export.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::Heights, Self::World].into_iter().chain(TARGETS.iter().map(Self::For))
    }

    /// The name: `heights`, `world`, or the program's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Heights => "heights",
            Self::World => "world",
            Self::For(target) => target.name,
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
            Self::For(target) => format!("{stem}-{}.zip", target.name),
        }
    }

    /// Writes the export of a run into the folder `place` (heights into the file `place`); returns a message for the
    /// user.
    ///
    /// # Errors
    /// Returns an error if it cannot be written there, or if the program does not support the world's size or range.
    pub fn write(self, run: &Run, place: impl Into<FilePath>) -> Result<String> {
        let place = &place.into();
        let recipe = run.recipe();
        match self {
            Self::Heights => {
                let (seed, recipe_hash) = (Some(recipe.seed), Some(recipe.hash()));
                let said =
                    save_terrain(place, run.terrain(), &SaveOptions { seed, recipe_hash, ..SaveOptions::default() })?;
                // The warnings of the writer follow the message.
                Ok([vec![format!("The heights are in {}.", format_path(place))], said].concat().join(" "))
            }
            Self::World => {
                world_folder::write_world(run, place)?;
                Ok(format!("All layers are in {}.", format_path(place)))
            }
            Self::For(target) => {
                // If the program cannot read the world's name, another one is used instead of refusing the export.
                let name = [recipe.name.as_str(), "terrain"].into_iter().find(|name| target.check_name(name).is_ok());
                let layers = target.usable_layers(run.terrain());
                let options = ExportOptions { name: name.map(String::from), layers, ..ExportOptions::default() };
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
