//! The studio.
pub mod picture;
pub mod view;

pub use eframe;
