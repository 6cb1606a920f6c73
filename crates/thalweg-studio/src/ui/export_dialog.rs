//! [`ExportDialog`]: a window in which the options of an export are chosen.

use eframe::egui::{Align2, Button, Context, RichText, ScrollArea, Window};
use thalweg_core::declare::operation::{Operation, WorkForm};

use crate::run_export::{ExportRequest, RunExport};
use crate::ui::operation_form::OperationForm;

/// The width of the window, and the greatest height of its form, in points. A longer form is scrolled, and the buttons
/// below it stay in view.
const FORM_SIZE_POINTS: [f32; 2] = [420.0, 340.0];

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
        let [width, height] = FORM_SIZE_POINTS;
        let window = Window::new(self.export.title()).collapsible(false).resizable(false);
        let window = window.pivot(Align2::CENTER_CENTER).default_pos(ctx.content_rect().center());
        window.default_width(width).show(ctx, |ui| {
            ui.label(RichText::new(self.form.summary()).weak());
            ui.add_space(6.0);
            ScrollArea::vertical().max_height(height).auto_shrink([false, true]).show(ui, |ui| self.form.show(ui));
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
