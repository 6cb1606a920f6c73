//! [`MeshScene`]: the contents of a mesh file: terrain in chunks and levels of detail, separate water surfaces, a
//! picture draped over the terrain, and trees.

use serde_json::json;

use crate::pictures::picture::Picture;
use crate::products::chunks::ChunkedMesh;
use crate::products::gltf_trees::GltfTrees;
use crate::products::mesh::{Mesh, Up};
use thalweg_core::Cell;
use thalweg_core::terrain::WATER;

/// The kind of surface that a mesh represents, which determines the name and the appearance of its material.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MeshSurface {
    /// Terrain: rough and opaque.
    #[default]
    Ground,
    /// Water: smooth, blue and translucent.
    Water,
}

impl MeshSurface {
    /// Both kinds, terrain first.
    pub const ALL: [Self; 2] = [Self::Ground, Self::Water];

    /// Returns the name of the material.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ground => "ground",
            Self::Water => WATER.name,
        }
    }

    /// Returns the name of the node and mesh of a surface that is alone in its file.
    pub(super) fn node_name(self) -> &'static str {
        match self {
            Self::Ground => TERRAIN,
            Self::Water => self.name(),
        }
    }

    /// Returns red, green and blue in linear light, and opacity, each 0 to 1.
    pub fn colour(self) -> [f64; 4] {
        match self {
            Self::Ground => [0.42, 0.38, 0.28, 1.0],
            Self::Water => [0.02, 0.11, 0.17, 0.82],
        }
    }

    /// Returns the roughness from 0, smooth, to 1, rough.
    pub fn roughness(self) -> f64 {
        match self {
            Self::Ground => 1.0,
            Self::Water => 0.06,
        }
    }

    /// Returns the glTF material without colour or texture.
    pub(super) fn gltf_material(self) -> serde_json::Value {
        let mut material = json!({
            "name": self.name(),
            "pbrMetallicRoughness": {"metallicFactor": 0.0, "roughnessFactor": self.roughness()},
        });
        if self == Self::Water {
            material["alphaMode"] = json!("BLEND");
        }
        material
    }
}

/// The name of the terrain in a file.
const TERRAIN: &str = "terrain";

/// A named part of a scene.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MeshPart {
    /// The name.
    pub name: String,
    /// The kind of surface.
    pub surface: MeshSurface,
    /// The levels of detail, the finest first.
    pub levels: Vec<Mesh>,
    /// The largest vertical distance in metres of each level, in order, from the surface of [`Mesh::from_terrain`]; 0
    /// for water.
    pub errors: Vec<f64>,
}

/// The contents of a mesh file.
///
/// # Examples
/// A terrain with a picture over it, written as PLY with a colour for each vertex.
///
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_render::pictures::picture::Picture;
/// use thalweg_render::products::chunks::{ChunkOptions, ChunkedMesh};
/// use thalweg_render::products::mesh_files::write_ply;
/// use thalweg_render::products::mesh_scene::MeshScene;
///
/// let terrain = Terrain::new(Grid::new([8, 8], 10.0)?);
/// let scene = MeshScene::from_chunks(ChunkedMesh::from_terrain(&terrain, &ChunkOptions::default())?);
/// let scene = scene.with_texture(Some(Picture::new([8, 8], [90, 120, 60])));
/// assert_eq!(scene.parts[0].name, "terrain");
/// let mut bytes = Vec::new();
/// write_ply(&scene, &mut bytes)?;
/// assert!(bytes.starts_with(b"ply\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct MeshScene {
    /// The terrain and water surfaces.
    pub parts: Vec<MeshPart>,
    /// The terrain's colour from above, north up, stretched over the terrain; without it the terrain has its plain
    /// colour.
    pub texture: Option<Picture>,
    /// The trees, if any; their meshes have y up.
    pub trees: Option<GltfTrees>,
}

impl MeshScene {
    /// Creates a scene of the terrain alone. Its part is called `terrain`, or its chunks `terrain_x0_y0` and so on,
    /// with x counted from the west and y from the north.
    pub fn from_chunks(ground: ChunkedMesh) -> Self {
        let alone = ground.chunks.len() == 1;
        let errors = ground.errors;
        let part = |chunk: crate::products::chunks::MeshChunk| {
            let Cell { row, col } = chunk.place;
            let name = if alone { TERRAIN.to_string() } else { format!("{TERRAIN}_x{col}_y{row}") };
            MeshPart { name, surface: MeshSurface::Ground, levels: chunk.levels, errors: errors.clone() }
        };
        Self { parts: ground.chunks.into_iter().map(part).collect(), ..Self::default() }
    }

    /// Adds water surfaces, each with its name, such as those of
    /// [`build_water_meshes`](crate::products::water_mesh::build_water_meshes).
    #[must_use]
    pub fn with_water(mut self, bodies: Vec<(&str, Mesh)>) -> Self {
        let part = |(name, mesh): (&str, Mesh)| MeshPart {
            name: name.to_string(),
            surface: MeshSurface::Water,
            levels: vec![mesh],
            errors: vec![0.0],
        };
        self.parts.extend(bodies.into_iter().map(part));
        self
    }

    /// Drapes a picture over the terrain; `None` removes it.
    #[must_use]
    pub fn with_texture(self, texture: Option<Picture>) -> Self {
        Self { texture, ..self }
    }

    /// Adds trees; `None` removes them.
    #[must_use]
    pub fn with_trees(self, trees: Option<GltfTrees>) -> Self {
        Self { trees, ..self }
    }

    /// Returns the axis that points up: that of the first part, or y if there is none.
    pub fn up(&self) -> Up {
        self.parts.first().map_or(Up::default(), |part| part.levels[0].up)
    }
}
