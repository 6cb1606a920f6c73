//! Where a line meets the one that it joins.

use crate::rivers::check::cross;
use crate::rivers::claim::{Claims, Line};
use crate::rivers::walk::{nearest, walk};

impl Claims<'_> {
    /// Ends a line on the nearest point of the line that it joins.
    pub(super) fn meet(&mut self, course: usize, node: u32, line: &mut Line) {
        let (other, at) = self.home[node as usize];
        let (cols, rows) = (self.cells.cols(), self.cells.rows());
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
            passed.clear();
            walk(from, place, |[i, j]| {
                if i >= 0 && j >= 0 && (i as usize) < rows && (j as usize) < cols {
                    passed.push(i as usize * cols + j as usize);
                }
            });
            // Where that leads back over the line's own way, it has gone too far.
            let back = line.path.iter().any(|(k, _)| passed.contains(&(*k as usize)));
            if !back || line.places.len() <= 2 {
                break (from, along, place, there);
            }
            line.places.pop();
            let reached = line.places.last().map_or(0.0, |(_, along)| *along);
            while let Some((k, _)) = line.path.pop_if(|(_, along)| *along >= reached && reached > 0.0) {
                self.cells.as_mut_slice()[k as usize] = 0;
            }
        };
        let own = self.first[course];
        let strange = passed.iter().map(|k| self.cells.as_slice()[*k]).filter(|number| {
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
            let wet = self.wish.lakes.cells.as_slice()[k] > 0 || self.wish.site.is_sea(k) || self.wish.site.is_void(k);
            let number = self.cells.as_slice()[k];
            // A cell by which the line only cut a corner is its own still.
            let owns = number == 0 || (own < number && number <= self.first[course + 1]);
            if owns && !wet && line.path.iter().all(|(cell, _)| *cell as usize != k) {
                self.cells.as_mut_slice()[k] = (own + along as u32 + 1).min(self.first[course + 1]);
                line.path.push((k as u32, along));
            }
        }
        if from != place {
            line.places.push((place, along.max(self.wish.courses[course].nodes.len() as f64 - 0.5)));
        }
        self.joints[other as usize].push(([from, place], there));
        line.joins = Some((other, there));
    }

    /// The point nearest to `from` on the line that is joined at a node, and how far along that is.
    fn joint(&self, node: u32, from: [f64; 2]) -> Option<([f64; 2], f64)> {
        let (other, at) = self.home[node as usize];
        let laid = self.laid.get(other as usize)?;
        let [y, x] = self.wish.shift[node as usize];
        let window = 8.0 + 2.0 * (y * y + x * x).sqrt();
        let near = |t: f64| (t - f64::from(at)).abs() <= window;
        let count = laid.len();
        if count == 0 {
            return None;
        }
        let mut best = (f64::INFINITY, laid[count - 1].0, laid[count - 1].1);
        for pair in laid.windows(2).filter(|pair| near(pair[0].1) || near(pair[1].1)) {
            let (t, square) = nearest(from, pair[0].0, pair[1].0);
            if square < best.0 {
                let place = [0, 1].map(|k| pair[0].0[k] + t * (pair[1].0[k] - pair[0].0[k]));
                best = (square, place, pair[0].1 + t * (pair[1].1 - pair[0].1));
            }
        }
        // Nothing joins a river where that begins or has ended.
        let (_, place, there) = best;
        Some(match laid[..] {
            _ if laid[0].1 < there && there < laid[count - 1].1 => (place, there),
            [only] => only,
            [a, b] => ([0, 1].map(|k| (a.0[k] + b.0[k]) / 2.0), (a.1 + b.1) / 2.0),
            _ if there >= laid[count - 1].1 => laid[count - 2],
            _ => laid[1],
        })
    }
}
