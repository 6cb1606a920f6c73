//! Building blocks that several models share: brushes, particles, hillslope processes, plants, and work on coarser or
//! finer cells. Models use these and never one another.

pub mod base;
pub mod brush;
pub mod coarse;
pub mod floors;
pub mod forest;
pub mod interpolation;
pub(crate) mod particles;
pub mod slopes;
pub mod upsample;
