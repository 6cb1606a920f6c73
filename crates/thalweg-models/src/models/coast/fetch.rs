//! Wave exposure: the open water in front of a place, in all directions.

use rayon::prelude::*;

use crate::models::coast::Coast;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Edge, Field, Terrain};

/// Number of directions in which the fetch is computed.
const DIRECTIONS: usize = 16;

/// Number of sweeps computed in parallel.
pub(super) const PARALLEL_SWEEPS: usize = 4;

/// Minimum depth of water in metres that lets waves pass. Shallower water breaks them as land does.
const SHOAL: f64 = 0.5;

/// Returns the share of full waves that arrives at each cell, 0 to 1. Over land it fades.
pub(super) fn compute_wave_exposure(model: &Coast, terrain: &Terrain, level: i32) -> Field<f32> {
    let grid = &terrain.grid;
    let shoal = level.saturating_sub((SHOAL * UNITS) as i32);
    let deep = Field::from_fn(grid.size, |i, j| !terrain.is_nodata(i, j) && terrain.ground[(i, j)].0 < shoal);
    // Directions closer to rows than to columns use the transposed sea.
    let [rows, cols] = grid.size;
    let deep = [deep.transposed(), deep];
    let mut sums = [Field::new([cols, rows], 0.0f32), Field::new([rows, cols], 0.0f32)];
    for first in (0..DIRECTIONS).step_by(PARALLEL_SWEEPS) {
        let directions: Vec<(bool, f32, Field<f32>)> = (first..first + PARALLEL_SWEEPS)
            .into_par_iter()
            .map(|n| {
                // Half a step off the axes, so that no direction is parallel to the grid.
                let turn = (n as f64 + 0.5) / DIRECTIONS as f64 * std::f64::consts::TAU;
                let [down, along] = [libm::sin(turn), libm::cos(turn)];
                let is_turned = along.abs() > down.abs();
                let deep = if is_turned { &deep[0] } else { &deep[1] };
                // `facing` is the cosine of the angle between the direction that these waves come from and that of the
                // swell.
                let from = model.swell_from.to_radians();
                let facing = down * libm::cos(from) - along * libm::sin(from);
                let weight = ((1.0 + model.swell * facing) / DIRECTIONS as f64) as f32;
                (is_turned, weight, sweep_fetch(model, terrain, deep, [down, along]))
            })
            .collect();
        // The sweeps are added in the order of their directions, so the sums of floats do not depend on the threads.
        for (sum, is_turned) in sums.iter_mut().zip([true, false]) {
            sum.par_rows_mut().for_each(|(i, row)| {
                for (_, weight, part) in directions.iter().filter(|part| part.0 == is_turned) {
                    for (sum, open) in row.iter_mut().zip(part.row(i)) {
                        *sum += open.sqrt() * weight;
                    }
                }
            });
        }
    }
    let [along, mut down] = sums;
    let along = along.transposed();
    for (sum, more) in down.as_mut_slice().iter_mut().zip(along.as_slice()) {
        *sum += more;
    }
    down
}

/// Returns the open water upwind of each cell, in full fetches, at most 1, for waves that run southward and eastward by
/// `direction`. The sweep proceeds by rows across the waves; the value upwind of a cell is interpolated between the two
/// nearest cells of the previous row. Where waves run more along rows than along columns, `deep` and the result are
/// transposed.
fn sweep_fetch(model: &Coast, terrain: &Terrain, deep: &Field<bool>, direction: [f64; 2]) -> Field<f32> {
    let grid = &terrain.grid;
    let turned = direction[1].abs() > direction[0].abs();
    let [ahead, aside] = if turned { [direction[1], direction[0]] } else { direction };
    let [rows, cols] = deep.size();
    // The edges that waves enter over: behind the first row, and at the side.
    let [north, east, south, west] = grid.edges.map(|edge| if edge == Edge::Open { 1.0 } else { 0.0 });
    let behind = match (turned, ahead > 0.0) {
        (false, true) => north,
        (false, false) => south,
        (true, true) => west,
        (true, false) => east,
    };
    let beside = match (turned, aside > 0.0) {
        (false, true) => west,
        (false, false) => east,
        (true, true) => north,
        (true, false) => south,
    };
    let part = (aside / ahead).abs() as f32;
    let step = grid.cell / ahead.abs();
    let grows = (step / model.fetch) as f32;
    // The factor of a step compounds to a third over the distance `shelter`.
    let keeps = libm::exp(-step / model.shelter * libm::log(3.0)) as f32;
    let mut open = Field::new([rows, cols], 0.0);
    // The sea continues beyond an open edge where it reaches the edge.
    let over = |edge: f32, r: usize, c: usize| if deep[(r, c)] { edge } else { 0.0 };
    let mut before = vec![0.0; cols + 2];
    let first = if ahead > 0.0 { 0 } else { rows - 1 };
    for c in 0..cols {
        before[c + 1] = over(behind, first, c);
    }
    // Offset into the padded previous row of the neighbour that has the weight `part`.
    let neighbour = if aside > 0.0 { 0 } else { 2 };
    for n in 0..rows {
        let r = if ahead > 0.0 { n } else { rows - 1 - n };
        if aside > 0.0 {
            before[0] = over(beside, r, 0);
        } else {
            before[cols + 1] = over(beside, r, cols - 1);
        }
        // Over water the fetch grows by a step; over land it falls to a third over the distance `shelter`.
        let row = open.row_mut(r);
        let behind = before[1..=cols].iter().zip(&before[neighbour..neighbour + cols]);
        for ((open, is_water), (straight, slant)) in row.iter_mut().zip(deep.row(r)).zip(behind) {
            let come = (1.0 - part) * straight + part * slant;
            *open = if *is_water { (come + grows).min(1.0) } else { come * keeps };
        }
        before[1..=cols].copy_from_slice(row);
    }
    open
}
