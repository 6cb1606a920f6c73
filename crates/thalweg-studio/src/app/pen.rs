//! [`DrawnSketch`] and the pen on the terrain. What it draws goes into the recipe, and the run starts again with it.

use eframe::egui::Key;
use thalweg_core::{Extent, Point};
use thalweg_sim::sketch::{Sketch, SketchFrom, SketchKind};

use crate::app::state::Studio;
use crate::ui::pen::Nib;
use crate::view::look::{ViewDot, ViewLine};

/// The maximum number of line segments that are drawn.
const MAX_SEGMENTS: f64 = 8000.0;
/// The number of segments of a line as long as the terrain.
const SEGMENTS_ACROSS_TERRAIN: f64 = 512.0;
/// The height of lines above the ground, as a fraction of the terrain's longer side, so that roughness between the
/// ends of a segment does not hide it.
const LINE_LIFT_FRACTION: f32 = 0.002;

/// The sketch that is drawn on the terrain.
#[derive(Default)]
pub(crate) struct DrawnSketch {
    /// The edit and the source of the recipe's sketch that it comes from.
    pub(crate) from: Option<(u64, Option<SketchFrom>)>,
    pub(crate) sketch: Sketch,
}

fn choose_line_colour(kind: SketchKind) -> [f32; 4] {
    match kind {
        SketchKind::Ridge => [1.0, 0.55, 0.2, 1.0],
        SketchKind::River => [0.25, 0.7, 1.0, 1.0],
        SketchKind::Coast => [1.0, 0.95, 0.6, 1.0],
        SketchKind::Height => [1.0, 0.4, 0.8, 1.0],
    }
}

impl Studio {
    /// Reads the sketch for the view, if the recipe or the run's world has changed.
    pub(super) fn read_lines(&mut self) {
        let of = (self.snapshot.revision, self.world.recipe.sketch.clone());
        if self.drawn.from.as_ref() != Some(&of) {
            // Problems with a file are reported by the run.
            let sketch = self.world.recipe.load_sketch(&self.snapshot.grid).unwrap_or_default();
            self.drawn = DrawnSketch { from: Some(of), sketch };
        }
    }

    /// Handles a click of the pen.
    pub(super) fn pen_click(&mut self, place: Point) {
        if self.tools.pen.nib == Some(Nib::Erase) {
            let Some(number) = self.tools.pen.find_nearest_feature(place, &self.drawn.sketch) else {
                return self.show_message("There is no line nearby.".into());
            };
            let erased = self.world.recipe.erase(number, &self.snapshot.grid);
            self.apply_drawing(erased);
        } else if self.tools.pen.sketch_kind().is_some() && self.tools.pen.add_clicked_point(place) {
            self.pen_done();
        }
    }

    /// Adds the finished line to the recipe.
    pub(super) fn pen_done(&mut self) {
        let world = self.world.recipe.sketch_world(&self.snapshot.grid).extent;
        if let Some(feature) = self.tools.pen.finish_feature(world, &self.drawn.sketch) {
            let drawn = self.world.recipe.draw(feature, &self.snapshot.grid);
            self.apply_drawing(drawn);
        }
    }

    fn apply_drawing(&mut self, drawn: thalweg_core::base::error::Result<()>) {
        match drawn {
            Ok(()) => self.send_recipe(),
            Err(problem) => self.show_error(problem.to_string()),
        }
    }

    /// Handles keys while a line is drawn.
    pub(super) fn pen_keys(&mut self, struck: impl Fn(Key) -> bool) {
        if struck(Key::Escape) {
            self.tools.pen.line.clear();
        }
        if struck(Key::Enter) && !self.tools.pen.line.is_empty() {
            self.pen_done();
        }
    }

    /// Returns the sketch's lines and points, and the line that has been started, while the tools or the pen are in
    /// use.
    pub(super) fn drawn_lines(&self) -> (Vec<ViewLine>, Vec<ViewDot>) {
        let (mut lines, mut dots) = (Vec::new(), Vec::new());
        let Some(painted) =
            self.painting.latest.as_ref().filter(|_| self.panels.tools_open || self.tools.pen.nib.is_some())
        else {
            return (lines, dots);
        };
        let Extent { width, height } = painted.terrain.grid.extent();
        let extent = height.max(width);
        // The line that has been started continues to the cursor, as a preview.
        let begun = self.tools.pen.sketch_kind().map(|kind| {
            let end = self.pointer.cursor.map(|cursor| cursor.place).filter(|_| !self.tools.pen.line.is_empty());
            (kind, self.tools.pen.line.iter().copied().chain(end).collect::<Vec<_>>())
        });
        let done = self.drawn.sketch.features().iter().map(|feature| (feature.kind, feature.points.clone()));
        let all: Vec<_> = done.chain(begun).collect();
        let long = |[a, b]: [Point; 2]| (a.x - b.x).hypot(a.y - b.y);
        let pairs = |points: &[Point]| points.windows(2).map(|p| [p[0], p[1]]).collect::<Vec<_>>();
        // Limit the number of segments: longer steps if the lines are long in total.
        let total: f64 = all.iter().flat_map(|(_, points)| pairs(points)).map(long).sum();
        let step = (extent / SEGMENTS_ACROSS_TERRAIN).max(total / MAX_SEGMENTS);
        let over =
            |place: Point| self.lift_point(place).map(|[x, y, z]| [x, y, z + LINE_LIFT_FRACTION * extent as f32]);
        for (kind, points) in &all {
            let colour = choose_line_colour(*kind);
            for [a, b] in pairs(points) {
                // Each line is divided into short segments, which follow the ground.
                let parts = (long([a, b]) / step).ceil().clamp(1.0, MAX_SEGMENTS) as usize;
                let between = |a: f64, b: f64, k: usize| a + (b - a) * k as f64 / parts as f64;
                let at = |k: usize| Point::new(between(a.x, b.x, k), between(a.y, b.y, k));
                let places: Vec<_> = (0..=parts).map(|k| over(at(k))).collect();
                // Segments that leave the terrain are not drawn.
                let seen = places.windows(2).filter_map(|pair| pair[0].zip(pair[1]));
                lines.extend(seen.map(|(from, to)| ViewLine { from, to, colour, pixels: 3.0 }));
            }
            if let [place] = points.as_slice()
                && let Some(at) = over(*place)
            {
                dots.push(ViewDot { at, colour, pixels: 9.0 });
            }
        }
        (lines, dots)
    }
}
