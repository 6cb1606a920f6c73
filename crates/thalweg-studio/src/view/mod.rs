//! The view: a terrain drawn by the GPU, into a texture that a window shows or a file keeps.
//!
//! Space is in metres: x east, y north, z up, the middle of the terrain at x = y = 0, z = exaggeration × height. Nothing
//! here knows of windows. The land's colours are worked out once for each snapshot, in textures as fine as its cells, by
//! the same lights and constants as the library's maps; a frame then only lays them over the land.

mod bake;
pub mod camera;
pub mod gpu;
mod gpu_terrain;
pub mod look;
mod marks;
pub mod overlay;
mod patches;
mod pipelines;
pub mod renderer;
mod rivers;
mod shader;
pub mod surface;
pub mod target;
mod woods;
