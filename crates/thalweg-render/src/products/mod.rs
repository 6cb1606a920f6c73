//! Products of a finished terrain: other resolutions and extracts, meshes, normal and bump maps, statistics and
//! measurements; lakes, streams and wetness; map overlays, and the values under a cursor.
//!
//! Every function is pure: it takes a terrain and returns data. Writers take any `impl Write`.

pub mod agreement;
pub mod chunks;
pub mod glb;
mod gltf;
pub mod gltf_trees;
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
pub mod statistics;
pub mod streams;
pub mod textures;
pub mod water_mesh;
pub mod wetness;
