//! The land that a feature wants: a profile along its line, and how it goes on to both sides.

use crate::sketch::kept::{relief, value_at};
use crate::sketch::line::{Closest, Line};
use crate::sketch::{SketchFeature, SketchKind};
use thalweg_core::{Field, Grid, Height, Point, Terrain};

/// Ground as means over cells of the first level, read between their middles.
pub struct Low {
    field: Field<f64>,
    first: Point,
    width: f64,
}

impl Low {
    /// Of a terrain, over cells so wide.
    pub fn of(terrain: &Terrain, coarse: f64) -> Self {
        let grid = &terrain.grid;
        let block = (coarse / grid.cell).round().max(1.0) as usize;
        let width = grid.cell * block as f64;
        let [rows, cols] = grid.size;
        let field = Field::generate([rows.div_ceil(block), cols.div_ceil(block)], |a, b| {
            let (mut sum, mut count) = (0i64, 0i64);
            for i in a * block..((a + 1) * block).min(rows) {
                for j in b * block..((b + 1) * block).min(cols) {
                    if !terrain.is_nodata(i, j) {
                        sum += i64::from(terrain.ground[(i, j)].0);
                        count += 1;
                    }
                }
            }
            sum as f64 / count.max(1) as f64 / thalweg_core::terrain::height::UNITS
        });
        let shift = (width - grid.cell) / 2.0;
        Self { field, first: Point::new(grid.x(0) + shift, grid.y(0) + shift), width }
    }

    /// The highest of places within `reach` of one.
    fn highest(&self, Point { x, y }: Point, reach: f64) -> f64 {
        let far = (reach / self.width).ceil().min(40.0) as i32;
        let steps = || (-far..=far).map(|k| f64::from(k) * self.width);
        let near = steps().flat_map(|v| steps().map(move |u| [u, v])).filter(|[u, v]| u * u + v * v <= reach * reach);
        near.map(|[u, v]| self.at(Point::new(x + u, y + v))).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Metres at a place; beyond the map those of its edge.
    pub fn at(&self, place: Point) -> f64 {
        value_at(&self.field, self.first, self.width, place)
    }
}

/// Relief of the land that is laid on flat ground, as a share of the map's short side.
const RELIEF: f64 = 0.02;

/// The narrowest form, as a part of the map's short side.
const FORM: f64 = 128.0;

/// What the land of a run is measured by.
#[derive(Clone, Copy)]
pub struct Scale {
    /// Width of the first level's cells.
    pub coarse: f64,
    /// Width of what land is formed of: theirs, or more where they are narrow.
    pub form: f64,
    /// The shorter side of the map.
    pub short: f64,
    /// Metres between low and high ground.
    pub relief: f64,
    pub sea: Option<f64>,
}

impl Scale {
    /// Of a terrain, on which nothing is formed narrower than a small share of its shorter side: a trench a cell or two wide is no valley.
    pub fn of(terrain: &Terrain, coarse: f64) -> Self {
        let grid = &terrain.grid;
        let (coarse, short) = (coarse.max(grid.cell), grid.map_extent().shorter());
        let relief = relief(terrain).max(RELIEF * short);
        Self { coarse, form: coarse.max(short / FORM), short, relief, sea: grid.sea_level.map(Height::metres) }
    }

    /// The least fall of a river.
    pub fn least(&self) -> f64 {
        0.08 * self.relief / self.short
    }

    /// How steeply land falls from a crest.
    pub fn fall(&self) -> f64 {
        (2.0 * self.relief / self.short).clamp(0.01, 0.4)
    }
}

/// The land that a feature wants near it.
pub struct Shape {
    kind: SketchKind,
    near: Closest,
    /// Metres along the line, every `step` of it.
    profile: Vec<f64>,
    step: f64,
    /// What is wanted counts wholly up to `core`, and not at all from `reach` on.
    core: f64,
    reach: f64,
    /// Metres up (river) or down (ridge) for each metre away from the line, at most so far.
    slope: f64,
    /// Beyond this way along the line there is sea.
    end: f64,
    /// How much of it counts, along the line; everywhere, where there is none.
    parts: Vec<f64>,
    pub strength: f64,
}

/// How far land leaves a river's line, and a ridge's, in cells of the first level.
const WANDERS: [f64; 2] = [0.8, 0.6];

/// The line as land follows it.
pub fn course(feature: &SketchFeature, scale: &Scale) -> Line {
    let far = WANDERS[usize::from(feature.kind == SketchKind::Ridge)];
    Line::of(feature).wandering(far * scale.coarse, scale.form)
}

/// Heights that stand at the points of a line, at places along the way that land takes.
fn listed(feature: &SketchFeature, list: &[f64], stops: &[f64], length: f64) -> Vec<f64> {
    let drawn = Line::of(feature);
    stops.iter().map(|way| drawn.mixed(list, way / length.max(1e-9) * drawn.length())).collect()
}

/// A river's bed or a crest, by the way along its line.
pub struct Profile {
    pub heights: Vec<f64>,
    pub step: f64,
    pub end: f64,
}

impl Profile {
    pub fn at(&self, way: f64) -> f64 {
        between(&self.heights, way / self.step)
    }
}

fn between(list: &[f64], at: f64) -> f64 {
    let at = at.clamp(0.0, (list.len() - 1) as f64);
    let k = (at as usize).min(list.len().saturating_sub(2));
    let next = list.get(k + 1).copied().unwrap_or(list[k]);
    list[k] + (at - k as f64) * (next - list[k])
}

/// Means over so many places to both sides, fewer at the ends.
fn smooth(list: &[f64], far: usize) -> Vec<f64> {
    let mean = |k: usize| {
        let far = far.min(k).min(list.len() - 1 - k);
        let part = &list[k - far..=k + far];
        part.iter().sum::<f64>() / part.len() as f64
    };
    (0..list.len()).map(mean).collect()
}

/// Ground to both sides of a line, up to three of the first level's cells away.
fn beside(low: &Low, line: &Line, way: f64, coarse: f64) -> [f64; 6] {
    let (Point { x, y }, [along, down]) = (line.at(way), line.heading(way));
    [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0]
        .map(|side| low.at(Point::new(x + side * coarse * down, y - side * coarse * along)))
}

/// The bed of a river: lower than what is about it, falling from its head to its end, where it lies no lower than `floor`, from which
/// water gets on.
pub fn bed(feature: &SketchFeature, low: &Low, scale: &Scale, floor: f64) -> Profile {
    let line = course(feature, scale);
    let stops = line.stops(scale.form);
    let step = line.length() / (stops.len() - 1) as f64;
    let least = scale.least() * step;
    // Not along it: what is lower further down does not draw it deeper and deeper.
    let about = |way: &f64| beside(low, &line, *way, scale.form).into_iter().fold(low.at(line.at(*way)), f64::min);
    let about: Vec<f64> = stops.iter().map(about).collect();
    // The last of it may lie in the sea.
    let dry = scale
        .sea
        .and_then(|sea| about.iter().rposition(|z| *z >= sea))
        .map_or(stops.len() - 1, |k| (k + 1).min(stops.len() - 1));
    let floor = scale.sea.map_or(floor, |sea| floor.max(sea));
    let mut heights = match feature.heights.as_slice() {
        [] => smooth(&about, 2),
        [head] => {
            // Steeper near its head, as rivers are.
            let part = |k: usize| 1.0 - k as f64 / (stops.len() - 1) as f64;
            (0..stops.len()).map(|k| floor + (head - floor) * part(k) * (0.5 + 0.5 * part(k))).collect()
        }
        list => listed(feature, list, &stops, line.length()),
    };
    for k in 1..heights.len() {
        heights[k] = heights[k].min(heights[k - 1] - least);
    }
    for k in 0..heights.len() {
        heights[k] = heights[k].max(floor + least * (dry as f64 - k as f64));
    }
    Profile { heights, step, end: if dry + 1 < stops.len() { step * (dry as f64 + 0.5) } else { f64::INFINITY } }
}

/// The crest of a ridge: as high as what is about it.
pub fn crest(feature: &SketchFeature, low: &Low, scale: &Scale) -> Profile {
    let line = course(feature, scale);
    let stops = line.stops(scale.form);
    let step = line.length() / (stops.len() - 1) as f64;
    let heights = match feature.heights.as_slice() {
        [] => {
            let about = |way: &f64| {
                let sides = beside(low, &line, *way, scale.form).into_iter().fold(f64::NEG_INFINITY, f64::max);
                low.at(line.at(*way)).max(sides + 0.02 * scale.relief)
            };
            let least = scale.sea.map_or(f64::NEG_INFINITY, |sea| sea + 0.05 * scale.relief);
            smooth(&stops.iter().map(about).map(|z| z.max(least)).collect::<Vec<_>>(), 3)
        }
        [one] => vec![*one; stops.len()],
        list => listed(feature, list, &stops, line.length()),
    };
    Profile { heights, step, end: f64::INFINITY }
}

impl Shape {
    /// Of a river or a ridge.
    pub fn along(
        feature: &SketchFeature,
        profile: Profile,
        grid: &Grid,
        low: &Low,
        scale: &Scale,
        is_strict: bool,
    ) -> Self {
        let coarse = scale.form;
        let line = course(feature, scale);
        let own = feature.width.map_or((scale.short / 20.0).clamp(4.0 * coarse, 10.0 * coarse), |width| width / 2.0);
        // What is far from its height is brought there over a wide land.
        let change = line.stops(coarse).into_iter().map(|way| (profile.at(way) - low.at(line.at(way))).abs());
        let change = change.fold(0.0, f64::max);
        let is_river = feature.kind == SketchKind::River;
        let core = if is_strict && is_river { 1.75 } else { 1.0 } * coarse;
        let reach =
            if is_strict { 5.0 * coarse } else { own.max(2.0 * change).min(scale.short / 5.0) }.max(2.5 * coarse);
        let steep = if is_strict { scale.fall().max(0.15) } else { scale.fall() };
        let slope = if is_river { 0.6 * steep } else { -steep };
        Self {
            kind: feature.kind,
            near: line.cells(grid, reach),
            profile: profile.heights,
            step: profile.step,
            core,
            reach,
            slope,
            end: profile.end,
            parts: Vec::new(),
            strength: feature.strength,
        }
    }

    /// The same, but only near such places along it that are not kept, of places as far apart.
    pub fn only_where_lost(self, kept: &[bool], scale: &Scale) -> Self {
        // In halves of a coarse cell: wholly up to two widths of form away, not at all from six on.
        let width = 2.0 * scale.form / scale.coarse;
        let lost: Vec<usize> = (0..kept.len()).filter(|k| !kept[*k]).collect();
        let part = |k: usize| {
            let apart = lost.iter().map(|other| other.abs_diff(k)).min().unwrap_or(0);
            ((6.0 * width - apart as f64) / (4.0 * width)).clamp(0.0, 1.0)
        };
        Self { parts: (0..kept.len()).map(part).collect(), ..self }
    }

    /// On flat ground: of the whole land.
    pub fn everywhere(feature: &SketchFeature, profile: Profile, grid: &Grid, scale: &Scale) -> Self {
        let far = 4.0 * grid.extent().longer();
        let flat = Low { field: Field::new([1, 1], 0.0), first: Point::default(), width: 1.0 };
        let shape = Self::along(feature, profile, grid, &flat, scale, false);
        let reach = scale.short / 4.0;
        Self { near: course(feature, scale).cells(grid, far), core: f64::INFINITY, reach, ..shape }
    }

    /// Of a height, by which change it is met.
    pub fn about(feature: &SketchFeature, change: f64, grid: &Grid, low: &Low, scale: &Scale, is_strict: bool) -> Self {
        let line = Line::of(feature);
        // A wide land is not lifted beyond the height that is to stand in it; what is missing then is made near the place.
        let height = feature.heights.first().copied().unwrap_or(0.0);
        let change = if is_strict || change < 0.0 {
            change
        } else {
            change.min((height - low.highest(feature.points[0], 6.0 * scale.form)).max(0.0))
        };
        let own = feature.width.map_or(scale.short / 8.0, |width| (width / 2.0).max(1.5 * grid.cell));
        let reach = if is_strict {
            own.min((3.0 * change.abs()).max(5.0 * scale.form))
        } else if feature.width.is_some() {
            own
        } else {
            own.max(4.0 * change.abs()).min(scale.short / 2.5)
        };
        Self {
            kind: SketchKind::Height,
            near: line.cells(grid, reach),
            profile: vec![change],
            step: 1.0,
            core: 0.0,
            reach,
            slope: 0.0,
            end: f64::INFINITY,
            parts: Vec::new(),
            strength: feature.strength,
        }
    }

    /// What it wants of a cell of that ground: its weight there, its nearness, and the change.
    pub fn wants(&self, i: usize, j: usize, ground: impl Fn() -> f64, cell: f64) -> Option<[f64; 3]> {
        let [d, way] = self.near.of(i, j)?;
        if way > self.end {
            return None;
        }
        let t =
            if self.core.is_infinite() { 0.0 } else { ((d - self.core) / (self.reach - self.core)).clamp(0.0, 1.0) };
        let length = self.step * (self.profile.len() - 1) as f64;
        let part = match self.parts.len() {
            0 | 1 => 1.0,
            count => between(&self.parts, way / length.max(1e-9) * (count - 1) as f64),
        };
        let weight = part * (1.0 - t * t) * (1.0 - t * t);
        if weight <= 0.0 {
            return None;
        }
        let change = match self.kind {
            SketchKind::Height => self.profile[0],
            _ => {
                // The bed is a cell wide, else sills would stand in it where it runs aslant.
                let aside = (d.min(self.reach) - 0.75 * cell).max(0.0);
                let change = between(&self.profile, way / self.step) + self.slope * aside - ground();
                // A crest is raised. Ground beside it that stands higher is left to rivers, or it would lie in a trough.
                if self.kind == SketchKind::Ridge { change.max(0.0) } else { change }
            }
        };
        // At a point itself nothing else counts.
        let close = 0.25 * cell;
        Some([weight, weight * weight / (d * d + close * close), change])
    }
}
