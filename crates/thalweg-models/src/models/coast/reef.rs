//! Corals.

use rayon::prelude::*;

use crate::models::coast::{Coast, line, smooth};
use thalweg_core::base::rng::Key;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Field, Grid, Result, Terrain};
use thalweg_flow::{FlowGraph, Land};
use thalweg_noise::fractal::{Fractal, FractalSettings};
use thalweg_rivers::distance;

/// Depth of a reef's crest, in metres: the tide's low water.
const CREST: f64 = 0.5;

/// Width of the crest, in metres.
const WIDE: f64 = 60.0;

/// Rise of the outer slope: corals stand at 40°.
const OUTER: f64 = 0.84;

/// Width of the flat of coral sand behind the crest, in metres, where waves are weak and strong.
const FLAT: [f64; 2] = [120.0, 420.0];

/// Depth to which what waves carry over the reef fills the lagoon, in metres, and how uneven heads of coral make its floor.
const FLOOR: f64 = 16.0;
const HEADS: f64 = 4.0;

/// From one strong part of a reef to the next, in metres.
const PARTS: f64 = 900.0;

/// Over how many metres a reef goes round unevenness of the ground.
const EVEN: f64 = 350.0;

/// Width of a pass, in metres.
const PASS: f64 = 110.0;

/// Land in km² whose river keeps a pass open.
const FRESH: f64 = 1.5;

/// Loose ground on which corals find no hold, in metres.
const LOOSE_GROUND: f64 = 0.5;

/// Lets corals grow; the units added. `inland` is metres from the shore.
///
/// # Errors
/// When the ground's water cannot be followed.
pub(super) fn grow(
    model: &Coast,
    terrain: &mut Terrain,
    level: i32,
    inland: &Field<f32>,
    exposure: &Field<f32>,
    key: Key,
) -> Result<i128> {
    let passes = passes(terrain, level)?;
    let vigour = noise(&terrain.grid, PARTS, key.and(1));
    // Where the ground lies as deep as the reef's foot, here more and there less.
    let foot = |i: usize, j: usize| f64::from(level) - UNITS * model.foot * libm::exp(0.35 * f64::from(vigour[(i, j)]));
    let behind = line::distance(terrain, foot, EVEN);
    let heads = noise(&terrain.grid, 0.25 * PARTS, key.and(2));
    let Terrain { ground, loose, nodata, .. } = terrain;
    let added = ground.par_rows_mut().map(|(i, row)| {
        let mut added = 0;
        for (j, height) in row.iter_mut().enumerate() {
            let depth = (f64::from(level) - f64::from(height.0)) / UNITS;
            let soft = loose.as_ref().is_some_and(|loose| loose[(i, j)].metres() > LOOSE_GROUND);
            if depth <= CREST || soft || nodata.as_ref().is_some_and(|mask| mask[(i, j)]) {
                continue;
            }
            let behind = f64::from(behind[(i, j)]).clamp(-1e6, 1e6);
            let food = (2.5 * f64::from(exposure[(i, j)])).min(1.0);
            // None to half the lagoon's width off the land, all from the whole of it on.
            let off = (-f64::from(inland[(i, j)]) / model.lagoon.max(1e-3)).clamp(0.0, 4.0);
            let off = smooth(2.0 * off - 1.0);
            // Passes are wide and narrow, and grow shallow in the lagoon.
            let wide = PASS * libm::exp(0.9 * f64::from(heads[(i, j)]));
            let open = smooth((f64::from(passes[(i, j)]) / wide - 0.3) / 0.7);
            let open = open + (1.0 - open) * 0.8 * smooth((behind - WIDE) / FLAT[1]);
            let strong = libm::exp(1.2 * f64::from(vigour[(i, j)]));
            // How deep the reef's top lies here once it is built.
            let floor = FLOOR + HEADS * f64::from(heads[(i, j)]);
            let flat = FLAT[0] + (FLAT[1] - FLAT[0]) * (0.5 * food * strong).min(1.0);
            let top = if behind < 0.0 {
                CREST - OUTER * behind
            } else {
                CREST + (floor - CREST) * smooth((behind - WIDE) / flat)
            };
            let growth = model.reef * model.years * food.max(0.3) * strong;
            let units = ((depth - top).min(growth).max(0.0) * off * open * UNITS) as i32;
            height.0 += units;
            added += i128::from(units);
        }
        added
    });
    Ok(added.sum())
}

/// Metres to where a river of the land, or what was its valley, goes down over the ground of the sea: fresh water and mud
/// kill corals.
fn passes(terrain: &Terrain, level: i32) -> Result<Field<f32>> {
    let grid = Grid { sea_level: None, ..terrain.grid.clone() };
    let land = Land { grid: &grid, ..Land::of(terrain) };
    let dry = Field::generate(grid.size, |i, j| i64::from(terrain.ground[(i, j)].0 >= level));
    let gathered = FlowGraph::new(&land).accumulate_weights(&dry)?;
    let least = FRESH * 1e6 / (grid.cell * grid.cell);
    let rivers = Field::generate(grid.size, |i, j| dry[(i, j)] == 0 && gathered[(i, j)] as f64 >= least);
    Ok(distance::to_set(&rivers, grid.cell))
}

/// Fractal noise of the given wavelength, about −1 to 1.
fn noise(grid: &Grid, wavelength: f64, key: Key) -> Field<f32> {
    let noise = Fractal::new(&FractalSettings::fbm(4, wavelength, 0.5), None, key, grid.cell);
    let mut out = Field::new(grid.size, 0.0);
    out.par_rows_mut().for_each(|(i, row)| noise.row(grid, i, row));
    out
}
