//! Computes where a tributary's line meets the line that it joins.

use crate::check::is_crossing;
use crate::claims::Claims;
use crate::course_line::keep_off_borders;
use crate::line_cells::{index, project_onto_segment, visit_line_cells};
use crate::untangle::CourseLine;
use thalweg_core::Cell;

/// A point of a line, and its position along the course in nodes.
type Place = (Cell<f64>, f64);

/// How often a junction is moved to the first cell of the other line that the tributary enters.
// Every turn moves the junction to an earlier cell, which may lead through yet another cell of the other line.
const NEARER: usize = 4;

/// Least distance between a junction and the borders of its cell, in cells.
const MARGIN: f64 = 1.0 / 1024.0;

/// Returns the range of parameters t for which the point a + t·(b − a) is inside a cell by at least [`MARGIN`];
/// `None` if there is none.
fn clip_to_cell(a: Cell<f64>, b: Cell<f64>, cell: Cell<i64>) -> Option<[f64; 2]> {
    let [mut low, mut high] = [0.0f64, 1.0f64];
    for k in 0..2 {
        let (near, far) = (cell[k] as f64 + MARGIN, (cell[k] + 1) as f64 - MARGIN);
        let along = b[k] - a[k];
        if along == 0.0 {
            if a[k] < near || a[k] > far {
                return None;
            }
            continue;
        }
        let (s, t) = ((near - a[k]) / along, (far - a[k]) / along);
        (low, high) = (low.max(s.min(t)), high.min(s.max(t)));
    }
    (low <= high).then_some([low, high])
}

impl Claims<'_> {
    /// Ends a line at the nearest point of the line that it joins.
    pub(super) fn end_at_junction(&mut self, course: usize, node: u32, line: &mut CourseLine) {
        let (other, at) = self.home[node as usize];
        let size = self.cells.size();
        let mut passed = Vec::new();
        let (from, along, place, there) = loop {
            let Some((from, along)) = line.places.last().copied() else { return };
            let Some((mut place, mut there)) = self.find_junction(node, from) else { return };
            // Two tributaries that join in one cell could cross there. Let the second end at the same point as the
            // first.
            for (stretch, joined) in &self.joints[other as usize] {
                if is_crossing([from, place], *stretch) {
                    (place, there) = (stretch[1], *joined);
                }
            }
            // The tributary must end in the first cell of the other line that it enters: from there on the water
            // belongs to that river.
            for _ in 0..NEARER {
                let mut met = None;
                visit_line_cells(from, place, |cell| {
                    if let Some(k) = index(size, cell).filter(|_| met.is_none()) {
                        let number = self.cells[k];
                        met = (number > 0 && self.owning_course(number) == other as usize).then_some(cell);
                    }
                });
                let Some(cell) = met.filter(|cell| *cell != place.map(|x| x.floor() as i64)) else { break };
                let Some((nearer, joined)) = self.find_joint(node, from, cell) else { break };
                if self.joints[other as usize].iter().any(|(stretch, _)| is_crossing([from, nearer], *stretch)) {
                    break;
                }
                (place, there) = (nearer, joined);
            }
            place = keep_off_borders(place, size);
            passed.clear();
            visit_line_cells(from, place, |cell| passed.extend(index(size, cell)));
            // If the last segment leads back over the line's own path, the line went too far. Remove its last point
            // and try again.
            let back = line.path.iter().any(|(k, _)| passed.contains(&(*k as usize)));
            if !back || line.places.len() <= 2 {
                break (from, along, place, there);
            }
            line.places.pop();
            let reached = line.places.last().map_or(0.0, |(_, along)| *along);
            while let Some((k, _)) = line.path.pop_if(|(_, along)| *along >= reached && reached > 0.0) {
                self.cells[k as usize] = 0;
            }
        };
        let own = self.first[course];
        let strange = passed.iter().map(|k| self.cells[*k]).filter(|number| {
            let owner = self.first.partition_point(|first| first < number) - usize::from(*number > 0);
            *number > 0 && owner != course && owner != other as usize
        });
        let strange: Vec<u32> = strange.map(|number| number - 1).collect();
        if !strange.is_empty() {
            self.record_conflict(course, along);
            self.conflicts.push(self.first[other as usize] + at);
            self.conflicts.extend(strange);
        }
        for k in passed {
            let wet = self.layout.lakes.cells[k] > 0 || self.layout.site.is_sea(k) || self.layout.site.is_void(k);
            let number = self.cells[k];
            // A cell that the line entered only to cut a corner, and then dropped from its path, still carries this
            // line's number.
            let owns = number == 0 || (own < number && number <= self.first[course + 1]);
            if owns && !wet && line.path.iter().all(|(cell, _)| *cell as usize != k) {
                self.cells[k] = (own + along as u32 + 1).min(self.first[course + 1]);
                line.path.push((k as u32, along));
            }
        }
        if from != place {
            line.places.push((place, along.max(self.layout.courses[course].nodes.len() as f64 - 0.5)));
        }
        self.joints[other as usize].push(([from, place], there));
        line.joins = Some((other, there));
    }

    /// Returns true if a segment of the joined line is near the junction node: within 8 nodes plus twice the node's
    /// displacement.
    fn is_near(&self, node: u32, stretch: &[Place]) -> bool {
        let Cell { row: y, col: x } = self.layout.shift[node as usize];
        let window = 8.0 + 2.0 * (y * y + x * x).sqrt();
        let at = f64::from(self.home[node as usize].1);
        stretch.iter().any(|(_, along)| (along - at).abs() <= window)
    }

    /// Returns the point nearest to `from` on the line that is joined at a node, restricted to one of its cells, and
    /// the position along it; `None` if that line does not pass the cell.
    fn find_joint(&self, node: u32, from: Cell<f64>, cell: Cell<i64>) -> Option<(Cell<f64>, f64)> {
        let drawn_line = self.drawn_lines.get(self.home[node as usize].0 as usize)?;
        let (begins, ends) = (drawn_line.first()?.1, drawn_line.last()?.1);
        let mut best: Option<(f64, Cell<f64>, f64)> = None;
        for pair in drawn_line.windows(2).filter(|pair| self.is_near(node, pair)) {
            let (a, b) = (pair[0].0, pair[1].0);
            let Some([low, high]) = clip_to_cell(a, b, cell) else { continue };
            let (t, _) = project_onto_segment(from, a, b);
            let t = t.clamp(low, high);
            let place = Cell::from_axes(|k| a[k] + t * (b[k] - a[k]));
            let there = pair[0].1 + t * (pair[1].1 - pair[0].1);
            let [dy, dx] = [0, 1].map(|k| place[k] - from[k]);
            let square = dy * dy + dx * dx;
            if begins < there && there < ends && best.is_none_or(|(known, _, _)| square < known) {
                best = Some((square, place, there));
            }
        }
        best.map(|(_, place, there)| (place, there))
    }

    /// Returns the point nearest to `from` on the line that is joined at a node, and the position along it; `None` if
    /// that line is not drawn.
    fn find_junction(&self, node: u32, from: Cell<f64>) -> Option<(Cell<f64>, f64)> {
        let drawn_line = self.drawn_lines.get(self.home[node as usize].0 as usize)?;
        let (first, last) = (drawn_line.first()?, drawn_line.last()?);
        // Without a segment near the node, the search falls back to the end of the joined line.
        let mut best = (f64::INFINITY, last.0, last.1);
        for pair in drawn_line.windows(2).filter(|pair| self.is_near(node, pair)) {
            let (t, square) = project_onto_segment(from, pair[0].0, pair[1].0);
            // The comparison is strict, so of equally near points the one farther upstream counts.
            if square < best.0 {
                let place = Cell::from_axes(|k| pair[0].0[k] + t * (pair[1].0[k] - pair[0].0[k]));
                best = (square, place, pair[0].1 + t * (pair[1].1 - pair[0].1));
            }
        }
        // A tributary must not join a river at its first or its last point.
        let (_, place, there) = best;
        Some(match drawn_line[..] {
            _ if first.1 < there && there < last.1 => (place, there),
            [only] => only,
            [a, b] => (Cell::from_axes(|k| (a.0[k] + b.0[k]) / 2.0), (a.1 + b.1) / 2.0),
            _ if there >= last.1 => drawn_line[drawn_line.len() - 2],
            _ => drawn_line[1],
        })
    }
}
