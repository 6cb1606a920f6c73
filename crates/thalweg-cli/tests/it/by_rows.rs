//! Tests of commands on Zarr maps and on files that do not fit into memory: their output equals that of the commands
//! in memory.
#![cfg(target_os = "linux")]

use crate::support::{Place, text};
use serde_json::Value;
use thalweg_core::{Field, Grid, Height, Terrain};
use thalweg_io::{SaveOptions, save_terrain};

fn works(place: &Place, line: &str, mebibytes: u64) -> String {
    let output = place.run_limited(line, mebibytes);
    assert!(output.status.success(), "{line}: {}", text(&output.stderr));
    text(&output.stdout) + &text(&output.stderr)
}

/// The same commands on a file and on a store made from it.
#[test]
fn maps_of_zarr_are_drawn_and_told_as_files() {
    let place = Place::new();
    place.works("generate gradient_noise -o dem.tif --cells 300x700 --cell-size 20 --seed 3 --quiet");
    place.works("crop dem.tif -o dem.zarr --window 0,0,300,700");
    for options in ["", "--scale --legend --max-size 200 --sun 170,20", "--exaggeration 3 --sea-level 10 --ramp atlas"]
    {
        let options = if options.contains("atlas") { options.replace("--ramp atlas", "") } else { options.to_string() };
        place.works(&format!("render map dem.tif -o a.png {options}"));
        let said = place.works(&format!("render map dem.zarr -o b.png {options}"));
        assert!(said.contains("row by row and needs at most "), "{said}");
        assert!(place.read("a.png") == place.read("b.png"), "{options}");
    }
    for (line, ending) in [("mesh", "glb"), ("normals", "png"), ("normals --bump", "png")] {
        place.works(&format!("{line} dem.tif -o a.{ending}"));
        place.works(&format!("{line} dem.zarr -o b.{ending}"));
        assert!(place.read(&format!("a.{ending}")) == place.read(&format!("b.{ending}")), "{line}");
    }
    let told = |name: &str| serde_json::from_str::<Value>(&place.works(&format!("info {name} --json"))).unwrap();
    let (file, store) = (told("dem.tif"), told("dem.zarr"));
    for fact in ["columns", "rows", "cell_size_m", "extent_m", "lowest_m", "highest_m", "mean_m", "nodata_cells"] {
        assert_eq!(file[fact], store[fact], "{fact}");
    }
    assert_eq!((&store["format"], &store["layers"]), (&"Zarr".into(), &"height".into()));
    // A map that fits into memory is measured as a whole.
    let measured = |name: &str| serde_json::from_str::<Value>(&place.works(&format!("measure {name} --json"))).unwrap();
    assert_eq!(measured("dem.tif")["measures"], measured("dem.zarr")["measures"]);
    place.refuses("info none.zarr", &["none.zarr is missing"]);
    place.refuses("render map none.zarr -o c.png", &["none.zarr"]);
    place.refuses("mesh dem.zarr -o dem.zarr/a.glb --trees none.csv", &["none.csv"]);
}

/// Returns the byte counts in a refusal.
fn numbers(message: &str) -> Vec<u64> {
    let words: Vec<&str> = message.split_whitespace().collect();
    let before_bytes = words.windows(2).filter(|two| two[1] == "bytes");
    before_bytes.filter_map(|two| two[0].parse().ok()).collect()
}

/// A long strip that needs three times the memory as a whole that it needs by rows.
#[test]
fn what_memory_does_not_hold_goes_by_rows() {
    let place = Place::quick();
    let size = [16_000, 500];
    let wave = |i: usize, j: usize| {
        200.0 * (i as f64 / 90.0).sin() * (j as f64 / 70.0).cos() + ((i * 31 + j * 17) % 23) as f64
    };
    let ground = Field::from_fn(size, |i, j| Height::from_metres_clamped(wave(i, j)));
    let terrain = Terrain::from_ground(Grid::new(size, 30.0).unwrap(), ground).unwrap();
    save_terrain(place.path("dem.tif"), &terrain, &SaveOptions::default()).unwrap();
    drop(terrain);
    let line = |out: &str| format!("render map dem.tif -o {out} --max-size 1500 --legend");
    place.works(&line("a.png"));
    // The initial memory of a process differs between machines, so the amount that is missing is taken from a refusal
    // by rows.
    let lacks = |mebibytes: u64| {
        let message = text(&place.run_limited(&line("b.png"), mebibytes).stderr);
        let told = numbers(&message);
        (message.contains("row by row: ") && told.len() == 2).then(|| (told[0] - told[1]) / (1 << 20))
    };
    let (few, lack) = (250..900).step_by(30).find_map(|few| Some((few, lacks(few)?))).expect("a refusal");
    let enough = few + lack + 24;
    let said = works(&place, &line("b.png"), enough);
    assert!(said.contains("row by row and needs at most "), "{said}");
    assert!(place.read("a.png") == place.read("b.png"));
    let refused = place.run_limited("render map dem.tif -o c.png --layer wetness", enough);
    let message = text(&refused.stderr);
    assert!(!refused.status.success() && message.contains("--layer") && message.contains("row by row"), "{message}");
    assert!(!place.path("c.png").exists());

    place.works("crop dem.tif -o part.tif --window 0,0,500,4000");
    let whole: Value = serde_json::from_str(&place.works("measure part.tif --json")).unwrap();
    let output = place.run_limited("measure part.tif --json", enough);
    let message = text(&output.stderr);
    assert!(output.status.success() && message.contains("left out"), "{message}");
    let found: Value = serde_json::from_str(text(&output.stdout).lines().last().unwrap()).unwrap();
    let mut counts = [0, 0];
    for (a, b) in whole["measures"].as_array().unwrap().iter().zip(found["measures"].as_array().unwrap()) {
        let is_out = b["missing"].as_str().is_some_and(|why| why.starts_with("left out"));
        counts[usize::from(is_out)] += 1;
        assert!(is_out || a == b, "{a} {b}");
    }
    assert!(counts[0] == 29 && counts[1] > 10, "{counts:?}");

    let told = |output: String| serde_json::from_str::<Value>(output.lines().next().unwrap()).unwrap();
    let (whole, found) =
        (told(place.works("info dem.tif --json")), told(works(&place, "info dem.tif --json", enough - 60)));
    assert_eq!(whole, found);
    for (line, name) in [("mesh dem.tif -o a.glb", "a.glb"), ("normals dem.tif -o n.png", "n.png")] {
        let refused = place.run_limited(line, enough);
        let message = text(&refused.stderr);
        assert!(!refused.status.success() && message.contains("thalweg resample dem.tif --cells "), "{message}");
        assert!(!place.path(name).exists());
    }
}
