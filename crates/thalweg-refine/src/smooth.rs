//! The smooth terrain: elevations of cells of half the width, with the coarse means preserved, and the next octaves
//! of noise.

use multiversion::multiversion;

use crate::LocalWindow;
use crate::plane::{LANES, PaddedPlane, read_lanes, write_lanes};
use thalweg_core::base::cast;
use thalweg_core::base::power::{exp2, log2};
use thalweg_core::terrain::height::UNITS_F32;
use thalweg_core::{Cell, CellRect, Height};
use thalweg_flow::D8;
use thalweg_noise::gradient::evaluate_noise;

/// Returns by how much the second half of a coarse cell along an axis is above its mean (the first half is as far
/// below), from the two cells on each side: average interpolation of fifth order (Donoho 1993, "Smooth wavelet
/// decompositions with blocky coefficient kernels"), whose limit has a continuous slope.
#[inline(always)]
fn half_difference(a: [i64; 5]) -> i64 {
    // The weights are 22/128 and −3/128. Rounding does not change the mean, since one half loses what the other gains.
    (22 * (a[3] - a[1]) - 3 * (a[4] - a[0])) >> 7
}

/// Elevations of coarse cells at any position: beyond the world the terrain is extrapolated by point reflection.
struct ExtrapolatedWindow<'a> {
    window: &'a LocalWindow,
    world: CellRect<i64>,
}

impl ExtrapolatedWindow<'_> {
    /// Returns the index of a row or column, and the index at which to mirror it if it is beyond the world.
    fn locate_index(&self, x: i64, axis: usize) -> (usize, Option<usize>) {
        let [first, last] = [self.world.start[axis], self.world.end[axis] - 1];
        let local = |x: i64| (x.clamp(first, last) - self.window.rect.start[axis]) as usize;
        match x {
            x if x < first => (local(2 * first - x), Some(local(first))),
            x if x > last => (local(2 * last - x), Some(local(last))),
            x => (local(x), None),
        }
    }

    fn read_row(&self, i: i64, cols: &[(usize, Option<usize>)], out: &mut [i64]) {
        let (at, mirror) = self.locate_index(i, 0);
        let read = |i: usize, j: usize| i64::from(self.window.ground.row(i)[j].0);
        for (out, &(j, m)) in out.iter_mut().zip(cols) {
            let along = |i: usize| m.map_or(read(i, j), |m| 2 * read(i, m) - read(i, j));
            // Point reflection keeps the slope across the edge, where a mirror would make a ridge or a valley.
            *out = mirror.map_or(along(at), |m| 2 * along(m) - along(at));
        }
    }
}

/// The outputs of the smoothing: elevations in units, slopes (rise over run), and slopes in balance ([`SlopeBalance`]).
pub(super) struct Smooth<'a> {
    pub ground: &'a mut PaddedPlane<i32>,
    pub slope: &'a mut PaddedPlane<f32>,
    pub balance: &'a mut PaddedPlane<f32>,
}

/// Computes the smooth terrain of the fine cells of the coarse rectangle `rect`, into planes that begin at fine cell
/// `origin`. It needs elevations and receivers two coarse cells beyond.
pub(super) fn smooth_terrain(
    window: &LocalWindow,
    world: CellRect<i64>,
    rect: CellRect<i64>,
    origin: Cell<i64>,
    in_balance: &SlopeBalance,
    Smooth { ground, slope, balance }: Smooth<'_>,
) {
    let width = in_balance.width;
    let coarse = ExtrapolatedWindow { window, world };
    let count = rect.size()[1];
    let cols: Vec<_> = (rect.start[1] - 2..rect.end[1] + 2).map(|j| coarse.locate_index(j, 1)).collect();
    // A rolling window of five coarse rows, and the same rows split in halves along the row.
    let mut rows: Vec<Vec<i64>> = vec![vec![0; count + 4]; 5];
    let mut split: Vec<Vec<i64>> = vec![vec![0; 2 * count]; 5];
    let mut steep: Vec<Vec<f32>> = vec![vec![0.0; count + 2]; 3];
    let mut balanced = steep.clone();
    let first_col = (2 * rect.start[1] - origin[1] + 1) as usize;
    let halve = |row: &[i64], out: &mut [i64]| {
        for (j, pair) in out.chunks_exact_mut(2).enumerate() {
            let around = [row[j], row[j + 1], row[j + 2], row[j + 3], row[j + 4]];
            let half = half_difference(around);
            (pair[0], pair[1]) = (around[2] - half, around[2] + half);
        }
    };
    for i in rect.start[0] - 2..rect.end[0] + 2 {
        rows.rotate_left(1);
        split.rotate_left(1);
        coarse.read_row(i, &cols, &mut rows[4]);
        halve(&rows[4], &mut split[4]);
        let middle = i - 2;
        if i >= rect.start[0] {
            // Slopes of row i − 1, once its neighbours are there.
            steep.rotate_left(1);
            compute_slopes([&rows[2], &rows[3], &rows[4]], width, &mut steep[2]);
            balanced.rotate_left(1);
            in_balance.compute_row(window, world, [i - 1, rect.start[1] - 1], &steep[2], &mut balanced[2]);
        }
        if middle < rect.start[0] {
            continue;
        }
        let first_row = (2 * middle - origin[0] + 1) as usize;
        for x in 0..2 * count {
            let half = half_difference([split[0][x], split[1][x], split[2][x], split[3][x], split[4][x]]);
            let mean = split[2][x];
            let clamped = |z: i64| z.clamp(Height::MIN.0.into(), Height::MAX.0.into()) as i32;
            ground.set(first_row, first_col + x, clamped(mean - half));
            ground.set(first_row + 1, first_col + x, clamped(mean + half));
        }
        for (half, row) in [(0, first_row), (1, first_row + 1)] {
            let cols = first_col..first_col + 2 * count;
            interpolate_row([&steep[1], &steep[2 * half]], &mut slope.row_mut(row)[cols.clone()]);
            interpolate_row([&balanced[1], &balanced[2 * half]], &mut balance.row_mut(row)[cols]);
        }
    }
}

/// Interpolates a fine row between its coarse row and the one to which it is nearer; both have one more cell on each
/// side.
fn interpolate_row([own, adjacent]: [&[f32]; 2], out: &mut [f32]) {
    for (j, pair) in out.chunks_exact_mut(2).enumerate() {
        // A fine cell's centre is a quarter of a coarse cell from the centre of its own coarse cell.
        let near = |j: usize| 0.75 * own[j] + 0.25 * adjacent[j];
        let here = 0.75 * near(j + 1);
        (pair[0], pair[1]) = (here + 0.25 * near(j), here + 0.25 * near(j + 2));
    }
}

/// The slope towards which uplift and incision tend at small drainage areas, derived from the balance that the coarse
/// cells show: S·A^m is the same along a river and on the hills next to it (Flint 1974, doi:10.1029/WR010i005p00969),
/// so gentle terrain along a large river is as informative as a steep hill.
pub(super) struct SlopeBalance {
    /// Width of a coarse cell in metres, the exponent m, the drainage area in m² to which the slope refers, and the
    /// steepest slope.
    pub width: f32,
    pub exponent: f32,
    pub area: f32,
    pub limit: f32,
    pub sea: i32,
}

impl SlopeBalance {
    /// Computes a row of coarse cells from `row` and `col` on, which may be one cell beyond the world, from their
    /// `slopes`.
    fn compute_row(
        &self,
        window: &LocalWindow,
        world: CellRect<i64>,
        [row, col]: [i64; 2],
        slopes: &[f32],
        out: &mut [f32],
    ) {
        let place =
            |x: i64, axis: usize| (x.clamp(world.start[axis], world.end[axis] - 1) - window.rect.start[axis]) as usize;
        let i = place(row, 0);
        let surface = |at: (usize, usize)| window.surface(at).0.max(self.sea);
        for ((col, slope), out) in (col..).zip(slopes).zip(out) {
            let at = (i, place(col, 1));
            let direction = D8::from_code(window.receivers[at]).filter(|_| window.lake(at).is_none());
            let Some(direction) = direction else {
                *out = 0.0;
                continue;
            };
            let [di, dj] = direction.offset();
            let to = (i.wrapping_add_signed(di), at.1.wrapping_add_signed(dj));
            let fall = surface(at).saturating_sub(surface(to)).max(0) as f32;
            let run = self.width * direction.distance_f32();
            let more = exp2(self.exponent * log2(window.area[at] / self.area));
            // The result is at least the terrain's own slope, even if that is above the limit.
            *out = (fall * more / (run * UNITS_F32)).min(self.limit).max(*slope);
        }
    }
}

/// Computes the slopes of a row from the falls to the four neighbours: the root mean square along each axis, which is
/// the slope of the flanks also on a crest. Rows have two more cells on each side, slopes one.
fn compute_slopes(rows: [&Vec<i64>; 3], width: f32, out: &mut [f32]) {
    let scale = 0.5 / (width * UNITS_F32);
    for (j, out) in out.iter_mut().enumerate() {
        let here = rows[1][j + 1];
        // √(sum/2) is written as ½·√(2·sum), so that the factor is part of the scale.
        let square = |z: i64| ((z - here) as f32 * (z - here) as f32).min(1e24);
        let sum = square(rows[0][j + 1]) + square(rows[2][j + 1]) + square(rows[1][j]) + square(rows[1][j + 2]);
        *out = scale * (2.0 * sum).sqrt();
    }
}

/// Adds noise with wavelengths of four and two cells, with an amplitude of `amplitude` times the slope, to a row that
/// begins at world column `col`.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub(super) fn add_noise(ground: &mut [i32], slope: &[f32], row: i64, col: i64, amplitude: f32, seed: u32) {
    // Lattice points are counted in 32 bits that wrap, so that no seam shows, however far from the origin. Noise is
    // evaluated at the centres of cells: an eighth of the lattice's spacing plus quarters for the long waves.
    let (y, lattice) = (row.rem_euclid(4) as f32 * 0.25 + 0.125, row.div_euclid(4) as i32);
    let (y2, lattice2) = (row.rem_euclid(2) as f32 * 0.5 + 0.25, row.div_euclid(2) as i32);
    let (first, col) = (col.div_euclid(4) as i32, col.rem_euclid(4) as i32);
    for x in (0..ground.len()).step_by(LANES) {
        let slope = read_lanes::<_, LANES>(slope, x);
        let mut heights = read_lanes::<_, LANES>(ground, x);
        for l in 0..LANES {
            let col = col + (x + l) as i32;
            let long = evaluate_noise(first.wrapping_add(col >> 2), lattice, (col & 3) as f32 * 0.25 + 0.125, y, seed);
            let short = evaluate_noise(
                first.wrapping_mul(2).wrapping_add(col >> 1),
                lattice2,
                (col & 1) as f32 * 0.5 + 0.25,
                y2,
                seed ^ 0x5bd1_e995,
            );
            // The amplitude grows with the slope, but not beyond a slope of 2.
            let add = amplitude * slope[l].min(2.0) * (long + 0.5 * short);
            heights[l] = heights[l].wrapping_add(cast::floor_to_int(add)).clamp(Height::MIN.0, Height::MAX.0);
        }
        write_lanes(ground, x, &heights);
    }
}
