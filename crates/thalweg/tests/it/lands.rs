//! Tests of the parts that form the lands of continents, from outside: plates, and the rain on them.

use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::{RAIN, UPLIFT};
use thalweg_core::{Field, Grid, Height, Terrain};
use thalweg_models::model::{MassBalance, Model, Tick};
use thalweg_models::models::climate::Climate;
use thalweg_models::models::plates::Plates;

fn laid(seed: u64, side: usize) -> Terrain {
    let mut grid = Grid::new([side, side], 2_048_000.0 / side as f64).unwrap();
    grid.sea_level = Some(Height::ZERO);
    let mut terrain = Terrain::new(grid);
    let model = Plates::default();
    let mut stepper = model.start(&terrain.grid).unwrap();
    for step in 0..model.steps(&terrain.grid) {
        stepper.run_step(&mut terrain, Tick { key: RandomKey::new(seed, "plates"), step }).unwrap();
    }
    terrain
}

#[test]
fn continents_have_land_shelf_and_belts_and_their_rims_lie_in_deep_sea() {
    let mut shares = Vec::new();
    for seed in 0..12 {
        let side = 128;
        let terrain = laid(seed, side);
        let metres = |i: usize, j: usize| terrain.ground[(i, j)].metres();
        for k in 0..side {
            for (i, j) in [(0, k), (side - 1, k), (k, 0), (k, side - 1)] {
                assert!(metres(i, j) < -2000.0, "seed {seed}: {} at {i}, {j}", metres(i, j));
            }
        }
        let all: Vec<f64> = terrain.ground.as_slice().iter().map(|height| height.metres()).collect();
        let share = |of: &dyn Fn(f64) -> bool| all.iter().filter(|z| of(**z)).count() as f64 / all.len() as f64;
        let (land, shelf) = (share(&|z| z > 0.0), share(&|z| (-175.0..=0.0).contains(&z)));
        assert!(all.iter().all(|z| (-3800.1..2000.0).contains(z)));
        assert!(shelf > 0.01, "seed {seed}: shelf {shelf}");
        shares.push(land);
        // Mountain belts: some of the land is uplifted five times as fast as most of it.
        let uplift = terrain.float_layer(&UPLIFT).unwrap();
        let mut dry: Vec<f32> = (0..all.len()).filter(|k| all[*k] > 0.0).map(|k| uplift.as_slice()[k]).collect();
        dry.sort_by(f32::total_cmp);
        let of = |part: f64| dry[((dry.len() - 1) as f64 * part) as usize];
        assert!(of(0.97) > 2.5 * of(0.4) && of(0.0) >= 0.0 && of(1.0) < 4.0, "{} {}", of(0.4), of(0.97));
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!((0.2..0.5).contains(&mean) && shares.iter().all(|share| *share > 0.08), "{shares:?}");
}

#[test]
fn a_finer_grid_has_the_same_coasts() {
    let (coarse, fine) = (laid(5, 96), laid(5, 192));
    let is_land = |terrain: &Terrain, i: usize, j: usize| terrain.ground[(i, j)] > Height::ZERO;
    let cells = || (0..96).flat_map(|i| (0..96).map(move |j| (i, j)));
    let most = |i: usize, j: usize| (0..4).filter(|q| is_land(&fine, 2 * i + q / 2, 2 * j + q % 2)).count() >= 2;
    let other = cells().filter(|(i, j)| most(*i, *j) != is_land(&coarse, *i, *j)).count();
    // Along the coast one more octave of noise changes the result.
    assert!(other < 96 * 96 / 20, "{other}");
}

/// Returns the rain on an island with a ridge from north to south, 800 km wide with cells of 8 km.
fn rain(model: &Climate) -> Field<f32> {
    let mut grid = Grid::new([100, 100], 8000.0).unwrap();
    grid.sea_level = Some(Height::ZERO);
    let height = |i: usize, j: usize| {
        let (y, x) = (i as f64 - 49.5, j as f64 - 49.5);
        if x * x + y * y > 40.0 * 40.0 { -500.0 } else { 100.0 + (2500.0 - 300.0 * x.abs()).max(0.0) }
    };
    let ground = Field::from_fn([100, 100], |i, j| Height::from_metres_clamped(height(i, j)));
    let mut terrain = Terrain::from_ground(grid, ground).unwrap();
    let before = terrain.ground.clone();
    let tick = Tick { key: RandomKey::new(1, "climate"), step: 0 };
    assert_eq!(model.start(&terrain.grid).unwrap().run_step(&mut terrain, tick).unwrap(), MassBalance::default());
    assert_eq!(terrain.ground, before);
    terrain.float_layer(&RAIN).unwrap().clone()
}

fn mean(rain: &Field<f32>, cols: std::ops::Range<usize>) -> f32 {
    let count = (20 * cols.len()) as f32;
    (40..60).flat_map(|i| rain.row(i)[cols.clone()].iter()).sum::<f32>() / count
}

#[test]
fn westerlies_and_trades_wet_the_sides_that_they_come_from() {
    for (latitude, west_is_wet) in [(45.0, true), (-45.0, true), (15.0, false), (-15.0, false), (75.0, false)] {
        let rain = rain(&Climate { latitude, ..Climate::default() });
        assert!(rain.as_slice().iter().all(|share| (0.0..=1.0).contains(share)));
        let (west, east) = (mean(&rain, 40..48), mean(&rain, 52..60));
        let (wet, dry) = if west_is_wet { (west, east) } else { (east, west) };
        assert!(wet > 2.0 * dry, "{latitude}: {west} in the west, {east} in the east");
    }
}

#[test]
fn more_falls_at_the_equator_than_in_the_belt_of_deserts() {
    let at = |latitude: f64| mean(&rain(&Climate { latitude, ..Climate::default() }), 10..90);
    let [equator, deserts, west_winds, pole] = [0.0, 28.0, 48.0, 88.0].map(at);
    assert!(
        equator > 2.0 * deserts && west_winds > 1.3 * deserts && pole < west_winds,
        "{equator} {deserts} {west_winds} {pole}"
    );
    // Twice the rain gives twice the layer where it is below 1.
    let double = rain(&Climate { amount: 0.2, ..Climate::default() });
    let single = rain(&Climate { amount: 0.1, ..Climate::default() });
    let pairs = double.as_slice().iter().zip(single.as_slice());
    assert!(pairs.filter(|(double, _)| **double < 1.0).all(|(double, single)| (double - 2.0 * single).abs() < 1e-6));
}

#[test]
fn moved_southward_it_lies_elsewhere_in_the_belts() {
    let mut model = Climate { latitude: 60.0, ..Climate::default() };
    model.shift_map_origin([5e6, 15.0 * 111_200.0]);
    assert!((model.latitude - 45.0).abs() < 1e-9);
    assert_eq!(rain(&model), rain(&Climate { latitude: model.latitude, ..Climate::default() }));
    // Across the pole and down the other side.
    model.shift_map_origin([0.0, -60.0 * 111_200.0]);
    assert!((model.latitude - 75.0).abs() < 1e-9, "{}", model.latitude);
}
