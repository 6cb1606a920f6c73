//! Tests of brush strokes: their effect on the ground, and that a build repeats to the bit what was done live.

use std::path::Path;

use crate::support::{finish_run, with_threads};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::declare::params::Written;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, HARDNESS, PROTECT, RAIN};
use thalweg_core::{Field, Grid, Height, Point, Terrain};
use thalweg_models::models::droplets::Droplets;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::recipe::strokes::{Stroke, StrokeContext, Tool};
use thalweg_sim::run::Run;

const RECIPE: &str = r#"
extent = [600, 400]
cells = 60
seed = 2
sea_level = -20
[[stage]]
model = "gradient_noise"
wavelength = 300
amplitude = 60
[[stage]]
model = "droplets"
stride = 20
visits = true
count = 800
max_steps = 90
strokes = [
    { step = 1, tool = "raise", x = 300, y = 200, radius = 90, strength = 12 },
    { step = 1, tool = "droplets", count = 50 },
    { step = 0, tool = "protect", points = [[100, 100], [150, 120.5]], radius = 60 },
]
[[stage]]
model = "thermal"
muted = true
strokes = [{ step = 4000000000, tool = "spring", x = -1, y = 0 }]
layers = { protect = "no such file.tif" }
[[stage]]
model = "fluvial"
label = "brook"
steps = 12
tables = { springs = [{ x = 300, y = 200.5, rate = 2 }] }
strokes = [{ step = 12, tool = "smooth", x = 200, y = 200, radius = 150, strength = 1 }]
"#;

/// Returns a stroke of any tool at arbitrary places in and around a world of the given size.
fn any_stroke(key: RandomKey, [width, height]: [f64; 2]) -> Stroke {
    let tools: Vec<Tool> = Tool::all().collect();
    let tool = tools[(key.derive_key(0).uniform_unit() * tools.len() as f64) as usize];
    let far = if tool == Tool::Spring { 0.0 } else { 0.2 };
    let along = |n: u64, side: f64| side * (key.derive_key(n).uniform_unit() * (1.0 + 2.0 * far) - far);
    let count = if tool == Tool::Droplets && key.derive_key(1).uniform_unit() < 0.3 {
        0
    } else {
        1 + key.derive_key(2).random_bits() % 4
    };
    let points = (0..count).map(|n| Point::new(along(10 + 2 * n, width), along(11 + 2 * n, height))).collect();
    let mut stroke = Stroke::new(tool, points);
    for (name, value) in
        [("radius", 0.3 * width * key.derive_key(3).uniform_unit()), ("strength", key.derive_key(4).uniform_unit())]
    {
        if stroke.get(name).is_some() {
            stroke.set_parameter("stroke", name, &value.into()).unwrap();
        }
    }
    stroke
}

#[test]
fn what_was_done_live_a_build_repeats_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state");
    for draw in 0..6 {
        let key = RandomKey::new(draw, "live");
        let mut run = Run::new(Recipe::parse(RECIPE).unwrap()).unwrap();
        let (mut made, mut refused) = (0, 0);
        for turn in 0..200 {
            let key = key.derive_key(turn);
            match (key.uniform_unit() * 8.0) as u32 {
                0..3 => match run.add_stroke(any_stroke(key, [600.0, 400.0])) {
                    Ok(_) => made += 1,
                    Err(error) => {
                        assert!(error.to_string().starts_with("stroke.tool = spring"), "{error}");
                        refused += 1;
                    }
                },
                3 => {
                    run.save(&file, &serde_json::Value::Null).unwrap();
                    run = Run::resume(Path::new(&file)).unwrap().0;
                }
                _ => drop(run.take_step().unwrap()),
            }
            let change: i128 = run.reports().iter().map(|report| report.mass_balance.solid_change()).sum();
            assert_eq!(run.terrain().sum_solid(), change, "the ledger closes");
        }
        assert!(
            made > 40 && refused > 1 && run.recipe().stages.len() == 5,
            "{made} made, {refused} refused, {:?}",
            run.steps()
        );
        finish_run(&mut run);
        assert_eq!(run.recipe().stages[4].model.about().name, "manual");
        let text = run.recipe().to_toml();
        for threads in [1, 7] {
            let built = with_threads(threads, || {
                let mut built = Run::new(Recipe::parse(&text).unwrap()).unwrap();
                finish_run(&mut built);
                built
            });
            assert_eq!(built.terrain().fingerprints(), run.terrain().fingerprints(), "draw {draw}, {threads} threads");
            let ledgers = |run: &Run| run.reports().iter().map(|report| report.mass_balance).collect::<Vec<_>>();
            assert_eq!(ledgers(&built), ledgers(&run));
        }
    }
}

#[test]
fn strokes_are_read_and_written_back() {
    let recipe = Recipe::parse(RECIPE).unwrap();
    let again = Recipe::parse(&recipe.to_toml()).unwrap();
    assert_eq!(again.to_toml(), recipe.to_toml());
    let strokes = &recipe.stages[1].strokes;
    assert_eq!(*strokes, again.stages[1].strokes);
    assert_eq!((strokes[1].tool, strokes[1].count, strokes[1].points.len()), (Tool::Droplets, 50, 0));
    assert_eq!(
        (strokes[2].points.as_slice(), strokes[2].value),
        ([[100.0, 100.0], [150.0, 120.5]].map(Point::from).as_slice(), 1.0)
    );
    assert!(again.stages[2].muted && recipe.to_toml().matches("muted").count() == 1);
    for (new, words) in [
        ("3", "strokes[1] = 3: must be {"),
        ("{ step = 1 }", "points = [[x, y], …]"),
        ("{ tool = 'rase', x = 1, y = 1 }", "unknown tool `rase`; did you mean `raise`"),
        ("{ tool = 'raise', x = 1, y = 1, radios = 3 }", "did you mean `radius`"),
        ("{ tool = 'raise', x = 1, y = 1, value = 0.5 }", "unknown setting `value`"),
        ("{ tool = 'raise', x = 1 }", "x = metres, y = metres"),
        ("{ tool = 'raise', x = 1, y = 1, points = [[1, 1]] }", "for x and y"),
        ("{ tool = 'raise' }", "0 points: must be 1 to"),
        ("{ tool = 'raise', x = nan, y = 1 }", "NaN m"),
        ("{ tool = 'raise', points = [[1, 2, 3]] }", "strokes[1].points"),
        ("{ tool = 'raise', x = 1, y = 1, radius = -1 }", "strokes[1].radius = -1: must be 0 to 100000000"),
        ("{ tool = 'smooth', x = 1, y = 1, strength = 1.5 }", "strokes[1].strength = 1.5: must be 0 to 1"),
        ("{ tool = 'droplets', count = 0 }", "strokes[1].count = 0: must be a whole number from 1 to"),
        ("{ tool = 'droplets', radius = 5 }", "strokes[1].radius = 5 only applies with a place"),
        ("{ tool = 'raise', x = 1, y = 1, step = -1 }", "strokes[1].step = -1"),
        ("{ tool = 'raise', x = 1, y = 1, step = 5000 }", "droplets.strokes[1].step = 5000: must be 0 to"),
        (
            "{ tool = 'spring', x = 1, y = 1 }",
            "strokes[1].tool = spring only applies to a stage whose model has a table",
        ),
    ] {
        let text = RECIPE.replace("{ step = 1, tool = \"raise\", x = 300, y = 200, radius = 90, strength = 12 }", new);
        let refused = Recipe::parse(&text).and_then(Run::new).err().unwrap_or_else(|| panic!("accepted: {new}"));
        assert!(refused.to_string().contains(words), "{new}: {refused}");
    }
    let outside = RECIPE.replace(
        "tool = \"smooth\", x = 200, y = 200, radius = 150, strength = 1",
        "tool = \"spring\", x = 601, y = 0",
    );
    let refused = Recipe::parse(&outside).and_then(Run::new).err().unwrap().to_string();
    assert!(refused.contains("brook.strokes[1].x = 601 m: must be 0 to 600 m"), "{refused}");
}

/// Builds flat ground at 100 m that is 900 m wide.
fn flat(cells: usize) -> Terrain {
    let grid = Grid::new([cells, cells], 900.0 / cells as f64).unwrap();
    Terrain::from_ground(grid, Field::new([cells, cells], Height::from_metres_clamped(100.0))).unwrap()
}

fn stroke(tool: Tool, points: &[[f64; 2]], settings: &[(&str, f64)]) -> Stroke {
    let mut stroke = Stroke::new(tool, points.iter().map(|point| Point::from(*point)).collect());
    for (name, value) in settings {
        let value = if *name == "count" { Written::Whole(*value as i64) } else { Written::Number(*value) };
        stroke.set_parameter("stroke", name, &value).unwrap();
    }
    stroke
}

fn act(stroke: &Stroke, terrain: &mut Terrain) -> thalweg_models::model::MassBalance {
    let before = terrain.sum_solid();
    let droplets = Droplets::default();
    let budget =
        stroke.apply_to(terrain, &StrokeContext { droplets: &droplets, key: RandomKey::new(1, "hand") }).unwrap();
    assert_eq!(terrain.sum_solid() - before, budget.solid_change(), "{stroke:?}");
    budget
}

#[test]
fn a_hill_has_its_volume_at_any_resolution() {
    // π·r²·h/3, to 0.35 % by the fall-off's own test; in addition, a cell's height is rounded by up to half a unit.
    let want = std::f64::consts::PI * 130.0 * 130.0 * 7.0 / 3.0;
    for cells in [1, 3, 10, 45, 90, 301, 900] {
        for (tool, sign) in [(Tool::Raise, 1.0), (Tool::Lower, -1.0)] {
            let mut terrain = flat(cells);
            let budget = act(&stroke(tool, &[[431.7, 460.2]], &[("radius", 130.0), ("strength", 7.0)]), &mut terrain);
            let volume = sign * budget.added as f64 / UNITS * terrain.grid.cell_area();
            assert!((volume / want - 1.0).abs() < 0.004, "{cells} cells: {volume} m³ for {want}");
            assert_eq!((budget.limited, budget.eroded), (0, 0));
        }
    }
    let mut terrain = flat(901);
    act(&stroke(Tool::Raise, &[[449.9, 449.9]], &[("radius", 130.0), ("strength", 7.0)]), &mut terrain);
    let at = |i: usize, j: usize| terrain.ground[(i, j)].metres() - 100.0;
    assert!((at(450, 450) - 7.0).abs() < 0.001, "the middle has the strength");
    assert!(at(450, 450 + 131) == 0.0 && (0.0..0.02).contains(&at(450, 450 + 127)), "it ends at the radius, gently");
    // (1 − 1/4)² of the strength at half the radius.
    assert!((at(450 + 65, 450) - 7.0 * 0.5625).abs() < 0.02, "{}", at(515, 450));
}

#[test]
fn what_sinks_takes_loose_ground_first_and_what_rises_is_rock() {
    let mut terrain = flat(90);
    terrain.loose = Some(Field::new([90, 90], Height::from_metres_clamped(2.0)));
    act(&stroke(Tool::Lower, &[[450.0, 450.0]], &[("radius", 300.0), ("strength", 5.0)]), &mut terrain);
    let rock = |terrain: &Terrain, k: usize| {
        let loose = terrain.loose.as_ref().unwrap().as_slice()[k].0;
        assert!(loose >= 0);
        terrain.ground.as_slice()[k].0 - loose
    };
    let bare = (98.0 * UNITS) as i32;
    for k in 0..8100 {
        let ground = terrain.ground.as_slice()[k].0;
        assert_eq!(rock(&terrain, k), bare.min(ground), "rock is cut only where all that is loose is gone");
    }
    let loose = terrain.loose.clone();
    act(&stroke(Tool::Raise, &[[450.0, 450.0]], &[("radius", 300.0), ("strength", 9.0)]), &mut terrain);
    assert!(terrain.loose == loose);
}

#[test]
fn smoothing_keeps_planes_and_edges_and_wears_down_a_spike() {
    let smooth =
        stroke(Tool::Smooth, &[[100.0, 100.0], [0.0, 450.0], [880.0, 890.0]], &[("radius", 400.0), ("strength", 1.0)]);
    let mut plane = flat(90);
    plane.ground = Field::from_fn([90, 90], |i, j| Height(1000 * i as i32 - 777 * j as i32));
    let before = plane.clone();
    assert_eq!(act(&smooth, &mut plane).added, 0);
    assert!(plane == before, "an even slope stays, at the edges too");
    let mut spike = flat(90);
    spike.ground[(10, 10)] = Height::from_metres_clamped(200.0);
    act(&smooth, &mut spike);
    assert!(spike.ground[(10, 10)].metres() < 102.0 && spike.ground[(13, 12)].metres() > 100.01);
    // One cell around the spike the result is the mean of nine cells, because the weight there is 1 to a thousandth.
    let mut spike = flat(90);
    spike.ground[(45, 45)] = Height::from_metres_clamped(190.0);
    act(&stroke(Tool::Smooth, &[[455.0, 455.0]], &[("radius", 40.0), ("strength", 1.0)]), &mut spike);
    let middle = spike.ground[(45, 45)].metres();
    assert!((middle - 110.0).abs() < 80.0 * 0.02, "{middle}");
}

#[test]
fn flattening_draws_to_the_first_point() {
    let mut terrain = flat(90);
    terrain.ground = Field::from_fn([90, 90], |_, j| Height::from_metres_clamped(j as f64));
    let flatten = stroke(Tool::Flatten, &[[205.0, 305.0], [505.0, 505.0]], &[("radius", 200.0), ("strength", 1.0)]);
    act(&flatten, &mut terrain);
    // x = 205 m is the centre of column 20.
    assert!((terrain.ground[(30, 20)].metres() - 20.0).abs() < 1e-4);
    assert!((terrain.ground[(50, 50)].metres() - 20.0).abs() < 0.1, "{:?}", terrain.ground[(50, 50)]);
    assert_eq!(terrain.ground[(80, 80)].metres(), 80.0);
    // Between centres: half way between columns 20 and 21.
    let mut terrain = flat(90);
    terrain.ground = Field::from_fn([90, 90], |_, j| Height::from_metres_clamped(j as f64));
    act(
        &stroke(Tool::Flatten, &[[210.0, 300.0], [505.0, 505.0]], &[("radius", 90.0), ("strength", 1.0)]),
        &mut terrain,
    );
    assert!((terrain.ground[(50, 50)].metres() - 20.5).abs() < 0.2, "{:?}", terrain.ground[(50, 50)]);
}

#[test]
fn paint_makes_layers_that_models_heed() {
    for (tool, spec, neutral) in
        [(Tool::Hardness, HARDNESS, 0.0), (Tool::Rain, RAIN, 1.0), (Tool::Protect, PROTECT, 0.0)]
    {
        let mut terrain = flat(90);
        terrain.nodata = Some(Field::from_fn([90, 90], |i, j| (i, j) == (45, 45)));
        let paint = stroke(tool, &[[450.0, 450.0]], &[("radius", 200.0), ("strength", 0.5), ("value", 0.25)]);
        assert_eq!(act(&paint, &mut terrain), thalweg_models::model::MassBalance::default());
        let field = terrain.float_layer(&spec).unwrap();
        assert!((field[(44, 45)] - (neutral + 0.25) / 2.0).abs() < 0.01, "half the way");
        assert_eq!((field[(45, 45)], field[(0, 0)]), (neutral, neutral));
        assert!(field.as_slice().iter().all(|x| (0.0..=1.0).contains(x)));
        let other = Cells::Count(Field::new([90, 90], 1));
        terrain.layers.get_mut(spec.name).unwrap().cells = other;
        let droplets = Droplets::default();
        let refused =
            paint.apply_to(&mut terrain, &StrokeContext { droplets: &droplets, key: RandomKey::ZERO }).unwrap_err();
        assert!(refused.to_string().contains(spec.name));
    }
    // Ground that the user protects before a stage is not eroded by it.
    let text = "extent = [900, 900]\ncells = 90\n[[stage]]\nmodel = 'gradient_noise'\n[[stage]]\nmodel = 'droplets'\n\
                strokes = [{ tool = 'protect', x = 450, y = 450, radius = 1e8, strength = 1 }]";
    let mut run = Run::new(Recipe::parse(text).unwrap()).unwrap();
    finish_run(&mut run);
    assert_eq!(run.reports()[1].mass_balance.eroded, 0);
    assert!(run.reports()[1].mass_balance.particles > 1000);
}

#[test]
fn nothing_panics_whatever_the_ground_and_the_stroke() {
    let shapes = [[1, 1], [1, 7], [9, 1], [2, 2], [40, 33]];
    for (shape, size) in shapes.into_iter().enumerate() {
        for draw in 0..120 {
            let key = RandomKey::new(draw, "any").derive_key(shape as u64);
            let grid = Grid::new(size, 10.0).unwrap();
            let height = |i: usize, j: usize| match draw % 3 {
                0 => Height::from_metres_clamped(if (i + j).is_multiple_of(2) { 16_000.0 } else { -16_000.0 }),
                1 => Height::MAX,
                _ => Height::from_metres_clamped((i * j % 17) as f64),
            };
            let mut terrain = Terrain::from_ground(grid, Field::from_fn(size, height)).unwrap();
            if draw % 2 == 0 {
                terrain.nodata =
                    Some(Field::from_fn(size, |i, j| key.for_cell([i as i64, j as i64]).uniform_unit() < 0.3));
                terrain.loose = Some(Field::new(size, Height::from_metres_clamped(3.0)));
            }
            if draw % 5 == 0 {
                terrain.grid.sea_level = Some(Height::ZERO);
            }
            let mut stroke = any_stroke(key, [size[1] as f64 * 10.0, size[0] as f64 * 10.0]);
            if stroke.tool == Tool::Raise || stroke.tool == Tool::Lower {
                stroke.strength = 16_000.0;
            }
            if draw % 7 == 0 {
                stroke.radius *= 1e4;
            }
            stroke.check("stroke", &terrain.grid, true).unwrap();
            let before = terrain.clone();
            act(&stroke, &mut terrain);
            for (k, (now, was)) in terrain.ground.as_slice().iter().zip(before.ground.as_slice()).enumerate() {
                assert!((Height::MIN..=Height::MAX).contains(now));
                assert!(terrain.nodata.as_ref().is_none_or(|mask| !mask.as_slice()[k]) || now == was, "{stroke:?}");
            }
            assert!(terrain.loose.iter().flat_map(|loose| loose.as_slice()).all(|loose| loose.0 >= 0));
        }
    }
}

#[test]
fn droplets_of_a_hand_start_round_their_place_and_disturb_no_others() {
    let text = "extent = [3000, 3000]\ncells = 300\n[[stage]]\nmodel = 'gradient_noise'\n[[stage]]\nmodel = 'droplets'\nmax_steps = 30\n\
                visits = true\n[[stage]]\nmodel = 'manual'\nstrokes = [{ tool = 'droplets', x = 1500, y = 1000, radius = 200, count = 400 }]";
    let mut run = Run::new(Recipe::parse(text).unwrap()).unwrap();
    while run.reports().len() < 3 && !run.is_done() {
        run.take_step().unwrap();
        if run.reports().len() == 2 && run.terrain().tables.contains_key("droplets") {
            // In the middle of a rain stage: active droplets stay where they are.
            let before = run.terrain().tables.clone();
            run.add_stroke(Stroke { count: 100, ..Stroke::new(Tool::Droplets, Vec::new()) }).unwrap();
            assert!(run.terrain().tables == before);
        }
    }
    assert_eq!(run.reports()[2].mass_balance.particles, 400);
    assert!(run.terrain().tables.is_empty());
    // With 30 steps of 10 m from within 200 m and a brush two cells wide, nothing farther away changes.
    let mut fresh = flat(300);
    fresh.grid.cell = 10.0;
    fresh.ground = Field::from_fn([300, 300], |i, j| Height::from_metres_clamped(i as f64 * 4.0 + (j % 7) as f64));
    let before = fresh.clone();
    let droplets = Droplets { max_steps: 30, visits: true, ..Droplets::default() };
    let pour = stroke(Tool::Droplets, &[[1500.0, 1000.0]], &[("radius", 200.0), ("count", 400.0)]);
    let budget =
        pour.apply_to(&mut fresh, &StrokeContext { droplets: &droplets, key: RandomKey::new(4, "x") }).unwrap();
    assert_eq!(budget.particles, 400);
    let mut changed = 0;
    for i in 0..300 {
        for j in 0..300 {
            let away = libm::hypot(fresh.grid.row_center_y(i) - 1000.0, fresh.grid.col_center_x(j) - 1500.0);
            if fresh.ground[(i, j)] != before.ground[(i, j)] {
                changed += 1;
                assert!(away < 200.0 + 300.0 + 40.0, "{away} m");
            }
        }
    }
    assert!(changed > 1000, "{changed}");
}

#[test]
fn a_muted_stage_is_as_if_it_were_not_there() {
    let recipe = |muted: &str| {
        let text = format!(
            "extent = [500, 500]\ncells = 50\n[[stage]]\nmodel = 'gradient_noise'\n{muted}[[stage]]\nmodel = 'thermal'\nsteps = 3"
        );
        Recipe::parse(&text).unwrap()
    };
    let mut without = Run::new(recipe("")).unwrap();
    // The layer, the place in the world and the steps of a muted stage are not checked.
    let text = "[[stage]]\nmodel = 'elevation'\nmuted = true\nlayers = { amount = 'missing.tif' }\n\
                strokes = [{ step = 77, tool = 'raise', x = 1, y = 1 }]\n\
                [[stage]]\nmodel = 'fluvial'\nmuted = true\ntables = { springs = [{ x = 9999, y = 0, rate = 1 }] }\n";
    let mut with = Run::new(recipe(text)).unwrap();
    assert_eq!(with.steps()[1], without.steps()[1]);
    finish_run(&mut without);
    finish_run(&mut with);
    assert_eq!(with.terrain().fingerprints(), without.terrain().fingerprints());
    assert_eq!(with.report()["stages"][1]["muted"], true);
    assert_eq!(with.report()["stages"][1]["steps"], 0);
    assert!(with.report()["stages"][0].get("muted").is_none());
    // A live stroke is never assigned to a muted stage.
    let mut live = Run::new(recipe(text)).unwrap();
    live.take_step().unwrap();
    live.add_stroke(Stroke::new(Tool::Raise, vec![[250.0, 250.0].into()])).unwrap();
    assert_eq!(live.recipe().stages.iter().map(|stage| stage.strokes.len()).collect::<Vec<_>>(), [0, 1, 0, 1]);
}

#[test]
fn every_tool_is_declared() {
    let tools: Vec<Tool> = Tool::all().collect();
    assert_eq!(tools.len(), 9);
    let schema = thalweg_sim::recipe::recipe_schema(&thalweg_models::models::Models::default());
    let known = schema["$defs"]["strokes"]["items"]["oneOf"].as_array().unwrap();
    for (tool, schema) in tools.iter().zip(known) {
        assert!(tool.meaning().ends_with('.') && Tool::from_name(tool.name()) == Some(*tool));
        assert_eq!(schema["title"], tool.name());
        let stroke = Stroke::new(*tool, vec![[1.0, 1.0].into()]);
        for setting in tool.settings() {
            assert_eq!(stroke.get(setting.name), Some(setting.default), "{}", tool.name());
            assert!(schema["properties"][setting.name]["default"] != serde_json::Value::Null);
        }
        stroke.check("stroke", &Grid::new([9, 9], 1.0).unwrap(), true).unwrap();
    }
}

#[test]
fn the_ledger_closes_whatever_model_is_at_work() {
    let mut models = 0;
    for model in thalweg_models::models::all_models().filter(|model| model.about().needs.is_empty()) {
        let name = model.about().name;
        let key = RandomKey::new(9, name);
        let size = [40, 50];
        let height = |i: usize, j: usize| {
            let hills = 30.0 * libm::sin(i as f64 / 5.0) + 20.0 * libm::cos(j as f64 / 7.0);
            Height::from_metres_clamped(hills + 5.0 * key.for_cell([i as i64, j as i64]).uniform_signed())
        };
        let mut terrain = Terrain::from_ground(Grid::new(size, 20.0).unwrap(), Field::from_fn(size, height)).unwrap();
        terrain.loose = Some(Field::new(size, Height::from_metres_clamped(1.0)));
        let solid = terrain.sum_solid();
        let mut run = Run::with_terrain(Recipe::with_single_stage(model, 3), terrain).unwrap();
        for turn in 0..6 {
            let mut stroke = any_stroke(key.derive_key(turn), [1000.0, 800.0]);
            if stroke.tool == Tool::Spring {
                stroke =
                    Stroke { radius: 300.0, strength: 9.0, ..Stroke::new(Tool::Lower, vec![[500.0, 400.0].into()]) };
            }
            run.add_stroke(stroke).unwrap();
            run.take_step().unwrap();
            let change: i128 = run.reports().iter().map(|report| report.mass_balance.solid_change()).sum();
            assert_eq!(run.terrain().sum_solid() - solid, change, "{name} after {turn}");
        }
        models += 1;
    }
    assert!(models > 15, "{models}");
}
