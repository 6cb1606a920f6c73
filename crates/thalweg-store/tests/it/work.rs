//! Tests that work in parts gives the same as a survey of the whole, to the bit: no matter who interrupts it, resumes
//! it, or damages its files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::support::{files, finish_work};
use serde_json::Value;
use thalweg_core::{Cell, CellRect, Field, Grid, Height, NoProgress, Terrain};
use thalweg_export::survey::{DrainOptions, Survey};
use thalweg_flow::streams;
use thalweg_io::features::save_lakes;
use thalweg_io::{LoadOptions, SampleType, Samples, SaveOptions, load_terrain, save_terrain};
use thalweg_render::products::lakes;
use thalweg_sim::presets;
use thalweg_sim::recipe::{Recipe, RefinementMethod};
use thalweg_sim::world::World;
use thalweg_store::{
    Access, ApplyJob, BuildJob, DrainJob, Harm, Job, Outcome, Plan, PlannedWork, Store, Task, VerifyLevel,
    WindowedMap as _, WorkerPool, sidecar_path,
};

/// A number from 0 to 1 that depends only on the cell and a seed; independent of the library.
fn noise(seed: u64, i: usize, j: usize) -> f64 {
    let mut x = seed ^ (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (j as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    x ^= x >> 29;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 32;
    x as f64 / u64::MAX as f64
}

/// Hills with ties and lakes over many tiles, a plain, and cells without data across tile borders.
fn land(seed: u64, [rows, cols]: [usize; 2]) -> Terrain {
    let wave = |x: f64, y: f64| (x / 37.0).sin() * (y / 29.0).cos() * 40.0 + (x / 11.0 + y / 17.0).sin() * 9.0;
    let ground = Field::from_fn([rows, cols], |i, j| {
        let rough = 3.0 * noise(seed, i, j);
        let metres = (200.0 + wave(i as f64, j as f64) + rough).round().max(185.0);
        Height::from_metres(metres).unwrap()
    });
    let hole = |i: usize, j: usize| (i as f64 - 97.0).hypot(j as f64 - 130.0) < 21.0 || (j > 250 && i < 9);
    let nodata = Field::from_fn([rows, cols], hole);
    Terrain { nodata: Some(nodata), ..Terrain::from_ground(Grid::new([rows, cols], 25.0).unwrap(), ground).unwrap() }
}

fn file(folder: &Path, terrain: &Terrain) -> PathBuf {
    let path = folder.join("land.tif");
    let options = SaveOptions { sample: Some(SampleType::F64), nodata: Some(-9999.0), ..SaveOptions::default() };
    save_terrain(&path, terrain, &options).unwrap();
    path
}

fn job(source: &Path) -> Job {
    let options = DrainOptions { threshold: Some(90_000.0), depressions: true, ..DrainOptions::default() };
    Job::Drain(DrainJob::new(source, LoadOptions::default(), options).unwrap())
}

fn whole(store: &Store, layer: &str) -> Samples {
    store.layer(layer).unwrap().read_window(CellRect::new([0, 0], store.spec().size)).unwrap()
}

/// The result for the whole file in memory, by the names of the store's layers.
fn expected(path: &Path) -> Vec<(&'static str, Samples)> {
    let terrain = load_terrain(path, &LoadOptions::default()).unwrap().terrain;
    let options = DrainOptions { threshold: Some(90_000.0), ..DrainOptions::default() };
    let survey = Survey::from_terrain(&terrain, &options, &mut NoProgress).unwrap();
    let void = |k: usize| terrain.nodata.as_ref().is_some_and(|mask| mask[k]);
    let heights = |field: &Field<Height>, none: i32| {
        let all = field.as_slice().iter().enumerate();
        Samples::I32(all.map(|(k, height)| if void(k) { none } else { height.0 }).collect())
    };
    let area = terrain.grid.cell_area();
    vec![
        ("height", heights(&terrain.ground, i32::MIN)),
        ("filled", heights(&survey.filled, i32::MIN)),
        ("flow_direction", Samples::U8(streams::to_esri_codes(&survey.directions).into_vec())),
        ("angle", Samples::F32(survey.angles.clone().into_vec())),
        ("drainage_area", Samples::F64(survey.cells.as_slice().iter().map(|n| f64::from(*n) * area).collect())),
        ("basin", Samples::U32(survey.basins.clone().into_vec())),
        ("order", Samples::U8(survey.orders.as_slice().iter().map(|order| *order as u8).collect())),
        ("depth", heights(&survey.lake_depth, 0)),
    ]
}

fn same(store: &Store, path: &Path) {
    for (layer, samples) in expected(path) {
        assert!(whole(store, layer) == samples, "{layer}");
    }
    let terrain = load_terrain(path, &LoadOptions::default()).unwrap().terrain;
    let options = DrainOptions { depressions: true, ..DrainOptions::default() };
    let survey = Survey::from_terrain(&terrain, &options, &mut NoProgress).unwrap();
    let (known, numbers) = lakes::outline_lakes(&terrain, &survey.lake_depth).unwrap();
    assert!(known.len() > 5);
    assert!(whole(store, "lake") == Samples::U32(numbers.into_vec()));
    assert_eq!(std::fs::read_to_string(sidecar_path(store.path(), "lakes.csv")).unwrap(), lakes::format_csv(&known));
    // The same file, written from all lakes at once.
    let folder = tempfile::tempdir().unwrap();
    let lines = sidecar_path(&folder.path().join(store.path().file_name().unwrap()), "lakes.geojson");
    save_lakes(&lines, &known, &terrain.grid).unwrap();
    assert!(std::fs::read(sidecar_path(store.path(), "lakes.geojson")).unwrap() == std::fs::read(lines).unwrap());
    survey.write_draft(folder.path(), &terrain, None).unwrap().commit(&[]).unwrap();
    let tree = std::fs::read(folder.path().join("depressions.csv")).unwrap();
    assert!(tree.iter().filter(|byte| **byte == b'\n').count() > known.len());
    assert!(std::fs::read(sidecar_path(store.path(), "depressions.csv")).unwrap() == tree);
}

#[test]
fn a_store_holds_what_a_survey_of_the_whole_gives() {
    for (seed, size, side) in [(1, [211, 307], 64), (2, [300, 290], 97), (3, [130, 411], 256)] {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), &land(seed, size));
        let plan = Plan::from_job(job(&path), &folder.path().join("land.zarr"), side).unwrap();
        let work = PlannedWork::open(plan, Access::Alone).unwrap();
        finish_work(&work);
        same(work.store(), &path);
        let report = work.collect_report().unwrap();
        assert_eq!(report["cells"], size[0] * size[1]);
        assert!(folder.path().join("land.streams.fgb").is_file());
        assert!(report["streams"]["reaches"].as_u64().unwrap() > 10);
    }
}

/// Parts in a hashed order, each by a process of its own, as a cluster's queue runs them; and each of them twice.
#[test]
fn verbs_in_any_order_give_the_same_and_wait_for_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &land(7, [150, 170]));
    let place = folder.path().join("plan.json");
    Plan::from_job(job(&path), &folder.path().join("land.zarr"), 64).unwrap().write(&place).unwrap();
    let plan = Plan::read(&place).unwrap();
    let (tiles, stages) = (plan.tiles, plan.stages.len());
    let mut left: Vec<Task> =
        (0..stages).flat_map(|stage| (0..tiles).map(move |tile| Task::Tile { stage, tile })).collect();
    left.extend((0..stages).map(|stage| Task::Solve { stage }));
    let mut waited = 0;
    for round in 0.. {
        assert!(round < 100, "it never ends");
        left.sort_by_key(|task| {
            let (stage, tile) = match task {
                Task::Tile { stage, tile } => (*stage, *tile),
                Task::Solve { stage } => (*stage, 999),
            };
            (noise(round, stage, tile) * 1e9) as u64
        });
        let work = PlannedWork::open(Plan::read(&place).unwrap(), Access::Shared).unwrap();
        let other = PlannedWork::open(Plan::read(&place).unwrap(), Access::Shared).unwrap();
        left.retain(|task| {
            let done = work.execute_task(*task).unwrap() == Outcome::Done;
            waited += usize::from(!done);
            if done {
                assert_eq!(other.execute_task(*task).unwrap(), Outcome::Done);
            }
            !done
        });
        if left.is_empty() {
            same(work.store(), &path);
            break;
        }
    }
    assert!(waited > 20, "{waited}");
}

#[test]
fn what_was_ended_goes_on_and_what_was_spoiled_is_made_anew_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &land(4, [200, 260]));
    let store = folder.path().join("land.zarr");
    let plan = || Plan::from_job(job(&path), &store, 64).unwrap();
    {
        let work = PlannedWork::open(plan(), Access::Alone).unwrap();
        let mut pool = WorkerPool::new(&work, 2).unwrap();
        for _ in 0..25 {
            pool.run_next_tasks().unwrap();
        }
        assert!(!work.is_done());
        let second = PlannedWork::open(plan(), Access::Alone).err().unwrap().to_string();
        assert!(second.contains("is being written by"), "{second}");
    }
    let work = PlannedWork::open(plan(), Access::Alone).unwrap();
    let [before, _] = work.progress();
    assert!(before > 20, "{before}");
    // Finished parts are not done again.
    let written = || -> BTreeMap<PathBuf, SystemTime> {
        let plans = std::fs::read_dir(folder.path().join("land.work")).unwrap().flatten();
        let stages = plans.flat_map(|plan| std::fs::read_dir(plan.path()).unwrap().flatten());
        let files = stages.flat_map(|stage| std::fs::read_dir(stage.path()).unwrap().flatten());
        files.map(|file| (file.path(), file.metadata().unwrap().modified().unwrap())).collect()
    };
    let known = written();
    finish_work(&work);
    let now = written();
    assert!(known.len() > 15 && known.iter().all(|(path, when)| now[path] == *when));
    assert_eq!(work.verify_tiles(VerifyLevel::Samples).unwrap(), []);
    let bytes = |layer: &str, tile: usize| std::fs::read(work.store().shard_path(layer, tile).unwrap()).unwrap();
    let (kept, gone, untouched) = (bytes("filled", 3), bytes("basin", 5), work.store().shard_path("order", 1).unwrap());
    let when = |path: &Path| std::fs::metadata(path).unwrap().modified().unwrap();
    let stamp = when(&untouched);
    let altered = work.store().shard_path("filled", 3).unwrap();
    let mut spoiled = kept.clone();
    spoiled[20] ^= 4;
    std::fs::write(&altered, spoiled).unwrap();
    std::fs::remove_file(work.store().shard_path("basin", 5).unwrap()).unwrap();
    let faults = work.verify_tiles(VerifyLevel::Bytes).unwrap();
    let found: Vec<_> = faults.iter().map(|fault| (fault.layer.as_str(), fault.tile, fault.harm)).collect();
    assert_eq!(found, [("filled", 3, Harm::Altered), ("basin", 5, Harm::Missing)]);
    work.repair_tiles(&faults).unwrap();
    assert_eq!(work.verify_tiles(VerifyLevel::Samples).unwrap(), []);
    assert!(bytes("filled", 3) == kept && bytes("basin", 5) == gone && when(&untouched) == stamp);
    same(work.store(), &path);
}

/// The plan and the store of an earlier version, which had other names for two layers.
#[test]
fn work_with_earlier_names_of_layers_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &land(4, [200, 260]));
    let (store, place) = (folder.path().join("land.zarr"), folder.path().join("plan.json"));
    let plan = Plan::from_job(job(&path), &store, 64).unwrap();
    plan.write(&place).unwrap();
    finish_work(&PlannedWork::open(plan.clone(), Access::Alone).unwrap());
    let names = [("flow_direction", "direction"), ("drainage_area", "area")];
    for file in [&place, &store.join("zarr.json")] {
        let mut text = std::fs::read_to_string(file).unwrap();
        for (current, earlier) in names {
            assert!(text.contains(&format!("\"{current}\"")), "{}", file.display());
            text = text.replace(&format!("\"{current}\""), &format!("\"{earlier}\""));
        }
        std::fs::write(file, text).unwrap();
    }
    for ((current, earlier), place) in names.into_iter().flat_map(|name| [(name, ""), (name, "marks")]) {
        std::fs::rename(store.join(place).join(current), store.join(place).join(earlier)).unwrap();
    }
    let earlier = Plan::read(&place).unwrap();
    assert_eq!(earlier.hash, plan.hash);
    assert_ne!(earlier.stages, plan.stages);
    let work = PlannedWork::open(earlier, Access::Alone).unwrap();
    assert!(work.is_done());
    same(work.store(), &path);
    // A lost tile is made again where the store has the layer.
    let lost = work.store().shard_path("flow_direction", 2).unwrap();
    assert!(lost.starts_with(store.join("direction")));
    std::fs::remove_file(&lost).unwrap();
    let faults = work.verify_tiles(VerifyLevel::Bytes).unwrap();
    assert_eq!(faults.iter().map(|fault| (fault.layer.as_str(), fault.tile)).collect::<Vec<_>>(), [("direction", 2)]);
    work.repair_tiles(&faults).unwrap();
    assert!(lost.is_file() && !store.join("flow_direction").exists());
    same(work.store(), &path);
}

fn hills() -> Recipe {
    let mut recipe = Recipe { cells: 256, ..presets::find_preset("hills").unwrap() };
    recipe.set_coarsest(thalweg_sim::recipe::Coarsest::Cells(64)).unwrap();
    recipe
}

fn with_local_levels(recipe: &Recipe) -> Recipe {
    let mut recipe = recipe.clone();
    recipe.set_refinement_method(RefinementMethod::LOCAL).unwrap();
    recipe
}

#[test]
fn a_world_s_level_goes_into_a_store_as_the_world_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let recipe = hills();
    let job = BuildJob::from_recipe(&recipe).unwrap();
    let level = job.level;
    let store = folder.path().join("hills.zarr");
    let work = PlannedWork::open(Plan::from_job(Job::Build(job), &store, 100).unwrap(), Access::Alone).unwrap();
    finish_work(&work);
    let world = World::open(&with_local_levels(&recipe)).unwrap();
    let rect = world.frame().world_rect(level);
    assert_eq!(rect.size(), work.store().spec().size);
    let window = world.window(level, CellRect::new(rect.start, rect.size())).unwrap();
    let heights = window.ground.as_slice().iter().map(|height| height.0).collect();
    assert!(whole(work.store(), "height") == Samples::I32(heights));
    assert!(whole(work.store(), "drainage_area") == Samples::F32(window.area.into_vec()));
    assert!(sidecar_path(&store, "level0").is_file());
}

/// An unbounded terrain on cells of 1 km.
const ENDLESS: &str = r#"
name = "isles"
extent = [48000.0, 48000.0]
cells = 48
sea_level = 0.0
continents = { spacing = 60000.0, depth = 900.0, empty = 0.3 }

[[stage]]
model = "plates"
spacing = 12000.0
rim = 2500.0
depth = 650.0

[[stage]]
model = "stream_power"
years = 1e5
step = 5e4
"#;

#[test]
fn a_rectangle_of_any_level_is_as_the_world_has_it() {
    let hills = hills();
    let endless = Recipe::parse(ENDLESS).unwrap();
    for (recipe, level, share) in [(&hills, 1, 0.3), (&hills, 0, 0.1), (&endless, 2, -1.7)] {
        let folder = tempfile::tempdir().unwrap();
        let world = World::open(&with_local_levels(recipe)).unwrap();
        let (width, [down, across]) = (world.frame().cell_width(level), world.frame().cells);
        // Cells at odd positions, from some way inside the world; for an unbounded one, from its centre westward.
        let wide = width * 75.0;
        let west =
            if recipe.continents().is_some() { share * 48_000.0 } else { share * across as f64 * world.frame().cell };
        let north = if recipe.continents().is_some() { 7_321.0 } else { share * down as f64 * world.frame().cell };
        let within = [west, north, west + wide, north + 0.6 * wide];
        let job = BuildJob::from_recipe_part(recipe, Some(level), Some(within)).unwrap();
        let store = folder.path().join("part.zarr");
        let work =
            PlannedWork::open(Plan::from_job(Job::Build(job.clone()), &store, 32).unwrap(), Access::Alone).unwrap();
        finish_work(&work);
        let rect = job.part.unwrap();
        let start = rect.start;
        assert!(start[1] as f64 * width <= west && (start[1] + 1) as f64 * width > west);
        assert_eq!(rect.size(), work.store().spec().size);
        let window = world.window(level, rect).unwrap();
        let heights = window.ground.as_slice().iter().map(|height| height.0).collect();
        assert!(whole(work.store(), "height") == Samples::I32(heights), "level {level}");
        assert!(whole(work.store(), "drainage_area") == Samples::F32(window.area.into_vec()), "level {level}");
        let place = work.store().layer("height").unwrap().head().georeference.clone().unwrap().transform.unwrap();
        assert_eq!([place[0], place[3]], [start[1] as f64 * width, -(start[0] as f64) * width]);
    }
    let said = |recipe: &Recipe, level, within| {
        let job = BuildJob::from_recipe_part(recipe, level, within).map(Job::Build);
        job.and_then(|job| Plan::from_job(job, Path::new("none.zarr"), 32)).unwrap_err().to_string()
    };
    assert!(said(&endless, None, None).contains("rect is missing: a world with `continents` has no end"));
    assert!(said(&hills, Some(60), None).contains("level"));
    assert!(said(&hills, None, Some([0.0, 0.0, 1e9, 10.0])).contains("a part of the world"));
    assert!(said(&hills, None, Some([9.0, 0.0, 1.0, 10.0])).contains("W less than E"));
}

#[test]
fn plans_that_were_edited_and_sources_that_changed_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &land(5, [90, 80]));
    let place = folder.path().join("plan.json");
    Plan::from_job(job(&path), &folder.path().join("land.zarr"), 64).unwrap().write(&place).unwrap();
    let text = std::fs::read_to_string(&place).unwrap();
    std::fs::write(&place, text.replace("90000.0", "80000.0")).unwrap();
    let error = Plan::read(&place).unwrap_err().to_string();
    assert!(error.contains("was changed after it was written"), "{error}");
    std::fs::write(&place, &text).unwrap();
    let plan = Plan::read(&place).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.push(0);
    std::fs::write(&path, bytes).unwrap();
    let error = PlannedWork::open(plan, Access::Alone).err().unwrap().to_string();
    assert!(error.contains("since the work was planned"), "{error}");
    for broken in ["", "{}", "{\"plan\": 9}", "[1]"] {
        std::fs::write(&place, broken).unwrap();
        assert!(Plan::read(&place).is_err());
    }
}

/// A file replaced by another of the same length, at any time: existing results are not mixed with the new ones.
#[test]
fn a_source_in_place_of_another_of_its_length_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let other = file(elsewhere.path(), &land(6, [100, 130]));
    let path = file(folder.path(), &land(7, [100, 140]));
    let store = folder.path().join("land.zarr");
    let plan = Plan::from_job(job(&path), &store, 64).unwrap();
    let work = PlannedWork::open(plan.clone(), Access::Alone).unwrap();
    assert_eq!(work.execute_task(Task::Tile { stage: 0, tile: 0 }).unwrap(), Outcome::Done);
    drop(work);
    let mut bytes = std::fs::read(&other).unwrap();
    bytes.resize(std::fs::metadata(&path).unwrap().len().try_into().unwrap(), 0);
    std::fs::write(&path, &bytes).unwrap();
    let said = PlannedWork::open(plan, Access::Shared).err().unwrap().to_string();
    assert!(said.contains("land.tif") && said.contains("has changed since"), "{said}");
    // None of the store's layers was done: the store is replaced, and the messages about the first file are ignored.
    finish_work(&PlannedWork::open(Plan::from_job(job(&path), &store, 64).unwrap(), Access::Alone).unwrap());
    same(&Store::open_read(&store).unwrap(), &path);
    // Now it is done: another source, and other options, are refused with the difference, also as a plan in place of
    // its own.
    std::fs::write(&path, std::fs::read(&path).unwrap()).unwrap();
    let plan = Plan::from_job(job(&path), &store, 64).unwrap();
    let said = PlannedWork::open(plan.clone(), Access::Alone).err().unwrap().to_string();
    assert!(said.contains("land.tif has changed since then"), "{said}");
    let said = plan.write(&sidecar_path(&store, "plan.json")).unwrap_err().to_string();
    assert!(said.contains("is a store of different work"), "{said}");
    let Job::Drain(options) = job(&path) else { unreachable!() };
    let wider = DrainOptions { threshold: Some(7.0e5), ..options.options.clone() };
    let wider = Job::Drain(DrainJob { options: wider, ..options });
    let said = PlannedWork::open(Plan::from_job(wider, &store, 64).unwrap(), Access::Alone).err().unwrap().to_string();
    assert!(said.contains("is a store of different work"), "{said}");
}

/// The messages of a store that no longer exists are ignored.
#[test]
fn what_another_plan_left_is_not_heard() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &land(8, [100, 130]));
    let store = folder.path().join("land.zarr");
    finish_work(&PlannedWork::open(Plan::from_job(job(&path), &store, 64).unwrap(), Access::Alone).unwrap());
    std::fs::remove_dir_all(&store).unwrap();
    file(folder.path(), &land(9, [100, 130]));
    let work = PlannedWork::open(Plan::from_job(job(&path), &store, 64).unwrap(), Access::Alone).unwrap();
    finish_work(&work);
    same(work.store(), &path);
    assert_eq!(std::fs::read_dir(folder.path().join("land.work")).unwrap().count(), 1);
}

#[test]
fn files_beside_the_store_and_coordinates_are_seen_and_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &land(10, [150, 170]));
    let store = folder.path().join("land.zarr");
    let plan = || Plan::from_job(job(&path), &store, 64).unwrap();
    let work = PlannedWork::open(plan(), Access::Alone).unwrap();
    finish_work(&work);
    let good = files(folder.path());
    let spoil = || {
        std::fs::remove_file(sidecar_path(&store, "streams.fgb")).unwrap();
        std::fs::remove_file(sidecar_path(&store, "depressions.csv")).unwrap();
        let lakes = std::fs::read_to_string(sidecar_path(&store, "lakes.csv")).unwrap();
        std::fs::write(sidecar_path(&store, "lakes.csv"), lakes.replacen('1', "2", 1)).unwrap();
        let lines = std::fs::read_to_string(sidecar_path(&store, "lakes.geojson")).unwrap();
        std::fs::write(sidecar_path(&store, "lakes.geojson"), lines + " ").unwrap();
        std::fs::remove_file(store.join("x/c/0")).unwrap();
    };
    spoil();
    let found = |level: VerifyLevel| {
        let faults = Store::open_read(&store).unwrap().verify_files(level).unwrap();
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        faults.iter().map(|fault| (name(&fault.path), fault.harm)).collect::<Vec<_>>()
    };
    let bare = [
        ("x", Harm::Altered),
        ("land.depressions.csv", Harm::Missing),
        ("land.lakes.csv", Harm::Altered),
        ("land.lakes.geojson", Harm::Altered),
        ("land.streams.fgb", Harm::Missing),
    ];
    assert_eq!(found(VerifyLevel::Bytes), bare.map(|(name, harm)| (name.to_string(), harm)));
    assert_eq!(found(VerifyLevel::Lengths).len(), 4, "of one letter more than lengths tells");
    work.repair_files(&Store::open_read(&store).unwrap().verify_files(VerifyLevel::Bytes).unwrap()).unwrap();
    assert!(found(VerifyLevel::Bytes).is_empty() && files(folder.path()) == good);
    drop(work);
    // Running the same work again also restores what is missing or has another length.
    std::fs::remove_file(sidecar_path(&store, "streams.fgb")).unwrap();
    std::fs::write(sidecar_path(&store, "lakes.csv"), "number").unwrap();
    std::fs::remove_file(store.join("y/zarr.json")).unwrap();
    let work = PlannedWork::open(plan(), Access::Alone).unwrap();
    assert!(!work.is_done());
    finish_work(&work);
    assert!(files(folder.path()) == good);
}

#[test]
fn a_store_that_was_moved_is_mended_where_it_lies() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &land(11, [150, 170]));
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    for folder in [&first, &second] {
        std::fs::create_dir(folder).unwrap();
    }
    let store = first.join("land.zarr");
    finish_work(&PlannedWork::open(Plan::from_job(job(&path), &store, 64).unwrap(), Access::Alone).unwrap());
    let good = files(&first);
    for path in good.keys() {
        std::fs::create_dir_all(second.join(path).parent().unwrap()).unwrap();
        std::fs::copy(first.join(path), second.join(path)).unwrap();
    }
    let moved = second.join("land.zarr");
    std::fs::remove_file(moved.join("drainage_area/c/0/1")).unwrap();
    std::fs::remove_file(store.join("drainage_area/c/1/1")).unwrap();
    let work = PlannedWork::open(Plan::read_sidecar(&moved).unwrap(), Access::Alone).unwrap();
    work.repair_tiles(&work.verify_tiles(VerifyLevel::Bytes).unwrap()).unwrap();
    assert!(files(&second) == good);
    assert!(!store.join("drainage_area/c/1/1").exists(), "the other one is not touched");
    // Without the stages' messages nothing can be repaired directly; resuming the work does it.
    std::fs::remove_dir_all(second.join("land.work")).unwrap();
    std::fs::remove_file(moved.join("drainage_area/c/0/1")).unwrap();
    drop(work);
    let work = PlannedWork::open(Plan::read_sidecar(&moved).unwrap(), Access::Alone).unwrap();
    work.repair_tiles(&work.verify_tiles(VerifyLevel::Bytes).unwrap()).unwrap();
    finish_work(&work);
    assert_eq!(work.verify_tiles(VerifyLevel::Samples).unwrap(), []);
    same(work.store(), &path);
    drop(work);
    std::fs::remove_file(sidecar_path(&moved, "plan.json")).unwrap();
    let said = Plan::read_sidecar(&moved).unwrap_err().to_string();
    assert!(said.contains("land.plan.json is missing: it is the plan of the store"), "{said}");
}

/// A plan, or a layer, is not written over an input, nor into a store.
#[test]
fn plans_and_layers_take_no_file_s_place_that_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &land(12, [70, 90]));
    let store = folder.path().join("land.zarr");
    let work = PlannedWork::open(Plan::from_job(job(&path), &store, 64).unwrap(), Access::Alone).unwrap();
    finish_work(&work);
    let good = files(folder.path());
    let refused = |result: thalweg_core::base::error::Result<()>, words: &str| {
        let said = result.unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    };
    refused(work.plan().write(&path), "is also an input");
    for inside in ["zarr.json", "height/zarr.json", "new.json"] {
        refused(work.plan().write(&store.join(inside)), "is inside the store");
        refused(work.store().save_cog("height", &store.join(inside), 1), "is inside the store");
    }
    let inner = Plan::from_job(job(&path), &store.join("inner.zarr"), 64)
        .and_then(|plan| PlannedWork::open(plan, Access::Alone));
    assert!(inner.err().unwrap().to_string().contains("is inside the store"));
    for side in [0, 1, 16_385, 999_999_999_999] {
        refused(Plan::from_job(job(&path), &folder.path().join("b.zarr"), side).map(drop), "2 to 16384 cells");
    }
    assert!(files(folder.path()) == good);
}

/// Infinite samples, which have no number in JSON, are refused or left out as in memory.
#[test]
fn infinite_samples_are_told_as_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("land.tif");
    let mut raster = thalweg_io::Raster::new([80, 90], Samples::F64((0..7200).map(|k| (k % 37) as f64).collect()));
    let Samples::F64(samples) = &mut raster.samples else { unreachable!() };
    samples[70 * 90 + 80] = f64::INFINITY;
    thalweg_io::write_raster(&path, &raster).unwrap();
    let options = LoadOptions { cell_size: Some(10.0), ..LoadOptions::default() };
    let store = folder.path().join("land.zarr");
    let work = |options: LoadOptions| {
        let job = Job::Drain(DrainJob::new(&path, options, DrainOptions::default()).unwrap());
        PlannedWork::open(Plan::from_job(job, &store, 64).unwrap(), Access::Alone).unwrap()
    };
    let refused = work(options.clone());
    let mut pool = WorkerPool::new(&refused, 1).unwrap();
    let said = std::iter::repeat_with(|| pool.run_next_tasks()).find_map(Result::err).unwrap().to_string();
    assert_eq!(said, load_terrain(&path, &options).unwrap_err().to_string());
    drop(refused);
    let options = LoadOptions { infinite_is_nodata: true, ..options };
    let heeded = work(options.clone());
    finish_work(&heeded);
    let terrain = load_terrain(&path, &options).unwrap().terrain;
    let Samples::I32(heights) = whole(heeded.store(), "height") else { unreachable!() };
    let void: Vec<bool> = heights.iter().map(|height| *height == i32::MIN).collect();
    assert_eq!(void, terrain.nodata.unwrap().into_vec());
}

/// Checks that a value's keys are those that its schema names, recursively; panics with the place of a difference.
fn fits(schema: &Value, defs: &Value, value: &Value, at: &str) {
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        return fits(&defs[name], defs, value, at);
    }
    if let (Some(kinds), Some(map)) = (schema["oneOf"].as_array(), value.as_object()) {
        let kind = map.keys().next().expect("a kind");
        let fit = kinds.iter().find(|schema| !schema["properties"][kind].is_null());
        return fits(fit.unwrap_or_else(|| panic!("{at}: no kind {kind}")), defs, value, at);
    }
    match value {
        // A map with arbitrary names.
        Value::Object(map) if schema["additionalProperties"].is_object() => {
            map.iter()
                .for_each(|(key, value)| fits(&schema["additionalProperties"], defs, value, &format!("{at}.{key}")));
        }
        Value::Object(map) => {
            assert_eq!(schema["additionalProperties"], Value::Bool(false), "{at}");
            for key in schema["required"].as_array().unwrap() {
                assert!(map.contains_key(key.as_str().unwrap()), "{at} has no {key}");
            }
            for (key, value) in map {
                fits(&schema["properties"][key], defs, value, &format!("{at}.{key}"));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| fits(&schema["items"], defs, item, at)),
        _ => assert!(schema.is_object(), "{at} has no schema"),
    }
}

/// docs/plan.schema.json is that of the program (`cargo xtask book` writes it). It names each key of a plan, and no
/// other; a validator in tests/interop/test_cli.py checks the values.
#[test]
fn the_schema_of_plans_names_what_they_hold() {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plan.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    assert!(schema == thalweg_store::plan_schema(), "docs/plan.schema.json is stale: run `cargo xtask book`");
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &land(5, [90, 80]));
    let recipe = hills();
    let mut drained = DrainJob::new(
        &path,
        LoadOptions::default(),
        DrainOptions { outlets: vec![Cell::new(3, 4)], ..DrainOptions::default() },
    )
    .unwrap();
    drained.load.height = Some([0.0, 9.0]);
    let part = BuildJob::from_recipe_part(&recipe, None, Some([0.0, 0.0, 900.0, 500.0])).unwrap();
    let slides =
        Recipe::parse_stages("[[stage]]\nmodel = \"thermal\"\n", &thalweg_models::models::Models::default()).unwrap();
    let slides =
        ApplyJob { steps_at_once: Some(3), ..ApplyJob::from_recipe(&slides, &path, LoadOptions::default()).unwrap() };
    for job in
        [Job::Drain(drained), Job::Build(BuildJob::from_recipe(&recipe).unwrap()), Job::Build(part), Job::Apply(slides)]
    {
        let plan = Plan::from_job(job, &folder.path().join("a.zarr"), 64).unwrap();
        fits(&schema, &schema["$defs"], &serde_json::to_value(plan).unwrap(), "plan");
    }
}

/// The memory that a plan states grows with threads and tiles, and the tile size is chosen by it.
#[test]
fn tiles_are_chosen_so_that_memory_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (file(folder.path(), &land(5, [700, 900])), folder.path().join("a.zarr"));
    let of = |side| Plan::from_job(job(&path), &store, side).unwrap();
    assert!(of(256).memory_bytes(2) > of(256).memory_bytes(1) && of(1024).memory_bytes(1) > of(256).memory_bytes(1));
    let solve = |side| of(side).stages.iter().map(|stage| stage.solve_bytes).max().unwrap();
    assert!(2 * solve(64) > 3 * solve(256), "{} {}", solve(64), solve(256));
    let within = |memory, threads| Plan::fit_to_memory(&job(&path), &store, 1024, memory, threads);
    let (plan, at_once) = within(1 << 40, 7).unwrap();
    assert_eq!((plan.side, at_once), (1024, 7));
    let memory = of(1024).memory_bytes(1) - 1;
    let (plan, at_once) = within(memory, 3).unwrap();
    assert!(plan.side < 1024 && at_once == 3 && plan.memory_bytes(at_once) <= memory, "{} {at_once}", plan.side);
    assert!(plan.check_memory(memory, at_once).is_ok());
    let least = [128, 256, 384, 512, 768, 1024].map(|side| of(side).memory_bytes(1)).into_iter().min().unwrap();
    assert!(within(least, 4).is_ok_and(|(plan, at_once)| at_once == 1 && plan.memory_bytes(1) == least));
    let error = within(least - 1, 4).unwrap_err().to_string();
    assert!(error.contains(&format!(": {least} bytes")) && error.contains("700 × 900 cells"), "{error}");
    let error = of(1024).check_memory(1 << 20, 2).unwrap_err().to_string();
    assert!(error.contains("2 tiles of 1024 × 1024 cells at once"), "{error}");
}
