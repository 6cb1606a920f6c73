//! Domain warp of level 0: displaces the terrain by a smooth vector field, on average by half a cell.
//!
//! Rivers of the global level run in one of eight directions over several cells at a time: for 128² cells of `hills`
//! the mean of cos 8φ over chords of five cells is 0.3 (real land has 0.1). Finer levels keep rivers within their
//! coarse cells, and would show those directions on all levels; meanders within the cells do not change this. A
//! terrain that is displaced by a smooth function of position has valleys in all directions. Its rivers are displaced
//! with it, as lines, and are incised into the cells that are now between their own.

use rayon::prelude::*;

use crate::Sand;
use thalweg_core::{Field, Height, Size};
use thalweg_flow::{FlowGraph, find_receiver};
use thalweg_noise::gradient::evaluate_noise;

/// Spacing of the displacement noise's lattice, in cells: the waves are about twice as long.
const SIDE: usize = 5;

/// Displacement in cells per unit of noise, which has a standard deviation of 1/3.
const SHIFT: f32 = 1.5;

/// Distance from the world's edge, in cells, over which the displacement increases from 0 to its full size.
const RIM: f32 = 6.0;

/// Upstream cells from which on a stream is displaced as a line; smaller ones are routed again on the warped terrain.
/// With a limit of 4 cells slopes become steeper; if no stream is carried, gorges become dams and chains of lakes.
const STREAM: u32 = 32;

/// Displacements are rounded to this fraction of a cell (1/64).
const PARTS: i64 = 64;

/// Noise seeds of the displacements down and to the right.
const SEEDS: [u32; 2] = [0x6265_6e64, 0x626f_7773];

/// The displacement field of a level 0.
pub(super) struct DomainWarp<'a> {
    size: Size,
    /// Sand, which is not displaced, and its thickness.
    sand: Option<(Sand, &'a Field<Height>)>,
}

impl<'a> DomainWarp<'a> {
    pub fn new(size: Size, sand: Option<(Sand, &'a Field<Height>)>) -> Self {
        Self { size, sand }
    }

    /// Warps a terrain whose drainage is known. Streams still fall along their whole course afterwards, except on
    /// sand.
    pub fn warp_terrain(&self, ground: &Field<Height>, drainage: &FlowGraph) -> Field<Height> {
        let mut bent = self.warp_field(ground);
        self.incise_streams(drainage, &mut bent);
        bent
    }

    /// Warps elevations or thicknesses.
    pub fn warp_field(&self, field: &Field<Height>) -> Field<Height> {
        let mut bent = Field::new(self.size, Height::ZERO);
        bent.par_rows_mut().for_each(|(i, row)| {
            for (j, height) in row.iter_mut().enumerate() {
                *height = sample_bicubic(field, [i, j], self.displacement_at([i as f32, j as f32]));
            }
        });
        bent
    }

    /// Returns the share of the displacement that applies near a place (cells down and right): 0 on sand.
    fn displacement_share(&self, place: [f32; 2]) -> f32 {
        let Some((sand, thick)) = &self.sand else { return 1.0 };
        let [i, j] = [0, 1].map(|axis| ((place[axis] + 0.5).max(0.0) as usize).min(self.size[axis] - 1));
        1.0 - (thick[(i, j)].metres() as f32 / sand.full).clamp(0.0, 1.0)
    }

    /// Returns the displacement, in cells down and right, between a place and the place from which its elevation is
    /// taken; 0 at the edges.
    fn displacement_at(&self, place: [f32; 2]) -> [f32; 2] {
        let to_edge = |axis: usize| place[axis].min((self.size[axis] - 1) as f32 - place[axis]);
        let share = (to_edge(0).min(to_edge(1)).max(0.0) / RIM).min(1.0) * self.displacement_share(place);
        let of = |axis: usize| {
            let at = place[axis].max(0.0) / SIDE as f32;
            (at as i32, at - at as i32 as f32)
        };
        let ((i, y), (j, x)) = (of(0), of(1));
        SEEDS.map(|seed| SHIFT * share * evaluate_noise(i, j, y, x, seed))
    }

    /// Incises streams into the warped terrain: a line of touching cells that falls evenly, between the new places of
    /// each two successive cells of a stream.
    fn incise_streams(&self, drainage: &FlowGraph, bent: &mut Field<Height>) {
        let [rows, cols] = self.size;
        let (directions, cells, filled) =
            (drainage.directions().as_slice(), drainage.upstream_cells().as_slice(), drainage.filled_surface());
        let filled = filled.as_slice();
        // The new place of a cell: inverts the displacement by fixed-point iteration.
        let place = |k: usize| {
            let from = [k / cols, k % cols].map(|x| x as f32);
            (0..4).fold(from, |to, _| {
                let shift = self.displacement_at(to);
                [0, 1].map(|axis| (from[axis] - shift[axis]).clamp(0.0, [rows, cols][axis] as f32 - 1.0))
            })
        };
        // Lines only lower cells, so their order does not matter.
        for k in (0..cells.len()).filter(|k| cells[*k] >= STREAM) {
            let Some(next) = find_receiver(k, directions[k], cols) else { continue };
            let [from, to] = [k, next].map(place);
            if self.displacement_share([k / cols, k % cols].map(|x| x as f32)) <= 0.0 {
                continue;
            }
            let [high, low] = [k, next].map(|k| i64::from(filled[k].0));
            let offset = [0, 1].map(|axis| to[axis] - from[axis]);
            // Steps of at most half a cell, so that no cell of the line is skipped.
            let steps = (2.0 * offset[0].abs().max(offset[1].abs())) as i64 + 1;
            for step in 0..=steps {
                let share = step as f32 / steps as f32;
                let [i, j] = [0, 1].map(|axis| (from[axis] + share * offset[axis] + 0.5) as usize);
                // Whole numbers give the same height on every machine. The first and the last step have exactly the two
                // cells' heights.
                let height = high + (low - high) * step / steps;
                bent[(i, j)] = bent[(i, j)].min(Height(height as i32));
            }
        }
    }
}

/// Returns the elevation at a displacement from a cell, interpolated with a bicubic Catmull–Rom spline (Catmull & Rom
/// 1974), so that slopes keep their steepness, and clamped to the four surrounding cells.
fn sample_bicubic(ground: &Field<Height>, cell: [usize; 2], shift: [f32; 2]) -> Height {
    let size = ground.size();
    // The position is rounded to 64ths of a cell, so that the spline's weights are whole numbers.
    let place = [0, 1].map(|axis| {
        let subcells = (shift[axis] * PARTS as f32) as i64 + cell[axis] as i64 * PARTS;
        subcells.clamp(0, (size[axis] as i64 - 1) * PARTS)
    });
    let first = place.map(|subcells| subcells.div_euclid(PARTS));
    let [down, right] = place.map(|subcells| spline_weights(subcells.rem_euclid(PARTS)));
    let at = |di: i64, dj: i64| {
        let [i, j] =
            [[first[0] + di, 0], [first[1] + dj, 1]].map(|[x, axis]| x.clamp(0, size[axis as usize] as i64 - 1));
        i64::from(ground[(i as usize, j as usize)].0)
    };
    // Weights are below 2²⁰ and heights below 2³¹, so the sums fit 64 bits.
    let along = |di: i64| (-1..).zip(right).map(|(dj, weight)| weight * at(di, dj)).sum::<i64>() / WHOLE;
    let height = (-1..).zip(down).map(|(di, weight)| weight * along(di)).sum::<i64>() / WHOLE;
    // The spline may overshoot next to a step. Clamping creates no new pit or summit between cells.
    let near = [at(0, 0), at(0, 1), at(1, 0), at(1, 1)];
    let [low, high] = near.iter().fold([near[0]; 2], |[low, high], z| [low.min(*z), high.max(*z)]);
    Height(height.clamp(low, high) as i32)
}

/// The sum of the [`spline_weights`], which are the spline's weights scaled to integers.
const WHOLE: i64 = 2 * PARTS * PARTS * PARTS;

/// Returns the weights of the four cells on a line, for a point `x` [`PARTS`]ths of a cell from the second one.
fn spline_weights(x: i64) -> [i64; 4] {
    let (one, two, three) = (x * PARTS * PARTS, x * x * PARTS, x * x * x);
    [2 * two - one - three, WHOLE - 5 * two + 3 * three, one + 4 * two - 3 * three, three - two]
}
