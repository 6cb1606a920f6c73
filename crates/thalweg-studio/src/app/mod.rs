//! [`Studio`]: the window of the studio, frame by frame.

mod drawn;
mod files;
mod frames;
mod keyboard;
mod mouse;
mod out;
mod over;
mod panels;
mod paths;
mod pen;
mod pointer;
mod shown;
mod start;
mod state;
mod viewport;

use eframe::egui::{self, CentralPanel, Panel as Side, Ui};

use crate::app::frames::Frames;
use crate::app::state::NARROW;
pub use crate::app::state::Studio;

impl Studio {
    /// Runs one frame: handles results of the worker and painter, keys, panels and the view; then sends the recipe if
    /// it was changed.
    pub fn frame_ui(&mut self, ui: &mut Ui) {
        self.now = ui.input(|input| input.time);
        if !std::mem::replace(&mut self.begun, true) && self.options.page.is_some() {
            // On a phone, the panels would cover the terrain.
            self.sides = [ui.max_rect().width() > NARROW; 2];
        }
        self.take();
        self.answer();
        self.give();
        self.keyboard(ui);
        self.dropped(ui);
        self.read_lines();
        let mut changed = false;
        Side::top("bar").show(ui, |ui| changed |= self.top(ui));
        Side::bottom("time").show(ui, |ui| {
            if let Some(order) = self.timeline.show(ui, &self.snapshot) {
                self.worker.tell(order);
            }
        });
        let [mut left, mut right] = self.sides;
        Side::left("recipe").default_size(340.0).show_collapsible(ui, &mut left, |ui| changed |= self.left(ui));
        Side::right("look").default_size(240.0).show_collapsible(ui, &mut right, |ui| self.right(ui));
        self.sides = [left, right];
        CentralPanel::default().frame(egui::Frame::NONE).show(ui, |ui| {
            let rect = ui.available_rect_before_wrap();
            let scale = ui.ctx().pixels_per_point();
            self.drawn_size = [rect.width(), rect.height()].map(|x| ((x * scale).round() as u32).max(1));
            self.view_rect = rect;
            self.viewport(ui);
        });
        self.palette(ui);
        self.said(ui);
        self.help(ui);
        if changed {
            self.send();
        }
        // A change is a single step in the history, however long the mouse button is held for it.
        if !ui.input(|input| input.pointer.any_down()) && self.sent <= self.snapshot.heard {
            self.history.push(&self.recipe.to_toml());
        }
        self.order_paint();
        self.write_frames();
        if self.frames.as_ref().is_some_and(Frames::is_turntable) {
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
