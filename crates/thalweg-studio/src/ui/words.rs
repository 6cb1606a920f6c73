//! Formatting of text and numbers in the window.

use eframe::egui::{Color32, RichText};

/// Formats text in the colour of error messages.
pub fn format_error(text: &str) -> RichText {
    RichText::new(text).color(Color32::from_rgb(255, 150, 120))
}

/// Formats a number with few digits.
pub fn format_short(x: f32) -> String {
    match x.abs() {
        0.0 => "0".to_string(),
        a if !a.is_finite() => "–".to_string(),
        // The number of decimals falls with the size, which gives one to five significant digits.
        a if a >= 1e5 => format!("{x:.1e}"),
        a if a >= 100.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        a if a >= 0.01 => format!("{x:.2}"),
        _ => format!("{x:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let cases =
            [(0.0, "0"), (1234.5, "1234"), (-12.34, "-12.3"), (0.5, "0.50"), (0.0012, "1.2e-3"), (2.5e6, "2.5e6")];
        for (x, text) in cases {
            assert_eq!(format_short(x), text);
        }
        assert_eq!(format_short(f32::NAN), "–");
    }
}
