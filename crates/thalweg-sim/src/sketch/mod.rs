//! [`Sketch`]: ridges, rivers, coasts and elevations drawn by the user, which constrain the terrain.
//!
//! A recipe names the file with `sketch = "FILE"`: GeoJSON in the world's metres, from the north-western corner of
//! the map, x to the east, y to the south. The properties of a feature specify its meaning:
//!
//! | `kind` | geometry | the constraint |
//! |---|---|---|
//! | `"ridge"` | LineString | a divide along the line; `height`: of its crest |
//! | `"river"` | LineString, from its head down | a valley whose water follows the line; `height`: of its bed |
//! | `"coast"` | Polygon, or LineString with land to its left | land inside, sea outside; requires a `sea_level` |
//! | `"height"` | Point | that `height` at that place |
//!
//! `height` is in metres. For lines it is one number, which applies to a ridge's whole crest or a river's first
//! point, or a list of one number for each point. `width` (m) is the width of the land that is shaped, both sides
//! together; `strength` (0 to 1) is the share of the change that is made. For example, a river of two points with the
//! heights `[400, 120]` falls from 400 m to 120 m.
//!
//! A sketch applies to the whole run, whatever its stages are. The first terrain is created from it. After stages,
//! and between their steps, wherever the terrain no longer follows the sketch, it is restored by a smooth change of
//! limited reach; the rest is left alone. Stages that read factors of uplift and erodibility receive such factors:
//! rivers incise readily along river lines, and along ridges uplift is faster and erosion slower. Local levels
//! (`beyond = "local"`) follow their global level.

mod adherence;
mod check;
mod factors;
mod geojson;
mod line;
mod restoration;
mod shape;
mod source;

use thalweg_core::{Cell, Error, Extent, Grid, Point, Result};
use thalweg_io::{FilePath, plain};

pub use adherence::FeatureAdherence;
pub use factors::FACTORS;
pub(crate) use source::PathOrLines;
pub use source::SketchFrom;

/// The longest file that is read.
const MAX_BYTES: u64 = 16 << 20;

/// The largest number of features, and of points of all of them together.
const MAX_FEATURES: usize = 1000;
const MAX_POINTS: usize = 20_000;

/// The kind of a feature of a sketch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SketchKind {
    /// The line of a divide.
    Ridge,
    /// The line of a river, from its head, the first point, down to the last.
    River,
    /// The line between land and sea: land is inside a closed one, or to the left of an open one.
    Coast,
    /// The elevation of a place, one point.
    Height,
}

impl SketchKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Ridge, Self::River, Self::Coast, Self::Height];

    /// Returns its name in a file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ridge => "ridge",
            Self::River => "river",
            Self::Coast => "coast",
            Self::Height => "height",
        }
    }
}

/// A line or a point of a sketch.
///
/// # Examples
/// ```
/// use thalweg_core::Point;
/// use thalweg_sim::sketch::{SketchFeature, SketchKind};
///
/// let ridge = SketchFeature::new(SketchKind::Ridge, vec![[0.0, 0.0].into(), [100.0, 0.0].into()]);
/// assert_eq!((ridge.strength, ridge.width), (1.0, None));
/// assert_eq!(ridge.nearest([25.0, 40.0].into()), Point::new(25.0, 0.0));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SketchFeature {
    /// Its kind.
    pub kind: SketchKind,
    /// Its points in world metres. The first and the last point of a closed coast are the same.
    pub points: Vec<Point>,
    /// Elevations in metres, −16 000 to 16 000: none, one (for a ridge's whole crest, a river's first point, a
    /// height), or one for each point; a coast has none.
    pub heights: Vec<f64>,
    /// Width of the land that is shaped along it, both sides together, in metres, 0.01 to 1e7; `None` for the
    /// default.
    pub width: Option<f64>,
    /// Share of the change that is made, 0 to 1.
    pub strength: f64,
}

impl SketchFeature {
    /// Returns a feature without elevations, with the default width and full strength.
    pub fn new(kind: SketchKind, points: Vec<Point>) -> Self {
        Self { kind, points, heights: Vec::new(), width: None, strength: 1.0 }
    }

    /// Returns the point of its line, or its point, that is nearest to `place`.
    pub fn nearest(&self, place: Point) -> Point {
        let line = line::Polyline::from_feature(self);
        line.point_at(line.project_point(place).1)
    }

    /// Returns true if its line is closed.
    fn is_ring(&self) -> bool {
        self.points.len() > 3 && self.points.first() == self.points.last()
    }
}

/// Lines and points that constrain the terrain; checked.
///
/// # Examples
/// ```
/// use thalweg_sim::sketch::{Sketch, SketchFeature, SketchKind, SketchWorld};
///
/// let world = SketchWorld { extent: [8000.0, 6000.0].into(), sea_level: None };
/// let points = vec![[1000.0, 3000.0].into(), [7000.0, 3000.0].into()];
/// let river = SketchFeature { heights: vec![500.0, 200.0], ..SketchFeature::new(SketchKind::River, points) };
/// let sketch = Sketch::new(vec![river.clone()], &world)?;
/// assert_eq!(Sketch::parse(&sketch.to_geojson(), &world)?, sketch);
/// // A river must not run uphill.
/// let wrong = SketchFeature { heights: vec![200.0, 500.0], ..river };
/// assert!(Sketch::new(vec![wrong], &world).unwrap_err().contains("uphill"));
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sketch {
    /// In the file's order.
    pub(crate) features: Vec<SketchFeature>,
}

/// The world of a sketch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SketchWorld {
    /// Size of the map.
    pub extent: Extent,
    /// Sea level in metres; `None` if there is no sea.
    pub sea_level: Option<f64>,
}

/// A line that ends within this distance of the map's edge, as a share of its shorter side, leaves the map there.
const EDGE_DISTANCE_SHARE: f64 = 0.005;

impl Sketch {
    /// Creates a sketch of some features, checked as those of a file are; problems are returned as text.
    ///
    /// # Errors
    /// Returns the errors of [`Sketch::parse`].
    pub fn new(features: Vec<SketchFeature>, world: &SketchWorld) -> Result<Self, String> {
        let sketch = Self { features }.to_checked()?;
        sketch.check(world)?;
        Ok(sketch)
    }

    /// Returns its features, in the file's order.
    pub fn features(&self) -> &[SketchFeature] {
        &self.features
    }

    /// Continues lines that end at the map's edge straight through the margin around it; `grid` is that of a level
    /// with its margin.
    pub fn extend_over_margin(&mut self, grid: &Grid) {
        if grid.first == Cell::new(0, 0) {
            return;
        }
        let (Extent { width, height }, Point { x: left, y: top }) = (grid.map_extent(), grid.north_west_corner());
        let near = EDGE_DISTANCE_SHARE * width.min(height);
        let beyond = |end: Point, before: Point| {
            let sides = [
                ([-1.0, 0.0], end.x, -left),
                ([1.0, 0.0], width - end.x, -left),
                ([0.0, -1.0], end.y, -top),
                ([0.0, 1.0], height - end.y, -top),
            ];
            let (out, gap, margin) = sides.into_iter().find(|(_, gap, _)| *gap <= near)?;
            let long = end.distance_to(before).max(1e-9);
            let along = [(end.x - before.x) / long, (end.y - before.y) / long];
            let outward = along[0] * out[0] + along[1] * out[1];
            // A line that meets the edge within 60° of its normal goes straight on; an oblique one, which would run
            // along the edge, turns to the normal.
            let ([x, y], outward) = if outward > 0.5 { (along, outward) } else { (out, 1.0) };
            let step = (gap + margin) / outward;
            let (x, y) = (end.x + step * x, end.y + step * y);
            Some(Point::new(x.clamp(left, width - left), y.clamp(top, height - top)))
        };
        for feature in &mut self.features {
            if feature.kind == SketchKind::Height || feature.is_ring() {
                continue;
            }
            let is_list = feature.heights.len() == feature.points.len();
            if let [first, second, ..] = feature.points.as_slice()
                && let Some(place) = beyond(*first, *second)
            {
                feature.points.insert(0, place);
                if is_list {
                    feature.heights.insert(0, feature.heights[0]);
                }
            }
            if let [.., before, last] = feature.points.as_slice()
                && let Some(place) = beyond(*last, *before)
            {
                feature.points.push(place);
                if is_list {
                    feature.heights.extend(feature.heights.last().copied());
                }
            }
        }
    }

    /// Reads a sketch and checks it.
    ///
    /// # Errors
    /// Returns an error, with the number of the feature and the allowed values, if the file cannot be read, is not
    /// GeoJSON, is longer than 16 MiB, has no features or over 1000, or over 20 000 points, or if features contradict
    /// each other or the world.
    pub fn read(path: impl Into<FilePath>, world: &SketchWorld) -> Result<Self> {
        let path = &path.into();
        let text = plain::read_text(path, MAX_BYTES)?;
        Self::parse(&text, world).map_err(|problem| Error::invalid_file(path, plain::clip_text_to(&problem, 600)))
    }

    /// Reads a sketch from text and checks it; problems are returned as text.
    ///
    /// # Errors
    /// Returns the errors of [`Sketch::read`], except for the file and its length.
    pub fn parse(text: &str, world: &SketchWorld) -> Result<Self, String> {
        let sketch = geojson::parse_sketch(text)?;
        sketch.check(world)?;
        Ok(sketch)
    }
}
