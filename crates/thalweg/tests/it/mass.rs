//! Tests of the conservation of mass over random inputs: for every model, and any seed, parameters, edges, sea, size
//! and terrain, the terrain afterwards equals the terrain before plus the reported mass balance, to the unit; and
//! water balances to rounding.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestCaseError, TestRng, TestRunner};

use crate::long;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::declare::params::{Param, ParamKind, Value};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{CellType, Cells, LayerSpec, POOL, SEDIMENT, WATER};
use thalweg_core::{Cell, Edge, Field, Grid, Height, Terrain};
use thalweg_models::model::{MassBalance, Model, Tick};
use thalweg_models::models;
use thalweg_models::models::glacier::ICE;

/// The number of parameters that a case may set: more than any model has.
const PARAMETERS: usize = 64;

/// The number of steps that a case takes of a long run: the first ones, and the last.
const STEPS: u32 = 12;

/// A test case, which proptest shrinks if it fails.
#[derive(Debug, Clone)]
struct Case {
    seed: u64,
    size: [usize; 2],
    cell: f64,
    ground: Shape,
    /// The height difference between the lowest and the highest terrain in metres.
    relief: f64,
    /// The closed sides, one bit each.
    closed: u8,
    /// The width of a margin around the map in cells, as far as there is room.
    margin: usize,
    /// The sea level, as a fraction of the relief.
    sea: Option<f64>,
    /// The fraction of cells without data.
    void: f64,
    loose: f64,
    /// True if optional layers are given.
    layers: bool,
    /// The way in which each parameter is chosen, and a number from 0 to 1.
    draws: Vec<(How, f64)>,
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    Noise,
    White,
    Bowl,
    Plateaus,
    Pits,
    Cliff,
    Flat,
    Plane,
}

#[derive(Debug, Clone, Copy)]
enum How {
    Default,
    /// Near the default, within a factor of ten.
    Near,
    /// Anywhere in the range, logarithmically if the range is wide.
    Anywhere,
    /// At an end of the range.
    End,
}

fn cases() -> impl Strategy<Value = Case> {
    let side = || prop_oneof![2 => 1usize..6, 6 => 6usize..34, 1 => 60usize..72];
    let size = prop_oneof![1 => Just([1, 1]), 2 => side().prop_map(|n| [1, n]), 1 => side().prop_map(|n| [n, 1]),
        16 => [side(), side()]];
    let shapes = [
        Shape::Noise,
        Shape::Bowl,
        Shape::Plateaus,
        Shape::Pits,
        Shape::Cliff,
        Shape::White,
        Shape::Flat,
        Shape::Plane,
    ];
    let how = prop_oneof![5 => Just(How::Default), 3 => Just(How::Near), 2 => Just(How::Anywhere), 1 => Just(How::End)];
    let land = (
        size,
        prop_oneof![Just(20.0), Just(1.0), Just(333.3)],
        proptest::sample::select(shapes.to_vec()),
        prop_oneof![6 => Just(100.0), 2 => Just(2.0), 2 => Just(1500.0), 1 => Just(31_000.0)],
    );
    let around = (
        (prop_oneof![Just(0u8), Just(15), 0u8..16], prop_oneof![3 => Just(0usize), 1 => 1usize..20]),
        proptest::option::weighted(0.3, -0.1..1.1),
        prop_oneof![3 => Just(0.0), 1 => Just(0.1)],
        prop_oneof![2 => Just(0.0), 1 => Just(0.7), 1 => Just(40.0)],
        any::<bool>(),
    );
    (any::<u64>(), land, around, vec((how, 0.0..=1.0), PARAMETERS)).prop_map(
        |(seed, (size, cell, ground, relief), ((closed, margin), sea, void, loose, layers), draws)| Case {
            seed,
            size,
            cell,
            ground,
            relief,
            closed,
            margin,
            sea,
            void,
            loose,
            layers,
            draws,
        },
    )
}

/// Returns a parameter's value for a case.
fn drawn(param: &Param, (how, u): (How, f64)) -> Value {
    let number = |min: f64, max: f64, default: f64| match how {
        How::Default => default,
        How::Near if default == 0.0 => (0.01 * max * u).clamp(min, max),
        How::Near => (default * libm::pow(10.0, 2.0 * u - 1.0)).clamp(min, max),
        // Wide ranges by orders of magnitude; those that contain 0 start at 1e-4.
        How::Anywhere if min > 0.0 && max > 100.0 * min => (min * libm::pow(max / min, u)).clamp(min, max),
        How::Anywhere if min == 0.0 && max > 100.0 => (1e-4 * libm::pow(max * 1e4, u)).clamp(min, max),
        How::Anywhere => min + (max - min) * u,
        How::End => [min, max][usize::from(u > 0.5)],
    };
    match (param.kind, param.default) {
        (ParamKind::Number { min, max }, Value::Number(default)) => Value::Number(number(min, max, default)),
        (ParamKind::Count { min, max }, Value::Count(default)) => {
            Value::Count((number(min.into(), max.into(), default.into()) as u32).clamp(min, max))
        }
        (ParamKind::Choice(words), default) => match how {
            How::Default => default,
            _ => Value::Choice(words[((u * words.len() as f64) as usize).min(words.len() - 1)].0),
        },
        (ParamKind::Switch, default) => match how {
            How::Default => default,
            _ => Value::Switch(u < 0.5),
        },
        (_, default) => default,
    }
}

/// Returns the model of that name with a case's parameters; a parameter that contradicts the grid keeps its default.
fn model(name: &str, case: &Case, grid: &Grid) -> Option<Box<dyn Model>> {
    let mut model = models::find_model(name).expect("it is listed");
    for (param, draw) in model.declared().iter().zip(&case.draws) {
        let value = drawn(param, *draw);
        model.set(name, param.name, &value.into()).expect("a value in range is taken");
        if model.check(grid).is_err() {
            model.set(name, param.name, &param.default.into()).expect("its default is in range");
        }
    }
    model.check(grid).is_ok().then_some(model)
}

fn terrain(case: &Case, model: impl Fn(&Grid) -> Option<Box<dyn Model>>) -> Option<(Terrain, Box<dyn Model>)> {
    let [rows, cols] = case.size;
    let key = RandomKey::new(case.seed, "ground");
    let random = |i: usize, j: usize| key.for_cell([i as i64, j as i64]).uniform_unit();
    let height = |i: usize, j: usize| {
        let (y, x) = ((i as f64 + 0.5) / rows as f64, (j as f64 + 0.5) / cols as f64);
        let wave = |a: f64, b: f64| 0.5 + 0.5 * libm::sin(a * y + b * x + (case.seed % 100) as f64);
        match case.ground {
            Shape::Noise => 0.5 * wave(7.0, 3.0) + 0.4 * wave(-5.0, 13.0) + 0.1 * random(i, j),
            Shape::White => random(i, j),
            Shape::Bowl => (2.0 * (y - 0.5)).powi(2) * 0.5 + (2.0 * (x - 0.5)).powi(2) * 0.5,
            Shape::Plateaus => (wave(5.0, 4.0) * 4.0).floor() / 4.0,
            Shape::Pits => {
                if random(i, j) < 0.1 {
                    0.0
                } else {
                    0.3 + 0.7 * wave(2.0, 3.0)
                }
            }
            Shape::Cliff => f64::from(u8::from(x > 0.5)),
            Shape::Flat => 0.5,
            Shape::Plane => y,
        }
    };
    let mut grid = Grid::new(case.size, case.cell).expect("a small grid");
    grid.edges = std::array::from_fn(|k| if case.closed >> k & 1 == 1 { Edge::Closed } else { Edge::Open });
    grid.first = Cell::from(case.size).map(|lines| -(case.margin.min((lines - 1) / 2) as i64));
    grid.origin = grid.first;
    grid.sea_level = case.sea.map(|share| Height::from_metres_clamped((share - 0.5) * case.relief));
    let ground = Field::from_fn(case.size, |i, j| Height::from_metres_clamped((height(i, j) - 0.5) * case.relief));
    let model = model(&grid)?;
    let mut terrain = Terrain::from_ground(grid, ground).expect("of the grid's size");
    if case.void > 0.0 && rows * cols > 1 {
        let mask = Field::from_fn(case.size, |i, j| {
            key.derive_key(1).for_cell([i as i64, j as i64]).uniform_unit() < case.void
        });
        terrain.nodata = mask.as_slice().contains(&false).then_some(mask);
    }
    if case.loose > 0.0 {
        terrain.loose =
            Some(Field::from_fn(case.size, |i, j| Height::from_metres_clamped(case.loose * random(rows - 1 - i, j))));
    }
    let about = model.about();
    let optional: &[LayerSpec] = if case.layers { about.uses } else { &[] };
    for spec in about.needs.iter().chain(optional).filter(|spec| spec.name != SEDIMENT.name) {
        let unit = |i: usize, j: usize| {
            key.derive_key(2).derive_key(spec.name.len() as u64).for_cell([i as i64, j as i64]).uniform_unit()
        };
        let cells = match spec.cells {
            CellType::Height => {
                Cells::Height(Field::from_fn(case.size, |i, j| Height::from_metres_clamped(3.0 * unit(i, j))))
            }
            CellType::Float if spec.unit == "m" => {
                Cells::Float(Field::from_fn(case.size, |i, j| 500.0 * unit(i, j) as f32))
            }
            CellType::Float => Cells::Float(Field::from_fn(case.size, |i, j| unit(i, j) as f32)),
            // Soil types have numbers below 6.
            CellType::Count => Cells::Count(Field::from_fn(case.size, |i, j| (6.0 * unit(i, j)) as u32)),
        };
        terrain.insert_layer(spec, cells).expect("a layer of the declared kind");
    }
    Some((terrain, model))
}

/// The water on the terrain and in its tables, in m³.
fn standing(terrain: &Terrain) -> f64 {
    let layers = [POOL.name, WATER.name, ICE.name].into_iter().filter_map(|name| terrain.layers.get(name));
    let metres = |cells: &Cells| match cells {
        Cells::Height(field) => field.as_slice().iter().map(|h| f64::from(h.0)).sum::<f64>() / UNITS,
        Cells::Float(field) => field.as_slice().iter().map(|x| f64::from(*x)).sum(),
        Cells::Count(_) => 0.0,
    };
    let tables = terrain.tables.values().filter_map(|table| table.int_column("water")).flatten();
    let metres = layers.map(|layer| metres(&layer.cells)).sum::<f64>() + tables.map(|w| *w as f64).sum::<f64>() / UNITS;
    metres * terrain.grid.cell_area()
}

/// Takes the steps of a case, and checks the mass balance of each.
fn check(name: &str, case: &Case) -> Result<(), TestCaseError> {
    let Some((mut terrain, model)) = terrain(case, |grid| model(name, case, grid)) else { return Ok(()) };
    let start = terrain.clone();
    let steps = model.steps(&terrain.grid);
    let mut stepper = model.start(&terrain.grid).expect("checked parameters start");
    // The middle of a long run is like its beginning.
    let few = STEPS.min(steps);
    let taken = (0..few).chain(few.max(steps.saturating_sub(1))..steps);
    let mut budget = MassBalance::default();
    for step in taken {
        let (solid, water) = (terrain.sum_solid(), standing(&terrain));
        // A model may refuse a terrain, for example closed land that would drown, with a message; there is then
        // nothing to check.
        let Ok(done) = stepper.run_step(&mut terrain, Tick { key: RandomKey::new(case.seed, "law"), step }) else {
            return Ok(());
        };
        budget += done;
        let said = format!("{name}, step {step} of {steps}");
        prop_assert_eq!(terrain.sum_solid() - solid, done.solid_change(), "solid: {}", said);
        let through = [done.rained, done.poured, done.evaporated, done.infiltrated, done.drained];
        let through = through.iter().map(|amount| amount.abs()).sum::<f64>() + water;
        let gap = standing(&terrain) - water - done.water_change();
        // Depths in 32 bits lose one part in 2²³ each per step.
        prop_assert!(gap.abs() <= 1e-6 * through + 1e-6, "water: {} m³ of {}: {}", gap, through, said);
        // A step may reverse water that an earlier one has accounted for, to rounding.
        let amounts = [budget.rained, budget.poured, budget.evaporated, budget.infiltrated, budget.drained];
        let least = -1e-9 * amounts.iter().map(|x| x.abs()).sum::<f64>();
        let holds = amounts.iter().all(|x| *x >= least && x.is_finite());
        prop_assert!(holds, "no amount is negative: {:?}: {}", budget, said);
        prop_assert!(done.eroded >= 0 && done.deposited >= 0, "{:?}: {}", done, said);
    }
    let closed = terrain.grid.edges.iter().all(|edge| *edge == Edge::Closed) && terrain.nodata.is_none();
    if closed && terrain.grid.sea_level.is_none() {
        prop_assert!(budget.exported == 0 || budget.limited > 0, "{}: {} carried out of walls", name, budget.exported);
    }
    let in_range = |h: &Height| (Height::MIN..=Height::MAX).contains(h);
    prop_assert!(terrain.ground.as_slice().iter().all(in_range), "{}: heights stay in range", name);
    if let Some(loose) = &terrain.loose {
        prop_assert!(loose.as_slice().iter().all(|h| h.0 >= 0), "{}: loose ground is never negative", name);
    }
    if let Some(mask) = &start.nodata {
        let kept = |k: usize| !mask.as_slice()[k] || terrain.ground.as_slice()[k] == start.ground.as_slice()[k];
        prop_assert!((0..mask.len()).all(kept), "{}: cells without data stay", name);
    }
    Ok(())
}

/// Checks the mass balance of a model in random cases. Returns the fault that was found, shrunk to a small case.
fn find_fault(name: &str, most_cases: u32, seconds: f64) -> Option<String> {
    let start = std::time::Instant::now();
    let config =
        ProptestConfig { cases: most_cases, failure_persistence: None, max_shrink_iters: 400, ..Default::default() };
    // The same cases on every machine.
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[17; 32]);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let count = std::cell::Cell::new(0);
    let one = |case: Case| {
        if start.elapsed().as_secs_f64() > seconds {
            return Ok(());
        }
        count.set(count.get() + 1);
        check(name, &case)
    };
    let result = catch_unwind(AssertUnwindSafe(|| runner.run(&cases(), one).map_err(Box::new)));
    let (took, count) = (start.elapsed().as_secs_f64(), count.get());
    match result {
        Ok(Ok(())) => {
            println!("{name}: {count} cases, {took:.1} s");
            None
        }
        Ok(Err(flaw)) => Some(format!("{name} ({took:.1} s): {flaw}")),
        Err(_) => Some(format!("{name}: panics")),
    }
}

#[test]
fn ground_after_is_ground_before_and_the_ledger_for_every_model_and_any_land() {
    // A model is given a time after which no further case is started: parameters at their limits may require a million
    // grains per step.
    let (most_cases, seconds) = (long::or(40, 600), long::or(2.0, 60.0));
    let only = std::env::var("THALWEG_ONLY").ok();
    let names: Vec<_> = models::all_models().map(|model| model.about().name).collect();
    let chosen = names.into_iter().filter(|name| only.as_ref().is_none_or(|only| only == name));
    // Most models run on one core where a map is as small as these, so two are tested at a time.
    let (queue, faults) = (Mutex::new(chosen), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("no thread panics while it holds the lock").next();
                    let Some(name) = next else { break };
                    let fault = find_fault(name, most_cases, seconds);
                    faults.lock().expect("no thread panics while it holds the lock").extend(fault);
                }
            });
        }
    });
    let faults = faults.into_inner().expect("no thread panics while it holds the lock");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
