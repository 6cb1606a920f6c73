//! Maps and views, meshes, textures, measurements and other products of a terrain, as values in memory.
//!
//! ```
//! use thalweg_core::terrain::{Terrain, grid::Grid};
//! use thalweg_render::pictures::shade::{ShadeOptions, draw_map};
//!
//! let heights: Vec<f32> = (0..64 * 64).map(|k| (k / 64) as f32).collect();
//! let terrain = Terrain::from_metres(Grid::new([64, 64], 30.0)?, &heights)?;
//! let png = draw_map(&terrain, &ShadeOptions::default())?.to_png();
//! assert!(png.is_ok());
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod pictures;
pub mod products;
pub mod web;
