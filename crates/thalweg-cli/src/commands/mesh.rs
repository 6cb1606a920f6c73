//! `mesh` and `normals`: export a terrain for game engines.

use std::path::Path;

use thalweg_core::base::names::format_path;
use thalweg_core::declare::operation::{Operation as _, WorkForm};
use thalweg_core::{Error, Result};
use thalweg_export::mesh_file::{plan_mesh_files, write_mesh};
use thalweg_export::world_folder::read_cover;
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::{output, write_atomically};
use thalweg_render::products::normals::{BumpMap, Green, NormalMap};

use crate::args::declared::typed_flag;
use crate::args::{MeshArgs, NormalsArgs};
use crate::console::Reporter;
use crate::memory;
use crate::terrains::{list_source_files, read_fitting_terrain, read_trees};

/// Writes a mesh; the extension determines the format, and with it which axis points up.
///
/// # Errors
/// Returns an error if the input is unusable, if the output cannot be written, or if the format does not support what
/// is requested.
pub fn export_mesh(args: &MeshArgs, voice: Reporter) -> Result<()> {
    args.options.check_form(WorkForm::Folder, typed_flag)?;
    let (kind, files) = plan_mesh_files(&args.output, &args.options)?;
    let reads = [list_source_files(&args.input), args.trees.iter().cloned().collect()].concat();
    check_distinct_files(&reads, &files)?;
    // The files must not replace a picture of a world in the same folder either.
    let folder = args.output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names: Vec<String> = files.iter().filter_map(|file| Some(file.file_name()?.to_str()?.to_string())).collect();
    output::check_names(folder, "", &names)?;
    if args.trees.is_some() && args.options.bare {
        return Err(Error::conflict("--trees", "does not apply together with --bare, which leaves out all trees"));
    }
    if args.trees.is_some() && !kind.nodes {
        return Err(Error::unsupported(format_path(&args.output), "cannot store trees; write .glb"));
    }
    let terrain = read_fitting_terrain(&args.input, &args.load, args.sea_level, memory::MESH, voice)?;
    memory::MESH.check_terrain("mesh", &terrain)?;
    // Trees that are not drawn are not read either, because reading them may print warnings.
    let has_trees = kind.nodes && !args.options.bare;
    let trees = if has_trees { read_trees(&args.input, args.trees.as_deref(), &terrain, voice)? } else { Vec::new() };
    let cover = || {
        memory::TEXTURES.check_terrain("albedo", &terrain)?;
        read_cover(&args.input, &terrain)
    };
    let report = write_mesh(&args.output, &terrain, &trees, cover, &args.options, &reads)?;
    if let [error, .., last] = report.errors.as_slice() {
        let levels = args.options.lods;
        voice.print_line(&format!("{levels} levels, with maximum errors from {error} to {last} m"));
    }
    voice.warn_all(&report.warnings);
    voice.report_files(&report.files);
    Ok(())
}

/// Writes a normal map or a bump map.
///
/// # Errors
/// Returns an error if the input is unusable or the output cannot be written.
pub fn export_normals(args: &NormalsArgs, voice: Reporter) -> Result<()> {
    args.options.check_form(WorkForm::Folder, typed_flag)?;
    output::check_ending(&args.output, &["png"])?;
    check_distinct_files(&list_source_files(&args.input), std::slice::from_ref(&args.output))?;
    let terrain = read_fitting_terrain(&args.input, &args.load, None, memory::NORMALS, voice)?;
    memory::NORMALS.check_terrain("normals", &terrain)?;
    let depth = args.options.bits;
    let path = &args.output;
    if args.options.bump {
        let bump = BumpMap::from_terrain(&terrain);
        voice.print_line(&format!("in the bump map, black is {} m and white is {} m", bump.low, bump.high));
        write_atomically(path, |file| bump.encode_png(file, depth).map_err(Error::io(path, "write")))?;
    } else {
        let green = if args.options.directx { Green::Down } else { Green::Up };
        let map = NormalMap::from_terrain(&terrain, args.options.scale);
        write_atomically(path, |file| map.encode_png(file, depth, green).map_err(Error::io(path, "write")))?;
    }
    voice.report_files(std::slice::from_ref(path));
    Ok(())
}
