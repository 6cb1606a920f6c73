//! Coral reefs.

use rayon::prelude::*;

use crate::models::coast::{Coast, line, smoothstep};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Field, Grid, Result, Terrain};
use thalweg_flow::{FlowGraph, Land};
use thalweg_noise::fractal::{Fractal, FractalSettings};
use thalweg_rivers::distance;

/// Depth of a reef's crest in metres: low tide.
const CREST: f64 = 0.5;

/// Width of the crest in metres.
const CREST_WIDTH_M: f64 = 60.0;

/// Slope of the reef's outer side, as rise over run: 40°.
const OUTER: f64 = 0.84;

/// Width in metres of the flat of coral sand behind the crest, where waves are weak and where they are strong.
const FLAT: [f64; 2] = [120.0, 420.0];

/// Depth in metres to which sediment that waves carry over the reef fills the lagoon.
const FLOOR: f64 = 16.0;
/// Amplitude in metres of the unevenness that coral heads give the lagoon's floor.
const HEADS: f64 = 4.0;

/// Distance in metres from one strong part of a reef to the next.
const PARTS: f64 = 900.0;

/// Distance in metres over which the reef line smooths the unevenness of the ground.
const SMOOTHING_DISTANCE_M: f64 = 350.0;

/// Width of a pass in metres.
const PASS: f64 = 110.0;

/// Drainage area in km² of a river that keeps a pass open.
const FRESH: f64 = 1.5;

/// Thickness of sediment in metres above which corals cannot settle.
const MAX_SEDIMENT_M: f64 = 0.5;

/// Lets corals grow. Returns the units added. `inland` is the distance from the shore in metres.
///
/// # Errors
/// Returns an error if the flow paths over the ground cannot be computed.
pub(super) fn grow_corals(
    model: &Coast,
    terrain: &mut Terrain,
    level: i32,
    inland: &Field<f32>,
    exposure: &Field<f32>,
    key: RandomKey,
) -> Result<i128> {
    let passes = distance_to_drowned_rivers(terrain, level)?;
    let vigour = generate_fractal_noise(&terrain.grid, PARTS, key.derive_key(1));
    // The ground's elevation at the foot of the reef, which varies along the reef.
    let foot = |i: usize, j: usize| f64::from(level) - UNITS * model.foot * libm::exp(0.35 * f64::from(vigour[(i, j)]));
    let behind = line::signed_contour_distance(terrain, foot, SMOOTHING_DISTANCE_M);
    let heads = generate_fractal_noise(&terrain.grid, 0.25 * PARTS, key.derive_key(2));
    let Terrain { ground, loose, nodata, .. } = terrain;
    let added = ground.par_rows_mut().map(|(i, row)| {
        let mut added = 0;
        for (j, height) in row.iter_mut().enumerate() {
            let depth = (f64::from(level) - f64::from(height.0)) / UNITS;
            let soft = loose.as_ref().is_some_and(|loose| loose[(i, j)].metres() > MAX_SEDIMENT_M);
            // Corals grow neither above low tide nor on sediment.
            if depth <= CREST || soft || nodata.as_ref().is_some_and(|mask| mask[(i, j)]) {
                continue;
            }
            let behind = f64::from(behind[(i, j)]).clamp(-1e6, 1e6);
            let food = (2.5 * f64::from(exposure[(i, j)])).min(1.0);
            // Corals do not grow up to half the lagoon's width off the land, and grow fully from the whole width on.
            let off = (-f64::from(inland[(i, j)]) / model.lagoon.max(1e-3)).clamp(0.0, 4.0);
            let off = smoothstep(2.0 * off - 1.0);
            // Passes vary in width, and become shallower towards the lagoon.
            let wide = PASS * libm::exp(0.9 * f64::from(heads[(i, j)]));
            let open = smoothstep((f64::from(passes[(i, j)]) / wide - 0.3) / 0.7);
            let open = open + (1.0 - open) * 0.8 * smoothstep((behind - CREST_WIDTH_M) / FLAT[1]);
            let strong = libm::exp(1.2 * f64::from(vigour[(i, j)]));
            // `top` is the depth of the finished reef at this cell.
            let floor = FLOOR + HEADS * f64::from(heads[(i, j)]);
            let flat = FLAT[0] + (FLAT[1] - FLAT[0]) * (0.5 * food * strong).min(1.0);
            let top = if behind < 0.0 {
                CREST - OUTER * behind
            } else {
                CREST + (floor - CREST) * smoothstep((behind - CREST_WIDTH_M) / flat)
            };
            // The reef grows towards its finished shape, as far as the years allow.
            let growth = model.reef * model.years * food.max(0.3) * strong;
            let units = ((depth - top).min(growth).max(0.0) * off * open * UNITS) as i32;
            height.0 += units;
            added += i128::from(units);
        }
        added
    });
    Ok(added.sum())
}

/// Returns the distance in metres to the path on the sea floor of the nearest river of the land, or of its drowned
/// valley. Fresh water and mud kill corals.
fn distance_to_drowned_rivers(terrain: &Terrain, level: i32) -> Result<Field<f32>> {
    // Without a sea level, flow paths continue over the sea floor.
    let grid = Grid { sea_level: None, ..terrain.grid.clone() };
    let land = Land { grid: &grid, ..Land::from_terrain(terrain) };
    let dry = Field::from_fn(grid.size, |i, j| i64::from(terrain.ground[(i, j)].0 >= level));
    let gathered = FlowGraph::new(&land).accumulate_weights(&dry)?;
    let least = FRESH * 1e6 / (grid.cell * grid.cell);
    let rivers = Field::from_fn(grid.size, |i, j| dry[(i, j)] == 0 && gathered[(i, j)] as f64 >= least);
    Ok(distance::distances_to_set(&rivers, grid.cell))
}

/// Returns fractal noise of the given wavelength, about −1 to 1.
fn generate_fractal_noise(grid: &Grid, wavelength: f64, key: RandomKey) -> Field<f32> {
    let noise = Fractal::new(&FractalSettings::fbm(4, wavelength, 0.5), None, key, grid.cell);
    let mut out = Field::new(grid.size, 0.0);
    out.par_rows_mut().for_each(|(i, row)| noise.fill_row(grid, i, row));
    out
}
