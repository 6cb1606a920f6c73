//! Tests of `rivers` and `check-rivers` on a real elevation model, with requested settings, and with invalid ones.

use crate::support::{Place, text};
use thalweg_io::read_raster;

const REAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../thalweg-sim/presets/jacksboro.tif");

#[test]
fn a_real_model_gets_rivers_that_pass_every_check() {
    let place = Place::new();
    place.write("dem.tif", std::fs::read(REAL).unwrap());
    let said = place.works("rivers dem.tif -o out");
    let report = place.json("out/rivers.json");
    let files: Vec<&str> = report["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
    assert_eq!(files.len(), 20);
    assert!(files.iter().all(|file| said.contains(file) && !place.read(&format!("out/{file}")).is_empty()));
    assert!(report["rivers"].as_u64().unwrap() > 50 && report["lakes"].as_u64().unwrap() > 10, "{report}");
    let dem = read_raster(place.path("dem.tif")).unwrap();
    for file in files.iter().filter(|file| file.ends_with(".tif")) {
        let raster = read_raster(place.path(&format!("out/{file}"))).unwrap();
        assert_eq!((raster.size, raster.georeference), (dem.size, dem.georeference.clone()), "{file}");
    }
    let checks = place.works("check-rivers out");
    assert_eq!(checks.lines().count(), 12, "{checks}");
    assert!(checks.lines().all(|line| line.starts_with("100.00 %") || line.contains("the land drains")), "{checks}");
    let land: f64 = checks.lines().find(|line| line.contains("the land drains")).unwrap()[..6].trim().parse().unwrap();
    assert!(
        land >= 99.0 && said.contains("of the land now drains to the edge, the sea or a lake; before, 5.60 % did"),
        "{land} {said}"
    );
    // One thread and two threads give the same bytes.
    place.works("rivers dem.tif -o one --threads 1 --quiet");
    place.works("rivers dem.tif -o two --threads 2 --quiet");
    for name in ["height.tif", "rivers.geojson", "lakes.fgb", "rivers.png", "water.glb"] {
        assert_eq!(place.read(&format!("one/{name}")), place.read(&format!("two/{name}")), "{name}");
    }
    // A corrupted value is found.
    let rivers = String::from_utf8(place.read("out/rivers.geojson")).unwrap();
    place.write("out/rivers.geojson", rivers.replacen("\"discharge_m3_s\":", "\"discharge_m3_s\":9", 1));
    let output = place.run("check-rivers out");
    assert!(!output.status.success() && text(&output.stdout).contains("discharges sum where rivers meet"));
    place.refuses("check-rivers nowhere", &["height.tif"]);
}

#[test]
fn wishes_are_taken_and_what_cannot_be_is_refused() {
    let place = Place::with_dem();
    place.works(
        "rivers dem.tif -o a --catchment 0.02km2 --spring 10,10,2 --pass 20,30,200 --mouth 29,5 --seed 4 --quiet",
    );
    place.works("check-rivers a");
    place.works("rivers dem.tif -o b --catchment 20000 --set method=sampled --set spacing=150 --quiet");
    assert!(place.json("b/rivers.json")["rivers"].as_u64().unwrap() > 0);
    place.refuses("rivers dem.tif -o c --spring 99,1,1", &["springs[1].row = 99", "0 to 29"]);
    place.refuses("rivers dem.tif -o c --spring 5,5,1 --sea-level 9000", &["spring", "a cell of land outside the sea"]);
    place.refuses("rivers dem.tif -o c --set breadth=3", &["breadth"]);
    place.refuses("rivers dem.tif -o c --layer snow=dem.tif", &["snow", "rain"]);
    place.refuses("rivers dem.tif -o c --mouth-at 1e9,0", &["--mouth-at"]);
    // A map that is all sea has no rivers, and every check passes.
    place.works("rivers dem.tif -o d --sea-level 9000 --quiet");
    place.works("check-rivers d");
}
