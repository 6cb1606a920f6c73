//! What several models are made of: digging, particles, creep and landslides, plants, and work on other cells than the ground's.
//! Models use these, never one another.

pub mod base;
pub(crate) mod between;
pub(crate) mod brush;
pub(crate) mod coarse;
pub(crate) mod floors;
pub mod forest;
pub(crate) mod particles;
pub(crate) mod slopes;
pub mod upsample;
