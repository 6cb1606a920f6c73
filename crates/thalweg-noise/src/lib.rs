//! Noise functions: pure functions of a position in world metres and a key.
//!
//! A value depends only on the position in the world, never on where a window, tile, row or chunk begins. Windows of
//! one world therefore agree bit for bit, and a finer grid of the same extent only adds detail.
//!
//! # Examples
//! ```
//! use thalweg_core::base::rng::RandomKey;
//! use thalweg_core::terrain::grid::Grid;
//! use thalweg_noise::fractal::{Fractal, FractalSettings};
//!
//! let grid = Grid::new([64, 64], 30.0)?;
//! let noise = Fractal::new(&FractalSettings::fbm(6, 1000.0, 0.5), None, RandomKey::new(1, "example"), &grid);
//! let mut row = vec![0.0; 64];
//! noise.fill_row(&grid, 0, &mut row);
//! assert!(row.iter().all(|value| value.abs() < 2.0));
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod cellular;
pub mod chunk;
pub mod fractal;
pub mod gradient;
pub mod input_tables;
pub mod lattice;
pub mod octave;
pub mod strata;
pub mod waves;
