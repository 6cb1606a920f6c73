//! Every change to the disk is made to fail, one by one; the process is killed at each, and at random times; and the
//! run is replayed after each. In builds for tests the library asks a watcher before it changes anything;
//! THALWEG_FAULT tells the watcher when to act.
#![cfg(all(debug_assertions, unix))]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use crate::long;
use crate::support::{Place, text};
use serde_json::Value;

/// Water, sediment and trees on few cells: layers, lakes, rivers and tables are written.
const RECIPE: &str = r#"
name = "small"
extent = [600, 400]
cells = 24
[[stage]]
model = "gradient_noise"
wavelength = 300
[[stage]]
model = "thermal"
[[stage]]
model = "drainage"
[[stage]]
model = "trees"
years = 20
"#;

/// A world that writes a layer which the other does not have.
const FORMER: &str = r#"
name = "former"
extent = [600, 400]
cells = 24
[[stage]]
model = "gradient_noise"
wavelength = 200
[[stage]]
model = "fluvial"
rain = 0
steps = 3
tables = { springs = [{ x = 300, y = 200, rate = 5 }] }
"#;

/// A place with the inputs of the commands, and with the outputs of a former run where they write.
fn place() -> Place {
    let place = Place::quick();
    place.works("generate gradient_noise -o dem.tif --cells 40x30 --cell-size 30 --seed 3 --quiet");
    place.write("small.toml", RECIPE);
    place.write("former.toml", FORMER);
    place.works("build former.toml --out w --quiet");
    place.works("drain dem.tif -o d --runoff 400 --quiet");
    place.works("rivers dem.tif -o r --catchment 20000 --seed 5 --quiet");
    fs::create_dir(place.path("g")).unwrap();
    place.works("apply fluvial dem.tif -o g/x.png --set steps=1 --layers g/l --report g/x.json --quiet");
    for folder in ["w", "d", "r"] {
        place.write(&format!("{folder}/notes.txt"), "mine");
        place.write(&format!("{folder}/own.tif"), "mine");
    }
    place
}

/// The commands, and the stride of the changes to the disk that are tested in the short form.
const LINES: [(usize, &str); 5] = [
    (3, "build small.toml --out w --report w.json --quiet"),
    (3, "drain dem.tif -o d --breach 5,200 --quiet"),
    (11, "rivers dem.tif -o r --catchment 30000 --quiet"),
    (
        3,
        "apply fluvial dem.tif -o g/x.png --set steps=3 --layers g/l --report g/x.json --frames g/f --frames-every 1 \
         --animation g/a.png --every 0 --quiet",
    ),
    (1, "mesh dem.tif -o m.glb --texture map"),
];

/// Returns all files with their contents, except for what differs between any two runs (seconds and paths) and for
/// files that only matter to running processes.
fn content(place: &Place) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(folder: &Path, root: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, root, files);
            } else if ![".lock", ".thalweg-journal.json"].iter().any(|name| path.ends_with(name)) {
                let mut bytes = fs::read(&path).unwrap();
                if path.extension().is_some_and(|ending| ending == "json" || ending == "toml") {
                    let text = text(&bytes).replace(root.to_str().unwrap(), "PLACE");
                    let json = serde_json::from_str(&text).map(timeless);
                    bytes = json.map_or(text.clone(), |json: Value| json.to_string()).into_bytes();
                }
                files.insert(path.strip_prefix(root).unwrap().to_path_buf(), bytes);
            }
        }
    }
    let mut files = BTreeMap::new();
    walk(&place.path(""), place.path("").as_path(), &mut files);
    files
}

fn timeless(mut json: Value) -> Value {
    match &mut json {
        Value::Object(map) => {
            map.remove("seconds");
            map.values_mut().for_each(|value| *value = timeless(value.take()));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| *value = timeless(value.take())),
        _ => {}
    }
    json
}

/// Copies a place; references to the old place are replaced by the new one.
fn copy_of(template: &Place) -> Place {
    fn copy(from: &Path, to: &Path, roots: [&str; 2]) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let target = to.join(entry.file_name());
            if entry.path().is_dir() {
                copy(&entry.path(), &target, roots);
            } else if target.extension().is_some_and(|ending| ending == "json" || ending == "toml") {
                fs::write(target, text(&fs::read(entry.path()).unwrap()).replace(roots[0], roots[1])).unwrap();
            } else {
                fs::copy(entry.path(), target).unwrap();
            }
        }
    }
    let place = Place::quick();
    let (from, to) = (template.path(""), place.path(""));
    copy(&from, &to, [from.to_str().unwrap(), to.to_str().unwrap()]);
    place
}

fn run(place: &Place, line: &str, fault: Option<&str>) -> Output {
    let mut command = place.command(line);
    fs::create_dir_all(place.path("tmp")).unwrap();
    command.env("TMPDIR", place.path("tmp")).env("RAYON_NUM_THREADS", "1");
    fault.map(|fault| command.env("THALWEG_FAULT", fault));
    command.output().unwrap()
}

/// Checks that each report describes a complete world, either the former or the new one.
fn check_whole(
    place: &Place,
    former: &BTreeMap<PathBuf, Vec<u8>>,
    new: &BTreeMap<PathBuf, Vec<u8>>,
    [line, fault, said_of]: [&str; 3],
) {
    let now = content(place);
    for report in
        ["w/report.json", "d/drain.json", "r/rivers.json", "g/x.json", "g/l/.thalweg-layers.json"].map(Path::new)
    {
        let Some(said) = now.get(report) else { continue };
        let world = [former, new].into_iter().find(|world| world.get(report) == Some(said));
        let world = world.unwrap_or_else(|| panic!("{line} {fault}: {} is neither's", report.display()));
        let json: Value = serde_json::from_slice(said).unwrap();
        for file in json["files"].as_array().unwrap() {
            let file = file.as_str().unwrap();
            // Reports and lists name files relative to their own folder; files elsewhere by their path from the root.
            let beside = || report.parent().unwrap().join(file);
            let file = file.strip_prefix("PLACE").map_or_else(beside, PathBuf::from);
            assert!(world.contains_key(&file), "{line} {fault}: {} is in no world", file.display());
            // An animation that lacks a frame which could not be drawn is reported as such.
            let is_short = said_of.contains("the frame could not be written")
                && file.extension().is_some_and(|ending| ending == "png");
            let is_same = now.get(&file) == world.get(&file) || is_short;
            assert!(is_same, "{line} {fault}: {} is another world's", file.display());
        }
    }
    for file in former.keys().filter(|file| file.ends_with("notes.txt") || file.ends_with("own.tif")) {
        assert_eq!(now[file], b"mine", "{line} {fault}");
    }
}

/// Continues after a fault: as the message says, from the checkpoint if there is one, or with the same command.
fn replay(place: &Place, line: &str, said: &str, fault: &str) {
    let named = said.split("thalweg resume ").nth(1).map(|rest| rest.lines().next().unwrap().trim().to_string());
    let left = ["w/checkpoint.thalweg", "g/x.png.checkpoint"].into_iter().find(|path| place.path(path).exists());
    let line = named.or(left.map(String::from)).map_or(line.to_string(), |path| format!("resume {path} --quiet"));
    let again = run(place, &line, None);
    assert!(again.status.success(), "after {fault}, {line}: {}", text(&again.stderr));
}

#[test]
fn every_change_to_the_disk_fails_and_nothing_is_lost_or_mixed() {
    let template = place();
    let former = content(&template);
    let (mut struck, mut resumed) = (0, 0);
    for (stride, line) in LINES {
        let line = line.to_string();
        let reference = copy_of(&template);
        let done = run(&reference, &line, None);
        assert!(done.status.success(), "{line}: {}", text(&done.stderr));
        let new = content(&reference);
        for number in (1..).step_by(long::or(stride, 1)) {
            let kinds = ["fail", "die", "full"];
            // For each change one kind of fault; in the long form all three for every change.
            let kinds = long::or(&kinds[number / stride % 3..][..1], &kinds[..]);
            let mut is_beyond = false;
            for kind in kinds {
                let fault = format!("{kind}:{number}");
                let place = copy_of(&template);
                let output = run(&place, &line, Some(&fault));
                let said = text(&output.stderr);
                if !said.contains("fault ") {
                    assert!(output.status.success(), "{line} {fault}: {said}");
                    is_beyond = true;
                    break;
                }
                struck += 1;
                assert!(!said.contains("panicked") && !said.contains("please report"), "{line} {fault}: {said}");
                let left = content(&place);
                let is_temporary = |path: &&PathBuf| {
                    let mut names = path.iter().map(|name| name.to_string_lossy());
                    names.any(|name| name.starts_with(".thalweg-") && name.ends_with(".tmp"))
                };
                if *kind != "die" {
                    assert_eq!(left.keys().find(is_temporary), None, "{line} {fault}");
                }
                check_whole(&place, &former, &new, [&line, &fault, &said]);
                if !output.status.success() {
                    resumed += usize::from(said.contains("thalweg resume"));
                    replay(&place, &line, &said, &fault);
                } else if content(&place) != new {
                    // The fault did no harm but was reported: a frame or a checkpoint that could not be written.
                    assert!(said.contains("warning: ") || said.contains("Sync"), "{line} {fault}: {said}");
                    continue;
                }
                let now = content(&place);
                let names: Vec<_> = now.keys().filter(|path| !new.contains_key(*path)).collect();
                assert!(names.is_empty(), "{line} {fault}: left over {names:?}");
                for (path, bytes) in &new {
                    assert!(now.get(path) == Some(bytes), "{line} {fault}: {} differs", path.display());
                }
            }
            if is_beyond {
                break;
            }
        }
    }
    assert!(struck > 100 && resumed > 15, "{struck} faults, {resumed} resumed");
    println!("{struck} faults, {resumed} of them ended in a checkpoint");
}

/// Returns the kind and the path of every change that a command makes, in order.
fn changes(place: &Place, line: &str) -> Vec<(String, PathBuf)> {
    let output = run(place, line, Some("tell:0"));
    let said = text(&output.stderr);
    assert!(output.status.success(), "{line}: {said}");
    let told = said.lines().filter_map(|line| line.strip_prefix("fault ")?.split_once(": ")?.1.split_once(' '));
    told.map(|(act, path)| (act.to_string(), place.path("").join(path))).collect()
}

/// The order that a crash of the machine requires, which killing a process cannot test: data are flushed before they
/// get a name, the old report is removed durably before the first new name, and all names are durable before the new
/// report gets its own.
#[test]
fn whatever_has_a_name_is_lasting() {
    let template = place();
    let reports: [&[&str]; 5] = [
        &["w.json", "w/report.json"],
        &["d/drain.json"],
        &["r/rivers.json"],
        &["g/l/.thalweg-layers.json", "g/x.json"],
        &[],
    ];
    for ((_, line), reports) in LINES.into_iter().zip(reports) {
        let place = copy_of(&template);
        let all = changes(&place, line);
        let mut unsynced = BTreeSet::new();
        for (act, path) in &all {
            match act.as_str() {
                "Write" => drop(unsynced.insert(path)),
                "Sync" => drop(unsynced.remove(path)),
                "Rename" => assert!(unsynced.is_empty(), "{line}: {} before {unsynced:?}", path.display()),
                _ => {}
            }
        }
        let reports: Vec<PathBuf> = reports.iter().map(|report| place.path(report)).collect();
        let Some(first) = reports.first() else { continue };
        // From the end of the first report to the beginning of the last one.
        let at = |act: &str, path: &Path| all.iter().position(|(is, of)| is == act && of == path);
        let goes = at("Remove", first).unwrap_or_else(|| panic!("{line}: {} stays", first.display()));
        let acts: Vec<(&str, &PathBuf)> = all[goes..].iter().map(|(act, path)| (act.as_str(), path)).collect();
        let removed: Vec<&PathBuf> = acts.iter().take(reports.len()).map(|(_, path)| *path).collect();
        assert!(removed.iter().eq(&reports.iter().collect::<Vec<_>>()), "{line}: {removed:?}");
        let is_last = |path: &PathBuf| reports.contains(path);
        let mut order = acts
            .iter()
            .skip(reports.len())
            .map(|(act, path)| match *act {
                "Rename" if is_last(path) => "report",
                "Rename" | "Remove" if path.ends_with(".thalweg-journal.json") => "journal",
                "Rename" => "name",
                "Remove" => "old",
                "Sync" => "sync",
                other => panic!("{line}: {other} {}", path.display()),
            })
            .collect::<Vec<_>>();
        order.dedup();
        order.retain(|act| *act != "old");
        order.dedup();
        assert_eq!(order, ["sync", "name", "sync", "report", "sync", "journal"], "{line}");
    }
}

/// Recipes at sizes that they accept, quick ones first.
fn recipes() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes");
    let quick = ["thermal", "hydrology", "stream_power", "trees", "pipes"];
    let quick = quick.map(|name| folder.join(format!("models/{name}.toml")));
    let all = || {
        let files = [folder.join("../crates/thalweg-sim/presets"), folder.join("models")]
            .into_iter()
            .flat_map(|folder| fs::read_dir(folder).unwrap());
        let mut files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
        files.sort();
        files
    };
    let files = long::or(quick.to_vec(), all());
    files.iter().map(|path| fs::canonicalize(path).unwrap().to_str().unwrap().to_string()).collect()
}

#[test]
fn a_run_killed_at_any_time_comes_to_the_same_files() {
    let (kills, recipes) = (long::or(10, 200), recipes());
    let (mut killed, mut from_checkpoint) = (0, 0);
    // A small random generator of its own: it does not matter which moments it gives, only that they differ.
    let mut state = 12_345u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 24)
    };
    for (number, recipe) in recipes.iter().enumerate() {
        let share = kills * (number + 1) / recipes.len() - kills * number / recipes.len();
        if share == 0 {
            continue;
        }
        let reference = Place::quick();
        let file = Path::new(recipe);
        let takes = |cells: &&&str| {
            let is_file = fs::read_to_string(file).unwrap().contains("\nfrom = ");
            let line = if is_file { String::new() } else { format!(" --cells {cells}") };
            run(&reference, &format!("build {recipe}{line} --out w --quiet"), None).status.success()
        };
        let cells = ["64", "128", "256", "512"].iter().find(takes).unwrap_or_else(|| panic!("{recipe} is not built"));
        let is_file = fs::read_to_string(file).unwrap().contains("\nfrom = ");
        let cells = if is_file { String::new() } else { format!(" --cells {cells}") };
        let line = format!("build {recipe}{cells} --out w --every 0 --quiet");
        let start = Instant::now();
        assert!(run(&reference, &format!("{line} --fresh"), None).status.success());
        let time = start.elapsed();
        let expected = content(&reference);
        for _ in 0..share {
            let place = Place::quick();
            let mut child = place.command(&line).env("RAYON_NUM_THREADS", "1").spawn().unwrap();
            std::thread::sleep(time.mul_f64(random()) + Duration::from_millis(5));
            child.kill().unwrap();
            let ended = child.wait().unwrap();
            killed += usize::from(!ended.success());
            let checkpoint = place.path("w/checkpoint.thalweg").exists();
            from_checkpoint += usize::from(checkpoint);
            let again = if checkpoint { "resume w/checkpoint.thalweg --quiet" } else { &line };
            let again = run(&place, again, None);
            assert!(again.status.success(), "{recipe}: {}", text(&again.stderr));
            let now = content(&place);
            for (path, bytes) in &expected {
                assert!(now.get(path) == Some(bytes), "{recipe}: {} differs", path.display());
            }
            assert_eq!(now.len(), expected.len(), "{recipe}: {:?}", now.keys().collect::<Vec<_>>());
        }
    }
    println!("{killed} of {kills} runs were killed before their end, {from_checkpoint} left a checkpoint");
    assert!(killed * 2 > kills && from_checkpoint > 0, "{killed} of {kills} killed, {from_checkpoint} checkpoints");
}

/// The disk fills up while tiles are written, or the process is killed then: files with their final name are complete,
/// there is no manifest, and the same command continues to the same bytes.
#[test]
fn an_export_goes_on_after_a_full_disk() {
    let line = "export dem.tif --for unreal -o e --tiles 3 --quiet";
    let clean = Place::with_dem();
    assert!(run(&clean, line, None).status.success());
    let wanted = content(&clean);
    let manifest = Path::new("e/manifest.json");
    assert_eq!(wanted.keys().filter(|path| path.starts_with("e")).count(), 10);
    for fault in ["full:30", "die:33", "fail:45"] {
        let place = Place::with_dem();
        assert!(!run(&place, line, Some(fault)).status.success(), "{fault}");
        let left = content(&place);
        let tiles = left.keys().filter(|path| path.extension().is_some_and(|ending| ending == "png")).count();
        assert!((1..9).contains(&tiles) && !left.contains_key(manifest), "{fault}: {:?}", left.keys());
        for (path, bytes) in left.iter().filter(|(path, _)| path.extension().is_some_and(|ending| ending == "png")) {
            assert!(wanted.get(path) == Some(bytes), "{fault}: {}", path.display());
        }
        let other = run(&place, "export dem.tif --for unreal -o e --tiles 2 --quiet", None);
        assert!(text(&other.stderr).contains("contains another export"), "{}", text(&other.stderr));
        assert!(run(&place, line, None).status.success(), "{fault}");
        assert!(content(&place) == wanted, "{fault}");
    }
}
