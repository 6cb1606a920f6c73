//! The pen: draws lines and heights that the terrain has to follow, by clicks or by dragging, and erases them.

use eframe::egui::{DragValue, Label, RichText, Ui};
use thalweg_core::{Extent, Point};
use thalweg_sim::sketch::{Sketch, SketchFeature, SketchKind};

/// Two clicks within this distance, as a fraction of the terrain's longer side, are the same place: the second ends
/// the line.
const SAME_PLACE_FRACTION: f64 = 0.01;
/// The spacing of the points of a drag, as a fraction of the terrain's longer side.
const DRAG_SPACING_FRACTION: f64 = 1.0 / 80.0;
/// The distance within which the end of a river is joined to another river, because a mouse rarely hits a line
/// exactly; within half of it, the end of a line is moved to the map's edge.
const JOIN_DISTANCE_FRACTION: f64 = 0.02;
/// The distance within which the eraser finds a line.
const ERASER_REACH_FRACTION: f64 = 0.05;

/// A function of the pen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nib {
    /// Draws a feature of this kind.
    Draw(SketchKind),
    /// Erases the nearest feature.
    Erase,
}

impl Nib {
    /// All functions.
    fn all() -> impl Iterator<Item = Self> {
        SketchKind::ALL.into_iter().map(Self::Draw).chain([Self::Erase])
    }

    fn name(self) -> &'static str {
        match self {
            Self::Draw(kind) => kind.name(),
            Self::Erase => "erase",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::Draw(SketchKind::Ridge) => "A crest along the line",
            Self::Draw(SketchKind::River) => "A river along the line, from its head down; it may end on another river",
            Self::Draw(SketchKind::Coast) => "Land to the left of the line, or inside a closed line. It needs a sea",
            Self::Draw(SketchKind::Height) => "The given height at a place",
            Self::Erase => "Removes the nearest line or height",
        }
    }
}

/// The pen, and the line that has been started.
#[derive(Debug, Clone)]
pub struct Pen {
    /// The active function; `None` if the pen is not in use.
    pub nib: Option<Nib>,
    /// The points of the line that has been started, in world metres.
    pub line: Vec<Point>,
    /// The height that is drawn next, in metres.
    height: f64,
    /// The terrain's longer side in metres.
    extent: f64,
}

impl Pen {
    /// Returns an inactive pen for a terrain whose longer side is `extent` metres.
    pub fn new(extent: f64) -> Self {
        // The initial height is a tenth of the extent, so that it is visible on a terrain of any size, but at most 8000
        // m.
        let height = (0.1 * extent).clamp(0.01, 8000.0);
        Self { nib: None, line: Vec::new(), height: if height > 100.0 { height.round() } else { height }, extent }
    }

    /// Draws the palette; returns true if a function was chosen.
    pub fn show(&mut self, ui: &mut Ui) -> bool {
        let before = self.nib;
        let mut taken = false;
        ui.horizontal_wrapped(|ui| {
            for nib in Nib::all() {
                let label = ui.selectable_value(&mut self.nib, Some(nib), nib.name());
                taken |= label.on_hover_text(nib.meaning()).clicked();
            }
        });
        if self.nib != before {
            self.line.clear();
        }
        let Some(nib) = self.nib else { return taken };
        ui.label(RichText::new(nib.meaning()).weak());
        match nib {
            Nib::Draw(SketchKind::Height) => drop(ui.horizontal(|ui| {
                ui.add_sized([60.0, 18.0], Label::new("metres"));
                let range = -16_000.0..=16_000.0;
                ui.add(DragValue::new(&mut self.height).range(range).speed(0.001 * self.extent).suffix(" m"));
            })),
            Nib::Draw(_) => {
                ui.label(
                    RichText::new(
                        "Drag, or click point after point, the last one twice. Enter ends the line, Esc discards it.",
                    )
                    .weak(),
                );
            }
            Nib::Erase => {}
        }
        taken
    }

    /// The kind of feature that is drawn.
    pub fn sketch_kind(&self) -> Option<SketchKind> {
        match self.nib {
            Some(Nib::Draw(kind)) => Some(kind),
            _ => None,
        }
    }

    /// Handles a click; returns true if the feature is complete.
    pub fn add_clicked_point(&mut self, place: Point) -> bool {
        let place = self.round_to_centimetres(place);
        // A second click at the same place ends the line and adds no point.
        let ends = self.is_near(self.line.last(), place, SAME_PLACE_FRACTION) || self.close_coast(place);
        if !ends {
            self.line.push(place);
        }
        ends || self.sketch_kind() == Some(SketchKind::Height)
    }

    /// Handles a position during a drag.
    pub fn add_dragged_point(&mut self, place: Point) {
        let place = self.round_to_centimetres(place);
        if self.sketch_kind() != Some(SketchKind::Height)
            && !self.is_near(self.line.last(), place, DRAG_SPACING_FRACTION)
        {
            self.line.push(place);
        }
    }

    /// Completes the feature that was drawn on a terrain of extent `world`, given the `others` that exist: closes
    /// coasts, moves ends to the map's edge and joins rivers. Returns `None` without a point.
    pub fn finish_feature(&mut self, world: Extent, others: &Sketch) -> Option<SketchFeature> {
        let mut points = std::mem::take(&mut self.line);
        let kind = self.sketch_kind()?;
        if let (SketchKind::Coast, [first, _, _, .., last]) = (kind, points.as_slice())
            // A coast whose ends are close is meant as a closed one. The last point moves onto the first, because a
            // ring has to close exactly.
            && distance_between(*first, *last) < 2.0 * JOIN_DISTANCE_FRACTION * self.extent
        {
            let first = *first;
            points.pop();
            points.push(first);
        }
        let is_ring = points.len() > 3 && points.first() == points.last();
        if kind != SketchKind::Height && !is_ring {
            let count = points.len();
            // Only the ends are moved; the rest of the line stays as it was drawn.
            let at_edge = points.iter_mut().enumerate().filter(|(k, _)| *k == 0 || k + 1 == count);
            at_edge.for_each(|(_, point)| *point = self.snap_to_edge(*point, world));
        }
        if kind == SketchKind::River
            && let Some(end) = points.last_mut()
        {
            let rivers = others.features().iter().filter(|other| other.kind == SketchKind::River);
            // The nearest point of any other river is the confluence, if it is within reach.
            let joint = rivers
                .map(|river| river.nearest(*end))
                .min_by(|a, b| distance_between(*a, *end).total_cmp(&distance_between(*b, *end)));
            *end = joint
                .filter(|joint| distance_between(*joint, *end) < JOIN_DISTANCE_FRACTION * self.extent)
                .unwrap_or(*end);
        }
        points.first()?;
        let heights = if kind == SketchKind::Height { vec![self.height] } else { Vec::new() };
        Some(SketchFeature { heights, ..SketchFeature::new(kind, points) })
    }

    /// Returns the number of the nearest feature, if one is within reach.
    pub fn find_nearest_feature(&self, place: Point, sketch: &Sketch) -> Option<usize> {
        let far = |feature: &SketchFeature| distance_between(feature.nearest(place), place);
        let all = sketch.features().iter().map(far).enumerate();
        all.filter(|(_, far)| *far < ERASER_REACH_FRACTION * self.extent)
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(number, _)| number)
    }

    /// Returns true if a coast returns to its first point here, and closes it.
    fn close_coast(&mut self, place: Point) -> bool {
        let is_back = self.sketch_kind() == Some(SketchKind::Coast)
            && self.line.len() > 2
            && self.is_near(self.line.first(), place, JOIN_DISTANCE_FRACTION);
        if let Some(first) = self.line.first().copied().filter(|_| is_back) {
            self.line.push(first);
        }
        is_back
    }

    fn is_near(&self, other: Option<&Point>, place: Point, share: f64) -> bool {
        other.is_some_and(|other| distance_between(*other, place) < share * self.extent)
    }

    /// Moves a point that is near the map's edge onto it.
    fn snap_to_edge(&self, place: Point, world: Extent) -> Point {
        let near = 0.5 * JOIN_DISTANCE_FRACTION * self.extent;
        let along = |metres: f64, side: f64| match metres {
            x if x < near => 0.0,
            x if x > side - near => side,
            x => x,
        };
        Point::new(along(place.x, world.width), along(place.y, world.height))
    }

    /// Rounds to centimetres, the precision in files; small terrains (up to 10 m) are not rounded.
    fn round_to_centimetres(&self, place: Point) -> Point {
        let rounded = |x: f64| if self.extent > 10.0 { (x * 100.0).round() / 100.0 } else { x };
        Point::new(rounded(place.x), rounded(place.y))
    }
}

fn distance_between(a: Point, b: Point) -> f64 {
    (a.x - b.x).hypot(a.y - b.y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_sim::sketch::SketchWorld;

    const WORLD: Extent = Extent { width: 1000.0, height: 800.0 };

    fn sketch(features: Vec<SketchFeature>) -> Sketch {
        Sketch::new(features, &SketchWorld { extent: WORLD, sea_level: None }).unwrap()
    }

    fn drawn(kind: SketchKind, clicks: &[[f64; 2]], others: &Sketch) -> Option<SketchFeature> {
        let mut pen = Pen { nib: Some(Nib::Draw(kind)), ..Pen::new(1000.0) };
        let done = clicks.iter().position(|place| pen.add_clicked_point((*place).into()));
        assert_eq!(done, Some(clicks.len() - 1), "{kind:?}");
        pen.finish_feature(WORLD, others)
    }

    #[test]
    fn clicks_draw_lines_that_end_where_they_are_meant_to() {
        let nothing = Sketch::default();
        let height = drawn(SketchKind::Height, &[[100.0, 200.0]], &nothing).unwrap();
        assert_eq!(
            (height.heights.as_slice(), height.points.as_slice()),
            (&[100.0][..], &[Point::new(100.0, 200.0)][..])
        );
        // From inside the terrain to its edge.
        let river = drawn(SketchKind::River, &[[500.0, 400.0], [995.123, 400.0], [995.2, 400.0]], &nothing).unwrap();
        assert_eq!(river.points, [[500.0, 400.0], [1000.0, 400.0]].map(Point::from));
        // Joining another river.
        let others = sketch(vec![river]);
        let second = drawn(SketchKind::River, &[[700.0, 200.0], [700.0, 390.0], [700.0, 390.0]], &others).unwrap();
        assert_eq!(second.points, [[700.0, 200.0], [700.0, 400.0]].map(Point::from));
        // A closed coast around an island.
        let ring = [[300.0, 300.0], [600.0, 300.0], [600.0, 600.0], [305.0, 303.0]];
        let island = drawn(SketchKind::Coast, &ring, &nothing).unwrap();
        assert_eq!((island.points.len(), island.points[3]), (4, Point::new(300.0, 300.0)));
    }

    #[test]
    fn a_drag_is_a_line_and_the_nearest_is_taken() {
        let mut pen = Pen { nib: Some(Nib::Draw(SketchKind::Ridge)), ..Pen::new(1000.0) };
        (0..100).for_each(|k| pen.add_dragged_point(Point::new(100.0 + 5.0 * f64::from(k), 400.0)));
        let ridge = pen.finish_feature(WORLD, &Sketch::default()).unwrap();
        assert!((20..60).contains(&ridge.points.len()) && pen.line.is_empty(), "{}", ridge.points.len());
        let other = [[0.0, 0.0], [9.0, 9.0]].map(Point::from).to_vec();
        let sketch = sketch(vec![SketchFeature::new(SketchKind::Ridge, other), ridge]);
        assert_eq!(pen.find_nearest_feature(Point::new(300.0, 420.0), &sketch), Some(1));
        assert_eq!(pen.find_nearest_feature(Point::new(300.0, 700.0), &sketch), None);
    }
}
