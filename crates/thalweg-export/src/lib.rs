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
pub mod mesh_file;
pub mod survey;
pub mod world_files;
pub mod world_folder;

use thalweg_core::declare::operation::Operation;
use thalweg_core::{Error, Result};

/// Returns the declared operations, each with its default options. Packages, types and documentation are made from
/// them.
pub fn export_operations() -> Vec<Box<dyn Operation>> {
    vec![
        Box::new(thalweg_io::LoadOptions::default()),
        Box::new(survey::DrainOptions::default()),
        Box::new(export::ExportOptions::default()),
        Box::new(thalweg_render::products::measure::MeasureOptions::default()),
        Box::new(thalweg_render::products::textures::TextureOptions::default()),
        Box::new(mesh_file::MeshFileOptions::default()),
        Box::new(thalweg_render::products::normals::NormalOptions::default()),
        Box::new(thalweg_render::pictures::shade::ShadeOptions::default()),
        Box::new(thalweg_render::pictures::perspective::ViewOptions::default()),
    ]
}

/// Returns the operation with this name, with its default options.
///
/// # Errors
/// Returns an error with the nearest name if there is none.
///
/// # Examples
/// ```
/// use thalweg_export::find_operation;
///
/// assert_eq!(find_operation("drain")?.name(), "drain");
/// assert!(find_operation("drian").is_err_and(|error| error.to_string().contains("did you mean `drain`")));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn find_operation(name: &str) -> Result<Box<dyn Operation>> {
    let mut operations = export_operations();
    let position = operations.iter().position(|operation| operation.name() == name);
    let names = operations.iter().map(|operation| operation.name());
    let position = position.ok_or_else(|| Error::unknown_name("operation", name, names))?;
    Ok(operations.swap_remove(position))
}
