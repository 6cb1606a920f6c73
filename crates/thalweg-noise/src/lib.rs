//! Noise: pure functions of world metres and a key.
//!
//! A value depends on the place in the world alone, never on where a window, tile, row or chunk begins, so windows of
//! one world agree bit for bit, and a finer grid of the same extent only adds detail.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod cellular;
pub mod chunk;
pub mod fractal;
pub mod given;
pub mod gradient;
pub mod lattice;
pub mod octave;
pub mod strata;
pub mod waves;
