//! Beds of rock, one on top of the other, as functions of place and height; and what of rock varies from place to place.

mod beds;
mod pile;
mod vary;

pub use beds::{BedSettings, Beds, Risen, StandingBeds};
pub use pile::Pile;
pub use vary::{Octaves, Strike, Vary, log_normal};
