//! [`Active`]: where a sweep may still change something.

use crate::plane::{LANES, Part};
use thalweg_core::Size;

/// Runs of [`LANES`] cells in which the last sweep changed something. A sweep reads one cell around, so where no run about one has
/// changed it comes out as it went in, and both planes of the sweep hold it already.
pub(super) struct Active {
    runs: usize,
    before: Vec<u8>,
    now: Vec<u8>,
}

impl Active {
    /// Of planes of this size; all may change.
    pub fn new([rows, cols]: Size) -> Self {
        // A run of pads at both ends of a row.
        let runs = cols.div_ceil(LANES) + 2;
        Self { runs, before: vec![1; (rows + 2) * runs], now: vec![0; (rows + 2) * runs] }
    }

    /// All may change again.
    pub fn wake(&mut self) {
        self.before.fill(1);
    }

    /// Runs of row `i` that are to be worked on, into `todo`, and where to say which of them changed.
    pub fn row(&mut self, i: usize, todo: &mut [u8]) -> &mut [u8] {
        let runs = self.runs;
        let of = |i: usize| &self.before[i * runs..(i + 1) * runs];
        let (north, here, south) = (of(i - 1), of(i), of(i + 1));
        for (x, todo) in todo.iter_mut().enumerate().take(runs - 2) {
            let any = |row: &[u8]| row[x] | row[x + 1] | row[x + 2];
            *todo = any(north) | any(here) | any(south);
        }
        &mut self.now[i * runs + 1..(i + 1) * runs - 1]
    }

    /// Takes what was said for known, once the rows of a part are done. Of other rows nothing is known; nothing reads them any more.
    pub fn turn(&mut self, part: &Part) {
        std::mem::swap(&mut self.before, &mut self.now);
        self.now[part.rows.start * self.runs..part.rows.end * self.runs].fill(0);
    }

    /// How many runs a row has.
    pub fn runs(&self) -> usize {
        self.runs - 2
    }
}
