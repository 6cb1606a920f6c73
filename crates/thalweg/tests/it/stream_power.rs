//! Tests of stream power: against its steady states, and for outcomes that must never occur.

use crate::support::terrain_on;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, RAIN};
use thalweg_core::{Edge, Field, Grid, Height, Terrain};
use thalweg_flow::{D8, Land, accumulate, d8, fill, find_receiver};
use thalweg_models::model::{MassBalance, Model, Tick};
use thalweg_models::models::stream_power::{Area, ERODIBILITY, StreamPower, UPLIFT};

/// Returns the model with uplift U and incision K·Aᵐ·Sⁿ alone, the same everywhere, with flow in eight directions.
fn bare() -> StreamPower {
    StreamPower {
        years: 1e7,
        step: 5e4,
        uplift_variation: 0.0,
        erodibility_variation: 0.0,
        grain: 0.0,
        erodibility: 7e-6,
        planation: 0.0,
        area: Area::D8,
        slope_limit: 0.0,
        diffusion: 0.0,
        ..StreamPower::default()
    }
}

/// Builds a plain with 1 m of unevenness. Only its southern edge is open, unless other `edges` are given.
fn plain(size: [usize; 2], cell: f64, edges: [Edge; 4]) -> Terrain {
    let key = RandomKey::new(4, "plain");
    let grid = Grid { edges, ..Grid::new(size, cell).unwrap() };
    terrain_on(grid, |i, j| key.for_cell([i as i64, j as i64]).uniform_unit())
}

const SOUTH: [Edge; 4] = [Edge::Closed, Edge::Closed, Edge::Open, Edge::Closed];

fn run(model: &StreamPower, terrain: &mut Terrain) -> MassBalance {
    let mut stepper = model.start(&terrain.grid).unwrap();
    let mut budget = MassBalance::default();
    for step in 0..model.steps(&terrain.grid) {
        budget += stepper.run_step(terrain, Tick { key: RandomKey::new(1, "test"), step }).unwrap();
    }
    budget
}

/// Returns the greatest relative error of the steady slope S = (c·U/K)^(1/n)·A^(−m/n) over all cells above base level.
fn worst_slope(model: &StreamPower, terrain: &Terrain, c: f64) -> f64 {
    let land = Land::from_terrain(terrain);
    let filled = fill::fill_depressions(&land);
    assert_eq!(filled, terrain.ground, "a steady land has no hollows");
    let codes = d8::route_d8(&land);
    let counts = accumulate::count_upstream_cells(&codes);
    let grid = &terrain.grid;
    let mut worst = 0.0f64;
    let mut seen = 0;
    for k in 0..grid.len() {
        let code = codes.as_slice()[k];
        let Some(below) = find_receiver(k, code, grid.cols()) else { continue };
        let i = k / grid.cols();
        if i + 1 == grid.rows() && grid.edges[2] == Edge::Open {
            continue;
        }
        let distance = grid.cell * D8::DISTANCES[usize::from(code) % 2];
        let slope = (terrain.ground.as_slice()[k].metres() - terrain.ground.as_slice()[below].metres()) / distance;
        let area = f64::from(counts.as_slice()[k]) * grid.cell_area();
        let (m, n) = (model.area_exponent, model.slope_exponent);
        let steady = (c * model.uplift / model.erodibility).powf(1.0 / n) * area.powf(-m / n);
        worst = worst.max((slope / steady - 1.0).abs());
        seen += 1;
    }
    assert!(seen > grid.len() / 2);
    worst
}

#[test]
fn steady_slope_of_a_strip() {
    // A strip one cell wide has one flow path. Uplift is 1.6 million units a step; slopes of 0.005 to 1 over 50 m are
    // falls of 10⁴ units and more, of which the last step's rounding leaves one or two: a relative error of 2·10⁻⁴.
    for (n, erodibility, bound) in [(1.0, 7e-6, 1e-3), (0.5, 1e-5, 1e-2), (2.0, 7e-6, 1e-2)] {
        let model = StreamPower { slope_exponent: n, erodibility, ..bare() };
        let mut terrain = plain([100, 1], 50.0, SOUTH);
        run(&model, &mut terrain);
        let worst = worst_slope(&model, &terrain, 1.0);
        assert!(worst < bound, "n = {n}: {worst}");
    }
}

#[test]
fn steady_slope_of_a_branching_land() {
    for (n, erodibility, bound) in [(1.0, 7e-6, 1e-3), (0.5, 1e-5, 1e-2), (2.0, 7e-6, 1e-2)] {
        // Divides keep moving long after the rivers have reached their steady slopes; the duration is enough for both.
        let model = StreamPower { slope_exponent: n, erodibility, years: 2e8, step: 1e6, ..bare() };
        let mut terrain = plain([48, 40], 100.0, SOUTH);
        terrain.ground.row_mut(47).fill(Height::ZERO);
        run(&model, &mut terrain);
        let worst = worst_slope(&model, &terrain, 1.0);
        assert!(worst < bound, "n = {n}: {worst}");
    }
}

#[test]
fn deposition_steepens_the_steady_slope() {
    // By a factor of 1 + G (Yuan et al. 2019, eq. 8). The sweeps end within 131 units of convergence, for falls of
    // about 10⁵ units.
    let model = StreamPower { deposition: 1.0, loose_ease: 1.0, years: 2e7, ..bare() };
    let mut terrain = plain([60, 1], 100.0, SOUTH);
    run(&model, &mut terrain);
    let worst = worst_slope(&model, &terrain, 2.0);
    assert!(worst < 1e-2, "{worst}");
}

#[test]
fn a_knickpoint_travels_at_its_celerity() {
    // Without uplift, with n = 1 and with A made constant by m = 0, on a strip at 200 m above a base level of 0, a
    // wave of speed K moves up the strip. The implicit scheme's numerical diffusion smears it over √(distance·(dx +
    // K·dt)).
    let model = StreamPower { uplift: 0.0, area_exponent: 0.0, erodibility: 0.01, years: 3e5, step: 500.0, ..bare() };
    let grid = Grid { edges: SOUTH, ..Grid::new([100, 1], 50.0).unwrap() };
    let ground = Field::from_fn([100, 1], |i, _| Height::from_metres_clamped(if i == 99 { 0.0 } else { 200.0 }));
    let mut terrain = Terrain::from_ground(grid, ground).unwrap();
    run(&model, &mut terrain);
    let half = (0..99).rev().find(|i| terrain.ground[(*i, 0)].metres() > 100.0).unwrap();
    let travelled = (99 - half) as f64 * 50.0;
    let blur = (3000.0f64 * 55.0).sqrt();
    assert!((travelled - 3000.0).abs() < blur, "{travelled} m");
    assert!(terrain.ground[(0, 0)].metres() > 199.0, "the head has not heard of it");
}

/// Builds a plateau with depressions of all sizes above an open southern edge.
fn hollows() -> Terrain {
    let mut terrain = plain([60, 50], 40.0, SOUTH);
    let key = RandomKey::new(8, "hollows");
    for i in 0..59 {
        for j in 0..50 {
            let wave = libm::sin(i as f64 / 4.0) * libm::cos(j as f64 / 5.0);
            let rough = key.for_cell([i, j]).uniform_signed();
            terrain.ground[(i as usize, j as usize)] = Height::from_metres_clamped(60.0 + 25.0 * wave + 4.0 * rough);
        }
    }
    terrain
}

#[test]
fn a_lake_is_never_dug_and_all_land_drains_in_the_end() {
    let model = StreamPower { uplift: 0.0, step: 2000.0, years: 4e6, area: Area::Multiple, ..bare() };
    let mut terrain = hollows();
    let mut stepper = model.start(&terrain.grid).unwrap();
    let mut wet = Vec::new();
    for step in 0..model.steps(&terrain.grid) {
        let before = terrain.ground.clone();
        let filled = fill::fill_depressions(&Land::from_terrain(&terrain));
        stepper.run_step(&mut terrain, Tick { key: RandomKey::new(1, "test"), step }).unwrap();
        let after = fill::fill_depressions(&Land::from_terrain(&terrain));
        let mut lakes = 0;
        for k in 0..before.len() {
            let (old, new) = (before.as_slice()[k], terrain.ground.as_slice()[k]);
            assert!(new <= old);
            // The ground is incised only down to the new water level.
            assert!(new == old || new >= after.as_slice()[k], "step {step}, cell {k}");
            lakes += usize::from(filled.as_slice()[k] > old);
        }
        wet.push(lakes);
    }
    assert!(wet[0] > 300, "there are lakes to begin with: {}", wet[0]);
    // Outlets are incised by 7·10⁻⁶·A^0.45·S a year: within a million years, down to the lake floors.
    assert!(wet[wet.len() - 1] == 0, "{} cells of lake are left", wet[wet.len() - 1]);
}

#[test]
fn sediment_fills_lakes_and_builds_a_plain_where_the_slope_breaks() {
    let model = StreamPower { uplift: 0.0, step: 1000.0, years: 2e5, deposition: 1.0, erodibility: 3e-5, ..bare() };
    // Steep land of 30 cells above a level plain of 30 cells.
    let grid = Grid { edges: SOUTH, ..Grid::new([60, 30], 100.0).unwrap() };
    let key = RandomKey::new(9, "scarp");
    let ground = Field::from_fn([60, 30], |i, j| {
        let rough = key.for_cell([i as i64, j as i64]).uniform_unit();
        Height::from_metres_clamped(if i < 30 {
            20.0 * (30.0 - i as f64) + 5.0 * rough
        } else {
            0.05 * (60.0 - i as f64)
        })
    });
    let mut terrain = Terrain::from_ground(grid, ground.clone()).unwrap();
    let budget = run(&model, &mut terrain);
    assert!(budget.deposited > 0 && budget.eroded > budget.deposited);
    let rows = |rows: std::ops::Range<usize>| -> f64 {
        let cells = rows.clone().flat_map(|i| (0..30).map(move |j| (i, j)));
        cells.map(|cell| terrain.ground[cell].metres() - ground[cell].metres()).sum::<f64>() / (30 * rows.len()) as f64
    };
    let (slope, foot, far) = (rows(0..25), rows(31..40), rows(50..58));
    assert!(slope < -1.0, "the slope is worn: {slope}");
    assert!(foot > 1.0 && foot > 2.0 * far, "a fan at the foot, {foot} m, that thins out, {far} m");
    let loose = terrain.loose.as_ref().unwrap();
    assert!(loose[(33, 15)].0 > 0 || loose[(33, 16)].0 > 0);
    // A lake behind a bar traps all sediment that reaches it until it is full.
    let mut lakes = hollows();
    let before: f64 = lakes.ground.as_slice().iter().map(|h| h.metres()).sum();
    let filled = fill::fill_depressions(&Land::from_terrain(&lakes));
    let room: f64 = filled.as_slice().iter().map(|h| h.metres()).sum::<f64>() - before;
    let short = StreamPower { years: 1000.0, ..model };
    let budget = run(&short, &mut lakes);
    assert!(budget.deposited as f64 / UNITS > 0.001 * room);
}

#[test]
fn rise_is_booked_and_base_level_stays() {
    let model = StreamPower { years: 1e5, ..StreamPower::default() };
    for stride in [0.0, 120.0] {
        let model = StreamPower { stride, ..model.clone() };
        let mut terrain = plain([40, 50], 30.0, SOUTH);
        let rim = terrain.ground.row(39).to_vec();
        let before = terrain.sum_solid();
        let budget = run(&model, &mut terrain);
        assert_eq!(terrain.ground.row(39), &rim[..], "stride {stride}");
        assert_eq!(terrain.sum_solid() - before, budget.solid_change());
        // 5·10⁻⁴ m a year over 100 000 years (and over a fifth of that, and so on), times a log-normal factor.
        assert!(budget.added as f64 / UNITS / 2000.0 > 20.0);
    }
}

#[test]
fn factors_scale_and_bad_ones_are_refused() {
    let step = |spec, value: f32| {
        let mut terrain = plain([20, 20], 50.0, SOUTH);
        let mut field = Field::new([20, 20], 1.0);
        field[(4, 7)] = value;
        terrain.insert_layer(spec, Cells::Float(field)).unwrap();
        let before = terrain.clone();
        let model = StreamPower { years: 5e4, ..bare() };
        let done = model.start(&terrain.grid).unwrap().run_step(&mut terrain, Tick { key: RandomKey::ZERO, step: 0 });
        (done, before, terrain)
    };
    for spec in [&UPLIFT, &ERODIBILITY] {
        for bad in [f32::NAN, -0.5, f32::INFINITY] {
            let (done, before, terrain) = step(spec, bad);
            let message = done.unwrap_err().to_string();
            assert!(message.contains(spec.name) && message.contains("factor"), "{message}");
            assert_eq!(before.ground, terrain.ground, "refused before anything changed");
        }
    }
    let (_, before, terrain) = step(&UPLIFT, 0.0);
    assert!(terrain.ground[(4, 7)] <= before.ground[(4, 7)], "what does not rise");
    assert!(terrain.ground[(4, 8)] > before.ground[(4, 8)], "what does");
    let (_, before, terrain) = step(&ERODIBILITY, 0.0);
    let rise = (5e-4f32 as f64 * UNITS) as f32 as f64 * 5e4;
    let risen = terrain.ground[(4, 7)].0 - before.ground[(4, 7)].0;
    assert!((f64::from(risen) - rise).abs() <= 2.0, "what does not erode");
}

/// Rainfall weights the drainage area: a quarter of 4 m a year everywhere is one metre a year, which is the same as
/// area alone.
#[test]
fn rain_is_the_water_that_cuts() {
    for area in [Area::D8, Area::Multiple] {
        let grown = |rain: f64, layer: Option<&(dyn Fn(usize) -> f32 + Sync)>| {
            let mut terrain = plain([30, 40], 100.0, SOUTH);
            if let Some(share) = layer {
                let field = Field::from_fn([30, 40], |_, j| share(j));
                terrain.insert_layer(&RAIN, Cells::Float(field)).unwrap();
            }
            let model = StreamPower { years: 4e5, step: 2e4, rain, area, ..bare() };
            let budget = run(&model, &mut terrain);
            (terrain.ground, budget.eroded)
        };
        let (plain, eroded) = grown(0.0, None);
        // If the rain parameter is 0, the layer has no effect, whatever its values.
        assert_eq!(grown(0.0, Some(&|_| 0.3)).0, plain);
        let (same, _) = grown(4.0, Some(&|_| 0.25));
        let differ = plain.as_slice().iter().zip(same.as_slice()).map(|(a, b)| (a.0 - b.0).abs()).max().unwrap();
        assert!(differ <= if area == Area::D8 { 0 } else { 200 }, "{area:?}: {differ} units");
        // Without the layer, all rain falls: twice the water incises more.
        assert!(grown(2.0, None).1 > eroded);
        // A wet half is incised lower than a dry one, where rainfall is a hundredth.
        let (ground, _) = grown(1.0, Some(&|j| if j < 20 { 1.0 } else { 0.01 }));
        let mean = |cols: std::ops::Range<usize>| {
            (0..29).flat_map(|i| ground.row(i)[cols.clone()].iter()).map(|z| i64::from(z.0)).sum::<i64>()
        };
        let (wet, dry) = (mean(3..17), mean(23..37));
        assert!(wet < dry, "{area:?}: {wet} where it rains, {dry} where it does not");
    }
}

#[test]
fn a_diffusion_too_strong_for_its_steps_is_refused() {
    let model = StreamPower { diffusion: 10.0, step: 1e6, ..StreamPower::default() };
    let error = model.check(&Grid::new([10, 10], 1.0).unwrap()).unwrap_err().to_string();
    assert!(error.contains("stream_power.diffusion") && error.contains("m²/a"), "{error}");
}
