//! Tests of the margin, which is built around the map and cropped, so that rivers enter and leave the map.

use crate::support::{finish_run, run_recipe};
use proptest::prelude::*;
use thalweg_core::terrain::Cells;
use thalweg_core::{Cell, Edge, Terrain};
use thalweg_render::products::measure::measure_terrain;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;

const NOISE: &str = "[[stage]]\nmodel = \"gradient_noise\"\nlabel = \"hills\"\namplitude = 200.0\nwavelength = 900.0\n";

const RIVERS: &str = "[[stage]]\nmodel = \"stream_power\"\nlabel = \"rivers\"\nyears = 2e6\nstep = 20000.0\nuplift = 5e-4\n\
    finer = { years = 0.2, step = 0.6 }\n[[stage]]\nmodel = \"drainage\"\n";

fn recipe(head: &str, stages: &str) -> Recipe {
    Recipe::parse(&format!("{head}\n{stages}")).unwrap()
}

fn built(head: &str, stages: &str) -> Terrain {
    run_recipe(recipe(head, stages)).into_terrain()
}

fn refusal(head: &str, stages: &str) -> String {
    let recipe = Recipe::parse(&format!("{head}\n{stages}"));
    recipe.and_then(Run::new).err().unwrap_or_else(|| panic!("{head} runs")).to_string()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Coordinates in metres are relative to the map: noise in it does not depend on the margin.
    #[test]
    fn the_map_has_its_size_and_its_place(
        cells in 1usize..60, tall in 0.3f64..2.0, margin in 0.0f64..0.6, levels in 0u32..3, closed in any::<bool>(),
    ) {
        let edges = if closed { "closed" } else { "open" };
        let cells = cells << levels;
        let coarsest = if levels > 0 { format!("coarsest = {}\n", cells >> levels) } else { String::new() };
        let side = 10.0 * cells as f64;
        let height = (10.0 * (cells >> levels) as f64 * tall).round().max(1.0) * f64::from(1u32 << levels);
        let head = format!("extent = [{side:?}, {height:?}]\ncells = {cells}\nedges = \"{edges}\"\n{coarsest}");
        let Ok(plain) = Recipe::parse(&format!("{head}{NOISE}")).and_then(Run::new) else { return Ok(()) };
        let plain = run_recipe(plain.recipe().clone()).into_terrain();
        let terrain = built(&format!("{head}margin = {margin:?}"), NOISE);
        prop_assert_eq!(terrain.grid.size, plain.grid.size);
        let corner = Cell::new(0, 0);
        prop_assert_eq!((terrain.grid.origin, terrain.grid.first, terrain.grid.world), (corner, corner, plain.grid.size));
        prop_assert!(margin == 0.0 || terrain.grid.edges == [Edge::Open; 4]);
        terrain.grid.check().unwrap();
        // Finer levels are interpolated from the surrounding cells, which are missing at the sides of a map without a
        // margin.
        if levels == 0 {
            prop_assert_eq!(terrain.ground, plain.ground);
        }
    }
}

#[test]
fn what_is_cut_away_is_booked() {
    let run = run_recipe(recipe(
        "extent = [4000.0, 3000.0]\ncells = 128\ncoarsest = 32\nmargin = 0.1",
        &format!("{NOISE}{RIVERS}"),
    ));
    let last = run.grids().len() - 1;
    let changes = run.reports().iter().map(|report| report.mass_balance.solid_change() << (2 * (last - report.level)));
    assert_eq!(run.terrain().sum_solid(), changes.sum::<i128>());
    let trim = run.reports().last().unwrap();
    assert_eq!((trim.label.as_str(), trim.steps, trim.level), ("margin", 1, last));
    assert!(trim.mass_balance.added < 0);
    assert_eq!(run.grids()[0].size, [24 + 6, 32 + 6]);
    assert_eq!(run.terrain().grid.size, [96, 128]);
}

#[test]
fn places_are_those_of_the_map() {
    let strokes = "strokes = [{ step = 0, tool = \"raise\", x = 110.0, y = 70.0, radius = 8.0, strength = 5.0 }]\n\
                   tables = { springs = [{ x = 110.0, y = 70.0, rate = 0.5 }] }\n";
    let head = "extent = [200.0, 100.0]\ncells = 40\nmargin = 0.2";
    let stage = format!("[[stage]]\nmodel = \"fluvial\"\nsteps = 2\nrain = 0.0\n{strokes}");
    let mut run = Run::new(recipe(head, &stage)).unwrap();
    run.take_step().unwrap();
    let springs = run.terrain().tables["springs"].clone();
    assert_eq!((springs.int_column("row").unwrap(), springs.int_column("column").unwrap()), (&[14][..], &[22][..]));
    assert_eq!(run.terrain_without_margin().grid.size, [20, 40]);
    let water = |terrain: &Terrain, cell: [usize; 2]| {
        let Cells::Float(water) = &terrain.layers["water"].cells else { panic!("water is a number") };
        water[(cell[0], cell[1])]
    };
    assert!(water(&run.terrain_without_margin(), [14, 22]) > 0.0);
    finish_run(&mut run);
    let terrain = run.into_terrain();
    assert!(terrain.ground[(14, 22)].metres() > 2.0, "{}", terrain.ground[(14, 22)].metres());
    assert_eq!(terrain.ground[(14, 30)].metres(), 0.0);
}

#[test]
fn a_run_goes_on_from_any_step() {
    let recipe =
        recipe("extent = [2000.0, 2000.0]\ncells = 64\ncoarsest = 32\nmargin = 0.08", &format!("{NOISE}{RIVERS}"));
    let whole = run_recipe(recipe.clone());
    let mut run = Run::new(recipe.clone()).unwrap();
    loop {
        let bytes = run.to_checkpoint(&serde_json::json!(null)).unwrap();
        run = Run::resume_bytes(&bytes).unwrap().0;
        let mark = run.save_mark();
        assert!(mark.is_consistent_with(&recipe));
        run = Run::from_mark(recipe.clone(), &mark).unwrap();
        if run.take_step().unwrap().is_none() {
            break;
        }
    }
    assert_eq!(run.terrain(), whole.terrain());
}

#[test]
fn local_levels_are_of_the_map_alone() {
    let head = "extent = [2560.0, 2560.0]\ncells = 128\nbeyond = \"local\"\nlocal_from = 64\nmargin = 0.1";
    let run = run_recipe(recipe(head, &format!("{NOISE}{RIVERS}")));
    let sizes: Vec<[usize; 2]> = run.grids().iter().map(|grid| grid.size).collect();
    assert_eq!(sizes, [[64 + 14; 2], [128; 2]]);
    assert_eq!(run.terrain().grid.size, [128; 2]);
    let global = run_recipe(recipe(&head.replace("128", "64"), &format!("{NOISE}{RIVERS}")));
    let mean = |terrain: &Terrain| {
        let sum: i64 = terrain.ground.as_slice().iter().map(|height| i64::from(height.0)).sum();
        sum as f64 / terrain.grid.len() as f64 / 65_536.0
    };
    assert!((mean(run.terrain()) - mean(global.terrain())).abs() < 20.0);
}

/// A map without a margin has base level on all sides, and its rim slopes outward. A map with a margin is a section of
/// a larger terrain.
#[test]
fn land_does_not_rise_from_its_frame() {
    let measured = |margin: f64, seed: u32| {
        let head = format!("extent = [9600.0, 9600.0]\ncells = 128\nseed = {seed}\nmargin = {margin:?}");
        let run = run_recipe(recipe(&head, &format!("{NOISE}{RIVERS}")));
        let measures = measure_terrain(run.terrain(), &Default::default()).unwrap();
        let value = |name: &str| measures.value(name).unwrap();
        (value("rim_outward"), value("rim_rise"))
    };
    for seed in 1..=3 {
        let [(bare, bare_rise), (kept, rise)] = [0.0, 0.1].map(|margin| measured(margin, seed));
        assert!(bare > 75.0 && bare_rise > 0.06, "{seed}: {bare} {bare_rise}");
        assert!((25.0..75.0).contains(&kept) && rise.abs() < 0.06, "{seed}: {kept} {rise}");
    }
}

#[test]
fn a_margin_that_cannot_be_is_refused() {
    let head = "extent = [200.0, 100.0]\ncells = 20";
    for (more, said) in [
        ("margin = 1.5", "margin"),
        ("margin = -0.1", "0 to 1"),
        ("margin = \"wide\"", "margin"),
        ("margin = 0.1\nedges = \"looped\"", "looped"),
        ("margin = 0.1\nsea_level = 0.0\ncontinents = { spacing = 2e4 }", "continents"),
    ] {
        let refusal = refusal(&format!("{head}\n{more}"), NOISE);
        assert!(refusal.contains(said), "{refusal}");
    }
    let from = refusal("from = \"dem.tif\"\nmargin = 0.1", NOISE);
    assert!(from.contains("extent"), "{from}");
    let layers = format!("{NOISE}layers = {{ amount = \"amount.tif\" }}\n");
    assert!(refusal(&format!("{head}\nmargin = 0.1"), &layers).contains("layers"));
    let plates =
        refusal("extent = [2e6, 2e6]\ncells = 64\nsea_level = 0.0\nmargin = 0.1", "[[stage]]\nmodel = \"plates\"\n");
    assert!(plates.contains("margin = 0.1") && plates.contains("cells to each side)"), "{plates}");
    // One cell gets a margin of one cell.
    assert_eq!(built("extent = [10.0, 10.0]\ncells = 1\nmargin = 0.5", NOISE).grid.size, [1, 1]);
}
