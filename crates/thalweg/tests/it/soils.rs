//! Tests of soil kinds and rock beds, from a recipe through stages, files, checkpoints and tiles.

use std::path::Path;

use crate::support::{finished, run_recipe};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::Cells;
use thalweg_core::{Field, Grid, Height, Terrain};
use thalweg_io::terrain::save_layer;
use thalweg_models::model::Model;
use thalweg_models::models::soils::Soils;
use thalweg_noise::input_tables::soils::{
    Bed, SOILS, STRATA, Soil, SoilProperties, add_soils, read_soil_kinds, read_soil_numbers, read_strata,
};
use thalweg_sim::recipe::{self, Recipe};
use thalweg_sim::run::{Run, tiles};

const RECIPE: &str = r#"
extent = [900, 600]
cells = 60
seed = 2
[[stage]]
model = "gradient_noise"
wavelength = 300
amplitude = 60
[[stage]]
model = "soils"
dominant = "own"
depth = 1.0
strata_dip = 0.1
strata_warp = 5.0
tables = { soils = [
    { name = "chalk \"A\"", erodibility = 0.4, cohesion = 0.6, talus = 55, permeability = 1e-5 },
    { name = "till", erodibility = 0.7, cohesion = 0.3, talus = 33.5, permeability = 0 },
], strata = [
    { thickness = 4, hardness = 0.9, talus = 70 },
    { thickness = 7.1, hardness = 0.25, talus = 31 },
] }
[[stage]]
model = "thermal"
distance = 100
"#;

fn refused(text: &str, folder: &Path) -> String {
    let mut recipe = match Recipe::parse(text) {
        Ok(recipe) => recipe,
        Err(error) => return error.to_string(),
    };
    recipe.folder = folder.into();
    let mut run = Run::new(recipe).unwrap();
    loop {
        match run.take_step() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("accepted: {text}"),
            Err(error) => return error.to_string(),
        }
    }
}

fn numbers(terrain: &Terrain) -> &Field<u32> {
    read_soil_numbers(terrain).unwrap().unwrap()
}

#[test]
fn a_recipe_s_tables_are_written_back_and_stay_with_the_terrain() {
    let recipe = Recipe::parse(RECIPE).unwrap();
    let tables = &recipe.stages[1].tables;
    assert_eq!(tables.soils[0].name, "chalk \"A\"");
    assert_eq!(tables.strata[1], Bed { thickness: f64::from(7.1f32), hardness: 0.25, talus: 31.0 });
    let again = Recipe::parse(&recipe.to_toml()).unwrap();
    assert_eq!((&again.stages[1].tables, again.hash()), (tables, recipe.hash()));
    let run = run_recipe(recipe);
    let terrain = run.terrain();
    assert_eq!(read_soil_kinds(terrain).unwrap().len(), 8);
    assert_eq!(SoilProperties::from_terrain(terrain).unwrap().permeability[7], 0.0);
    assert!(numbers(terrain).as_slice().contains(&6), "the own kind lies where nothing else does");
    assert_eq!(run.reports()[1].mass_balance, thalweg_models::model::MassBalance::default());
}

#[test]
fn beds_lie_as_the_stage_says() {
    let lean = |text: &str| {
        let run = run_recipe(Recipe::parse(text).unwrap());
        let beds = read_strata(run.terrain()).unwrap().unwrap();
        move |row, column| beds.elevation_offset(row, column)
    };
    let plain = lean(&RECIPE.replace("strata_warp = 5.0", "strata_base = 3.0"));
    let period = f64::from((4.0f64 * 65_536.0) as i32 + (f64::from(7.1f32) * 65_536.0).round() as i32);
    let (sin, cos) = 120f64.to_radians().sin_cos();
    for (row, column) in [(0, 0), (0, 20), (39, 3), (17, 59)] {
        // A dip of one tenth towards the south-east from the corner of the world, with cells of 15 m, in units.
        let [south, east] = [row, column].map(|k: i64| (k as f64 + 0.5) * 15.0);
        let want = 65_536.0 * (0.1 * (sin * east - cos * south) - 3.0);
        let off = (f64::from(plain(row, column)) - want).rem_euclid(period);
        assert!(off < 2.0 || off > period - 2.0, "{row}, {column}: {off}");
    }
    // The stage's key warps the beds: another label gives another warp, the same label the same.
    let [warped, again] = [lean(RECIPE), lean(RECIPE)];
    let other = lean(&RECIPE.replace("model = \"soils\"", "model = \"soils\"\nlabel = \"ground\""));
    assert!((0..40).all(|row| warped(row, 30) == again(row, 30)));
    assert!((0..40).any(|row| warped(row, 30) != other(row, 30)));
}

#[test]
fn a_checkpoint_between_stages_keeps_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state");
    let plain = run_recipe(Recipe::parse(RECIPE).unwrap());
    let mut run = Run::new(Recipe::parse(RECIPE).unwrap()).unwrap();
    while run.take_step().unwrap().unwrap().label != "soils" {}
    run.save(&file, &serde_json::Value::Null).unwrap();
    let (resumed, _) = Run::resume(&file).unwrap();
    assert_eq!(resumed.terrain().fingerprints(), run.terrain().fingerprints());
    let resumed = finished(resumed);
    assert_eq!(resumed.terrain().fingerprints(), plain.terrain().fingerprints());
    let names = resumed.terrain().tables.keys().map(String::as_str);
    assert_eq!(names.collect::<Vec<_>>(), [SOILS, STRATA, "strata_lie"]);
}

#[test]
fn a_map_from_a_file_is_checked_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let text = RECIPE.replace("depth = 1.0", "layers = { soil = \"soil.tif\" }");
    let write = |size: [usize; 2], odd: u32| {
        let terrain = Terrain::new(Grid::new(size, 15.0).unwrap());
        let field = Field::from_fn(size, |i, j| if (i, j) == (3, 7) { odd } else { ((i + j) % 8) as u32 });
        save_layer(folder.path().join("soil.tif"), &terrain, "soil", &Cells::Count(field.clone())).unwrap();
        field
    };
    let field = write([40, 60], 7);
    let mut recipe = Recipe::parse(&text).unwrap();
    recipe.folder = folder.path().into();
    let run = run_recipe(recipe);
    assert_eq!(numbers(run.terrain()), &field, "the map outlives its stage");
    write([40, 60], 8);
    let message = refused(&text, folder.path());
    assert!(message.contains("layer `soil` contains kind 8 at row 3, column 7"), "{message}");
    assert!(message.contains("there are 8 kinds, 0 to 7"), "{message}");
    write([41, 60], 0);
    let message = refused(&text, folder.path());
    assert!(message.contains("is 60 × 41 cells (columns × rows); it must be 60 × 40"), "{message}");
}

#[test]
fn tables_go_to_models_that_keep_them() {
    let here = Path::new("");
    let with = |old: &str, new: &str| refused(&RECIPE.replace(old, new), here);
    assert!(with("{ soils = [", "{ soil = [").contains("did you mean `soils`"));
    assert!(with("distance = 100", "tables = { strata = [] }").contains("there are none"));
    assert!(with("], strata", "], springs = [], strata").contains("unknown input table `springs`"));
    assert!(with("hardness = 0.25", "hardness = 2").contains("strata[2].hardness = 2: must be 0 to 1"));
    let schema = recipe::recipe_schema(&thalweg_models::models::Models::default());
    let stages = schema["properties"]["stage"]["items"]["oneOf"].as_array().unwrap();
    let tables = |title: &str| {
        let stage = stages.iter().find(|stage| stage["title"] == title).unwrap();
        stage["properties"]["tables"]["properties"].as_object().map(|tables| tables.keys().cloned().collect::<Vec<_>>())
    };
    assert_eq!(tables("soils"), Some(vec!["soils".to_string(), "strata".to_string()]));
    assert_eq!(tables("fluvial"), Some(vec!["springs".to_string()]));
    assert_eq!(tables("thermal"), None);
    let stage = stages.iter().find(|stage| stage["title"] == "soils").unwrap();
    let kind = &stage["properties"]["tables"]["properties"]["soils"]["items"];
    let required: Vec<_> = kind["required"].as_array().unwrap().iter().map(|key| key.as_str().unwrap()).collect();
    assert!(["name", "erodibility", "cohesion", "talus", "permeability"].iter().all(|key| required.contains(key)));
    assert_eq!(kind["properties"]["talus"]["maximum"], 89.0);
}

#[test]
fn tiles_do_not_multiply_tables_without_places() {
    let land = Field::from_fn([90, 120], |i, j| Height::from_metres_clamped((i * 3 % 50 + j) as f64));
    let mut terrain = Terrain::from_ground(Grid::new([90, 120], 15.0).unwrap(), land).unwrap();
    let kind = thalweg_noise::input_tables::soils::SOIL_KINDS[2].1;
    add_soils(&mut terrain, &[Soil { name: "ash".into(), kind }]).unwrap();
    thalweg_noise::input_tables::soils::strata::set_strata(
        &mut terrain,
        &[Bed { thickness: 9.0, hardness: 0.5, talus: 45.0 }],
    )
    .unwrap();
    let model = Soils { basin: 300.0, depth: 2.0, ..Soils::default() };
    let (mut whole, key) = (terrain.clone(), RandomKey::new(1, "soils"));
    let tick = thalweg_models::model::Tick { key, step: 0 };
    model.start(&whole.grid).unwrap().run_step(&mut whole, tick).unwrap();
    tiles::run_by_tiles(&model, &mut terrain, key, 40).unwrap();
    assert_eq!(terrain.tables[SOILS].len(), 1);
    assert_eq!(terrain.fingerprints(), whole.fingerprints());
}
