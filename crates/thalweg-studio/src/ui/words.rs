//! Formatting of text in the window.

use eframe::egui::{Color32, RichText};

/// Formats text in the colour of error messages.
pub fn format_error(text: &str) -> RichText {
    RichText::new(text).color(Color32::from_rgb(255, 150, 120))
}
