//! Tests that the examples run and do what they document.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::build_preset;
use thalweg_io::{LoadOptions, load_terrain};

/// Returns the path of an example that `cargo test` has built.
fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().expect("this test's file");
    let folder = tests.ancestors().nth(2).expect("target/PROFILE/deps/TEST");
    let path = folder.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(path.is_file(), "{} is not built; cargo build --examples", path.display());
    path
}

/// Runs an example with these arguments in a folder; returns what it printed.
fn run(name: &str, words: &[&str], folder: &Path) -> String {
    let output = Command::new(example(name)).args(words).current_dir(folder).output().expect("it starts");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_preset_is_built() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(run("build_preset", &[], folder.path()), "wrote hills.tif\n");
    let terrain = load_terrain(folder.path().join("hills.tif"), &LoadOptions::default()).expect("a GeoTIFF").terrain;
    assert_eq!(terrain.grid.size, [256, 256]);
}

#[test]
fn an_array_is_eroded() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = run("erode_heights", &[], folder.path());
    let deepest: f64 = said.split(' ').rev().nth(1).and_then(|word| word.parse().ok()).expect("a number of metres");
    assert!((0.1..200.0).contains(&deepest), "{said}");
}

#[test]
fn a_model_of_one_s_own_runs_in_a_recipe() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(run("own_model", &[], folder.path()).starts_with("terraces from "));
}

#[test]
fn a_geotiff_is_drained() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = run("drain_geotiff", &[], folder.path());
    let text = std::fs::read_to_string(folder.path().join("drained/streams.geojson")).expect("the streams");
    let lines: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let count = lines["features"].as_array().expect("features").len();
    assert!(count > 50 && said.starts_with(&format!("{count} channel reaches")), "{said}");
}

#[test]
fn drainage_by_tiles_finds_the_streams_that_are_found_in_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = run("drain_tiles", &["200", "64"], folder.path());
    let streams = |begin: &str| -> usize {
        let line = said.lines().find(|line| line.starts_with(begin)).expect("a line");
        line.split(' ').rev().nth(1).and_then(|word| word.parse().ok()).expect("a number of streams")
    };
    let whole = streams("in memory");
    assert!(whole > 0 && whole == streams("in tiles of 64"), "{said}");
}

#[test]
fn tiles_stream_about_a_camera() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = run("stream", &["hills", "64", "3", "4"], folder.path());
    let lines: Vec<&str> = said.lines().collect();
    let made = |line: &str| -> usize {
        let words: Vec<&str> = line.split(' ').collect();
        words.iter().position(|word| *word == "new,").and_then(|at| words[at - 1].parse().ok()).expect("new tiles")
    };
    assert_eq!(lines.len(), 5, "{said}");
    assert!(made(lines[0]) > made(lines[1]) && made(lines[0]) > 10, "what was there is not made again: {said}");
    assert!(lines[4].starts_with("followed to the edge of the world"), "{said}");
}

#[test]
fn a_run_that_was_stopped_goes_on_to_the_same_bits() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = run("step_with_progress", &[], folder.path());
    let ground = &build_preset("canyon", 128, None).fingerprints()["ground"];
    assert!(said.ends_with(&format!("ground {ground}\n")), "{said}");
}
