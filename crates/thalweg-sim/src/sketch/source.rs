//! [`SketchFrom`]: the source of a recipe's sketch.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;

use crate::sketch::geojson;
use crate::sketch::{Sketch, SketchWorld};
use thalweg_core::declare::keys::{self, File, Form, Text};
use thalweg_core::{Error, Result};
use thalweg_io::{FilePath, plain};

/// The source of a recipe's sketch.
#[derive(Debug, Clone, PartialEq)]
pub enum SketchFrom {
    /// A file's path as written, relative to the recipe.
    File(PathBuf),
    /// The recipe itself, for lines drawn in a session that are in no file yet. The recipe then contains the file's
    /// text.
    Here(Arc<Sketch>),
}

impl SketchFrom {
    /// Returns the file's path as written; `None` if the recipe itself contains the sketch.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Here(_) => None,
        }
    }

    /// Returns the sketch, checked; its file's path is relative to `folder`.
    ///
    /// # Errors
    /// Returns the errors of [`Sketch::read`].
    pub fn read(&self, folder: &FilePath, world: &SketchWorld) -> Result<Sketch> {
        match self {
            Self::File(path) => Sketch::read(folder.join(path), world),
            Self::Here(sketch) => {
                sketch.check(world).map_err(|what| sketch_error("sketch", &what))?;
                Ok(Sketch::clone(sketch))
            }
        }
    }
}

fn sketch_error(name: &str, what: &str) -> Error {
    Error::Recipe(plain::clip_text_to(&format!("{name}: {what}"), 600))
}

/// The form of a sketch in a recipe: a path, or GeoJSON, which is recognized by its first character.
pub(crate) struct PathOrLines;

impl Form<SketchFrom> for PathOrLines {
    fn read(&self, name: &str, value: &toml::Value) -> Result<SketchFrom> {
        let text = Text.read(name, value)?;
        if !text.trim_start().starts_with('{') {
            return File.read(name, value).map(SketchFrom::File);
        }
        geojson::parse_sketch(&text)
            .map(|sketch| SketchFrom::Here(Arc::new(sketch)))
            .map_err(|what| sketch_error(name, &what))
    }

    fn write(&self, drawn: &SketchFrom) -> Option<String> {
        match drawn {
            SketchFrom::File(path) => File.write(path),
            SketchFrom::Here(sketch) => Some(keys::quote_toml(&sketch.to_geojson())),
        }
    }

    fn schema(&self) -> Json {
        Form::<String>::schema(&Text)
    }
}
