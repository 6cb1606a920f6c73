//! Rock beds as functions of position and elevation, and the regional variation of rock properties.

mod beds;
mod pile;
mod vary;

pub use beds::{BedSettings, Beds, Risen, StandingBeds};
pub use pile::Pile;
pub use vary::{Octaves, SpatialValue, Strike, log_normal};
