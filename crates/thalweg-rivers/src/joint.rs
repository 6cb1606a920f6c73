//! Where a line meets the one that it joins.

use crate::check::cross;
use crate::line_cells::{index, nearest, walk};
use crate::untangle::{Claims, Line, kept_off};
use thalweg_core::Cell;

/// A place of a line, and how far along that is.
type Place = (Cell<f64>, f64);

/// How often a joint is drawn nearer to where the line comes to the other.
const NEARER: usize = 4;

/// How far inside a cell a joint lies, in cells.
const MARGIN: f64 = 1.0 / 1024.0;

/// The shares of the way from `a` to `b` between which it lies well inside a cell.
fn inside(a: Cell<f64>, b: Cell<f64>, cell: Cell<i64>) -> Option<[f64; 2]> {
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
    /// Ends a line on the nearest point of the line that it joins.
    pub(super) fn meet(&mut self, course: usize, node: u32, line: &mut Line) {
        let (other, at) = self.home[node as usize];
        let size = self.cells.size();
        let mut passed = Vec::new();
        let (from, along, place, there) = loop {
            let Some((from, along)) = line.places.last().copied() else { return };
            let Some((mut place, mut there)) = self.joint(node, from) else { return };
            // Two that join at one cell could cross in it: there the second goes to the same point.
            for (stretch, joined) in &self.joints[other as usize] {
                if cross([from, place], *stretch) {
                    (place, there) = (stretch[1], *joined);
                }
            }
            // A line ends in the first of the other's cells that it comes to: from there on the water is that one's.
            for _ in 0..NEARER {
                let mut met = None;
                walk(from, place, |cell| {
                    if let Some(k) = index(size, cell).filter(|_| met.is_none()) {
                        let number = self.cells[k];
                        met = (number > 0 && self.owner(number) == other as usize).then_some(cell);
                    }
                });
                let Some(cell) = met.filter(|cell| *cell != place.map(|x| x.floor() as i64)) else { break };
                let Some((nearer, joined)) = self.joint_in(node, from, cell) else { break };
                if self.joints[other as usize].iter().any(|(stretch, _)| cross([from, nearer], *stretch)) {
                    break;
                }
                (place, there) = (nearer, joined);
            }
            place = kept_off(place, size);
            passed.clear();
            walk(from, place, |cell| passed.extend(index(size, cell)));
            // Where that leads back over the line's own way, it has gone too far.
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
            self.complain(course, along);
            self.conflicts.push(self.first[other as usize] + at);
            self.conflicts.extend(strange);
        }
        for k in passed {
            let wet = self.layout.lakes.cells[k] > 0 || self.layout.site.is_sea(k) || self.layout.site.is_void(k);
            let number = self.cells[k];
            // A cell by which the line only cut a corner is its own still.
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

    /// Whether a stretch of the line that is joined at a node lies near to there.
    fn is_near(&self, node: u32, stretch: &[Place]) -> bool {
        let Cell { row: y, col: x } = self.layout.shift[node as usize];
        let window = 8.0 + 2.0 * (y * y + x * x).sqrt();
        let at = f64::from(self.home[node as usize].1);
        stretch.iter().any(|(_, along)| (along - at).abs() <= window)
    }

    /// The point nearest to `from` on the line that is joined at a node, within one of its cells, and how far along that is.
    fn joint_in(&self, node: u32, from: Cell<f64>, cell: Cell<i64>) -> Option<(Cell<f64>, f64)> {
        let laid = self.laid.get(self.home[node as usize].0 as usize)?;
        let (begins, ends) = (laid.first()?.1, laid.last()?.1);
        let mut best: Option<(f64, Cell<f64>, f64)> = None;
        for pair in laid.windows(2).filter(|pair| self.is_near(node, pair)) {
            let (a, b) = (pair[0].0, pair[1].0);
            let Some([low, high]) = inside(a, b, cell) else { continue };
            let (t, _) = nearest(from, a, b);
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

    /// The point nearest to `from` on the line that is joined at a node, and how far along that is.
    fn joint(&self, node: u32, from: Cell<f64>) -> Option<(Cell<f64>, f64)> {
        let laid = self.laid.get(self.home[node as usize].0 as usize)?;
        let (first, last) = (laid.first()?, laid.last()?);
        let mut best = (f64::INFINITY, last.0, last.1);
        for pair in laid.windows(2).filter(|pair| self.is_near(node, pair)) {
            let (t, square) = nearest(from, pair[0].0, pair[1].0);
            if square < best.0 {
                let place = Cell::from_axes(|k| pair[0].0[k] + t * (pair[1].0[k] - pair[0].0[k]));
                best = (square, place, pair[0].1 + t * (pair[1].1 - pair[0].1));
            }
        }
        // Nothing joins a river where that begins or has ended.
        let (_, place, there) = best;
        Some(match laid[..] {
            _ if first.1 < there && there < last.1 => (place, there),
            [only] => only,
            [a, b] => (Cell::from_axes(|k| (a.0[k] + b.0[k]) / 2.0), (a.1 + b.1) / 2.0),
            _ if there >= last.1 => laid[laid.len() - 2],
            _ => laid[1],
        })
    }
}
