//! The view in the middle of the window.

use eframe::egui::{Align2, Color32, Rect, Sense, Ui, pos2};

use crate::app::over::words;
use crate::app::state::Studio;

impl Studio {
    /// Draws the view into the remaining area of the window.
    pub fn viewport(&mut self, ui: &mut Ui) {
        let rect = ui.available_rect_before_wrap();
        let response = ui.allocate_rect(rect, Sense::click_and_drag());
        if rect.width() < 2.0 || rect.height() < 2.0 {
            return;
        }
        self.mouse(ui, &response);
        let scale = ui.ctx().pixels_per_point();
        let size = [rect.width(), rect.height()].map(|x| ((x * scale).round() as u32).max(1));
        let frame = self.frame(size);
        match self.scene.as_mut().map(|scene| (scene.show(frame), scene.lost())) {
            Some((Some(texture), false)) => {
                let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
                ui.painter().image(texture, rect, whole, Color32::WHITE);
            }
            Some((_, true)) => words(
                ui,
                rect.center(),
                Align2::CENTER_CENTER,
                "The graphics device was lost. Save the recipe (Ctrl+S) and open the studio again.",
            ),
            _ => words(ui, rect.center(), Align2::CENTER_CENTER, "No GPU: the land is computed, but cannot be shown."),
        }
        self.over(ui, rect);
        if self.is_raining() && self.painted.as_ref().is_some_and(|painted| !painted.paths.is_empty()) {
            ui.ctx().request_repaint_after(std::time::Duration::from_millis(30));
        }
    }
}
