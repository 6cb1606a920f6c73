//! thalweg makes terrain and reads it: base terrain, erosion by many models over one ground, measured and written for
//! game engines and GIS. This library prints nothing, asks nothing and owns no loop; the command line is a thin face.
//!
//! One truth runs through it: heights are metres in fixed point ([`height::Height`]), so mass closes to the unit and
//! the same recipe gives the same bits for any number of threads and on any machine.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod brush;
mod bytes;
pub mod cast;
pub mod checkpoint;
mod clock;
pub mod coarse;
mod codec;
pub mod error;
pub mod field;
pub mod finer;
pub mod flow;
pub mod forest;
pub mod fourier;
pub mod given;
pub mod grid;
pub mod height;
pub mod io;
pub mod knobs;
pub mod levels;
pub mod mark;
pub mod memory;
pub mod model;
pub mod models;
pub mod names;
pub mod noise;
pub mod page;
pub mod params;
pub mod particles;
pub mod pictures;
pub mod power;
pub mod products;
pub mod recipe;
pub mod rivers;
pub mod rng;
pub mod rocks;
pub mod run;
pub mod slopes;
pub mod soils;
pub mod springs;
pub mod strokes;
pub mod tables;
pub mod taps;
pub mod terrain;
pub mod tiles;

pub use error::{Error, Result};
