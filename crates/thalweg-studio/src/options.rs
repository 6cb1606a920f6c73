//! [`Options`]: with what the studio opens.

use std::path::PathBuf;
use std::rc::Rc;

use thalweg_sim::recipe::Recipe;

use crate::far::Link;
use crate::platform::{Asker, Host};

/// A recipe that comes with the program.
#[derive(Debug, Clone)]
pub struct PresetCard {
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
    pub presets: Vec<PresetCard>,
    /// Cells on the long side at which presets are opened.
    pub cells: usize,
    /// The folder in which pictures are saved.
    pub pictures: PathBuf,
    /// How the user is asked for files: [`platform::ask`](crate::platform::ask), but in tests.
    pub asker: Box<Asker>,
    /// In a page: who does what a system does elsewhere. None in a window.
    pub page: Option<Page>,
}

/// What a page has in the place of threads and files.
#[derive(Clone)]
pub struct Page {
    /// The page.
    pub host: Rc<dyn Host>,
    /// The session and the painter, in a worker of the browser's.
    pub link: Rc<Link>,
}
