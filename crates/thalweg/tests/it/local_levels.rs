//! Tests of local levels in builds: `beyond = "local"` in a recipe.

use crate::long;
use crate::runs::forged;
use crate::support::{finish_run, run_recipe, with_threads};
use thalweg_core::terrain::Cells;
use thalweg_core::terrain::d8::to_esri_code;
use thalweg_core::{Cell, Terrain};
use thalweg_flow::D8;
use thalweg_models::model::{Local, MassBalance};
use thalweg_refine::{LocalWindow, Rules};
use thalweg_sim::presets;
use thalweg_sim::recipe::{Coarsest, Levels, LocalFrom, Recipe, RefinementMethod};
use thalweg_sim::run::Run;
use thalweg_sim::world::World;

/// A recipe whose first level is solved quickly.
fn text(cells: usize, more: &str) -> String {
    format!(
        "extent = [6400.0, 3200.0]\ncells = {cells}\ncoarsest = 32\nseed = 5\nbeyond = \"local\"\n{more}\n\
         [[stage]]\nmodel = \"gradient_noise\"\namplitude = 300.0\nwavelength = 2000.0\n\
         [[stage]]\nmodel = \"stream_power\"\nyears = 4e5\nstep = 2e4\n\
         [[stage]]\nmodel = \"outlets\"\nlevels = \"last\"\n\
         [[stage]]\nmodel = \"drainage\"\nrunoff = 0.7\n"
    )
}

fn recipe(cells: usize, more: &str) -> Recipe {
    Recipe::parse(&text(cells, more)).unwrap()
}

fn build(recipe: &Recipe) -> Terrain {
    run_recipe(recipe.clone()).into_terrain()
}

fn layers(terrain: &Terrain) -> (Vec<u32>, Vec<f32>) {
    let layer = |name: &str| &terrain.layers[name].cells;
    let (Cells::Count(codes), Cells::Float(area)) = (layer("flow_direction"), layer("drainage_area")) else {
        panic!("layers of other types");
    };
    (codes.as_slice().to_vec(), area.as_slice().to_vec())
}

fn solid(terrain: &Terrain) -> i128 {
    terrain.sum_solid()
}

/// The build by rows of tiles gives the same as the world's tiles, and each step's mass balance is correct.
#[test]
fn a_build_is_the_world_s_own_level_and_its_ledger_closes() {
    let recipe = recipe(256, "local_from = 64");
    let world = World::open(&recipe).unwrap();
    assert_eq!(world.frame().cells, [32, 64]);
    let expected: LocalWindow = world.window(2, world.frame().world_rect(2)).unwrap();
    for threads in [1, 3] {
        let mut run = Run::new(recipe.clone()).unwrap();
        with_threads(threads, || {
            let (mut before, mut cells) = (solid(run.terrain()), run.terrain().grid.len());
            let mut sum = MassBalance::default();
            while let Some(progress) = run.take_step().unwrap() {
                sum += progress.mass_balance;
                if progress.step == progress.steps {
                    let now = run.terrain();
                    let finer = (now.grid.len() / cells) as i128;
                    assert_eq!(solid(now), finer * before + sum.solid_change(), "{progress:?}");
                    if progress.label == "local level" {
                        assert!(sum.eroded > 0 && sum.exported == sum.eroded - sum.deposited, "{sum:?}");
                    }
                    (before, cells, sum) = (solid(now), now.grid.len(), MassBalance::default());
                }
            }
        });
        let terrain = run.terrain();
        assert_eq!(terrain.ground, expected.ground);
        let (codes, area) = layers(terrain);
        assert!(codes.iter().zip(expected.receivers.as_slice()).all(|(a, b)| *a == u32::from(to_esri_code(*b))));
        assert_eq!(area, expected.area.as_slice());
        if let Some(lakes) = &expected.lakes {
            assert!(terrain.layers["lake"].cells == Cells::Count(lakes.id.clone()));
        }
        // Stages that read the terrain have read the last level.
        assert_eq!(terrain.layers["accumulation"].cells.size(), [128, 256]);
        let report = run.report();
        let labels: Vec<&str> =
            report["stages"].as_array().unwrap().iter().map(|s| s["model"].as_str().unwrap()).collect();
        assert_eq!(labels.iter().filter(|label| **label == "local").count(), 2, "{labels:?}");
        assert_eq!(labels.last(), Some(&"drainage"));
    }
}

/// With local levels too, a smaller build is the first part of a larger one; and the global level is unchanged.
#[test]
fn a_smaller_build_is_the_first_part() {
    let whole = recipe(256, "local_from = 64");
    let world = World::open(&whole).unwrap();
    let first = build(&recipe(128, "local_from = 64"));
    assert_eq!(first.ground, world.window(1, world.frame().world_rect(1)).unwrap().ground);
    let global = build(&recipe(64, "local_from = 64"));
    let plain = text(64, "").replace("beyond = \"local\"\n", "");
    assert_eq!(global.ground, build(&Recipe::parse(&plain).unwrap()).ground);
    assert!(!global.layers.contains_key("flow_direction"));
    // The same level, given by the width of its cells, or chosen automatically.
    assert_eq!(build(&recipe(128, "local_from = \"100 m\"")).ground, first.ground);
    let chosen = recipe(1024, "");
    assert_eq!((chosen.local_levels().unwrap(), chosen.to_global_recipe().unwrap().cells), (1, 512));
    assert_eq!(recipe(512, "").local_levels().unwrap(), 0);
}

/// A build that is stopped between two rows of a level, saved, and resumed.
#[test]
fn a_build_that_is_stopped_within_a_level_goes_on_to_the_same_bits() {
    let mut recipe = recipe(1152, "local_from = 72");
    recipe.set_extent([3000.0, 3000.0]).unwrap();
    recipe.set_coarsest(Coarsest::None).unwrap();
    let mut run = Run::new(recipe.clone()).unwrap();
    let last = run.turns().len() - 2;
    assert_eq!(run.steps_in_turn(run.turns()[last]), 3, "1 152 rows are three rows of tiles");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.state");
    let mut marks = vec![];
    while let Some(progress) = run.take_step().unwrap() {
        if progress.turn == last && progress.step == 2 {
            run.save(&file, &serde_json::Value::Null).unwrap();
            marks.push(run.save_mark());
        }
    }
    let (mut again, _) = Run::resume(&file).unwrap();
    assert_eq!(again.position(), (last, 2));
    finish_run(&mut again);
    assert_eq!(again.terrain().fingerprints(), run.terrain().fingerprints());
    let budgets = |run: &Run| run.reports().iter().map(|report| report.mass_balance).collect::<Vec<_>>();
    assert_eq!(budgets(&again), budgets(&run));
    // A mark is compatible with its recipe, but not with one whose local levels differ.
    assert!(marks[0].is_consistent_with(&recipe));
    let mut other = recipe.clone();
    other.stages[1].model.set("stream_power", "slope_limit", &20.0.into()).unwrap();
    assert!(!marks[0].is_consistent_with(&other));
    let mut from_mark = Run::from_mark(recipe, &marks[0]).unwrap();
    finish_run(&mut from_mark);
    assert_eq!(from_mark.terrain().ground, run.terrain().ground);
}

/// In a checkpoint of an earlier version, the layers of a local level have other names, and directions other codes.
#[test]
fn a_checkpoint_with_earlier_names_of_layers_goes_on_to_the_same_bits() {
    let mut run = Run::new(recipe(256, "local_from = 64")).unwrap();
    // Up to the end of the first of two local levels.
    while !run.terrain().layers.contains_key("flow_direction") {
        run.take_step().unwrap().unwrap();
    }
    let saved = run.to_checkpoint(&serde_json::Value::Null).unwrap();
    let earlier = forged(&saved, |header, content| {
        let mut start = 0;
        for section in header["sections"].as_array_mut().unwrap() {
            let end = start + section["bytes"].as_u64().unwrap() as usize;
            if section["name"] == "flow_direction" {
                section["name"] = "rec".into();
                for bytes in content[start..end].chunks_exact_mut(4) {
                    let direction = D8::from_esri(bytes[0]);
                    bytes.copy_from_slice(&direction.map_or(8, |direction| u32::from(direction.code())).to_le_bytes());
                }
            }
            if section["name"] == "drainage_area" {
                section["name"] = "area".into();
                section["meaning"] = "Catchment of the cell.".into();
            }
            start = end;
        }
    });
    assert!(earlier != saved);
    let (mut resumed, _) = Run::resume_bytes(&earlier).unwrap();
    assert!(*resumed.terrain() == *run.terrain());
    finish_run(&mut resumed);
    finish_run(&mut run);
    assert_eq!(resumed.terrain().fingerprints(), run.terrain().fingerprints());
}

#[test]
fn keys_are_read_written_and_refused() {
    for from in ["", "local_from = 64", "local_from = \"50 m\"", "local_from = \"auto\"", "local_from = \"12.5m\""] {
        let recipe = recipe(256, from);
        let again = Recipe::parse(&recipe.to_toml()).unwrap();
        assert_eq!((again.levels(), again.hash()), (recipe.levels(), recipe.hash()));
    }
    let plain = presets::find_preset("alpine").unwrap();
    assert!(!plain.to_toml().contains("beyond =") && !plain.to_toml().contains("local_from"));
    let refused = |cells: usize, more: &str| {
        Recipe::parse(&text(cells, more)).and_then(|recipe| Run::new(recipe).map(drop)).unwrap_err().to_string()
    };
    let zero = refused(256, "local_from = 0");
    assert!(zero.contains("1 to 1048576") && zero.contains("or the width of a cell, such as \"30 m\""), "{zero}");
    assert!(refused(256, "local_from = \"wide\"").contains("\"30 m\""));
    assert!(refused(256, "local_from = \"-3 m\"").contains("\"30 m\""));
    let doubled = refused(256, "local_from = 60");
    assert!(doubled.contains("cells = 256") && doubled.contains("240 or 480"), "{doubled}");
    let odd = refused(1000, "local_from = 64");
    assert!(odd.starts_with("cells = 1000: must be a multiple of 16"), "{odd}");
    let of = |text: &str| Recipe::parse(text).map(drop).unwrap_err().to_string();
    assert!(of("extent = [1e4, 1e4]\nlocal_from = 64\n").contains("only applies with `beyond = \"local\"`"));
    assert!(of("from = \"a.tif\"\nbeyond = \"local\"\n").contains("the grid is the file's"));
    assert!(of("extent = [1e4, 1e4]\nbeyond = \"far\"\n").contains("\"global\" or \"local\""));
    // A stage that reaches over the whole map and requests finer levels.
    let finer = text(256, "local_from = 64").replace("levels = \"last\"", "levels = { finest = 30.0 }");
    let error = Recipe::parse(&finer).and_then(|recipe| Run::new(recipe).map(drop)).unwrap_err().to_string();
    let words = "outlets.levels = cells of 50 m is not possible: levels with cells finer than 100 m are local";
    assert!(error.starts_with(words), "{error}");
    assert!(error.contains("needs the whole terrain"));
    assert!(error.ends_with("set local_from = 128 or \"50 m\" to run it there"), "{error}");
    let reads = text(256, "local_from = 64")
        .replace("runoff = 0.7", "runoff = 0.7\nlevels = { finest = 20.0, coarsest = 30.0 }");
    assert!(Recipe::parse(&reads).and_then(Run::new).is_ok(), "what reads may read any level");
}

/// The rules for local levels that a recipe's stages give.
#[test]
fn rules_come_of_the_stages() {
    let alpine = presets::find_preset("alpine").unwrap();
    let local = alpine.combine_local_forms(30.0);
    assert_eq!(local.runoff, 0.8);
    assert!((local.rules.exponent - 0.4).abs() < 1e-6 && (local.rules.roughness - 0.18).abs() < 1e-6);
    let mut gentle = alpine.clone();
    gentle.stages[1].model.set("stream_power", "slope_limit", &15.0.into()).unwrap();
    assert!(gentle.combine_local_forms(30.0).rules.limit < 0.5 * local.rules.limit);
    gentle.stages[1].muted = true;
    assert_eq!(gentle.combine_local_forms(30.0).rules.limit, Rules::default().limit);
    // A stage's own rules are added unless it is muted.
    let mut drowned = presets::find_preset("archipelago").unwrap();
    let waves = drowned.stage_index("waves").unwrap();
    assert!(!drowned.combine_local_forms(30.0).rules.joins.is_empty());
    drowned.stages[waves].muted = true;
    assert!(drowned.combine_local_forms(30.0).rules.joins.is_empty());
    for recipe in presets::PRESETS.iter().map(|preset| preset.recipe().unwrap()) {
        let local: Local = recipe.combine_local_forms(30.0);
        local.rules.check().unwrap_or_else(|error| panic!("{}: {error}", recipe.name));
        assert!(recipe.local_forms().iter().any(|(_, form)| form.is_some()), "{} has no local form", recipe.name);
    }
    // Every model's local form is valid over the whole range of its parameters.
    for mut model in thalweg_models::models::all_models() {
        let owner = model.about().name;
        for param in model.declared() {
            let thalweg_core::declare::params::ParamKind::Number { min, max } = param.kind else { continue };
            let before = model.get(param.name).unwrap();
            for value in [min, max, 0.5 * (min + max)] {
                model.set(owner, param.name, &value.into()).unwrap();
                let mut local = Local::new(30.0);
                model.define_refinement(&mut local);
                local.rules.check().unwrap_or_else(|error| panic!("{owner}.{} = {value}: {error}", param.name));
            }
            model.set(owner, param.name, &before.into()).unwrap();
        }
    }
}

/// A local build without pits: from every cell the flow path descends to the edge, judged by the written heights
/// alone.
#[test]
fn a_local_build_drains() {
    let mut recipe = presets::find_preset("hills").unwrap();
    recipe.cells = long::or(256, 1024);
    recipe.set_refinement_method(RefinementMethod::Local { from: LocalFrom::Cells(64) }).unwrap();
    let terrain = build(&recipe);
    let (codes, area) = layers(&terrain);
    let [rows, cols] = terrain.grid.size;
    // For a lake, the water level counts.
    let pool = terrain.layers.get("pool").map(|layer| &layer.cells);
    let deep = |k: usize| if let Some(Cells::Height(pool)) = pool { pool.as_slice()[k].0 } else { 0 };
    let z: Vec<i32> = (0..terrain.ground.len()).map(|k| terrain.ground.as_slice()[k].0 + deep(k)).collect();
    for k in 0..z.len() {
        let (i, j) = ((k / cols) as i64, (k % cols) as i64);
        match u8::try_from(codes[k]).ok().and_then(D8::from_esri) {
            Some(direction) => {
                let Cell { row: r, col: c } = direction.adjacent_cell(Cell::new(i, j));
                let to = (r * cols as i64 + c) as usize;
                assert!(z[to] <= z[k] && area[to] >= area[k], "{i}, {j}");
            }
            None => {
                assert!(i == 0 || j == 0 || i + 1 == rows as i64 || j + 1 == cols as i64, "{i}, {j} drains nowhere")
            }
        }
    }
}

/// If stages specify the cell widths on which they run, the chosen global level includes them, and a refusal says
/// which level would.
#[test]
fn the_global_level_is_as_fine_as_stages_ask_for() {
    let local = |name: &str, cells: usize, from: LocalFrom| {
        let mut recipe = Recipe { cells, ..presets::find_preset(name).unwrap() };
        recipe.set_refinement_method(RefinementMethod::Local { from }).unwrap();
        recipe
    };
    // Glacial valleys and what slides down their sides run down to cells of 20 m, the lobes of a delta's plain down to
    // 60 m.
    for (name, cells, global) in [
        ("glacial", 1024, 1024),
        ("glacial", 4096, 1024),
        ("fjords", 2048, 1024),
        ("river_delta", 2048, 512),
        ("alpine", 4096, 512),
        ("alpine", 1280, 320),
        ("hills", 4096, 512),
    ] {
        let recipe = local(name, cells, LocalFrom::Auto);
        Run::check(&recipe).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(recipe.to_global_recipe().unwrap().cells, global, "{name}, {cells} cells");
    }
    for (name, cells, from) in [("glacial", 2048, 512), ("fjords", 2048, 256), ("river_delta", 1024, 256)] {
        let error = Run::check(&local(name, cells, LocalFrom::Cells(from))).unwrap_err().to_string();
        let (_, told) = error.split_once("set local_from = ").unwrap_or_else(|| panic!("{error}"));
        let (told, rest) = told.split_once(" or \"").unwrap();
        let width: f64 = rest.split_once(" m\"").unwrap().0.parse().unwrap();
        for from in [LocalFrom::Cells(told.parse().unwrap()), LocalFrom::Width(width)] {
            let recipe = local(name, cells, from);
            Run::check(&recipe).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(recipe.local_levels().unwrap() > 0, "{name}");
            // No coarser level would suffice.
            let coarser = local(name, cells, LocalFrom::Width(2.0 * width));
            assert!(Run::check(&coarser).is_err(), "{name}");
        }
    }
}

const METRE: i32 = thalweg_core::terrain::height::UNITS as i32;

/// Checks that from every cell of a build its own receivers lead down to the sea, the edge or an outlet, across lakes
/// at their level.
fn assert_drains(name: &str, terrain: &Terrain) {
    let (codes, area) = layers(terrain);
    let [rows, cols] = terrain.grid.size;
    let standing = terrain.layers.get("pool").or_else(|| terrain.layers.get("hollow"));
    let pool = standing.map(|layer| &layer.cells);
    let deep = |k: usize| if let Some(Cells::Height(pool)) = pool { pool.as_slice()[k].0 } else { 0 };
    let sea = terrain.grid.sea_level.map_or(i32::MIN, |sea| sea.0);
    let z: Vec<i32> = (0..terrain.ground.len()).map(|k| terrain.ground.as_slice()[k].0 + deep(k)).collect();
    // A later stage may fill a lake's bed differently, so inside a single lake only the tree counts.
    let lake = |k: usize| match terrain.layers.get("lake").map(|layer| &layer.cells) {
        Some(Cells::Count(ids)) => ids.as_slice()[k],
        _ => 0,
    };
    let mut range = [i32::MAX, i32::MIN];
    for k in 0..z.len() {
        let (i, j) = ((k / cols) as i64, (k % cols) as i64);
        range = [range[0].min(z[k]), range[1].max(z[k])];
        match u8::try_from(codes[k]).ok().and_then(D8::from_esri) {
            Some(direction) => {
                let Cell { row: r, col: c } = direction.adjacent_cell(Cell::new(i, j));
                let to = (r * cols as i64 + c) as usize;
                let in_one = lake(k) != 0 && lake(k) == lake(to);
                // A river that continues next to its lake is below the lake's level, and a fill lets the water out
                // there.
                let leaves = lake(k) != 0 && lake(to) == 0 && z[to] - z[k] < METRE;
                assert!(
                    z[to] <= z[k] || z[to] <= sea || in_one || leaves,
                    "{name}: {i}, {j} is {} under its receiver, lakes {} {}",
                    z[to] - z[k],
                    lake(k),
                    lake(to)
                );
                assert!(area[to] >= area[k] || z[to] <= sea, "{name}: {i}, {j} has more than its receiver");
            }
            None => {
                let is_rim = i == 0 || j == 0 || i + 1 == rows as i64 || j + 1 == cols as i64;
                assert!(is_rim || z[k] <= sea, "{name}: {i}, {j} drains nowhere");
            }
        }
    }
    assert!(range[1] - range[0] > 65_536, "{name}: no relief");
}

/// Each preset, on two local levels; the report lists the local form of each stage.
#[test]
fn every_preset_has_local_levels_that_drain_or_says_why_not() {
    use thalweg_sim::recipe::When;
    for preset in presets::PRESETS {
        let (name, mut recipe) = (preset.name, preset.recipe().unwrap());
        let Some(extent) = recipe.extent() else {
            let text = recipe.to_toml().replacen("\nseed", "\nbeyond = \"local\"\nseed", 1);
            let error = Recipe::parse(&text).map(drop).unwrap_err().to_string();
            assert!(error.contains("the grid is the file's"), "{name}: {error}");
            continue;
        };
        let (least, cells) = long::or((64, 256), (128, 512));
        // If stages specify widths, the map is a part of the preset's, because on fewer cells none of its levels would
        // be fine enough.
        let widths = |when: When| if let When::Widths([finest, _]) = when { finest } else { 0.0 };
        let finest = recipe.stages.iter().filter(|stage| !stage.muted).map(|stage| widths(stage.when));
        if finest.clone().any(|finest| finest > 0.1) {
            let width = finest.filter(|finest| *finest > 0.1).fold(f64::MAX, f64::min);
            let side = width * least as f64 * 1.1;
            recipe.set_extent(<[f64; 2]>::from(extent).map(|of| side * of / extent.longer_side())).unwrap();
        }
        recipe.cells = cells;
        let beyond = RefinementMethod::Local { from: LocalFrom::Cells(least) };
        recipe.set_levels(Levels { coarsest: Coarsest::None, beyond }).unwrap();
        let begun = std::time::Instant::now();
        if recipe.edges.contains(&thalweg_core::terrain::grid::Edge::Looped) {
            let error = Run::check(&recipe).unwrap_err().to_string();
            assert!(error.contains("looped are not supported by local levels"), "{name}: {error}");
            continue;
        }
        // A stage of whole reach that begins on a local level is refused, with a setting that would work.
        let side = recipe.extent().map_or(0.0, |extent| extent.longer_side());
        let local = side / cells as f64..side / least as f64;
        if recipe.stages.iter().any(|stage| matches!(stage.when, When::Widths([_, widest]) if local.contains(&widest)))
        {
            let error = Run::check(&recipe).unwrap_err().to_string();
            assert!(error.contains("set local_from = "), "{name}: {error}");
            continue;
        }
        let mut run = Run::new(recipe.clone()).unwrap_or_else(|error| panic!("{name}: {error}"));
        while run.take_step().unwrap_or_else(|error| panic!("{name}: {error}")).is_some() {}
        assert_eq!(recipe.local_levels().unwrap(), 2, "{name}");
        assert_drains(name, run.terrain());
        // Sand is continued, and where there is no runoff there are no lakes.
        let is_dry = recipe.combine_local_forms(30.0).runoff == 0.0;
        assert!(!is_dry || !run.terrain().layers.contains_key("lake") && run.terrain().loose.is_some(), "{name}");
        let report = run.report();
        let forms = report["local_forms"].as_array().unwrap();
        assert_eq!(forms.len(), recipe.stages.len(), "{name}");
        assert!(forms.iter().any(|form| form["form"].is_string()), "{name}: {forms:?}");
        for (form, (label, said)) in forms.iter().zip(recipe.local_forms()) {
            assert_eq!((form["label"].as_str(), form["form"].as_str()), (Some(label), said), "{name}");
        }
        println!("{name}: {:.1} s", begun.elapsed().as_secs_f64());
    }
    assert!(build_report(&recipe(64, "local_from = 64")).get("local_forms").is_none(), "no level is local");
}

fn build_report(recipe: &Recipe) -> serde_json::Value {
    Run::new(recipe.clone()).unwrap().report()
}
