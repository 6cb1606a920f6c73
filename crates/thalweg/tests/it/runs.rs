//! Tests of runs and checkpoints: a run saved after any step continues to the same bits; a damaged, truncated or
//! forged file is refused, and nothing panics.

use std::fs;
use std::path::Path;

use crate::support::{finished, run_recipe};
use thalweg_core::terrain::{Cells, HARDNESS};
use thalweg_core::{Field, Georeference, Grid, Height, Terrain};
use thalweg_io::{SaveOptions, save_terrain};
use thalweg_models::models;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;

/// Builds a run with everything that a checkpoint can contain, over several tiles so that droplets wait between steps:
/// sediment, cells without data, layers of all three kinds, and active droplets.
fn busy() -> Run {
    let recipe = Recipe::parse(
        r#"
        extent = [3000, 2600]
        cells = 130
        seed = 5
        sea_level = -500
        [[stage]]
        model = "gradient_noise"
        [[stage]]
        model = "thermal"
        steps = 2
        [[stage]]
        model = "droplets"
        count = 2000
        max_steps = 60
        visits = true
        wear = true
        layers = { protect = { layer = "sediment", scale = [0, 50] } }
        [[stage]]
        model = "thermal"
        label = "again"
        steps = 1
        layers = { hardness = { layer = "wear", scale = [0, 0.5] } }
        "#,
    )
    .unwrap();
    let mut terrain = Terrain::new(recipe.last_grid().unwrap());
    terrain.nodata = Some(Field::from_fn(terrain.grid.size, |i, j| (7 * i + 3 * j) % 97 == 0));
    Run::with_terrain(recipe, terrain).unwrap()
}

/// Returns a run's report with all measured times set to 0.
fn outcome(run: &Run) -> serde_json::Value {
    let mut report = run.report();
    for stage in report["stages"].as_array_mut().unwrap() {
        stage["seconds"] = 0.into();
    }
    report
}

#[test]
fn a_run_saved_after_any_step_goes_on_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state");
    let straight = outcome(&finished(busy()));
    assert_eq!(straight["complete"], true);
    let mut run = busy();
    let (mut count, mut droplets) = (0, 0);
    loop {
        run.save(&file, &serde_json::json!({ "step": count })).unwrap();
        let (resumed, note) = Run::resume(&file).unwrap();
        assert_eq!((&note["step"], resumed.steps()), (&count.into(), [count, run.steps()[1]]));
        assert!(*resumed.terrain() == *run.terrain(), "step {count}");
        assert_eq!(outcome(&resumed), outcome(&run));
        droplets += run.terrain().tables.len();
        assert_eq!(outcome(&finished(resumed)), straight, "taken up after step {count}");
        if run.take_step().unwrap().is_none() {
            break;
        }
        count += 1;
    }
    assert!(count > 8 && droplets > 0, "{count} steps, {droplets} of them with droplets under way");
}

#[test]
fn the_report_says_what_was_done() {
    let run = finished(busy());
    let report = run.report();
    assert_eq!(report["seed"], 5);
    assert_eq!(report["rows"], 113);
    assert_eq!(report["recipe_hash"], run.recipe().hash());
    assert_eq!(report["stages"][2]["parameters"]["count"], 2000);
    assert_eq!(report["stages"][2]["mass_balance"]["particles"], run.reports()[2].mass_balance.particles);
    assert_eq!(report["fingerprints"]["ground"], run.terrain().fingerprints()["ground"]);
    assert!(!run.terrain().layers.contains_key("hardness"), "a stage's inputs go with it");
    // The mass balance closes over the whole run.
    let change: i128 = run.reports().iter().map(|stage| stage.mass_balance.solid_change()).sum();
    assert_eq!(run.terrain().sum_solid(), change);
}

#[test]
fn a_stage_without_its_layer_says_so_and_changes_nothing() {
    let recipe = |layers: &str| {
        let text = format!("extent = [100, 100]\ncells = 10\n[[stage]]\nmodel = 'elevation'\nlayers = {{ {layers} }}");
        Recipe::parse(&text).unwrap()
    };
    for (layers, words) in [
        ("", "`elevation`"),
        ("elevation = { layer = 'heigth' }", "heigth"),
        ("elevation = { layer = 'ground' }, amount = 'missing.tif'", "missing.tif"),
    ] {
        let mut run = Run::new(recipe(layers)).unwrap();
        let before = run.terrain().clone();
        let message = run.take_step().unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
        assert!(*run.terrain() == before && run.reports().is_empty());
        assert!(run.take_step().is_err(), "and says so again");
    }
}

#[test]
fn masks_come_from_files_scaled() {
    // A mask of 5 and 25 m used as hardness: 0 at 10 m and below, 1 at 20 m and above. Droplets cannot erode the
    // eastern part.
    let folder = tempfile::tempdir().unwrap();
    let grid = Grid::new([30, 40], 10.0).unwrap();
    let mask = Field::from_fn([30, 40], |_, j| Height::from_metres_clamped(if j < 20 { 5.0 } else { 25.0 }));
    let path = folder.path().join("mask.tif");
    save_terrain(&path, &Terrain::from_ground(grid.clone(), mask).unwrap(), &SaveOptions::default()).unwrap();
    let mut recipe = Recipe::with_single_stage(models::find_model("droplets").unwrap(), 3);
    let source = "[[stage]]\nmodel = 'droplets'\nwear = true\ncount = 2000\nlayers = { hardness = { file = 'mask.tif', scale = [10, 20] } }";
    recipe.stages = Recipe::parse(&format!("extent = [1, 1]\n{source}")).unwrap().stages;
    recipe.folder = folder.path().into();
    let slope = Field::from_fn([30, 40], |i, j| Height::from_metres_clamped(300.0 + 3.0 * i as f64 + j as f64));
    let run = finished(Run::with_terrain(recipe, Terrain::from_ground(grid, slope).unwrap()).unwrap());
    let wear = run.terrain().layers["wear"].cells.to_float();
    let dug =
        |cols: std::ops::Range<usize>| (0..30).flat_map(|i| cols.clone().map(move |j| (i, j))).any(|at| wear[at] > 0.0);
    assert!(dug(0..20) && !dug(20..40));
}

#[test]
fn a_hole_in_an_elevation_model_leaves_the_ground_alone() {
    let folder = tempfile::tempdir().unwrap();
    let grid = Grid::new([20, 20], 10.0).unwrap();
    let mut model = Terrain::from_ground(grid, Field::new([20, 20], Height::from_metres_clamped(70.0))).unwrap();
    model.nodata = Some(Field::from_fn([20, 20], |i, j| i < 5 && j < 5));
    save_terrain(folder.path().join("dem.tif"), &model, &SaveOptions::default()).unwrap();
    let text = "extent = [200, 200]\ncells = 20\n[[stage]]\nmodel = 'elevation'\nlayers = { elevation = 'dem.tif' }";
    let mut recipe = Recipe::parse(text).unwrap();
    recipe.folder = folder.path().into();
    let run = run_recipe(recipe);
    assert_eq!(run.terrain().ground[(2, 2)], Height::ZERO);
    assert_eq!(run.terrain().ground[(12, 12)].metres(), 70.0);
}

/// Returns the bytes of a checkpoint taken while droplets are active.
fn checkpoint(folder: &Path) -> Vec<u8> {
    let mut run = busy();
    while run.terrain().tables.is_empty() {
        run.take_step().unwrap().expect("some droplets are under way at some time");
    }
    let file = folder.join("state");
    run.save(&file, &serde_json::Value::Null).unwrap();
    fs::read(file).unwrap()
}

fn take_up(folder: &Path, bytes: &[u8]) -> thalweg_core::base::error::Result<Run> {
    let file = folder.join("other");
    fs::write(&file, bytes).unwrap();
    Run::resume(&file).map(|(run, _)| run)
}

#[test]
fn damaged_and_cut_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let whole = checkpoint(folder.path());
    assert!(take_up(folder.path(), &whole).is_ok());
    // Every byte of the beginning, then a sample of the rest up to the last byte.
    for at in (0..200).chain((200..whole.len()).step_by(2003)).chain([whole.len() - 1]) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        assert!(take_up(folder.path(), &bytes).is_err(), "byte {at} of {}", whole.len());
    }
    for length in (0..64).chain((64..whole.len()).step_by(5003)).chain([whole.len() - 1]) {
        assert!(take_up(folder.path(), &whole[..length]).is_err(), "{length} bytes");
    }
    assert!(take_up(folder.path(), &[&whole[..], b"x"].concat()).is_err());
    assert!(Run::resume(folder.path()).is_err(), "a folder");
    assert!(Run::resume(&folder.path().join("none")).is_err());
}

#[test]
fn an_earlier_name_of_a_layer_is_read_in_a_recipe() {
    let built = |layer: &str| {
        let text = format!(
            r#"
            extent = [3000, 3000]
            cells = 60
            [[stage]]
            model = "gradient_noise"
            [[stage]]
            model = "thermal"
            steps = 3
            [[stage]]
            model = "shape"
            layers = {{ amount = {{ layer = "{layer}", scale = [0, 5] }} }}
            "#
        );
        run_recipe(Recipe::parse(&text).unwrap())
    };
    assert!(*built("loose").terrain() == *built("sediment").terrain());
}

/// Returns the file with its header or content changed and a matching checksum: a forgery, not damage.
pub(crate) fn forged(whole: &[u8], change: impl Fn(&mut serde_json::Value, &mut Vec<u8>)) -> Vec<u8> {
    let length = u64::from_le_bytes(whole[16..24].try_into().unwrap()) as usize;
    let mut header: serde_json::Value = serde_json::from_slice(&whole[24..24 + length]).unwrap();
    let mut content = whole[24 + length..whole.len() - 8].to_vec();
    change(&mut header, &mut content);
    let header = serde_json::to_vec(&header).unwrap();
    let mut bytes = [&whole[..16], &(header.len() as u64).to_le_bytes(), &header, &content].concat();
    bytes.extend(xxhash_rust::xxh3::xxh3_64(&bytes).to_le_bytes());
    bytes
}

#[test]
fn headers_that_lie_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let whole = checkpoint(folder.path());
    assert!(take_up(folder.path(), &forged(&whole, |_, _| {})).is_ok());
    let lies: &[(&str, serde_json::Value)] = &[
        ("/recipe", "model = 1".into()),
        ("/recipe", "[[stage]]\nmodel = 'droplets'".into()),
        ("/turn", 5.into()),
        ("/turn", 0.into()),
        ("/turn", u64::MAX.into()),
        ("/step", (-1).into()),
        ("/reports", serde_json::json!([])),
        ("/grid/size/0", 0.into()),
        ("/grid/size/0", 114.into()),
        ("/grid/size/1", u64::MAX.into()),
        ("/grid/world", serde_json::json!([0, 0])),
        ("/grid/world/0", 112.into()),
        ("/grid/world", serde_json::json!([1u64 << 40, 1u64 << 40])),
        ("/grid/origin/0", i64::MIN.into()),
        ("/grid/origin/1", 1.into()),
        ("/grid/cell", 0.into()),
        ("/grid/cell", 1e300.into()),
        ("/grid/sea_level", i32::MIN.into()),
        ("/sections/0/bytes", 1.into()),
        ("/sections/0/bytes", u64::MAX.into()),
        ("/sections/0/kind", "Float".into()),
        ("/sections/0/kind", "Ints".into()),
        ("/sections", serde_json::json!([])),
        ("/sections/0", serde_json::Value::Null),
    ];
    for (at, lie) in lies {
        let bytes = forged(&whole, |header, _| *header.pointer_mut(at).unwrap() = lie.clone());
        assert!(take_up(folder.path(), &bytes).is_err(), "{at} = {lie}");
    }
    // A header that is longer than the file, and one that is longer than memory.
    for length in [whole.len() as u64, u64::MAX, u64::MAX - 24] {
        let mut bytes = whole[..whole.len() - 8].to_vec();
        bytes[16..24].copy_from_slice(&length.to_le_bytes());
        bytes.extend(xxhash_rust::xxh3::xxh3_64(&bytes).to_le_bytes());
        assert!(take_up(folder.path(), &bytes).is_err());
    }
    // A table whose columns differ in length: the last column gives four bytes to an empty layer.
    let uneven = forged(&whole, |header, content| {
        let sections = header["sections"].as_array_mut().unwrap();
        let last = sections.last_mut().unwrap();
        last["bytes"] = (last["bytes"].as_u64().unwrap() - 4).into();
        content.truncate(content.len() - 4);
    });
    assert!(take_up(folder.path(), &uneven).is_err());
    // Elevations above the accepted range, and negative sediment thickness.
    for (name, value) in [("ground", i32::MAX), ("sediment", -1), ("sediment", i32::MAX)] {
        let bytes = forged(&whole, |header, content| {
            let sections = header["sections"].as_array().unwrap();
            let before = sections.iter().take_while(|s| s["name"] != name).map(|s| s["bytes"].as_u64().unwrap());
            let at = before.sum::<u64>() as usize;
            content[at..at + 4].copy_from_slice(&value.to_le_bytes());
        });
        assert!(take_up(folder.path(), &bytes).is_err(), "{name} = {value}");
    }
}

#[test]
fn whatever_the_content_a_run_goes_on_or_is_refused() {
    // Arbitrary bytes behind a valid checksum: each section in turn is filled with ones, zeros, signs and NaN, and
    // mass balances are at their limits.
    let folder = tempfile::tempdir().unwrap();
    let whole = checkpoint(folder.path());
    let count = forged_sections(&whole);
    for section in 0..count {
        for byte in [0x00, 0x01, 0x7f, 0x80, 0xff] {
            let bytes = forged(&whole, |header, content| {
                let sizes =
                    header["sections"].as_array().unwrap().iter().map(|s| s["bytes"].as_u64().unwrap() as usize);
                let sizes: Vec<usize> = sizes.collect();
                let start: usize = sizes[..section].iter().sum();
                content[start..start + sizes[section]].fill(byte);
            });
            let Ok(mut run) = take_up(folder.path(), &bytes) else { continue };
            while let Ok(Some(_)) = run.take_step() {}
            run.report();
        }
    }
    for value in ["170141183460469231731687303715884105727", "-170141183460469231731687303715884105728"] {
        let length = u64::from_le_bytes(whole[16..24].try_into().unwrap()) as usize;
        let header = String::from_utf8(whole[24..24 + length].to_vec()).unwrap();
        let (before, after) = header.split_once("\"eroded\":").unwrap();
        let rest = after.trim_start_matches(|c: char| c == '-' || c.is_ascii_digit());
        let header = format!("{before}\"eroded\":{value}{rest}");
        let content = &whole[24 + length..whole.len() - 8];
        let mut bytes = [&whole[..16], &(header.len() as u64).to_le_bytes(), header.as_bytes(), content].concat();
        bytes.extend(xxhash_rust::xxh3::xxh3_64(&bytes).to_le_bytes());
        let run = finished(take_up(folder.path(), &bytes).unwrap());
        assert!(run.report()["stages"][0]["mass_balance"]["eroded"].as_f64().unwrap().abs() > 1e38);
    }
}

fn forged_sections(whole: &[u8]) -> usize {
    let length = u64::from_le_bytes(whole[16..24].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&whole[24..24 + length]).unwrap();
    header["sections"].as_array().unwrap().len()
}

#[test]
fn a_run_over_a_given_terrain_is_taken_up_without_its_source() {
    // A single model over a caller's terrain has neither extent nor file; its checkpoint contains the terrain.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state");
    let recipe = Recipe::with_single_stage(models::find_model("droplets").unwrap(), u64::MAX);
    let ground = Field::from_fn([40, 30], |i, j| Height::from_metres_clamped((i * i) as f64 + 3.0 * j as f64));
    let terrain = Terrain::from_ground(Grid::new([40, 30], 5.0).unwrap(), ground).unwrap();
    let mut run = Run::with_terrain(recipe, terrain).unwrap();
    run.take_step().unwrap();
    run.save(&file, &serde_json::Value::Null).unwrap();
    let (resumed, _) = Run::resume(&file).unwrap();
    assert_eq!(resumed.recipe().seed, u64::MAX);
    assert_eq!(outcome(&finished(resumed)), outcome(&finished(run)));
}

#[test]
fn a_georeference_comes_back_to_the_bit() {
    // The northing of a real elevation model whose last bit used to be lost in the checkpoint's text.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state");
    let mut grid = Grid::new([2, 2], 30.0).unwrap();
    let transform = Some([386_813.655_454_263_5, 30.0, 0.0, 3_806_117.827_628_375_5, 0.0, -30.0]);
    grid.georeference = Some(Georeference { transform, ..Georeference::default() });
    let run =
        Run::with_terrain(Recipe::with_single_stage(models::find_model("thermal").unwrap(), 1), Terrain::new(grid))
            .unwrap();
    run.save(&file, &serde_json::Value::Null).unwrap();
    let (resumed, _) = Run::resume(&file).unwrap();
    assert_eq!(resumed.terrain().grid, run.terrain().grid);
}

#[test]
fn factors_that_are_no_numbers_hold_nothing_back() {
    let size = [20, 20];
    for name in ["thermal", "droplets"] {
        let run = |factor: Option<f32>| {
            let ground = Field::from_fn(size, |i, j| {
                Height::from_metres_clamped(if (i / 4 + j / 4) % 2 == 0 { 90.0 } else { 0.0 })
            });
            let mut terrain = Terrain::from_ground(Grid::new(size, 10.0).unwrap(), ground).unwrap();
            if let Some(factor) = factor {
                terrain.insert_layer(&HARDNESS, Cells::Float(Field::new(size, factor))).unwrap();
            }
            let run = finished(
                Run::with_terrain(Recipe::with_single_stage(models::find_model(name).unwrap(), 1), terrain).unwrap(),
            );
            run.terrain().fingerprints()["ground"].clone()
        };
        assert_eq!(run(Some(f32::NAN)), run(None), "{name}");
    }
}
