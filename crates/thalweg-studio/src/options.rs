//! [`Options`]: the options with which the studio opens.

use std::path::PathBuf;
use std::rc::Rc;

use thalweg_sim::recipe::Recipe;

use crate::far::Link;
use crate::platform::{Asker, Host};

/// A recipe that comes with the program.
#[derive(Debug, Clone)]
pub struct PresetCard {
    /// The preset's name.
    pub name: &'static str,
    /// The recipe as TOML.
    pub text: String,
    /// A thumbnail as PNG; empty if there is none.
    pub thumbnail: &'static [u8],
}

/// The options with which the studio opens.
pub struct Options {
    /// The initial recipe.
    pub recipe: Recipe,
    /// The file from which the recipe was read, if any.
    pub path: Option<PathBuf>,
    /// True to start the run immediately.
    pub playing: bool,
    /// The presets to choose from.
    pub presets: Vec<PresetCard>,
    /// The number of cells on the long side with which presets are opened.
    pub cells: usize,
    /// The folder in which pictures are saved.
    pub pictures: PathBuf,
    /// The function that asks the user for files: [`platform::ask`](crate::platform::ask), except in tests.
    pub asker: Box<Asker>,
    /// The services of a page; `None` in a window.
    pub page: Option<Page>,
}

/// The services that a web page has in place of threads and files.
#[derive(Clone)]
pub struct Page {
    /// The page's services.
    pub host: Rc<dyn Host>,
    /// The link to the session and the painter, which run in a web worker.
    pub link: Rc<Link>,
}
