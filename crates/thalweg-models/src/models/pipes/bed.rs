//! What water does to the bed of a row of cells: it digs, or lays down.

use multiversion::multiversion;

use crate::models::pipes::rows::{BLOCK, Bound, block, blocks, write};
use thalweg_core::Height;
use thalweg_core::base::cast;
use thalweg_core::terrain::height::UNITS_F32;

/// Depth in metres below which a cell is dry, and lays down all it carries.
const DRY: f32 = 1e-5;

/// Least depth in metres by which a speed is told from a flow.
const SHALLOW: f32 = 1e-3;

/// The most that water carries, in units: 1 024 m.
const LOAD: f32 = 67_108_864.0;

/// What holds of every cell's bed in a step.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    /// Units of sediment that water at 1 m/s carries down a wall.
    pub capacity: f32,
    /// The square of the least sine of a slope that counts.
    pub least_slope: f32,
    /// One over the depth from which on water carries all it can.
    pub ramp: f32,
    /// Part of the lacking load that is dug in this step.
    pub erosion: f32,
    /// Part of that which bedrock yields.
    pub rock: f32,
    /// Part of the surplus that is laid down in this step.
    pub deposition: f32,
    /// Greatest speed in m/s: a cell a step.
    pub fastest: f32,
    /// dx/dt in m/s, and a hair more: a cell never gives out more than it has.
    pub room: f32,
}

/// A row of cells, each of these from its first on.
#[derive(Clone, Copy)]
pub struct Here<'a> {
    /// Ground in units: here, west, east, north, south.
    pub ground: [&'a [i32]; 5],
    /// One over twice the distance between neighbours, in 1/units: west to east by cell.
    pub across: &'a [f32],
    /// The same, north to south.
    pub along: f32,
    /// Depth before and after the flow.
    pub water: [&'a [f32]; 2],
    /// Flows through the west, east, north and south side.
    pub flows: [&'a [f32]; 4],
    /// Sediment on its way, and loose ground, in units.
    pub suspended: &'a [i32],
    pub loose: &'a [i32],
    /// What is to be dug of a unit.
    pub fraction: &'a [f32],
    /// One less `hardness`, one less `protect`.
    pub soft: &'a [f32],
    pub bare: &'a [f32],
}

/// What becomes of a row of cells.
pub struct CellOut<'a> {
    pub ground: &'a mut [i32],
    pub loose: &'a mut [i32],
    pub suspended: &'a mut [i32],
    pub fraction: &'a mut [f32],
    /// Velocity eastward and southward.
    pub velocity: [&'a mut [f32]; 2],
    /// Suspended units that leave with a flow of 1 m²/s.
    pub leaving: &'a mut [f32],
}

/// Digs and lays down; what was dug and what was laid, in units.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub fn work(here: &Here<'_>, rates: &Rates, out: &mut CellOut<'_>, width: usize) -> [i64; 2] {
    let mut dug = [0i64; BLOCK];
    let mut sum = [0i64; BLOCK];
    for j in (0..width).step_by(BLOCK) {
        let [z, west, east, north, south] = blocks(here.ground, j);
        let [before, after] = blocks(here.water, j);
        let [pw, pe, pn, ps] = blocks(here.flows, j);
        let (s, loose, part) = (block(here.suspended, j), block(here.loose, j), block(here.fraction, j));
        let (soft, bare, across) = (block(here.soft, j), block(here.bare, j), block(here.across, j));
        let (mut u, mut v, mut wanted) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
        for x in 0..BLOCK {
            let per = 0.5 / (0.5 * (before[x] + after[x])).at_least(SHALLOW);
            u[x] = ((pw[x] + pe[x]) * per).at_most(rates.fastest).at_least(-rates.fastest);
            v[x] = ((pn[x] + ps[x]) * per).at_most(rates.fastest).at_least(-rates.fastest);
        }
        for x in 0..BLOCK {
            let gx = east[x].wrapping_sub(west[x]) as f32 * across[x];
            let gy = south[x].wrapping_sub(north[x]) as f32 * here.along;
            let steep = gx * gx + gy * gy;
            let sine = (steep / (1.0 + steep)).at_least(rates.least_slope);
            let speed = (sine * (u[x] * u[x] + v[x] * v[x])).sqrt();
            let can = (rates.capacity * speed * (after[x] * rates.ramp).at_most(1.0)).at_most(LOAD);
            let has = s[x] as f32;
            let lack = rates.erosion * (can - has).at_least(0.0) * bare[x];
            let taken = lack.at_most(loose[x] as f32);
            let cut = taken + (lack - taken) * (rates.rock * soft[x]);
            // Below half the way down to the lowest neighbour digging would leave a hole.
            let lowest = west[x].min(east[x]).min(north[x].min(south[x]));
            let stands = 0.5 * (z[x].wrapping_sub(lowest)).max(0) as f32;
            let lay = rates.deposition * (can - has).at_most(0.0);
            wanted[x] = if after[x] < DRY { -has } else { cut.at_most(stands) + lay };
        }
        let [mut ground, mut above, mut load] = [[0; BLOCK]; 3];
        let [mut rest, mut leaving] = [[0.0; BLOCK]; 2];
        for x in 0..BLOCK {
            let due = wanted[x] + part[x];
            let units = cast::floor(due);
            rest[x] = due - units as f32;
            // Never more than there is to lay down, nor beyond the accepted heights, nor more loose ground than can be told.
            let least = s[x].wrapping_neg().max(z[x].wrapping_sub(Height::MAX.0)).max(loose[x].wrapping_sub(i32::MAX));
            let units = units.max(least).min(z[x].wrapping_sub(Height::MIN.0));
            ground[x] = z[x].wrapping_sub(units);
            above[x] = loose[x].wrapping_sub(units).max(0);
            load[x] = s[x].wrapping_add(units);
            leaving[x] = load[x] as f32 / (before[x] * rates.room).at_least(1e-20);
            dug[x] += i64::from(units.max(0));
            sum[x] += i64::from(units);
        }
        write(out.ground, j, &ground);
        write(out.loose, j, &above);
        write(out.suspended, j, &load);
        write(out.fraction, j, &rest);
        write(out.leaving, j, &leaving);
        write(out.velocity[0], j, &u);
        write(out.velocity[1], j, &v);
    }
    let [dug, sum]: [i64; 2] = [dug.iter().sum(), sum.iter().sum()];
    [dug, dug - sum]
}

/// `1 − factor` for each cell, factors held to 0..1 and what is not a number taken for 0.
pub fn less(factors: &[f32], out: &mut [f32]) {
    for (out, factor) in out.iter_mut().zip(factors) {
        *out = if *factor > 0.0 { 1.0 - factor.min(1.0) } else { 1.0 };
    }
}

/// One over twice the distance between a cell's neighbours, in 1/units of height; over once where one of them is missing.
pub fn per_distance(cell: f64, at_an_edge: bool) -> f32 {
    (1.0 / (if at_an_edge { 1.0 } else { 2.0 } * cell * f64::from(UNITS_F32))) as f32
}
