//! Checks a sketch for contradictions, in itself or with its world.

use crate::sketch::line::{Polyline, has_common_point, is_inside};
use crate::sketch::{Sketch, SketchFeature, SketchKind, SketchWorld};
use thalweg_core::{Extent, Point};

/// The greatest distance, as a share of the map's short side, between the last point of a river and another river
/// that it joins.
const JOIN_DISTANCE_SHARE: f64 = 0.005;

/// The widest map, in metres, on which coordinates may be as small as degrees are.
const DEGREES: f64 = 1000.0;

type CheckResult = Result<(), String>;

impl Sketch {
    /// Returns what is wrong with it, as text.
    pub(super) fn check(&self, world: &SketchWorld) -> CheckResult {
        let Extent { width, height } = world.extent;
        let numbered = || (1..).zip(&self.features);
        let mut points = self.features.iter().flat_map(|feature| &feature.points);
        // A single point near the corner may really be in metres, so it counts as degrees only if a coordinate is
        // negative.
        let degrees = points.clone().all(|point| point.x.abs() <= 180.0 && point.y.abs() <= 90.0);
        if degrees
            && width.max(height) > DEGREES
            && (points.clone().count() > 1 || points.any(|point| point.x.min(point.y) < 0.0))
        {
            return Err(format!(
                "its coordinates look like degrees of longitude and latitude; they must be metres from the \
                 map's north-western corner, x to the east from 0 to {width}, y to the south from 0 to {height}"
            ));
        }
        for (number, feature) in numbered() {
            let is_outside = |p: &&Point| !(0.0..=width).contains(&p.x) || !(0.0..=height).contains(&p.y);
            if let Some(Point { x, y }) = feature.points.iter().find(is_outside) {
                return Err(format!(
                    "feature {number}: point [{x}, {y}] is outside the world; x must be 0 to {width} and y 0 to \
                     {height}, in metres"
                ));
            }
            crosses_itself(feature).map_err(|what| format!("feature {number}: {what}"))?;
            check_against_sea(feature, world).map_err(|what| format!("feature {number}: {what}"))?;
            let rises = feature.heights.windows(2).position(|pair| pair[1] > pair[0]);
            if let Some(k) = rises.filter(|_| feature.kind == SketchKind::River) {
                let [a, b] = [feature.heights[k], feature.heights[k + 1]];
                return Err(format!(
                    "feature {number}: the river runs uphill, from {a} m at point {} to {b} m at the next; \
                     the heights must fall from the first point to the last",
                    k + 1
                ));
            }
        }
        for (number, a) in numbered() {
            // Numbers are from 1, so skipping as many features begins after `a`: each pair is checked once.
            for (other, b) in numbered().skip(number) {
                check_contradictions(a, b, width.min(height))
                    .map_err(|what| format!("features {number} and {other}: {what}"))?;
            }
        }
        self.check_against_coasts()
    }

    /// Checks for rivers that begin in the sea, and ridges through it.
    fn check_against_coasts(&self) -> CheckResult {
        let numbered = || (1..).zip(&self.features);
        let rings: Vec<_> = numbered().filter(|(_, f)| f.kind == SketchKind::Coast && f.is_ring()).collect();
        let Some((first, _)) = rings.first() else { return Ok(()) };
        let is_land = |place: Point| rings.iter().any(|(_, ring)| is_inside(&ring.points, place));
        for (number, feature) in numbered() {
            match feature.kind {
                SketchKind::Ridge => {
                    let line = Polyline::from_feature(feature);
                    // The ridge is tested at two hundred intervals; a strait narrower than one of them may be missed.
                    let step = line.length() / 200.0;
                    if let Some(distance) = line
                        .sample_distances(step.max(1e-6))
                        .into_iter()
                        .find(|distance| !is_land(line.point_at(*distance)))
                    {
                        let Point { x, y } = line.point_at(distance);
                        return Err(format!(
                            "feature {number}: the ridge runs through the sea at [{x:.0}, {y:.0}]; it must stay \
                             on land, inside a coast (feature {first})"
                        ));
                    }
                }
                SketchKind::River if !is_land(feature.points[0]) => {
                    return Err(format!(
                        "feature {number}: the river begins in the sea; its first point must be on land, \
                         inside a coast (feature {first})"
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn crosses_itself(feature: &SketchFeature) -> CheckResult {
    let points = &feature.points;
    let count = points.len().saturating_sub(1);
    let segment = |k: usize| [points[k], points[k + 1]];
    for a in 0..count {
        // Adjacent segments share a point and are not compared.
        for b in a + 2..count {
            // The first and the last segment of a ring share its closing point.
            if feature.kind == SketchKind::Coast && feature.is_ring() && a == 0 && b + 1 == count {
                continue;
            }
            if has_common_point(segment(a), segment(b)) {
                return Err(format!(
                    "the {} crosses itself, between points {} and {} and points {} and {}; draw it without loops",
                    feature.kind.name(),
                    a + 1,
                    a + 2,
                    b + 1,
                    b + 2
                ));
            }
        }
    }
    Ok(())
}

fn check_against_sea(feature: &SketchFeature, world: &SketchWorld) -> CheckResult {
    match (feature.kind, world.sea_level) {
        (SketchKind::Coast, None) => Err("a coast needs a `sea_level` in the recipe".into()),
        (SketchKind::Ridge, Some(sea)) => match feature.heights.iter().find(|height| **height <= sea) {
            Some(height) => Err(format!(
                "the ridge runs through the sea: its height {height} m is not above the sea level; it must be more \
                 than {sea} m"
            )),
            None => Ok(()),
        },
        (SketchKind::River, Some(sea)) => match feature.heights.first().filter(|height| **height < sea) {
            Some(height) => Err(format!(
                "the river begins at {height} m, below the sea level; its first point must be at {sea} m or more"
            )),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Checks two features for contradictions between them.
fn check_contradictions(a: &SketchFeature, b: &SketchFeature, short: f64) -> CheckResult {
    use SketchKind::{Height, Ridge, River};
    let segments = |f: &SketchFeature| f.points.windows(2).map(|p| [p[0], p[1]]).collect::<Vec<_>>();
    let meeting = || {
        let (own, other) = (segments(a), segments(b));
        own.iter().enumerate().find_map(|(k, s)| other.iter().position(|t| has_common_point(*s, *t)).map(|m| (k, m)))
    };
    match (a.kind, b.kind) {
        (Ridge, River) | (River, Ridge) => {
            let Some((k, _)) = meeting() else { return Ok(()) };
            let Point { x, y } = a.points[k];
            Err(format!(
                "the river runs uphill: it crosses a ridge near [{x:.0}, {y:.0}]; end the river before it, or \
                 draw two ridges with a gap"
            ))
        }
        (River, River) => {
            let Some((k, m)) = meeting() else { return Ok(()) };
            let joins = |own: &SketchFeature, other: &SketchFeature| {
                own.points.last().is_some_and(|end| {
                    Polyline::from_feature(other).project_point(*end).0 <= JOIN_DISTANCE_SHARE * short
                })
            };
            // They may meet once: where one of them ends.
            let ends = |f: &SketchFeature, at: usize| at + 2 == f.points.len();
            if (joins(a, b) && ends(a, k)) || (joins(b, a) && ends(b, m)) {
                return Ok(());
            }
            let Point { x, y } = a.points[k];
            Err(format!("two rivers cross near [{x:.0}, {y:.0}]; end one of them on the other"))
        }
        (Height, Height) if a.heights != b.heights && a.points[0].distance_to(b.points[0]) < 1.0 => {
            let [one, other] = [a.heights[0], b.heights[0]];
            Err(format!("two heights are at the same place, {one} m and {other} m; remove one of them"))
        }
        _ => Ok(()),
    }
}
