//! [`Sketch`]: ridges, rivers, coasts and heights drawn by a hand, which the ground then keeps.
//!
//! A recipe names the file with `sketch = "FILE"`: GeoJSON in the world's metres, from the north-western corner of the map, x to the east,
//! y to the south. What a feature is stands in its properties:
//!
//! | `kind` | geometry | the ground keeps |
//! |---|---|---|
//! | `"ridge"` | LineString | a divide along the line; `height`: of its crest |
//! | `"river"` | LineString, from its head down | a valley whose water follows the line; `height`: of its bed |
//! | `"coast"` | Polygon, or LineString with land to its left | land within, sea without; goes with a `sea_level` |
//! | `"height"` | Point | that `height` at that place |
//!
//! `height` is in metres; of lines it is one number, of a ridge's whole crest or of a river's first point, or a list of one number to each
//! point. `width` (m) is that of the land that is formed to both sides, `strength` (0 to 1) the share of the change that is made.
//!
//! A sketch acts on the whole run, whatever its stages are. The first ground is laid from it. After stages, and between their steps, what
//! the ground does not keep any more is brought back by a smooth change of limited reach; what it keeps is left alone. Stages that read
//! factors of uplift and erodibility are given some: rivers cut readily along river lines, and land rises and stands along ridges.
//! Levels of `beyond = "local"` follow their global level.

mod check;
mod drawn;
mod factors;
mod hold;
mod kept;
mod line;
mod read;
mod shape;

use thalweg_core::{Cell, Error, Extent, Grid, Point, Result};
use thalweg_io::{FilePath, plain};

pub(crate) use drawn::PathOrLines;
pub use drawn::SketchFrom;
pub use factors::FACTORS;
pub use kept::Keeping;

/// The longest file that is read.
const MAX_BYTES: u64 = 16 << 20;

/// The largest number of features, and of points of all of them together.
const MAX_FEATURES: usize = 1000;
const MAX_POINTS: usize = 20_000;

/// What a feature of a sketch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SketchKind {
    /// The line of a divide.
    Ridge,
    /// The line of a river, from its head, the first point, down to the last.
    River,
    /// The line between land and sea: land within a closed one, or to the left of an open one.
    Coast,
    /// The elevation of a place, one point.
    Height,
}

impl SketchKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ridge, Self::River, Self::Coast, Self::Height];

    /// How a file calls it.
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
#[derive(Debug, Clone, PartialEq)]
pub struct SketchFeature {
    /// What it is.
    pub kind: SketchKind,
    /// Its points in world metres. The first and the last point of a closed coast are the same.
    pub points: Vec<Point>,
    /// Elevations in metres, −16 000 to 16 000: none, one (of a ridge's whole crest, a river's first point, a height), or one to each
    /// point; a coast has none.
    pub heights: Vec<f64>,
    /// Width of the land that is formed along it, both sides together, in metres, 0.01 to 1e7; `None` for the usual one.
    pub width: Option<f64>,
    /// Share of the change that is made, 0 to 1.
    pub strength: f64,
}

impl SketchFeature {
    /// A feature without heights, of the usual width and the whole strength.
    pub fn new(kind: SketchKind, points: Vec<Point>) -> Self {
        Self { kind, points, heights: Vec::new(), width: None, strength: 1.0 }
    }

    /// Returns the place of its line, or its point, that is nearest to `place`.
    pub fn nearest(&self, place: Point) -> Point {
        let line = line::Line::of(self);
        line.at(line.near(place).1)
    }

    /// Whether it goes all round.
    fn is_ring(&self) -> bool {
        self.points.len() > 3 && self.points.first() == self.points.last()
    }
}

/// Lines and points that the ground is to keep; checked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sketch {
    /// In the file's order.
    pub(crate) features: Vec<SketchFeature>,
}

/// The world that a sketch lies in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SketchWorld {
    /// Size of the map.
    pub extent: Extent,
    /// Sea level in metres; `None` where there is no sea.
    pub sea_level: Option<f64>,
}

/// A line that ends so near the map's edge, as a share of its shorter side, leaves it there.
const LEAVES: f64 = 0.005;

impl Sketch {
    /// A sketch of some features, checked as a file of them is; what is wrong comes back in words.
    ///
    /// # Errors
    /// As [`Sketch::parse`].
    pub fn new(features: Vec<SketchFeature>, world: &SketchWorld) -> Result<Self, String> {
        let sketch = Self { features }.whole()?;
        sketch.check(world)?;
        Ok(sketch)
    }

    /// Its features, in the file's order.
    pub fn features(&self) -> &[SketchFeature] {
        &self.features
    }

    /// Continues lines that end at the map's edge, straight through the margin round it; `grid` is that of a level with its margin.
    pub fn go_on(&mut self, grid: &Grid) {
        if grid.first == Cell::new(0, 0) {
            return;
        }
        let (Extent { width, height }, Point { x: left, y: top }) = (grid.map_extent(), grid.corner());
        let near = LEAVES * width.min(height);
        let beyond = |end: Point, before: Point| {
            let sides = [
                ([-1.0, 0.0], end.x, -left),
                ([1.0, 0.0], width - end.x, -left),
                ([0.0, -1.0], end.y, -top),
                ([0.0, 1.0], height - end.y, -top),
            ];
            let (out, gap, margin) = sides.into_iter().find(|(_, gap, _)| *gap <= near)?;
            let long = end.distance(before).max(1e-9);
            let along = [(end.x - before.x) / long, (end.y - before.y) / long];
            let outward = along[0] * out[0] + along[1] * out[1];
            let ([x, y], outward) = if outward > 0.5 { (along, outward) } else { (out, 1.0) };
            let way = (gap + margin) / outward;
            let (x, y) = (end.x + way * x, end.y + way * y);
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
    /// A file that cannot be read, is no GeoJSON, is longer than 16 MiB, has no features or over 1000, or over 20 000 points, or says what
    /// contradicts itself or the world: with the number of the feature, and what is allowed.
    pub fn read(path: impl Into<FilePath>, world: &SketchWorld) -> Result<Self> {
        let path = &path.into();
        let text = plain::read_text(path, MAX_BYTES)?;
        Self::parse(&text, world).map_err(|problem| Error::file(path, plain::clipped_to(&problem, 600)))
    }

    /// Reads the text of a sketch and checks it; what is wrong comes back in words.
    ///
    /// # Errors
    /// As [`Sketch::read`], but for the file and its length.
    pub fn parse(text: &str, world: &SketchWorld) -> Result<Self, String> {
        let sketch = read::parse(text)?;
        sketch.check(world)?;
        Ok(sketch)
    }
}
