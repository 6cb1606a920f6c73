//! The terrain that a feature requires: a profile along its line, and how it continues to both sides.

use crate::sketch::adherence::{measure_relief, value_at};
use crate::sketch::line::{Closest, Polyline};
use crate::sketch::{SketchFeature, SketchKind};
use thalweg_core::{Field, Grid, Height, Point, Terrain};

/// The terrain as means over cells of the first level, interpolated between their centres.
pub struct CoarseTerrain {
    field: Field<f64>,
    first: Point,
    width: f64,
}

impl CoarseTerrain {
    /// Computes it from a terrain, over cells of this width.
    pub fn from_terrain(terrain: &Terrain, coarse: f64) -> Self {
        let grid = &terrain.grid;
        let block = (coarse / grid.cell).round().max(1.0) as usize;
        let width = grid.cell * block as f64;
        let [rows, cols] = grid.size;
        let field = Field::from_fn([rows.div_ceil(block), cols.div_ceil(block)], |a, b| {
            // Heights are summed in whole units, so the mean does not depend on the order.
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
        Self { field, first: Point::new(grid.col_center_x(0) + shift, grid.row_center_y(0) + shift), width }
    }

    /// Returns the highest elevation within `reach` of a place.
    fn highest(&self, Point { x, y }: Point, reach: f64) -> f64 {
        // At most 81 × 81 places are sampled.
        let far = (reach / self.width).ceil().min(40.0) as i32;
        let steps = || (-far..=far).map(|k| f64::from(k) * self.width);
        let near = steps().flat_map(|v| steps().map(move |u| [u, v])).filter(|[u, v]| u * u + v * v <= reach * reach);
        near.map(|[u, v]| self.elevation_at(Point::new(x + u, y + v))).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Returns the elevation in metres at a place; beyond the map, that of its edge.
    pub fn elevation_at(&self, place: Point) -> f64 {
        value_at(&self.field, self.first, self.width, place)
    }
}

/// Relief of the land that is created on flat terrain, as a share of the map's short side.
const RELIEF: f64 = 0.02;

/// The map's short side divided by the width of the narrowest landform.
const FORM: f64 = 128.0;

/// The length scales of a run's terrain.
#[derive(Clone, Copy)]
pub struct LengthScales {
    /// Width of the first level's cells.
    pub coarse: f64,
    /// Width of the narrowest landforms: that of the first level's cells, or more if these are narrow.
    pub form: f64,
    /// The shorter side of the map.
    pub short: f64,
    /// Metres between the lowest and the highest terrain.
    pub relief: f64,
    pub sea: Option<f64>,
}

impl LengthScales {
    /// Computes the scales of a terrain. No landform is narrower than a small share of the map's shorter side: a
    /// trench a cell or two wide is no valley.
    pub fn from_terrain(terrain: &Terrain, coarse: f64) -> Self {
        let grid = &terrain.grid;
        let (coarse, short) = (coarse.max(grid.cell), grid.map_extent().shorter_side());
        let relief = measure_relief(terrain).max(RELIEF * short);
        Self { coarse, form: coarse.max(short / FORM), short, relief, sea: grid.sea_level.map(Height::metres) }
    }

    /// Returns the least slope of a river.
    pub fn min_river_slope(&self) -> f64 {
        // A river along the map's short side falls by 8 % of the relief; a steeper limit would dig deeper trenches.
        0.08 * self.relief / self.short
    }

    /// Returns the slope of the land beside a crest.
    pub fn crest_side_slope(&self) -> f64 {
        (2.0 * self.relief / self.short).clamp(0.01, 0.4)
    }
}

/// The terrain that a feature requires near it.
pub struct FeatureShape {
    kind: SketchKind,
    near: Closest,
    /// Elevations in metres along the line, at intervals of `step`.
    profile: Vec<f64>,
    step: f64,
    /// The constraint applies fully up to `core`, and not at all from `reach` on.
    core: f64,
    reach: f64,
    /// Metres up (river) or down (ridge) for each metre of distance from the line, up to `reach`.
    slope: f64,
    /// Beyond this distance along the line there is sea.
    end: f64,
    /// Weights along the line; empty if the whole line counts.
    parts: Vec<f64>,
    pub strength: f64,
}

/// The greatest distance by which the land's line deviates from the drawn line, for a river and a ridge, in cells of
/// the first level.
const MAX_LINE_DEVIATION_CELLS: [f64; 2] = [0.8, 0.6];

/// Returns the line that the land follows.
pub fn trace_course(feature: &SketchFeature, scale: &LengthScales) -> Polyline {
    let far = MAX_LINE_DEVIATION_CELLS[usize::from(feature.kind == SketchKind::Ridge)];
    Polyline::from_feature(feature).with_undulations(far * scale.coarse, scale.form)
}

/// Returns the elevations given at the points of a line, interpolated at distances along the line that the land
/// follows.
fn interpolate_heights(feature: &SketchFeature, list: &[f64], stops: &[f64], length: f64) -> Vec<f64> {
    let drawn = Polyline::from_feature(feature);
    stops.iter().map(|distance| drawn.interpolate_numbers(list, distance / length.max(1e-9) * drawn.length())).collect()
}

/// The elevation of a river's bed or a crest, by the distance along its line.
pub struct LineProfile {
    pub heights: Vec<f64>,
    pub step: f64,
    pub end: f64,
}

impl LineProfile {
    /// Returns the elevation at a distance along the line.
    pub fn elevation_at(&self, distance: f64) -> f64 {
        interpolate_list(&self.heights, distance / self.step)
    }
}

fn interpolate_list(list: &[f64], at: f64) -> f64 {
    let at = at.clamp(0.0, (list.len() - 1) as f64);
    let k = (at as usize).min(list.len().saturating_sub(2));
    let next = list.get(k + 1).copied().unwrap_or(list[k]);
    list[k] + (at - k as f64) * (next - list[k])
}

/// Returns moving averages over `far` values on both sides, fewer at the ends.
fn smooth_values(list: &[f64], far: usize) -> Vec<f64> {
    let mean = |k: usize| {
        let far = far.min(k).min(list.len() - 1 - k);
        let part = &list[k - far..=k + far];
        part.iter().sum::<f64>() / part.len() as f64
    };
    (0..list.len()).map(mean).collect()
}

/// Returns the elevation on both sides of a line, up to three of the first level's cells away.
fn sample_both_sides(low: &CoarseTerrain, line: &Polyline, distance: f64, coarse: f64) -> [f64; 6] {
    let (Point { x, y }, [along, down]) = (line.point_at(distance), line.heading(distance));
    [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0]
        .map(|side| low.elevation_at(Point::new(x + side * coarse * down, y - side * coarse * along)))
}

/// Returns the bed of a river: lower than the surrounding terrain, falling from its head to its end, where it is no
/// lower than `floor`, from which the water can flow on.
pub fn build_river_bed(feature: &SketchFeature, low: &CoarseTerrain, scale: &LengthScales, floor: f64) -> LineProfile {
    let line = trace_course(feature, scale);
    let stops = line.sample_distances(scale.form);
    let step = line.length() / (stops.len() - 1) as f64;
    let least = scale.min_river_slope() * step;
    // The minimum is taken across the line, not along it: otherwise lower terrain downstream would lower the bed more
    // and more.
    let about = |distance: &f64| {
        sample_both_sides(low, &line, *distance, scale.form)
            .into_iter()
            .fold(low.elevation_at(line.point_at(*distance)), f64::min)
    };
    let about: Vec<f64> = stops.iter().map(about).collect();
    // The last part may be in the sea.
    let dry = scale
        .sea
        .and_then(|sea| about.iter().rposition(|z| *z >= sea))
        .map_or(stops.len() - 1, |k| (k + 1).min(stops.len() - 1));
    let floor = scale.sea.map_or(floor, |sea| floor.max(sea));
    let mut heights = match feature.heights.as_slice() {
        [] => smooth_values(&about, 2),
        [head] => {
            // Steeper near its head, like real rivers.
            let part = |k: usize| 1.0 - k as f64 / (stops.len() - 1) as f64;
            // The slope at the head is three times that at the end.
            (0..stops.len()).map(|k| floor + (head - floor) * part(k) * (0.5 + 0.5 * part(k))).collect()
        }
        list => interpolate_heights(feature, list, &stops, line.length()),
    };
    // The bed falls by at least the least slope from place to place.
    for k in 1..heights.len() {
        heights[k] = heights[k].min(heights[k - 1] - least);
    }
    // It is raised where the water could not reach the floor at the end with that slope.
    for k in 0..heights.len() {
        heights[k] = heights[k].max(floor + least * (dry as f64 - k as f64));
    }
    LineProfile { heights, step, end: if dry + 1 < stops.len() { step * (dry as f64 + 0.5) } else { f64::INFINITY } }
}

/// Returns the crest of a ridge: as high as the surrounding terrain.
pub fn build_ridge_crest(feature: &SketchFeature, low: &CoarseTerrain, scale: &LengthScales) -> LineProfile {
    let line = trace_course(feature, scale);
    let stops = line.sample_distances(scale.form);
    let step = line.length() / (stops.len() - 1) as f64;
    let heights = match feature.heights.as_slice() {
        [] => {
            let about = |distance: &f64| {
                let sides =
                    sample_both_sides(low, &line, *distance, scale.form).into_iter().fold(f64::NEG_INFINITY, f64::max);
                low.elevation_at(line.point_at(*distance)).max(sides + 0.02 * scale.relief)
            };
            let least = scale.sea.map_or(f64::NEG_INFINITY, |sea| sea + 0.05 * scale.relief);
            smooth_values(&stops.iter().map(about).map(|z| z.max(least)).collect::<Vec<_>>(), 3)
        }
        [one] => vec![*one; stops.len()],
        list => interpolate_heights(feature, list, &stops, line.length()),
    };
    LineProfile { heights, step, end: f64::INFINITY }
}

impl FeatureShape {
    /// Returns the shape of a river or a ridge.
    pub fn from_profile(
        feature: &SketchFeature,
        profile: LineProfile,
        grid: &Grid,
        low: &CoarseTerrain,
        scale: &LengthScales,
        is_strict: bool,
    ) -> Self {
        let coarse = scale.form;
        let line = trace_course(feature, scale);
        let own = feature.width.map_or((scale.short / 20.0).clamp(4.0 * coarse, 10.0 * coarse), |width| width / 2.0);
        // The larger the change of elevation, the wider the land over which it is made.
        let change = line
            .sample_distances(coarse)
            .into_iter()
            .map(|distance| (profile.elevation_at(distance) - low.elevation_at(line.point_at(distance))).abs());
        let change = change.fold(0.0, f64::max);
        let is_river = feature.kind == SketchKind::River;
        // A river that is corrected to the cell has the full weight on a floor that is three quarters wider.
        let core = if is_strict && is_river { 1.75 } else { 1.0 } * coarse;
        let reach =
            if is_strict { 5.0 * coarse } else { own.max(2.0 * change).min(scale.short / 5.0) }.max(2.5 * coarse);
        let steep = if is_strict { scale.crest_side_slope().max(0.15) } else { scale.crest_side_slope() };
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

    /// Returns the shape limited to the surroundings of those places along the line that do not follow the sketch;
    /// `kept` has one value for each of a number of equally spaced places.
    pub fn limit_to_lost_parts(self, kept: &[bool], scale: &LengthScales) -> Self {
        // In halves of a coarse cell: the full weight up to two form widths away, zero from six on.
        let width = 2.0 * scale.form / scale.coarse;
        let lost: Vec<usize> = (0..kept.len()).filter(|k| !kept[*k]).collect();
        let part = |k: usize| {
            let apart = lost.iter().map(|other| other.abs_diff(k)).min().unwrap_or(0);
            ((6.0 * width - apart as f64) / (4.0 * width)).clamp(0.0, 1.0)
        };
        Self { parts: (0..kept.len()).map(part).collect(), ..self }
    }

    /// Returns the shape for flat terrain: it applies to the whole map.
    pub fn from_profile_on_flat(
        feature: &SketchFeature,
        profile: LineProfile,
        grid: &Grid,
        scale: &LengthScales,
    ) -> Self {
        let far = 4.0 * grid.extent().longer_side();
        let flat = CoarseTerrain { field: Field::new([1, 1], 0.0), first: Point::default(), width: 1.0 };
        let shape = Self::from_profile(feature, profile, grid, &flat, scale, false);
        let reach = scale.short / 4.0;
        Self { near: trace_course(feature, scale).cells(grid, far), core: f64::INFINITY, reach, ..shape }
    }

    /// Returns the shape of a height, which needs this change of elevation.
    pub fn from_height_change(
        feature: &SketchFeature,
        change: f64,
        grid: &Grid,
        low: &CoarseTerrain,
        scale: &LengthScales,
        is_strict: bool,
    ) -> Self {
        let line = Polyline::from_feature(feature);
        // A wide area is not raised above the height of the point in it; the rest is made later, near the place.
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

    /// Returns the requirement for a cell with this elevation: the weight there, the closeness, and the change.
    pub fn requirement_at(&self, i: usize, j: usize, ground: impl Fn() -> f64, cell: f64) -> Option<[f64; 3]> {
        let [d, distance] = self.near.distances_at(i, j)?;
        if distance > self.end {
            return None;
        }
        let t =
            if self.core.is_infinite() { 0.0 } else { ((d - self.core) / (self.reach - self.core)).clamp(0.0, 1.0) };
        let length = self.step * (self.profile.len() - 1) as f64;
        let part = match self.parts.len() {
            0 | 1 => 1.0,
            count => interpolate_list(&self.parts, distance / length.max(1e-9) * (count - 1) as f64),
        };
        // The weight and its slope are 0 at `reach`, so the change has no visible rim.
        let weight = part * (1.0 - t * t) * (1.0 - t * t);
        if weight <= 0.0 {
            return None;
        }
        let change = match self.kind {
            SketchKind::Height => self.profile[0],
            _ => {
                // The bed is a cell wide: otherwise there would be sills where it runs diagonally.
                let aside = (d.min(self.reach) - 0.75 * cell).max(0.0);
                let change = interpolate_list(&self.profile, distance / self.step) + self.slope * aside - ground();
                // A crest is only raised. Higher terrain next to it is left to rivers: if it were lowered, the crest
                // would lie in a trough.
                if self.kind == SketchKind::Ridge { change.max(0.0) } else { change }
            }
        };
        // At a point itself no other feature counts.
        let close = 0.25 * cell;
        Some([weight, weight * weight / (d * d + close * close), change])
    }
}
