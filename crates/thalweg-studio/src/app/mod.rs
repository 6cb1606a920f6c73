//! [`Studio`]: the window of the studio, frame by frame.

mod cameras;
mod files;
mod frames;
mod keyboard;
mod messages;
mod mouse;
mod open_world;
mod output;
mod overlay_text;
mod page_memory;
mod painting;
mod panels;
mod paths;
mod pen;
mod pointer;
mod start;
mod state;
mod view_contents;
mod viewport;
mod worker_exchange;

use eframe::egui::{self, CentralPanel, Panel as Side, Ui};

use crate::app::frames::FrameSeries;
use crate::app::state::NARROW_PAGE_POINTS;
pub use crate::app::state::Studio;

impl Studio {
    /// Runs one frame: handles results of the worker and painter, keys, panels and the view; then sends the recipe if
    /// it was changed.
    pub fn frame_ui(&mut self, ui: &mut Ui) {
        self.now = ui.input(|input| input.time);
        if !std::mem::replace(&mut self.panels.begun, true) && self.options.page.is_some() {
            // On a phone, the panels would cover the terrain.
            self.panels.sides = [ui.max_rect().width() > NARROW_PAGE_POINTS; 2];
        }
        // Results and input come first, so that all panels of this frame show the same state.
        self.take_results();
        self.apply_answer();
        self.deliver_ready_files();
        self.apply_keyboard_input(ui);
        self.open_dropped_files(ui);
        self.read_lines();
        let mut changed = false;
        Side::top("bar").show(ui, |ui| changed |= self.draw_top_bar(ui));
        Side::bottom("time").show(ui, |ui| {
            if let Some(order) = self.panels.timeline.show(ui, &self.snapshot) {
                self.worker.send_order(order);
            }
        });
        // The flags are copied, because the panels borrow the studio while they may be closed.
        let [mut left, mut right] = self.panels.sides;
        Side::left("recipe")
            .default_size(340.0)
            .show_collapsible(ui, &mut left, |ui| changed |= self.draw_recipe_panel(ui));
        Side::right("look").default_size(240.0).show_collapsible(ui, &mut right, |ui| self.draw_view_panel(ui));
        self.panels.sides = [left, right];
        CentralPanel::default().frame(egui::Frame::NONE).show(ui, |ui| {
            let rect = ui.available_rect_before_wrap();
            let scale = ui.ctx().pixels_per_point();
            self.viewport.drawn_size = [rect.width(), rect.height()].map(|x| ((x * scale).round() as u32).max(1));
            self.viewport.rect = rect;
            self.draw_viewport(ui);
        });
        self.draw_tools(ui);
        self.draw_export_dialog(ui);
        self.draw_messages(ui);
        self.draw_help(ui);
        // All changes of a frame are sent as one edit.
        if changed {
            self.send_recipe();
        }
        // A change is a single step in the history, however long the mouse button is held for it.
        if !ui.input(|input| input.pointer.any_down()) && self.exchange.sent <= self.snapshot.heard {
            self.world.history.push(&self.world.recipe.to_toml());
        }
        // Painting is requested last, with the settings that this frame has left.
        self.order_paint();
        self.write_frames();
        if self.output.frames.as_ref().is_some_and(FrameSeries::is_turntable) {
            ui.ctx().request_repaint();
        }
    }
}

impl eframe::App for Studio {
    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        self.frame_ui(ui);
    }

    fn persist_egui_memory(&self) -> bool {
        false
    }
}
