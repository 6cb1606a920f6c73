//! Terrains with known results.

use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Field, Grid, Height, Terrain};
use thalweg_models::model::{Model, Tick};
use thalweg_models::models::fourier_synthesis::{FourierSynthesis, Spectrum};

/// A terrain whose elevation in metres is a function of the metres eastward and northward from the south-western
/// cell.
pub(super) fn terrain_from_formula(size: [usize; 2], cell: f64, z: impl Fn(f64, f64) -> f64 + Sync) -> Terrain {
    let [rows, _] = size;
    let ground =
        Field::from_fn(size, |i, j| Height::from_metres_clamped(z(j as f64 * cell, (rows - 1 - i) as f64 * cell)));
    Terrain::from_ground(Grid::new(size, cell).unwrap(), ground).unwrap()
}

/// The terrain rotated by 90°.
pub(super) fn rotate_quarter_turn(old: &Terrain) -> Terrain {
    let [rows, cols] = old.grid.size;
    let ground = Field::from_fn([cols, rows], |i, j| old.ground[(j, cols - 1 - i)]);
    Terrain::from_ground(Grid::new([cols, rows], old.grid.cell).unwrap(), ground).unwrap()
}

/// Hills with exact amplitudes that decrease as frequency^−b.
pub(super) fn make_fourier_hills(size: [usize; 2], b: f64, seed: u64) -> Terrain {
    let model = FourierSynthesis { spectrum: Spectrum::Exact, beta: b, ..Default::default() };
    let mut terrain = Terrain::new(Grid::new(size, 30.0).unwrap());
    let mut stepper = model.start(&terrain.grid).unwrap();
    stepper.run_step(&mut terrain, Tick { key: RandomKey::new(seed, "measure"), step: 0 }).unwrap();
    terrain
}
