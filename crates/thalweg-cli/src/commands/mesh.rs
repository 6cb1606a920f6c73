//! `mesh` and `normals`: export a terrain for game engines.

use std::path::Path;

use thalweg_core::base::names::shown;
use thalweg_core::{Error, Result, Terrain};
use thalweg_export::world_folder::read_cover;
use thalweg_io::apart::apart;
use thalweg_io::meshes::{MESH_ENDINGS, MESH_FILES, MeshFile, draft_mesh};
use thalweg_io::{atomic, output};
use thalweg_render::pictures::colour::srgb;
use thalweg_render::pictures::picture::Picture;
use thalweg_render::pictures::shade::{SCREEN, ShadeOptions, draw_map};
use thalweg_render::products::chunks::{ChunkOptions, ChunkedMesh};
use thalweg_render::products::glb::{GlbOptions, MeshPrecision};
use thalweg_render::products::mesh::MeshOptions;
use thalweg_render::products::mesh_scene::MeshScene;
use thalweg_render::products::normals::{BumpMap, Depth, Green, NormalMap};
use thalweg_render::products::stand::Stand;
use thalweg_render::products::textures::SeenFrom;
use thalweg_render::products::water_mesh::waters;

use crate::args::values::Sides;
use crate::args::{Mesh, Normals};
use crate::console::Voice;
use crate::memory;
use crate::terrains::{files_of, fitting, trees};

/// Writes a mesh; the extension determines the format, and with it which axis points up.
///
/// # Errors
/// Returns an error if the input is unusable, if the output cannot be written, or if the format does not support what
/// is requested.
pub fn mesh(args: &Mesh, voice: Voice) -> Result<()> {
    let ending = output::check_ending(&args.output, &MESH_ENDINGS)?;
    let kind = MeshFile::of(ending).unwrap_or(MESH_FILES[0]);
    let reads = [files_of(&args.input), args.trees.iter().cloned().collect()].concat();
    let files = kind.files(&args.output, args.texture.is_some());
    apart(&reads, &files)?;
    // The files must not replace a picture of a world in the same folder either.
    let folder = args.output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names: Vec<String> = files.iter().filter_map(|file| Some(file.file_name()?.to_str()?.to_string())).collect();
    output::check_names(folder, "", &names)?;
    if args.trees.is_some() && !kind.nodes {
        return Err(Error::unsupported(shown(&args.output), "cannot store trees; write .glb"));
    }
    if args.texture.is_some() && !kind.colours {
        return Err(Error::unsupported(shown(&args.output), "cannot store a texture; write .glb, .obj or .ply"));
    }
    let terrain = fitting(&args.input, &args.load, args.sea_level, memory::MESH, voice)?;
    memory::MESH.over("mesh", &terrain)?;
    let options = ChunkOptions {
        mesh: MeshOptions { up: kind.up, max_height: args.max_height },
        count: args.chunks.map_or([1, 1], |Sides { cols, rows }| [rows.unwrap_or(cols), cols]),
        levels: args.lods,
        error: args.error,
        step: args.lod_error,
        skirts: args.skirts,
    };
    let bodies = if args.bare || !kind.parts { Vec::new() } else { waters(&terrain, &options.mesh)? };
    let scene = MeshScene::of(ChunkedMesh::of(&terrain, &options)?).with_water(bodies);
    let scene =
        scene.with_texture(texture(args, &terrain)?).with_trees(stand(args, kind, &terrain, &options.mesh, voice)?);
    if let [error, .., last] = scene.parts[0].errors.as_slice() {
        voice.say(&format!("{} levels, with maximum errors from {error} to {last} m", args.lods));
    }
    let glb = GlbOptions { precision: args.precision.unwrap_or(MeshPrecision::Usual), tree_nodes: args.tree_nodes };
    draft_mesh(&args.output, &scene, &glb)?.commit(&reads)?;
    voice.wrote(&files);
    Ok(())
}

/// Returns the trees on the mesh.
fn stand(args: &Mesh, kind: MeshFile, terrain: &Terrain, options: &MeshOptions, voice: Voice) -> Result<Option<Stand>> {
    if args.bare || !kind.nodes {
        return Ok(None);
    }
    let trees = trees(&args.input, args.trees.as_deref(), terrain, voice)?;
    if trees.is_empty() {
        return Ok(None);
    }
    let make = if args.tree_nodes { Stand::of } else { Stand::alike };
    let stand = make(&trees, terrain, options, args.max_trees)?;
    if stand.left_out > 0 {
        let (kept, all) = (stand.trees.len(), stand.trees.len() + stand.left_out);
        voice.warn(&format!("{kept} of {all} trees are in the mesh, thinned evenly; --max-trees sets the maximum"));
    }
    Ok(Some(stand))
}

/// Returns the texture of the ground.
fn texture(args: &Mesh, terrain: &Terrain) -> Result<Option<Picture>> {
    match args.texture.as_deref() {
        None => Ok(None),
        Some("albedo") => {
            memory::TEXTURES.over("albedo", terrain)?;
            let (colours, _) = read_cover(&args.input, terrain)?.albedo(SeenFrom::Ground);
            Ok(Some(Picture { rgb: colours.map(|colour| srgb(*colour)) }.within(SCREEN)))
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
pub fn normals(args: &Normals, voice: Voice) -> Result<()> {
    output::check_ending(&args.output, &["png"])?;
    apart(&files_of(&args.input), std::slice::from_ref(&args.output))?;
    let terrain = fitting(&args.input, &args.load, None, memory::NORMALS, voice)?;
    memory::NORMALS.over("normals", &terrain)?;
    let depth = if args.sixteen { Depth::Sixteen } else { Depth::Eight };
    let path = &args.output;
    if args.bump {
        let bump = BumpMap::of(&terrain);
        voice.say(&format!("black is {} m, white {} m", bump.low, bump.high));
        atomic(path, |file| bump.encode(file, depth).map_err(Error::io(path, "write")))?;
    } else {
        let green = if args.directx { Green::Down } else { Green::Up };
        let map = NormalMap::of(&terrain, args.scale);
        atomic(path, |file| map.encode(file, depth, green).map_err(Error::io(path, "write")))?;
    }
    voice.wrote(std::slice::from_ref(path));
    Ok(())
}
