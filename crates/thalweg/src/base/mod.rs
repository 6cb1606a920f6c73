//! What everything rests on: errors, names of files, memory, random numbers, and small numerics whose bits are the same everywhere.

pub(crate) mod cast;
pub(crate) mod clock;
pub(crate) mod deflate;
pub mod error;
pub(crate) mod fourier;
pub mod memory;
pub mod names;
pub(crate) mod power;
pub mod rng;
