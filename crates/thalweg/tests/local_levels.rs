//! Local levels in builds: `beyond = "local"` in a recipe.

mod long;

use thalweg::local::{LocalWindow, Rules};
use thalweg::model::{Budget, Local};
use thalweg::terrain::Cells;
use thalweg::{Recipe, Run, Terrain, World, presets};

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
    let mut run = Run::new(recipe.clone()).unwrap();
    while run.step().unwrap().is_some() {}
    run.into_terrain()
}

fn layers(terrain: &Terrain) -> (Vec<u32>, Vec<f32>) {
    let (Cells::Count(rec), Cells::Float(area)) = (&terrain.layers["rec"].cells, &terrain.layers["area"].cells) else {
        panic!("layers of other types");
    };
    (rec.as_slice().to_vec(), area.as_slice().to_vec())
}

fn solid(terrain: &Terrain) -> i128 {
    terrain.solid()
}

/// The build by rows of tiles is what the world's tiles are, and each step's ledger is what it did.
#[test]
fn a_build_is_the_world_s_own_level_and_its_ledger_closes() {
    let recipe = recipe(256, "local_from = 64");
    let world = World::open(&recipe).unwrap();
    assert_eq!(world.frame().cells, [32, 64]);
    let expected: LocalWindow = world.window(2, world.frame().world(2)).unwrap();
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut run = Run::new(recipe.clone()).unwrap();
        pool.install(|| {
            let (mut before, mut cells) = (solid(run.terrain()), run.terrain().grid.len());
            let mut sum = Budget::default();
            while let Some(progress) = run.step().unwrap() {
                sum += progress.budget;
                if progress.step == progress.steps {
                    let now = run.terrain();
                    let finer = (now.grid.len() / cells) as i128;
                    assert_eq!(solid(now), finer * before + sum.solid_change(), "{progress:?}");
                    if progress.label == "local level" {
                        assert!(sum.eroded > 0 && sum.exported == sum.eroded - sum.deposited, "{sum:?}");
                    }
                    (before, cells, sum) = (solid(now), now.grid.len(), Budget::default());
                }
            }
        });
        let terrain = run.terrain();
        assert_eq!(terrain.ground, expected.ground);
        let (rec, area) = layers(terrain);
        assert!(rec.iter().zip(expected.receivers.as_slice()).all(|(a, b)| *a == u32::from(*b)));
        assert_eq!(area, expected.area.as_slice());
        if let Some(lakes) = &expected.lakes {
            assert!(terrain.layers["lake"].cells == Cells::Count(lakes.id.clone()));
        }
        // What reads the ground has read the last one.
        assert_eq!(terrain.layers["accumulation"].cells.size(), [128, 256]);
        let report = run.report();
        let labels: Vec<&str> =
            report["stages"].as_array().unwrap().iter().map(|s| s["model"].as_str().unwrap()).collect();
        assert_eq!(labels.iter().filter(|label| **label == "local").count(), 2, "{labels:?}");
        assert_eq!(labels.last(), Some(&"drainage"));
    }
}

/// A smaller build is the first part of a larger one, with local levels, too; and the global level is what it was.
#[test]
fn a_smaller_build_is_the_first_part() {
    let whole = recipe(256, "local_from = 64");
    let world = World::open(&whole).unwrap();
    let first = build(&recipe(128, "local_from = 64"));
    assert_eq!(first.ground, world.window(1, world.frame().world(1)).unwrap().ground);
    let global = build(&recipe(64, "local_from = 64"));
    let plain = text(64, "").replace("beyond = \"local\"\n", "");
    assert_eq!(global.ground, build(&Recipe::parse(&plain).unwrap()).ground);
    assert!(!global.layers.contains_key("rec"));
    // The same level, named by the width of its cells, or chosen.
    assert_eq!(build(&recipe(128, "local_from = \"100 m\"")).ground, first.ground);
    let chosen = recipe(1024, "");
    assert_eq!((chosen.local_levels().unwrap(), chosen.global().unwrap().cells), (1, 512));
    assert_eq!(recipe(512, "").local_levels().unwrap(), 0);
}

/// Stopped between two rows of a level, saved, and taken up again.
#[test]
fn a_build_that_is_stopped_within_a_level_goes_on_to_the_same_bits() {
    let mut recipe = recipe(1152, "local_from = 72");
    (recipe.extent, recipe.coarsest) = (Some([3000.0, 3000.0]), thalweg::recipe::Coarsest::None);
    let mut run = Run::new(recipe.clone()).unwrap();
    let last = run.turns().len() - 2;
    assert_eq!(run.steps_of(run.turns()[last]), 3, "1 152 rows are three rows of tiles");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.state");
    let mut marks = vec![];
    while let Some(progress) = run.step().unwrap() {
        if progress.turn == last && progress.step == 2 {
            run.save(&file, &serde_json::Value::Null).unwrap();
            marks.push(run.mark());
        }
    }
    let (mut again, _) = Run::resume(&file).unwrap();
    assert_eq!(again.position(), (last, 2));
    while again.step().unwrap().is_some() {}
    assert_eq!(again.terrain().fingerprints(), run.terrain().fingerprints());
    let budgets = |run: &Run| run.reports().iter().map(|report| report.budget).collect::<Vec<_>>();
    assert_eq!(budgets(&again), budgets(&run));
    // A mark agrees with its recipe, and not with one under which local levels are others.
    assert!(marks[0].agrees(&recipe));
    let mut other = recipe.clone();
    other.stages[1].model.set("stream_power", "slope_limit", &20.0.into()).unwrap();
    assert!(!marks[0].agrees(&other));
    let mut from_mark = Run::from_mark(recipe, &marks[0]).unwrap();
    while from_mark.step().unwrap().is_some() {}
    assert_eq!(from_mark.terrain().ground, run.terrain().ground);
}

#[test]
fn keys_are_read_written_and_refused() {
    for from in ["", "local_from = 64", "local_from = \"50 m\"", "local_from = \"auto\"", "local_from = \"12.5m\""] {
        let recipe = recipe(256, from);
        let again = Recipe::parse(&recipe.to_toml()).unwrap();
        assert_eq!((again.beyond, again.local_from, again.hash()), (recipe.beyond, recipe.local_from, recipe.hash()));
    }
    let plain = presets::find("alpine").unwrap();
    assert!(!plain.to_toml().contains("beyond =") && !plain.to_toml().contains("local_from"));
    let refused = |cells: usize, more: &str| {
        Recipe::parse(&text(cells, more)).and_then(|recipe| Run::new(recipe).map(drop)).unwrap_err().to_string()
    };
    let zero = refused(256, "local_from = 0");
    assert!(zero.contains("1 to 1048576") && zero.contains("or the width of one, as \"30 m\""), "{zero}");
    assert!(refused(256, "local_from = \"wide\"").contains("\"30 m\""));
    assert!(refused(256, "local_from = \"-3 m\"").contains("\"30 m\""));
    let doubled = refused(256, "local_from = 60");
    assert!(doubled.contains("cells = 256") && doubled.contains("240 or 480"), "{doubled}");
    let odd = refused(1000, "local_from = 64");
    assert!(odd.starts_with("cells = 1000: allowed is a multiple of 16"), "{odd}");
    let of = |text: &str| Recipe::parse(text).map(drop).unwrap_err().to_string();
    assert!(of("extent = [1e4, 1e4]\nlocal_from = 64\n").contains("goes with `beyond"));
    assert!(of("from = \"a.tif\"\nbeyond = \"local\"\n").contains("the grid is the file's"));
    assert!(of("extent = [1e4, 1e4]\nbeyond = \"far\"\n").contains("\"global\" or \"local\""));
    // A stage that reaches over the whole and asks for finer levels.
    let finer = text(256, "local_from = 64").replace("levels = \"last\"", "levels = { finest = 30.0 }");
    let error = Recipe::parse(&finer).and_then(|recipe| Run::new(recipe).map(drop)).unwrap_err().to_string();
    assert!(error.starts_with("outlets.levels = cells of 50 m: allowed is cells of 100 m and wider"), "{error}");
    assert!(error.contains("reaches over the whole terrain"));
    let reads = text(256, "local_from = 64")
        .replace("runoff = 0.7", "runoff = 0.7\nlevels = { finest = 20.0, coarsest = 30.0 }");
    assert!(Recipe::parse(&reads).and_then(Run::new).is_ok(), "what reads may read any level");
}

/// What a recipe's stages say of local levels.
#[test]
fn rules_come_of_the_stages() {
    let alpine = presets::find("alpine").unwrap();
    let local = alpine.local(30.0);
    assert_eq!(local.runoff, 0.8);
    assert!((local.rules.exponent - 0.4).abs() < 1e-6 && (local.rules.roughness - 0.18).abs() < 1e-6);
    let mut gentle = alpine.clone();
    gentle.stages[1].model.set("stream_power", "slope_limit", &15.0.into()).unwrap();
    assert!(gentle.local(30.0).rules.limit < 0.5 * local.rules.limit);
    gentle.stages[1].muted = true;
    assert_eq!(gentle.local(30.0).rules.limit, Rules::default().limit);
    // Operators of a stage's own join unless it is muted.
    let mut drowned = presets::find("archipelago").unwrap();
    let waves = drowned.stage_of("waves").unwrap();
    assert!(!drowned.local(30.0).rules.joins.is_empty());
    drowned.stages[waves].muted = true;
    assert!(drowned.local(30.0).rules.joins.is_empty());
    for recipe in presets::PRESETS.iter().map(|preset| preset.recipe().unwrap()) {
        let local: Local = recipe.local(30.0);
        local.rules.check().unwrap_or_else(|error| panic!("{}: {error}", recipe.name));
        assert!(recipe.local_forms().iter().any(|(_, form)| form.is_some()), "{} has no local form", recipe.name);
    }
    // Every model's local form holds over the whole range of its parameters.
    for mut model in thalweg::models::all() {
        let owner = model.about().name;
        for param in model.declared() {
            let thalweg::declare::params::ParamKind::Number { min, max } = param.kind else { continue };
            let before = model.get(param.name).unwrap();
            for value in [min, max, 0.5 * (min + max)] {
                model.set(owner, param.name, &value.into()).unwrap();
                let mut local = Local::new(30.0);
                model.local(&mut local);
                local.rules.check().unwrap_or_else(|error| panic!("{owner}.{} = {value}: {error}", param.name));
            }
            model.set(owner, param.name, &before.into()).unwrap();
        }
    }
}

/// Land without pits: from every cell the way goes down to the rim, on the written heights alone.
#[test]
fn a_local_build_drains() {
    let mut recipe = presets::find("hills").unwrap();
    (recipe.cells, recipe.beyond) = (long::or(256, 1024), thalweg::recipe::Beyond::Local);
    recipe.local_from = thalweg::recipe::LocalFrom::Cells(64);
    let terrain = build(&recipe);
    let (rec, area) = layers(&terrain);
    let [rows, cols] = terrain.grid.size;
    // Of a lake its level counts.
    let pool = terrain.layers.get("pool").map(|layer| &layer.cells);
    let deep = |k: usize| if let Some(Cells::Height(pool)) = pool { pool.as_slice()[k].0 } else { 0 };
    let z: Vec<i32> = (0..terrain.ground.len()).map(|k| terrain.ground.as_slice()[k].0 + deep(k)).collect();
    let steps: [[i64; 2]; 8] = [[0, 1], [1, 1], [1, 0], [1, -1], [0, -1], [-1, -1], [-1, 0], [-1, 1]];
    for k in 0..z.len() {
        let (i, j) = ((k / cols) as i64, (k % cols) as i64);
        match steps.get(rec[k] as usize) {
            Some([di, dj]) => {
                let to = ((i + di) * cols as i64 + j + dj) as usize;
                assert!(z[to] <= z[k] && area[to] >= area[k], "{i}, {j}");
            }
            None => {
                assert!(i == 0 || j == 0 || i + 1 == rows as i64 || j + 1 == cols as i64, "{i}, {j} drains nowhere")
            }
        }
    }
}
