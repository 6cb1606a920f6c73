//! The thalweg studio: a live window in which a landscape erodes and rivers appear, and the same view drawn without a
//! window. It is a thin layer over the library: a worker steps a run, a painter prepares the results for the GPU, and
//! the window shows them; none of them waits for another.

pub mod app;
#[cfg(not(target_arch = "wasm32"))]
pub mod explore;
mod options;
pub mod painter;
#[cfg(not(target_arch = "wasm32"))]
pub mod picture;
pub mod platform;
mod raw;
pub mod remote;
pub mod run_export;
pub mod session;
pub mod ui;
pub mod view;

pub use crate::app::Studio;
pub use crate::options::{PageServices, PresetCard, StudioOptions};
pub use crate::ui::scene::configure_gpu_choice;

#[cfg(not(target_arch = "wasm32"))]
pub use crate::windows::{open_explorer, open_studio};
#[cfg(not(target_arch = "wasm32"))]
mod windows;

/// Returns the declared operations of the studio, each with its default options.
#[cfg(not(target_arch = "wasm32"))]
pub fn studio_operations() -> Vec<Box<dyn thalweg_core::declare::operation::Operation>> {
    vec![Box::new(picture::DrawOptions::default()), Box::new(picture::SceneOptions::default())]
}
