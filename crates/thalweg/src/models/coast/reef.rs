//! Corals.

use rayon::prelude::*;

use crate::field::Field;
use crate::height::UNITS;
use crate::models::coast::{Coast, Shore};
use crate::noise::fractal::{Fractal, Settings};
use crate::rng::Key;
use crate::terrain::Terrain;

/// Depth below which no coral grows, and that to which a reef grows, in metres.
const DEPTHS: [f64; 2] = [30.0, 0.5];

/// Depth over which light falls to 1/e of its strength, in metres.
const LIGHT: f64 = 15.0;

/// From one strong part of a reef to the next, in metres.
const PARTS: f64 = 600.0;

/// Loose ground on which corals find no hold, in metres.
const LOOSE_GROUND: f64 = 0.5;

/// Lets corals grow for so many years; the units added.
pub(super) fn grow(
    model: &Coast,
    years: f64,
    terrain: &mut Terrain,
    shore: &Shore,
    exposure: &Field<f32>,
    key: Key,
) -> i128 {
    let Terrain { grid, ground, loose, .. } = terrain;
    let noise = Fractal::new(&Settings::fbm(5, PARTS, 0.6), None, key.and(1), grid.cell);
    let added = ground.par_rows_mut().map(|(i, row)| {
        let mut vigour = vec![0.0; row.len()];
        noise.row(grid, i, &mut vigour);
        let mut added = 0;
        for (j, height) in row.iter_mut().enumerate().filter(|(j, _)| shore.sea[(i, *j)]) {
            let depth = (f64::from(shore.level) - f64::from(height.0)) / UNITS;
            let soft = loose.as_ref().is_some_and(|loose| loose[(i, j)].metres() > LOOSE_GROUND);
            if !(DEPTHS[1]..DEPTHS[0]).contains(&depth) || soft {
                continue;
            }
            let off = (f64::from(shore.to_land[(i, j)]) / model.lagoon.max(1e-3)).min(4.0);
            // None to half the lagoon's width, all from the whole of it on.
            let off = (2.0 * off - 1.0).clamp(0.0, 1.0);
            let light = libm::tanh(LIGHT / depth * libm::exp(-depth / LIGHT));
            let food = (2.0 * f64::from(exposure[(i, j)])).min(1.0).powi(2);
            let vigour = libm::exp(2.0 * f64::from(vigour[j]));
            let growth = model.reef * years * off * light * food * vigour;
            let units = (growth.min(depth - DEPTHS[1]) * UNITS) as i32;
            height.0 += units;
            added += i128::from(units);
        }
        added
    });
    added.sum()
}
