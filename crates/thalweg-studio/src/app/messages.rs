//! [`Messages`]: the recent messages to the user, each shown for a while.

use eframe::egui::{self, RichText, Ui};

use crate::app::state::Studio;
use crate::ui::words::format_error;

/// How long a message stays, in seconds.
const MESSAGE_DURATION_S: f64 = 6.0;

/// The recent messages.
#[derive(Default)]
pub(crate) struct Messages {
    pub(crate) shown: Vec<Message>,
    /// The number of the last news from the worker that became a message.
    pub(crate) news: u64,
}

/// A message to the user.
pub(crate) struct Message {
    /// The time until which it is shown.
    until: f64,
    text: String,
    is_error: bool,
}

impl Studio {
    /// The last message, while it is shown.
    pub fn current_message(&self) -> Option<&str> {
        self.messages.shown.last().map(|message| message.text.as_str())
    }

    /// Shows a message for a while.
    pub(crate) fn show_message(&mut self, text: String) {
        self.messages.shown.push(Message { until: self.now + MESSAGE_DURATION_S, text, is_error: false });
    }

    /// Shows an error message. If the same message is still shown, it is replaced.
    pub fn show_error(&mut self, text: String) {
        self.messages.shown.retain(|message| message.text != text);
        // Errors stay twice as long as other messages.
        self.messages.shown.push(Message { until: self.now + 2.0 * MESSAGE_DURATION_S, text, is_error: true });
    }

    /// Draws the recent messages.
    pub(super) fn draw_messages(&mut self, ui: &Ui) {
        let now = self.now;
        self.messages.shown.retain(|message| message.until > now);
        if self.messages.shown.is_empty() {
            return;
        }
        egui::Area::new(egui::Id::unique("words")).anchor(egui::Align2::CENTER_BOTTOM, [0.0, -80.0]).show(
            ui.ctx(),
            |ui| {
                for Message { text, is_error, .. } in &self.messages.shown {
                    egui::Frame::popup(ui.style()).show(ui, |ui| {
                        ui.set_max_width(620.0);
                        ui.label(if *is_error { format_error(text) } else { RichText::new(text) });
                    });
                }
            },
        );
        // Without input nothing else would redraw the window when a message expires.
        ui.ctx().request_repaint_after(std::time::Duration::from_millis(500));
    }
}
