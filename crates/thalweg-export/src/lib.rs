//! Folders of files: worlds, drainage surveys, tiles of unbounded worlds, and exports for game engines and GIS. The
//! options of all operations, which commands and packages derive from, are listed by [`export_operations`].
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

pub mod build;
pub mod export;
pub mod mesh_file;
pub mod rivers;
pub mod survey;
pub mod vary;
pub mod world_files;
pub mod world_folder;

use thalweg_core::declare::operation::Operation;
use thalweg_core::{Error, Result};

/// Returns the declared operations, each with its default options. Packages, types and documentation are made from
/// them.
pub fn export_operations() -> Vec<Box<dyn Operation>> {
    vec![
        Box::new(thalweg_io::LoadOptions::default()),
        Box::new(build::BuildOptions::default()),
        Box::new(vary::VaryOptions::default()),
        Box::new(world_files::TileOptions::default()),
        Box::new(thalweg_sim::single_model::GenerateOptions::default()),
        Box::new(thalweg_sim::single_model::ApplyOptions::default()),
        Box::new(survey::DrainOptions::default()),
        Box::new(rivers::RiversOptions::default()),
        Box::new(thalweg_io::reshape::ResampleOptions::default()),
        Box::new(thalweg_io::reshape::CropOptions::default()),
        Box::new(export::ExportOptions::default()),
        Box::new(thalweg_render::products::measure::MeasureOptions::default()),
        Box::new(thalweg_render::products::textures::TextureOptions::default()),
        Box::new(mesh_file::MeshFileOptions::default()),
        Box::new(thalweg_render::products::normals::NormalOptions::default()),
        Box::new(thalweg_render::pictures::shade::ShadeOptions::default()),
        Box::new(thalweg_render::pictures::perspective::ViewOptions::default()),
        Box::new(thalweg_render::pictures::perspective::PairOptions::default()),
        Box::new(thalweg_render::pictures::sheet::SheetOptions::default()),
    ]
}

/// Returns the operations that the npm package offers in a browser, each with its default options.
///
/// # Examples
/// ```
/// let names: Vec<&str> = thalweg_export::browser_operations().iter().map(|operation| operation.name()).collect();
/// assert_eq!(names, ["build", "apply", "drain", "textures", "world"]);
/// ```
pub fn browser_operations() -> Vec<Box<dyn Operation>> {
    vec![
        Box::new(build::BuildOptions::default()),
        Box::new(thalweg_sim::single_model::ApplyOptions::default()),
        Box::new(survey::DrainOptions::default()),
        Box::new(thalweg_render::products::textures::TextureOptions::default()),
        // A world is no command: its tiles are requested one by one.
        Box::new(world_files::WorldOptions::default()),
    ]
}

/// Returns the operation with this name or with this command, such as `render map`, with its default options.
///
/// # Errors
/// Returns an error with the nearest name if there is none.
///
/// # Examples
/// ```
/// use thalweg_export::find_operation;
///
/// assert_eq!(find_operation("drain")?.name(), "drain");
/// assert_eq!(find_operation("render map")?.name(), "shade");
/// assert!(find_operation("drian").is_err_and(|error| error.to_string().contains("did you mean `drain`")));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn find_operation(name: &str) -> Result<Box<dyn Operation>> {
    find_operation_in(export_operations(), name)
}

/// Returns the operation with this name, or with this command, from a list: a crate that declares operations of its own
/// appends them to [`export_operations`].
///
/// # Errors
/// Returns an error with the nearest name if there is none.
pub fn find_operation_in(mut operations: Vec<Box<dyn Operation>>, name: &str) -> Result<Box<dyn Operation>> {
    let position = operations.iter().position(|operation| operation.name() == name || operation.command() == name);
    let names = operations.iter().map(|operation| operation.command());
    let position = position.ok_or_else(|| Error::unknown_name("operation", name, names))?;
    Ok(operations.swap_remove(position))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use thalweg_core::declare::operation::{Arity, OptionKind, OptionSpec, WorkForm, options_for};
    use thalweg_core::declare::schema::operation_schema;
    use thalweg_core::declare::script::read_operation;

    #[test]
    fn options_in_a_browser_need_no_files() {
        let listed = |name: &str| {
            let operations = browser_operations().into_iter().find(|operation| operation.name() == name);
            let options = options_for(&*operations.unwrap(), WorkForm::Browser);
            assert!(options.iter().all(|option| option.kind != OptionKind::Path), "{name}");
            options.iter().map(OptionSpec::camel_name).collect::<Vec<_>>()
        };
        let recipe = ["age", "rain", "rock", "relief", "size", "sea", "cells", "seed", "until", "parameters"];
        assert_eq!(listed("build"), [&recipe[..], &["target", "preview", "crs", "origin"]].concat());
        assert_eq!(listed("world"), [&recipe[..], &["tile"]].concat());
        assert_eq!(listed("apply"), ["parameters", "seed"]);
        assert_eq!(listed("drain"), ["threshold", "outlets", "breach", "method", "exponent"]);
        assert_eq!(listed("textures"), ["size", "bits", "fromAir"]);
        // Every operation that is a command, too, has the declaration of the command.
        let shared = browser_operations().into_iter().filter(|operation| operation.name() != "world");
        for operation in shared {
            assert_eq!(find_operation(operation.name()).unwrap().declared(), operation.declared());
        }
    }

    #[test]
    fn a_browser_refuses_options_that_need_files() {
        let object = serde_json::json!({"fromFile": "dem.tif"});
        let refused = read_operation::<build::BuildOptions>("build option", object.as_object().unwrap(), &[]);
        let message = refused.unwrap_err().to_string();
        assert!(message.starts_with("fromFile only applies outside a browser, when "), "{message}");
        let object = serde_json::json!({"runoff": 300});
        let refused = read_operation::<survey::DrainOptions>("drain option", object.as_object().unwrap(), &[]);
        let message = refused.unwrap_err().to_string();
        assert!(message.starts_with("runoff only applies outside a browser, when the output is a file"), "{message}");
    }

    #[test]
    fn every_operation_declares_its_options_once_and_consistently() {
        let operations = export_operations();
        let names: BTreeSet<&str> = operations.iter().map(|operation| operation.name()).collect();
        assert_eq!(names.len(), operations.len());
        for operation in &operations {
            let (name, declared) = (operation.name(), operation.declared());
            let options: BTreeSet<&str> = declared.iter().map(|option| option.name).collect();
            let flags: BTreeSet<String> = declared.iter().map(OptionSpec::command_flag).collect();
            assert!(options.len() == declared.len() && flags.len() == declared.len(), "{name}");
            for option in &declared {
                let of = format!("{name}.{}", option.name);
                // A default is a value of the option, except where it stands for a missing value.
                assert!(option.check_value(&option.default).is_ok(), "{of}");
                assert_eq!(operation.get(option.name).as_ref(), Some(&option.default), "{of}");
                assert!(!option.is_required || option.arity == Arity::Optional, "{of}");
                let mut others = option.needs.iter().chain(option.excludes);
                assert!(others.all(|other| options.contains(other)), "{of}");
                assert!(option.meaning.ends_with('.') && !option.value_name().contains(' '), "{of}");
            }
            assert_eq!(find_operation(operation.command()).unwrap().name(), name);
            let schema = operation_schema(&**operation);
            assert!(declared.iter().all(|option| schema["properties"][option.name].is_object()), "{name}");
        }
    }
}
