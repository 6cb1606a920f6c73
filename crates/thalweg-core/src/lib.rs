//! The domain model of thalweg: grids, rasters, heights in fixed point, layers, declared parameters, errors and random numbers.
//!
//! Every other crate of the workspace uses these types and defines no second one for the same concept.
//!
//! ```
//! use thalweg_core::terrain::{Terrain, grid::Grid};
//!
//! let grid = Grid::new([2, 3], 10.0)?;
//! let terrain = Terrain::from_metres(grid, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])?;
//! assert_eq!(terrain.ground[(1, 2)].metres(), 5.0);
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod base;
pub mod declare;
pub mod terrain;
