//! [`Viewport`]: the view in the middle of the window.

use eframe::egui::{Align2, Color32, Rect, Sense, Ui, pos2};

use crate::app::overlay_text::draw_text;
use crate::app::state::Studio;

/// The place of the view, and what it shows for a while.
pub(crate) struct Viewport {
    /// The position of the view in the window, and its size in pixels.
    pub(crate) rect: Rect,
    pub(crate) drawn_size: [u32; 2],
    /// True while a key is held to show the terrain before erosion.
    pub(crate) held_before: bool,
    /// The time until which a shower made with the tool is shown.
    pub(crate) shower: f64,
}

impl Default for Viewport {
    fn default() -> Self {
        Self { rect: Rect::ZERO, drawn_size: [1, 1], held_before: false, shower: 0.0 }
    }
}

impl Studio {
    /// Draws the view into the remaining area of the window.
    pub fn draw_viewport(&mut self, ui: &mut Ui) {
        let rect = ui.available_rect_before_wrap();
        let response = ui.allocate_rect(rect, Sense::click_and_drag());
        if rect.width() < 2.0 || rect.height() < 2.0 {
            return;
        }
        // Input precedes drawing, so that the picture follows the mouse without a delay of one frame.
        self.apply_mouse_input(ui, &response);
        let scale = ui.ctx().pixels_per_point();
        let size = [rect.width(), rect.height()].map(|x| ((x * scale).round() as u32).max(1));
        let frame = self.compose_frame(size);
        match self.scene.as_mut().map(|scene| (scene.render_texture(frame), scene.is_lost())) {
            Some((Some(texture), false)) => {
                let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
                ui.painter().image(texture, rect, whole, Color32::WHITE);
            }
            Some((_, true)) => draw_text(
                ui,
                rect.center(),
                Align2::CENTER_CENTER,
                "The graphics device was lost. Save the recipe (Ctrl+S) and open the studio again.",
            ),
            _ => draw_text(
                ui,
                rect.center(),
                Align2::CENTER_CENTER,
                "No GPU: the land is computed, but cannot be shown.",
            ),
        }
        self.draw_annotations(ui, rect);
        // Moving droplets need about 30 frames per second, even without input.
        if self.is_raining() && self.painting.latest.as_ref().is_some_and(|painted| !painted.paths.is_empty()) {
            ui.ctx().request_repaint_after(std::time::Duration::from_millis(30));
        }
    }
}
