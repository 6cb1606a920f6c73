//! `mesh` and `normals`: export a terrain for game engines.

use std::path::Path;

use thalweg_core::base::names::format_path;
use thalweg_core::{Error, Result, Terrain};
use thalweg_export::world_folder::read_cover;
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::meshes::{MESH_ENDINGS, MESH_FILES, MeshFile, draft_mesh};
use thalweg_io::{output, write_atomically};
use thalweg_render::pictures::colour::to_srgb;
use thalweg_render::pictures::picture::Picture;
use thalweg_render::pictures::shade::{SCREEN, ShadeOptions, draw_map};
use thalweg_render::products::chunks::{ChunkOptions, ChunkedMesh};
use thalweg_render::products::glb::{GlbOptions, MeshPrecision};
use thalweg_render::products::gltf_trees::GltfTrees;
use thalweg_render::products::mesh::MeshOptions;
use thalweg_render::products::mesh_scene::MeshScene;
use thalweg_render::products::normals::{BumpMap, Green, NormalMap, PngDepth};
use thalweg_render::products::textures::AlbedoView;
use thalweg_render::products::water_mesh::build_water_meshes;

use crate::args::values::CellCounts;
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
    let ending = output::check_ending(&args.output, &MESH_ENDINGS)?;
    let kind = MeshFile::from_extension(ending).unwrap_or(MESH_FILES[0]);
    let reads = [list_source_files(&args.input), args.trees.iter().cloned().collect()].concat();
    let files = kind.output_files(&args.output, args.texture.is_some());
    check_distinct_files(&reads, &files)?;
    // The files must not replace a picture of a world in the same folder either.
    let folder = args.output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names: Vec<String> = files.iter().filter_map(|file| Some(file.file_name()?.to_str()?.to_string())).collect();
    output::check_names(folder, "", &names)?;
    if args.trees.is_some() && !kind.nodes {
        return Err(Error::unsupported(format_path(&args.output), "cannot store trees; write .glb"));
    }
    if args.texture.is_some() && !kind.colours {
        return Err(Error::unsupported(format_path(&args.output), "cannot store a texture; write .glb, .obj or .ply"));
    }
    let terrain = read_fitting_terrain(&args.input, &args.load, args.sea_level, memory::MESH, voice)?;
    memory::MESH.check_terrain("mesh", &terrain)?;
    let options = ChunkOptions {
        mesh: MeshOptions { up: kind.up, max_height: args.max_height },
        count: args.chunks.map_or([1, 1], |CellCounts { cols, rows }| [rows.unwrap_or(cols), cols]),
        levels: args.lods,
        error: args.error,
        step: args.lod_error,
        skirts: args.skirts,
    };
    let bodies = if args.bare || !kind.parts { Vec::new() } else { build_water_meshes(&terrain, &options.mesh)? };
    let scene = MeshScene::from_chunks(ChunkedMesh::from_terrain(&terrain, &options)?).with_water(bodies);
    let scene = scene.with_texture(draw_texture(args, &terrain)?).with_trees(place_trees(
        args,
        kind,
        &terrain,
        &options.mesh,
        voice,
    )?);
    if let [error, .., last] = scene.parts[0].errors.as_slice() {
        voice.print_line(&format!("{} levels, with maximum errors from {error} to {last} m", args.lods));
    }
    let glb = GlbOptions { precision: args.precision.unwrap_or(MeshPrecision::Usual), tree_nodes: args.tree_nodes };
    draft_mesh(&args.output, &scene, &glb)?.commit(&reads)?;
    voice.report_files(&files);
    Ok(())
}

/// Returns the trees on the mesh.
fn place_trees(
    args: &MeshArgs,
    kind: MeshFile,
    terrain: &Terrain,
    options: &MeshOptions,
    voice: Reporter,
) -> Result<Option<GltfTrees>> {
    if args.bare || !kind.nodes {
        return Ok(None);
    }
    let trees = read_trees(&args.input, args.trees.as_deref(), terrain, voice)?;
    if trees.is_empty() {
        return Ok(None);
    }
    // Trees as separate nodes may have several shapes; instances of one node share a single shape.
    let make = if args.tree_nodes { GltfTrees::from_trees } else { GltfTrees::with_one_shape_per_kind };
    let stand = make(&trees, terrain, options, args.max_trees)?;
    if stand.left_out > 0 {
        let (kept, all) = (stand.trees.len(), stand.trees.len() + stand.left_out);
        voice.warn(&format!("{kept} of {all} trees are in the mesh, thinned evenly; --max-trees sets the maximum"));
    }
    Ok(Some(stand))
}

/// Returns the texture of the ground.
fn draw_texture(args: &MeshArgs, terrain: &Terrain) -> Result<Option<Picture>> {
    match args.texture.as_deref() {
        None => Ok(None),
        Some("albedo") => {
            memory::TEXTURES.check_terrain("albedo", terrain)?;
            let (colours, _) = read_cover(&args.input, terrain)?.compute_albedo(AlbedoView::Ground);
            Ok(Some(Picture { rgb: colours.map(|colour| to_srgb(*colour)) }.fit_within(SCREEN)))
        }
        Some(_) => {
            let map = ShadeOptions { max_size: Some(SCREEN), ..ShadeOptions::default() };
            draw_map(terrain, &map).map(Some)
        }
    }
}

/// Writes a normal map or a bump map.
///
/// # Errors
/// Returns an error if the input is unusable or the output cannot be written.
pub fn export_normals(args: &NormalsArgs, voice: Reporter) -> Result<()> {
    output::check_ending(&args.output, &["png"])?;
    check_distinct_files(&list_source_files(&args.input), std::slice::from_ref(&args.output))?;
    let terrain = read_fitting_terrain(&args.input, &args.load, None, memory::NORMALS, voice)?;
    memory::NORMALS.check_terrain("normals", &terrain)?;
    let depth = if args.sixteen { PngDepth::Sixteen } else { PngDepth::Eight };
    let path = &args.output;
    if args.bump {
        let bump = BumpMap::from_terrain(&terrain);
        voice.print_line(&format!("black is {} m, white {} m", bump.low, bump.high));
        write_atomically(path, |file| bump.encode_png(file, depth).map_err(Error::io(path, "write")))?;
    } else {
        let green = if args.directx { Green::Down } else { Green::Up };
        let map = NormalMap::from_terrain(&terrain, args.scale);
        write_atomically(path, |file| map.encode_png(file, depth, green).map_err(Error::io(path, "write")))?;
    }
    voice.report_files(std::slice::from_ref(path));
    Ok(())
}
