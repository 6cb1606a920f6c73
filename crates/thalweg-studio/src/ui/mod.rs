//! The parts of the window: rows, panels, and the view as a texture. Each draws itself and returns the user's actions;
//! none depends on the state of the others.

pub(crate) mod appearance;
pub(crate) mod export_dialog;
pub mod habits;
pub(crate) mod history;
pub(crate) mod legend;
pub(crate) mod operation_form;
pub(crate) mod pen;
pub(crate) mod scene;
pub(crate) mod stages;
pub(crate) mod timeline;
pub(crate) mod toolbar;
pub(crate) mod tools;
pub(crate) mod words;

pub use toolbar::slider_rect;

use eframe::egui::{ScrollArea, Ui};

/// The width in points up to which a row does not fit and scrolls sideways by touch.
const NARROW_ROW_POINTS: f32 = 600.0;

/// Draws a row of the window; on a phone it is wider than the window and scrolls.
pub(crate) fn draw_row(ui: &mut Ui, draw: impl FnOnce(&mut Ui)) {
    if ui.available_width() > NARROW_ROW_POINTS {
        ui.horizontal(draw);
    } else {
        // Several rows of one window scroll, so each needs an identity of its own.
        let name = ui.next_auto_id();
        ScrollArea::horizontal().id_salt(name).show(ui, |ui| ui.horizontal(draw));
    }
}
