//! The domain model of thalweg: grids, rasters, fixed-point heights, layers, declared parameters, errors and random
//! numbers.
//!
//! Every other crate of the workspace uses these types and does not define a second type for the same concept.
//!
//! ```
//! use thalweg_core::{Grid, Terrain};
//!
//! let grid = Grid::new([2, 3], 10.0)?;
//! let terrain = Terrain::from_metres(grid, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])?;
//! assert_eq!(terrain.ground[(1, 2)].metres(), 5.0);
//! # Ok::<(), thalweg_core::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod base;
pub mod declare;
pub mod terrain;

pub use base::error::{Error, Result};
pub use base::mass_balance::MassBalance;
pub use base::progress::{NoProgress, Progress, ProgressReport};
pub use terrain::field::{Field, Size};
pub use terrain::grid::{Edge, Georeference, Grid, Topology};
pub use terrain::height::Height;
pub use terrain::{Cell, CellRect, Extent, MapPoint, Point, Terrain};
