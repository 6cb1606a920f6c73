//! Folders of files: worlds, surveys of drainage, tiles of worlds without end, and exports for engines and GIS.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod export;
pub mod survey;
pub mod world_files;
pub mod world_folder;
