//! The thalweg studio: a live window in which a landscape erodes and rivers appear, and the same view drawn without a
//! window. A thin face upon the library: a worker steps a run, a painter makes what it leaves ready for the GPU, the
//! window shows it; none waits for another.

pub mod app;
mod bar;
mod bench;
pub mod files;
mod history;
pub mod keys;
mod look;
mod out;
mod painter;
pub mod picture;
mod scene;
pub mod seam;
mod stages;
mod timeline;
mod tools;
pub mod view;
mod viewport;
pub mod worker;

use std::path::PathBuf;
use std::sync::Arc;

use eframe::egui;
use thalweg::recipe::Recipe;

use crate::app::Studio;
use crate::worker::Export;

/// A recipe that comes with the program.
#[derive(Debug, Clone)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: String,
    /// A small picture of it as PNG; empty without one.
    pub thumbnail: &'static [u8],
}

/// With what the studio opens.
pub struct Options {
    /// The world to begin with.
    pub recipe: Recipe,
    /// The file that it came from, if it did.
    pub path: Option<PathBuf>,
    /// Whether it begins to erode at once.
    pub playing: bool,
    /// Recipes to choose from.
    pub presets: Vec<Preset>,
    /// Cells on the long side at which presets are opened.
    pub cells: usize,
    /// Writes all layers of a run into a folder.
    pub export: Option<Arc<Export>>,
    /// The folder in which pictures are saved.
    pub pictures: PathBuf,
    /// How the user is asked for files: [`seam::ask`], but in tests.
    pub asker: Box<seam::Asker>,
}

/// Opens the window and stays until it is closed.
///
/// # Errors
/// In one line, when there is no display or no GPU, or the recipe cannot begin.
pub fn open(options: Options) -> Result<(), String> {
    let viewport = egui::ViewportBuilder::default()
        .with_title("thalweg studio")
        .with_app_id("thalweg")
        .with_inner_size([1360.0, 860.0])
        .with_drag_and_drop(true);
    let native = eframe::NativeOptions { viewport, wgpu_options: scene::on_any_gpu(), ..Default::default() };
    let made = eframe::run_native(
        "thalweg studio",
        native,
        Box::new(|creation| {
            let studio = Studio::new(options, &creation.egui_ctx, creation.wgpu_render_state.clone())?;
            Ok(Box::new(studio))
        }),
    );
    made.map_err(|error| {
        let reason = error.to_string();
        // Without the place in the window library's code that it begins with.
        let reason = reason.lines().next().and_then(|line| line.rsplit(": ").next()).unwrap_or("unknown reason");
        format!(
            "the studio's window cannot open ({reason}); it needs a display and a GPU or its stand-in \
             (on Debian: apt-get install mesa-vulkan-drivers); `thalweg picture` and `thalweg view` draw without a window"
        )
    })
}
