//! Text over the view: labels of the comparison, the legend, the ground under the cursor, and the traced droplet.

use eframe::egui::{self, Align2, Color32, FontId, Rect, Stroke as Pen, Ui, pos2, vec2};
use thalweg_core::{Field, Terrain};
use thalweg_render::products::probe::{self, Reading};

use crate::app::pointer::Cursor;
use crate::app::state::Studio;
use crate::ui::appearance::Compare;
use crate::ui::legend::legend;
use crate::ui::words::short;

impl Studio {
    /// Draws the legend, the probe, the droplet's values and the line of the swipe over the view.
    pub(super) fn over(&mut self, ui: &Ui, rect: Rect) {
        let comparing = self.painted.as_ref().is_some_and(|painted| painted.before.is_some());
        match self.settings.compare {
            _ if self.held_before && comparing => {
                words(ui, rect.center_top() + vec2(0.0, 12.0), Align2::CENTER_TOP, "before")
            }
            Compare::Swipe if comparing => {
                let x = rect.left() + self.settings.swipe * rect.width();
                let line = [pos2(x, rect.top()), pos2(x, rect.bottom())];
                ui.painter().line_segment(line, Pen::new(2.0, Color32::WHITE));
                words(ui, pos2(x - 8.0, rect.top() + 12.0), Align2::RIGHT_TOP, "before");
                words(ui, pos2(x + 8.0, rect.top() + 12.0), Align2::LEFT_TOP, "now");
            }
            Compare::Beside if comparing => {
                let line = [pos2(rect.center().x, rect.top()), pos2(rect.center().x, rect.bottom())];
                ui.painter().line_segment(line, Pen::new(1.0, Color32::WHITE));
                words(ui, rect.left_top() + vec2(12.0, 12.0), Align2::LEFT_TOP, "before");
                words(ui, pos2(rect.center().x + 12.0, rect.top() + 12.0), Align2::LEFT_TOP, "now");
            }
            _ => {}
        }
        if let Some(shown) = self.painted.as_ref().and_then(|painted| painted.now.legend()) {
            legend(ui, rect, shown);
        }
        if let (Some(cursor), Some(painted)) = (self.cursor, &self.painted) {
            let text = under(&painted.terrain, cursor, &painted.read);
            boxed(ui, rect.right_bottom() - vec2(12.0, 12.0), Align2::RIGHT_BOTTOM, &text);
        }
        if let Some(text) = self.read_out() {
            boxed(ui, rect.right_top() + vec2(-12.0, 12.0), Align2::RIGHT_TOP, &text);
        }
    }

    /// Returns the values of the traced droplet at the point of its path nearest to the cursor, or at its end without
    /// a cursor.
    pub fn read_out(&self) -> Option<String> {
        let points = &self.snapshot.trace.points;
        let first = points.first()?;
        let near = |p: &&thalweg_models::models::droplets::TracePoint| {
            self.cursor.map_or(0.0, |c| (p.place.x - c.place.x).hypot(p.place.y - c.place.y))
        };
        let nearest = points.iter().min_by(|a, b| near(a).total_cmp(&near(b)))?;
        let point = if self.cursor.is_some() { nearest } else { points.last()? };
        let last = points.last()?;
        Some(format!(
            "droplet: {} steps, {:.0} m down\nhere: elevation {:.1} m\nspeed {}  water {}\ncarries {} of {} m³\n{} {} m³",
            points.len() - 1,
            first.elevation - last.elevation,
            point.elevation,
            short(point.speed as f32),
            short(point.water as f32),
            short(point.carried as f32),
            short(point.capacity as f32),
            if point.moved < 0.0 { "deposits" } else { "erodes" },
            short(point.moved.abs() as f32)
        ))
    }
}

/// Describes the ground under the cursor.
fn under(terrain: &Terrain, cursor: Cursor, read: &[(String, String, Field<f32>)]) -> String {
    let mut text = format!(
        "{:.1} m · slope {:.1}°\nx {:.0} m  y {:.0} m",
        terrain.ground[cursor.cell].metres(),
        probe::slope(terrain, cursor.cell),
        cursor.place.x,
        cursor.place.y
    );
    for (title, unit, values) in read.iter().filter(|(_, _, values)| values[cursor.cell].is_finite()) {
        text += &format!("\n{title} {} {unit}", short(values[cursor.cell]));
    }
    for Reading { name, unit, value } in probe::probe(terrain, cursor.cell) {
        text += &format!("\n{name} {} {unit}", short(value));
    }
    text
}

/// Draws a line of text on the view.
pub(super) fn words(ui: &Ui, at: egui::Pos2, anchor: Align2, text: &str) {
    boxed(ui, at, anchor, text);
}

/// Draws text in a dark box.
fn boxed(ui: &Ui, at: egui::Pos2, anchor: Align2, text: &str) {
    let galley = ui.painter().layout_no_wrap(text.to_string(), FontId::proportional(12.0), Color32::from_gray(238));
    let rect = anchor.anchor_size(at, galley.size() + vec2(16.0, 10.0));
    ui.painter().rect_filled(rect, 6.0, Color32::from_black_alpha(165));
    ui.painter().galley(rect.min + vec2(8.0, 5.0), galley, Color32::WHITE);
}
