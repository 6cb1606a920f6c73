//! The legend of the overlay.

use eframe::egui::{Align2, Color32, FontId, Rect, Ui, pos2, vec2};
use thalweg_render::pictures::colour::to_srgb;

use thalweg_render::products::overlay::{Colours, OverlayLegend};

/// Draws a legend into the lower left corner of `area`.
pub fn draw_legend(ui: &Ui, area: Rect, legend: &OverlayLegend) {
    let painter = ui.painter_at(area);
    let frame = Rect::from_min_size(pos2(area.left() + 12.0, area.bottom() - 64.0), vec2(250.0, 52.0));
    painter.rect_filled(frame, 6.0, Color32::from_black_alpha(170));
    let bar = Rect::from_min_size(frame.min + vec2(10.0, 22.0), vec2(230.0, 10.0));
    // 115 bars of 2 points fill the width of 230 points without gaps.
    let steps = 115;
    let kinds = legend.ramp == Colours::Kinds;
    for n in (0..steps).filter(|_| !kinds) {
        let [r, g, b] = to_srgb(legend.ramp.colour_at((n as f32 + 0.5) / steps as f32));
        let part = Rect::from_min_size(pos2(bar.left() + 2.0 * n as f32, bar.top()), vec2(2.0, bar.height()));
        painter.rect_filled(part, 0.0, Color32::from_rgb(r, g, b));
    }
    let text = |at, anchor, text: String| {
        painter.text(at, anchor, text, FontId::proportional(11.0), Color32::from_gray(235));
    };
    text(frame.min + vec2(10.0, 5.0), Align2::LEFT_TOP, legend.heading());
    if kinds {
        text(bar.left_top(), Align2::LEFT_TOP, "one colour for each value".to_string());
        return;
    }
    text(bar.left_bottom() + vec2(0.0, 3.0), Align2::LEFT_TOP, legend.format_value(legend.low));
    // On a logarithmic scale the middle is the geometric mean.
    let middle = if legend.log { (legend.low * legend.high).abs().sqrt() } else { 0.5 * (legend.low + legend.high) };
    text(bar.center_bottom() + vec2(0.0, 3.0), Align2::CENTER_TOP, legend.format_value(middle));
    text(bar.right_bottom() + vec2(0.0, 3.0), Align2::RIGHT_TOP, legend.format_value(legend.high));
}
