//! How the land is shown: what lies over it, what it is compared with, sun and heights.

use eframe::egui::{Align2, Color32, ComboBox, DragValue, FontId, Rect, RichText, ScrollArea, Slider, Ui, pos2, vec2};

use thalweg::pictures::colour::srgb;

use crate::view::look::Look;
use crate::view::overlay::{Colours, Legend, Overlay};

/// How the terrain before erosion is shown beside the present one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// Not at all, but while B is held.
    Off,
    /// Left and right of a line that can be dragged.
    Swipe,
    /// Side by side under one camera.
    Beside,
}

/// The settings of the view.
pub struct Settings {
    /// What the renderer draws.
    pub look: Look,
    /// Factor on heights; none chooses one that fits the land.
    pub exaggeration: Option<f32>,
    /// The layer over the ground.
    pub overlay: Option<Overlay>,
    /// The terrain before, beside.
    pub compare: Compare,
    /// Where the swipe's line is, 0 to 1.
    pub swipe: f32,
    /// Whether moving droplets are drawn.
    pub droplets: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            look: Look::default(),
            exaggeration: None,
            overlay: None,
            compare: Compare::Off,
            swipe: 0.5,
            droplets: true,
        }
    }
}

/// What the panel asks for.
pub enum Wish {
    /// Take up the present terrain, now.
    Update,
    /// Take the ground from a file.
    Ground,
    /// Frame the land.
    Frame,
}

/// Draws the panel; `fits` is the exaggeration that fits the land, `overlays` what can be laid over it.
pub fn show(ui: &mut Ui, settings: &mut Settings, overlays: &[Overlay], fits: f32) -> Option<Wish> {
    let mut wish = None;
    ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
        ui.label(RichText::new("Overlay").strong());
        let title = settings.overlay.as_ref().map_or("none".to_string(), Overlay::title);
        ComboBox::from_id_salt("overlay")
            .selected_text(title)
            .width(190.0)
            .height(420.0)
            .show_ui(ui, |ui| {
                ui.selectable_value(&mut settings.overlay, None, "none");
                for overlay in overlays {
                    ui.selectable_value(&mut settings.overlay, Some(overlay.clone()), overlay.title());
                }
            })
            .response
            .accessible_name("overlay");
        ui.add_space(8.0);
        ui.label(RichText::new("Compare with before").strong());
        ui.horizontal(|ui| {
            for (compare, title, about) in [
                (Compare::Off, "off", "Hold B to see the land before erosion"),
                (Compare::Swipe, "swipe", "Before on the left of a line that can be dragged"),
                (Compare::Beside, "beside", "Before and now side by side under one camera"),
            ] {
                ui.selectable_value(&mut settings.compare, compare, title).on_hover_text(about);
            }
        });
        ui.add_space(8.0);
        ui.label(RichText::new("Shown").strong());
        let look = &mut settings.look;
        for (on, title) in [
            (&mut look.water, "lakes and sea"),
            (&mut look.streams, "streams"),
            (&mut look.trees, "trees"),
            (&mut look.sediment, "loose sediment"),
            (&mut look.shadows, "shadows"),
            (&mut settings.droplets, "moving droplets"),
        ] {
            ui.checkbox(on, title);
        }
        optional(ui, "snow above", &mut look.snow_line, 2000.0, -500.0..=9000.0, " m");
        optional(ui, "sea level", &mut look.sea_level, 0.0, -12_000.0..=9000.0, " m");
        ui.add_space(8.0);
        ui.label(RichText::new("Heights").strong());
        optional(ui, "exaggerate", &mut settings.exaggeration, fits, 0.05..=50.0, "×");
        ui.add_space(8.0);
        ui.label(RichText::new("Sun").strong());
        ui.add(Slider::new(&mut look.sun.azimuth, 0.0..=360.0).max_decimals(0).suffix("°").text("from"))
            .on_hover_text("Degrees clockwise from north; Shift + drag moves the sun too");
        ui.add(Slider::new(&mut look.sun.altitude, 5.0..=90.0).max_decimals(0).suffix("°").text("above"));
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            if ui.button("Frame").on_hover_text("Home").clicked() {
                wish = Some(Wish::Frame);
            }
            if ui.button("Update").on_hover_text("Take the view up from the present terrain, now").clicked() {
                wish = Some(Wish::Update);
            }
            if ui.button("From a file …").on_hover_text("Take the ground from an elevation model").clicked() {
                wish = Some(Wish::Ground);
            }
        });
    });
    wish
}

/// A value that may be left to the program.
fn optional(
    ui: &mut Ui,
    title: &str,
    value: &mut Option<f32>,
    usual: f32,
    range: std::ops::RangeInclusive<f32>,
    suffix: &str,
) {
    ui.horizontal(|ui| {
        let mut on = value.is_some();
        ui.checkbox(&mut on, title);
        let mut number = value.unwrap_or(usual);
        let speed = (usual.abs() * 0.01).max(0.01);
        let drag = DragValue::new(&mut number)
            .range(range)
            .clamp_existing_to_range(false)
            .speed(speed)
            .max_decimals(2)
            .suffix(suffix);
        ui.add_enabled(on, drag).accessible_name(format!("{title}: value"));
        *value = on.then_some(number);
    });
}

/// Draws a legend into the lower left corner of `area`.
pub fn legend(ui: &Ui, area: Rect, legend: &Legend) {
    let painter = ui.painter_at(area);
    let frame = Rect::from_min_size(pos2(area.left() + 12.0, area.bottom() - 64.0), vec2(250.0, 52.0));
    painter.rect_filled(frame, 6.0, Color32::from_black_alpha(170));
    let bar = Rect::from_min_size(frame.min + vec2(10.0, 22.0), vec2(230.0, 10.0));
    let steps = 115;
    let kinds = legend.ramp == Colours::Kinds;
    for n in (0..steps).filter(|_| !kinds) {
        let [r, g, b] = srgb(legend.ramp.at((n as f32 + 0.5) / steps as f32));
        let part = Rect::from_min_size(pos2(bar.left() + 2.0 * n as f32, bar.top()), vec2(2.0, bar.height()));
        painter.rect_filled(part, 0.0, Color32::from_rgb(r, g, b));
    }
    let text = |at, anchor, text: String| {
        painter.text(at, anchor, text, FontId::proportional(11.0), Color32::from_gray(235));
    };
    let unit = if legend.unit.is_empty() || legend.unit == "1" { String::new() } else { format!(" [{}]", legend.unit) };
    text(frame.min + vec2(10.0, 5.0), Align2::LEFT_TOP, format!("{}{unit}", legend.title));
    if kinds {
        text(bar.left_top(), Align2::LEFT_TOP, "a colour to each".to_string());
        return;
    }
    text(bar.left_bottom() + vec2(0.0, 3.0), Align2::LEFT_TOP, short(legend.low));
    let middle = if legend.log { (legend.low * legend.high).abs().sqrt() } else { 0.5 * (legend.low + legend.high) };
    text(bar.center_bottom() + vec2(0.0, 3.0), Align2::CENTER_TOP, short(middle));
    text(bar.right_bottom() + vec2(0.0, 3.0), Align2::RIGHT_TOP, short(legend.high));
}

/// A number in as many digits as can be taken in.
pub fn short(x: f32) -> String {
    match x.abs() {
        0.0 => "0".to_string(),
        a if !a.is_finite() => "–".to_string(),
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
            assert_eq!(short(x), text);
        }
        assert_eq!(short(f32::NAN), "–");
    }
}
