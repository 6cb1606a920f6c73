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
//! while run.step()?.is_some() {}
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
