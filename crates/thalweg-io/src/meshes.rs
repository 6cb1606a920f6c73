//! Meshes as files, by the ending of their name.

use std::path::{Path, PathBuf};

use super::atomic::atomic;
use super::draft::{Draft, Saved};
use super::picture::save_picture;
use thalweg_core::base::names::shown;
use thalweg_core::{Error, Result};
use thalweg_render::products::glb::{Glb, GlbOptions};
use thalweg_render::products::mesh::Up;
use thalweg_render::products::mesh_files::{write_mtl, write_obj_scene, write_ply, write_stl};
use thalweg_render::products::mesh_scene::MeshScene;

/// A kind of file of meshes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeshFile {
    /// The ending of its name, in small letters, without the dot.
    pub ending: &'static str,
    /// Which axis points up in it.
    pub up: Up,
    /// Whether it holds parts with their materials.
    pub parts: bool,
    /// Whether it holds a picture, or colours.
    pub colours: bool,
    /// Whether it holds trees and levels of detail.
    pub nodes: bool,
}

/// The kinds that are written.
pub const MESH_FILES: [MeshFile; 4] = [
    MeshFile { ending: "glb", up: Up::Y, parts: true, colours: true, nodes: true },
    MeshFile { ending: "obj", up: Up::Y, parts: true, colours: true, nodes: false },
    MeshFile { ending: "ply", up: Up::Z, parts: true, colours: true, nodes: false },
    MeshFile { ending: "stl", up: Up::Z, parts: false, colours: false, nodes: false },
];

/// The endings of [`MESH_FILES`], in their order, without dots.
pub const MESH_ENDINGS: [&str; MESH_FILES.len()] = {
    let mut endings = [""; MESH_FILES.len()];
    let mut n = 0;
    while n < endings.len() {
        endings[n] = MESH_FILES[n].ending;
        n += 1;
    }
    endings
};

impl MeshFile {
    /// The kind of that ending, in small letters and without the dot; `None` if no kind has it.
    pub fn of(ending: &str) -> Option<Self> {
        MESH_FILES.into_iter().find(|file| file.ending == ending)
    }

    /// The files that a scene becomes, `path` first: of OBJ then its materials (`.mtl`), and its picture (`.png`) if it is `textured`.
    pub fn files(self, path: &Path, textured: bool) -> Vec<PathBuf> {
        let more = if self.ending == OBJ { ["mtl", "png"].as_slice() } else { &[] };
        let more = more.iter().take(1 + usize::from(textured)).map(|ending| path.with_extension(ending));
        [path.to_path_buf()].into_iter().chain(more).collect()
    }
}

/// The one kind that is several files.
const OBJ: &str = MESH_FILES[1].ending;

/// Writes a scene to `path`, whose ending picks the kind; files get their names by [`Draft::commit`].
///
/// # Errors
/// An ending of no kind, a scene that the kind has no place for, a name that the text of an OBJ cannot hold, a file that cannot be written.
pub fn draft_mesh(path: &Path, scene: &MeshScene, options: &GlbOptions) -> Result<Draft> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let kinds = MESH_ENDINGS.map(|ending| format!(".{ending}")).join(", ");
    let kind = MeshFile::of(&ending)
        .ok_or_else(|| Error::file(path, format!("its ending names no format of meshes; known are {kinds}")))?;
    let levels = scene.parts.iter().map(|part| part.levels.len()).max().unwrap_or(0);
    if !kind.nodes && levels > 1 {
        return Err(Error::unsupported(shown(path), format!("cannot store {levels} levels of detail; write .glb")));
    }
    if !kind.nodes && scene.trees.is_some() {
        return Err(Error::unsupported(shown(path), "cannot store trees; write .glb"));
    }
    if !kind.parts && scene.parts.len() != 1 {
        let problem = format!("cannot store {} parts, only one mesh; write .glb, .obj or .ply", scene.parts.len());
        return Err(Error::unsupported(shown(path), problem));
    }
    let files = kind.files(path, scene.texture.is_some());
    let named = |file: &Path| {
        let name = file.file_name().and_then(|name| name.to_str());
        let name = name.filter(|name| !name.contains(char::is_control)).map(String::from);
        name.ok_or_else(|| {
            Error::file(path, "its name cannot stand in a text, as an OBJ names its materials; choose another")
        })
    };
    Draft::new(|draft| {
        let places = files.iter().map(|file| draft.place(file)).collect::<Result<Vec<_>>>()?;
        let first = &places[0];
        match kind.ending {
            OBJ => {
                let texture = files.get(2).map(|file| named(file)).transpose()?;
                let materials = named(&files[1])?;
                atomic(&places[1], |file| {
                    write_mtl(scene, texture.as_deref(), file).map_err(Error::io(&places[1], "write"))
                })?;
                if let (Some(place), Some(picture)) = (places.get(2), &scene.texture) {
                    save_picture(place, picture)?;
                }
                atomic(first, |file| write_obj_scene(scene, &materials, file).map_err(Error::io(first, "write")))?;
            }
            "ply" => atomic(first, |file| write_ply(scene, file).map_err(Error::io(first, "write")))?,
            "stl" => {
                atomic(first, |file| write_stl(&scene.parts[0].levels[0], file).map_err(Error::io(first, "write")))?
            }
            _ => {
                let glb = Glb::of(scene, options)?;
                atomic(first, |file| glb.write(file).map_err(Error::io(first, "write")))?;
            }
        }
        draft.take(Saved { files: places.into_iter().map(PathBuf::from).collect(), said: Vec::new() });
        Ok(())
    })
}
