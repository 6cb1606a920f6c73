//! Chunks: runs of consecutive samples of a row that are computed together in stack buffers.

use crate::gradient;
use crate::octave::Octave;
use thalweg_core::{Cell, Grid, Point};

/// The number of samples of a row that are computed together. Positions are counted from an anchor at a world column
/// that is a multiple of this number, so a value never depends on where a window begins.
pub const CHUNK: usize = 128;

/// The values at the samples of one chunk, from west to east.
pub type Chunk = [f32; CHUNK];

/// A displacement of zero, for noise without domain warp.
pub const NO_DISPLACEMENT: [Chunk; 2] = [[0.0; CHUNK]; 2];

/// Fills a row chunk by chunk. `chunk` receives the position of the chunk's first sample and the buffer to fill.
/// Chunks begin at world columns that are multiples of [`CHUNK`], wherever the window begins.
pub fn for_chunks(grid: &Grid, i: usize, out: &mut [f32], mut chunk: impl FnMut(Point, &mut Chunk)) {
    let y = grid.row_center_y(i);
    let mut buffer = [0.0; CHUNK];
    let mut done = 0;
    while done < out.len() {
        let Cell { col: column, .. } = grid.world_cell(i, done);
        let first = column.div_euclid(CHUNK as i64) * CHUNK as i64;
        let skip = (column - first) as usize;
        // A window may begin inside a chunk. The chunk is computed from its anchor, and the first `skip` samples are
        // dropped.
        let mut count = (CHUNK - skip).min(out.len() - done);
        if grid.is_looped(1) {
            // On a looped world the last column is followed by the first one.
            count = count.min((grid.world[1] as i64 - column) as usize);
        }
        chunk(Point { x: (first as f64 + 0.5) * grid.cell, y }, &mut buffer);
        out[done..done + count].copy_from_slice(&buffer[skip..skip + count]);
        done += count;
    }
}

/// Adds `factor` times `noise` to `sum`.
#[inline(always)]
pub fn add_scaled(sum: &mut Chunk, noise: &Chunk, factor: f32) {
    for k in 0..CHUNK {
        sum[k] += factor * noise[k];
    }
}

/// Evaluates one octave of gradient noise at a chunk's samples. With `SLOPE` it also returns the derivatives along
/// world x and y, per lattice unit. With `WARPED` the samples are displaced by `warp`.
#[inline(always)]
pub(crate) fn evaluate_octave<const WARPED: bool, const SLOPE: bool>(
    octave: &Octave,
    anchor: Point,
    cell: f64,
    warp: &[Chunk; 2],
) -> [Chunk; 3] {
    match octave.period {
        None => {
            sample_octave::<WARPED, SLOPE>(octave, anchor, cell, warp, |i, j| gradient::hash_corners(i, j, octave.seed))
        }
        // Each corner is wrapped on its own, because the corners of a square at the seam are on both sides of it.
        Some(period) => sample_octave::<WARPED, SLOPE>(octave, anchor, cell, warp, |i, j| {
            [[0, 0], [1, 0], [0, 1], [1, 1]].map(|[di, dj]| {
                let (i, j) = period.wrap_point(i.wrapping_add(di), j.wrapping_add(dj));
                gradient::hash_lattice_point(i, j, octave.seed)
            })
        }),
    }
}

/// Implements [`evaluate_octave`]. `corners` returns the random numbers of the four corners of the square at lattice
/// point (i, j).
#[inline(always)]
fn sample_octave<const WARPED: bool, const SLOPE: bool>(
    octave: &Octave,
    anchor: Point,
    cell: f64,
    warp: &[Chunk; 2],
    corners: impl Fn(i32, i32) -> [u32; 4],
) -> [Chunk; 3] {
    let [(i, u0), (j, v0)] = octave.to_lattice(anchor.x, anchor.y);
    let [u0, v0] = [u0 as f32, v0 as f32];
    // f32 is precise enough within a chunk: an octave has at least two cells per wave, so coordinates stay under 65
    // (error 3·10⁻⁶).
    let [du, dv] = [(octave.turn[0][0] * cell) as f32, (octave.turn[1][0] * cell) as f32];
    let [[ux, uy], [vx, vy]] = octave.turn.map(|axis| axis.map(|t| t as f32));
    // Divide by the scale of `turn`, which leaves its rotation, so that derivatives are per lattice unit.
    let length = 1.0 / (octave.turn[0][0].powi(2) + octave.turn[1][0].powi(2)).sqrt();
    let [[tux, tuy], [tvx, tvy]] = octave.turn.map(|axis| axis.map(|t| (t * length) as f32));
    let mut out = [[0.0; CHUNK]; 3];
    let [noise, along_x, along_y] = &mut out;
    for k in 0..CHUNK {
        let mut u = u0 + k as f32 * du;
        let mut v = v0 + k as f32 * dv;
        if WARPED {
            u += warp[0][k] * ux + warp[1][k] * uy;
            v += warp[0][k] * vx + warp[1][k] * vy;
        }
        let [(p, x), (q, y)] = [split_integer_fraction(u), split_integer_fraction(v)];
        let [p, q] = [i.wrapping_add(p), j.wrapping_add(q)];
        if SLOPE {
            let [n, along_u, along_v] = gradient::noise_and_slope_within(corners(p, q), x, y);
            noise[k] = n;
            along_x[k] = along_u * tux + along_v * tvx;
            along_y[k] = along_u * tuy + along_v * tvy;
        } else {
            noise[k] = gradient::noise_within(corners(p, q), x, y);
        }
    }
    out
}

/// Returns the floor of `u`, |u| < 2²², and the fraction. Adding 1.5·2²³ rounds to an integer and leaves it in the
/// lowest bits of the mantissa: unlike `floor` and `as`, this compiles to vector code on every machine.
#[inline(always)]
fn split_integer_fraction(u: f32) -> (i32, f32) {
    // The bound on |u| is satisfied: a warp moves a sample by less than three times `WARP_CELLS`, and an octave that is
    // evaluated has two cells per wave or more, so |u| is below 400 000.
    const SHIFT: f32 = 12_582_912.0;
    let shifted = u + SHIFT;
    let nearest = shifted - SHIFT;
    let above = nearest > u;
    let below = if above { nearest - 1.0 } else { nearest };
    let whole = (shifted.to_bits() as i32).wrapping_sub(SHIFT.to_bits() as i32) - i32::from(above);
    (whole, u - below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_is_floor_and_rest() {
        for u in [0.0, 0.25, 1.0, 63.999, -0.001, -1.0, -7.5, 262_143.5, -262_144.25f32] {
            assert_eq!(split_integer_fraction(u), (u.floor() as i32, u - u.floor()), "{u}");
        }
    }
}
