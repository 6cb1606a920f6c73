//! The system windows of the studio and the explorer.

use eframe::egui;
use thalweg_sim::world::World;

use crate::app::Studio;
use crate::explore::Explorer;
use crate::explore::viewpoint::Viewpoint;
use crate::options::StudioOptions;
use crate::ui::scene;
use crate::view::look::Appearance;

/// Opens the studio and returns when it is closed.
///
/// # Errors
/// Returns an error in one line if there is no display or no GPU, or if the recipe cannot be started.
pub fn open_studio(options: StudioOptions) -> Result<(), String> {
    run_window("thalweg studio", |creation| {
        Studio::new(options, &creation.egui_ctx, creation.wgpu_render_state.clone())
    })
}

/// Opens the explorer on a world and returns when it is closed.
///
/// # Errors
/// Returns an error in one line if there is no display or no GPU.
pub fn open_explorer(world: World, stand: Viewpoint, look: Appearance) -> Result<(), String> {
    run_window("thalweg explorer", |creation| {
        Explorer::new(world, (stand, look), &creation.egui_ctx, creation.wgpu_render_state.clone())
    })
}

/// Runs an app in a window.
fn run_window<A: eframe::App + 'static>(
    title: &str,
    make: impl FnOnce(&eframe::CreationContext<'_>) -> Result<A, String>,
) -> Result<(), String> {
    let viewport = egui::ViewportBuilder::default()
        .with_title(title)
        .with_app_id("thalweg")
        .with_inner_size([1360.0, 860.0])
        .with_drag_and_drop(true);
    let native = eframe::NativeOptions { viewport, wgpu_options: scene::configure_gpu_choice(), ..Default::default() };
    let made = eframe::run_native(title, native, Box::new(|creation| Ok(Box::new(make(creation)?))));
    made.map_err(|error| {
        let reason = error.to_string();
        // Drop the source position in the window library's code, with which the message begins.
        let reason = reason.lines().next().and_then(|line| line.rsplit(": ").next()).unwrap_or("unknown reason");
        format!(
            "the window cannot open ({reason}); it needs a display and a GPU or its stand-in (on Debian: apt-get install \
             mesa-vulkan-drivers); `thalweg render studio`, `thalweg render perspective` and `thalweg explore -o` draw \
             without a window"
        )
    })
}
