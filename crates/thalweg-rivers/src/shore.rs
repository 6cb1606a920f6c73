//! Trims lines where rivers leave lakes.

use crate::course::RiverCourse;
use crate::network::RunSource;
use crate::untangle::CourseLine;
use thalweg_core::{Cell, Field};

/// How far beyond the shore the first point is, as a share of the first segment.
const FIRST_POINT_OFFSET: f64 = 1.0 / 1024.0;

/// Lets the lines of rivers that flow out of lakes begin at the shore, because they have no bed within the lake.
pub(super) fn trim_to_shore(
    courses: &[RiverCourse],
    lines: &[CourseLine],
    lake: &Field<u32>,
    places: &mut [Vec<(Cell<f64>, f64)>],
) {
    let [rows, cols] = lake.size();
    let mut joined = vec![f64::INFINITY; lines.len()];
    for (river, along) in lines.iter().filter_map(|line| line.joins) {
        joined[river as usize] = joined[river as usize].min(along);
    }
    let wet = |Cell { row: y, col: x }: Cell<f64>| {
        let inside = y >= 0.0 && x >= 0.0 && y < rows as f64 && x < cols as f64;
        inside && lake[(y as usize, x as usize)] > 0
    };
    for (number, course) in courses.iter().enumerate() {
        let places = &mut places[number];
        if !matches!(course.source, RunSource::Lake(_)) {
            continue;
        }
        // Lines may cross several cells of the lake. All points but the last one in it are dropped.
        let first = places.windows(2).position(|pair| !wet(pair[1].0));
        let Some(first) = first.filter(|at| wet(places[*at].0) && places[*at].1 < joined[number]) else { continue };
        places.drain(..first);
        let (from, to) = (places[0].0, places[1].0);
        let at = |t: f64| Cell::from_axes(|k| from[k] + t * (to[k] - from[k]));
        let (mut low, mut high) = (0.0, 1.0);
        // Forty halvings determine the shore to 10⁻¹² of the segment.
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            if wet(at(middle)) { low = middle } else { high = middle }
        }
        // The point is slightly beyond the shore, but never more than half of the way to the next point.
        places[0].0 = at((high + FIRST_POINT_OFFSET).min((1.0 + high) / 2.0));
    }
}
