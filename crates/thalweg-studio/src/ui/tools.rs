//! [`Tools`]: the functions of the left mouse button on the terrain. The tools and their settings are those that
//! strokes declare.

use eframe::egui::{RichText, Ui};
use thalweg_core::Point;
use thalweg_core::declare::params::Value;
use thalweg_sim::recipe::strokes::{Stroke, Tool};

use crate::ui::pen::Pen;
use crate::ui::stages::draw_control;

/// The initial radius of a brush, as a fraction of the terrain's longer side.
const BRUSH_RADIUS_FRACTION: f64 = 1.0 / 30.0;

/// The ratio of height to radius of a heap, as displayed.
const HEAP_STEEPNESS: f64 = 0.25;

/// The active tool, and the settings of all tools.
pub struct Tools {
    /// The active tool; with `None`, dragging turns the view and a click drops one droplet.
    pub tool: Option<Tool>,
    /// The pen; it is never active at the same time as a tool.
    pub pen: Pen,
    set: Vec<Stroke>,
    /// True if the user has chosen heights.
    chosen: bool,
    /// The terrain's longer side in metres, for which the settings were chosen.
    extent: f64,
}

impl Tools {
    /// Returns tools with no tool active, and settings that suit a terrain whose longer side is `extent` metres.
    pub fn new(extent: f64) -> Self {
        let radius = BRUSH_RADIUS_FRACTION * extent;
        let fitting = |tool: Tool| Stroke { radius, ..Stroke::new(tool, Vec::new()) };
        let mut tools =
            Self { tool: None, pen: Pen::new(extent), set: Tool::all().map(fitting).collect(), chosen: false, extent };
        tools.fit_heights(1.0);
        tools
    }

    /// Sets heights of heaps and depressions that look right at this exaggeration, unless the user has chosen their
    /// height.
    pub fn fit_heights(&mut self, exaggeration: f64) {
        if !self.chosen && exaggeration > 0.0 {
            let heaps = self.set.iter_mut().filter(|stroke| matches!(stroke.tool, Tool::Raise | Tool::Lower));
            heaps.for_each(|stroke| {
                // The view multiplies heights by the exaggeration, so the division gives the same displayed shape.
                stroke.strength = (HEAP_STEEPNESS * stroke.radius / exaggeration).clamp(0.01, 1000.0)
            });
        }
    }

    /// Draws the palette.
    pub fn show(&mut self, ui: &mut Ui) {
        ui.horizontal_wrapped(|ui| {
            let view = ui.selectable_label(self.tool.is_none() && self.pen.nib.is_none(), "view");
            if view.on_hover_text("Dragging turns the view; a click drops a droplet and shows its path").clicked() {
                self.activate_tool(None);
            }
            for tool in Tool::all() {
                let label = ui.selectable_label(self.tool == Some(tool), tool.name()).on_hover_text(tool.meaning());
                if label.clicked() {
                    self.activate_tool(Some(tool));
                }
            }
        });
        ui.label(RichText::new("Lines that constrain the terrain; the run starts again").weak());
        if self.pen.show(ui) {
            self.tool = None;
        }
        let Some(tool) = self.tool else { return };
        ui.label(RichText::new(tool.meaning()).weak());
        let Some(stroke) = self.set.iter_mut().find(|stroke| stroke.tool == tool) else { return };
        for param in tool.settings() {
            let Some(mut value) = stroke.get(param.name) else { continue };
            ui.horizontal(|ui| {
                ui.add_sized([60.0, 18.0], eframe::egui::Label::new(param.name)).on_hover_text(param.meaning);
                if draw_control(ui, param, &mut value)
                    .accessible_name(param.name)
                    .on_hover_text(param.meaning)
                    .changed()
                {
                    // Setting cannot fail, because the control is made from the declaration and allows only valid
                    // values.
                    let _ = stroke.set_parameter(tool.name(), param.name, &value.into());
                    self.chosen |= param.name == "strength";
                }
            });
        }
    }

    /// Activates a tool, or none, and deactivates the pen.
    fn activate_tool(&mut self, tool: Option<Tool>) {
        self.tool = tool;
        self.pen.nib = None;
        self.pen.line.clear();
    }

    /// Returns true if the active tool paints along a drag.
    pub fn is_brush(&self) -> bool {
        self.tool.is_some_and(|tool| !matches!(tool, Tool::Spring | Tool::Droplets))
    }

    /// The radius of the active tool in metres; 0 without one.
    pub fn radius(&self) -> f64 {
        self.active_stroke().map_or(0.0, |stroke| stroke.radius)
    }

    /// Multiplies the radius of the active tool by a factor.
    pub fn scale_radius(&mut self, factor: f64) {
        let (tool, extent) = (self.tool, self.extent);
        if let Some(stroke) = self.set.iter_mut().find(|stroke| Some(stroke.tool) == tool)
            && let Some(Value::Number(radius)) = stroke.get("radius")
        {
            // The brush stays between a two-thousandth of the terrain and all of it.
            stroke.radius = (radius * factor).clamp(extent / 2000.0, extent);
        }
    }

    /// Returns a stroke of the active tool through these points.
    pub fn make_stroke(&self, points: Vec<Point>) -> Option<Stroke> {
        Some(Stroke { points, ..self.active_stroke()?.clone() })
    }

    fn active_stroke(&self) -> Option<&Stroke> {
        self.set.iter().find(|stroke| Some(stroke.tool) == self.tool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_makes_a_stroke_that_a_recipe_takes() {
        let mut tools = Tools::new(5000.0);
        assert_eq!(tools.make_stroke(vec![[1.0, 1.0].into()]), None);
        for tool in Tool::all() {
            tools.tool = Some(tool);
            tools.scale_radius(1.5);
            let stroke = tools.make_stroke(vec![[10.0, 20.0].into(), [30.0, 40.0].into()]).unwrap();
            assert_eq!(stroke.tool, tool);
            let springs = tool == Tool::Spring;
            stroke.check("stroke", &thalweg_core::terrain::grid::Grid::new([64, 64], 100.0).unwrap(), springs).unwrap();
        }
    }
}
