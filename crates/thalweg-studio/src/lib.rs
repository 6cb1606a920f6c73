//! The studio.
pub use eframe;
