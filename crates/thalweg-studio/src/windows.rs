//! Windows of the system's: the studio's and the explorer's.

use eframe::egui;
use thalweg_sim::world::World;

use crate::app::Studio;
use crate::explore::Explorer;
use crate::explore::stand::Stand;
use crate::options::Options;
use crate::ui::scene;
use crate::view::look::Look;

/// Opens the studio and stays until it is closed.
///
/// # Errors
/// In one line, when there is no display or no GPU, or the recipe cannot begin.
pub fn open(options: Options) -> Result<(), String> {
    window("thalweg studio", |creation| Studio::new(options, &creation.egui_ctx, creation.wgpu_render_state.clone()))
}

/// Opens the explorer upon a world and stays until it is closed.
///
/// # Errors
/// In one line, when there is no display or no GPU.
pub fn explore(world: World, stand: Stand, look: Look) -> Result<(), String> {
    window("thalweg explorer", |creation| {
        Explorer::new(world, (stand, look), &creation.egui_ctx, creation.wgpu_render_state.clone())
    })
}

/// Runs an app in a window of its own.
fn window<A: eframe::App + 'static>(
    title: &str,
    make: impl FnOnce(&eframe::CreationContext<'_>) -> Result<A, String>,
) -> Result<(), String> {
    let viewport = egui::ViewportBuilder::default()
        .with_title(title)
        .with_app_id("thalweg")
        .with_inner_size([1360.0, 860.0])
        .with_drag_and_drop(true);
    let native = eframe::NativeOptions { viewport, wgpu_options: scene::on_any_gpu(), ..Default::default() };
    let made = eframe::run_native(title, native, Box::new(|creation| Ok(Box::new(make(creation)?))));
    made.map_err(|error| {
        let reason = error.to_string();
        // Without the place in the window library's code that it begins with.
        let reason = reason.lines().next().and_then(|line| line.rsplit(": ").next()).unwrap_or("unknown reason");
        format!(
            "the window cannot open ({reason}); it needs a display and a GPU or its stand-in (on Debian: apt-get install \
             mesa-vulkan-drivers); `thalweg picture`, `thalweg explore -o` and `thalweg view` draw without a window"
        )
    })
}
