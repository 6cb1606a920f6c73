//! Tests of Ctrl-C at any time: in any step of any model, while the final files are written, and more than once.
#![cfg(unix)]

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::long;
use crate::support::{Place, signal, text};

/// The number of stages of a model: more than any machine finishes before the signal.
const STAGES: usize = 200;

/// Returns recipes with many stages of one model each: the signal arrives within the first of them.
fn recipes() -> Vec<(String, String)> {
    let side = long::or(384, 1536);
    let mut recipes = Vec::new();
    for model in thalweg_models::models::all_models() {
        let about = model.about();
        let given: Vec<_> = about.needs.iter().map(|spec| format!("{} = \"dem.tif\"", spec.name)).collect();
        let layers = if given.is_empty() { String::new() } else { format!("layers = {{ {} }}\n", given.join(", ")) };
        // The long form's land has room for more plants than the model takes on patches of the default width.
        let patch = if about.name == "trees" { "patch = 16\n" } else { "" };
        let stage = |n: usize| format!("[[stage]]\nmodel = \"{0}\"\nlabel = \"{0}_{n}\"\n{patch}{layers}", about.name);
        let stages: String = (0..STAGES).map(stage).collect();
        recipes.push((about.name.to_string(), begun(30 * side, side) + &stages));
    }
    // Cells of 100 km with plants on patches of 500 m: one step used to take 86 s.
    recipes.push(("wide trees".into(), begun(600_000, 6) + "[[stage]]\nmodel = \"trees\"\npatch = 500\n"));
    recipes
}

/// Returns a recipe that begins with a ground stage, whose end is the first reported progress.
fn begun(extent: usize, cells: usize) -> String {
    format!(
        "extent = [{extent}, {extent}]\ncells = {cells}\n[[stage]]\nmodel = \"gradient_noise\"\nlabel = \"ground\"\n"
    )
}

/// Measures the time from the signal to the end of the program, whatever step is running and however long it would
/// take.
#[test]
fn ctrl_c_acts_soon_at_any_step() {
    let place = Place::quick();
    let side = long::or(384, 1536);
    place.works(&format!("generate gradient_noise -o dem.tif --cells {side} --cell-size 30 --quiet"));
    let recipes = recipes();
    assert!(recipes.len() > 20);
    let (mut stopped, mut missed, mut longest) = (0, Vec::new(), (Duration::ZERO, ""));
    for (number, (name, recipe)) in recipes.iter().enumerate() {
        place.write("r.toml", recipe);
        let mut child = place
            .command("build r.toml --out w --fresh --json")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        std::io::BufRead::read_line(&mut out, &mut said).unwrap();
        assert!(said.contains("\"progress\""), "{name}: {said}{}", text(&child.wait_with_output().unwrap().stderr));
        // The signal arrives somewhere in the first stages.
        std::thread::sleep(Duration::from_millis(30 * (number as u64 % 5)));
        let sent = Instant::now();
        signal(&child, "-INT");
        std::io::Read::read_to_string(&mut out, &mut said).unwrap();
        let code = child.wait().unwrap().code();
        let time = sent.elapsed();
        // 2 s are allowed, and as much again for a machine that is busy with other work.
        assert!(time < Duration::from_secs(4), "{name}: {time:?}");
        longest = longest.max((time, name));
        if code == Some(130) && place.path("w/checkpoint.thalweg").exists() {
            stopped += 1;
        } else {
            missed.push((name, code));
        }
    }
    println!("{stopped} of {} runs stopped, the slowest ({}) in {:?}", recipes.len(), longest.1, longest.0);
    assert!(stopped * 10 >= recipes.len() * 9, "not stopped: {missed:?}");
}

/// A former world and a new one, which leave other layers.
const FORMER: &str = "name = \"former\"\nextent = [600, 400]\ncells = 24\n[[stage]]\nmodel = \"gradient_noise\"\n[[stage]]\nmodel = \"fluvial\"\nrain = 0\nsteps = 3\ntables = { springs = [{ x = 300, y = 200, rate = 5 }] }\n";
const NEW: &str = "name = \"new\"\nextent = [600, 400]\ncells = 24\n[[stage]]\nmodel = \"gradient_noise\"\nwavelength = 200\n[[stage]]\nmodel = \"drainage\"\n";

/// The command that is run in a folder that has the former world.
const LINE: &str = "build new.toml --out w";

fn place() -> Place {
    let place = Place::quick();
    place.write("former.toml", FORMER);
    place.write("new.toml", NEW);
    place.works("build former.toml --out w --quiet");
    place
}

/// Returns the world's files without the running time and other data that belong to one run alone.
#[cfg(debug_assertions)]
fn world(place: &Place) -> std::collections::BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(place.path("w")).unwrap().map(|entry| entry.unwrap());
    let named =
        entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap_or_default()));
    let mut files: std::collections::BTreeMap<_, _> = named.filter(|(name, _)| name != ".lock").collect();
    if let Some(report) = files.get_mut("report.json") {
        let mut json: serde_json::Value = serde_json::from_slice(report).unwrap();
        for of_this_run in ["seconds", "threads", "files"] {
            json.as_object_mut().unwrap().remove(of_this_run);
        }
        json["stages"].as_array_mut().unwrap().iter_mut().for_each(|stage| stage["seconds"] = 0.into());
        *report = json.to_string().into_bytes();
    }
    files
}

/// Returns the numbers of the changes to the final files: those made while the files are written under temporary
/// names, and those made while they are renamed.
#[cfg(debug_assertions)]
fn changes() -> (Vec<usize>, Vec<usize>) {
    let place = place();
    let output = place.command(LINE).env("THALWEG_FAULT", "tell:0").env("RAYON_NUM_THREADS", "1").output().unwrap();
    let said = text(&output.stderr);
    let told = said.lines().filter_map(|line| line.strip_prefix("fault ")?.split_once(": "));
    let all: Vec<(usize, &str)> = told.map(|(number, change)| (number.parse().unwrap(), change)).collect();
    let written = all.iter().filter(|(_, change)| change.contains(".tmp/") && change.starts_with("Write"));
    let report = all.iter().position(|(_, change)| change.starts_with("Remove") && change.ends_with("report.json"));
    let named = all[report.expect("a former report")..].iter().filter(|(_, change)| !change.starts_with("Sync"));
    (written.map(|(number, _)| *number).collect(), named.map(|(number, _)| *number).collect())
}

/// Runs a command whose change of the given number takes two seconds, and sends the given number of signals during it.
/// Returns the exit code, the program's output, and the time since the first signal.
#[cfg(debug_assertions)]
fn signalled(place: &Place, number: usize, signals: usize) -> (Option<i32>, String, Duration) {
    let mut child = place
        .command(LINE)
        .env("THALWEG_FAULT", format!("slow:{number}"))
        .env("RAYON_NUM_THREADS", "1")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut err = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    std::io::BufRead::read_line(&mut err, &mut said).unwrap();
    assert!(said.starts_with("fault "), "{said}");
    let begun = Instant::now();
    for _ in 0..signals {
        signal(&child, "-INT");
        std::thread::sleep(Duration::from_millis(100));
    }
    std::io::Read::read_to_string(&mut err, &mut said).unwrap();
    (child.wait().unwrap().code(), said, begun.elapsed())
}

/// Until the final files are renamed, the former world is unchanged and the run can be continued from a checkpoint;
/// after that the new world is complete, however often the signal arrives. The third signal ends a run at once, and no
/// trace of the run is left.
#[test]
#[cfg(debug_assertions)]
fn while_the_final_files_are_written_there_is_one_whole_world() {
    let (written, named) = changes();
    assert!(written.len() > 8 && named.len() > 8, "{written:?} {named:?}");
    let [old, new] = [false, true].map(|build| {
        let place = place();
        if build {
            place.works(&format!("{LINE} --quiet"));
        }
        world(&place)
    });
    let some =
        |numbers: &[usize]| [0, numbers.len() / 3, 2 * numbers.len() / 3, numbers.len() - 1].map(|at| numbers[at]);
    let cases =
        some(&written).into_iter().map(|number| (number, false)).chain(some(&named).map(|number| (number, true)));
    let cases: Vec<_> =
        cases.flat_map(|(number, is_named)| [1, 3].map(|signals| (number, is_named, signals))).collect();
    let check = |(number, is_named, signals): (usize, bool, usize)| {
        let place = place();
        let (code, said, time) = signalled(&place, number, signals);
        let mut now = world(&place);
        let case = format!("{number}, {signals} signals: {code:?} in {time:?}: {said}");
        assert_eq!(signals > 1, said.contains("a third Ctrl-C ends it at once"), "{case}");
        if is_named {
            assert_eq!(code, Some(0), "{case}");
            assert!(now == new, "{case} {:?}", now.keys());
            return;
        }
        assert_eq!(code, Some(130), "{case}");
        // The run ends before the slow change is made.
        assert!(time < Duration::from_millis(1800), "{case}");
        let kept = now.remove("checkpoint.thalweg");
        assert!(now == old, "{case} {:?}", now.keys());
        assert_eq!(kept.is_some(), signals == 1, "{case}");
        if kept.is_some() {
            place.works("resume w/checkpoint.thalweg --quiet");
            assert!(world(&place) == new, "{case}");
        }
    };
    std::thread::scope(|scope| {
        for half in cases.chunks(cases.len().div_ceil(4)) {
            scope.spawn(move || half.iter().for_each(|case| check(*case)));
        }
    });
}
