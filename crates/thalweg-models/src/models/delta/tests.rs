//! Compares the delta with known facts.

use crate::model::{MassBalance, Model, Tick};
use crate::models::delta::Delta;
use crate::models::delta::arms::Arms;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::DISCHARGE;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Field, Grid, Height, Terrain};

/// Returns a plain that slopes gently to a sea in the south, whose floor falls by `fall` metres per cell.
fn coast(cells: usize, fall: f64) -> Terrain {
    let mut grid = Grid::new([cells, cells], 100.0).unwrap();
    grid.sea_level = Some(Height::ZERO);
    let ground = Field::from_fn([cells, cells], |i, _| {
        let north = 0.4 * cells as f64 - i as f64;
        Height::from_metres_clamped(if north > 0.0 { 0.05 * north + 0.2 } else { fall * north - 0.2 })
    });
    Terrain::from_ground(grid, ground).unwrap()
}

fn built(terrain: &mut Terrain, model: &Delta) -> MassBalance {
    let mut budget = MassBalance::default();
    let mut stepper = model.start(&terrain.grid).unwrap();
    for step in 0..model.steps(&terrain.grid) {
        let before = terrain.sum_solid();
        let done = stepper.run_step(terrain, Tick { key: RandomKey::new(6, "delta"), step }).unwrap();
        assert_eq!(terrain.sum_solid() - before, done.solid_change(), "step {step}");
        assert_eq!(done.added + done.eroded, done.deposited + done.exported);
        budget += done;
    }
    budget
}

fn land(terrain: &Terrain) -> usize {
    terrain.ground.as_slice().iter().filter(|height| height.0 > 0).count()
}

#[test]
fn the_coast_advances_by_what_the_river_brings() {
    // Steeper than the delta's front, so that it has room for all sediment.
    let mut terrain = coast(80, 2.0);
    let (before, solid) = (land(&terrain), terrain.sum_solid());
    let model = Delta { years: 600.0, step: 20.0, ..Delta::default() };
    let budget = built(&mut terrain, &model);
    // 600 years of 2e6 m³. Sediment for which young bars have no room has drifted out; most has stayed.
    let brought = model.sediment * model.years / terrain.grid.cell_area() * UNITS;
    let kept = (terrain.sum_solid() - solid) as f64;
    assert!((0.6 * brought..=1.01 * brought).contains(&kept), "{budget:?}");
    assert!(land(&terrain) > before + 20, "{} and {before}", land(&terrain));
    // Arms are below the plain next to them, and the river's water reaches the sea.
    let flow = terrain.float_layer(&DISCHARGE).unwrap();
    assert!(flow.as_slice().iter().filter(|q| **q >= 100.0).count() > 30);
    assert!(terrain.ground.as_slice().iter().all(|height| height.metres() < 40.0));
}

#[test]
fn break_outs_make_arms() {
    // Counts forks on what was land at the start, up to 3200 m from the north. Mouths fork in the sea.
    let inland = |avulsion: f64| {
        let mut terrain = coast(80, 0.4);
        built(&mut terrain, &Delta { years: 1500.0, step: 15.0, avulsion, ..Delta::default() });
        let arms = Arms::read_table(&terrain, RandomKey::new(6, "delta").random_bits() as i64).unwrap().unwrap();
        arms.0.iter().filter(|arm| arm.parent.is_some() && arm.line[0].y < 2800.0).count()
    };
    assert!(inland(150.0) >= 2);
    assert_eq!(inland(1e6), 0);
}

#[test]
fn several_arms_share_the_river() {
    let mut terrain = coast(120, 0.4);
    let model = Delta { years: 1500.0, step: 15.0, ..Delta::default() };
    built(&mut terrain, &model);
    let arms = Arms::read_table(&terrain, RandomKey::new(6, "delta").random_bits() as i64).unwrap().unwrap();
    let shares = arms.discharge_shares();
    let mouths: Vec<f64> = (0..shares.len()).filter(|k| arms.is_mouth(*k)).map(|k| shares[k]).collect();
    assert!(mouths.len() > 2, "{mouths:?}");
    assert!((mouths.iter().sum::<f64>() - 1.0).abs() < 1e-6);
    // Each arm's bed is as deep as its discharge requires: the stem's bed is below the plain next to it.
    let stem = &arms.0[0].line;
    let middle = stem[stem.len() / 2];
    let [y, x] = [middle.y, middle.x].map(|metres| (metres / terrain.grid.cell) as usize);
    let adjacent = terrain.ground[(y, x + 6)].metres().max(terrain.ground[(y, x - 6)].metres());
    assert!(terrain.ground[(y, x)].metres() < adjacent - 2.0, "{} {adjacent}", terrain.ground[(y, x)].metres());
}

#[test]
fn without_a_sea_nothing_happens() {
    let mut terrain = coast(20, 0.4);
    terrain.grid.sea_level = None;
    let ground = terrain.ground.clone();
    assert_eq!(built(&mut terrain, &Delta { years: 50.0, ..Delta::default() }), MassBalance::default());
    assert_eq!(terrain.ground, ground);
}
