//! The pen on the terrain. What it draws goes into the recipe, and the run starts again with it.

use eframe::egui::Key;
use thalweg_core::{Extent, Point};
use thalweg_sim::sketch::SketchKind;

use crate::app::state::Studio;
use crate::ui::pen::Nib;
use crate::view::look::{Dot, Line};

/// The maximum number of line segments that are drawn.
const MOST: f64 = 8000.0;
/// The number of segments of a line as long as the terrain.
const PARTS: f64 = 512.0;
/// The height of lines above the ground, as a fraction of the terrain's longer side, so that roughness between the
/// ends of a segment does not hide it.
const OVER: f32 = 0.002;

fn colour(kind: SketchKind) -> [f32; 4] {
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
        let of = (self.snapshot.revision, self.recipe.sketch.clone());
        if self.lines.0.as_ref() != Some(&of) {
            // Problems with a file are reported by the run.
            self.lines = (Some(of), self.recipe.drawn(&self.snapshot.grid).unwrap_or_default());
        }
    }

    /// Handles a click of the pen.
    pub(super) fn pen_click(&mut self, place: Point) {
        if self.tools.pen.nib == Some(Nib::Erase) {
            let Some(number) = self.tools.pen.nearest(place, &self.lines.1) else {
                return self.say("There is no line nearby.".into());
            };
            let erased = self.recipe.erase(number, &self.snapshot.grid);
            self.drew(erased);
        } else if self.tools.pen.kind().is_some() && self.tools.pen.click(place) {
            self.pen_done();
        }
    }

    /// Adds the finished line to the recipe.
    pub(super) fn pen_done(&mut self) {
        let world = self.recipe.sketch_world(&self.snapshot.grid).extent;
        if let Some(feature) = self.tools.pen.finish(world, &self.lines.1) {
            let drawn = self.recipe.draw(feature, &self.snapshot.grid);
            self.drew(drawn);
        }
    }

    fn drew(&mut self, drawn: thalweg_core::base::error::Result<()>) {
        match drawn {
            Ok(()) => self.send(),
            Err(problem) => self.complain(problem.to_string()),
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
    pub(super) fn drawn_lines(&self) -> (Vec<Line>, Vec<Dot>) {
        let (mut lines, mut dots) = (Vec::new(), Vec::new());
        let Some(painted) = self.painted.as_ref().filter(|_| self.tools_open || self.tools.pen.nib.is_some()) else {
            return (lines, dots);
        };
        let Extent { width, height } = painted.terrain.grid.extent();
        let extent = height.max(width);
        let begun = self.tools.pen.kind().map(|kind| {
            let end = self.cursor.map(|cursor| cursor.place).filter(|_| !self.tools.pen.line.is_empty());
            (kind, self.tools.pen.line.iter().copied().chain(end).collect::<Vec<_>>())
        });
        let done = self.lines.1.features().iter().map(|feature| (feature.kind, feature.points.clone()));
        let all: Vec<_> = done.chain(begun).collect();
        let long = |[a, b]: [Point; 2]| (a.x - b.x).hypot(a.y - b.y);
        let pairs = |points: &[Point]| points.windows(2).map(|p| [p[0], p[1]]).collect::<Vec<_>>();
        // Limit the number of segments: longer steps if the lines are long in total.
        let total: f64 = all.iter().flat_map(|(_, points)| pairs(points)).map(long).sum();
        let step = (extent / PARTS).max(total / MOST);
        let over = |place: Point| self.lifted(place).map(|[x, y, z]| [x, y, z + OVER * extent as f32]);
        for (kind, points) in &all {
            let colour = colour(*kind);
            for [a, b] in pairs(points) {
                let parts = (long([a, b]) / step).ceil().clamp(1.0, MOST) as usize;
                let between = |a: f64, b: f64, k: usize| a + (b - a) * k as f64 / parts as f64;
                let at = |k: usize| Point::new(between(a.x, b.x, k), between(a.y, b.y, k));
                let places: Vec<_> = (0..=parts).map(|k| over(at(k))).collect();
                let seen = places.windows(2).filter_map(|pair| pair[0].zip(pair[1]));
                lines.extend(seen.map(|(from, to)| Line { from, to, colour, pixels: 3.0 }));
            }
            if let [place] = points.as_slice()
                && let Some(at) = over(*place)
            {
                dots.push(Dot { at, colour, pixels: 9.0 });
            }
        }
        (lines, dots)
    }
}
