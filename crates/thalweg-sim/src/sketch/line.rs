//! Polylines: length, points along them, intersections, and nearby cells.

use rayon::iter::ParallelIterator;

use crate::sketch::SketchFeature;
use thalweg_core::{CellRect, Field, Grid, Point};

/// Returns the distance from a point to a segment, and the position of the nearest point as a share of the segment.
pub fn nearest_on_segment(p: Point, [a, b]: [Point; 2]) -> (f64, f64) {
    let (x, y) = (b.x - a.x, b.y - a.y);
    let squared = x * x + y * y;
    let along = if squared > 0.0 { (((p.x - a.x) * x + (p.y - a.y) * y) / squared).clamp(0.0, 1.0) } else { 0.0 };
    (p.distance_to(Point::new(a.x + along * x, a.y + along * y)), along)
}

/// Returns twice the signed area of a triangle; its sign tells to which side it turns.
fn doubled_signed_area(a: Point, b: Point, c: Point) -> f64 {
    (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
}

/// Returns true if two segments have a point in common.
pub fn has_common_point([a, b]: [Point; 2], [c, d]: [Point; 2]) -> bool {
    let [t, u, v, w] = [
        doubled_signed_area(c, d, a),
        doubled_signed_area(c, d, b),
        doubled_signed_area(a, b, c),
        doubled_signed_area(a, b, d),
    ];
    // The ends of each segment are on different sides of the other one.
    if t * u < 0.0 && v * w < 0.0 {
        return true;
    }
    // The remaining case is an end that is exactly on the other segment.
    let on = |p: Point, s: [Point; 2]| nearest_on_segment(p, s).0 == 0.0;
    on(a, [c, d]) || on(b, [c, d]) || on(c, [a, b]) || on(d, [a, b])
}

/// Returns true if a point is inside a ring.
pub fn is_inside(ring: &[Point], Point { x, y }: Point) -> bool {
    let mut inside = false;
    for pair in ring.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        // A ray to the east crosses the ring an odd number of times from inside. The half-open comparison counts a
        // vertex on the ray once.
        if (a.y > y) != (b.y > y) && x < a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x) {
            inside = !inside;
        }
    }
    inside
}

/// A polyline with the distances along it.
pub struct Polyline {
    points: Vec<Point>,
    /// Metres from the first point to each point.
    distances: Vec<f64>,
}

impl Polyline {
    /// Returns the line of a feature.
    pub fn from_feature(feature: &SketchFeature) -> Self {
        let mut distance = 0.0;
        let distances = feature.points.iter().enumerate().map(|(k, point)| {
            distance += if k > 0 { feature.points[k - 1].distance_to(*point) } else { 0.0 };
            distance
        });
        Self { distances: distances.collect(), points: feature.points.clone() }
    }

    /// Returns the line that land follows, since no crest and no river is perfectly straight. It deviates from this
    /// line by at most `far`, and has the same ends.
    pub fn with_undulations(&self, far: f64, coarse: f64) -> Self {
        // Waves whose lengths have no common divisor, with a total amplitude of `far`: length, share of the
        // amplitude, phase.
        const WAVES: [[f64; 3]; 3] = [[23.0, 0.5, 0.7], [11.3, 0.3, 2.1], [5.9, 0.2, 4.4]];
        let long = self.length();
        let distances = self.sample_distances(coarse);
        // The phase depends on the first point, so that parallel lines have different undulations.
        let from = self.points.first().map_or(0.0, |first| (first.x + 2.0 * first.y) / coarse);
        let place = |distance: &f64| {
            let (Point { x, y }, [along, down]) = (self.point_at(*distance), self.heading(*distance));
            let wave = |[length, part, phase]: [f64; 3]| {
                part * libm::sin((distance / coarse + from) * std::f64::consts::TAU / length + phase)
            };
            // Over four cells towards either end the deviation falls to 0.
            let ends = (distance.min(long - distance) / (4.0 * coarse)).min(1.0);
            let aside = far * ends * WAVES.into_iter().map(wave).sum::<f64>();
            Point::new(x - aside * down, y + aside * along)
        };
        Self::from_feature(&SketchFeature::new(crate::sketch::SketchKind::Ridge, distances.iter().map(place).collect()))
    }

    /// Returns its length in metres.
    pub fn length(&self) -> f64 {
        self.distances.last().copied().unwrap_or(0.0)
    }

    /// Returns the segments, each with the distance to its beginning and its length.
    fn segments(&self) -> impl Iterator<Item = ([Point; 2], f64, f64)> + '_ {
        self.points.windows(2).zip(self.distances.windows(2)).map(|(p, w)| ([p[0], p[1]], w[0], w[1] - w[0]))
    }

    /// Returns the point at this distance along the line.
    pub fn point_at(&self, distance: f64) -> Point {
        let [a, b, t] = self.locate_distance(distance);
        let (a, b) = (self.points[a as usize], self.points[b as usize]);
        Point::new(a.x + t * (b.x - a.x), a.y + t * (b.y - a.y))
    }

    /// Returns the indices of the points before and after a distance along the line, and the share of the segment
    /// between them.
    fn locate_distance(&self, distance: f64) -> [f64; 3] {
        let k = self.distances.partition_point(|w| *w <= distance).clamp(1, (self.distances.len() - 1).max(1));
        let last = self.distances.len() - 1;
        let (a, b) = (k - 1, k.min(last));
        let long = self.distances[b] - self.distances[a];
        let t = if long > 0.0 { ((distance - self.distances[a]) / long).clamp(0.0, 1.0) } else { 0.0 };
        [a as f64, b as f64, t]
    }

    /// Interpolates numbers given for each point, at a distance along the line.
    pub fn interpolate_numbers(&self, numbers: &[f64], distance: f64) -> f64 {
        let [a, b, t] = self.locate_distance(distance);
        let of = |k: f64| numbers.get(k as usize).copied().unwrap_or(0.0);
        of(a) + t * (of(b) - of(a))
    }

    /// Returns distances along the line not more than `step` apart, from the first point to the last.
    pub fn sample_distances(&self, step: f64) -> Vec<f64> {
        // The upper limit bounds memory where a step is tiny compared with the line.
        let count = (self.length() / step).ceil().clamp(1.0, 1e6);
        (0..=count as usize).map(|k| self.length() * k as f64 / count).collect()
    }

    /// Returns the unit vector along the line at this distance, eastward and southward.
    pub fn heading(&self, distance: f64) -> [f64; 2] {
        let [a, b, _] = self.locate_distance(distance);
        let (a, b) = (self.points[a as usize], self.points[b as usize]);
        let long = a.distance_to(b).max(1e-9);
        [(b.x - a.x) / long, (b.y - a.y) / long]
    }

    /// Returns the distance to a point, and the distance along the line of the nearest point.
    pub fn project_point(&self, p: Point) -> (f64, f64) {
        let mut best = (f64::INFINITY, 0.0);
        for (segment, distance, long) in self.segments() {
            let (d, t) = nearest_on_segment(p, segment);
            if d < best.0 {
                best = (d, distance + t * long);
            }
        }
        if self.points.len() == 1 { (p.distance_to(self.points[0]), 0.0) } else { best }
    }

    /// Returns the side of the line on which a point is: above 0 to the left of its direction, on a map with north
    /// up.
    pub fn side(&self, p: Point) -> f64 {
        let mut best = (f64::INFINITY, 0.0);
        for (segment, ..) in self.segments() {
            let (d, t) = nearest_on_segment(p, segment);
            // y increases to the south, so a turn to the left is negative.
            let side = -doubled_signed_area(segment[0], segment[1], p) / segment[0].distance_to(segment[1]).max(1e-9);
            let is_square = t > 0.0 && t < 1.0;
            // At a corner two segments are equally near; the one that sees the point at a less oblique angle
            // determines the side.
            if d < best.0 - 1e-9 || (d < best.0 + 1e-9 && (is_square || side.abs() > f64::abs(best.1))) {
                best = (d.min(best.0), side);
            }
        }
        best.1
    }

    /// Returns the cells within `reach` of the line.
    pub fn cells(&self, grid: &Grid, reach: f64) -> Closest {
        let span = |axis: usize| {
            let metres = |k: usize| if axis == 0 { grid.row_center_y(k) } else { grid.col_center_x(k) };
            let of = |low: bool| {
                let along = self.points.iter().map(|p| p.axis_coordinate(axis));
                if low {
                    along.fold(f64::INFINITY, f64::min) - reach
                } else {
                    along.fold(f64::NEG_INFINITY, f64::max) + reach
                }
            };
            let first = ((of(true) - metres(0)) / grid.cell).floor().clamp(0.0, grid.size[axis] as f64) as usize;
            let end = ((of(false) - metres(0)) / grid.cell + 2.0).floor().clamp(0.0, grid.size[axis] as f64) as usize;
            (first.min(end), end)
        };
        let [(top, bottom), (left, right)] = [span(0), span(1)];
        let window = CellRect::new([top, left], [bottom - top, right - left]);
        let mut distances = Field::new(window.size(), [f32::INFINITY, 0.0]);
        distances.par_rows_mut().for_each(|(r, row)| {
            let y = grid.row_center_y(top + r);
            // Segments out of reach of a row are skipped for the whole row.
            let nearby_segments: Vec<_> =
                self.segments().filter(|([a, b], ..)| a.y.min(b.y) - reach <= y && y <= a.y.max(b.y) + reach).collect();
            for (c, out) in row.iter_mut().enumerate() {
                let x = grid.col_center_x(left + c);
                let mut best = (f64::INFINITY, 0.0);
                for (segment, distance, long) in &nearby_segments {
                    let [a, b] = segment;
                    if a.x.min(b.x) - reach > x || x > a.x.max(b.x) + reach {
                        continue;
                    }
                    let (d, t) = nearest_on_segment(Point::new(x, y), *segment);
                    if d < best.0 {
                        best = (d, distance + t * long);
                    }
                }
                if self.points.len() == 1 {
                    best = (Point::new(x, y).distance_to(self.points[0]), 0.0);
                }
                if best.0 <= reach {
                    *out = [best.0 as f32, best.1 as f32];
                }
            }
        });
        Closest { window, distances }
    }
}

/// The cells near a line: for each the distance, infinite beyond the reach, and the distance along the line of the
/// nearest point.
pub struct Closest {
    window: CellRect,
    distances: Field<[f32; 2]>,
}

impl Closest {
    /// Returns the two distances of a cell of the grid; `None` if it is not near.
    pub fn distances_at(&self, i: usize, j: usize) -> Option<[f64; 2]> {
        let [r, c] = [i.checked_sub(self.window.start[0])?, j.checked_sub(self.window.start[1])?];
        if r >= self.window.size()[0] || c >= self.window.size()[1] {
            return None;
        }
        let [d, distance] = self.distances[(r, c)];
        d.is_finite().then_some([f64::from(d), f64::from(distance)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::SketchKind;

    #[test]
    fn ways_sides_and_crossings() {
        let corners = [[0.0, 0.0], [30.0, 0.0], [30.0, 40.0]].map(Point::from);
        let line = Polyline::from_feature(&SketchFeature::new(SketchKind::Ridge, corners.to_vec()));
        assert!(
            line.length() == 70.0 && line.point_at(50.0) == Point::new(30.0, 20.0) && line.heading(10.0) == [1.0, 0.0]
        );
        assert_eq!(line.project_point(Point::new(40.0, 20.0)), (10.0, 50.0));
        assert!((line.interpolate_numbers(&[0.0, 3.0, 7.0], 50.0) - 5.0).abs() < 1e-12);
        // North of a line to the east is its left; so is the east of one to the south.
        let side = |x, y| line.side(Point::new(x, y));
        assert!(side(10.0, -5.0) > 0.0 && side(10.0, 5.0) < 0.0 && side(40.0, 20.0) > 0.0);
        assert!(side(35.0, -1.0) > 0.0, "beyond the corner");
        let cross = |a: [[f64; 2]; 2], b: [[f64; 2]; 2]| has_common_point(a.map(Point::from), b.map(Point::from));
        assert!(cross([[0.0, 0.0], [2.0, 2.0]], [[0.0, 2.0], [2.0, 0.0]]));
        assert!(cross([[0.0, 0.0], [2.0, 0.0]], [[1.0, 0.0], [1.0, 2.0]]), "they touch");
        assert!(!cross([[0.0, 0.0], [2.0, 0.0]], [[3.0, 0.0], [4.0, 0.0]]));
        let ring = [[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0], [0.0, 0.0]].map(Point::from);
        assert!(is_inside(&ring, Point::new(1.0, 3.0)) && !is_inside(&ring, Point::new(5.0, 3.0)));
        let near = line.cells(&Grid::new([4, 4], 10.0).unwrap(), 12.0);
        assert_eq!(near.distances_at(0, 1), Some([5.0, 15.0]));
        assert_eq!(near.distances_at(2, 0), None);
    }
}
