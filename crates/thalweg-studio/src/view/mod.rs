//! The view: a terrain drawn by the GPU, into a texture that a window shows or a file keeps.
//!
//! Space is in metres ([`space`]). Nothing here knows of windows. The land's colours are worked out once for each snapshot, in textures as fine as its cells, by
//! the same lights and constants as the library's maps; a frame then only lays them over the land.

mod bake;
pub mod camera;
mod facts;
pub mod gpu;
mod gpu_terrain;
pub mod look;
mod marks;
mod paint;
mod patches;
mod pipelines;
pub mod renderer;
mod shader;
pub mod space;
pub mod surface;
pub mod target;
mod woods;
