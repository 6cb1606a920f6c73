//! Foundations of all other modules: errors, progress, names of files, memory, random numbers, and small numerics whose
//! bits are the same on every machine.

pub mod cast;
pub mod clock;
pub mod deflate;
pub mod error;
pub mod fourier;
pub mod mass_balance;
pub mod memory;
pub mod names;
pub mod power;
pub mod progress;
pub mod range;
pub mod rng;
