//! Tests of how a run reports progress, is stopped, and is resumed.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Place, text};
use serde_json::Value;

/// A run of several seconds with some hundred steps.
const LONG: &str = "generate fault_formation -o x.tif --cells 600 --cell-size 20 --set count=8000";

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Waits until `ready` returns true, for at most a minute.
fn until(mut ready: impl FnMut() -> bool) {
    let start = Instant::now();
    while !ready() {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing happens");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn quiet_says_nothing_and_a_pipe_sees_no_bar() {
    let place = Place::with_dem();
    let quiet = place.run("apply shape dem.tif -o x.tif --quiet");
    assert!(quiet.status.success() && quiet.stdout.is_empty() && quiet.stderr.is_empty());
    let plain = place.run("apply shape dem.tif -o x.tif");
    assert!(plain.stderr.is_empty(), "{}", text(&plain.stderr));
    assert!(text(&plain.stdout).contains("x.tif"));
    // Warnings are still printed: a PNG without a sidecar has no cell size.
    place.works("apply shape dem.tif -o x.png");
    std::fs::remove_file(place.path("x.png.json")).unwrap();
    let warned = place.run("apply shape x.png -o y.tif --quiet");
    assert!(warned.status.success() && text(&warned.stderr).starts_with("warning: "));
}

#[test]
fn json_is_lines_of_progress_and_one_result() {
    let place = Place::with_dem();
    let events = lines(&place.works("apply gradient_noise dem.tif -o x.tif --json"));
    let (last, before) = events.split_last().unwrap();
    assert!(!before.is_empty() && before.iter().all(|event| event["event"] == "progress"));
    assert_eq!(before.last().unwrap()["done"], before.last().unwrap()["all"]);
    assert_eq!(last["event"], "result");
    assert!(last["files"][0].as_str().unwrap().ends_with("x.tif"));
    assert_eq!(last["report"]["complete"], true);
    let refused = place.run("apply shape nosuch.tif -o x.tif --json");
    let events = lines(&text(&refused.stdout));
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!((events.len(), &events[0]["event"]), (1, &"error".into()));
    assert!(text(&refused.stderr).contains(events[0]["message"].as_str().unwrap()));
}

#[test]
fn threads_change_nothing() {
    let place = Place::new();
    let fingerprints = [1, 2, 7].map(|threads| {
        place.works(&format!("build hills --cells 100 --out w --threads {threads} --quiet"));
        let report = place.json("w/report.json");
        assert_eq!(report["threads"], threads);
        report["fingerprints"].clone()
    });
    assert_eq!(fingerprints[0], fingerprints[1]);
    assert_eq!(fingerprints[0], fingerprints[2]);
}

#[test]
fn a_folder_in_use_is_refused() {
    let place = Place::new();
    place.works("build hills --cells 16 --out w --quiet");
    let lock = std::fs::File::open(place.path("w/.lock")).unwrap();
    lock.lock().unwrap();
    place.refuses("build hills --cells 16 --out w", &["w", "in use", "-o"]);
    drop(lock);
    place.works("build hills --cells 16 --out w --quiet");
}

#[test]
fn a_killed_run_goes_on_to_the_same_bits() {
    let place = Place::new();
    place.works(&format!("{LONG} --quiet --report whole.json"));
    let whole = place.read("x.tif");
    std::fs::remove_file(place.path("x.tif")).unwrap();

    let line = format!("{LONG} --quiet --report killed.json --checkpoint run.thalweg --every 0.2");
    let mut child = place.command(&line).spawn().unwrap();
    until(|| place.path("run.thalweg").exists());
    child.kill().unwrap(); // SIGKILL on Unix, TerminateProcess on Windows: no cleanup is possible
    assert!(!child.wait().unwrap().success());
    assert!(!place.path("x.tif").exists() && !place.path("killed.json").exists());

    // Resumed from another folder, with another number of threads.
    let checkpoint = place.path("run.thalweg");
    let elsewhere = Place::new();
    elsewhere.works(&format!("resume {} --threads 1 --quiet", checkpoint.display()));
    let (expected, report) = (place.json("whole.json"), place.json("killed.json"));
    assert_eq!(report["fingerprints"], expected["fingerprints"]);
    assert_eq!(report["recipe_hash"], expected["recipe_hash"]);
    assert_eq!(report["stages"][0]["mass_balance"], expected["stages"][0]["mass_balance"]);
    assert_eq!(place.read("x.tif"), whole);
    assert!(checkpoint.exists(), "a checkpoint that was asked for stays");
    // A checkpoint with a flipped bit is refused.
    let mut bytes = place.read("run.thalweg");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    place.write("run.thalweg", bytes);
    place.refuses("resume run.thalweg", &["run.thalweg", "damaged"]);
}

#[test]
#[cfg(unix)]
fn ctrl_c_ends_after_the_step_and_says_how_to_go_on() {
    for signal in ["-INT", "-TERM"] {
        let place = Place::new();
        let mut child = place.command(&format!("{LONG} --json")).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        // The first line of progress shows that the process listens for signals.
        let mut said = String::new();
        std::io::BufRead::read_line(&mut out, &mut said).unwrap();
        let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        std::io::Read::read_to_string(&mut out, &mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        let events = lines(&said);
        let last = events.last().unwrap();
        assert_eq!(last["event"], "interrupted", "{said}");
        let words: Vec<&str> = last["resume"].as_str().unwrap().split_whitespace().collect();
        assert_eq!(words[..2], ["thalweg", "resume"]);
        let checkpoint = std::path::Path::new(words[2]);
        assert!(checkpoint.exists() && !place.path("x.tif").exists());
        let events = lines(&place.works(&format!("resume {} --json", words[2])));
        assert!(events[0]["done"].as_u64() > Some(1), "it goes on, not anew");
        assert!(place.path("x.tif").exists());
        assert!(!checkpoint.exists(), "a checkpoint that nobody asked for goes");
    }
}
