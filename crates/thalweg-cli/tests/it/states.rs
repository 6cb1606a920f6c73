//! Tests of the states of a run in progress, saved as files with a table of their times, and of worlds in the size
//! that a program needs.

#[cfg(unix)]
use std::process::Stdio;

use crate::support::{Place, signal, text};
use thalweg_core::Terrain;
use thalweg_io::{LoadOptions, load_terrain};

const RECIPE: &str = r#"
name = "rise"
extent = [6000, 4000]
cells = 120
coarsest = 60
[[stage]]
model = "gradient_noise"
wavelength = 3000
amplitude = 100
levels = "first"
[[stage]]
model = "stream_power"
label = "wear"
years = 10000
step = 1000
finer_years = 1
finer_step = 1
"#;

fn place() -> Place {
    let place = Place::new();
    place.write("rise.toml", RECIPE);
    place
}

/// Returns the rows of a table of states: file, years, stage, step, steps, lowest, highest.
fn table(place: &Place, folder: &str) -> Vec<Vec<String>> {
    let text = String::from_utf8(place.read(&format!("{folder}/states.csv"))).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(String::from).collect::<Vec<_>>());
    let head = ["file", "years", "stage", "step", "steps", "minimum_m", "maximum_m"];
    assert_eq!(lines.next().unwrap(), head);
    lines.collect()
}

fn heights(place: &Place, file: &str) -> Terrain {
    load_terrain(place.path(file), &LoadOptions::default()).unwrap().terrain
}

#[test]
fn states_are_kept_by_steps_and_by_years() {
    let place = place();
    let said = place.works("build rise.toml --out w --save-every 4 --type f64");
    assert!(said.contains("kept 4 states in "), "{said}");
    let rows = table(&place, "w/states");
    // The last level alone: the refined ground, then the ground after 4, 8 and all 10 steps.
    let at: Vec<_> = rows.iter().map(|row| (row[0].as_str(), row[2].as_str(), row[3].as_str())).collect();
    assert_eq!(
        at[1..],
        [("state_00002.tif", "wear", "4"), ("state_00003.tif", "wear", "8"), ("state_00004.tif", "wear", "10")]
    );
    let last = heights(&place, "w/states/state_00004.tif");
    assert!(last.ground == heights(&place, "w/height.tif").ground, "the last state is the world");
    for row in &rows {
        let [low, high] =
            heights(&place, &format!("w/states/{}", row[0])).elevation_range().unwrap().map(|h| h.metres());
        assert_eq!([low, high], [5, 6].map(|k| row[k].parse::<f64>().unwrap()), "{row:?}");
    }
    // A state equals the result of a run that ends at that step.
    place.works("build rise.toml --out v --type f64 --quiet --set wear.years=10000");
    assert!(heights(&place, "v/height.tif").ground == last.ground, "keeping states changes nothing");

    // By years, over both levels: each state is saved after the first step that reaches its time.
    place.works("build rise.toml --out y --save-every 2500y --states years --quiet");
    let years: Vec<f64> = table(&place, "years").iter().map(|row| row[1].parse().unwrap()).collect();
    assert!(years.windows(2).all(|two| two[0] < two[1]), "{years:?}");
    let times: Vec<f64> = years.iter().map(|years| (years / 2500.0).floor()).collect();
    assert!(times.windows(2).all(|two| two[1] > two[0]), "{years:?}");
    let report = place.json("y/report.json");
    let all: f64 = report["stages"].as_array().unwrap().iter().filter(|stage| stage["label"] == "wear").count() as f64;
    assert_eq!(years.last(), Some(&(10_000.0 * all)), "{years:?}");

    // One model over a file: the states are saved next to the result.
    let place = Place::with_dem();
    place.works("apply fluvial dem.tif -o worn.tif --set steps=5 --save-every 2 --quiet");
    assert_eq!(table(&place, "worn_states").len(), 3);
    let of = |file: &str| heights(&place, file).ground;
    assert!(of("worn_states/state_00003.tif") == of("worn.tif") && of("worn_states/state_00001.tif") != of("worn.tif"));
}

#[test]
fn states_that_cannot_be_are_refused_before_the_run() {
    let place = Place::with_dem();
    place.write("rise.toml", RECIPE);
    let line = "apply thermal dem.tif -o x.tif";
    place.refuses(&format!("{line} --save-every 500y"), &["--save-every = 500y", "simulates years"]);
    for wrong in ["0", "-3", "1.5", "0y", "nany", "five"] {
        let run = place.run(&format!("{line} --save-every={wrong}"));
        assert_eq!(run.status.code(), Some(2), "{wrong}");
        let said = text(&run.stderr);
        assert!(said.contains(wrong) && said.contains("5000y"), "{said}");
    }
    assert_eq!(place.run(&format!("{line} --states s")).status.code(), Some(2), "states of which run?");
    place.refuses(&format!("{line} --save-every 2 --states dem.tif/s"), &["dem.tif"]);
    std::fs::create_dir(place.path("s")).unwrap();
    place.works("apply thermal dem.tif -o s/state_00001.tif --set steps=1 --quiet");
    place.refuses(
        "apply thermal s/state_00001.tif -o y.tif --save-every 1 --states s",
        &["state_00001.tif", "--states"],
    );
    place.refuses("build rise.toml --out w.zarr --save-every 3", &["--save-every", "store"]);
    assert!(!place.path("x.tif").exists() && !place.path("w.zarr").exists());
}

#[test]
fn a_folder_holds_the_states_of_one_run() {
    let place = place();
    place.works("build rise.toml --out w --save-every 1 --states s --quiet");
    assert_eq!(table(&place, "s").len(), 11);
    for own in ["notes.txt", "state_00099.tif", "state_1.tif"] {
        place.write(&format!("s/{own}"), "mine");
    }
    place.works("build rise.toml --out w --save-every 5 --states s --set wear.years=5000 --quiet");
    let mut found: Vec<_> =
        std::fs::read_dir(place.path("s")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    let kept = table(&place, "s").len();
    let states = (1..=kept).map(|n| format!("state_{n:05}.tif"));
    let own = [".thalweg-states.json", "notes.txt", "state_00099.tif", "state_1.tif", "states.csv"].map(String::from);
    let mut expected: Vec<_> = states.chain(own).collect();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
#[cfg(unix)]
fn a_resumed_run_goes_on_with_its_states() {
    let place = place();
    let line = "build rise.toml --out w --set wear.years=1000000 --save-every 100 --json";
    let mut child = place.command(line).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    std::io::BufRead::read_line(&mut out, &mut said).unwrap();
    while !place.path("w/states/state_00002.tif").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    signal(&child, "-INT");
    std::io::Read::read_to_string(&mut out, &mut said).unwrap();
    child.wait().unwrap();
    assert!(said.contains("interrupted"), "{said}");
    let before = table(&place, "w/states");
    place.works("resume w/checkpoint.thalweg --quiet");
    let after = table(&place, "w/states");
    assert!(after.len() > before.len() && after[..before.len()] == before, "{before:?}");
    place.works(&line.replace("--out w", "--out v").replace("--json", "--quiet"));
    assert_eq!(table(&place, "v/states"), after, "and all are those of a run that was not stopped");
    for row in &after {
        let of = |folder: &str| place.read(&format!("{folder}/states/{}", row[0]));
        assert!(of("w") == of("v"), "{row:?}");
    }
}

#[test]
fn a_world_for_a_program_is_exported_cell_by_cell() {
    let place = place();
    for (target, cells, size) in [("unreal", "250", [253, 169]), ("blender", "120", [120, 80])] {
        let folder = format!("for_{target}");
        place.works(&format!("build rise.toml --cells {cells} --for {target} --out {folder} --type f64 --quiet"));
        let report = place.json(&format!("{folder}/report.json"));
        let built = [report["columns"].as_u64().unwrap(), report["rows"].as_u64().unwrap()];
        let fits = target != "unreal" || size[0] as u64 == built[0];
        assert!(fits, "{target}: {built:?}");
        assert_eq!(report["cell_size"].as_f64().unwrap(), 6000.0 / cells.parse::<f64>().unwrap());
        let out = format!("out_{target}");
        place.works(&format!("export {folder} --for {target} -o {out} --quiet"));
        let manifest = place.json(&format!("{out}/manifest.json"));
        assert_eq!(manifest["samples"], serde_json::json!([built[0], built[1]]), "{target}");
        let spacing = &manifest["spacing_m"];
        assert_eq!(spacing[0], report["cell_size"], "{target}: {spacing}");
    }
    // The exported folder builds the same world again.
    place.works("build for_unreal/recipe.toml --out again --type f64 --quiet");
    assert!(place.read("again/height.tif") == place.read("for_unreal/height.tif"));
    place.refuses("build rise.toml --for unity --out x", &["--for = unity", "only square maps"]);
    place.refuses("build rise.toml --for web --out x", &["--for = web", "globe"]);
    place.refuses("build aged --for unreal --out x", &["--for = unreal", "extent"]);
    assert!(!place.path("x").exists());
}
