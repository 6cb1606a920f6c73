//! Foundations of all other modules: errors, progress, file names, memory, random numbers, and numerical functions with
//! the same bits on every machine.

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
