//! The bed stage of a time step: it moves the water of a row, and erodes and deposits on the row's bed.

use crate::models::pipes::band::PipeBand;
use crate::models::pipes::bed::{self, CellInputs, CellOut};
use crate::models::pipes::rows::{PAD, RowRing};
use crate::models::pipes::span::{BandBuffers, ColumnSpan};
use crate::models::pipes::step_totals::StepTotals;
use crate::models::pipes::water;
use thalweg_core::Height;

impl PipeBand<'_> {
    /// Moves the water of row `i`, erodes and deposits on its bed, and writes both back if the row belongs to this
    /// band.
    pub(super) fn update_water_and_bed(
        &mut self,
        span: &ColumnSpan<'_>,
        scratch: &mut BandBuffers,
        n: usize,
        i: usize,
        sums: Option<&mut StepTotals>,
    ) {
        let evaporated = span.move_water(scratch, n);
        self.copy_bed_state(span, scratch, i);
        let [dug, deposited] = span.change_bed(scratch, n, i);
        // A row next to the band was computed only because the band reads it: its own band counts and stores it.
        let Some(sums) = sums else { return };
        sums.evaporated += evaporated;
        sums.dug += dug;
        sums.deposited += deposited;
        self.store_water_and_bed(span, scratch, n, i, sums);
    }

    /// Copies the old state of the bed of row `i`, and its shares of erosion, into padded rows.
    fn copy_bed_state(&self, span: &ColumnSpan<'_>, scratch: &mut BandBuffers, i: usize) {
        let (plan, len) = (span.plan, span.len);
        let [_, _, soft, bare, old, _] = &mut scratch.floats;
        let [loose, suspended, ..] = &mut scratch.units;
        // The padding is zeroed, because kernels process it as well.
        let row = self.row_before_step(i, span.columns, plan.grid.cols());
        for (to, from) in loose[PAD..].iter_mut().zip(row.loose) {
            *to = from.0;
        }
        for (to, from) in suspended[PAD..].iter_mut().zip(row.suspended) {
            *to = from.0;
        }
        old[PAD..PAD + len].copy_from_slice(row.fraction);
        loose[PAD + len..].fill(0);
        suspended[PAD + len..].fill(0);
        old[PAD + len..].fill(0.0);
        for (mask, out) in [(plan.masks.hardness, &mut *soft), (plan.masks.protect, &mut *bare)] {
            if let Some(mask) = mask {
                bed::write_complements(&mask.row(i)[span.columns[0]..span.columns[1]], &mut out[PAD..]);
            } else if span.has_erosion_masks() {
                out.fill(1.0);
            }
        }
    }

    /// Writes the new water and bed of row `i` into the band.
    fn store_water_and_bed(
        &mut self,
        span: &ColumnSpan<'_>,
        scratch: &mut BandBuffers,
        n: usize,
        i: usize,
        sums: &mut StepTotals,
    ) {
        let (plan, len) = (span.plan, span.len);
        let cols = plan.grid.cols();
        let [after, remaining_water, .., fraction] = &mut scratch.floats;
        let [_, _, ground, above, ..] = &mut scratch.units;
        let void = plan.masks.void.map(|void| void.row(i));
        let [poured, taken] = span.fill_to_sea_level(
            &ground[PAD..],
            &mut remaining_water[PAD..],
            void.map(|void| &void[span.columns[0]..]),
        );
        sums.poured += poured;
        sums.drained += taken;
        let at = (i - self.here.first) * cols;
        let cut = at + span.columns[0]..at + span.columns[1];
        if let Some(void) = void {
            // Water that reached a cell without data has left the map; the cell itself stays unchanged.
            for (j, _) in void[span.columns[0]..span.columns[1]].iter().enumerate().filter(|(_, void)| **void) {
                sums.drained += f64::from(after[PAD + j]);
                sums.evaporated -= f64::from(after[PAD + j] - remaining_water[PAD + j]);
                remaining_water[PAD + j] = 0.0;
            }
        }
        let here = &mut self.here.state;
        for (to, from) in here.ground[cut.clone()].iter_mut().zip(&ground[PAD..]) {
            *to = Height(*from);
        }
        for (to, from) in here.loose[cut.clone()].iter_mut().zip(&above[PAD..]) {
            *to = Height(*from);
        }
        here.water[cut.clone()].copy_from_slice(&remaining_water[PAD..PAD + len]);
        here.fraction[cut.clone()].copy_from_slice(&fraction[PAD..PAD + len]);
        if let Some(velocity) = &mut self.here.velocity {
            for (to, from) in velocity.iter_mut().zip(&scratch.velocity) {
                for (to, from) in to[cut.clone()].iter_mut().zip(from.row(n)) {
                    // Adding 0.0 turns a negative zero into a positive one, so that equal results have equal bits.
                    *to = from + 0.0;
                }
            }
        }
    }
}

impl ColumnSpan<'_> {
    /// Moves the water of row `n` and evaporates some of it. Returns the evaporated metres, summed over the cells.
    fn move_water(&self, scratch: &mut BandBuffers, n: usize) -> f64 {
        let (plan, len, width) = (self.plan, self.len, self.width);
        let [after, remaining_water, ..] = &mut scratch.floats;
        let moved = [
            scratch.moved[0].row(n),
            scratch.moved[0].eastern_neighbours(n),
            scratch.moved[1].row(n),
            scratch.moved[1].row(n + 1),
        ];
        let water = scratch.water.row(n);
        // The water moves first: the bed changes by the flow of this step, between the depths before and after it.
        let evaporated =
            water::update_depths(water, moved, plan.stays, [&mut after[PAD..], &mut remaining_water[PAD..]], width);
        // The water that crossed the eastern edge is stored in the padding beyond it; its evaporation does not count.
        evaporated - f64::from(after[PAD + len] - remaining_water[PAD + len])
    }

    /// Erodes and deposits on the bed of row `n`, which is row `i` of the map. Returns the eroded and the deposited
    /// sum in height units.
    fn change_bed(&self, scratch: &mut BandBuffers, n: usize, i: usize) -> [i64; 2] {
        let (plan, width) = (self.plan, self.width);
        let [after, _, soft, bare, old, fraction] = &mut scratch.floats;
        let [loose, suspended, ground, above, neighbours @ ..] = &mut scratch.units;
        let flow = [
            scratch.flow[0].row(n),
            scratch.flow[0].eastern_neighbours(n),
            scratch.flow[1].row(n),
            scratch.flow[1].row(n + 1),
        ];
        let around = self.collect_ground(&scratch.ground, neighbours, bare, n, i);
        // Erosion and deposition write into temporary rows; the band's rows still have their old values.
        let here = CellInputs {
            ground: around,
            across: &scratch.across[PAD..],
            along: bed::per_distance(plan.grid.cell, i == 0 || i + 1 == plan.grid.rows()),
            water: [scratch.water.row(n), &after[PAD..]],
            flows: flow,
            suspended: &suspended[PAD..],
            loose: &loose[PAD..],
            fraction: &old[PAD..],
            soft: &soft[PAD..],
            bare: &bare[PAD..],
        };
        let [u, v] = &mut scratch.velocity;
        let mut out = CellOut {
            ground: &mut ground[PAD..],
            loose: &mut above[PAD..],
            suspended: scratch.suspended.row_mut(n),
            fraction: &mut fraction[PAD..],
            velocity: [u.row_mut(n), v.row_mut(n)],
            leaving: scratch.leaving.row_mut(n),
        };
        bed::erode_and_deposit(&here, &plan.rates, &mut out, width)
    }

    /// Returns the ground of row `n` and of its western, eastern, northern and southern neighbours. Where there are
    /// cells without data, it is collected in the rows `neighbours`, and `bare` is set to 0 in these cells.
    fn collect_ground<'a>(
        &self,
        ring: &'a RowRing<i32>,
        neighbours: &'a mut [Vec<i32>; 4],
        bare: &mut [f32],
        n: usize,
        i: usize,
    ) -> [&'a [i32]; 5] {
        let (plan, len) = (self.plan, self.len);
        let [rows, cols] = plan.grid.size;
        // A neighbour beyond an edge or without data counts as high as the cell itself.
        let z = ring.row(n);
        let mut around = [z, ring.western_neighbours(n), ring.eastern_neighbours(n), z, z];
        if i > 0 {
            around[3] = ring.row(n - 1);
        }
        if i + 1 < rows {
            around[4] = ring.row(n + 1);
        }
        if let Some(void) = plan.masks.void {
            let [west, east, north, south] = neighbours;
            let known = |i: Option<usize>, j: Option<usize>| match (i, j) {
                (Some(i), Some(j)) => i < rows && j < cols && !void.row(i)[j],
                _ => false,
            };
            for j in 0..len {
                let c = self.columns[0] + j;
                let or_here = |known: bool, ground: &[i32]| if known { ground[j] } else { z[j] };
                west[PAD + j] = or_here(known(Some(i), c.checked_sub(1)), around[1]);
                east[PAD + j] = or_here(known(Some(i), Some(c + 1)), around[2]);
                north[PAD + j] = or_here(known(i.checked_sub(1), Some(c)), around[3]);
                south[PAD + j] = or_here(known(Some(i + 1), Some(c)), around[4]);
                bare[PAD + j] = if void[(i, c)] { 0.0 } else { bare[PAD + j] };
            }
            around = [z, &west[PAD..], &east[PAD..], &north[PAD..], &south[PAD..]];
        }
        around
    }
}
