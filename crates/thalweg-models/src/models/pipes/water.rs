//! Kernels over a row's sides or cells for the water in the pipes: acceleration, limits on outflow, and new depths.

use multiversion::multiversion;

use crate::models::pipes::rows::{BLOCK, Block, Bound, read_block, read_blocks, select_upstream, write_block};
use thalweg_core::terrain::height::UNITS_F32;

/// The depth in metres below which water does not flow.
pub const MIN_FLOWING_DEPTH_M: f32 = 1e-6;

/// The depth of water in metres up to which rain is added to a cell.
const MAX_WATER_DEPTH_M: f32 = 30_000.0;

/// The share of a cell's water that never leaves it in one step: a margin for the rounding errors of a sum of four
/// flows.
const RETAINED_SHARE: f32 = 1.0 / 1_048_576.0;

/// The values of a time step that are the same for every pipe.
#[derive(Debug, Clone, Copy)]
pub struct PipeLaw {
    /// dt/dx in s/m.
    pub ratio: f32,
    /// dt·g divided by a pipe's length, in 1/s.
    pub pull: f32,
    /// dt·g·n² in m^(1/3).
    pub drag: f32,
    /// The depth in metres of a constant pipe, or the depth beyond which a pipe does not widen further.
    pub depth: f32,
    /// True if pipes have a constant depth, whatever the depth of the water.
    pub constant: bool,
}

impl PipeLaw {
    /// Returns the greatest speed in m/s in a pipe: twice that of the fastest wave.
    fn max_speed(&self) -> f32 {
        0.7 / self.ratio
    }
}

/// The cells on either side of each pipe of a row: the ground in height units and the depth in metres, to the west or
/// north (a) and to the east or south (b).
#[derive(Clone, Copy)]
pub struct PipeEnds<'a> {
    pub ground: [&'a [i32]; 2],
    pub water: [&'a [f32]; 2],
}

/// Returns the greatest power of two that does not exceed a positive number; zero for zero. It clears the mantissa
/// bits.
#[inline(always)]
fn floor_power_of_two(x: f32) -> f32 {
    f32::from_bits(x.to_bits() & 0x7f80_0000)
}

/// Returns the drop of the water level from a to b, and the depths of a and of b above the higher ground of the two.
#[inline(always)]
fn compare_levels(sides: &PipeEnds<'_>, j: usize) -> [Block<f32>; 3] {
    let [za, zb] = read_blocks(sides.ground, j);
    let [wa, wb] = read_blocks(sides.water, j);
    let [mut falls, mut a, mut b] = [[0.0; BLOCK]; 3];
    for x in 0..BLOCK {
        // The integer difference is exact, so that water at rest over uneven ground stays at rest.
        let step = za[x].wrapping_sub(zb[x]) as f32 * (1.0 / UNITS_F32);
        let fall = step + (wa[x] - wb[x]);
        // Levels that differ by at most two last bits of the depth count as equal, so that rounding does not start a
        // flow.
        let alike = floor_power_of_two(wa[x].at_least(wb[x])) * (1.0 / 4_194_304.0);
        falls[x] = if fall.abs() > alike { fall } else { 0.0 };
        // Where the other side's ground is higher, that much of the depth is below the sill and does not flow.
        a[x] = (wa[x] + step.at_most(0.0)).at_least(0.0);
        b[x] = (wb[x] - step.at_least(0.0)).at_least(0.0);
    }
    [falls, a, b]
}

/// Returns x^(−1/3) for x > 0 with a relative error below 2e-5: an estimate that divides the bit pattern, and with it
/// the exponent, by −3, then two steps of Newton's method.
#[inline(always)]
fn inverse_cube_root(x: f32) -> f32 {
    let mut root = f32::from_bits(0x54a2_fa8c_u32.wrapping_sub(x.to_bits() / 3));
    for _ in 0..2 {
        root *= (4.0 - x * (root * root * root)) * (1.0 / 3.0);
    }
    root
}

/// Adds `rain` (m) to the water. Returns the sum of what was added, in metres.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub fn add_rain(water: &mut [f32], rain: &[f32], width: usize) -> f64 {
    let mut added = [0.0f64; BLOCK];
    for j in (0..width).step_by(BLOCK) {
        let (mut level, rain) = (read_block(water, j), read_block(rain, j));
        for x in 0..BLOCK {
            let before = level[x].at_least(0.0);
            // Water that is already deeper than the limit keeps its depth.
            let after = (before + rain[x]).at_most(MAX_WATER_DEPTH_M.at_least(before));
            level[x] = after;
            added[x] += f64::from(after - before);
        }
        write_block(water, j, &level);
    }
    added.iter().sum()
}

/// Computes the flows (m²/s) in a row of pipes from their speeds and the current depths.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub fn compute_flows(sides: &PipeEnds<'_>, speed: &[f32], flow: &mut [f32], width: usize) {
    for j in (0..width).step_by(BLOCK) {
        let [_, a, b] = compare_levels(sides, j);
        let mut p = read_block(speed, j);
        for x in 0..BLOCK {
            p[x] *= 0.5 * (a[x] + b[x]);
        }
        write_block(flow, j, &p);
    }
}

/// The surroundings of a row of pipes, for the advection of momentum. `flow` and `speed` are those of the previous,
/// the same and the next pipe along the flow direction; `flow_across` and `speed_across` are those of the two
/// perpendicular pipes at either end of the cells' common side; `beside` are the speeds of the parallel pipes on
/// either side.
#[derive(Clone, Copy)]
pub struct PipeNeighbours<'a> {
    pub flow: [&'a [f32]; 3],
    pub speed: [&'a [f32]; 3],
    pub flow_across: [[&'a [f32]; 2]; 2],
    pub speed_across: [[&'a [f32]; 2]; 2],
    pub adjacent_rows: [&'a [f32]; 2],
}

/// Computes the new speeds in a row of pipes and the flows that they would give if there were enough water. Returns
/// the number of speeds that were clamped.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub fn compute_speeds(
    sides: &PipeEnds<'_>,
    around: &PipeNeighbours<'_>,
    law: &PipeLaw,
    [speed, flow]: [&mut [f32]; 2],
    width: usize,
) -> u64 {
    // Each combination has a kernel of its own, without branches inside its loops.
    match (law.constant, law.drag > 0.0) {
        (false, true) => compute_speeds_for::<false, true>(sides, around, law, speed, flow, width),
        (false, false) => compute_speeds_for::<false, false>(sides, around, law, speed, flow, width),
        (true, true) => compute_speeds_for::<true, true>(sides, around, law, speed, flow, width),
        (true, false) => compute_speeds_for::<true, false>(sides, around, law, speed, flow, width),
    }
}

/// Returns the inflow between two pipes in m²/s and its momentum flux. `sign` is 1 if positive flow is inward, and −1
/// if negative flow is.
#[inline(always)]
fn compute_inflow(flows: [&Block<f32>; 2], speed: &Block<f32>, sign: f32) -> [Block<f32>; 2] {
    let [mut amount, mut momentum] = [[0.0; BLOCK]; 2];
    for x in 0..BLOCK {
        amount[x] = (sign * (0.5 * (flows[0][x] + flows[1][x]))).at_least(0.0);
        momentum[x] = amount[x] * speed[x];
    }
    [amount, momentum]
}

/// Computes new speeds in three parts: advected momentum (not for constant pipes), gravity, and Manning friction.
#[inline(always)]
fn compute_speeds_for<const CONSTANT: bool, const DRAG: bool>(
    sides: &PipeEnds<'_>,
    around: &PipeNeighbours<'_>,
    law: &PipeLaw,
    new_speed: &mut [f32],
    flow: &mut [f32],
    width: usize,
) -> u64 {
    let fastest = law.max_speed();
    let mut limited = [0u32; BLOCK];
    for j in (0..width).step_by(BLOCK) {
        let [fall, a, b] = compare_levels(sides, j);
        let mut speed = read_block(around.speed[1], j);
        if !CONSTANT {
            // The inflow mixes with the water that is there, or replaces it. The result is a weighted mean of speeds
            // and therefore stable for any inflow.
            let [before, here, after] = read_blocks(around.flow, j);
            let [[aw, ae], [bw, be]] = [read_blocks(around.flow_across[0], j), read_blocks(around.flow_across[1], j)];
            let (earlier, later) = (read_block(around.speed[0], j), read_block(around.speed[2], j));
            let [north, south] = read_blocks(around.adjacent_rows, j);
            let along =
                [compute_inflow([&before, &here], &earlier, 1.0), compute_inflow([&here, &after], &later, -1.0)];
            let aside = [compute_inflow([&aw, &ae], &north, 1.0), compute_inflow([&bw, &be], &south, -1.0)];
            for x in 0..BLOCK {
                let amount = (along[0][0][x] + along[1][0][x]) + (aside[0][0][x] + aside[1][0][x]);
                let momentum = (along[0][1][x] + along[1][1][x]) + (aside[0][1][x] + aside[1][1][x]);
                // The weight of the inflow, ratio·amount/room, is at most 1.
                let room = (0.5 * (a[x] + b[x])).at_least(law.ratio * amount).at_least(f32::MIN_POSITIVE);
                speed[x] += law.ratio / room * (momentum - amount * speed[x]);
            }
        }
        for x in 0..BLOCK {
            // Beyond the depth `law.depth` the pipe does not widen, so the pull decreases in proportion.
            let widens = if CONSTANT { 1.0 } else { law.depth / a[x].at_least(b[x]).at_least(law.depth) };
            speed[x] += law.pull * widens * fall[x];
        }
        if DRAG {
            let [[aw, ae], [bw, be]] = [read_blocks(around.speed_across[0], j), read_blocks(around.speed_across[1], j)];
            for x in 0..BLOCK {
                // Magnitude of an oblique velocity without a square root: exact along the axes and the diagonals, up
                // to 8 % too low in between.
                let turn = 0.25 * ((aw[x] + ae[x]) + (bw[x] + be[x]));
                let [p, q] = [speed[x].abs(), turn.abs()];
                let size = p.at_least(q).at_least((p + q) * std::f32::consts::FRAC_1_SQRT_2);
                // Implicit friction: the magnitude s after it solves s + k·s² = size, with k = dt·g·n²/h^(4/3), and the
                // pipe's speed is scaled by s/size.
                let depth = select_upstream(speed[x], a[x], b[x]);
                let root = inverse_cube_root(depth.at_least(MIN_FLOWING_DEPTH_M));
                let square = root * root;
                // This form of the quadratic's root loses no digits where k·size is small.
                speed[x] *= 2.0 / (1.0 + (1.0 + 4.0 * (law.drag * (square * square)) * size).sqrt());
            }
        }
        let mut target_flows = [0.0; BLOCK];
        for x in 0..BLOCK {
            // The flow takes the depth of the cell that it comes from (upwind), which may have changed with the sign of
            // the speed.
            limited[x] += u32::from(speed[x].abs() > fastest);
            let u = speed[x].at_most(fastest).at_least(-fastest);
            let depth = select_upstream(u, a[x], b[x]);
            let pipe = if CONSTANT { law.depth } else { depth };
            let runs = CONSTANT || depth >= MIN_FLOWING_DEPTH_M;
            speed[x] = if runs { u } else { 0.0 };
            target_flows[x] = if runs { u * pipe } else { 0.0 };
        }
        write_block(new_speed, j, &speed);
        write_block(flow, j, &target_flows);
    }
    limited.iter().map(|n| u64::from(*n)).sum()
}

/// Computes the share of the target flows that each cell can supply, from the flows through its west, east, north and
/// south side. Returns the number of cells that cannot supply all.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub fn compute_supply_shares(water: &[f32], flows: [&[f32]; 4], law: &PipeLaw, part: &mut [f32], width: usize) -> u64 {
    let room = (1.0 - RETAINED_SHARE) / law.ratio;
    let mut limited = [0u32; BLOCK];
    for j in (0..width).step_by(BLOCK) {
        let water = read_block(water, j);
        let [west, east, north, south] = read_blocks(flows, j);
        let mut shares = [0.0; BLOCK];
        for x in 0..BLOCK {
            // Opposite sides are added in pairs: the sum has the same bits in a mirrored or turned map.
            let out = ((-west[x]).at_least(0.0) + east[x].at_least(0.0))
                + ((-north[x]).at_least(0.0) + south[x].at_least(0.0));
            // All sides of a cell get the same share, which keeps the direction of its outflow.
            let can = (water[x] * room / out.at_least(f32::MIN_POSITIVE)).at_most(1.0);
            limited[x] += u32::from((can < 1.0) & (water[x] > 0.0));
            shares[x] = can;
        }
        write_block(part, j, &shares);
    }
    limited.iter().map(|n| u64::from(*n)).sum()
}

/// A row of pipes: the speed in m/s, the flow in m²/s, and the depth in metres that is moved in this step.
pub struct Pipe<'a> {
    pub speed: &'a mut [f32],
    pub flow: &'a mut [f32],
    pub moved: &'a mut [f32],
}

/// Limits a row's flows to what the cells that they leave can supply, and computes the depths that they move.
///
/// The moved depth is rounded down to four last bits of the deeper of the two depths, so that exactly what one cell
/// loses is added to the other (except where a depth crosses a power of two).
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub fn limit_flows(pipe: &mut Pipe<'_>, shares: [&[f32]; 2], water: [&[f32]; 2], law: &PipeLaw, width: usize) {
    for j in (0..width).step_by(BLOCK) {
        let [pa, pb] = read_blocks(shares, j);
        let [wa, wb] = read_blocks(water, j);
        let (mut speed, mut flow) = (read_block(pipe.speed, j), read_block(pipe.flow, j));
        let mut moved = [0.0; BLOCK];
        for x in 0..BLOCK {
            let part = select_upstream(flow[x], pa[x], pb[x]);
            speed[x] *= part;
            flow[x] *= part;
            let amount = flow[x].abs() * law.ratio;
            // Adding and subtracting 6·2^k, for 2^k the power of two of the deeper depth, rounds to four last bits of
            // that depth.
            let deeper = floor_power_of_two(wa[x].at_least(wb[x]));
            let round = (amount + 6.0 * deeper) - 6.0 * deeper;
            // A sum that was rounded up is lowered by one such step: a cell never gives more than its flow.
            let down = if round > amount { round - deeper * (1.0 / 2_097_152.0) } else { round };
            moved[x] = if flow[x] >= 0.0 { down } else { -down };
        }
        write_block(pipe.speed, j, &speed);
        write_block(pipe.flow, j, &flow);
        write_block(pipe.moved, j, &moved);
    }
}

/// Computes the depth after the flow (`after`) and after evaporation (`remaining_water`). Returns the sum of what
/// evaporated, in metres.
///
/// `moved` are the depths moved through the west, east, north and south side; `stays` is the share that does not
/// evaporate, and `min_depth` the depth below which everything evaporates.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub fn update_depths(
    water: &[f32],
    moved: [&[f32]; 4],
    [stays, min_depth]: [f32; 2],
    [after, remaining_water]: [&mut [f32]; 2],
    width: usize,
) -> f64 {
    let mut gone = [0.0f64; BLOCK];
    for j in (0..width).step_by(BLOCK) {
        let water = read_block(water, j);
        let [west, east, north, south] = read_blocks(moved, j);
        let [mut fulls, mut rests] = [[0.0; BLOCK]; 2];
        for x in 0..BLOCK {
            // The pairs of opposite sides make the sum independent of the map's orientation.
            let full = (water[x] + ((west[x] - east[x]) + (north[x] - south[x]))).at_least(0.0);
            let rest = full * stays;
            let rest = if rest >= min_depth { rest } else { 0.0 };
            (fulls[x], rests[x]) = (full, rest);
            gone[x] += f64::from(full - rest);
        }
        write_block(after, j, &fulls);
        write_block(remaining_water, j, &rests);
    }
    gone.iter().sum()
}

/// Returns the flow (m²/s) of water of depth `h` that falls freely over an edge: at the wave speed √(g·h), or at its
/// own speed if that is higher.
pub fn compute_overfall(h: f32, speed: f32) -> f32 {
    h * (9.81 * h).sqrt().at_least(speed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_cube_roots_are_near() {
        let mut x = 1e-6f32;
        while x < 1e5 {
            let exact = libm::pow(f64::from(x), -1.0 / 3.0);
            let error = (f64::from(inverse_cube_root(x)) - exact).abs() / exact;
            assert!(error < 2e-5, "{x}: {error}");
            x *= 1.001;
        }
    }

    #[test]
    fn what_moves_is_never_more_than_flows_and_on_the_grid_of_the_deeper() {
        let law = PipeLaw { ratio: 0.013, pull: 0.1, drag: 0.0, depth: 10.0, constant: false };
        let (wa, wb) = ([0.3f32; BLOCK], [77.7f32; BLOCK]);
        let mut flow: Vec<f32> = (0..BLOCK).map(|x| (x as f32 - 7.5) * 0.31).collect();
        let before = flow.clone();
        let [mut moved, mut speed] = [[0.0; BLOCK], [3.0; BLOCK]];
        let mut pipe = Pipe { speed: &mut speed, flow: &mut flow, moved: &mut moved };
        limit_flows(&mut pipe, [&[1.0; BLOCK], &[0.5; BLOCK]], [&wa, &wb], &law, BLOCK);
        let grid = 64.0 / 2_097_152.0;
        for x in 0..BLOCK {
            let part = if before[x] >= 0.0 { 1.0 } else { 0.5 };
            assert_eq!((flow[x], speed[x]), (before[x] * part, 3.0 * part));
            let amount = flow[x].abs() * law.ratio;
            assert!(moved[x].abs() <= amount && moved[x].abs() > amount - grid, "{} {amount}", moved[x]);
            assert_eq!((moved[x] / grid).fract(), 0.0);
            assert!(moved[x] == 0.0 || moved[x].signum() == flow[x].signum());
        }
    }

    #[test]
    fn depth_counts_over_the_higher_ground() {
        // Ground at 5 m and 3 m; water up to 5.5 m on the one side and 4 m on the other: half a metre flows over the
        // sill.
        let (za, zb) = ([5 * 65_536; BLOCK], [3 * 65_536; BLOCK]);
        let (wa, wb) = ([0.5f32; BLOCK], [1.0f32; BLOCK]);
        let sides = PipeEnds { ground: [&za, &zb], water: [&wa, &wb] };
        let [fall, a, b] = compare_levels(&sides, 0);
        assert_eq!((fall[0], a[0], b[0]), (1.5, 0.5, 0.0));
        let sides = PipeEnds { ground: [&zb, &za], water: [&wb, &wa] };
        let [fall, a, b] = compare_levels(&sides, 0);
        assert_eq!((fall[0], a[0], b[0]), (-1.5, 0.0, 0.5));
        // Water below the sill has no depth above it.
        let dry = [0.0f32; BLOCK];
        let [_, a, b] = compare_levels(&PipeEnds { ground: [&za, &zb], water: [&dry, &wb] }, 0);
        assert_eq!((a[0], b[0]), (0.0, 0.0));
    }
}
