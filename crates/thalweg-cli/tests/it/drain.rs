//! Tests of `drain` on a real elevation model and on other inputs.

use std::collections::BTreeMap;

use crate::support::{Place, text};
use thalweg_flow::D8;
use thalweg_io::{Samples, read_raster};

const REAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../thalweg-sim/presets/jacksboro.tif");

fn with_real() -> Place {
    let place = Place::new();
    place.write("dem.tif", std::fs::read(REAL).unwrap());
    place
}

const FILES: [&str; 12] = [
    "filled.tif",
    "lake_depth.tif",
    "flow_direction.tif",
    "angles.tif",
    "drainage_area.tif",
    "basins.tif",
    "streams.tif",
    "streams.geojson",
    "streams.fgb",
    "map.png",
    "map.pgw",
    "drain.json",
];

#[test]
fn the_files_of_a_real_model_agree() {
    let place = with_real();
    let said = place.works("drain dem.tif -o out");
    assert!(FILES.iter().all(|name| said.contains(name) && !place.read(&format!("out/{name}")).is_empty()));
    let raster = |name: &str| read_raster(place.path(name)).unwrap();
    let (dem, directions, area) =
        (raster("dem.tif"), raster("out/flow_direction.tif"), raster("out/drainage_area.tif"));
    for name in FILES.iter().filter(|name| name.ends_with(".tif")) {
        assert_eq!(raster(&format!("out/{name}")).georeference, dem.georeference, "{name}");
    }
    let (filled, lakes) = (raster("out/filled.tif").samples, raster("out/lake_depth.tif").samples);
    let [rows, cols] = dem.size;
    let Samples::U8(codes) = &directions.samples else { panic!("ESRI codes are bytes") };
    let Samples::U32(basins) = raster("out/basins.tif").samples else { panic!("basins are counts") };
    let Samples::U8(orders) = raster("out/streams.tif").samples else { panic!("orders are bytes") };

    // The flow accumulation computed from the direction codes alone.
    let next = |k: usize| {
        let [di, dj] = D8::from_esri(codes[k])?.offset();
        let (i, j) = ((k / cols) as isize + di, (k % cols) as isize + dj);
        assert!((0..rows as isize).contains(&i) && (0..cols as isize).contains(&j), "cell {k} leads outside");
        Some(i as usize * cols + j as usize)
    };
    let mut into = vec![1.0; rows * cols];
    for k in 0..rows * cols {
        let (mut at, mut left) = (k, rows * cols);
        while let Some(n) = next(at) {
            into[n] += 1.0;
            (at, left) = (n, left.checked_sub(1).expect("no ring"));
        }
    }
    for k in 0..rows * cols {
        assert_eq!(area.samples.get(k), into[k] * 8100.0, "cell {k}");
        assert_eq!(orders[k] > 0, into[k] >= 100.0, "half a square kilometre is less than a hundred cells here");
        assert!(filled.get(k) >= dem.samples.get(k) && lakes.get(k) == filled.get(k) - dem.samples.get(k));
        if let Some(n) = next(k) {
            assert!(basins[k] == basins[n] && filled.get(k) >= filled.get(n) && orders[k] <= orders[n]);
        }
    }

    let lines = place.json("out/streams.geojson");
    let report = place.json("out/drain.json");
    let lines = lines["features"].as_array().unwrap();
    assert_eq!(report["streams"]["reaches"], lines.len());
    assert_eq!((&report["crs"], &report["threshold_m2"]), (&"EPSG:32616".into(), &810_000.0.into()));
    let sum: f64 = lines.iter().map(|line| line["properties"]["length_m"].as_f64().unwrap()).sum();
    assert!((report["streams"]["length_m"].as_f64().unwrap() - sum).abs() < 1e-6 * sum);
    let t = dem.georeference.unwrap().transform.unwrap();
    let mut owned = BTreeMap::new();
    for line in lines {
        let points = line["geometry"]["coordinates"].as_array().unwrap();
        let cell = |point: &serde_json::Value| {
            let [x, y] = [0, 1].map(|c| point[c].as_f64().unwrap());
            let (i, j) = ((y - t[3]) / t[5] - 0.5, (x - t[0]) / t[1] - 0.5);
            assert!((i - i.round()).abs() < 1e-6 && (j - j.round()).abs() < 1e-6, "lines go by cells' centres");
            i.round() as usize * cols + j.round() as usize
        };
        let cells: Vec<usize> = points.iter().map(cell).collect();
        assert!(cells.windows(2).all(|pair| next(pair[0]) == Some(pair[1])));
        assert!(cells[..cells.len() - 1].iter().all(|k| line["properties"]["order"] == orders[*k]));
        cells[..cells.len() - 1].iter().for_each(|k| *owned.entry(*k).or_insert(0) += 1);
        if let Some(below) = line["properties"]["downstream"].as_u64() {
            let first = &lines[below as usize]["geometry"]["coordinates"][0];
            assert_eq!(cell(first), cells[cells.len() - 1]);
        }
    }
    assert!(owned.values().all(|n| *n == 1));
    let inner = (0..rows * cols).filter(|k| orders[*k] > 0 && next(*k).is_some()).count();
    assert_eq!(owned.len(), inner, "every stream cell that goes on lies in one line");
}

#[test]
fn the_same_bytes_for_any_threads() {
    let place = with_real();
    place.works("drain dem.tif -o one --threads 1 --quiet");
    place.works("drain dem.tif -o four --threads 4 --quiet");
    // An existing folder is overwritten.
    place.works("drain dem.tif -o four --threads 3 --quiet");
    for name in FILES.iter().filter(|name| **name != "drain.json") {
        assert!(place.read(&format!("one/{name}")) == place.read(&format!("four/{name}")), "{name}");
    }
}

#[test]
fn thresholds_outlets_and_edges_are_heeded() {
    let place = Place::with_dem();
    let drained = |options: &str| {
        place.works(&format!("drain dem.tif -o out --quiet {options}"));
        place.json("out/drain.json")
    };
    for area in ["45000", "45000m2", "0.045km2"] {
        let report = drained(&format!("--threshold {area}"));
        assert_eq!(report["threshold_m2"], 45_000.0, "{area}");
        assert!(report["streams"]["cells"].as_u64().unwrap() > 0);
    }
    // With closed edges all the land is one basin, which belongs to the outlet.
    for outlet in ["--outlet 20,7", "--outlet-at 225,-615"] {
        let report = drained(&format!("--edges closed {outlet}"));
        assert_eq!((&report["basins"]["count"], &report["outlets"]), (&1.into(), &serde_json::json!([[20, 7]])));
        let area = read_raster(place.path("out/drainage_area.tif")).unwrap();
        assert_eq!(area.samples.get(20 * 40 + 7), 1200.0 * 900.0);
    }
    assert_eq!(drained("--edges closed")["basins"]["count"], 1);
    assert_eq!(drained("--sea-level 16000")["land_m2"], 0.0);
    let none = drained("--threshold 1000km2");
    assert_eq!((&none["streams"]["reaches"], &none["streams"]["orders"]), (&0.into(), &serde_json::json!([])));
    place.refuses("drain dem.tif -o new --outlet 30,0", &["--outlet = row 30, column 0", "rows 0 to 29"]);
    place.refuses("drain dem.tif -o new --outlet-at 1,1", &["--outlet-at = 1,1", "inside the file"]);
    place.refuses("drain none.tif -o new", &["none.tif"]);
    place.refuses("drain dem.tif -o dem.tif", &["dem.tif"]);
    assert!(!place.path("new").exists(), "nothing is made before all is known to be well");
}

#[test]
fn the_drainage_area_accumulates_by_the_chosen_method() {
    let place = Place::with_dem();
    let area = |options: &str| {
        place.works(&format!("drain dem.tif -o out --quiet {options}"));
        let read = |name: &str| read_raster(place.path(&format!("out/{name}.tif"))).unwrap().samples;
        (read("drainage_area"), read("flow_direction"), read("streams"))
    };
    let (single, directions, streams) = area("");
    let sum = |cells: &thalweg_io::Samples| -> f64 {
        // All water leaves at the cells whose flow leaves the map.
        (0..1200).filter(|k| directions.get(*k) == 0.0).map(|k| cells.get(k)).sum()
    };
    assert_eq!(sum(&single), 1200.0 * 900.0);
    for options in ["--method dinf", "--method mfd", "--method mfd --exponent 4"] {
        let (spread, same, lines) = area(options);
        assert!((sum(&spread) / sum(&single) - 1.0).abs() < 1e-9, "{options}: {}", sum(&spread));
        let differing = (0..1200).filter(|k| (spread.get(*k) - single.get(*k)).abs() > 1.0).count();
        assert!(differing > 600, "{options}: {differing}");
        assert!((0..1200).all(|k| same.get(k) == directions.get(k) && lines.get(k) == streams.get(k)), "{options}");
    }
    place.rejects("drain dem.tif -o new --method d16", &["--method", "d16", "d8", "dinf", "mfd"]);
    place.rejects("drain dem.tif -o new --exponent 0.1", &["--exponent", "0.5 to 10"]);
    place.refuses("drain dem.tif -o new --exponent 2", &["exponent only applies when method is mfd"]);
    assert_eq!(place.json("out/drain.json")["method"], "mfd");
}

#[test]
fn an_option_without_effect_is_refused_with_the_output_that_it_needs() {
    let place = Place::with_dem();
    for option in ["--method mfd", "--exponent 2", "--breach 1,100", "--runoff 300"] {
        let flag = option.split(' ').next().unwrap();
        let words = [flag, "only applies when the output is a file or a folder, not a Zarr store"];
        place.refuses(&format!("drain dem.tif -o new.zarr {option}"), &words);
    }
    let words = ["--skip-lake-outlines only applies when the output is a Zarr store (-o DIR.zarr)"];
    place.refuses("drain dem.tif -o new --skip-lake-outlines", &words);
    place.refuses("drain dem.tif -o new --no-outlines", &words);
    place.works("drain dem.tif -o old.zarr --no-outlines --quiet");
    assert!(place.path("old.zarr").exists() && !place.path("old.lakes.geojson").exists());
}

#[test]
fn channels_are_cut_where_the_limits_allow() {
    let place = Place::with_dem();
    let drained = |options: &str| {
        place.works(&format!("drain dem.tif -o out --quiet {options}"));
        (place.json("out/drain.json"), read_raster(place.path("out/filled.tif")).unwrap().samples)
    };
    let (filled, _) = drained("");
    assert!(filled["breached"].is_null() && filled["lakes"]["cells"].as_u64() > Some(0));
    // Practically without limits, every pit is breached, and no depression is left to fill.
    let (report, surface) = drained("--breach 10000,100000");
    assert_eq!((&report["breached"]["kept"], &report["lakes"]["cells"]), (&0.into(), &0.into()));
    assert!(report["breached"]["pits"].as_u64() > Some(0) && report["breached"]["volume_m3"].as_f64() > Some(0.0));
    let (ground, cut) =
        (read_raster(place.path("dem.tif")).unwrap().samples, read_raster(place.path("out/cut.tif")).unwrap().samples);
    assert!((0..30 * 40).all(|k| (ground.get(k) - cut.get(k) - surface.get(k)).abs() < 1e-3));
    let (none, _) = drained("--breach 0,0");
    assert_eq!(none["breached"]["volume_m3"], 0.0);
    place.rejects(
        "drain dem.tif -o new --breach -1,5",
        &["--breach", "-1,5", "two numbers of 0 or more, or `unlimited`"],
    );
    assert_eq!(drained("--breach unlimited").0["breached"]["kept"], 0);
    assert!(!place.path("new").exists());
}

#[test]
fn it_speaks_in_lines_of_json_or_not_at_all() {
    let place = Place::with_dem();
    assert!(place.works("drain dem.tif -o out --quiet").is_empty());
    let lines: Vec<serde_json::Value> =
        place.works("drain dem.tif -o out --json").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let labels: Vec<&str> = lines.iter().filter_map(|line| line["label"].as_str()).collect();
    assert_eq!(labels, ["breach", "directions", "accumulation", "streams", "files"]);
    let last = lines.last().unwrap();
    assert_eq!((last["event"].as_str(), last["files"].as_array().map(Vec::len)), (Some("result"), Some(FILES.len())));
    assert_eq!(last["drain"], place.json("out/drain.json"));
}

#[test]
fn the_smallest_the_flattest_and_the_holed_work() {
    let place = Place::new();
    for cells in ["1", "1x7", "7x1", "3x2"] {
        place.works(&format!("generate gradient_noise -o small.tif --cells {cells} --cell-size 10 --quiet"));
        place.works("drain small.tif -o small --threshold 0 --quiet");
        place.works("drain small.tif -o shut --threshold 0 --edges closed --quiet");
    }
    place.works("generate shape -o flat.tif --cells 50 --cell-size 10 --set height=0 --quiet");
    let report = |folder: &str| place.json(&format!("{folder}/drain.json"));
    place.works("drain flat.tif -o flat --quiet");
    assert_eq!(report("flat")["lakes"]["cells"], 0);
    let header = "ncols 3\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 10\nNODATA_value nan\n";
    place.write("holes.asc", format!("{header}9 9 nan\n9 1 9\n9 9 9\n"));
    place.works("drain holes.asc -o holes --threshold 0 --quiet");
    let holes = report("holes");
    assert_eq!((&holes["nodata_cells"], &holes["land_m2"]), (&1.into(), &800.0.into()));
    // The middle cell drains into the adjacent hole and has no lake.
    assert_eq!(holes["lakes"]["cells"], 0);
    let codes = read_raster(place.path("holes/flow_direction.tif")).unwrap().samples;
    assert_eq!((codes.get(2), codes.get(4)), (255.0, 0.0));
    let said = place.run("drain holes.asc -o holes --threshold x");
    assert_eq!(said.status.code(), Some(2));
    assert!(text(&said.stderr).contains("such as 0.5km2"));
}

#[test]
fn a_model_s_store_holds_what_its_file_does_and_is_a_source_of_others() {
    let place = with_real();
    let set = "--set steps=5 --set talus=4 --set rock_talus=4";
    place.works(&format!("apply thermal dem.tif -o whole.tif {set}"));
    let said = place.works(&format!("apply thermal dem.tif -o parts.zarr {set}"));
    assert!(said.contains("tiles of 1024"), "{said}");
    place.works("layer parts.zarr height -o parts.tif");
    let samples = |name: &str| read_raster(place.path(name)).unwrap().samples;
    assert!(samples("whole.tif") == samples("parts.tif"));
    let report: serde_json::Value = serde_json::from_str(&text(&place.read("parts.report.json"))).unwrap();
    assert_eq!(report["mass_balance"]["solid_change"], "0", "{report}");

    // The same by separate parts, and with a store as the source, into a store and into a file.
    place.works(&format!("job plan apply thermal dem.tif -o plan.json --store verbs.zarr --tile 256 {set}"));
    let plan: serde_json::Value = serde_json::from_str(&text(&place.read("plan.json"))).unwrap();
    for stage in plan["stages"].as_array().unwrap() {
        for tile in 0..plan["tiles"].as_u64().unwrap() {
            place.works(&format!("job run plan.json {} {tile}", stage["name"].as_str().unwrap()));
        }
        place.works(&format!("job run plan.json {} solve", stage["name"].as_str().unwrap()));
    }
    place.works("layer verbs.zarr height -o verbs.tif");
    assert!(samples("whole.tif") == samples("verbs.tif"));
    place.works("apply thermal parts.zarr -o twice.tif --set steps=2 --set talus=4 --set rock_talus=4");
    place.works("apply thermal parts.zarr -o twice.zarr --set steps=2 --set talus=4 --set rock_talus=4");
    place.works("layer twice.zarr height -o other.tif");
    assert!(samples("twice.tif") == samples("other.tif") && samples("twice.tif") != samples("whole.tif"));
    place.works("render map parts.zarr -o parts.png");
    place.works("drain parts.zarr -o drained.zarr");

    for (words, says) in [
        ("apply thermal dem.tif -o x.zarr --set talus=900", "talus"),
        ("apply thermo dem.tif -o x.zarr", "thermo"),
        ("apply glacier dem.tif -o x.zarr", "a model that can run by tiles"),
        ("apply thermal parts.zarr -o parts.zarr", "is also an input"),
        ("apply thermal dem.tif -o x.zarr --type f64", "--type"),
        ("job plan apply thermal -o plan2.json", "apply MODEL FILE"),
        ("job plan apply thermal dem.tif -o plan2.json --level 2", "--level does not apply to `apply`"),
        ("job plan dem.tif -o plan2.json --set steps=2", "--set does not apply to `drain`"),
    ] {
        place.refuses(words, &[says]);
        assert!(!place.path("x.zarr").exists(), "{words}");
    }
}
