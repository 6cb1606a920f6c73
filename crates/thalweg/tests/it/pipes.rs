//! Tests of shallow water in the pipe model: rest, balances, waves, dam breaks, rivers, and failures.

use crate::support::terrain_on;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::{Cells, Column, RAIN, SEDIMENT, SUSPENDED, Table, WATER};
use thalweg_core::{Edge, Field, Grid, Height, Terrain};
use thalweg_io::{SaveOptions, save_layer, save_terrain};
use thalweg_models::model::{MassBalance, Model, Tick};
use thalweg_models::models::pipes::{FlowArea, PIPE_X, Pipes, Shower, Transport, VELOCITY_X};
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;

const SEED: u64 = 7;

fn terrain(size: [usize; 2], cell: f64, edge: Edge, metres: impl Fn(usize, usize) -> f64 + Sync) -> Terrain {
    terrain_on(Grid { edges: [edge; 4], ..Grid::new(size, cell).unwrap() }, metres)
}

fn with_water(mut terrain: Terrain, depth: impl Fn(usize, usize) -> f32 + Sync) -> Terrain {
    let water = Field::from_fn(terrain.grid.size, depth);
    terrain.insert_layer(&WATER, Cells::Float(water)).unwrap();
    terrain
}

/// Hills with depressions, with a relief of a hundred metres.
fn hills(i: usize, j: usize) -> f64 {
    let rough = RandomKey::new(SEED, "hills").for_cell([i as i64, j as i64]).uniform_signed();
    30.0 * (libm::sin(i as f64 / 7.0) + libm::cos(j as f64 / 9.0 + i as f64 / 13.0)) + 4.0 * rough
}

/// Water alone: no rain, evaporation or erosion.
fn still() -> Pipes {
    Pipes { rain: 0.0, evaporation: 0.0, capacity: 0.0, ..Pipes::default() }
}

fn steps(model: &Pipes, terrain: &mut Terrain, count: u32) -> MassBalance {
    let mut stepper = model.start(&terrain.grid).unwrap();
    let mut budget = MassBalance::default();
    for step in 0..count.min(model.steps(&terrain.grid)) {
        budget += stepper.run_step(terrain, Tick { key: RandomKey::new(SEED, "pipes"), step }).unwrap();
    }
    budget
}

fn run(model: &Pipes, terrain: &mut Terrain) -> MassBalance {
    steps(model, terrain, u32::MAX)
}

fn water(terrain: &Terrain) -> &Field<f32> {
    terrain.float_layer(&WATER).unwrap()
}

fn stored(terrain: &Terrain) -> f64 {
    terrain.float_layer(&WATER).map_or(0.0, |w| w.as_slice().iter().map(|w| f64::from(*w)).sum::<f64>())
        * terrain.grid.cell_area()
}

#[test]
fn a_lake_at_rest_stays_at_rest_to_the_bit() {
    for area in [FlowArea::Depth, FlowArea::Constant] {
        for (level, spread) in [(12.0, 1.0), (120.0, 2.0), (200.0, 0.5)] {
            let ground = |i: usize, j: usize| spread * hills(i, j);
            let dry = terrain([60, 70], 10.0, Edge::Closed, ground);
            let depth = |i: usize, j: usize| (level - dry.ground[(i, j)].metres()).max(0.0);
            let mut lake = with_water(dry.clone(), |i, j| depth(i, j) as f32);
            let deepest = water(&lake).as_slice().iter().copied().fold(0.0, f32::max);
            assert!(deepest > 20.0 && deepest < 256.0, "{deepest}");
            let before = water(&lake).clone();
            steps(&Pipes { area, ..still() }, &mut lake, 200);
            assert_eq!(water(&lake), &before, "{area:?}, level {level}");
            assert!(lake.float_layer(&PIPE_X).unwrap().as_slice().iter().all(|flow| *flow == 0.0));
        }
    }
}

#[test]
fn a_deep_lake_moves_by_less_than_its_last_bit() {
    // Beyond 256 m, a depth cannot be represented to the unit: levels then differ by up to the last bit, here 1/16 384
    // m.
    let dry = terrain([50, 50], 30.0, Edge::Closed, |i, j| 20.0 * hills(i, j));
    let depth = |i: usize, j: usize| (900.0 - dry.ground[(i, j)].metres()).max(0.0);
    let mut lake = with_water(dry.clone(), |i, j| depth(i, j) as f32);
    steps(&still(), &mut lake, 300);
    for i in 0..50 {
        for j in 0..50 {
            let off = (f64::from(water(&lake)[(i, j)]) - depth(i, j)).abs();
            assert!(off <= f64::from(depth(i, j) as f32) * f64::from(f32::EPSILON), "{i} {j}: {off}");
        }
    }
}

#[test]
fn both_ledgers_close() {
    for (edge, sea, model) in [
        (Edge::Open, None, Pipes::default()),
        (Edge::Closed, None, Pipes { lake: true, transport: Transport::Backward, ..Pipes::default() }),
        (Edge::Open, Some(-10.0), Pipes { shower: Shower::Random, evaporation: 0.01, ..Pipes::default() }),
        (Edge::Closed, Some(5.0), Pipes { storm_period: 60.0, storm_radius: 300.0, ..Pipes::default() }),
        (Edge::Open, None, Pipes { area: FlowArea::Constant, lake: true, rain: 5_000.0, ..Pipes::default() }),
    ] {
        let mut land = terrain([70, 80], 10.0, edge, hills);
        land.grid.sea_level = sea.map(|level| Height::from_metres(level).unwrap());
        land.nodata = Some(Field::from_fn([70, 80], |i, j| (30..33).contains(&i) && (50..60).contains(&j)));
        let solid = land.sum_solid();
        let model = Pipes { seconds: 200.0, ..model };
        let budget = run(&model, &mut land);
        let came = budget.rained + budget.poured;
        assert!(came > 100.0, "{budget:?}");
        let off = (budget.water_change() - stored(&land)).abs() / came;
        assert!(off < 1e-6, "{off:e} of {came}: {budget:?}");
        assert_eq!(land.sum_solid() - solid, budget.solid_change());
        assert!(budget.eroded > 0 && budget.deposited > 0);
        match model.transport {
            Transport::Donor => assert_eq!(budget.rounded, 0, "what goes with the water is not lost"),
            Transport::Backward => assert_ne!(budget.rounded, 0, "what is looked up does not close, and is said"),
        }
        assert!(land.layers.keys().all(|name| name == WATER.name), "{:?}", land.layers.keys());
    }
}

#[test]
fn transport_conserves_what_is_suspended() {
    let mut land = terrain([40, 40], 10.0, Edge::Closed, hills);
    let model = Pipes { deposition: 0.0, rain: 500.0, ramp: 0.01, ..Pipes::default() };
    let before = land.sum_solid();
    let budget = steps(&model, &mut land, 300);
    let Cells::Height(suspended) = &land.layers[SUSPENDED.name].cells else { panic!("heights") };
    let carried: i128 = suspended.as_slice().iter().map(|s| i128::from(s.0)).sum();
    assert!(carried > 1_000_000);
    assert_eq!(carried, budget.eroded - budget.deposited);
    assert_eq!(land.sum_solid(), before);
    assert!(suspended.as_slice().iter().all(|s| s.0 >= 0));
}

/// Returns where a curve first falls below `level`, from the left, in cells.
fn falls_below(values: &[f32], level: f32) -> f64 {
    let k = values.iter().position(|v| *v < level).unwrap();
    k as f64 - 1.0 + f64::from((values[k - 1] - level) / (values[k - 1] - values[k]))
}

#[test]
fn small_waves_run_at_the_pipes_speed() {
    // A smooth step of a centimetre: half of it runs each way, at √(g·A/l) whatever the depth. The reflection from the
    // western wall needs 480 s to reach the place of the step.
    for depth in [1.0f32, 100.0] {
        let cols = 900;
        let step = |j: usize| depth + 0.005 * (1.0 - libm::tanh((j as f64 - 300.0) / 15.0)) as f32;
        let mut pool = with_water(terrain([1, cols], 10.0, Edge::Closed, |_, _| 0.0), |_, j| step(j));
        let model = Pipes { area: FlowArea::Constant, pipe_area: 40.0, roughness: 0.0, seconds: 1e4, ..still() };
        let count = (300.0 / model.time_step(&pool.grid)) as u32;
        let front = |pool: &Terrain| falls_below(&water(pool).row(0)[300..], depth + 0.0025);
        steps(&model, &mut pool, count / 2);
        let first = front(&pool);
        steps(&model, &mut pool, count);
        let second = front(&pool);
        let time = f64::from(count) * model.time_step(&pool.grid);
        let speed = (second - first) * 10.0 / time;
        let exact = (9.81 * 40.0 / 10.0f64).sqrt();
        assert!((speed / exact - 1.0).abs() < 0.02, "depth {depth}: {speed} instead of {exact}");
    }
}

#[test]
fn a_dam_breaks_as_ritter_says() {
    // Ritter (1892): over a dry, smooth, level bed the front moves at 2√(g·h₀), and the depth at the dam stays 4/9 h₀.
    let (h0, cell, cols) = (4.0f32, 2.0, 1_500);
    let pool = terrain([1, cols], cell, Edge::Closed, |_, _| 0.0);
    let mut pool = with_water(pool, |_, j| if j < 500 { h0 } else { 0.0 });
    let model = Pipes { roughness: 0.0, seconds: 1e4, ..still() };
    let wave = (9.81 * f64::from(h0)).sqrt();
    let dt = model.time_step(&pool.grid);
    let front = |pool: &Terrain| falls_below(&water(pool).row(0)[500..], 1e-4 * h0) * cell;
    let count = (40.0 / dt) as u32;
    steps(&model, &mut pool, count);
    let first = front(&pool);
    steps(&model, &mut pool, count);
    let second = front(&pool);
    let speed = (second - first) / (f64::from(count) * dt);
    assert!((speed / (2.0 * wave) - 1.0).abs() < 0.1, "{speed} instead of {}", 2.0 * wave);
    let at_dam = water(&pool)[(0, 500)] / h0;
    assert!((at_dam - 4.0 / 9.0).abs() < 0.01, "{at_dam}");
}

#[test]
fn a_bore_runs_as_stoker_says() {
    // Stoker (1957): into water of a tenth of the depth h₀ = 4 m, a bore of 1.585 m moves at 6.210 m/s (its two
    // conditions and the fan's invariant, solved by bisection). A bore is a few cells wide, and momentum is not
    // conserved exactly in it.
    let pool = terrain([1, 1_200], 2.0, Edge::Closed, |_, _| 0.0);
    let mut pool = with_water(pool, |_, j| if j < 500 { 4.0 } else { 0.4 });
    let model = Pipes { roughness: 0.0, seconds: 1e4, ..still() };
    let dt = model.time_step(&pool.grid);
    let count = (40.0 / dt) as u32;
    let front = |pool: &Terrain| falls_below(&water(pool).row(0)[500..], 1.0) * 2.0;
    steps(&model, &mut pool, count);
    let first = front(&pool);
    let depth = water(&pool)[(0, 600)];
    assert!((depth / 1.585 - 1.0).abs() < 0.05, "{depth}");
    steps(&model, &mut pool, count);
    let speed = (front(&pool) - first) / (f64::from(count) * dt);
    assert!((speed / 6.210 - 1.0).abs() < 0.05, "{speed}");
}

#[test]
fn a_river_runs_at_manning_s_depth() {
    // Uniform flow on an incline: q = h^(5/3)·√S/n per metre of width; mild and steep, and along both axes.
    for (slope, n) in [(0.001, 0.03), (0.02, 0.05)] {
        for turned in [false, true] {
            let (cell, long, q) = (10.0, 300usize, 0.8);
            let size = if turned { [long, 3] } else { [3, long] };
            let down = |k: usize| 100.0 - slope * cell * k as f64;
            let mut bed = terrain(size, cell, Edge::Closed, |i, j| down(if turned { i } else { j }));
            bed.grid.edges[if turned { 2 } else { 1 }] = Edge::Open;
            let ints = |axis: usize| Column::Int((0..3).map(|k| if (axis == 0) == turned { 0 } else { k }).collect());
            let rates = Column::Float(vec![(q * cell) as f32; 3]);
            let unit = |name: &str, column| (name.to_string(), "1".to_string(), column);
            let columns = vec![unit("row", ints(0)), unit("column", ints(1)), unit("rate", rates)];
            bed.tables.insert("springs".into(), Table { columns });
            let model = Pipes { roughness: n, seconds: 8_000.0, ..still() };
            let budget = run(&model, &mut bed);
            let exact = libm::pow(q * n / slope.sqrt(), 0.6);
            let middle = if turned { [long / 2, 1] } else { [1, long / 2] };
            let depth = f64::from(water(&bed)[(middle[0], middle[1])]);
            assert!((depth / exact - 1.0).abs() < 0.02, "slope {slope}: {depth} instead of {exact}");
            let off = (budget.water_change() - stored(&bed)).abs() / budget.poured;
            assert!(off < 1e-6, "{off:e}");
            assert!((budget.poured / (3.0 * q * cell * 8_000.0) - 1.0).abs() < 1e-3, "{}", budget.poured);
        }
    }
}

#[test]
fn no_time_step_is_too_long() {
    // A lake with a rough surface, with a requested step of a hundred times the stable one: waves decay and do not
    // grow.
    for area in [FlowArea::Depth, FlowArea::Constant] {
        let rough = |i: usize, j: usize| {
            10.0 + 0.1 * RandomKey::new(SEED, "waves").for_cell([i as i64, j as i64]).uniform_signed() as f32
        };
        let mut pool = with_water(terrain([40, 40], 10.0, Edge::Closed, |_, _| 0.0), rough);
        let spread = |pool: &Terrain| {
            let water = water(pool).as_slice();
            let mean = water.iter().map(|w| f64::from(*w)).sum::<f64>() / water.len() as f64;
            (water.iter().map(|w| (f64::from(*w) - mean).powi(2)).sum::<f64>() / water.len() as f64).sqrt()
        };
        let before = spread(&pool);
        let model = Pipes { area, dt: 50.0, roughness: 0.0, seconds: 1e5, ..still() };
        assert!(
            model.time_step(&pool.grid) < 0.5 * 10.0 / (2.0 * 9.81f64 * 10.0).sqrt() * 1.01
                || area == FlowArea::Constant
        );
        steps(&model, &mut pool, 4_000);
        assert!(spread(&pool) < 1.1 * before, "{area:?}: {} from {before}", spread(&pool));
    }
}

#[test]
fn turned_and_mirrored_water_is_the_same_water() {
    // The general laws use default parameters; this test uses pipes of a constant width, the other transport scheme, a
    // lake, cells without data and a sea.
    let model = Pipes {
        area: FlowArea::Constant,
        transport: Transport::Backward,
        lake: true,
        lake_level: 10.0,
        seconds: 60.0,
        ..Pipes::default()
    };
    for (model, sea) in
        [(model.clone(), Some(-5.0)), (Pipes { seconds: 60.0, ..Pipes::default() }, Some(0.0)), (model, None)]
    {
        let size = [37, 37];
        let make = |source: &(dyn Fn(usize, usize) -> (usize, usize) + Sync)| {
            let mut land = terrain(size, 10.0, Edge::Open, |i, j| {
                let (i, j) = source(i, j);
                hills(i, j)
            });
            land.nodata = Some(Field::from_fn(size, |i, j| {
                let (i, j) = source(i, j);
                (10..13).contains(&i) && (20..29).contains(&j)
            }));
            land.grid.sea_level = sea.map(|level| Height::from_metres(level).unwrap());
            run(&model, &mut land);
            land
        };
        let straight = make(&|i, j| (i, j));
        let turned = make(&|i, j| (36 - j, i));
        let mirrored = make(&|i, j| (36 - i, j));
        for i in 0..37 {
            for j in 0..37 {
                assert_eq!(turned.ground[(i, j)], straight.ground[(36 - j, i)], "turned {i} {j}");
                assert_eq!(water(&turned)[(i, j)], water(&straight)[(36 - j, i)], "turned {i} {j}");
                assert_eq!(mirrored.ground[(i, j)], straight.ground[(36 - i, j)], "mirrored {i} {j}");
                assert_eq!(water(&mirrored)[(i, j)], water(&straight)[(36 - i, j)], "mirrored {i} {j}");
            }
        }
    }
}

#[test]
fn springs_are_checked_and_those_of_other_windows_left() {
    let mut land = terrain([10, 12], 10.0, Edge::Closed, |_, _| 0.0);
    let mut spring = |row: i64, column: i64, rate: f32| {
        let unit = |name: &str, column| (name.to_string(), "1".to_string(), column);
        let columns = vec![
            unit("row", Column::Int(vec![row])),
            unit("column", Column::Int(vec![column])),
            unit("rate", Column::Float(vec![rate])),
        ];
        land.tables.insert("springs".into(), Table { columns });
        let tick = Tick { key: RandomKey::ZERO, step: 0 };
        still().start(&land.grid).unwrap().run_step(&mut land, tick).map(|budget| budget.poured)
    };
    let dt = still().time_step(&Grid::new([10, 12], 10.0).unwrap());
    let poured = spring(3, 4, 2.0).unwrap();
    assert!((poured - 2.0 * dt).abs() < 1e-6, "{poured}");
    for (row, column, rate, said) in
        [(10, 4, 1.0, "row = 10"), (3, -1, 1.0, "column = -1"), (3, 4, -1.0, "-1"), (3, 4, f32::NAN, "NaN")]
    {
        let error = spring(row, column, rate).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    land.tables.insert("springs".into(), Table { columns: vec![("row".into(), "1".into(), Column::Int(vec![1]))] });
    let tick = Tick { key: RandomKey::ZERO, step: 0 };
    let error = still().start(&land.grid).unwrap().run_step(&mut land, tick).unwrap_err().to_string();
    assert!(error.contains("rate"), "{error}");
}

#[test]
fn rain_falls_where_and_when_it_should() {
    let mut land = terrain([20, 30], 10.0, Edge::Closed, |_, _| 5.0);
    let mask = Field::from_fn([20, 30], |_, j| {
        if j < 10 {
            1.0
        } else if j < 20 {
            0.25
        } else {
            f32::NAN
        }
    });
    land.insert_layer(&RAIN, Cells::Float(mask)).unwrap();
    let model = Pipes { rain: 3_600.0, evaporation: 0.0, capacity: 0.0, ..Pipes::default() };
    let dt = model.time_step(&land.grid);
    let budget = steps(&model, &mut land, 1);
    let exact = dt / 1_000.0 * 100.0 * 20.0 * (10.0 + 2.5);
    assert!((budget.rained / exact - 1.0).abs() < 1e-5, "{} {exact}", budget.rained);
    assert!(water(&land)[(10, 25)] == 0.0 && water(&land)[(10, 2)] > 0.0);

    // Half of each minute: after two minutes one minute's rain has fallen.
    let mut land = terrain([20, 30], 10.0, Edge::Closed, |_, _| 5.0);
    let storms = Pipes { storm_period: 60.0, seconds: 120.0, ..model.clone() };
    let budget = run(&storms, &mut land);
    assert!((budget.rained / (0.06 * 60_000.0) - 1.0).abs() < 0.02, "{}", budget.rained);

    // Random rain has the same mean: for 600 cells and some steps, the error is 1/√12·2/√600 in one step.
    let mut land = terrain([20, 30], 10.0, Edge::Closed, |_, _| 5.0);
    let random = steps(&Pipes { shower: Shower::Random, ..model.clone() }, &mut land, 10);
    assert!((random.rained / (10.0 * dt / 1_000.0 * 60_000.0) - 1.0).abs() < 0.05, "{}", random.rained);

    // A cloud wets what is under it.
    let mut land = terrain([60, 60], 100.0, Edge::Closed, |_, _| 5.0);
    run(&Pipes { storm_radius: 1_000.0, storm_speed: 0.0, seconds: 30.0, ..model }, &mut land);
    let wet = water(&land).as_slice().iter().filter(|w| **w > 0.0).count();
    assert!(wet > 50 && wet < 500, "{wet} of 3600 cells under π·10² of cloud");
}

#[test]
fn the_sea_stands_at_its_level_and_takes_what_comes() {
    let mut coast = terrain([30, 40], 10.0, Edge::Closed, |_, j| 10.0 - 0.5 * j as f64);
    coast.grid.sea_level = Some(Height::ZERO);
    let budget = run(&Pipes { seconds: 100.0, evaporation: 0.0, rain: 1_000.0, ..Pipes::default() }, &mut coast);
    for j in 0..40 {
        let (z, w) = (coast.ground[(10, j)].metres(), f64::from(water(&coast)[(10, j)]));
        assert!(z >= 0.0 || z + w == 0.0, "column {j}: {z} {w}");
    }
    assert!(budget.poured > 0.0 && budget.drained > 0.0, "{budget:?}");
}

#[test]
fn water_leaves_over_open_edges_and_not_over_walls() {
    for (edge, stays) in [(Edge::Open, false), (Edge::Closed, true)] {
        let pool = terrain([20, 20], 10.0, edge, |_, _| 0.0);
        let mut pool = with_water(pool, |_, _| 1.0);
        let budget = run(&Pipes { seconds: 600.0, ..still() }, &mut pool);
        let left = stored(&pool) / (400.0 * 100.0);
        assert_eq!(left > 0.999_999, stays, "{edge:?}: {left}");
        assert!(stays || left < 0.1, "{left}");
        assert!((40_000.0 + budget.water_change() - stored(&pool)).abs() < 0.04, "{budget:?}");
    }
}

#[test]
fn rapid_water_digs_and_slow_water_lays_down() {
    // A chute into a basin: the chute is eroded, and the basin gets a fan of sediment.
    let ground = |_: usize, j: usize| if j < 40 { 60.0 - 1.5 * j as f64 } else { 0.0 };
    let mut land = terrain([15, 80], 10.0, Edge::Closed, ground);
    let before = land.clone();
    let budget = run(&Pipes { rain: 1_000.0, seconds: 900.0, ..Pipes::default() }, &mut land);
    let change = |from: usize, to: usize| {
        (from..to).map(|j| land.ground[(7, j)].metres() - before.ground[(7, j)].metres()).sum::<f64>()
    };
    assert!(change(5, 38) < -0.5, "{}", change(5, 38));
    assert!(change(40, 80) > 0.5, "{}", change(40, 80));
    let loose = land.loose.as_ref().unwrap();
    assert!(loose[(7, 42)].metres() > 0.01);
    assert_eq!(budget.exported, 0);
    // Harder rock is eroded less, sediment more, protected ground not at all.
    let dug = |prepare: &dyn Fn(&mut Terrain), model: Pipes| {
        let mut land = before.clone();
        prepare(&mut land);
        run(&Pipes { rain: 1_000.0, seconds: 120.0, ..model }, &mut land).eroded
    };
    let plain = dug(&|_| {}, Pipes::default());
    let layer = |spec: &'static thalweg_core::terrain::LayerSpec, value: f32| {
        move |land: &mut Terrain| land.insert_layer(spec, Cells::Float(Field::new([15, 80], value))).unwrap()
    };
    assert!(dug(&layer(&thalweg_core::terrain::HARDNESS, 0.8), Pipes::default()) < plain / 2);
    assert_eq!(dug(&layer(&thalweg_core::terrain::PROTECT, 1.0), Pipes::default()), 0);
    assert_eq!(dug(&|_| {}, Pipes { rock: 0.0, ..Pipes::default() }), 0);
    let deep = Cells::Height(Field::new([15, 80], Height::from_metres(100.0).unwrap()));
    assert!(dug(&|land| land.insert_layer(&SEDIMENT, deep.clone()).unwrap(), Pipes::default()) > plain);
}

#[test]
fn slow_digging_adds_up_over_steps() {
    // Less than a unit per step, a thousand times: if the remainder were discarded, nothing would ever be eroded.
    let ground = |_: usize, j: usize| 100.0 - 0.5 * j as f64;
    let mut land = terrain([3, 60], 10.0, Edge::Open, ground);
    land = with_water(land, |_, _| 0.2);
    let model = Pipes { erosion: 1e-3, rain: 2_000.0, seconds: 1e4, ..Pipes::default() };
    let budget = steps(&model, &mut land, 2_000);
    assert!(budget.eroded > 3 * 60, "{}", budget.eroded);
}

#[test]
fn velocity_is_flow_over_depth() {
    let bed = terrain([3, 900], 10.0, Edge::Closed, |_, j| 50.0 - 0.05 * j as f64);
    let mut bed = with_water(bed, |_, _| 1.0);
    let model = Pipes { velocity: true, seconds: 200.0, ..still() };
    run(&model, &mut bed);
    let u = f64::from(bed.float_layer(&VELOCITY_X).unwrap()[(1, 600)]);
    // Manning's velocity of a metre of water on a slope of 0.005, which the model approaches within minutes.
    let exact = 0.005f64.sqrt() / 0.035;
    assert!((u / exact - 1.0).abs() < 0.05, "{u} {exact}");
    assert!(bed.float_layer(&VELOCITY_X).unwrap().as_slice().iter().all(|u| u.to_bits() != (-0.0f32).to_bits()));
}

#[test]
fn more_steps_than_can_be_told_are_refused() {
    let error = Pipes { seconds: 1e7, ..Pipes::default() }.check(&Grid::new([4, 4], 0.001).unwrap()).unwrap_err();
    assert!(error.to_string().contains("pipes.seconds"), "{error}");
}

#[test]
fn water_is_never_negative_nor_nothing_whatever_the_parameters() {
    for draw in 0..60u64 {
        let key = |k: u64| RandomKey::new(SEED, "fuzz").derive_key(draw).derive_key(k);
        // Over many powers of ten, and sometimes the end of the range.
        let any = |k: u64, least: f64, most: f64| match key(k).random_bits() % 6 {
            0 => most,
            _ => least * libm::pow(most / least, key(k).derive_key(1).uniform_unit()),
        };
        let odd = |k: u64| key(k).random_bits().is_multiple_of(2);
        let model = Pipes {
            seconds: 1e4,
            area: if odd(0) { FlowArea::Depth } else { FlowArea::Constant },
            pipe_area: any(1, 0.001, 1e6),
            pipe_length: any(2, 1.0, 1e5),
            deepest: any(3, 0.01, 1_000.0),
            roughness: if odd(4) { 0.0 } else { any(5, 1e-3, 1.0) },
            rain: if odd(6) { 0.0 } else { any(7, 0.1, 1e5) },
            evaporation: any(8, 1e-6, 1.0),
            lake: odd(9),
            lake_level: any(10, 1.0, 16_000.0),
            capacity: any(11, 1e-3, 100.0),
            ramp: if odd(12) { 0.0 } else { any(13, 1e-3, 100.0) },
            erosion: any(14, 1e-3, 100.0),
            deposition: if odd(15) { 0.0 } else { any(16, 1e-3, 100.0) },
            transport: if odd(17) { Transport::Donor } else { Transport::Backward },
            ..Pipes::default()
        };
        let edge = if odd(18) { Edge::Open } else { Edge::Closed };
        let steep = any(19, 1e-3, 150.0);
        let mut land = terrain([19, 23], any(20, 0.01, 1e4), edge, |i, j| steep * hills(i, j));
        land =
            with_water(land, |i, j| (10.0 * key(21).for_cell([i as i64, j as i64]).uniform_signed().max(0.0)) as f32);
        let before = (land.sum_solid(), stored(&land));
        let budget = steps(&model, &mut land, 150);
        let said = || format!("draw {draw}: {model:?}");
        assert!(water(&land).as_slice().iter().all(|w| w.is_finite() && *w >= 0.0), "{}", said());
        assert_eq!(land.sum_solid() - before.0, budget.solid_change(), "{}", said());
        let came = before.1 + budget.rained + budget.poured;
        let off = (before.1 + budget.water_change() - stored(&land)).abs() / came;
        assert!(off < 1e-6, "{off:e}, {}", said());
    }
}

/// A closed bowl that is ten metres deep, and one with a lake up to seven metres.
fn bowl_and_lake() -> [Terrain; 2] {
    let bowl = terrain([30, 40], 5.0, Edge::Closed, |i, j| {
        let (y, x) = (i as f64 / 14.5 - 1.0, j as f64 / 19.5 - 1.0);
        (10.0 * (x * x + y * y)).min(10.0)
    });
    let depth = |i, j| (7.0 - bowl.ground[(i, j)].metres()).max(0.0) as f32;
    [bowl.clone(), with_water(bowl.clone(), depth)]
}

#[test]
fn a_recipe_gives_pipes_their_water_from_a_file_or_an_earlier_stage() {
    let folder = tempfile::tempdir().unwrap();
    let [bowl, lake] = bowl_and_lake();
    save_terrain(folder.path().join("bowl.tif"), &bowl, &SaveOptions::default()).unwrap();
    save_layer(folder.path().join("lake.tif"), &lake, "water", &Cells::Float(water(&lake).clone())).unwrap();
    let built = |stages: &str| {
        let text = format!("from = \"bowl.tif\"\nedges = \"closed\"\n{stages}");
        let mut recipe = Recipe::parse(&text).unwrap();
        recipe.folder = folder.path().into();
        // Written in full, it is the same recipe.
        assert_eq!(Recipe::parse(&recipe.to_toml()).unwrap().hash(), recipe.hash());
        let mut run = Run::new(recipe).unwrap();
        while run.take_step()?.is_some() {}
        Ok::<_, thalweg_core::base::error::Error>(run)
    };
    let still = "[[stage]]\nmodel = \"pipes\"\nrain = 0\nevaporation = 0\ncapacity = 0\nseconds = 60\n";
    let run = built(&format!("{still}layers = {{ water = \"lake.tif\" }}\n")).unwrap();
    // At rest it stays at rest, to the bit; and the initial water is part of the mass balance.
    assert_eq!(water(run.terrain()), water(&lake));
    let budget = run.reports()[0].mass_balance;
    assert!((budget.water_change() - stored(&lake)).abs() <= 1e-9 * stored(&lake), "{budget:?}");
    // Water that springs and rain of an earlier stage left behind flows on, and another kind of water can be used in
    // its place.
    let flood = "[[stage]]\nmodel = \"pipes\"\nlabel = \"flood\"\nlake = true\nlake_level = 7\nrain = 0\nevaporation = 0\nseconds = 5\ncapacity = 0\n";
    let run = built(&format!("{flood}{still}")).unwrap();
    assert_eq!(water(run.terrain()), water(&lake));
    let from = "[[stage]]\nmodel = \"drainage\"\nlakes = true\n";
    let run = built(&format!("{from}{still}layers = {{ water = {{ layer = \"pool\" }} }}\n")).unwrap();
    let pool = run.terrain().layers["pool"].cells.to_float();
    assert_eq!(water(run.terrain()), &pool);
    // Invalid values are refused, by name and cell.
    let below = Field::from_fn([30, 40], |i, j| if (i, j) == (3, 5) { -0.25 } else { 0.0 });
    save_layer(folder.path().join("below.tif"), &lake, "water", &Cells::Float(below)).unwrap();
    let problem = built(&format!("{still}layers = {{ water = \"below.tif\" }}\n")).err().unwrap().to_string();
    assert!(problem.contains("`water`") && problem.contains("-0.25 m at row 3, column 5"), "{problem}");
}
