//! Erosion and deposition on the bed of a row of cells.

use multiversion::multiversion;

use crate::models::pipes::rows::{BLOCK, Bound, read_block, read_blocks, write_block};
use thalweg_core::Height;
use thalweg_core::base::cast;
use thalweg_core::terrain::height::UNITS_F32;

/// The depth in metres below which a cell counts as dry and deposits its whole load.
const DRY_DEPTH_M: f32 = 1e-5;

/// The least depth in metres by which a flow is divided to obtain a speed.
const MIN_FLOW_DEPTH_M: f32 = 1e-3;

/// The upper bound of the transport capacity in height units: 1 024 m.
const MAX_CAPACITY_UNITS: f32 = 67_108_864.0;

/// The erosion and transport parameters of one time step, the same for every cell.
#[derive(Debug, Clone, Copy)]
pub struct BedRates {
    /// The sediment in height units that water at 1 m/s carries down a vertical wall (sin α = 1).
    pub capacity: f32,
    /// The square of the least sine of the slope that the transport capacity uses.
    pub least_slope: f32,
    /// One over the depth in metres from which on water has its full transport capacity.
    pub ramp: f32,
    /// The share of the missing load that is eroded in this step.
    pub erosion: f32,
    /// The erosion of bedrock relative to that of loose sediment.
    pub rock: f32,
    /// The share of the surplus load that is deposited in this step.
    pub deposition: f32,
    /// The greatest speed in m/s: one cell per step.
    pub fastest: f32,
    /// dx/dt in m/s, increased by a factor of 1 + 1e-6, so that rounding never lets a cell give out more sediment
    /// than it has.
    pub room: f32,
}

/// The input of a row of cells; each slice starts at the row's first cell.
#[derive(Clone, Copy)]
pub struct CellInputs<'a> {
    /// The ground in height units: here, west, east, north, south.
    pub ground: [&'a [i32]; 5],
    /// One over the distance between the western and the eastern neighbour, in 1/units, for each cell.
    pub across: &'a [f32],
    /// The same between the northern and the southern neighbour, for the whole row.
    pub along: f32,
    /// The depth in metres before and after the flow.
    pub water: [&'a [f32]; 2],
    /// The flows in m²/s through the west, east, north and south side.
    pub flows: [&'a [f32]; 4],
    /// The suspended sediment and the thickness of loose sediment, in height units.
    pub suspended: &'a [i32],
    pub loose: &'a [i32],
    /// The part of a height unit that is still to be eroded, 0 to 1.
    pub fraction: &'a [f32],
    /// 1 − `hardness` and 1 − `protect`.
    pub soft: &'a [f32],
    pub bare: &'a [f32],
}

/// The output for a row of cells.
pub struct CellOut<'a> {
    pub ground: &'a mut [i32],
    pub loose: &'a mut [i32],
    pub suspended: &'a mut [i32],
    pub fraction: &'a mut [f32],
    /// The velocity eastward and southward in m/s.
    pub velocity: [&'a mut [f32]; 2],
    /// The suspended units that leave per flow of 1 m²/s.
    pub leaving: &'a mut [f32],
}

/// Erodes and deposits in a row of cells. Returns the eroded and the deposited sum in height units.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub fn erode_and_deposit(here: &CellInputs<'_>, rates: &BedRates, out: &mut CellOut<'_>, width: usize) -> [i64; 2] {
    // Each column of a block has a sum of its own, so that the columns stay independent. The sums are integers, and
    // their order does not matter.
    let mut dug = [0i64; BLOCK];
    let mut sum = [0i64; BLOCK];
    for j in (0..width).step_by(BLOCK) {
        let [z, west, east, north, south] = read_blocks(here.ground, j);
        let [before, after] = read_blocks(here.water, j);
        let [pw, pe, pn, ps] = read_blocks(here.flows, j);
        let (s, loose, part) = (read_block(here.suspended, j), read_block(here.loose, j), read_block(here.fraction, j));
        let (soft, bare, across) = (read_block(here.soft, j), read_block(here.bare, j), read_block(here.across, j));
        let (mut u, mut v, mut target_changes) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
        // Velocity at the cell's centre: the mean flow of opposite sides over the mean depth, clamped to one cell per
        // step.
        for x in 0..BLOCK {
            let per = 0.5 / (0.5 * (before[x] + after[x])).at_least(MIN_FLOW_DEPTH_M);
            u[x] = ((pw[x] + pe[x]) * per).at_most(rates.fastest).at_least(-rates.fastest);
            v[x] = ((pn[x] + ps[x]) * per).at_most(rates.fastest).at_least(-rates.fastest);
        }
        // Transport capacity from slope, speed and depth; the difference to the load is eroded, sediment first, or
        // deposited.
        for x in 0..BLOCK {
            // Heights are within ±16 000 m, less than 2³⁰ units, so that differences of two fit an `i32`; the wrapping
            // operators only leave out the overflow checks.
            let gx = east[x].wrapping_sub(west[x]) as f32 * across[x];
            let gy = south[x].wrapping_sub(north[x]) as f32 * here.along;
            let steep = gx * gx + gy * gy;
            // The formula converts tan²α to sin²α; the root below takes sine and speed from their squares.
            let sine = (steep / (1.0 + steep)).at_least(rates.least_slope);
            let speed = (sine * (u[x] * u[x] + v[x] * v[x])).sqrt();
            let can = (rates.capacity * speed * (after[x] * rates.ramp).at_most(1.0)).at_most(MAX_CAPACITY_UNITS);
            let has = s[x] as f32;
            let lack = rates.erosion * (can - has).at_least(0.0) * bare[x];
            let taken = lack.at_most(loose[x] as f32);
            let cut = taken + (lack - taken) * (rates.rock * soft[x]);
            // Eroding more than half of the drop to the lowest neighbour would leave a pit.
            let lowest = west[x].min(east[x]).min(north[x].min(south[x]));
            let stands = 0.5 * (z[x].wrapping_sub(lowest)).max(0) as f32;
            // The value is negative where there is more load than the water can carry, and zero elsewhere.
            let deposition = rates.deposition * (can - has).at_most(0.0);
            target_changes[x] = if after[x] < DRY_DEPTH_M { -has } else { cut.at_most(stands) + deposition };
        }
        let [mut ground, mut above, mut load] = [[0; BLOCK]; 3];
        let [mut rest, mut leaving] = [[0.0; BLOCK]; 2];
        // Changes are whole height units; the remainder waits in `fraction`.
        for x in 0..BLOCK {
            let due = target_changes[x] + part[x];
            // Rounding down leaves a remainder from 0 to 1 for erosion and deposition alike.
            let units = cast::floor_to_int(due);
            rest[x] = due - units as f32;
            // Clamps the change: no more deposition than there is load, than the greatest height allows, or than the
            // range of the loose thickness allows; and no erosion below the least height.
            let lowest_change =
                s[x].wrapping_neg().max(z[x].wrapping_sub(Height::MAX.0)).max(loose[x].wrapping_sub(i32::MAX));
            let units = units.max(lowest_change).min(z[x].wrapping_sub(Height::MIN.0));
            ground[x] = z[x].wrapping_sub(units);
            above[x] = loose[x].wrapping_sub(units).max(0);
            load[x] = s[x].wrapping_add(units);
            // The load leaves in proportion to the water; the bound avoids 0/0 in dry cells, from which nothing flows.
            leaving[x] = load[x] as f32 / (before[x] * rates.room).at_least(1e-20);
            dug[x] += i64::from(units.max(0));
            sum[x] += i64::from(units);
        }
        write_block(out.ground, j, &ground);
        write_block(out.loose, j, &above);
        write_block(out.suspended, j, &load);
        write_block(out.fraction, j, &rest);
        write_block(out.leaving, j, &leaving);
        write_block(out.velocity[0], j, &u);
        write_block(out.velocity[1], j, &v);
    }
    let [dug, sum]: [i64; 2] = [dug.iter().sum(), sum.iter().sum()];
    [dug, dug - sum]
}

/// Writes `1 − factor` for each cell, with factors clamped to 0..1 and NaN taken as 0.
pub fn write_complements(factors: &[f32], out: &mut [f32]) {
    for (out, factor) in out.iter_mut().zip(factors) {
        *out = if *factor > 0.0 { 1.0 - factor.min(1.0) } else { 1.0 };
    }
}

/// Returns one over the distance between a cell's two neighbours, in 1/units of height: two cells, or one cell at an
/// edge, where one of the neighbours is missing.
pub fn per_distance(cell: f64, at_an_edge: bool) -> f32 {
    (1.0 / (if at_an_edge { 1.0 } else { 2.0 } * cell * f64::from(UNITS_F32))) as f32
}
