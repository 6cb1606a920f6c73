//! The sediment stage of a time step: it moves the suspended sediment of a row, which finishes the row.

use crate::models::pipes::band::PipeBand;
use crate::models::pipes::rows::PAD;
use crate::models::pipes::span::{BandBuffers, ColumnSpan};
use crate::models::pipes::step_totals::StepTotals;
use crate::models::pipes::transport;
use thalweg_core::Height;

impl PipeBand<'_> {
    /// Moves the suspended sediment of row `b` of the band and writes it back.
    pub(super) fn move_sediment(
        &mut self,
        span: &ColumnSpan<'_>,
        scratch: &mut BandBuffers,
        n: usize,
        b: usize,
        sums: &mut StepTotals,
    ) {
        let (plan, len) = (span.plan, span.len);
        let cols = plan.grid.cols();
        let i = self.here.first + b;
        let cut = b * cols + span.columns[0]..b * cols + span.columns[1];
        let max_suspended = if plan.backward {
            span.look_up_sediment(scratch, n, i, sums);
            transport::MAX_SUSPENDED_UNITS
        } else {
            span.send_sediment(scratch, n, i, sums)
        };
        let after = &scratch.units[0][PAD..];
        for (to, from) in self.here.state.suspended[cut.clone()].iter_mut().zip(&after[..len]) {
            *to = Height(*from);
        }
        // Few cells are ever above the limit: the row is searched only if its greatest value is.
        if max_suspended > transport::MAX_SUSPENDED_UNITS {
            let here = &mut self.here.state;
            for k in cut {
                let much = here.suspended[k].0 - transport::MAX_SUSPENDED_UNITS;
                if much > 0 {
                    sums.limited += 1;
                    deposit_suspended(much, [&mut here.ground[k], &mut here.loose[k], &mut here.suspended[k]], sums);
                }
            }
        }
    }
}

impl ColumnSpan<'_> {
    /// Looks up the sediment of row `n`, which is row `i` of the map, where its water was one step ago.
    fn look_up_sediment(&self, scratch: &mut BandBuffers, n: usize, i: usize, sums: &mut StepTotals) {
        let (plan, len, width) = (self.plan, self.len, self.width);
        let after = &mut scratch.units[0][PAD..];
        let before = |n: usize| &scratch.suspended.row(n)[..len];
        // Beyond the edges the sediment of the outermost cell or row is repeated.
        let rim = |n: usize| {
            let mut row = scratch.suspended.padded_row(n).to_vec();
            [row[PAD - 1], row[PAD + len]] = [row[PAD], row[PAD + len - 1]];
            row
        };
        let here = rim(n);
        let north = if i > 0 { rim(n - 1) } else { here.clone() };
        let south = if i + 1 < plan.grid.rows() { rim(n + 1) } else { here.clone() };
        let rows = [&north, &here, &south].map(|row| &row[PAD - 1..]);
        let velocity = [scratch.velocity[0].row(n), scratch.velocity[1].row(n)];
        transport::interpolate_backward(rows, velocity, plan.law.ratio, after, width);
        if let Some(void) = plan.masks.void {
            for (s, void) in after.iter_mut().zip(&void.row(i)[self.columns[0]..self.columns[1]]) {
                *s = if *void { 0 } else { *s };
            }
        }
        let sum = |row: &[i32]| row.iter().map(|s| i64::from(*s)).sum::<i64>();
        sums.rounded += sum(&after[..len]) - sum(before(n));
    }

    /// Lets sediment leave and enter the cells of row `n`, which is row `i` of the map, with the water. Returns the
    /// most units that are in a cell then.
    fn send_sediment(&self, scratch: &mut BandBuffers, n: usize, i: usize, sums: &mut StepTotals) -> i32 {
        let (plan, len, width) = (self.plan, self.len, self.width);
        let rows = plan.grid.rows();
        let after = &mut scratch.units[0][PAD..];
        // Sediment leaves with the water of each side. What the neighbours send follows from their own rows.
        let leaving = [
            scratch.leaving.row(n),
            scratch.leaving.western_neighbours(n),
            scratch.leaving.eastern_neighbours(n),
            scratch.leaving.row(n - 1),
            scratch.leaving.row(n + 1),
        ];
        let flow = [
            scratch.flow[0].row(n),
            scratch.flow[0].eastern_neighbours(n),
            scratch.flow[1].row(n),
            scratch.flow[1].row(n + 1),
        ];
        let max_suspended = transport::transport_sediment(scratch.suspended.row(n), leaving, flow, after, width);
        let [west, east, north, south] = flow;
        let gone = |outward: f32, j: usize| i64::from(transport::compute_single_transfer(outward, leaving[0][j], 0.0));
        // Flows over the edges have no receiving cell, so that they are summed on their own.
        sums.exported += if self.ends[0] { gone(-west[0], 0) } else { 0 };
        sums.exported += if self.ends[1] { gone(east[len - 1], len - 1) } else { 0 };
        for (edge, at_edge, sign) in [(north, i == 0, -1.0), (south, i + 1 == rows, 1.0)] {
            if at_edge {
                sums.exported += (0..len).map(|j| gone(sign * edge[j], j)).sum::<i64>();
            }
        }
        if let Some(void) = plan.masks.void {
            for (s, _) in after.iter_mut().zip(&void.row(i)[self.columns[0]..self.columns[1]]).filter(|(_, v)| **v) {
                sums.exported += i64::from(std::mem::take(s));
            }
        }
        max_suspended
    }
}

/// Deposits `much` units of a cell's suspended sediment on its ground, as far as the height ranges allow. The rest is
/// lost and is counted as rounded.
pub fn deposit_suspended(much: i32, [ground, loose, suspended]: [&mut Height; 3], sums: &mut StepTotals) {
    let room = (Height::MAX.0 - ground.0).min(i32::MAX - loose.0).max(0);
    let deposited = much.min(room);
    ground.0 += deposited;
    loose.0 += deposited;
    suspended.0 -= much;
    sums.deposited += i64::from(deposited);
    sums.rounded -= i64::from(much - deposited);
}
