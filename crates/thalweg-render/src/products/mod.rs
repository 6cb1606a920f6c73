//! What is made from a finished terrain: other resolutions and cuts, meshes, normal and bump maps, figures and
//! measures; lakes, streams and wetness; what is laid over the land, and what is read under a cursor.
//!
//! Every function is pure: terrain in, data out; writers take any `impl Write`.

pub mod agreement;
pub mod chunks;
pub mod glb;
mod gltf;
pub mod lakes;
pub mod measure;
pub mod mesh;
pub mod mesh_files;
pub mod mesh_scene;
pub mod nested;
pub mod normals;
pub mod overlay;
pub mod plants;
pub mod probe;
pub mod resample;
pub mod ribbon;
mod rtin;
pub mod slope;
pub mod stand;
pub mod statistics;
pub mod streams;
pub mod textures;
pub mod water_mesh;
pub mod wetness;
