//! `mesh` and `normals`: a terrain for game engines.

use std::path::Path;

use thalweg::io::apart::apart;
use thalweg::io::{Sidecar, atomic, load, output};
use thalweg::pictures::shade::{SCREEN, ShadeOptions, shade};
use thalweg::products::mesh::{self, MeshOptions, Up};
use thalweg::products::mesh_files::{Glb, write_obj, write_stl};
use thalweg::products::normals::{BumpMap, Depth, Green, NormalMap};
use thalweg::products::stand::Stand;
use thalweg::terrain::Terrain;
use thalweg::{Error, Result};

use crate::args::{LoadArgs, Mesh, Normals};
use crate::console::Voice;
use crate::memory;
use crate::terrains::trees;

/// Writes a mesh; the ending picks the format, and with it which axis points up.
///
/// # Errors
/// An unusable input, an output that cannot be written.
pub fn mesh(args: &Mesh, voice: Voice) -> Result<()> {
    let ending = output::check_ending(&args.output, &["glb", "obj", "stl"])?;
    let reads = [Sidecar::files(&args.input), args.trees.iter().cloned().collect()].concat();
    apart(&reads, std::slice::from_ref(&args.output))?;
    let terrain = ground(&args.input, &args.load, voice)?;
    memory::MESH.over("mesh", &terrain)?;
    let up = if ending == "stl" { Up::Z } else { Up::Y };
    let options = MeshOptions { up, max_height: args.max_height };
    let mesh = mesh::Mesh::of(&terrain, &options)?;
    if args.trees.is_some() && ending != "glb" {
        return Err(Error::file(&args.output, "holds no trees: they are nodes that share a few shapes; write .glb"));
    }
    let trees = args.trees.as_deref().map_or(Ok(Vec::new()), |table| trees(table, Some(table), &terrain, voice))?;
    let stand = args.trees.as_ref().map(|_| Stand::of(&trees, &terrain, &options, args.max_trees)).transpose()?;
    if let Some(stand) = stand.as_ref().filter(|stand| stand.left_out > 0) {
        let (kept, all) = (stand.trees.len(), stand.trees.len() + stand.left_out);
        voice.warn(&format!("{kept} of {all} trees are in the mesh, taken evenly; --max-trees sets how many"));
    }
    let path = &args.output;
    match ending {
        "glb" => {
            let map = ShadeOptions { max_size: Some(SCREEN), ..ShadeOptions::default() };
            let map = args.texture.then(|| shade(&terrain, &map)).transpose()?;
            let glb = Glb::new(&mesh, map.as_ref(), stand.as_ref())?;
            atomic(path, |file| glb.write(file).map_err(Error::io(path, "write")))
        }
        "obj" => atomic(path, |file| write_obj(&mesh, file).map_err(Error::io(path, "write"))),
        _ => atomic(path, |file| write_stl(&mesh, file).map_err(Error::io(path, "write"))),
    }
}

/// Writes a normal map or a bump map.
///
/// # Errors
/// An unusable input, an output that cannot be written.
pub fn normals(args: &Normals, voice: Voice) -> Result<()> {
    output::check_ending(&args.output, &["png"])?;
    apart(&Sidecar::files(&args.input), std::slice::from_ref(&args.output))?;
    let terrain = ground(&args.input, &args.load, voice)?;
    memory::NORMALS.over("normals", &terrain)?;
    let depth = if args.sixteen { Depth::Sixteen } else { Depth::Eight };
    let path = &args.output;
    if args.bump {
        let bump = BumpMap::of(&terrain);
        voice.say(&format!("black is {} m, white {} m", bump.low, bump.high));
        return atomic(path, |file| bump.encode(file, depth).map_err(Error::io(path, "write")));
    }
    let green = if args.directx { Green::Down } else { Green::Up };
    let map = NormalMap::of(&terrain, args.scale);
    atomic(path, |file| map.encode(file, depth, green).map_err(Error::io(path, "write")))
}

/// The terrain of a file.
fn ground(path: &Path, args: &LoadArgs, voice: Voice) -> Result<Terrain> {
    let loaded = load(path, &args.options())?;
    voice.warn_all(&loaded.warnings);
    Ok(loaded.terrain)
}
