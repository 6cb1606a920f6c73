//! Pictures of a terrain: shaded relief from above, data layers, and perspective views, all rendered on the CPU.
//!
//! Every function is pure (it takes a terrain and returns a [`picture::Picture`]) and gives bit-identical results for
//! any number of threads.

pub mod animation;
pub mod bands;
pub mod colour;
pub mod drawn_land;
pub mod furniture;
pub mod layer;
pub mod light;
pub mod look;
pub mod momentum;
pub mod natural;
pub mod paint;
pub mod perspective;
pub mod picture;
pub mod png_file;
pub mod ramps;
mod raster;
pub mod relief;
pub mod rivers;
pub mod runoff;
pub mod sample;
pub mod scene;
pub mod shade;
pub mod sheet;
pub mod streams;
pub mod text;
pub mod trees;
pub mod water;
