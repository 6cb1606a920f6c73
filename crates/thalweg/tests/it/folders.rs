//! Tests of folders that every interface of the library writes and reads: a survey's and a world's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::support::{build_preset, preset_recipe, run_recipe};
use thalweg_core::terrain::{DISCHARGE, POOL};
use thalweg_core::{Cell, Error, Field, Grid, Height, NoProgress, ProgressReport, Terrain};
use thalweg_export::export::{Export, ExportOptions, ExportTarget, LayerPlace, TARGETS};
use thalweg_export::survey::{DrainOptions, Survey, check_files};
use thalweg_export::world_folder;
use thalweg_flow::D8;
use thalweg_io::{FilePath, LoadOptions, MemoryFiles, SaveOptions, load_terrain, save_terrain};
use thalweg_sim::presets;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Builds hills with depressions, part of a row without data, and a sea in a corner.
fn hills() -> Terrain {
    let metres = |i: usize, j: usize| {
        let (y, x) = (i as f64 / 7.0, j as f64 / 5.0);
        40.0 + 9.0 * (x.sin() + (1.3 * y).cos()) + 0.4 * i as f64 + ((i * 7919 + j * 104_729) % 97) as f64 / 60.0
    };
    let ground = Field::from_fn([60, 50], |i, j| Height::from_metres_clamped(metres(i, j)));
    let grid = Grid { sea_level: Some(Height::from_metres_clamped(27.0)), ..Grid::new([60, 50], 20.0).unwrap() };
    let mut terrain = Terrain::from_ground(grid, ground).unwrap();
    terrain.nodata = Some(Field::from_fn([60, 50], |i, j| i == 30 && j < 20));
    terrain
}

/// Checks a survey's results by following the flow directions from every cell, one cell after the other.
#[test]
fn a_survey_agrees_with_a_walk_down_every_cell() {
    let terrain = hills();
    let mut reports = Vec::new();
    let options = DrainOptions { threshold: Some(40.0 * 400.0), ..DrainOptions::default() };
    let mut progress = |report: &ProgressReport<'_>| {
        reports.push((report.task.to_string(), report.done, report.total));
        ControlFlow::Continue(())
    };
    let survey = Survey::from_terrain(&terrain, &options, &mut progress).unwrap();
    let expected = ["breach", "directions", "accumulation", "streams"].iter().zip(0..);
    assert!(reports.into_iter().eq(expected.map(|(task, done)| (task.to_string(), done, 4))));
    let [rows, cols] = terrain.grid.size;
    let next = |[i, j]: [usize; 2]| {
        let [di, dj] = D8::from_code(survey.directions[(i, j)])?.offset();
        Some([i.checked_add_signed(di)?, j.checked_add_signed(dj)?])
    };
    let mut into = Field::new([rows, cols], 0u32);
    let mut full = 0i64;
    for start in (0..rows * cols).map(|k| [k / cols, k % cols]) {
        let at = (start[0], start[1]);
        assert_eq!(survey.lake_depth[at].0, survey.filled[at].0 - terrain.ground[at].0, "{at:?}");
        assert!(survey.lake_depth[at].0 >= 0);
        full += i64::from(survey.lake_depth[at].0);
        if terrain.is_nodata(at.0, at.1) {
            continue;
        }
        let (mut cell, mut left) = (start, rows * cols);
        loop {
            into[(cell[0], cell[1])] += 1;
            let Some(on) = next(cell) else { break };
            assert!(survey.filled[(on[0], on[1])] <= survey.filled[(cell[0], cell[1])], "never up: {cell:?}");
            left = left.checked_sub(1).expect("no ring");
            cell = on;
        }
    }
    assert_eq!(survey.cells, into);
    let summary = survey.summarize(&terrain.grid);
    assert!(
        full > 0 && (summary.lakes.volume_m3 - full as f64 / 65_536.0 * 400.0).abs() < 1e-6 * summary.lakes.volume_m3
    );
    let dry = |i: usize, j: usize| !terrain.is_nodata(i, j) && survey.filled[(i, j)].metres() > 27.0;
    let streams = (0..rows * cols).filter(|k| dry(k / cols, k % cols) && into.as_slice()[*k] >= 40).count();
    assert_eq!((summary.streams.cells, summary.nodata_cells), (streams, 20));
    assert!(summary.streams.reaches > 3 && summary.streams.reaches == survey.channels.reaches.len());
    // A year's runoff of 1 m over 400 m², from every cell that drains through.
    let flooded = survey.flood_terrain(&terrain, 1000.0).unwrap();
    let discharge = flooded.float_layer(&DISCHARGE).unwrap();
    let most = (0..rows * cols).max_by_key(|k| into.as_slice()[*k]).unwrap();
    let expected = f64::from(into.as_slice()[most]) * 400.0 / 31_557_600.0;
    assert!((f64::from(discharge.as_slice()[most]) - expected).abs() < 1e-6 * expected);
    assert_eq!(flooded.height_layer(&POOL), Some(&survey.lake_depth));
}

#[test]
fn a_survey_stops_at_the_first_report_when_it_is_told_to() {
    let mut count = 0;
    let stopped = Survey::from_terrain(&hills(), &DrainOptions::default(), &mut |_: &ProgressReport<'_>| {
        count += 1;
        ControlFlow::Break(())
    });
    assert!(matches!(&stopped, Err(Error::Stopped { what }) if what == "breach"), "{stopped:?}");
    assert_eq!(count, 1);
}

#[test]
fn a_survey_s_folder_is_whole_or_untouched() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let terrain = hills();
    let options = DrainOptions { runoff: Some(500.0), ..DrainOptions::default() };
    let survey = Survey::from_terrain(&terrain, &options, &mut NoProgress).unwrap();
    drop(survey.write_draft(folder, &terrain, None).unwrap());
    assert_eq!(names(folder), BTreeSet::new(), "a draft that is given up leaves nothing");
    let draft = survey.write_draft(folder, &terrain, None).unwrap();
    let files: BTreeSet<String> =
        draft.final_paths().iter().map(|file| file.file_name().unwrap().to_str().unwrap().to_string()).collect();
    let report = draft.commit(&[]).unwrap();
    assert_eq!(names(folder), files);
    assert_eq!(report["files"].as_array().unwrap().len(), files.len());
    // The folder is read as a terrain with its water.
    let (read, warnings) = world_folder::read_world(folder, &LoadOptions::default()).unwrap();
    assert!(
        warnings.is_empty() && read.height_layer(&POOL).is_some() && read.float_layer(&DISCHARGE).is_some(),
        "{warnings:?}"
    );
    // Files of another survey may replace these, but not over the survey's input, and not files of a world, whose
    // lakes they would replace.
    check_files(folder, &options, &[]).unwrap();
    let error = check_files(folder, &options, &[folder.join("filled.tif")]).unwrap_err().to_string();
    assert!(error.contains("filled.tif") && error.contains("is also an input"), "{error}");
    let run = run_recipe(preset_recipe("hills", 16, None));
    let error = world_folder::write_world(&run, folder).unwrap_err().to_string();
    assert!(error.contains("drain.json"), "{error}");
    for wrong in [
        DrainOptions { threshold: Some(f64::NAN), ..DrainOptions::default() },
        DrainOptions { runoff: Some(-1.0), ..DrainOptions::default() },
        DrainOptions { outlets: vec![Cell::new(60, 0)], ..DrainOptions::default() },
    ] {
        assert!(Survey::from_terrain(&terrain, &wrong, &mut NoProgress).is_err(), "{wrong:?}");
    }
}

#[test]
fn an_exported_world_replaces_the_former_and_reads_back() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    let world = |name: &str| {
        let run = run_recipe(preset_recipe(name, 24, None));
        world_folder::write_world(&run, folder).unwrap();
        run
    };
    world("forest");
    let first = names(folder);
    assert!(first.contains("trees.csv") && first.contains("report.json") && first.contains("recipe.toml"));
    assert!(
        !world_folder::read_displayed_terrain(folder, &LoadOptions::default()).unwrap().0.tables.is_empty(),
        "trees are read"
    );
    let run = world("hills");
    assert!(!names(folder).contains("trees.csv") && names(folder).contains("notes.txt"));
    let (read, _) = world_folder::read_world(folder, &LoadOptions::default()).unwrap();
    let near = |a: &Height, b: &Height| (a.metres() - b.metres()).abs() < 1e-3;
    let [read_ground, ground] = [&read.ground, &run.terrain().ground].map(Field::as_slice);
    let frame = |grid: &Grid| (grid.size, grid.cell, grid.edges, grid.sea_level);
    assert_eq!(frame(&read.grid), frame(&run.terrain().grid));
    assert!(read_ground.iter().zip(ground).all(|(a, b)| near(a, b)));
    assert!(!world_folder::is_of_another(folder, run.recipe()));
    assert!(world_folder::is_of_another(folder, &Recipe { seed: 99, ..run.recipe().clone() }));
    let lock = world_folder::FolderLock::acquire(folder).unwrap();
    assert!(world_folder::FolderLock::acquire(folder).unwrap_err().to_string().contains("in use"));
    drop(lock);
    drop(world_folder::FolderLock::acquire(folder).unwrap());
}

/// A preset's elevation model in a temporary folder is copied to the world's folder.
#[test]
fn a_preset_s_elevation_model_is_laid_beside_its_world() {
    let place = tempfile::tempdir().unwrap();
    let passing = thalweg_io::atomic::Temporary::create_folder(place.path()).unwrap();
    let recipe = preset_recipe("aged", 24, None);
    let run = run_recipe(presets::write_elevation_model(recipe, passing.path()).unwrap());
    let folder = place.path().join("world");
    world_folder::write_world(&run, &folder).unwrap();
    drop(passing);
    let again = Run::new(world_folder::read_recipe(&folder).unwrap().unwrap()).unwrap();
    assert_eq!(again.recipe().dem(), Some(Path::new("jacksboro.tif")));
}

/// Returns all files in a folder and its subfolders, by their paths relative to it.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(inner) = folders.pop() {
        for path in fs::read_dir(inner).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(folder).unwrap().to_path_buf(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

fn memory_contents(files: &MemoryFiles) -> BTreeMap<PathBuf, Vec<u8>> {
    files.remove_folder("").into_iter().map(|(path, bytes)| (path, bytes.to_vec())).collect()
}

/// Where there is no disk, a folder is stored in memory with the same bytes: a world, its input, and exports for other
/// programs.
#[test]
fn a_folder_in_memory_holds_what_one_on_the_disk_does() {
    let place = tempfile::tempdir().unwrap();
    let (given, memory) = (MemoryFiles::default(), MemoryFiles::default());
    given.insert(presets::ELEVATION_MODEL.0, presets::ELEVATION_MODEL.1);
    for name in ["forest", "aged", "glacial"] {
        let mut recipe = preset_recipe(name, 24, None);
        recipe.folder = given.path("");
        let run = run_recipe(recipe);
        let disk = place.path().join(name);
        for folder in [disk.clone().into(), memory.path("")] {
            world_folder::write_world(&run, folder).unwrap();
        }
        let (there, here) = (contents(&disk), memory_contents(&memory));
        assert_eq!(there.keys().collect::<Vec<_>>(), here.keys().collect::<Vec<_>>(), "{name}");
        assert!(there == here && here.len() > 6, "{name}");
        let again = Run::new(world_folder::read_recipe(&disk).unwrap().unwrap());
        assert!(again.is_ok(), "{name}: {:?}", again.err().map(|error| error.to_string()));
    }
    let terrain = Arc::new(build_preset("hills", 48, None));
    for target in &TARGETS {
        let export = |folder: FilePath| {
            let options = ExportOptions { layers: target.usable_layers(&terrain), ..ExportOptions::default() };
            Export::from_terrain(Arc::clone(&terrain), folder, target, options)?.finish()
        };
        let disk = place.path().join(target.name);
        let done = export(disk.clone().into()).unwrap();
        assert_eq!(export(memory.path("")).unwrap().manifest, done.manifest);
        // A folder that already has another export is left unchanged, in memory too.
        let other = if target.name == "gis" { "unity" } else { "gis" };
        let (other, options) = (ExportTarget::find(other).unwrap(), ExportOptions::default());
        let said = Export::from_terrain(Arc::clone(&terrain), memory.path(""), other, options)
            .err()
            .map(|error| error.to_string());
        assert!(said.is_some_and(|said| said.contains("another export")), "{}", target.name);
        let (there, here) = (contents(&disk), memory_contents(&memory));
        assert_eq!(there.keys().collect::<Vec<_>>(), here.keys().collect::<Vec<_>>(), "{}", target.name);
        assert!(there == here && here.len() >= 2, "{}", target.name);
        let takes = !target.usable_layers(&terrain).is_empty();
        assert_eq!(takes, target.layers != LayerPlace::None, "{}", target.name);
    }
    assert!(given.get(presets::ELEVATION_MODEL.0).is_some(), "what is read stays");
}

#[test]
fn a_run_keeps_what_its_loader_said() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("dem.png");
    save_terrain(&file, &hills(), &SaveOptions::default()).unwrap();
    fs::remove_file(place.path().join("dem.png.json")).unwrap();
    let loaded = load_terrain(&file, &LoadOptions::default()).unwrap();
    assert!(!loaded.warnings.is_empty());
    let text = "from = \"dem.png\"\n[[stage]]\nmodel = \"thermal\"\nsteps = 1\n";
    let recipe = Recipe { folder: place.path().into(), ..Recipe::parse(text).unwrap() };
    let run = Run::new(recipe).unwrap();
    assert_eq!((&run.input().warnings, run.input().nodata), (&loaded.warnings, loaded.nodata));
}
