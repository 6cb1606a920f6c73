//! Runs all stages of a time step over a band of rows, in one pass and in place.
//!
//! Each row is read once and written once. The intermediate results that a stage needs of neighbouring rows are kept
//! in ring buffers of the last few rows. Each stage runs one row behind the previous one: when row i is loaded, its
//! predecessor i − 1 gets new speeds, i − 2 gets limited flows, i − 3 gets its new water and bed, and the sediment of
//! row i − 4 is moved, which finishes that row. No stage therefore reads an old value from a row that has already
//! been overwritten. The rows adjacent to the band are copied before any band is processed, because another thread
//! overwrites them.

use crate::models::pipes::bed;
use crate::models::pipes::plan::StepInputs;
use crate::models::pipes::row_state::{AdjacentRows, BandRows, RowState};
use crate::models::pipes::rows::{PAD, count_kernel_columns};
use crate::models::pipes::span::{BandBuffers, ColumnSpan};
use crate::models::pipes::step_totals::StepTotals;
use crate::models::pipes::water;
use thalweg_core::{Edge, Height};

/// The distance in cells from which a time step reads state: one cell for each of the four stages that follow loading
/// (new speeds, limited flows, bed, sediment).
pub const REACH: usize = 4;

/// A band of rows and copies of the rows adjacent to it.
pub struct PipeBand<'a> {
    pub here: BandRows<'a>,
    pub adjacent_rows: [&'a AdjacentRows; 2],
    /// The column ranges [from, to) that contain any activity.
    pub spans: Vec<[usize; 2]>,
}

impl PipeBand<'_> {
    /// Runs the time step for the whole band and returns the sums of each row.
    pub fn run_step(mut self, plan: &StepInputs<'_>, scratch: &mut BandBuffers) -> Vec<StepTotals> {
        let count = self.here.state.ground.len() / plan.grid.cols();
        let mut sums = vec![StepTotals::default(); count];
        // Spans do not touch each other: the land between them is dry and does not change.
        for span in std::mem::take(&mut self.spans) {
            self.run_columns(plan, scratch, span, &mut sums);
        }
        sums
    }

    /// Returns columns [from, to) of row `i` of the map as they are before the step.
    pub(super) fn row_before_step(&self, i: usize, [from, to]: [usize; 2], cols: usize) -> RowState<&[Height], &[f32]> {
        let here = &self.here;
        let cells = |first: usize| (i - first) * cols + from..(i - first) * cols + to;
        if (here.first..here.first + here.state.ground.len() / cols).contains(&i) {
            return here.state.slice_cells(cells(here.first));
        }
        let adjacent = self.adjacent_rows[usize::from(i > here.first)];
        adjacent.state.slice_cells(cells(adjacent.first))
    }

    /// Runs the step over columns [from, to) of the band.
    fn run_columns(
        &mut self,
        plan: &StepInputs<'_>,
        scratch: &mut BandBuffers,
        columns: [usize; 2],
        sums: &mut [StepTotals],
    ) {
        let [rows, cols] = plan.grid.size;
        let (first, count) = (self.here.first, sums.len());
        let span = begin_span(plan, scratch, columns);
        let len = span.len;
        // Row i of the map has number i + 2·REACH, so that rows north of the map have a non-negative number as well.
        let number = |i: usize| i + 2 * REACH;
        // The pass begins REACH rows north of the band and ends as far south of it, since each stage needs the results
        // of the stage before it on one more row.
        for n in number(first) - REACH..number(first + count) + REACH {
            // Maps a row's number to its row of the map, and to its index in the band, if it has one.
            let row = |n: usize| n.checked_sub(2 * REACH).filter(|i| *i < rows);
            let mine = |n: usize| row(n).and_then(|i| i.checked_sub(first)).filter(|b| *b < count);

            let loaded = self.load_row(&span, scratch, n, row(n));
            span.compute_flows(scratch, n);
            if let Some(b) = mine(n) {
                sums[b].rained += loaded[0];
                sums[b].poured += loaded[1];
                sums[b].drained += loaded[2];
            }
            // Flows are needed from two rows north of the band on.
            let near = |n: usize| n + 2 >= number(first);
            let limited =
                if near(n - 1) { span.update_speeds(scratch, n - 1, row(n - 1), n - 1 == number(rows)) } else { 0 };
            if let Some(b) = mine(n - 1) {
                sums[b].limited += limited;
            }
            let limited = if near(n - 2) { span.limit_flows(scratch, n - 2) } else { 0 };
            if let Some(b) = mine(n - 2) {
                sums[b].limited += limited;
                // Water that left over the western, eastern or northern edge. That over the southern edge is added
                // below, when the row beyond it is processed.
                sums[b].drained += span.sum_edge_outflow(scratch, n - 2, row(n - 2));
                let cut = b * cols + span.columns[0]..b * cols + span.columns[1];
                for (pipes, speed) in self.here.state.pipes.iter_mut().zip(&scratch.speed) {
                    pipes[cut.clone()].copy_from_slice(&speed.row(n - 2)[..len]);
                }
            } else if n - 2 == number(rows) && first + count == rows {
                let south = &scratch.moved[1].row(n - 2)[..len];
                sums[count - 1].drained += south.iter().map(|moved| f64::from(*moved)).sum::<f64>();
            }
            // The rows next to the band are computed too, for the sediment that they send; beyond the map there is
            // none.
            match row(n - 3).filter(|i| i + 1 >= first && *i <= first + count) {
                Some(i) => self.update_water_and_bed(&span, scratch, n - 3, i, mine(n - 3).map(|b| &mut sums[b])),
                None => {
                    scratch.suspended.padded_row_mut(n - 3).fill(0);
                    scratch.leaving.padded_row_mut(n - 3).fill(0.0);
                }
            }
            if let Some(b) = mine(n - 4) {
                self.move_sediment(&span, scratch, n - 4, b, &mut sums[b]);
            }
        }
    }

    /// Loads a row, adds its rain and sets water below the sea to sea level. Returns the rain, the water added to
    /// reach sea level and the water removed for it, each in metres summed over the row's cells.
    fn load_row(&self, span: &ColumnSpan<'_>, scratch: &mut BandBuffers, n: usize, row: Option<usize>) -> [f64; 3] {
        let (plan, len, width) = (span.plan, span.len, span.width);
        let [rows, cols] = plan.grid.size;
        let (ground, water) = (scratch.ground.padded_row_mut(n), scratch.water.padded_row_mut(n));
        let [west, north] = &mut scratch.pipes;
        let Some(i) = row else {
            ground.fill(0);
            water.fill(0.0);
            // Water crosses the southern edge as fast as it crosses the last row's northern side.
            let last = (n == rows + 2 * REACH && span.poles[1] && rows > 1)
                .then(|| north.padded_row(n - 1).iter().map(|flow| flow.max(0.0)).collect::<Vec<f32>>());
            west.padded_row_mut(n).fill(0.0);
            match last {
                Some(last) => north.padded_row_mut(n).copy_from_slice(&last),
                None => north.padded_row_mut(n).fill(0.0),
            }
            return [0.0; 3];
        };
        let from = self.row_before_step(i, span.columns, cols);
        for (to, from) in ground[PAD..].iter_mut().zip(from.ground) {
            *to = from.0;
        }
        // The padding repeats the ground of the first and the last cell.
        let [first, last] = [ground[PAD], ground[PAD + len - 1]];
        ground[..PAD].fill(first);
        ground[PAD + len..].fill(last);
        water[PAD..PAD + len].copy_from_slice(from.water);
        water[PAD + len..].fill(0.0);
        let void = plan.masks.void.map(|void| &void.row(i)[span.columns[0]..span.columns[1]]);
        if !plan.rain.is_even() || plan.masks.rain.is_some() || void.is_some() {
            let mask = plan.masks.rain.map(|mask| &mask.row(i)[span.columns[0]..span.columns[1]]);
            plan.rain.fill_row(plan.grid, [i, span.columns[0]], mask, void, &mut scratch.rain[PAD..PAD + len]);
        }
        // The sea is filled before it rains, so that rain on it counts as rain and not as water of the sea.
        let [poured, taken] = span.fill_to_sea_level(&ground[PAD..], &mut water[PAD..], void);
        let rained = water::add_rain(&mut water[PAD..], &scratch.rain[PAD..], width);
        if let Some(void) = void {
            for (water, void) in water[PAD..].iter_mut().zip(void) {
                *water = if *void { 0.0 } else { *water };
            }
        }
        let (west, north) = (west.padded_row_mut(n), north.padded_row_mut(n));
        west[PAD..PAD + len].copy_from_slice(from.pipes[0]);
        north[PAD..PAD + len].copy_from_slice(from.pipes[1]);
        west[PAD + len..].fill(0.0);
        north[PAD + len..].fill(0.0);
        // Water crosses an edge as fast as it crosses the opposite side of the outermost cell.
        west[PAD] = if span.ends[0] && len > 1 { west[PAD + 1].min(0.0) } else { 0.0 };
        west[PAD + len] = if span.ends[1] && len > 1 { west[PAD + len - 1].max(0.0) } else { 0.0 };
        if i == 0 {
            north[PAD..PAD + len].fill(0.0);
            if span.poles[0] && rows > 1 {
                for (to, from) in north[PAD..].iter_mut().zip(self.row_before_step(1, span.columns, cols).pipes[1]) {
                    *to = from.min(0.0);
                }
            }
        }
        [rained, poured, taken]
    }
}

/// Returns the pass over columns [from, to), and fills the temporary rows that are the same for all rows of the map.
fn begin_span<'a>(plan: &'a StepInputs<'a>, scratch: &mut BandBuffers, columns: [usize; 2]) -> ColumnSpan<'a> {
    let cols = plan.grid.cols();
    let len = columns[1] - columns[0];
    let open = plan.grid.edges.map(|edge| edge == Edge::Open);
    // An end of the span inside the map lies in dry land, where no water arrives, so it can be treated as a wall.
    let ends = [open[3] && columns[0] == 0, open[1] && columns[1] == cols];
    let span = ColumnSpan { plan, columns, len, width: count_kernel_columns(len), ends, poles: [open[0], open[2]] };
    for (j, per) in scratch.across[PAD..PAD + len].iter_mut().enumerate() {
        let j = span.columns[0] + j;
        *per = bed::per_distance(plan.grid.cell, j == 0 || j + 1 == cols);
    }
    // Even rain is written once and is the same for every row; `load_row` overwrites it where rows differ.
    plan.rain.fill_row(plan.grid, [0, 0], None, None, &mut scratch.rain[PAD..PAD + len]);
    scratch.rain[PAD + len..].fill(0.0);
    span
}
