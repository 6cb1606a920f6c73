//! The view: draws a terrain on the GPU into a texture, which a window shows or a file saves.
//!
//! Coordinates are in metres ([`space`]). This module does not depend on windows. The terrain's colours are computed
//! once per snapshot into textures with the resolution of its cells, with the same lights and constants as the
//! library's maps; a frame then only maps them onto the terrain.

mod bake;
pub mod camera;
mod facts;
mod frame_buffers;
pub mod gpu;
mod gpu_terrain;
pub mod look;
mod paint;
mod patches;
mod pipelines;
pub mod renderer;
mod shader;
pub mod space;
pub mod surface;
pub mod target;
mod woods;
