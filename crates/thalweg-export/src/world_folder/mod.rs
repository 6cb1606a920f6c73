//! A world's folder, written and read as a unit: heights, layers, trees, a map, the recipe, and the report that lists
//! all files.
//!
//! ```
//! use thalweg_sim::run::Run;
//! use thalweg_sim::presets;
//! use thalweg_export::world_folder;
//!
//! let folder = tempfile::tempdir().unwrap();
//! let mut recipe = presets::find_preset("hills")?;
//! recipe.cells = 32;
//! let mut run = Run::new(recipe)?;
//! while run.take_step()?.is_some() {}
//! world_folder::write_world(&run, folder.path())?;
//!
//! // Whole, with the recipe that it was made from.
//! let (terrain, _) = world_folder::read_world(folder.path(), &Default::default())?;
//! assert_eq!(terrain.grid.size, run.terrain().grid.size);
//! assert_eq!(world_folder::read_recipe(folder.path())?.unwrap().hash(), run.recipe().hash());
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

mod begin;
mod frames;
mod layer;
mod lock;
mod read;
mod run_output;
mod states;

pub use begin::begin_run;
pub use frames::{Frames, FramesOptions};
pub use layer::draw_layer;
pub use lock::FolderLock;
pub(crate) use read::find_layer_file;
pub use read::{
    find_heights_file, is_of_another, is_unchanged_recipe, list_input_files, read_cover, read_displayed_terrain,
    read_recipe, read_texture_rules, read_world, read_world_trees, read_world_with_models,
};
pub use run_output::{Ending, write_world};
pub use states::{StateInterval, States};

/// The name of the report, which is written last: it states that all files exist.
pub const REPORT: &str = "report.json";

/// The heights.
const HEIGHT: &str = "height.tif";

/// The map.
const MAP: &str = "shaded.png";

/// The world file of the map: its position.
const MAP_PLACE: &str = "shaded.pgw";

/// The trees, as a table and as points.
const TREES: [&str; 2] = ["trees.csv", "trees.geojson"];
