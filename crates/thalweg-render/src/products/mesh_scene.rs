//! [`MeshScene`]: what a file of meshes holds: ground in chunks and levels, water apart from it, a picture upon it, trees.

use serde_json::json;

use crate::pictures::picture::Picture;
use crate::products::chunks::ChunkedMesh;
use crate::products::mesh::{Mesh, Up};
use crate::products::stand::Stand;
use thalweg_core::Cell;
use thalweg_core::terrain::WATER;

/// What a mesh shows: it gives a material its name and its looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MeshSurface {
    /// Ground: rough and opaque.
    #[default]
    Ground,
    /// Water: smooth, blue, and seen through.
    Water,
}

impl MeshSurface {
    /// Both, ground first.
    pub const ALL: [Self; 2] = [Self::Ground, Self::Water];

    /// The name of the material.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ground => "ground",
            Self::Water => WATER.name,
        }
    }

    /// The name of node and mesh where it is alone.
    pub(super) fn node(self) -> &'static str {
        match self {
            Self::Ground => TERRAIN,
            Self::Water => self.name(),
        }
    }

    /// Red, green and blue in linear light, and opacity, each 0 to 1.
    pub fn colour(self) -> [f64; 4] {
        match self {
            Self::Ground => [0.42, 0.38, 0.28, 1.0],
            Self::Water => [0.02, 0.11, 0.17, 0.82],
        }
    }

    /// How rough it is, 0 smooth to 1 rough.
    pub fn roughness(self) -> f64 {
        match self {
            Self::Ground => 1.0,
            Self::Water => 0.06,
        }
    }

    /// glTF's material without colour or texture.
    pub(super) fn material(self) -> serde_json::Value {
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

/// The name of ground in a file.
const TERRAIN: &str = "terrain";

/// A thing with a name of its own.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MeshPart {
    /// Its name.
    pub name: String,
    /// What it shows.
    pub surface: MeshSurface,
    /// Its levels of detail, the finest first.
    pub levels: Vec<Mesh>,
    /// Metres by which each level, in their order, is at most above or below the ground of [`Mesh::of`]; 0 of water.
    pub errors: Vec<f64>,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct MeshScene {
    /// Ground and water.
    pub parts: Vec<MeshPart>,
    /// The ground's colour from above, north up, spread over the terrain; without it ground has its plain colour.
    pub texture: Option<Picture>,
    /// Trees, if there are any; their meshes' y points up.
    pub trees: Option<Stand>,
}

impl MeshScene {
    /// The ground alone: `terrain`, or `terrain_x0_y0` and so on of chunks, x numbers from the west and y from the north.
    pub fn of(ground: ChunkedMesh) -> Self {
        let alone = ground.chunks.len() == 1;
        let errors = ground.errors;
        let part = |chunk: crate::products::chunks::MeshChunk| {
            let Cell { row, col } = chunk.place;
            let name = if alone { TERRAIN.to_string() } else { format!("{TERRAIN}_x{col}_y{row}") };
            MeshPart { name, surface: MeshSurface::Ground, levels: chunk.levels, errors: errors.clone() }
        };
        Self { parts: ground.chunks.into_iter().map(part).collect(), ..Self::default() }
    }

    /// Adds water, each body by its name, such as [`waters`](crate::products::water_mesh::waters) gives.
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

    /// Lays a picture over the ground; `None` takes it away.
    #[must_use]
    pub fn with_texture(self, texture: Option<Picture>) -> Self {
        Self { texture, ..self }
    }

    /// Stands trees on it; `None` takes them away.
    #[must_use]
    pub fn with_trees(self, trees: Option<Stand>) -> Self {
        Self { trees, ..self }
    }

    /// Which axis points up: that of the first part; y if there is none.
    pub fn up(&self) -> Up {
        self.parts.first().map_or(Up::default(), |part| part.levels[0].up)
    }
}
