//! Tests that a model run by tiles gives what it gives over the whole terrain in memory, to the bit: in any order,
//! after an interruption, and after repair.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::support::finish_work;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::declare::params::parse_value;
use thalweg_core::terrain::{CellType, Cells, Mass, SEDIMENT};
use thalweg_core::{CellRect, Field, Grid, Height, Terrain};
use thalweg_io::{LoadOptions, SampleType, Samples, SaveOptions, load_terrain, save_layer_as, save_terrain};
use thalweg_models::model::{Family, Model, StepReach, set_parameters};
use thalweg_models::models;
use thalweg_render::products::resample::crop_terrain;
use thalweg_sim::knobs::Knobs;
use thalweg_sim::recipe::{LayerOrigin, LayerSource, Recipe};
use thalweg_sim::run::Run;
use thalweg_store::{
    Access, ApplyJob, Harm, Job, Outcome, Plan, PlannedWork, Store, Task, VerifyLevel, WindowedMap as _, WorkerPool,
};

const REAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../thalweg-sim/presets/jacksboro.tif");

/// Builds rough hills with cells without data across the borders of tiles.
fn hills(size: [usize; 2]) -> Terrain {
    let key = RandomKey::new(11, "apply");
    let height = |i: usize, j: usize| {
        let waves = 60.0 * ((i as f64 / 9.0).sin() + (j as f64 / 8.5 + i as f64 / 9.0).cos()) + 2.0 * j as f64;
        Height::from_metres_clamped(waves + 60.0 * key.for_cell([i as i64, j as i64]).uniform_signed())
    };
    let ground = Field::from_fn(size, height);
    let hole = |i: usize, j: usize| (i as f64 - 62.0).hypot(j as f64 - 60.0) < 7.0 || (i < 3 && j > 100);
    Terrain {
        nodata: Some(Field::from_fn(size, hole)),
        ..Terrain::from_ground(Grid::new(size, 30.0).unwrap(), ground).unwrap()
    }
}

/// Returns a section of a real elevation model with a lake cut out.
fn real(size: [usize; 2]) -> Terrain {
    let whole = load_terrain(REAL, &LoadOptions::default()).unwrap().terrain;
    let mut land = crop_terrain(&whole, CellRect::new([40, 60], size)).unwrap();
    land.nodata = Some(Field::from_fn(size, |i, j| (90..103).contains(&i) && (80..110).contains(&j)));
    land
}

fn written(folder: &Path, name: &str, terrain: &Terrain) -> PathBuf {
    let path = folder.join(name);
    let options = SaveOptions { sample: Some(SampleType::F64), nodata: Some(-9999.0), ..SaveOptions::default() };
    save_terrain(&path, terrain, &options).unwrap();
    path
}

/// Returns a recipe of one model with a short duration, with a file for each layer that the model can read.
fn recipe(model: &dyn Model, folder: &Path, terrain: &Terrain) -> Recipe {
    let mut recipe = Recipe::with_single_stage(model.clone_box(), 5);
    for _ in 0..2 {
        Knobs { age: 0.1, ..Knobs::default() }.apply_to(&mut recipe).unwrap();
    }
    let size = terrain.grid.size;
    let full = Terrain { nodata: None, ..terrain.clone() };
    for spec in model.about().needs.iter().chain(model.about().uses) {
        let key = RandomKey::new(3, spec.name);
        let unit = |i: usize, j: usize| key.for_cell([i as i64, j as i64]).uniform_unit();
        let floats = |most: f64| Cells::Float(Field::from_fn(size, |i, j| (most * unit(i, j)) as f32));
        let cells = match spec.cells {
            CellType::Height => {
                Cells::Height(Field::from_fn(size, |i, j| Height::from_metres_clamped(3.0 * unit(i, j))))
            }
            CellType::Float if spec.traits.mass == Mass::Water => floats(3.0),
            CellType::Float if spec.unit == "m" => floats(500.0),
            CellType::Float => floats(1.0),
            CellType::Count => Cells::Count(Field::from_fn(size, |i, j| (6.0 * unit(i, j)) as u32)),
        };
        let path = folder.join(format!("{}.tif", spec.name));
        save_layer_as(&path, &full, spec.name, &cells, Some(SampleType::F64)).unwrap();
        recipe.stages[0]
            .layers
            .insert(spec.name.to_string(), LayerSource { from: LayerOrigin::File(path), scale: None });
    }
    recipe
}

/// Returns the result of a run over the whole file in the store's form, by layer name.
fn expected(recipe: &Recipe, source: &Path) -> BTreeMap<String, Samples> {
    let mut run = Run::from_elevation_file(recipe.clone(), source, &LoadOptions::default()).unwrap();
    while run.take_step().unwrap().is_some() {}
    let terrain = run.into_terrain();
    let void = |k: usize| terrain.nodata.as_ref().is_some_and(|mask| mask.as_slice()[k]);
    let masked = |field: &Field<Height>| {
        let cells = field.as_slice().iter().enumerate();
        Samples::I32(cells.map(|(k, height)| if void(k) { i32::MIN } else { height.0 }).collect())
    };
    let mut all = BTreeMap::from([("height".to_string(), masked(&terrain.ground))]);
    all.extend(terrain.loose.iter().map(|loose| (SEDIMENT.name.to_string(), masked(loose))));
    for (name, layer) in &terrain.layers {
        let samples = match &layer.cells {
            Cells::Height(field) => masked(field),
            Cells::Float(field) => Samples::F32(
                field.as_slice().iter().enumerate().map(|(k, x)| if void(k) { f32::NAN } else { *x }).collect(),
            ),
            Cells::Count(field) => Samples::U32(
                field.as_slice().iter().enumerate().map(|(k, n)| if void(k) { u32::MAX } else { *n }).collect(),
            ),
        };
        all.insert(name.clone(), samples);
    }
    all
}

fn bits(samples: &Samples) -> Vec<u8> {
    samples.to_bytes()
}

#[track_caller]
fn same(store: &Store, expected: &BTreeMap<String, Samples>, what: &str) {
    let names: Vec<&str> = store.spec().layers.iter().map(|layer| layer.name.as_str()).collect();
    let mut known: Vec<&str> = expected.keys().map(String::as_str).collect();
    known.sort_by_key(|name| names.iter().position(|other| other == name));
    assert_eq!(names, known, "{what}");
    for (name, samples) in expected {
        let all = CellRect::new([0, 0], store.spec().size);
        let found = store.layer(name).unwrap().read_window(all).unwrap();
        assert!(bits(&found) == bits(samples), "{name} of {what}");
    }
}

/// Returns the number of folders of intermediate data that stages left below the store's work folder.
fn left_over(store: &Path) -> usize {
    let work = store.with_extension("work");
    let plans = std::fs::read_dir(work).unwrap().flatten();
    let stages = plans.flat_map(|plan| std::fs::read_dir(plan.path()).unwrap().flatten());
    stages
        .flat_map(|stage| std::fs::read_dir(stage.path()).unwrap().flatten())
        .filter(|entry| entry.path().is_dir())
        .count()
}

/// Returns true if the model can run by tiles.
fn is_finite(model: &dyn Model) -> bool {
    model.reach(&Grid::new([100, 140], 30.0).unwrap()) != StepReach::Whole
}

#[test]
fn every_model_of_finite_reach_gives_by_tiles_what_it_gives_over_the_whole() {
    let mut tried = 0;
    for model in models::all_models().filter(|model| is_finite(&**model)) {
        let name = model.about().name;
        // A base model reads no neighbours, so one land is enough.
        let lands = if model.about().family == Family::Base { 1 } else { 2 };
        for (land, side) in [(hills([70, 138]), 64), (real([110, 125]), 97)].into_iter().take(lands) {
            let folder = tempfile::tempdir().unwrap();
            let source = written(folder.path(), "land.tif", &land);
            let recipe = recipe(&*model, folder.path(), &land);
            let expected = expected(&recipe, &source);
            let mut job = ApplyJob::from_recipe(&recipe, &source, LoadOptions::default()).unwrap();
            let steps = recipe.stages[0].model.steps(&land.grid);
            // The steps are divided into three stages.
            job.steps_at_once = Some(steps.div_ceil(3).max(1));
            let store = folder.path().join("out.zarr");
            let work =
                PlannedWork::open(Plan::from_job(Job::Apply(job), &store, side).unwrap(), Access::Alone).unwrap();
            finish_work(&work);
            same(work.store(), &expected, &format!("{name}, {steps} steps, tiles of {side}"));
            assert_eq!(left_over(&store), 0, "{name} leaves what its stages handed on");
            tried += 1;
        }
    }
    assert!(tried > 10, "{tried}");
}

/// Returns a recipe of a configured model that has sediment and a reach of two cells a step.
fn slides(folder: &Path, steps: u32, land: &Terrain) -> Recipe {
    let mut model = models::all_models()
        .find(|model| is_finite(&**model) && !model.about().placed && model.about().writes == [SEDIMENT])
        .unwrap();
    let steps = parse_value(&steps.to_string());
    let knows = |param: &&thalweg_core::declare::params::Param| param.name == "steps";
    let name = model.declared().iter().find(knows).unwrap().name;
    set_parameters(&mut *model, [(name, &steps)]).unwrap();
    Recipe {
        stages: vec![thalweg_sim::recipe::Stage::new("slides", model)],
        ..recipe(&*models::all_models().next().unwrap(), folder, land)
    }
}

#[test]
fn how_many_steps_a_stage_takes_does_not_show() {
    let land = hills([150, 170]);
    let folder = tempfile::tempdir().unwrap();
    let source = written(folder.path(), "land.tif", &land);
    let recipe = slides(folder.path(), 12, &land);
    let expected = expected(&recipe, &source);
    let loose = &expected[SEDIMENT.name];
    assert!(
        (0..loose.len()).filter(|k| loose.get(*k) > 65_536.0).count() > 5000,
        "a metre of rock has slid in most cells"
    );
    for (at_once, stages) in [(Some(1), 12), (Some(5), 3), (None, 1)] {
        let mut job = ApplyJob::from_recipe(&recipe, &source, LoadOptions::default()).unwrap();
        job.steps_at_once = at_once;
        let store = folder.path().join(format!("out_{stages}.zarr"));
        let plan = Plan::from_job(Job::Apply(job), &store, 64).unwrap();
        assert_eq!(plan.stages.len(), 2 + stages, "{at_once:?}");
        let work = PlannedWork::open(plan, Access::Alone).unwrap();
        finish_work(&work);
        same(work.store(), &expected, &format!("{at_once:?} steps at once"));
        let balance = &work.collect_report().unwrap()["mass_balance"];
        assert_eq!(balance["solid_change"], "0", "slides carry nothing out: {balance}");
        assert_ne!(balance["solid_before"], "0");
    }
}

/// Returns a pseudo-random number that depends on round, stage and tile.
fn hashed(round: u64, stage: usize, tile: usize) -> u64 {
    RandomKey::new(round, "order").derive_key(stage as u64).derive_key(tile as u64).random_bits()
}

/// Parts run in a hashed order, each opened separately, with the process ended in the middle; data passed between
/// stages are deleted as soon as they are no longer needed.
#[test]
fn verbs_in_any_order_give_the_same_and_keep_what_is_needed_alone() {
    let land = real([110, 125]);
    let mut tried = 0;
    for model in models::all_models().filter(|model| is_finite(&**model) && !model.about().tables.is_empty()) {
        let folder = tempfile::tempdir().unwrap();
        let source = written(folder.path(), "land.tif", &land);
        let recipe = recipe(&*model, folder.path(), &land);
        // Two models with data that pass from stage to stage are enough.
        if tried == 2 || recipe.stages[0].model.steps(&land.grid) < 3 {
            continue;
        }
        tried += 1;
        let mut job = ApplyJob::from_recipe(&recipe, &source, LoadOptions::default()).unwrap();
        job.steps_at_once = Some(recipe.stages[0].model.steps(&land.grid).div_ceil(3).max(1));
        let (place, store) = (folder.path().join("plan.json"), folder.path().join("out.zarr"));
        Plan::from_job(Job::Apply(job), &store, 64).unwrap().write(&place).unwrap();
        let plan = Plan::read(&place).unwrap();
        let (tiles, stages) = (plan.tiles, plan.stages.len());
        let mut left: Vec<Task> = (0..stages)
            .flat_map(|stage| (0..tiles).map(move |tile| Task::Tile { stage, tile }).chain([Task::Solve { stage }]))
            .collect();
        let mut most = 0;
        for round in 0.. {
            assert!(round < 100, "it never ends");
            left.sort_by_key(|task| match task {
                Task::Tile { stage, tile } => hashed(round, *stage, *tile),
                Task::Solve { stage } => hashed(round, *stage, 999),
            });
            let work = PlannedWork::open(Plan::read(&place).unwrap(), Access::Shared).unwrap();
            let other = PlannedWork::open(Plan::read(&place).unwrap(), Access::Shared).unwrap();
            left.retain(|task| {
                let done = work.execute_task(*task).unwrap() == Outcome::Done;
                if done {
                    assert_eq!(other.execute_task(*task).unwrap(), Outcome::Done);
                }
                !done
            });
            most = most.max(left_over(&store));
            if left.is_empty() {
                same(work.store(), &expected(&recipe, &source), model.about().name);
                break;
            }
        }
        assert!((1..=2).contains(&most), "{most} stages' layers at once");
        assert_eq!(left_over(&store), 0);
    }
    assert_eq!(tried, 2);
}

#[test]
fn what_was_ended_goes_on_and_what_was_spoiled_is_made_anew_though_its_making_is_gone() {
    let land = hills([150, 170]);
    for tables in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let source = written(folder.path(), "land.tif", &land);
        let with_things =
            models::all_models().filter(|model| tables && is_finite(&**model) && !model.about().tables.is_empty());
        let mut of_things = with_things.map(|model| recipe(&*model, folder.path(), &land));
        let recipe = of_things.find(|recipe| recipe.stages[0].model.steps(&land.grid) > 2);
        let recipe = recipe.unwrap_or_else(|| slides(folder.path(), 9, &land));
        let store = folder.path().join("out.zarr");
        let plan = || {
            let mut job = ApplyJob::from_recipe(&recipe, &source, LoadOptions::default()).unwrap();
            job.steps_at_once = Some(recipe.stages[0].model.steps(&land.grid).div_ceil(3).max(1));
            Plan::from_job(Job::Apply(job), &store, 64).unwrap()
        };
        {
            let work = PlannedWork::open(plan(), Access::Alone).unwrap();
            let mut pool = WorkerPool::new(&work, 2).unwrap();
            for _ in 0..12 {
                pool.run_next_tasks().unwrap();
            }
            assert!(!work.is_done() && left_over(&store) > 0, "{:?} of {:?}", work.progress(), work.current_stage());
        }
        let work = PlannedWork::open(plan(), Access::Alone).unwrap();
        assert!(work.progress()[0] > 20);
        finish_work(&work);
        let expected = expected(&recipe, &source);
        same(work.store(), &expected, "taken up again");
        let shard = |tile: usize| work.store().shard_path("height", tile).unwrap();
        let (kept, stamp) =
            (std::fs::read(shard(4)).unwrap(), std::fs::metadata(shard(1)).unwrap().modified().unwrap());
        std::fs::remove_file(shard(4)).unwrap();
        let faults = work.verify_tiles(VerifyLevel::Bytes).unwrap();
        assert_eq!(faults.iter().map(|fault| (fault.tile, fault.harm)).collect::<Vec<_>>(), [(4, Harm::Missing)]);
        work.repair_tiles(&faults).unwrap();
        assert_eq!(work.verify_tiles(VerifyLevel::Samples).unwrap(), []);
        assert!(std::fs::read(shard(4)).unwrap() == kept);
        assert_eq!(std::fs::metadata(shard(1)).unwrap().modified().unwrap(), stamp);
        assert_eq!(left_over(&store), 0, "what was made for the mending goes again");
    }
}

/// Returns the error for a job that must be refused; no store may be created.
fn refused(recipe: &Recipe, source: &Path, store: &Path) -> String {
    let there = store.exists();
    let plan = ApplyJob::from_recipe(recipe, source, LoadOptions::default())
        .and_then(|job| Plan::from_job(Job::Apply(job), store, 64));
    let error = plan.expect_err("it is refused").to_string();
    assert_eq!(store.exists(), there, "{error}");
    error
}

#[test]
fn what_cannot_be_done_by_tiles_is_refused_with_the_reason_before_anything_is_made() {
    let land = hills([70, 138]);
    let folder = tempfile::tempdir().unwrap();
    let source = written(folder.path(), "land.tif", &land);
    let store = folder.path().join("out.zarr");
    let whole = models::all_models()
        .find(|model| model.reach(&land.grid) == StepReach::Whole && model.about().needs.is_empty())
        .unwrap();
    let said = refused(&Recipe::with_single_stage(whole, 1), &source, &store);
    assert!(said.contains("a model that can run by tiles (") && said.contains("needs the whole map"), "{said}");
    let recipe = slides(folder.path(), 6, &land);
    let looped = thalweg_core::terrain::grid::Edge::Looped;
    let said = refused(&Recipe { edges: [looped; 4], ..recipe.clone() }, &source, &store);
    assert!(said.contains("looped are not supported by tiles"), "{said}");
    let needy = models::all_models().find(|model| is_finite(&**model) && !model.about().needs.is_empty()).unwrap();
    let said = refused(&Recipe::with_single_stage(needy, 1), &source, &store);
    assert!(said.contains("is missing: the model `"), "{said}");
    let said = refused(&recipe, &folder.path().join("no.tif"), &store);
    assert!(said.contains("no.tif"), "{said}");
    let said = refused(&recipe, &source, &source);
    assert!(said.contains("is also an input"), "{said}");

    // A source that changed after planning, and a store as the source of another.
    let work = PlannedWork::open(
        Plan::from_job(
            Job::Apply(ApplyJob::from_recipe(&recipe, &source, LoadOptions::default()).unwrap()),
            &store,
            64,
        )
        .unwrap(),
        Access::Alone,
    )
    .unwrap();
    finish_work(&work);
    let said = refused(&recipe, &store, &store);
    assert!(said.contains("is also an input"), "{said}");
    let said = refused(&recipe, &store.join("height"), &store);
    assert!(said.contains("is also an input"), "{said}");
    let said = refused(&recipe, &store, &store.join("below.zarr"));
    assert!(said.contains("is inside"), "{said}");
    let plan = work.plan().clone();
    drop(work);
    let mut bytes = std::fs::read(&source).unwrap();
    bytes.push(0);
    std::fs::write(&source, bytes).unwrap();
    let said = PlannedWork::open(plan, Access::Alone).err().unwrap().to_string();
    assert!(said.contains("since the work was planned"), "{said}");
}

#[test]
fn a_store_is_a_source_as_its_file_is() {
    let land = hills([150, 170]);
    let folder = tempfile::tempdir().unwrap();
    let source = written(folder.path(), "land.tif", &land);
    let recipe = slides(folder.path(), 4, &land);
    let done = |source: &Path, name: &str| {
        let store = folder.path().join(name);
        let plan = Plan::from_job(
            Job::Apply(ApplyJob::from_recipe(&recipe, source, LoadOptions::default()).unwrap()),
            &store,
            64,
        )
        .unwrap();
        let work = PlannedWork::open(plan, Access::Alone).unwrap();
        finish_work(&work);
        store
    };
    let once = done(&source, "once.zarr");
    let middle = folder.path().join("middle.tif");
    let mut run = Run::from_elevation_file(recipe.clone(), &source, &LoadOptions::default()).unwrap();
    while run.take_step().unwrap().is_some() {}
    save_terrain(&middle, run.terrain(), &SaveOptions { sample: Some(SampleType::F64), ..SaveOptions::default() })
        .unwrap();
    let (by_file, by_store) = (done(&middle, "by_file.zarr"), done(&once, "by_store.zarr"));
    let whole = |store: &Path| {
        let store = Store::open_read(store).unwrap();
        store.layer("height").unwrap().read_window(CellRect::new([0, 0], store.spec().size)).unwrap()
    };
    assert!(whole(&by_file) == whole(&by_store));
    assert!(whole(&by_file) != whole(&once));
}
