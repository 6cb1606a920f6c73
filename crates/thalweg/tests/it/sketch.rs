//! Tests of sketches: a drawing is read, refused where it contradicts itself, and respected by the ground whatever
//! model made it.

use std::path::Path;

use crate::long;
use crate::support::{finish_run, run_recipe, with_threads};
use thalweg_core::{Extent, Point, Terrain};
use thalweg_flow::{FlowGraph, Land};
use thalweg_sim::knobs::Knobs;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;
use thalweg_sim::sketch::{Sketch, SketchFeature, SketchFrom, SketchKind, SketchWorld};

const WORLD: SketchWorld = SketchWorld { extent: Extent { width: 15360.0, height: 15360.0 }, sea_level: Some(0.0) };

/// A river with a tributary, two ridges next to them, and heights on a ridge and in a valley.
const MASSIF: &str = r#"{"type": "FeatureCollection", "features": [
{"type": "Feature", "properties": {"kind": "river"}, "geometry": {"type": "LineString", "coordinates": [[4000, 3500], [5000, 6000], [7500, 7500], [8000, 10000], [10500, 12000], [11000, 15360]]}},
{"type": "Feature", "properties": {"kind": "river"}, "geometry": {"type": "LineString", "coordinates": [[12500, 6000], [10500, 8000], [8000, 10000]]}},
{"type": "Feature", "properties": {"kind": "ridge"}, "geometry": {"type": "LineString", "coordinates": [[6500, 1500], [7000, 4000], [9500, 5500], [11000, 3500], [13500, 2500]]}},
{"type": "Feature", "properties": {"kind": "ridge"}, "geometry": {"type": "LineString", "coordinates": [[1500, 8000], [4000, 10500], [5500, 13500]]}},
{"type": "Feature", "properties": {"kind": "height", "height": 1500}, "geometry": {"type": "Point", "coordinates": [9500, 5500]}},
{"type": "Feature", "properties": {"kind": "height", "height": 500}, "geometry": {"type": "Point", "coordinates": [13000, 11000]}}
]}"#;

/// A river across the whole map, and a ridge along it.
const PASSAGE: &str = r#"{"type": "FeatureCollection", "features": [
{"type": "Feature", "properties": {"kind": "river"}, "geometry": {"type": "LineString", "coordinates": [[13800, 2000], [10000, 4200], [6500, 4800], [4200, 7500], [0, 8800]]}},
{"type": "Feature", "properties": {"kind": "ridge"}, "geometry": {"type": "LineString", "coordinates": [[13500, 6500], [10000, 8000], [7000, 10500], [6500, 13500]]}}
]}"#;

/// Terrain with uplift and incision on levels, as in the mountain presets.
const MOUNTAINS: &str = r#"
[[stage]]
model = "gradient_noise"
amplitude = 300.0
wavelength = 3500.0
octaves = 8

[[stage]]
model = "stream_power"
finer = { years = 0.1, step = 0.6 }
years = 2.4e6
step = 30000.0
uplift = 8e-4
deposition = 0.3

[[stage]]
model = "outlets"
levels = "last"
"#;

/// Noise alone, with droplets on it: models that do not use uplift.
const HILLS: &str = r#"
[[stage]]
model = "gradient_noise"
amplitude = 500.0
wavelength = 5000.0
octaves = 7

[[stage]]
model = "droplets"
levels = "last"
density = 0.1
"#;

/// The width of the first level's cells in metres.
const COARSE: f64 = 240.0;

fn recipe(folder: &Path, sketch: &str, stages: &str, seed: u64) -> Recipe {
    std::fs::write(folder.join("lines.geojson"), sketch).unwrap();
    let head = "extent = [15360.0, 15360.0]\ncoarsest = 64\ncells = 256\nsketch = \"lines.geojson\"\n";
    let mut recipe = Recipe::parse(&format!("{head}seed = {seed}\n{stages}")).unwrap();
    recipe.folder = folder.into();
    recipe
}

fn cell(terrain: &Terrain, Point { x, y }: Point) -> [usize; 2] {
    let at = |metres: f64, count: usize| ((metres / terrain.grid.cell) as usize).min(count - 1);
    [at(y, terrain.grid.rows()), at(x, terrain.grid.cols())]
}

/// Returns points along a line, half a coarse cell apart, with the line's direction.
fn stops(feature: &SketchFeature) -> Vec<(Point, [f64; 2])> {
    let along = |pair: &[Point]| {
        let [Point { x: ax, y: ay }, Point { x: bx, y: by }] = [pair[0], pair[1]];
        let long = (bx - ax).hypot(by - ay);
        let count = (long / (COARSE / 2.0)).ceil() as usize;
        let between = move |a: f64, b: f64, k: usize| a + (b - a) * k as f64 / count as f64;
        let at = move |k: usize| Point::new(between(ax, bx, k), between(ay, by, k));
        (0..=count).map(move |k| (at(k), [(bx - ax) / long, (by - ay) / long])).collect::<Vec<_>>()
    };
    feature.points.windows(2).flat_map(along).collect()
}

/// Returns the greatest distance, in coarse cells, from a river's line to the flow path that begins at its head. The
/// computation is independent of the library's measure.
fn farthest(terrain: &Terrain, feature: &SketchFeature) -> f64 {
    let drainage = FlowGraph::new(&Land::from_terrain(terrain));
    let (size, cols) = (terrain.grid.cell, terrain.grid.cols());
    let along = |n: usize| n as f64 * size + size / 2.0;
    let middle = |k: usize| Point::new(along(k % cols), along(k / cols));
    let apart = |a: Point, b: Point| (a.x - b.x).hypot(a.y - b.y);
    let near = (0..terrain.grid.len()).filter(|k| apart(middle(*k), feature.points[0]) <= 1.5 * COARSE);
    let mut here = near.max_by_key(|k| drainage.upstream_cells().as_slice()[*k]);
    let mut path = Vec::new();
    while let Some(k) = here {
        path.push(middle(k));
        here = drainage.next(k);
    }
    let gap = |place: Point| path.iter().map(|at| apart(*at, place)).fold(f64::INFINITY, f64::min);
    stops(feature).into_iter().map(|(place, _)| gap(place)).fold(0.0, f64::max) / COARSE
}

/// Returns the share of a ridge's line that is higher than both sides at a distance of three coarse cells.
fn stands(terrain: &Terrain, feature: &SketchFeature) -> f64 {
    let (size, [rows, cols]) = (terrain.grid.cell, terrain.grid.size);
    let stops = stops(feature);
    let is_over = |(Point { x, y }, [along, down]): &(Point, [f64; 2])| {
        let cells = (0..rows).flat_map(|i| (0..cols).map(move |j| [i, j]));
        let is_near = |[i, j]: &[usize; 2]| {
            let far = |k: usize, at: f64| (k as f64 + 0.5) * size - at;
            far(*i, *y).hypot(far(*j, *x)) <= COARSE
        };
        let top = cells.filter(is_near).map(|[i, j]| terrain.ground[(i, j)]).max();
        [-3.0, 3.0].into_iter().all(|side| {
            let [x, y] = [x + side * COARSE * down, y - side * COARSE * along];
            let is_within = [x, y].iter().all(|at| (0.0..WORLD.extent.width).contains(at));
            let [i, j] = cell(terrain, Point::new(x.max(0.0), y.max(0.0)));
            !is_within || Some(terrain.ground[(i, j)]) < top
        })
    };
    stops.iter().filter(|stop| is_over(stop)).count() as f64 / stops.len() as f64
}

fn assert_kept(terrain: &Terrain, sketch: &str, what: &str) {
    let sketch = Sketch::parse(sketch, &WORLD).unwrap();
    let [low, high] = terrain.elevation_range().unwrap().map(|height| height.metres());
    for (feature, kept) in sketch.features().iter().zip(sketch.measure_adherence(terrain, COARSE)) {
        match feature.kind {
            SketchKind::River => {
                let far = farthest(terrain, feature);
                assert!(far <= 2.0, "{what}: water runs {far:.2} cells away");
            }
            SketchKind::Ridge => {
                let stands = stands(terrain, feature);
                assert!(stands >= 0.9 && kept.share >= 0.9, "{what}: {stands:.3} stands, {:.3} parts", kept.share);
            }
            _ => {
                let [i, j] = cell(terrain, feature.points[0]);
                let off = (terrain.ground[(i, j)].metres() - feature.heights[0]).abs() / (high - low);
                assert!(off <= 0.05, "{what}: {off:.3} of the relief is missing");
            }
        }
    }
}

#[test]
fn mountains_keep_what_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    for seed in long::or(&[1, 4][..], &[1, 2, 3, 4, 5, 6]) {
        for (name, sketch) in [("massif", MASSIF), ("passage", PASSAGE)] {
            let terrain = run_recipe(recipe(folder.path(), sketch, MOUNTAINS, *seed)).into_terrain();
            assert_kept(&terrain, sketch, &format!("{name}, seed {seed}"));
        }
    }
}

#[test]
fn lines_that_leave_the_map_go_on_through_its_margin() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, sketch) in [(2, MASSIF), (3, PASSAGE)] {
        let mut recipe = recipe(folder.path(), sketch, MOUNTAINS, seed);
        recipe.set_margin(0.08).unwrap();
        let terrain = run_recipe(recipe).into_terrain();
        assert_eq!(terrain.grid.size, [256, 256]);
        assert_kept(&terrain, sketch, &format!("seed {seed}"));
    }
}

#[test]
fn noise_keeps_what_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    for seed in long::or(&[1, 2, 3][..], &[1, 2, 3, 4, 5, 6, 7, 8, 9]) {
        for (name, sketch) in [("massif", MASSIF), ("passage", PASSAGE)] {
            let terrain = run_recipe(recipe(folder.path(), sketch, HILLS, *seed)).into_terrain();
            assert_kept(&terrain, sketch, &format!("{name}, seed {seed}"));
        }
    }
}

#[test]
fn the_ledger_closes_and_a_run_taken_up_again_has_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let new = || Run::new(recipe(folder.path(), MASSIF, MOUNTAINS, 3)).unwrap();
    let mut run = new();
    let file = folder.path().join("state");
    let mut steps = 0;
    loop {
        let (cells, solid) = (run.terrain().grid.len() as i128, run.terrain().sum_solid());
        let Some(progress) = run.take_step().unwrap() else { break };
        // One unit of the coarser level is four of the finer.
        let times = run.terrain().grid.len() as i128 / cells;
        assert_eq!(
            run.terrain().sum_solid() - times * solid,
            progress.mass_balance.solid_change(),
            "{}",
            progress.label
        );
        steps += 1;
        // In the middle of the first level's rivers, whose factors are in the file.
        if steps == 30 {
            run.save(&file, &serde_json::Value::Null).unwrap();
        }
    }
    let (mut again, _) = Run::resume(&file).unwrap();
    finish_run(&mut again);
    assert_eq!(again.terrain().fingerprints(), run.terrain().fingerprints());
    assert_eq!(again.reports().len(), run.reports().len());
    let threads = with_threads(3, || {
        let mut run = new();
        finish_run(&mut run);
        run.terrain().fingerprints()
    });
    assert_eq!(threads, run.terrain().fingerprints());
    assert!(!run.terrain().layers.contains_key("erodibility"), "its factors are one stage's");
}

#[test]
fn land_and_sea_lie_where_a_coast_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let coast = r#"{"type": "FeatureCollection", "features": [
        {"type": "Feature", "properties": {"kind": "coast"}, "geometry": {"type": "Polygon", "coordinates":
            [[[3000, 3000], [9000, 2000], [13000, 6000], [11000, 12500], [5000, 12000], [2500, 8000], [3000, 3000]]]}},
        {"type": "Feature", "properties": {"kind": "river"}, "geometry": {"type": "LineString", "coordinates": [[6000, 5500], [8500, 8500], [8500, 13000]]}}
    ]}"#;
    for stages in [HILLS, MOUNTAINS] {
        let mut recipe = recipe(folder.path(), coast, stages, 2);
        recipe.sea_level = Some(0.0);
        let terrain = run_recipe(recipe).into_terrain();
        let kept = Sketch::parse(coast, &WORLD).unwrap().measure_adherence(&terrain, COARSE);
        assert!(kept.iter().all(|kept| kept.share >= 0.98), "{kept:?}");
    }
}

/// Returns a feature collection from pairs of properties and geometry.
fn collection(features: &[(&str, &str)]) -> String {
    let feature = |(properties, geometry): &(&str, &str)| {
        format!("{{\"type\": \"Feature\", \"properties\": {{{properties}}}, \"geometry\": {geometry}}}")
    };
    let features: Vec<_> = features.iter().map(feature).collect();
    format!("{{\"type\": \"FeatureCollection\", \"features\": [{}]}}", features.join(","))
}

fn line(points: &str) -> String {
    format!("{{\"type\": \"LineString\", \"coordinates\": [{points}]}}")
}

#[test]
fn what_contradicts_itself_is_refused_by_its_number() {
    let (ridge, river, height) = ("\"kind\": \"ridge\"", "\"kind\": \"river\"", "\"kind\": \"height\"");
    let across = line("[1000, 5000], [9000, 5000]");
    let down = line("[5000, 1000], [5000, 9000]");
    let point = "{\"type\": \"Point\", \"coordinates\": [500, 500]}";
    let ring = "{\"type\": \"Polygon\", \"coordinates\": [[[100, 100], [4000, 100], [4000, 4000], [100, 100]]]}";
    let cases: Vec<(String, &[&str])> = vec![
        ("{".into(), &["not valid JSON"]),
        ("{\"type\": \"Topology\"}".into(), &["FeatureCollection"]),
        (collection(&[]), &["is empty"]),
        (collection(&[("\"kind\": \"lake\"", &across)]), &["feature 1", "unknown kind `lake`", "river"]),
        (collection(&[("", &across)]), &["feature 1", "has no `kind`", "ridge, river, coast, height"]),
        (collection(&[(ridge, &across), (ridge, "null")]), &["feature 2", "no geometry"]),
        (collection(&[(river, point)]), &["feature 1", "a river has the geometry `Point`", "LineString"]),
        (collection(&[(height, point)]), &["feature 1", "needs a `height`"]),
        (collection(&[("\"kind\": \"height\", \"height\": 2e5", point)]), &["feature 1", "-16000 to 16000 m"]),
        (collection(&[("\"kind\": \"ridge\", \"strength\": 2", &across)]), &["feature 1", "strength = 2", "0 to 1"]),
        (collection(&[("\"kind\": \"ridge\", \"heigth\": 2", &across)]), &["feature 1", "did you mean `height`"]),
        (
            collection(&[("\"kind\": \"river\", \"height\": [10, 20]", &across)]),
            &["feature 1", "uphill", "10 m", "20 m"],
        ),
        (
            collection(&[("\"kind\": \"river\", \"height\": [10]", &across)]),
            &["feature 1", "one number for each of its 2"],
        ),
        (collection(&[(ridge, &across), (river, &down)]), &["features 1 and 2", "uphill", "crosses a ridge"]),
        (collection(&[(river, &across), (river, &down)]), &["features 1 and 2", "two rivers cross"]),
        (
            collection(&[("\"kind\": \"ridge\", \"height\": -3", &across)]),
            &["feature 1", "through the sea", "more than 0 m"],
        ),
        (
            collection(&[("\"kind\": \"coast\"", ring), (ridge, &across)]),
            &["feature 2", "through the sea", "feature 1"],
        ),
        (collection(&[("\"kind\": \"coast\"", ring), (river, &across)]), &["feature 2", "begins in the sea"]),
        (collection(&[("\"kind\": \"coast\", \"height\": 3", ring)]), &["feature 1", "sea_level"]),
        (
            collection(&[(river, &line("[1000, 5000], [20000, 5000]"))]),
            &["feature 1", "outside the world", "0 to 15360"],
        ),
        (collection(&[(river, &line("[0, 0], [5000, 5000], [5000, 0], [0, 5000]"))]), &["feature 1", "crosses itself"]),
        (collection(&[(river, &line("[500, 500]"))]), &["feature 1", "two or more points"]),
        (collection(&[(river, &line("[500, 500], [\"a\", 2]"))]), &["feature 1", "[x, y] in metres"]),
        (collection(&[(river, &line("[8.21, 46.52], [8.3, 46.6]"))]), &["look like degrees", "metres"]),
        (
            collection(&[
                ("\"kind\": \"height\", \"height\": 1", point),
                ("\"kind\": \"height\", \"height\": 2", point),
            ]),
            &["features 1 and 2", "at the same place"],
        ),
    ];
    for (text, wanted) in cases {
        let problem = Sketch::parse(&text, &WORLD).expect_err(&text);
        for word in wanted {
            assert!(problem.contains(word), "{text}\n{problem}\nsays nothing of {word}");
        }
    }
    let dry = SketchWorld { sea_level: None, ..WORLD };
    let problem = Sketch::parse(&collection(&[("\"kind\": \"coast\"", ring)]), &dry).unwrap_err();
    assert!(problem.contains("feature 1") && problem.contains("sea_level"), "{problem}");
}

#[test]
fn features_are_checked_as_a_file_is() {
    let ridge =
        |points: Vec<[f64; 2]>| SketchFeature::new(SketchKind::Ridge, points.into_iter().map(Point::from).collect());
    let sound = ridge(vec![[500.0, 500.0], [900.0, 900.0]]);
    let sketch = Sketch::new(vec![sound.clone()], &WORLD).unwrap();
    assert_eq!(sketch.features(), std::slice::from_ref(&sound));
    let high = SketchFeature { heights: vec![f64::NAN], ..sound.clone() };
    for (wrong, word) in [
        (vec![], "empty"),
        (vec![sound.clone(), ridge(vec![[500.0, 500.0], [-900.0, 900.0]])], "feature 2: point [-900, 900]"),
        (vec![ridge(vec![[500.0, 500.0]])], "feature 1: a line needs two"),
        (vec![high], "feature 1 contains the number NaN"),
        (vec![SketchFeature { width: Some(0.0), ..sound }], "feature 1: width = 0"),
    ] {
        let problem = Sketch::new(wrong, &WORLD).unwrap_err();
        assert!(problem.contains(word), "{problem}");
    }
}

#[test]
fn the_recipe_knows_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let recipe = recipe(folder.path(), MASSIF, HILLS, 1);
    let file = folder.path().join("lines.geojson");
    assert_eq!(recipe.list_input_files(), std::slice::from_ref(&file));
    assert!(recipe.to_toml().contains("sketch = \"lines.geojson\""));
    let whole = recipe.with_absolute_paths().unwrap();
    assert_eq!(whole.sketch.as_ref().and_then(SketchFrom::path), Some(&*file));
    let inside = whole.with_paths_relative_to(folder.path()).unwrap();
    assert_eq!(inside.sketch.as_ref().and_then(SketchFrom::path), Some(Path::new("lines.geojson")));
    std::fs::remove_file(&file).unwrap();
    let problem = Run::new(recipe).err().unwrap().to_string();
    assert!(problem.contains("lines.geojson") && problem.contains("cannot read"), "{problem}");
    let knobs = Knobs { size: 2.0, ..Knobs::default() };
    let problem = knobs.apply_to(&mut whole.clone()).unwrap_err().to_string();
    assert!(problem.contains("size") && problem.contains("are in metres"), "{problem}");
    let looped = Recipe::parse("extent = [100.0, 100.0]\nedges = \"looped\"\nsketch = \"a.geojson\"\n").err().unwrap();
    assert!(looped.to_string().contains("`sketch` only applies to a world without looped edges"), "{looped}");
    // A written sketch is read back unchanged.
    let sketch = Sketch::parse(MASSIF, &WORLD).unwrap();
    assert_eq!(Sketch::parse(&sketch.to_geojson(), &WORLD).unwrap(), sketch);
}
