//! [`Active`]: tracks where a sweep may still change something.

use crate::plane::{LANES, PlanePart};
use thalweg_core::Size;

/// The runs of [`LANES`] cells in which the last sweep changed something. A sweep reads one cell in each direction,
/// so a run is unchanged by the next sweep if neither it nor a neighbouring run has changed, and then both planes of
/// the sweep already contain its values.
pub(super) struct Active {
    runs: usize,
    before: Vec<u8>,
    now: Vec<u8>,
}

impl Active {
    /// Creates the tracker for planes of this size; every run may change.
    pub fn new([rows, cols]: Size) -> Self {
        // One run of padding at both ends of a row.
        let runs = cols.div_ceil(LANES) + 2;
        Self { runs, before: vec![1; (rows + 2) * runs], now: vec![0; (rows + 2) * runs] }
    }

    /// Marks every run as one that may change.
    pub fn mark_all_active(&mut self) {
        self.before.fill(1);
    }

    /// Sets `todo` to 1 for the runs of row `i` that must be processed, and returns the flags in which to mark those
    /// that changed.
    pub fn prepare_row(&mut self, i: usize, todo: &mut [u8]) -> &mut [u8] {
        let runs = self.runs;
        let of = |i: usize| &self.before[i * runs..(i + 1) * runs];
        let (north, here, south) = (of(i - 1), of(i), of(i + 1));
        for (x, todo) in todo.iter_mut().enumerate().take(runs - 2) {
            // With the padding, run x of the cells is run x + 1 of the flags. Its neighbours are on either side.
            let any = |row: &[u8]| row[x] | row[x + 1] | row[x + 2];
            *todo = any(north) | any(here) | any(south);
        }
        &mut self.now[i * runs + 1..(i + 1) * runs - 1]
    }

    /// Makes the marks of this sweep the current ones, once the rows of a part are done. Nothing is known of other
    /// rows; they are not read any more, since each sweep is smaller than the one before.
    pub fn finish_sweep(&mut self, part: &PlanePart) {
        std::mem::swap(&mut self.before, &mut self.now);
        self.now[part.rows.start * self.runs..part.rows.end * self.runs].fill(0);
    }

    /// Returns the number of runs in a row.
    pub fn runs_per_row(&self) -> usize {
        self.runs - 2
    }
}
