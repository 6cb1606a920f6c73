//! Meshes as files; the path's extension gives the format.

use std::path::{Path, PathBuf};

use super::atomic::write_atomically;
use super::draft::{Draft, Saved};
use super::picture::save_picture;
use thalweg_core::base::names::format_path;
use thalweg_core::{Error, Result};
use thalweg_render::products::glb::{Glb, GlbOptions};
use thalweg_render::products::mesh::Up;
use thalweg_render::products::mesh_files::{write_mtl, write_obj_scene, write_ply, write_stl};
use thalweg_render::products::mesh_scene::MeshScene;

/// A file format of meshes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeshFile {
    /// The extension, in lower case, without the dot.
    pub ending: &'static str,
    /// The axis that points up.
    pub up: Up,
    /// True if the format can store several parts with their materials.
    pub parts: bool,
    /// True if the format can store a texture or vertex colours.
    pub colours: bool,
    /// True if the format can store trees and levels of detail.
    pub nodes: bool,
}

/// The formats that are written.
pub const MESH_FILES: [MeshFile; 4] = [
    MeshFile { ending: "glb", up: Up::Y, parts: true, colours: true, nodes: true },
    MeshFile { ending: "obj", up: Up::Y, parts: true, colours: true, nodes: false },
    MeshFile { ending: "ply", up: Up::Z, parts: true, colours: true, nodes: false },
    MeshFile { ending: "stl", up: Up::Z, parts: false, colours: false, nodes: false },
];

/// The extensions of [`MESH_FILES`], in their order, without dots.
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
    /// Returns the format with this extension, in lower case and without the dot; `None` if there is none.
    pub fn from_extension(ending: &str) -> Option<Self> {
        MESH_FILES.into_iter().find(|file| file.ending == ending)
    }

    /// Returns the files that a scene becomes, `path` first. For OBJ these are followed by its materials (`.mtl`), and
    /// by its texture (`.png`) if it is `textured`.
    pub fn output_files(self, path: &Path, textured: bool) -> Vec<PathBuf> {
        let more = if self.ending == OBJ { ["mtl", "png"].as_slice() } else { &[] };
        let more = more.iter().take(1 + usize::from(textured)).map(|ending| path.with_extension(ending));
        [path.to_path_buf()].into_iter().chain(more).collect()
    }
}

/// The only format that consists of several files.
const OBJ: &str = MESH_FILES[1].ending;

/// Writes a scene to `path`, whose extension gives the format. The files get their names by [`Draft::commit`].
///
/// # Errors
/// Returns an error for an unknown extension, for a scene that the format cannot store, for a name that cannot be
/// written in the text of an OBJ, or if a file cannot be written.
///
/// # Examples
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_io::meshes::draft_mesh;
/// use thalweg_render::products::chunks::{ChunkOptions, ChunkedMesh};
/// use thalweg_render::products::glb::GlbOptions;
/// use thalweg_render::products::mesh_scene::MeshScene;
///
/// let terrain = Terrain::new(Grid::new([8, 8], 10.0)?);
/// let scene = MeshScene::from_chunks(ChunkedMesh::from_terrain(&terrain, &ChunkOptions::default())?);
/// let folder = tempfile::tempdir().unwrap();
/// draft_mesh(&folder.path().join("land.glb"), &scene, &GlbOptions::default())?.commit(&[])?;
/// assert!(folder.path().join("land.glb").is_file());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn draft_mesh(path: &Path, scene: &MeshScene, options: &GlbOptions) -> Result<Draft> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let kinds = MESH_ENDINGS.map(|ending| format!(".{ending}")).join(", ");
    let kind = MeshFile::from_extension(&ending).ok_or_else(|| {
        Error::invalid_file(
            path,
            format!("does not have the extension of a format for meshes; the known extensions are {kinds}"),
        )
    })?;
    // A scene that the format cannot store is rejected before any file is created.
    let levels = scene.parts.iter().map(|part| part.levels.len()).max().unwrap_or(0);
    if !kind.nodes && levels > 1 {
        return Err(Error::unsupported(
            format_path(path),
            format!("cannot store {levels} levels of detail; write .glb"),
        ));
    }
    if !kind.nodes && scene.trees.is_some() {
        return Err(Error::unsupported(format_path(path), "cannot store trees; write .glb"));
    }
    if !kind.parts && scene.parts.len() != 1 {
        let problem = format!("cannot store {} parts, only one mesh; write .glb, .obj or .ply", scene.parts.len());
        return Err(Error::unsupported(format_path(path), problem));
    }
    let files = kind.output_files(path, scene.texture.is_some());
    let named = |file: &Path| {
        let name = file.file_name().and_then(|name| name.to_str());
        let name = name.filter(|name| !name.contains(char::is_control)).map(String::from);
        name.ok_or_else(|| {
            Error::invalid_file(
                path,
                "has a name that is not valid UTF-8 or contains control characters, and an OBJ file must name its \
                 material file; choose another name",
            )
        })
    };
    Draft::new(|draft| {
        let places = files.iter().map(|file| draft.temporary_path(file)).collect::<Result<Vec<_>>>()?;
        let first = &places[0];
        match kind.ending {
            // An OBJ names its materials, and these name the texture. The OBJ is written last, when the others exist.
            OBJ => {
                let texture = files.get(2).map(|file| named(file)).transpose()?;
                let materials = named(&files[1])?;
                write_atomically(&places[1], |file| {
                    write_mtl(scene, texture.as_deref(), file).map_err(Error::io(&places[1], "write"))
                })?;
                if let (Some(place), Some(picture)) = (places.get(2), &scene.texture) {
                    save_picture(place, picture)?;
                }
                write_atomically(first, |file| {
                    write_obj_scene(scene, &materials, file).map_err(Error::io(first, "write"))
                })?;
            }
            "ply" => write_atomically(first, |file| write_ply(scene, file).map_err(Error::io(first, "write")))?,
            "stl" => write_atomically(first, |file| {
                write_stl(&scene.parts[0].levels[0], file).map_err(Error::io(first, "write"))
            })?,
            _ => {
                let glb = Glb::from_scene(scene, options)?;
                write_atomically(first, |file| glb.write(file).map_err(Error::io(first, "write")))?;
            }
        }
        draft.add_saved(Saved { files: places.into_iter().map(PathBuf::from).collect(), said: Vec::new() });
        Ok(())
    })
}
