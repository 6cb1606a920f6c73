//! Folders of files: worlds, drainage surveys, tiles of unbounded worlds, and exports for game engines and GIS.
//!
//! ```
//! use thalweg_export::world_folder;
//! use thalweg_io::MemoryFiles;
//! use thalweg_sim::{presets, run::Run};
//!
//! let mut recipe = presets::find_preset("hills")?;
//! recipe.cells = 32;
//! let mut run = Run::new(recipe)?;
//! while run.take_step()?.is_some() {}
//! let files = MemoryFiles::default();
//! world_folder::write_world(&run, files.path("world"))?;
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod export;
pub mod survey;
pub mod world_files;
pub mod world_folder;

use thalweg_core::declare::operation::Operation;

/// Returns the declared operations, each with its default options. Packages, types and documentation are made from
/// them.
pub fn export_operations() -> Vec<Box<dyn Operation>> {
    vec![
        Box::new(survey::DrainOptions::default()),
        Box::new(export::ExportOptions::default()),
        Box::new(thalweg_render::products::measure::MeasureOptions::default()),
        Box::new(thalweg_render::products::textures::TextureOptions::default()),
    ]
}
