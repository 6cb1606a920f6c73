//! Compares the ice with known solutions and facts.

use crate::model::{MassBalance, Model, Tick};
use crate::models::glacier::cell::IceFluxFactors;
use crate::models::glacier::flow::{IceClimate, IceFlow, Spent};
use crate::models::glacier::land::IceBed;
use crate::models::glacier::{Glacier, ICE};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::Cells;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Edge, Field, Grid, Height, Terrain};

const STILL: IceClimate<'_> = IceClimate { snowline: 0.0, gradient: 0.0, most: 0.0, snow: None, shade: None };

/// Lets ice flow over ground for some years, in steps of at most `longest`.
fn flow(
    land: IceBed<'_>,
    ice: &mut Field<Height>,
    rates: &IceFluxFactors,
    climate: &IceClimate<'_>,
    [years, longest]: [f64; 2],
) -> Spent {
    let (mut flow, mut spent, mut time) = (IceFlow::new(land.grid), Spent::default(), 0.0);
    while time < years - 1e-9 {
        time += flow.advance_ice(land, ice, rates, climate, longest.min(years - time), &mut spent);
    }
    spent
}

fn units(ice: &Field<Height>) -> i64 {
    ice.as_slice().iter().map(|h| i64::from(h.0)).sum()
}

/// Halfar's (1983, doi:10.1029/JC088iC10p06043) solution for a spreading dome of deforming ice, at distance r and time
/// t, starting at t₀: H = H₀·τ^(−1/9)·(1 − (τ^(−1/18)·r/R₀)^(4/3))^(3/7), τ = t/t₀, t₀ = (7/4)³·R₀⁴/(18·Γd·H₀⁷).
fn halfar(r: f64, tau: f64, [high, wide]: [f64; 2]) -> f64 {
    let s = libm::pow(tau, -1.0 / 18.0) * r / wide;
    high * libm::pow(tau, -1.0 / 9.0) * libm::pow((1.0 - libm::pow(s, 4.0 / 3.0)).max(0.0), 3.0 / 7.0)
}

#[test]
fn a_dome_spreads_as_halfar_says_and_keeps_its_ice() {
    let (size, cell, high, wide, creep) = (61usize, 500.0, 1000.0, 10_000.0, 2.2e-5);
    let age = 343.0 / 64.0 * libm::pow(wide, 4.0) / (18.0 * creep * libm::pow(high, 7.0));
    let grid = Grid::new([size, size], cell).unwrap();
    let ground = Field::new(grid.size, Height::ZERO);
    let land = IceBed { grid: &grid, ground: &ground, nodata: None };
    let away = |i: usize, j: usize| cell * libm::hypot(i as f64 - 30.0, j as f64 - 30.0);
    let mut ice = Field::from_fn(grid.size, |i, j| Height::from_metres(halfar(away(i, j), 1.0, [high, wide])).unwrap());
    let before = units(&ice);
    let spent = flow(land, &mut ice, &IceFluxFactors { creep, slide: 0.0 }, &STILL, [3.0 * age, 0.01 * age]);
    assert_eq!((units(&ice), spent.lost, spent.gained), (before, 0, 0), "to the unit");
    // The margin, vertical in the solution, is a cell wide here. Inside, a first-order scheme on 20 cells is accurate
    // to a twentieth.
    for i in 0..size {
        for j in 0..size {
            let want = halfar(away(i, j), 4.0, [high, wide]);
            if away(i, j) < 0.8 * wide {
                let is = ice[(i, j)].metres();
                assert!((is / want - 1.0).abs() < 0.05, "{i}, {j}: {is} m, {want} m");
            }
        }
    }
    // Round: the thickness is the same along the axis and along the diagonal at the same distance (30 + 17 ≈ 30 +
    // 12·√2).
    let (straight, slant) = (ice[(30, 47)].metres(), ice[(42, 42)].metres());
    assert!((straight / slant - 1.0).abs() < 0.05, "{straight} m, {slant} m");
}

#[test]
fn ice_on_a_plane_is_as_thick_as_its_flux_asks() {
    // A plane of slope 0.1 with snowfall of 1 m/a on the upper 2 km and none below. Beyond, the flux is 2000 m²/a, and
    // (Γd·H⁵ + Γs·H³)·0.001 = 2000 gives H.
    let (cell, slope, rates) = (50.0, 0.1, IceFluxFactors { creep: 2.2e-5, slide: 1.3 });
    let grid =
        Grid { edges: [Edge::Closed, Edge::Open, Edge::Closed, Edge::Closed], ..Grid::new([3, 200], cell).unwrap() };
    let ground = Field::from_fn(grid.size, |_, j| Height::from_metres(800.0 - slope * cell * j as f64).unwrap());
    let land = IceBed { grid: &grid, ground: &ground, nodata: None };
    let snow = Field::from_fn(grid.size, |_, j| if j < 40 { 1.0 } else { 0.0 });
    let climate = IceClimate { snowline: -1e4, gradient: 1.0, most: 1.0, snow: Some(&snow), shade: None };
    let mut want = 50.0;
    for _ in 0..60 {
        let h: f64 = want;
        let flux = (rates.creep * libm::pow(h, 5.0) + rates.slide * h * h * h) * 1e-3;
        want -= (flux - 2000.0) / ((5.0 * rates.creep * libm::pow(h, 4.0) + 3.0 * rates.slide * h * h) * 1e-3);
    }
    for longest in [0.5, 5.0] {
        let mut ice = Field::new(grid.size, Height::ZERO);
        let spent = flow(land, &mut ice, &rates, &climate, [2000.0, longest]);
        assert_eq!(units(&ice), spent.gained - spent.lost, "to the unit");
        // The drawdown by the edge decays over about H/(5/3·slope), 650 m: to a thousandth at 4.5 km. Neighbours
        // across the slope oscillate about the equilibrium by a hundredth.
        let thick: Vec<f64> = (60..110).flat_map(|j| [0, 1, 2].map(|i| ice[(i, j)].metres())).collect();
        let mean = thick.iter().sum::<f64>() / 150.0;
        assert!((mean / want - 1.0).abs() < 0.01, "{mean} m, {want} m, whatever the step");
        assert!(thick.iter().all(|is| (is / want - 1.0).abs() < 0.03), "{thick:?}");
    }
}

fn run(model: &Glacier, terrain: &mut Terrain) -> MassBalance {
    let mut stepper = model.start(&terrain.grid).unwrap();
    let mut budget = MassBalance::default();
    for step in 0..model.steps(&terrain.grid) {
        budget += stepper.run_step(terrain, Tick { key: RandomKey::new(7, "ice"), step }).unwrap();
    }
    budget
}

/// Returns Svensson's (1959) exponent b of a cross profile z − z₀ = a·|x − x₀|ᵇ, as the slope of a regression of
/// logarithms.
fn svensson(profile: &[f64], cell: f64) -> f64 {
    let floor = (0..profile.len()).min_by(|a, b| profile[*a].total_cmp(&profile[*b])).unwrap();
    let points: Vec<[f64; 2]> = (0..profile.len())
        .filter(|k| profile[*k] > profile[floor])
        .map(|k| [libm::log(cell * k.abs_diff(floor) as f64), libm::log(profile[k] - profile[floor])])
        .collect();
    let n = points.len() as f64;
    let mean = [0, 1].map(|axis| points.iter().map(|p| p[axis]).sum::<f64>() / n);
    let over: f64 = points.iter().map(|p| (p[0] - mean[0]) * (p[1] - mean[1])).sum();
    over / points.iter().map(|p| (p[0] - mean[0]) * (p[0] - mean[0])).sum::<f64>()
}

/// Returns a V-shaped valley 8 km long that falls southward from 1700 m, with flanks of slope 0.5.
fn valley() -> Terrain {
    let grid = Grid::new([100, 60], 80.0).unwrap();
    let ground = Field::from_fn(grid.size, |i, j| {
        let side = 0.5 * 80.0 * (j as f64 - 29.5).abs();
        Height::from_metres(1700.0 - 0.1 * 80.0 * i as f64 + side).unwrap()
    });
    Terrain::from_ground(grid, ground).unwrap()
}

#[test]
fn a_v_valley_becomes_a_u() {
    let model = Glacier { snowline: 1500.0, years: 40_000.0, slope_variation: 0.0, till: 0.0, ..Glacier::default() };
    let mut land = valley();
    let across = |land: &Terrain| -> Vec<f64> { (18..42).map(|j| land.ground[(40, j)].metres()).collect() };
    let v = svensson(&across(&land), 80.0);
    let before = land.sum_solid();
    let budget = run(&model, &mut land);
    let u = svensson(&across(&land), 80.0);
    assert!((v - 1.0).abs() < 0.1, "flanks of one slope: {v}");
    assert!(u > 1.5, "from {v} to {u}");
    assert_eq!(land.sum_solid() - before, budget.solid_change());
    assert!(land.height_layer(&ICE).is_none(), "it has melted");
    assert_eq!(budget.rained, budget.drained, "all ice came as snow and left as water");
    // The valley is symmetric, except for the order of cells at equal level.
    let (west, east) = (land.ground[(40, 24)].metres(), land.ground[(40, 35)].metres());
    assert!((west - east).abs() < 2.0, "{west} m, {east} m");
}

/// Returns the maximum depth of the bed below its sill, along the middle of a valley 20 km long that is steep above
/// and nearly level below, where ice that ends in it erodes a basin.
fn hollow(adverse: f64) -> f64 {
    let grid = Grid::new([200, 24], 100.0).unwrap();
    let ground = Field::from_fn(grid.size, |i, j| {
        let down = i as f64 * 100.0;
        let floor = if down < 6000.0 { 1500.0 - 0.15 * down } else { 600.0 - 0.02 * (down - 6000.0) };
        Height::from_metres(floor + 60.0 * (j as f64 - 11.5).abs()).unwrap()
    });
    let mut land = Terrain::from_ground(grid, ground).unwrap();
    let model = Glacier { adverse, snowline: 900.0, years: 10_000.0, erosion: 1e-3, till: 0.0, ..Glacier::default() };
    run(&model, &mut land);
    let floor = |i: usize| (8..16).map(|j| land.ground[(i, j)].metres()).fold(f64::INFINITY, f64::min);
    let (mut sill, mut deepest) = (f64::NEG_INFINITY, 0.0f64);
    for i in (0..200).rev() {
        sill = sill.max(floor(i));
        deepest = deepest.max(sill - floor(i));
    }
    deepest
}

#[test]
fn basins_are_dug_and_come_to_rest_as_steep_as_the_ice_lets_them() {
    let depths = [1000.0, 1.5, 0.5, 0.0].map(hollow);
    assert!(depths.windows(2).all(|pair| pair[0] > 1.1 * pair[1]), "{depths:?} m, the less the bed may rise");
    assert!(depths[1] > 10.0, "{depths:?}");
}

/// Returns a ridge along the west-east axis, with flanks of slope 0.6.
fn ridge() -> Terrain {
    let grid = Grid::new([61, 40], 80.0).unwrap();
    let ground =
        Field::from_fn(grid.size, |i, _| Height::from_metres(1500.0 - 0.6 * 80.0 * (i as f64 - 30.0).abs()).unwrap());
    Terrain::from_ground(grid, ground).unwrap()
}

#[test]
fn ice_gathers_in_the_shade() {
    let on_flanks = |shade: f64, azimuth: f64| {
        let model = Glacier {
            shade,
            shade_azimuth: azimuth,
            snowline: 1100.0,
            growth: 200.0,
            years: 250.0,
            erosion: 0.0,
            melt: false,
            slope_limit: 90.0,
            ..Glacier::default()
        };
        let mut land = ridge();
        run(&model, &mut land);
        let ice = land.height_layer(&ICE).unwrap();
        let sum = |rows: std::ops::Range<usize>| -> f64 { rows.flat_map(|i| ice.row(i)).map(|h| h.metres()).sum() };
        [sum(0..30), sum(31..61)]
    };
    let [north, south] = on_flanks(0.0, 0.0);
    assert!(north > 0.0 && (north / south - 1.0).abs() < 0.02, "without it both are alike: {north} {south}");
    let [north, south] = on_flanks(200.0, 0.0);
    assert!(north > 1.3 * south, "{north} in the shade, {south} in the sun");
    let [away, towards] = on_flanks(200.0, 180.0);
    assert!(towards > 1.3 * away, "{towards} in the shade, {away} in the sun");
    let [north, south] = on_flanks(200.0, 90.0);
    assert!((north / south - 1.0).abs() < 0.02, "flanks that face neither way: {north} {south}");
}

#[test]
fn ice_that_stays_is_in_the_ledger_and_till_lies_where_it_melts() {
    let model =
        Glacier { snowline: 1500.0, years: 4000.0, till: 1.0, melt: false, slope_limit: 90.0, ..Glacier::default() };
    let mut land = valley();
    land.grid.edges = [Edge::Closed; 4];
    let before = land.sum_solid();
    let budget = run(&model, &mut land);
    let ice = land.height_layer(&ICE).unwrap();
    let volume = units(ice) as f64 / UNITS * land.grid.cell_area();
    assert!(volume > 0.0 && (budget.water_change() / volume - 1.0).abs() < 1e-9);
    assert_eq!((land.sum_solid(), budget.exported), (before, 0));
    let loose = land.loose.as_ref().unwrap();
    let total = |rows: std::ops::Range<usize>| -> f64 { rows.flat_map(|i| loose.row(i)).map(|h| h.metres()).sum() };
    assert!(total(30..100) > 3.0 * total(0..30), "{} below, {} above", total(30..100), total(0..30));
}

#[test]
fn ice_breaks_off_where_it_floats() {
    // A shelf 100 m and a deep 600 m below the sea: ice of 300 m is grounded on the shelf and is lost in the deep,
    // long before it has flowed far.
    let mut grid = Grid::new([1, 8], 100.0).unwrap();
    grid.sea_level = Some(Height::ZERO);
    grid.edges = [Edge::Closed; 4];
    let ground = Field::from_fn(grid.size, |_, j| Height::from_metres_clamped(if j < 4 { -100.0 } else { -600.0 }));
    let land = IceBed { grid: &grid, ground: &ground, nodata: None };
    let mut ice = Field::new(grid.size, Height::from_metres_clamped(300.0));
    let spent = flow(land, &mut ice, &IceFluxFactors { creep: 2e-5, slide: 1.0 }, &STILL, [1e-4, 1e-4]);
    assert!((4..8).all(|j| ice[(0, j)].0 == 0) && ice[(0, 0)].metres() > 250.0);
    assert_eq!(units(&ice) + spent.lost, 8 * 300 * 65_536);
}

#[test]
fn ice_without_room_over_raised_ground_is_lost_and_booked() {
    // 100 m of ice over a plain, half of which has been raised to 40 m below the highest elevation; no snow, no melt.
    let grid = Grid::new([6, 8], 100.0).unwrap();
    let high = Height::MAX.metres() - 40.0;
    let ground = Field::from_fn(grid.size, |_, j| Height::from_metres_clamped(if j < 4 { high } else { 0.0 }));
    let mut terrain = Terrain::from_ground(grid, ground).unwrap();
    let ice = Field::new(terrain.grid.size, Height::from_metres(100.0).unwrap());
    let before = units(&ice) as f64 * terrain.grid.cell_area() / UNITS;
    terrain.insert_layer(&ICE, Cells::Height(ice)).unwrap();
    let model = Glacier { growth: 0.0, years: 50.0, step: 50.0, erosion: 0.0, ..Glacier::default() };
    let budget = run(&model, &mut terrain);
    assert!(budget.limited >= 24, "{}", budget.limited);
    let remaining = before + budget.rained - budget.drained;
    assert!(remaining.abs() < 1e-9 * before, "{remaining} of {before} m³ are neither here nor booked");
}

#[test]
fn neither_threads_nor_a_new_stepper_show_in_what_ice_leaves() {
    let model = Glacier { snowline: 1500.0, years: 2500.0, growth: 50.0, ..Glacier::default() };
    let threads = |count| {
        let mut land = valley();
        rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap().install(|| run(&model, &mut land));
        land.fingerprints()
    };
    let mut dropped = valley();
    for step in 0..model.steps(&dropped.grid) {
        let mut stepper = model.start(&dropped.grid).unwrap();
        stepper.run_step(&mut dropped, Tick { key: RandomKey::new(7, "ice"), step }).unwrap();
    }
    assert_eq!(threads(1), threads(3));
    assert_eq!(threads(1), dropped.fingerprints());
}

#[test]
fn too_many_steps_are_said_of_the_time_that_takes_them() {
    let grid = Grid::new([4, 4], 100.0).unwrap();
    let refused = |model: Glacier| model.check(&grid).unwrap_err().to_string();
    let long = Glacier { years: 1e7, step: 1.0, growth: 300.0, ice_years: 5.0, ..Glacier::default() };
    assert_eq!(
        refused(long.clone()),
        "glacier.years = 10000000 a: must be 0 to 999940 a with step = 1 a (1000000 steps in all)"
    );
    let slow = Glacier { years: 2e5, growth: 1e5, ice_years: 0.1, ..long };
    assert_eq!(
        refused(slow),
        "glacier.growth = 100000 a: must be 0 to 80000 a with ice_years = 0.1 a (1000000 steps in all)"
    );
}
