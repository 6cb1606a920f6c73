//! Tests of streams, lakes, soils and vegetation together: properties that must hold when they interact.

use crate::support::terrain_on;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, DISCHARGE, POOL, SOIL};
use thalweg_core::{Edge, Field, Grid, Height, Result, Terrain};
use thalweg_flow::Land;
use thalweg_flow::depressions::Hierarchy;
use thalweg_models::model::{MassBalance, Model, Tick};
use thalweg_models::models;
use thalweg_models::process::forest::{Forest, TREES};
use thalweg_noise::input_tables::soils::{number, strata};
use thalweg_noise::input_tables::springs::{self, Spring};

use crate::widths::widths;

const CELL: f64 = 20.0;

/// The discharge in m³/s of one metre of rain a year on one cell.
const RAIN: f64 = CELL * CELL / 31_557_600.0;

/// Parameters with which nothing is eroded and no water is lost.
const STILL: [(&str, f64); 5] =
    [("deposition", 0.0), ("grading", 0.0), ("slide", 0.0), ("evaporation", 0.0), ("lake_evaporation", 0.0)];

fn terrain(size: [usize; 2], height: impl Fn(f64, f64) -> f64 + Sync) -> Terrain {
    terrain_on(Grid::new(size, CELL).unwrap(), |i, j| height(i as f64, j as f64))
}

/// Builds hills with depressions from sine waves.
fn hills(size: [usize; 2]) -> Terrain {
    terrain(size, |i, j| {
        let wave = |a: f64, b: f64, c: f64| libm::sin(a * i + b * j + c);
        200.0 + 0.8 * i + 90.0 * wave(0.09, 0.05, 0.3) + 60.0 * wave(-0.07, 0.11, 1.0) + 15.0 * wave(0.31, 0.27, 2.0)
    })
}

fn model(settings: &[(&str, f64)]) -> Box<dyn Model> {
    let mut model = models::find_model("hydrology").expect("it is listed");
    for (name, value) in settings {
        model.set("hydrology", name, &(*value).into()).expect("in range");
    }
    model
}

fn run(model: &dyn Model, terrain: &mut Terrain) -> Result<MassBalance> {
    let mut stepper = model.start(&terrain.grid)?;
    let mut budget = MassBalance::default();
    for step in 0..model.steps(&terrain.grid) {
        budget += stepper.run_step(terrain, Tick { key: RandomKey::new(4, "water"), step })?;
    }
    Ok(budget)
}

fn pool(terrain: &Terrain) -> &Field<Height> {
    terrain.height_layer(&POOL).expect("depths are heights")
}

fn standing(terrain: &Terrain) -> f64 {
    pool(terrain).as_slice().iter().map(|depth| f64::from(depth.0)).sum::<f64>() * terrain.grid.cell_area() / UNITS
}

/// Builds a valley that falls to the east through three depressions, whose sills lie in columns 50, 100 and 150.
fn stairs() -> Terrain {
    let floor = |j: f64| {
        let [step, along] = [(j / 50.0).floor(), j % 50.0];
        let hollow = if along < 10.0 { -2.5 * along } else { -25.0 + 0.375 * (along - 10.0) };
        300.0 - 60.0 * step + if step < 3.0 { hollow } else { -1.2 * (j - 150.0) }
    };
    // The last column of a depression is its sill; behind it the ground falls by 50 m.
    let mut terrain = terrain([41, 180], |i, j| floor(j) + 4.0 * (i - 20.0).abs());
    terrain.grid.edges = [Edge::Closed, Edge::Open, Edge::Closed, Edge::Closed];
    terrain
}

#[test]
fn three_lakes_in_a_row_fill_and_hand_on_what_they_get() {
    let mut terrain = stairs();
    let settings = [("drops", 10.0), ("batch", 0.05), ("years", 40.0), ("memory", 1.0), ("momentum", 0.0)];
    let budget = run(&*model(&[&STILL[..], &settings].concat()), &mut terrain).unwrap();
    let depth = pool(&terrain);
    let discharge = terrain.float_layer(&DISCHARGE).unwrap();
    for (n, sill) in [49, 99, 149].into_iter().enumerate() {
        let level = terrain.ground[(20, sill)].0;
        assert_eq!(terrain.ground[(20, sill - 20)].0 + depth[(20, sill - 20)].0, level, "lake {n} stands at its sill");
        assert_eq!(depth[(20, sill)].0, 0);
        // The discharge below a sill is the rain on all land above it.
        let runs: f64 = (0..41).map(|i| f64::from(discharge[(i, sill + 3)])).sum();
        let due = 41.0 * (sill as f64 + 3.5) * RAIN;
        assert!((runs / due - 1.0).abs() < 0.12, "lake {n}: {runs} m³/s, {due} due");
    }
    assert!((budget.water_change() - standing(&terrain)).abs() <= 1e-9 * budget.rained);
}

#[test]
fn nearly_all_land_drains_to_an_edge_or_a_lake() {
    for seed in 0..2 {
        let mut terrain = hills([150, 150]);
        // Rough ground: about every tenth cell is a pit.
        for (k, ground) in terrain.ground.as_mut_slice().iter_mut().enumerate() {
            ground.0 += (RandomKey::new(seed, "rough").derive_key(k as u64).standard_normal() * 1.5 * UNITS) as i32;
        }
        run(&*model(&[("drops", 3.0)]), &mut terrain).unwrap();
        let depth = pool(&terrain);
        // Depressions by the pits that water drains to; a pit counts as good if it holds a lake.
        let hollows = Hierarchy::from_land(&Land::from_terrain(&terrain));
        let ends_well = |leaf: &&u32| {
            let pit = hollows.depressions.get(**leaf as usize).map(|hollow| hollow.pit as usize);
            pit.is_none_or(|pit| depth.as_slice()[pit].0 > 0)
        };
        let share = hollows.leaf.as_slice().iter().filter(ends_well).count() as f64 / depth.len() as f64;
        assert!(share >= 0.95, "{share} of the land");
    }
}

#[test]
fn a_forest_keeps_out_of_the_water_and_holds_the_slope() {
    let grown = |forest: f64| {
        let mut terrain = hills([120, 120]);
        let budget = run(&*model(&[("drops", 1.5), ("forest", forest)]), &mut terrain).unwrap();
        (terrain, budget.eroded)
    };
    let ((bare, lost), (wooded, kept)) = (grown(0.0), grown(400.0));
    assert!(!bare.tables.contains_key(TREES));
    let forest = Forest::read(&wooded).unwrap();
    assert!(forest.trees().len() > 5000, "{} trees", forest.trees().len());
    let (depth, discharge) = (pool(&wooded), wooded.float_layer(&DISCHARGE).unwrap());
    for tree in forest.trees() {
        let at = (tree.cell[0] as usize, tree.cell[1] as usize);
        assert!(depth[at].0 == 0 && discharge[at] <= 0.05, "{tree:?} in {} m, {} m³/s", depth[at].0, discharge[at]);
    }
    assert!(kept * 10 < lost * 9, "{kept} with a forest, {lost} without");
}

#[test]
fn streams_that_draw_drops_along_are_narrower() {
    // The mean width of streams with 300 cells upstream and more.
    let width = |rules: &str, settings: &[(&str, f64)]| {
        let mut terrain = hills([160, 160]);
        let mut model = model(&[&[("drops", 2.0)], settings].concat());
        model.set("hydrology", "rules", &rules.into()).unwrap();
        run(&*model, &mut terrain).unwrap();
        widths(terrain.float_layer(&DISCHARGE).unwrap(), (300.0 * RAIN) as f32, CELL).unwrap().mean
    };
    let plain = [("momentum", 0.0), ("stream_friction", 0.0), ("stream_evaporation", 0.0)];
    let [momentum, stream] = ["momentum", "stream"].map(|rules| [width(rules, &plain), width(rules, &[])]);
    // The figures given in docs/water.md.
    println!("basic and combined: momentum {momentum:.1?} m, stream {stream:.1?} m");
    assert!(momentum[1] < 0.85 * momentum[0], "{momentum:?}");
}

#[test]
fn soils_yield_and_soak_up_by_their_kind() {
    let slope = || terrain([100, 60], |i, j| 600.0 - 5.0 * i + 3.0 * libm::sin(0.4 * j));
    let lost = |kind: u32, storm: f64| {
        let mut terrain = slope();
        terrain.insert_layer(&SOIL, Cells::Count(Field::new([100, 60], kind))).unwrap();
        let budget = run(&*model(&[("drops", 1.0), ("storm", storm)]), &mut terrain).unwrap();
        assert!((budget.water_change() - standing(&terrain)).abs() <= 1e-9 * budget.rained);
        (budget.eroded as f64, budget.infiltrated / budget.rained)
    };
    let kinds = [number::ROCK, number::LOAM, number::CLAY];
    // In a cloudburst hardly any water infiltrates, so the erosion depends on each kind's erodibility alone.
    let [(rock, _), (loam, _), (clay, _)] = kinds.map(|kind| lost(kind, 1000.0));
    assert!(rock < 0.2 * clay && clay < 0.8 * loam, "rock {rock}, clay {clay}, loam {loam}");
    let [(_, into_rock), (_, into_loam), (_, into_clay)] = kinds.map(|kind| lost(kind, 10.0));
    // At a mean rate of 10 mm/h, a share of exp(−K/i) runs off.
    for (into, permeability) in [(into_rock, 1e-8), (into_loam, 2.89e-6), (into_clay, 5.6e-7)] {
        let due = 1.0 - libm::exp(-permeability / (0.01 / 3600.0));
        assert!((into - due).abs() < 0.02, "{into} soaked in, {due} due");
    }
}

#[test]
fn hard_beds_stand_as_steps() {
    let beds = [(60.0, 0.0, 30.0), (60.0, 0.97, 80.0)].map(|(thickness, hardness, talus)| strata::Bed {
        thickness,
        hardness,
        talus,
    });
    let mut terrain = terrain([120, 80], |i, j| 600.0 - 4.0 * i + 2.0 * libm::sin(0.5 * j));
    strata::set_strata(&mut terrain, &beds).unwrap();
    let before = terrain.ground.clone();
    run(&*model(&[("drops", 2.0)]), &mut terrain).unwrap();
    // Cells in a hard bed have been eroded less.
    let rock = strata::read_strata(&terrain).unwrap().unwrap();
    let mut dug = [[0.0; 2]; 2];
    for i in 5..115 {
        for j in 5..75 {
            // Only cells with at least half of a bed's thickness left below the surface are counted.
            let height = before[(i, j)].0 + rock.elevation_offset(i as i64, j as i64);
            let half = Height::from_metres_clamped(30.0).0;
            let bed = rock.bed(height);
            if rock.bed(height - half) == bed {
                dug[bed][0] += (before[(i, j)].metres() - terrain.ground[(i, j)].metres()).max(0.0);
                dug[bed][1] += 1.0;
            }
        }
    }
    let [soft, hard] = dug.map(|[sum, count]| sum / count);
    assert!(hard < 0.7 * soft, "{hard} m of the hard bed, {soft} m of the soft one");
}

#[test]
fn a_spring_pours_its_rate_and_feeds_its_stream() {
    let mut terrain = terrain([80, 60], |i, j| 500.0 - 3.0 * i + 2.0 * (j - 30.0).abs());
    springs::add_springs(&mut terrain, &[Spring { x: 30.5 * CELL, y: 5.5 * CELL, rate: 0.05 }]).unwrap();
    let settings = [("drops", 8.0), ("batch", 0.1), ("memory", 2.0), ("rain", 0.01)];
    let budget = run(&*model(&[&STILL[..], &settings].concat()), &mut terrain).unwrap();
    let poured = 0.05 * 20.0 * 31_557_600.0;
    assert!((budget.poured / poured - 1.0).abs() < 1e-3, "{} m³ of {poured}", budget.poured);
    assert!((budget.water_change() - standing(&terrain)).abs() <= 1e-9 * budget.poured);
    let runs: f64 = terrain.float_layer(&DISCHARGE).unwrap().row(50).iter().map(|q| f64::from(*q)).sum();
    assert!((runs / 0.05 - 1.0).abs() < 0.15, "{runs} m³/s of 0.05");
    // A rate higher than a batch can represent is refused, and the error names it.
    let mut flood = terrain.clone();
    springs::add_springs(&mut flood, &[Spring { x: 50.0, y: 50.0, rate: 1e7 }]).unwrap();
    let error = run(&*model(&[("drops", 0.01), ("batch", 0.001), ("rain", 0.001)]), &mut flood).unwrap_err();
    assert!(error.to_string().contains("springs[2].rate"), "{error}");
}

#[test]
fn the_strangest_lands_pass() {
    let closes = |mut terrain: Terrain, settings: &[(&str, f64)]| {
        let solid = terrain.sum_solid();
        let budget = run(&*model(settings), &mut terrain).unwrap();
        assert_eq!(terrain.sum_solid() - solid, budget.deposited - budget.eroded);
        assert!((budget.water_change() - standing(&terrain)).abs() <= 1e-9 * budget.rained.max(1.0));
        terrain
    };
    // A terrain that is entirely sea.
    let mut sea = hills([40, 40]);
    sea.grid.sea_level = Some(Height::from_metres_clamped(9000.0));
    let after = closes(sea.clone(), &[("drops", 1.0), ("forest", 20.0)]);
    assert_eq!(after.ground, sea.ground);
    // Terrains one cell wide, and a single cell.
    for size in [[1, 50], [50, 1], [1, 1]] {
        closes(terrain(size, |i, j| 10.0 * libm::sin(i + j)), &[("drops", 2.0)]);
    }
    // A basin closed on all sides without evaporation, with more rain than it can hold.
    let mut basin = terrain([40, 40], |i, j| 0.5 * (i - 20.0).hypot(j - 20.0));
    basin.grid.edges = [Edge::Closed; 4];
    let full = closes(basin, &[("drops", 2.0), ("years", 100.0), ("lake_evaporation", 0.0), ("evaporation", 0.0)]);
    assert!(pool(&full).as_slice().iter().all(|depth| depth.0 > 0), "all of it is under water");
}
