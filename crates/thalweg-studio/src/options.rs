//! [`Options`]: with what the studio opens.

use std::path::PathBuf;

use thalweg::recipe::Recipe;

use crate::platform::Asker;

/// A recipe that comes with the program.
#[derive(Debug, Clone)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: String,
    /// A small picture of it as PNG; empty without one.
    pub thumbnail: &'static [u8],
}

/// With what the studio opens.
pub struct Options {
    /// The world to begin with.
    pub recipe: Recipe,
    /// The file that it came from, if it did.
    pub path: Option<PathBuf>,
    /// Whether it begins to erode at once.
    pub playing: bool,
    /// Recipes to choose from.
    pub presets: Vec<Preset>,
    /// Cells on the long side at which presets are opened.
    pub cells: usize,
    /// The folder in which pictures are saved.
    pub pictures: PathBuf,
    /// How the user is asked for files: [`platform::ask`](crate::platform::ask), but in tests.
    pub asker: Box<Asker>,
}
