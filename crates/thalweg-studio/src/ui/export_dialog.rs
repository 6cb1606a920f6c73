//! [`ExportDialog`]: a window in which the options of an export are chosen.

use eframe::egui::{Button, Context, RichText, Window, vec2};
use thalweg_core::declare::operation::{Operation, WorkForm};

use crate::run_export::{ExportRequest, RunExport};
use crate::ui::operation_form::OperationForm;

/// The width in which the window opens, and its greatest height, in points. A longer form is scrolled.
const WINDOW_SIZE_POINTS: [f32; 2] = [420.0, 440.0];

/// The heights of a row of the form, and of all that is not the form, in points.
const HEIGHTS_POINTS: [f32; 2] = [21.0, 100.0];

/// A window in which the options of an export are chosen.
pub struct ExportDialog {
    export: RunExport,
    form: OperationForm,
}

/// A user action in the window.
pub enum ExportDialogAct {
    /// Write the export.
    Export(ExportRequest),
    /// Close the window.
    Close,
}

impl ExportDialog {
    /// Returns the window for an export, with the present values of its operation.
    pub fn new(export: RunExport, operation: Box<dyn Operation>) -> Self {
        Self { export, form: OperationForm::new(operation, WorkForm::Folder) }
    }

    /// Draws the window, and returns the user's action; `page` is true on a page, which gives files to its user.
    pub fn show(&mut self, ctx: &Context, page: bool) -> Option<ExportDialogAct> {
        let mut act = None;
        let [row, rest] = HEIGHTS_POINTS;
        let height = (row * self.form.row_count() as f32 + rest).min(WINDOW_SIZE_POINTS[1]);
        let size = vec2(WINDOW_SIZE_POINTS[0], height);
        let position = ctx.content_rect().center() - 0.5 * size;
        let window = Window::new(self.export.title()).collapsible(false).default_pos(position);
        window.default_size(size).vscroll(true).show(ctx, |ui| {
            ui.label(RichText::new(self.form.summary()).weak());
            ui.add_space(6.0);
            self.form.show(ui);
            ui.separator();
            ui.horizontal(|ui| {
                let text = if page { "Download as ZIP" } else { "Choose a folder …" };
                if ui.add_enabled(self.form.problem().is_none(), Button::new(text)).clicked() {
                    act = Some(ExportDialogAct::Export(ExportRequest {
                        export: self.export,
                        options: self.form.values(),
                    }));
                }
                if ui.button("Reset").on_hover_text("Restores the values with which this window opened").clicked() {
                    self.form.reset();
                }
                if ui.button("Close").clicked() {
                    act = Some(ExportDialogAct::Close);
                }
            });
        });
        act
    }
}
