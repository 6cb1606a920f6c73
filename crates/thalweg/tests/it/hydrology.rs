//! Tests of streams and pools: properties that must hold.

use crate::support::terrain_on;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::declare::params::Written;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, DISCHARGE, MOMENTUM_X, MOMENTUM_Y, POOL};
use thalweg_core::{Edge, Field, Grid, Height, Terrain};
use thalweg_flow::depressions::Hierarchy;
use thalweg_flow::{Land, spill};
use thalweg_models::model::{MassBalance, Model, Tick};
use thalweg_models::models;

const CELL: f64 = 20.0;

fn terrain(size: [usize; 2], height: impl Fn(f64, f64) -> f64 + Sync) -> Terrain {
    terrain_on(Grid::new(size, CELL).unwrap(), |i, j| height(i as f64, j as f64))
}

/// Builds hills with depressions from sine waves.
fn hills(size: [usize; 2]) -> Terrain {
    terrain(size, |i, j| {
        let wave = |a: f64, b: f64, c: f64| (a * i + b * j + c).sin();
        200.0 + 0.8 * i + 90.0 * wave(0.09, 0.05, 0.3) + 60.0 * wave(-0.07, 0.11, 1.0) + 15.0 * wave(0.31, 0.27, 2.0)
    })
}

fn model(settings: &[(&str, f64)]) -> Box<dyn Model> {
    let mut model = models::find_model("hydrology").expect("it is listed");
    for (name, value) in settings {
        let value = if *name == "spill" { Written::Whole(*value as i64) } else { Written::Number(*value) };
        model.set("hydrology", name, &value).expect("in range");
    }
    model
}

fn run(model: &dyn Model, terrain: &mut Terrain, mut each: impl FnMut(&Terrain, &MassBalance)) -> MassBalance {
    let mut stepper = model.start(&terrain.grid).expect("starts");
    let mut budget = MassBalance::default();
    for step in 0..model.steps(&terrain.grid) {
        budget += stepper.run_step(terrain, Tick { key: RandomKey::new(4, "water"), step }).expect("steps");
        each(terrain, &budget);
    }
    budget
}

fn pool(terrain: &Terrain) -> &Field<Height> {
    match &terrain.layers[POOL.name].cells {
        Cells::Height(depth) => depth,
        _ => panic!("depths are heights"),
    }
}

/// Returns all water in the terrain in units × cells: the lakes, and water that no depth of them shows.
fn stored(terrain: &Terrain) -> i64 {
    let held = terrain.tables.get("held").and_then(|held| held.int_column("water"));
    pool(terrain).as_slice().iter().map(|depth| i64::from(depth.0)).sum::<i64>()
        + held.into_iter().flatten().sum::<i64>()
}

#[test]
fn rain_is_what_evaporated_stands_or_left() {
    for rules in ["momentum", "stream"] {
        for edge in [Edge::Open, Edge::Closed] {
            let mut terrain = hills([90, 110]);
            terrain.grid.edges = [edge; 4];
            let mut model = model(&[("drops", 0.4)]);
            model.set("hydrology", "rules", &rules.into()).expect("a rule set");
            let area = terrain.grid.cell_area();
            let mut most = 0;
            let budget = run(&*model, &mut terrain, |terrain, budget| {
                let stored = stored(terrain);
                most = most.max(stored);
                let gap = budget.water_change() - stored as f64 * area / UNITS;
                assert!(gap.abs() <= 1e-9 * budget.rained, "{gap} m³ of {} with {rules}", budget.rained);
            });
            assert!(most > 0 && budget.rained > 0.0 && budget.evaporated > 0.0);
            assert_eq!(edge == Edge::Open, budget.exported > 0, "sediment leaves over open edges alone");
        }
    }
}

#[test]
fn lakes_are_level_to_the_unit_and_never_above_their_spill() {
    let mut terrain = hills([90, 110]);
    run(&*model(&[("drops", 0.5), ("years", 60.0)]), &mut terrain, |terrain, _| {
        let depth = pool(terrain);
        let level = |i: usize, j: usize| terrain.ground[(i, j)].0 + depth[(i, j)].0;
        for i in 0..89 {
            for j in 0..109 {
                if depth[(i, j)].0 > 0 {
                    for (r, c) in [(i + 1, j), (i, j + 1), (i + 1, j + 1)] {
                        let wet = depth[(r, c)].0 > 0;
                        let flush =
                            if wet { level(r, c) == level(i, j) } else { terrain.ground[(r, c)].0 >= level(i, j) };
                        assert!(flush, "row {i}, column {j} beside row {r}, column {c}");
                    }
                }
            }
        }
        let hierarchy = Hierarchy::from_land(&Land::from_terrain(terrain));
        let room: i64 = hierarchy.depressions.iter().filter(|d| d.parent.is_none()).map(|d| d.volume).sum();
        let water: i64 = depth.as_slice().iter().map(|d| i64::from(d.0)).sum();
        assert!(water <= room, "{water} in {room}");
    });
    assert!(pool(&terrain).as_slice().iter().any(|depth| depth.0 > 0));
}

/// Builds a bowl 60 cells wide whose outside slopes away from its rim; droplets can leave it only over the rim.
fn bowl() -> Terrain {
    terrain([81, 81], |i, j| {
        let r = ((i - 40.0).powi(2) + (j - 40.0).powi(2)).sqrt();
        if r < 30.0 { 100.0 + 2.0 * r } else { 160.0 - (r - 30.0) * 3.0 }
    })
}

#[test]
fn a_bowl_fills_to_the_level_that_its_water_says() {
    // Nothing is eroded and no water is lost: the bowl's water is the rain that fell on it, and its level is the one
    // that all of it poured at once would have.
    let still =
        [("deposition", 0.0), ("grading", 0.0), ("slide", 0.0), ("evaporation", 0.0), ("lake_evaporation", 0.0)];
    let mut terrain = bowl();
    let before = terrain.ground.clone();
    run(&*model(&[&still[..], &[("drops", 1.0), ("years", 4.0)]].concat()), &mut terrain, |_, _| {});
    assert!(terrain.ground == before, "nothing was dug");
    let depth = pool(&terrain);
    let volume: i64 = depth.as_slice().iter().map(|d| i64::from(d.0)).sum();
    let land = Land::from_terrain(&terrain);
    let mut water = Field::new(terrain.grid.size, 0i64);
    water[(40, 40)] = volume;
    let standing = spill::fill_spill_merge(&land, &Hierarchy::from_land(&land), &water).expect("poured");
    assert_eq!(&standing.depth, depth, "one level");
    // 4 m of rain fall on each cell that drains to the middle.
    let hollows = Hierarchy::from_land(&land);
    let above = hollows.leaf.as_slice().iter().filter(|leaf| **leaf == hollows.leaf[(40, 40)]).count();
    let fell = above as f64 * 4.0 * UNITS;
    assert!((volume as f64 / fell - 1.0).abs() < 1e-4, "{} of what fell", volume as f64 / fell);
    assert!((2700..3000).contains(&above), "π·30² cells and the rim: {above}");
}

#[test]
fn a_closed_basin_balances_what_it_gets_by_evaporation() {
    let mut terrain = terrain([61, 61], |i, j| 100.0 + 0.4 * ((i - 30.0).powi(2) + (j - 30.0).powi(2)).sqrt());
    terrain.grid.edges = [Edge::Closed; 4];
    let still = [("deposition", 0.0), ("grading", 0.0), ("slide", 0.0), ("evaporation", 0.0), ("memory", 1.0)];
    let long = [("drops", 5.0), ("batch", 0.01), ("years", 100.0), ("rain", 0.5), ("lake_evaporation", 2.0)];
    run(&*model(&[&still[..], &long].concat()), &mut terrain, |_, _| {});
    let wet = pool(&terrain).as_slice().iter().filter(|depth| depth.0 > 0).count() as f64;
    // The wet area times the evaporation equals the rain on all cells.
    let balance = 3721.0 * 0.5 / 2.0;
    assert!((wet / balance - 1.0).abs() < 0.05, "{wet} wet cells of {balance}");
}

#[test]
fn on_a_plane_water_runs_straight_down_and_adds_up() {
    // The discharge at a cell of a plane is the rain on the cells above it: it grows evenly down the slope.
    let mut terrain = terrain([120, 60], |i, _| 1000.0 - 4.0 * i);
    let still = [
        ("deposition", 0.0),
        ("grading", 0.0),
        ("slide", 0.0),
        ("evaporation", 0.0),
        ("memory", 4.0),
        ("momentum", 0.0),
    ];
    run(&*model(&[&still[..], &[("drops", 12.0), ("batch", 0.25)]].concat()), &mut terrain, |_, _| {});
    let discharge = terrain.float_layer(&DISCHARGE).expect("written");
    let rain = CELL * CELL / 31_557_600.0;
    for i in [20, 60, 100] {
        let mean = discharge.row(i)[5..55].iter().map(|q| f64::from(*q)).sum::<f64>() / 50.0;
        let due = (i as f64 + 0.5) * rain;
        assert!((mean / due - 1.0).abs() < 0.1, "row {i}: {mean} m³/s, {due} due");
    }
    let [x, y] =
        [MOMENTUM_X, MOMENTUM_Y].map(|spec| terrain.float_layer(&spec).expect("written").row(100)[5..55].to_vec());
    let total = |m: &[f32]| m.iter().map(|m| f64::from(*m)).sum::<f64>();
    assert!(total(&x).abs() < 1e-3 * total(&y) && total(&y) > 0.0, "southward: {} by {}", total(&x), total(&y));
}

#[test]
fn roots_hold_the_soil_and_lakes_silt_up() {
    let slope = || terrain([100, 60], |i, j| 600.0 - 5.0 * i + 3.0 * (0.4 * j).sin());
    let lost = |density: f32| {
        let mut terrain = slope();
        let trees = Cells::Float(Field::new([100, 60], density));
        terrain.insert_layer(&thalweg_core::terrain::TREE_DENSITY, trees).expect("fits");
        run(&*model(&[("drops", 1.0)]), &mut terrain, |_, _| {}).eroded
    };
    let (bare, sparse) = (lost(0.0), lost(0.6));
    assert!(sparse < bare * 3 / 4, "{sparse} of {bare}");
    // The bowl's sides feed its floor: its deepest place rises.
    let mut terrain = bowl();
    run(&*model(&[("drops", 1.5), ("lake_evaporation", 0.0)]), &mut terrain, |_, _| {});
    assert!(terrain.ground[(40, 40)] > Height::from_metres_clamped(101.0), "{}", terrain.ground[(40, 40)].metres());
}

#[test]
fn batches_do_not_change_the_physics() {
    let eroded = |batch: f64| {
        let mut terrain = hills([128, 128]);
        let budget = run(&*model(&[("drops", 1.0), ("batch", batch)]), &mut terrain, |_, _| {});
        let discharge: f64 =
            terrain.float_layer(&DISCHARGE).expect("written").as_slice().iter().map(|q| f64::from(*q)).sum();
        [budget.eroded as f64, discharge]
    };
    let (fine, coarse) = (eroded(0.004), eroded(0.016));
    for k in 0..2 {
        assert!((fine[k] / coarse[k] - 1.0).abs() < 0.15, "{:?} against {:?}", fine, coarse);
    }
}
