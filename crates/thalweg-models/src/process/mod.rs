//! What several models are made of: digging, particles, creep and landslides, plants, and work on other cells than the ground's.
//! Models use these, never one another.

pub mod base;
pub mod between;
pub mod brush;
pub mod coarse;
pub mod floors;
pub mod forest;
pub(crate) mod particles;
pub mod slopes;
pub mod upsample;
