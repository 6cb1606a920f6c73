//! Runs all stages of a time step over a band of rows, in one pass and in place.
//!
//! Each row is read once and written once. The intermediate results that a stage needs of neighbouring rows are kept
//! in ring buffers of the last few rows. Each stage runs one row behind the previous one: when row i is loaded, its
//! predecessor i − 1 gets new speeds, i − 2 gets limited flows, i − 3 gets its new water and bed, and the sediment of
//! row i − 4 is moved, which finishes that row. No stage therefore reads an old value from a row that has already
//! been overwritten. The rows adjacent to the band are copied before any band is processed, because another thread
//! overwrites them.

use std::ops::{Deref, Range};

use crate::models::pipes::bed::{self, CellOut, Here};
use crate::models::pipes::plan::Plan;
use crate::models::pipes::rows::{PAD, whole};
use crate::models::pipes::span::{Scratch, Span};
use crate::models::pipes::transport;
use crate::models::pipes::water;
use thalweg_core::{Edge, Height};

/// The distance in cells from which a time step reads state: one cell for each of the four stages that follow loading
/// (new speeds, limited flows, bed, sediment).
pub const REACH: usize = 4;

/// The sums of one time step over cells: water as a depth in metres summed over cells, solids in height units
/// (1/65 536 m).
#[derive(Debug, Clone, Copy, Default)]
pub struct Sums {
    /// Water that fell as rain.
    pub rained: f64,
    /// Water added by springs, the initial lake and the sea.
    pub poured: f64,
    /// Water that evaporated.
    pub evaporated: f64,
    /// Water that left over edges, into cells without data and into the sea.
    pub drained: f64,
    /// Eroded units.
    pub dug: i64,
    /// Deposited units.
    pub laid: i64,
    /// Suspended units that left over an open edge or into cells without data.
    pub exported: i64,
    /// Units created (or lost, if negative) by interpolation and by clamping.
    pub rounded: i64,
    /// The number of values that were clamped.
    pub limited: u64,
}

/// The state of some rows, generic over the containers of heights (`H`) and of floating-point values (`F`).
#[derive(Default)]
pub struct State<H, F> {
    pub ground: H,
    pub loose: H,
    pub water: F,
    /// The speeds in m/s in the pipes through the west and the north side of each cell.
    pub pipes: [F; 2],
    pub suspended: H,
    pub fraction: F,
}

impl<H: Deref<Target = [Height]>, F: Deref<Target = [f32]>> State<H, F> {
    /// Returns the state of a range of cells.
    fn part(&self, cells: Range<usize>) -> State<&[Height], &[f32]> {
        State {
            ground: &self.ground[cells.clone()],
            loose: &self.loose[cells.clone()],
            water: &self.water[cells.clone()],
            pipes: self.pipes.each_ref().map(|pipes| &pipes[cells.clone()]),
            suspended: &self.suspended[cells.clone()],
            fraction: &self.fraction[cells],
        }
    }
}

/// The rows that a band updates, from row `first` of the map on.
pub struct Rows<'a> {
    pub first: usize,
    pub state: State<&'a mut [Height], &'a mut [f32]>,
    /// The eastward and southward velocity in m/s, if the model is set to write these layers.
    pub velocity: Option<[&'a mut [f32]; 2]>,
}

/// A copy of the rows adjacent to a band, from row `first` of the map on.
#[derive(Default)]
pub struct Beside {
    pub first: usize,
    pub state: State<Vec<Height>, Vec<f32>>,
}

/// A band of rows and copies of the rows adjacent to it.
pub struct Band<'a> {
    pub here: Rows<'a>,
    pub beside: [&'a Beside; 2],
    /// The column ranges [from, to) that contain any activity.
    pub spans: Vec<[usize; 2]>,
}

impl Band<'_> {
    /// Runs the time step for the whole band and returns the sums of each row.
    pub fn step(mut self, plan: &Plan<'_>, scratch: &mut Scratch) -> Vec<Sums> {
        let count = self.here.state.ground.len() / plan.grid.cols();
        let mut sums = vec![Sums::default(); count];
        for span in std::mem::take(&mut self.spans) {
            self.pass(plan, scratch, span, &mut sums);
        }
        sums
    }

    /// Returns columns [from, to) of row `i` of the map as they are before the step.
    fn row(&self, i: usize, [from, to]: [usize; 2], cols: usize) -> State<&[Height], &[f32]> {
        let here = &self.here;
        let cells = |first: usize| (i - first) * cols + from..(i - first) * cols + to;
        if (here.first..here.first + here.state.ground.len() / cols).contains(&i) {
            return here.state.part(cells(here.first));
        }
        let beside = self.beside[usize::from(i > here.first)];
        beside.state.part(cells(beside.first))
    }

    /// Runs the step over columns [from, to) of the band.
    fn pass(&mut self, plan: &Plan<'_>, scratch: &mut Scratch, columns: [usize; 2], sums: &mut [Sums]) {
        let [rows, cols] = plan.grid.size;
        let (first, count) = (self.here.first, sums.len());
        let len = columns[1] - columns[0];
        let open = plan.grid.edges.map(|edge| edge == Edge::Open);
        // An end of the span inside the map lies in dry land, where no water arrives, so it can be treated as a wall.
        let ends = [open[3] && columns[0] == 0, open[1] && columns[1] == cols];
        let span = Span { plan, columns, len, width: whole(len), ends, poles: [open[0], open[2]] };
        for (j, per) in scratch.across[PAD..PAD + len].iter_mut().enumerate() {
            let j = span.columns[0] + j;
            *per = bed::per_distance(plan.grid.cell, j == 0 || j + 1 == cols);
        }
        plan.rain.row(plan.grid, [0, 0], None, None, &mut scratch.rain[PAD..PAD + len]);
        scratch.rain[PAD + len..].fill(0.0);
        // Row i of the map has number i + 2·REACH, so that rows north of the map have a non-negative number as well.
        let number = |i: usize| i + 2 * REACH;
        for n in number(first) - REACH..number(first + count) + REACH {
            // Maps a row's number to its row of the map, and to its index in the band, if it has one.
            let row = |n: usize| n.checked_sub(2 * REACH).filter(|i| *i < rows);
            let mine = |n: usize| row(n).and_then(|i| i.checked_sub(first)).filter(|b| *b < count);

            let loaded = self.load(&span, scratch, n, row(n));
            span.flows(scratch, n);
            if let Some(b) = mine(n) {
                sums[b].rained += loaded[0];
                sums[b].poured += loaded[1];
                sums[b].drained += loaded[2];
            }
            // Flows are needed from two rows north of the band on.
            let near = |n: usize| n + 2 >= number(first);
            let held = if near(n - 1) { span.pull(scratch, n - 1, row(n - 1), n - 1 == number(rows)) } else { 0 };
            if let Some(b) = mine(n - 1) {
                sums[b].limited += held;
            }
            let held = if near(n - 2) { span.share(scratch, n - 2) } else { 0 };
            if let Some(b) = mine(n - 2) {
                sums[b].limited += held;
                // Water that left over the western, eastern or northern edge. That over the southern edge is added
                // below, when the row beyond it is processed.
                sums[b].drained += span.drained(scratch, n - 2, row(n - 2));
                let cut = b * cols + span.columns[0]..b * cols + span.columns[1];
                for (pipes, speed) in self.here.state.pipes.iter_mut().zip(&scratch.speed) {
                    pipes[cut.clone()].copy_from_slice(&speed.at(n - 2)[..len]);
                }
            } else if n - 2 == number(rows) && first + count == rows {
                let south = &scratch.moved[1].at(n - 2)[..len];
                sums[count - 1].drained += south.iter().map(|moved| f64::from(*moved)).sum::<f64>();
            }
            match row(n - 3).filter(|i| i + 1 >= first && *i <= first + count) {
                Some(i) => self.dig(&span, scratch, n - 3, i, mine(n - 3).map(|b| &mut sums[b])),
                None => {
                    scratch.suspended.all_mut(n - 3).fill(0);
                    scratch.leaving.all_mut(n - 3).fill(0.0);
                }
            }
            if let Some(b) = mine(n - 4) {
                self.carry(&span, scratch, n - 4, b, &mut sums[b]);
            }
        }
    }

    /// Loads a row, adds its rain and sets water below the sea to sea level. Returns the rain, the water added to
    /// reach sea level and the water removed for it, each in metres summed over the row's cells.
    fn load(&self, span: &Span<'_>, scratch: &mut Scratch, n: usize, row: Option<usize>) -> [f64; 3] {
        let (plan, len, width) = (span.plan, span.len, span.width);
        let [rows, cols] = plan.grid.size;
        let (ground, water) = (scratch.ground.all_mut(n), scratch.water.all_mut(n));
        let [west, north] = &mut scratch.pipes;
        let Some(i) = row else {
            ground.fill(0);
            water.fill(0.0);
            // Water crosses the southern edge as fast as it crosses the last row's northern side.
            let last = (n == rows + 2 * REACH && span.poles[1] && rows > 1)
                .then(|| north.all(n - 1).iter().map(|flow| flow.max(0.0)).collect::<Vec<f32>>());
            west.all_mut(n).fill(0.0);
            match last {
                Some(last) => north.all_mut(n).copy_from_slice(&last),
                None => north.all_mut(n).fill(0.0),
            }
            return [0.0; 3];
        };
        let from = self.row(i, span.columns, cols);
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
            plan.rain.row(plan.grid, [i, span.columns[0]], mask, void, &mut scratch.rain[PAD..PAD + len]);
        }
        let [poured, taken] = span.sea(&ground[PAD..], &mut water[PAD..], void);
        let rained = water::wet(&mut water[PAD..], &scratch.rain[PAD..], width);
        if let Some(void) = void {
            for (water, void) in water[PAD..].iter_mut().zip(void) {
                *water = if *void { 0.0 } else { *water };
            }
        }
        let (west, north) = (west.all_mut(n), north.all_mut(n));
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
                for (to, from) in north[PAD..].iter_mut().zip(self.row(1, span.columns, cols).pipes[1]) {
                    *to = from.min(0.0);
                }
            }
        }
        [rained, poured, taken]
    }

    /// Moves the water of row `i`, erodes and deposits on its bed, and writes both back if the row belongs to this
    /// band.
    fn dig(&mut self, span: &Span<'_>, scratch: &mut Scratch, n: usize, i: usize, sums: Option<&mut Sums>) {
        let (plan, len, width) = (span.plan, span.len, span.width);
        let [rows, cols] = plan.grid.size;
        let [after, left, soft, bare, old, fraction] = &mut scratch.floats;
        let [loose, suspended, ground, above, west, east, north, south] = &mut scratch.units;
        let flow = [scratch.flow[0].at(n), scratch.flow[0].east(n), scratch.flow[1].at(n), scratch.flow[1].at(n + 1)];
        let moved =
            [scratch.moved[0].at(n), scratch.moved[0].east(n), scratch.moved[1].at(n), scratch.moved[1].at(n + 1)];
        let water = scratch.water.at(n);
        let evaporated = water::fill(water, moved, plan.stays, [&mut after[PAD..], &mut left[PAD..]], width);
        // The water that crossed the eastern edge is stored in the padding beyond it; its evaporation does not count.
        let evaporated = evaporated - f64::from(after[PAD + len] - left[PAD + len]);

        let row = self.row(i, span.columns, cols);
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
                bed::less(&mask.row(i)[span.columns[0]..span.columns[1]], &mut out[PAD..]);
            } else if span.masked() {
                out.fill(1.0);
            }
        }
        let void = plan.masks.void.map(|void| void.row(i));
        // A neighbour beyond an edge or without data counts as high as the cell itself.
        let z = scratch.ground.at(n);
        let mut around = [z, scratch.ground.west(n), scratch.ground.east(n), z, z];
        if i > 0 {
            around[3] = scratch.ground.at(n - 1);
        }
        if i + 1 < rows {
            around[4] = scratch.ground.at(n + 1);
        }
        if let Some(void) = plan.masks.void {
            let known = |i: Option<usize>, j: Option<usize>| match (i, j) {
                (Some(i), Some(j)) => i < rows && j < cols && !void.row(i)[j],
                _ => false,
            };
            for j in 0..len {
                let c = span.columns[0] + j;
                let or_here = |known: bool, ground: &[i32]| if known { ground[j] } else { z[j] };
                west[PAD + j] = or_here(known(Some(i), c.checked_sub(1)), around[1]);
                east[PAD + j] = or_here(known(Some(i), Some(c + 1)), around[2]);
                north[PAD + j] = or_here(known(i.checked_sub(1), Some(c)), around[3]);
                south[PAD + j] = or_here(known(Some(i + 1), Some(c)), around[4]);
                bare[PAD + j] = if void[(i, c)] { 0.0 } else { bare[PAD + j] };
            }
            around = [z, &west[PAD..], &east[PAD..], &north[PAD..], &south[PAD..]];
        }
        let here = Here {
            ground: around,
            across: &scratch.across[PAD..],
            along: bed::per_distance(plan.grid.cell, i == 0 || i + 1 == rows),
            water: [water, &after[PAD..]],
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
            suspended: scratch.suspended.at_mut(n),
            fraction: &mut fraction[PAD..],
            velocity: [u.at_mut(n), v.at_mut(n)],
            leaving: scratch.leaving.at_mut(n),
        };
        let [dug, laid] = bed::work(&here, &plan.rates, &mut out, width);

        let Some(sums) = sums else { return };
        sums.evaporated += evaporated;
        sums.dug += dug;
        sums.laid += laid;
        let [poured, taken] = span.sea(&ground[PAD..], &mut left[PAD..], void.map(|void| &void[span.columns[0]..]));
        sums.poured += poured;
        sums.drained += taken;
        let at = (i - self.here.first) * cols;
        let cut = at + span.columns[0]..at + span.columns[1];
        if let Some(void) = void {
            // Water that reached a cell without data has left the map; the cell itself stays unchanged.
            for (j, _) in void[span.columns[0]..span.columns[1]].iter().enumerate().filter(|(_, void)| **void) {
                sums.drained += f64::from(after[PAD + j]);
                sums.evaporated -= f64::from(after[PAD + j] - left[PAD + j]);
                left[PAD + j] = 0.0;
            }
        }
        let here = &mut self.here.state;
        for (to, from) in here.ground[cut.clone()].iter_mut().zip(&ground[PAD..]) {
            *to = Height(*from);
        }
        for (to, from) in here.loose[cut.clone()].iter_mut().zip(&above[PAD..]) {
            *to = Height(*from);
        }
        here.water[cut.clone()].copy_from_slice(&left[PAD..PAD + len]);
        here.fraction[cut.clone()].copy_from_slice(&fraction[PAD..PAD + len]);
        if let Some(velocity) = &mut self.here.velocity {
            for (to, from) in velocity.iter_mut().zip([u, v]) {
                for (to, from) in to[cut.clone()].iter_mut().zip(from.at(n)) {
                    // Adding 0.0 turns a negative zero into a positive one, so that equal results have equal bits.
                    *to = from + 0.0;
                }
            }
        }
    }

    /// Moves the suspended sediment of row `b` of the band and writes it back.
    fn carry(&mut self, span: &Span<'_>, scratch: &mut Scratch, n: usize, b: usize, sums: &mut Sums) {
        let (plan, len, width) = (span.plan, span.len, span.width);
        let [rows, cols] = plan.grid.size;
        let i = self.here.first + b;
        let after = &mut scratch.units[0][PAD..];
        let before = |n: usize| &scratch.suspended.at(n)[..len];
        let cut = b * cols + span.columns[0]..b * cols + span.columns[1];
        let mut most = transport::MOST;
        if plan.backward {
            // Beyond the edges the sediment of the outermost cell or row is repeated.
            let rim = |n: usize| {
                let mut row = scratch.suspended.all(n).to_vec();
                [row[PAD - 1], row[PAD + len]] = [row[PAD], row[PAD + len - 1]];
                row
            };
            let here = rim(n);
            let north = if i > 0 { rim(n - 1) } else { here.clone() };
            let south = if i + 1 < rows { rim(n + 1) } else { here.clone() };
            let rows = [&north, &here, &south].map(|row| &row[PAD - 1..]);
            let velocity = [scratch.velocity[0].at(n), scratch.velocity[1].at(n)];
            transport::look_up(rows, velocity, plan.law.ratio, after, width);
            if let Some(void) = plan.masks.void {
                for (s, void) in after.iter_mut().zip(&void.row(i)[span.columns[0]..span.columns[1]]) {
                    *s = if *void { 0 } else { *s };
                }
            }
            let sum = |row: &[i32]| row.iter().map(|s| i64::from(*s)).sum::<i64>();
            sums.rounded += sum(&after[..len]) - sum(before(n));
        } else {
            let leaving = [
                scratch.leaving.at(n),
                scratch.leaving.west(n),
                scratch.leaving.east(n),
                scratch.leaving.at(n - 1),
                scratch.leaving.at(n + 1),
            ];
            let flow =
                [scratch.flow[0].at(n), scratch.flow[0].east(n), scratch.flow[1].at(n), scratch.flow[1].at(n + 1)];
            most = transport::carry(scratch.suspended.at(n), leaving, flow, after, width);
            let [west, east, north, south] = flow;
            let gone = |outward: f32, j: usize| i64::from(transport::taken_by(outward, leaving[0][j], 0.0));
            sums.exported += if span.ends[0] { gone(-west[0], 0) } else { 0 };
            sums.exported += if span.ends[1] { gone(east[len - 1], len - 1) } else { 0 };
            for (edge, at_edge, sign) in [(north, i == 0, -1.0), (south, i + 1 == rows, 1.0)] {
                if at_edge {
                    sums.exported += (0..len).map(|j| gone(sign * edge[j], j)).sum::<i64>();
                }
            }
            if let Some(void) = plan.masks.void {
                for (s, _) in after.iter_mut().zip(&void.row(i)[span.columns[0]..span.columns[1]]).filter(|(_, v)| **v)
                {
                    sums.exported += i64::from(std::mem::take(s));
                }
            }
        }
        for (to, from) in self.here.state.suspended[cut.clone()].iter_mut().zip(&after[..len]) {
            *to = Height(*from);
        }
        if most > transport::MOST {
            let here = &mut self.here.state;
            for k in cut {
                let much = here.suspended[k].0 - transport::MOST;
                if much > 0 {
                    sums.limited += 1;
                    settle(much, [&mut here.ground[k], &mut here.loose[k], &mut here.suspended[k]], sums);
                }
            }
        }
    }
}

/// Deposits `much` units of a cell's suspended sediment on its ground, as far as the height ranges allow. The rest is
/// lost and is counted as rounded.
pub fn settle(much: i32, [ground, loose, suspended]: [&mut Height; 3], sums: &mut Sums) {
    let room = (Height::MAX.0 - ground.0).min(i32::MAX - loose.0).max(0);
    let laid = much.min(room);
    ground.0 += laid;
    loose.0 += laid;
    suspended.0 -= much;
    sums.laid += i64::from(laid);
    sums.rounded -= i64::from(much - laid);
}
