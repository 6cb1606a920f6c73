//! [`StudioOptions`]: the options with which the studio opens.

use std::path::PathBuf;
use std::rc::Rc;

use thalweg_sim::recipe::Recipe;

use crate::platform::{DialogOpener, Host};
use crate::remote::Link;

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
pub struct StudioOptions {
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
    /// The function that asks the user for files: [`open_dialog`](crate::platform::open_dialog), except in tests.
    pub asker: Box<DialogOpener>,
    /// The services of a page; `None` in a window.
    pub page: Option<PageServices>,
}

/// The services that a web page has in place of threads and files.
#[derive(Clone)]
pub struct PageServices {
    /// The page's services.
    pub host: Rc<dyn Host>,
    /// The link to the session and the painter, which run in a web worker.
    pub link: Rc<Link>,
}
