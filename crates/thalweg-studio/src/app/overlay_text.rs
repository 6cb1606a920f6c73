//! Text over the view: labels of the comparison, the legend, the ground under the cursor, and the traced droplet.

use eframe::egui::{self, Align2, Color32, FontId, Rect, Stroke as Pen, Ui, pos2, vec2};
use thalweg_render::products::overlay::Overlay;
use thalweg_render::products::probe::{self, Reading, format_number};

use crate::app::pointer::Cursor;
use crate::app::state::Studio;
use crate::painter::Painted;
use crate::ui::appearance::CompareMode;
use crate::ui::legend::draw_legend;

impl Studio {
    /// Draws the legend, the probe, the droplet's values and the line of the swipe over the view.
    pub(super) fn draw_annotations(&mut self, ui: &Ui, rect: Rect) {
        let comparing = self.painting.latest.as_ref().is_some_and(|painted| painted.before.is_some());
        match self.settings.compare {
            _ if self.viewport.held_before && comparing => {
                draw_text(ui, rect.center_top() + vec2(0.0, 12.0), Align2::CENTER_TOP, "before")
            }
            CompareMode::Swipe if comparing => {
                let x = rect.left() + self.settings.swipe * rect.width();
                let line = [pos2(x, rect.top()), pos2(x, rect.bottom())];
                ui.painter().line_segment(line, Pen::new(2.0, Color32::WHITE));
                draw_text(ui, pos2(x - 8.0, rect.top() + 12.0), Align2::RIGHT_TOP, "before");
                draw_text(ui, pos2(x + 8.0, rect.top() + 12.0), Align2::LEFT_TOP, "now");
            }
            CompareMode::Beside if comparing => {
                let line = [pos2(rect.center().x, rect.top()), pos2(rect.center().x, rect.bottom())];
                ui.painter().line_segment(line, Pen::new(1.0, Color32::WHITE));
                draw_text(ui, rect.left_top() + vec2(12.0, 12.0), Align2::LEFT_TOP, "before");
                draw_text(ui, pos2(rect.center().x + 12.0, rect.top() + 12.0), Align2::LEFT_TOP, "now");
            }
            _ => {}
        }
        if let Some(shown) = self.painting.latest.as_ref().and_then(|painted| painted.now.legend()) {
            draw_legend(ui, rect, shown);
        }
        if let Some(text) = self.describe_ground() {
            draw_text_box(ui, rect.right_bottom() - vec2(12.0, 12.0), Align2::RIGHT_BOTTOM, &text);
        }
        if let Some(text) = self.describe_droplet() {
            draw_text_box(ui, rect.right_top() + vec2(-12.0, 12.0), Align2::RIGHT_TOP, &text);
        }
    }

    /// Describes the ground under the cursor; `None` if the cursor is not on the terrain.
    pub fn describe_ground(&self) -> Option<String> {
        let (cursor, painted) = (self.pointer.cursor?, self.painting.latest.as_ref()?);
        Some(describe_cell(painted, cursor))
    }

    /// Returns the values of the traced droplet at the point of its path nearest to the cursor, or at its end without
    /// a cursor.
    pub fn describe_droplet(&self) -> Option<String> {
        let points = &self.snapshot.trace.points;
        let first = points.first()?;
        let near = |p: &&thalweg_models::models::droplets::TracePoint| {
            self.pointer.cursor.map_or(0.0, |c| (p.place.x - c.place.x).hypot(p.place.y - c.place.y))
        };
        // Without a cursor all distances are 0 and the result is not used.
        let nearest = points.iter().min_by(|a, b| near(a).total_cmp(&near(b)))?;
        let point = if self.pointer.cursor.is_some() { nearest } else { points.last()? };
        let last = points.last()?;
        Some(format!(
            "droplet: {} steps, {:.0} m down\nhere: elevation {:.1} m\nspeed {}  water {}\ncarries {} of {} m³\n{} {} m³",
            points.len() - 1,
            first.elevation - last.elevation,
            point.elevation,
            format_number(point.speed as f32),
            format_number(point.water as f32),
            format_number(point.carried as f32),
            format_number(point.capacity as f32),
            if point.moved < 0.0 { "deposits" } else { "erodes" },
            format_number(point.moved.abs() as f32)
        ))
    }
}

/// Describes the ground at the cursor, one quantity per line.
fn describe_cell(painted: &Painted, cursor: Cursor) -> String {
    let (terrain, cell) = (&*painted.terrain, cursor.cell);
    let height = Overlay::Height.read_value(terrain, terrain.ground[cell].metres_f32());
    let slope = Overlay::Slope.read_value(terrain, probe::slope_degrees(terrain, cell) as f32);
    let computed = painted.read.iter().filter(|(_, values)| values[cell].is_finite());
    let computed: Vec<Reading> = computed.map(|(overlay, values)| overlay.read_value(terrain, values[cell])).collect();
    // A quantity that was computed is not listed again as a layer.
    let is_new = |layer: &Reading| computed.iter().all(|reading| reading.title != layer.title);
    let layers: Vec<Reading> = probe::probe_layers(terrain, cell).into_iter().filter(is_new).collect();
    let place = format!("x {:.0} m  y {:.0} m", cursor.place.x, cursor.place.y);
    let values = computed.iter().chain(&layers).map(Reading::to_string);
    [height.to_string(), slope.to_string(), place].into_iter().chain(values).collect::<Vec<_>>().join("\n")
}

/// Draws a line of text on the view.
pub(super) fn draw_text(ui: &Ui, at: egui::Pos2, anchor: Align2, text: &str) {
    draw_text_box(ui, at, anchor, text);
}

/// Draws text in a dark box.
fn draw_text_box(ui: &Ui, at: egui::Pos2, anchor: Align2, text: &str) {
    let galley = ui.painter().layout_no_wrap(text.to_string(), FontId::proportional(12.0), Color32::from_gray(238));
    let rect = anchor.anchor_size(at, galley.size() + vec2(16.0, 10.0));
    ui.painter().rect_filled(rect, 6.0, Color32::from_black_alpha(165));
    ui.painter().galley(rect.min + vec2(8.0, 5.0), galley, Color32::WHITE);
}
