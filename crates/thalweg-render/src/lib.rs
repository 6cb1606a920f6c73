//! Maps and views, meshes, textures, measures and other products of a terrain, as values in memory.
//!
//! ```
//! use thalweg_core::terrain::{Terrain, grid::Grid};
//!
//! let terrain = Terrain::from_metres(Grid::new([2, 2], 30.0)?, &[0.0, 10.0, 20.0, 30.0])?;
//! assert_eq!(terrain.grid.size, [2, 2]);
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod pictures;
pub mod products;
pub mod web;
