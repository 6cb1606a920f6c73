//! What every model must obey, run over the one list of models: a new model is tested by being listed.

use std::collections::BTreeMap;

use thalweg::field::{Field, Window};
use thalweg::grid::{Edge, Grid};
use thalweg::height::Height;
use thalweg::model::{Blend, Budget, Family, Model, Reach, Role, Tick};
use thalweg::models;
use thalweg::params::{Kind, ParamType, Value};
use thalweg::rng::Key;
use thalweg::terrain::{CellType, Cells, Coarser, Finer, HARDNESS, LOOSE, LayerSpec, PROTECT, RAIN, STANDING, Terrain};
use thalweg::tiles;

const SEED: u64 = 20_260_701;

/// Ground with slopes, hollows and roughness, and every input layer that the model knows.
fn rough(model: &dyn Model, size: [usize; 2], cell: f64) -> Terrain {
    let key = Key::new(SEED, "rough");
    let height = |i: usize, j: usize| {
        let (y, x) = (i as f64 / 9.0, j as f64 / 11.0);
        let hills = 60.0 * (libm::sin(y) + libm::cos(x * 1.3 + y)) + 2.0 * j as f64;
        Height::saturating(hills + 9.0 * key.cell([i as i64, j as i64]).signed())
    };
    let grid = Grid::new(size, cell).expect("a small grid");
    let mut terrain = Terrain::from_ground(grid, Field::generate(size, height)).expect("of the grid's size");
    furnish(model, &mut terrain);
    terrain
}

/// Gives the terrain each layer that the model needs or uses, with values it must heed.
fn furnish(model: &dyn Model, terrain: &mut Terrain) {
    let size = terrain.grid.size;
    for spec in model.about().needs.iter().chain(model.about().uses) {
        let key = Key::new(SEED, spec.name);
        let unit = |i: usize, j: usize| key.cell([i as i64, j as i64]).unit();
        let cells = match spec.cells {
            CellType::Height => Cells::Height(Field::generate(size, |i, j| Height::saturating(3.0 * unit(i, j)))),
            CellType::Float if STANDING.contains(spec) => {
                Cells::Float(Field::generate(size, |i, j| 3.0 * unit(i, j) as f32))
            }
            CellType::Float if spec.unit == "m" => {
                Cells::Float(Field::generate(size, |i, j| 500.0 * unit(i, j) as f32))
            }
            CellType::Float => Cells::Float(Field::generate(size, |i, j| unit(i, j) as f32)),
            // Numbers of kinds of soil are under 6.
            CellType::Count => Cells::Count(Field::generate(size, |i, j| (6.0 * unit(i, j)) as u32)),
        };
        terrain.insert(spec, cells).expect("a layer of the declared kind");
    }
}

fn tick(step: u32) -> Tick {
    Tick { key: Key::new(SEED, "law"), step }
}

fn run(model: &dyn Model, terrain: &mut Terrain) -> Budget {
    let mut budget = Budget::default();
    let mut stepper = model.start(&terrain.grid).expect("default parameters start");
    for step in 0..model.steps(&terrain.grid) {
        budget += stepper.step(terrain, tick(step)).expect("a furnished terrain steps");
    }
    budget
}

fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(work)
}

/// Each model, with every optional layer switched on; those with a stride of their own also on a coarser copy of the ground.
fn each(mut law: impl FnMut(&dyn Model)) {
    let mut count = 0;
    for mut model in models::all() {
        let owner = model.about().name;
        for param in model.declared() {
            if param.default == Value::Switch(false) {
                model.set(owner, param.name, &toml::Value::Boolean(true)).expect("a switch switches");
            }
        }
        law(&*model);
        if model.get("stride").is_some() {
            model.set(owner, "stride", &toml::Value::Float(95.0)).expect("three cells of the laws' ground");
            law(&*model);
        }
        count += 1;
    }
    assert!(count >= 10, "the list of models is there");
}

#[test]
fn thread_count_determinism() {
    each(|model| {
        let result = |threads| {
            let mut terrain = rough(model, [150, 170], 30.0);
            with_threads(threads, || run(model, &mut terrain));
            terrain.fingerprints()
        };
        let one = result(1);
        assert_eq!(one, result(2), "{} with 2 threads", model.about().name);
        assert_eq!(one, result(7), "{} with 7 threads", model.about().name);
    });
}

#[test]
fn a_stepper_holds_no_state() {
    each(|model| {
        let mut whole = rough(model, [90, 70], 30.0);
        let mut dropped = whole.clone();
        run(model, &mut whole);
        for step in 0..model.steps(&dropped.grid) {
            let mut stepper = model.start(&dropped.grid).expect("starts again");
            stepper.step(&mut dropped, tick(step)).expect("steps again");
        }
        assert_eq!(whole.fingerprints(), dropped.fingerprints(), "{}", model.about().name);
    });
}

#[test]
fn tiles_give_the_same_bits() {
    let mut tiled = 0;
    each(|model| {
        let mut whole = rough(model, [50, 660], 30.0);
        if model.reach(&whole.grid) == Reach::Whole {
            return;
        }
        let mut swept = whole.clone();
        run(model, &mut whole);
        tiles::sweep(model, &mut swept, Key::new(SEED, "law"), 110).expect("a finite reach can be tiled");
        assert_eq!(whole.fingerprints(), swept.fingerprints(), "{}", model.about().name);
        tiled += 1;
    });
    assert!(tiled >= 5);
}

#[test]
fn turned_input_gives_the_turned_result() {
    let mut tried = 0;
    each(|model| {
        if model.about().placed {
            return;
        }
        let start = rough(model, [47, 61], 30.0);
        let mut straight = start.clone();
        run(model, &mut straight);
        for turn in [turned, mirrored] {
            let mut other = transform(&start, turn);
            run(model, &mut other);
            assert_eq!(other.fingerprints(), transform(&straight, turn).fingerprints(), "{}", model.about().name);
        }
        tried += 1;
    });
    assert!(tried >= 1);
}

/// Source cell of cell (i, j) of a result, and the result's size, given the source's size.
type Turn = fn([usize; 2], usize, usize) -> ([usize; 2], [usize; 2]);

fn turned([rows, cols]: [usize; 2], i: usize, j: usize) -> ([usize; 2], [usize; 2]) {
    ([cols, rows], [rows - 1 - j, i])
}

fn mirrored([rows, cols]: [usize; 2], i: usize, j: usize) -> ([usize; 2], [usize; 2]) {
    ([rows, cols], [i, cols - 1 - j])
}

fn transform(terrain: &Terrain, turn: Turn) -> Terrain {
    fn field<T: Copy + Send + Sync + Default>(field: &Field<T>, turn: Turn) -> Field<T> {
        let (size, _) = turn(field.size(), 0, 0);
        Field::generate(size, |i, j| {
            let (_, [si, sj]) = turn(field.size(), i, j);
            field[(si, sj)]
        })
    }
    let (size, _) = turn(terrain.grid.size, 0, 0);
    let mut other = Terrain::new(Grid { size, world: size, ..terrain.grid.clone() });
    other.ground = field(&terrain.ground, turn);
    other.loose = terrain.loose.as_ref().map(|loose| field(loose, turn));
    other.layers = terrain.layers.clone();
    for layer in other.layers.values_mut() {
        layer.cells = match &layer.cells {
            Cells::Height(f) => Cells::Height(field(f, turn)),
            Cells::Float(f) => Cells::Float(field(f, turn)),
            Cells::Count(f) => Cells::Count(field(f, turn)),
        };
    }
    turn_vectors(&mut other, turn);
    other
}

/// The parts of a vector, layers `…_x` and `…_y`, turn with it.
fn turn_vectors(terrain: &mut Terrain, turn: Turn) {
    // Where a step eastward and a step southward from the middle of a 3 × 3 map lead.
    let [east, south] = [(1, 2), (2, 1)].map(|(i, j)| turn([3, 3], i, j).1.map(|k| k as f32 - 1.0));
    let names: Vec<String> =
        terrain.layers.keys().filter_map(|name| Some(name.strip_suffix("_x")?.to_string())).collect();
    for name in names {
        let [x, y] = ["x", "y"].map(|axis| terrain.layers[&format!("{name}_{axis}")].cells.to_float());
        for (axis, to) in [("x", east), ("y", south)] {
            // Adding nothing leaves no zero with a sign.
            let part = Field::generate(x.size(), |i, j| to[1] * x[(i, j)] + to[0] * y[(i, j)] + 0.0);
            terrain.layers.get_mut(&format!("{name}_{axis}")).expect("it is there").cells = Cells::Float(part);
        }
    }
}

#[test]
fn solid_mass_closes_to_the_unit() {
    each(|model| {
        for edge in [Edge::Open, Edge::Closed] {
            for sea in [None, Some(Height::saturating(40.0))] {
                let mut terrain = rough(model, [80, 120], 30.0);
                terrain.grid.edges = [edge; 4];
                terrain.grid.sea_level = sea;
                terrain.loose = Some(Field::new([80, 120], Height::saturating(0.5)));
                let before = terrain.solid();
                let mut stepper = model.start(&terrain.grid).expect("starts");
                let mut budget = Budget::default();
                for step in 0..model.steps(&terrain.grid) {
                    budget += stepper.step(&mut terrain, tick(step)).expect("steps");
                    let change = terrain.solid() - before;
                    assert_eq!(change, budget.solid_change(), "{} after step {step}", model.about().name);
                }
                if edge == Edge::Closed {
                    assert_eq!(budget.exported, 0, "{} keeps all inside walls", model.about().name);
                }
                let loose = terrain.loose.as_ref().expect("kept");
                assert!(
                    loose.as_slice().iter().all(|h| h.0 >= 0),
                    "{}: loose ground is never negative",
                    model.about().name
                );
            }
        }
    });
}

/// Ground of awkward shapes and sizes.
fn awkward() -> Vec<(&'static str, Terrain)> {
    let ground = |size: [usize; 2], height: &(dyn Fn(usize, usize) -> f64 + Sync)| {
        let grid = Grid::new(size, 10.0).expect("a small grid");
        let field = Field::generate(size, |i, j| Height::saturating(height(i, j)));
        Terrain::from_ground(grid, field).expect("of the grid's size")
    };
    let mut some_void = ground([20, 30], &|i, j| (i * j % 17) as f64);
    some_void.nodata = Some(Field::generate([20, 30], |i, j| (i + j) % 5 == 0));
    let mut sunk = ground([30, 30], &|i, _| i as f64 - 15.0);
    sunk.grid.sea_level = Some(Height::ZERO);
    vec![
        ("flat", ground([33, 40], &|_, _| 100.0)),
        ("spike", ground([40, 33], &|i, j| if (i, j) == (20, 16) { 16_000.0 } else { -16_000.0 })),
        ("pit", ground([40, 33], &|i, j| if (i, j) == (20, 16) { -16_000.0 } else { 16_000.0 })),
        ("cliff", ground([40, 80], &|_, j| if j < 40 { -9_000.0 } else { 9_000.0 })),
        ("checkerboard", ground([30, 30], &|i, j| if (i + j) % 2 == 0 { -16_000.0 } else { 16_000.0 })),
        ("holes in the data", some_void),
        ("half under the sea", sunk),
        ("1×1", ground([1, 1], &|_, _| 5.0)),
        ("2×3", ground([2, 3], &|i, j| (i + 2 * j) as f64)),
        ("1×n", ground([1, 70], &|_, j| (j % 7) as f64)),
        ("n×1", ground([70, 1], &|i, _| (i % 5) as f64)),
        ("2×n", ground([2, 70], &|i, j| (i * 3 + j % 7) as f64)),
    ]
}

/// A value from the parameter's range: one of the ends, or anywhere between.
fn any_value(kind: &Kind, key: Key) -> toml::Value {
    let u = match key.and(1).bits() % 4 {
        0 => 0.0,
        1 => 1.0,
        _ => key.and(2).unit(),
    };
    match kind {
        // Cubed, so that moderate values of wide ranges come up too.
        Kind::Number { min, max } => toml::Value::Float((min + (max - min) * u * u * u).clamp(*min, *max)),
        Kind::Count { min, max } => {
            toml::Value::Integer((f64::from(*min) + f64::from(max - min) * u * u * u).floor() as i64)
        }
        Kind::Switch => toml::Value::Boolean(u < 0.5),
        Kind::Choice(words) => toml::Value::String(words[(u * (words.len() as f64 - 0.5)) as usize].0.to_string()),
    }
}

#[test]
fn nothing_panics_whatever_the_parameters_and_the_ground() {
    for model in models::all() {
        let owner = model.about().name;
        for (shape, (name, ground)) in awkward().into_iter().enumerate() {
            for draw in 0..25 {
                let mut model = models::find(owner).expect("it is listed");
                let key = Key::new(SEED, owner).and(shape as u64).and(draw);
                if draw > 0 {
                    for (number, param) in model.declared().iter().enumerate() {
                        let value = any_value(&param.kind, key.and(number as u64));
                        model.set(owner, param.name, &value).expect("a value in range is taken");
                    }
                }
                if model.check(&ground.grid).is_err() {
                    continue;
                }
                let mut terrain = ground.clone();
                furnish(&*model, &mut terrain);
                let before = terrain.solid();
                let mut stepper = model.start(&terrain.grid).expect("checked parameters start");
                let steps = model.steps(&terrain.grid);
                // The first steps and the last: the middle of a long run is like its beginning.
                let mut change = 0;
                for step in (0..steps).take(5).chain((5.max(steps.saturating_sub(1)))..steps) {
                    change += stepper.step(&mut terrain, tick(step)).expect("a furnished terrain steps").solid_change();
                }
                let said = || {
                    format!(
                        "{owner} on {name}, draw {draw}: {:?}",
                        model.declared().iter().map(|p| (p.name, model.get(p.name))).collect::<Vec<_>>()
                    )
                };
                assert_eq!(terrain.solid() - before, change, "mass closes: {}", said());
                let in_range = |h: &Height| (Height::MIN..=Height::MAX).contains(h);
                assert!(terrain.ground.as_slice().iter().all(in_range), "heights stay in range: {}", said());
                for (layer, cells) in terrain.layers.iter().map(|(n, l)| (n, l.cells.to_float())) {
                    assert!(cells.as_slice().iter().all(|x| x.is_finite()), "{layer} is finite: {}", said());
                }
                if let Some(mask) = &ground.nodata {
                    let kept = |k: &usize| {
                        !mask.as_slice()[*k] || terrain.ground.as_slice()[*k] == ground.ground.as_slice()[*k]
                    };
                    assert!((0..mask.len()).all(|k| kept(&k)), "cells without data stay as they were: {}", said());
                }
            }
        }
    }
}

#[test]
fn everything_is_declared() {
    each(|model| {
        let about = model.about();
        let name = about.name;
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name} is a plain name");
        assert!(model.page().contains("Source:"), "{name}'s page names its source");
        assert!(about.summary.ends_with('.') && !about.source.is_empty(), "{name} says what it is");
        for param in model.declared() {
            assert!(
                param.meaning.len() > 10 && !param.unit.is_empty() && !param.source.is_empty(),
                "{name}.{}",
                param.name
            );
            let default = param.default.to_toml();
            let mut other = models::find(name).expect("it is listed");
            other.set(name, param.name, &default).expect("its default is in its range");
        }
        let mut terrain = rough(model, [40, 50], 30.0);
        run(model, &mut terrain);
        let known = about.needs.iter().chain(about.uses).chain(about.writes);
        let known: Vec<&LayerSpec> = known.collect();
        for (layer, cells) in &terrain.layers {
            let spec = known.iter().find(|spec| spec.name == layer);
            let spec = spec.unwrap_or_else(|| panic!("{name} leaves the undeclared layer {layer}"));
            assert_eq!((spec.unit, spec.cells), (cells.unit.as_str(), cells.cells.cell_type()));
        }
        assert!(terrain.loose.is_none() || about.writes.contains(&LOOSE), "{name} makes loose ground undeclared");
        let kept = terrain.tables.iter();
        let kept =
            kept.filter(|(table, rows)| rows.ints("carried").is_some() || !about.tables.contains(&table.as_str()));
        assert_eq!(kept.count(), 0, "{name} settles what it carries when it ends");
    });
}

#[test]
fn a_layer_of_one_name_is_declared_alike_by_all() {
    let mut seen = BTreeMap::new();
    for spec in models::layers() {
        let first = *seen.entry(spec.name).or_insert(spec);
        assert_eq!(first, spec);
        assert_eq!(models::layer(spec.name), Some(spec));
        let fits = match spec.cells {
            CellType::Height => spec.coarser == Coarser::Empty,
            CellType::Float => spec.finer != Finer::Level,
            CellType::Count => spec.finer == Finer::Same && spec.coarser == Coarser::Empty,
        };
        assert!(fits, "{spec:?} cannot become that");
    }
    // What passes through a cell goes with the cell's width.
    let passing: Vec<&str> = seen.values().filter(|spec| spec.unit == "m³/s").map(|spec| spec.name).collect();
    let halved: Vec<&str> = seen.values().filter(|spec| spec.finer == Finer::Halved).map(|spec| spec.name).collect();
    assert_eq!(passing, halved);
}

#[test]
fn every_role_is_played_by_one_model_and_blends_are_those_of_base_models() {
    for role in [Role::Strokes, Role::Droplets, Role::Springs, Role::Water] {
        let players: Vec<&str> =
            models::all().filter(|model| model.plays(role)).map(|model| model.about().name).collect();
        assert_eq!(players, [models::playing(role).expect("its numbers are allowed").about().name], "{role:?}");
    }
    each(|model| {
        // A word among its parameters that says how it meets the ground is what it declares.
        let words = |kind: Kind| matches!(kind, Kind::Choice(words) if words == blends());
        let named = model.declared().into_iter().find(|param| words(param.kind));
        assert_eq!(named.is_some(), model.about().family == Family::Base, "{}", model.about().name);
        let Some(param) = named else { return assert_eq!(model.blend(), Blend::Add) };
        for (word, _) in blends() {
            let mut other = models::copy(model).expect("it is listed");
            other.set("it", param.name, &toml::Value::String(word.to_string())).expect("a blend");
            assert_eq!(other.blend().value(), Value::Choice(word), "{}", model.about().name);
        }
    });
}

/// The words for [`Blend`].
fn blends() -> &'static [(&'static str, &'static str)] {
    match Blend::kind(..) {
        Kind::Choice(words) => words,
        _ => &[],
    }
}

#[test]
fn zero_factors_change_nothing() {
    // A mask that holds nothing back takes the careful path through a model, which must give the fast path's bits.
    each(|model| {
        let mut plain = rough(model, [70, 80], 30.0);
        plain.layers.retain(|name, _| model.about().needs.iter().any(|spec| spec.name == name));
        let mut masked = plain.clone();
        for (spec, factor) in [(HARDNESS, 0.0), (PROTECT, 0.0), (RAIN, 1.0)] {
            if model.about().uses.contains(&spec) {
                masked.insert(&spec, Cells::Float(Field::new([70, 80], factor))).expect("fits");
            }
        }
        run(model, &mut plain);
        run(model, &mut masked);
        assert_eq!(plain.fingerprints()["ground"], masked.fingerprints()["ground"], "{}", model.about().name);
    });
}

#[test]
fn windows_of_a_terrain_agree_with_it() {
    let model = models::find("thermal").expect("it is listed");
    let terrain = rough(&*model, [30, 40], 30.0);
    let window = terrain.window(Window { start: [7, 9], size: [11, 13] });
    assert_eq!(window.ground[(3, 4)], terrain.ground[(10, 13)]);
    assert_eq!(window.grid.world_cell(3, 4), terrain.grid.world_cell(10, 13));
}
