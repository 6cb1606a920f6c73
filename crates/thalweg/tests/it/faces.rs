//! Tests of functions for interfaces other than the command: ground from rows of numbers, a map's cell size,
//! checkpoints as bytes, changes to recipes, real weights, directions from codes, χ.

use crate::support::finish_run;
use thalweg_core::{Field, Georeference, Grid, Height, Terrain};
use thalweg_flow::accumulate::{accumulate_weights, quantize_weights};
use thalweg_flow::{Directions, OUT, VOID, streams};
use thalweg_io::{LoadOptions, Unit, determine_cell_size};
use thalweg_models::models::Models;
use thalweg_sim::presets;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;

#[test]
fn rows_of_numbers_are_ground() {
    let grid = Grid::new([3, 4], 5.0).unwrap();
    // Halves of a unit on both sides of zero, and a value beyond the precision of f32.
    let metres =
        |i: usize, j: usize| [0.5, -0.5, 1.4999, -8000.123456][j] / if j < 3 { 65536.0 } else { 1.0 } + i as f64;
    let rows = |i: usize, row: &mut [f64]| row.iter_mut().enumerate().for_each(|(j, m)| *m = metres(i, j));
    let terrain = Terrain::from_rows(grid.clone(), rows).unwrap();
    for (i, j) in (0..3).flat_map(|i| (0..4).map(move |j| (i, j))) {
        assert_eq!(terrain.ground[(i, j)], Height::from_metres(metres(i, j)).unwrap(), "{i}, {j}");
    }
    assert_eq!([0, 1].map(|j| terrain.ground[(0, j)].0), [1, -1]);
    assert_eq!(terrain.nodata, None);
    // Missing cells are masked and get the lowest height.
    let holes = |i: usize, row: &mut [f64]| (rows(i, row), row[1] = f64::NAN).1;
    let terrain = Terrain::from_rows(grid.clone(), holes).unwrap();
    let lowest = Height::from_metres(metres(0, 3)).unwrap();
    assert!((0..3).all(|i| terrain.is_nodata(i, 1) && terrain.ground[(i, 1)] == lowest));
    assert_eq!(terrain.nodata_count(), 3);
    for (wrong, words) in [
        (16_000.1, "height at row 2, column 3 = 16000.1 m: must be -16000 to 16000 m"),
        (f64::NEG_INFINITY, "row 2, column 3 = -inf m"),
        (1e300, "row 2, column 3"),
    ] {
        let broken = |i: usize, row: &mut [f64]| {
            rows(i, row);
            row[3] = if i == 2 { wrong } else { row[3] };
        };
        let error = Terrain::from_rows(grid.clone(), broken).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let none = Terrain::from_rows(grid, |_, row: &mut [f64]| row.fill(f64::NAN)).unwrap_err().to_string();
    assert!(none.contains("at least one height"), "{none}");
}

#[test]
fn a_maps_cell_size_is_found_as_a_files() {
    let place = |transform, keys: &[u16]| Georeference { transform, keys: keys.to_vec(), ..Georeference::default() };
    let north_up = Some([5e5, 30.0, 0.0, 4e6, 0.0, -30.0]);
    let usual = LoadOptions::default();
    let said = LoadOptions { cell_size: Some(25.0), ..LoadOptions::default() };
    let refused = |place: &Georeference, unit: Option<&str>, options: &LoadOptions| {
        determine_cell_size(place, unit, options).unwrap_err().to_string()
    };
    assert_eq!(determine_cell_size(&place(north_up, &[]), Some("m"), &usual).unwrap(), (30.0, vec![]));
    assert_eq!(determine_cell_size(&place(None, &[]), None, &said).unwrap(), (25.0, vec![]));
    assert!(refused(&place(None, &[]), None, &usual).contains("the map does not state a cell size"));
    let degrees = [1, 1, 0, 1, 1024, 0, 1, 2];
    assert!(refused(&place(north_up, &degrees), None, &usual).contains("is in degrees"));
    let (cell, warnings) = determine_cell_size(&place(north_up, &degrees), None, &said).unwrap();
    assert!(cell == 25.0 && warnings[0].contains("is read with square cells of 25 m"), "{warnings:?}");
    assert!(refused(&place(north_up, &[]), Some("ft"), &usual).contains("heights in `ft`"));
    let metre = LoadOptions { unit: Some(Unit::Metre), ..LoadOptions::default() };
    assert_eq!(determine_cell_size(&place(north_up, &[]), Some("ft"), &metre).unwrap().0, 30.0);
    for cell in [f64::NAN, f64::INFINITY, 0.0, -30.0, 1e6] {
        let asked = LoadOptions { cell_size: Some(cell), ..LoadOptions::default() };
        for place in [place(north_up, &[]), place(None, &[]), place(north_up, &degrees)] {
            let words = format!("cell size = {cell} m: must be 0.001 to 100000 m");
            assert_eq!(refused(&place, None, &asked), words);
        }
    }
}

#[test]
fn a_checkpoint_is_the_same_as_bytes_and_as_a_file() {
    let mut recipe = presets::find_preset("hills").unwrap();
    recipe.cells = 32;
    let mut run = Run::new(recipe).unwrap();
    for _ in 0..4 {
        run.take_step().unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.checkpoint");
    let note = serde_json::json!({"of": "ours"});
    run.save(&path, &note).unwrap();
    let mut bytes = run.to_checkpoint(&note).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    let (mut other, back) = Run::resume_bytes(&bytes).unwrap();
    assert_eq!((other.steps(), back), (run.steps(), note));
    for run in [&mut run, &mut other] {
        finish_run(run);
    }
    assert_eq!(run.terrain(), other.terrain());
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    assert!(Run::resume_bytes(&bytes).err().unwrap().to_string().contains("checksum"));
    for short in [&bytes[..0], &bytes[..10], &bytes[..20]] {
        assert!(Run::resume_bytes(short).is_err());
    }
}

#[test]
fn recipes_are_changed_by_label() {
    let mut recipe = presets::find_preset("hills").unwrap();
    let labels: Vec<String> = recipe.stages.iter().map(|stage| stage.label.clone()).collect();
    let (label, parameter) = (labels[0].as_str(), recipe.stages[0].model.declared()[0].name);
    let value = recipe.stages[0].model.get(parameter).unwrap();
    recipe.set_parameter(label, parameter, &value.into()).unwrap();
    assert_eq!(recipe.hash(), presets::find_preset("hills").unwrap().hash());
    let error = recipe.set_parameter("nobody", parameter, &1.0.into()).unwrap_err().to_string();
    assert!(error.contains("unknown stage `nobody`"), "{error}");
    assert!(recipe.set_parameter(label, "nothing", &1.0.into()).unwrap_err().to_string().contains("unknown parameter"));
    recipe.truncate_after(&labels[1]).unwrap();
    assert_eq!(recipe.stages.len(), 2);
    assert!(recipe.truncate_after(&labels[2]).is_err(), "it is left out by now");
    // Stages without a start of their own.
    let text = "[[stage]]\nmodel = \"thermal\"\n";
    assert!(Recipe::parse(text).is_err());
    let recipe = Recipe::parse_stages(text, &Models::default()).unwrap();
    assert!(Run::new(recipe.clone()).is_err());
    let terrain = Terrain::new(Grid::new([8, 8], 10.0).unwrap());
    assert!(Run::with_terrain(recipe, terrain).is_ok());
}

#[test]
fn codes_come_back_as_directions() {
    let size = [3, 3];
    let all: Directions = Field::from_vec(size, vec![OUT, 2, 3, 0, VOID, 4, 7, 6, OUT]).unwrap().into();
    assert_eq!(streams::from_esri_codes(&streams::to_esri_codes(&all), [false; 2]).unwrap(), all);
    // Eastward out of the field.
    let east = streams::from_esri_codes(&Field::new(size, 1), [true, false]).unwrap();
    assert_eq!(east.as_slice(), &[0, 0, OUT, 0, 0, OUT, 0, 0, OUT]);
    let round = streams::from_esri_codes(&Field::new(size, 1), [false, true]).unwrap();
    assert_eq!((round.as_slice(), round.next(2)), (&[0; 9][..], Some(0)));
    let error = streams::from_esri_codes(&Field::new(size, 3), [false; 2]).unwrap_err().to_string();
    assert!(error.contains("direction at row 0, column 0 = 3"), "{error}");
}

#[test]
fn real_weights_are_summed_without_rounding_on_the_way() {
    let river: Directions = Field::from_vec([1, 5], vec![0, 0, 0, 0, OUT]).unwrap().into();
    // Sums in f64 would lose the small weights or not, depending on the order.
    let weights = Field::from_vec([1, 5], vec![1e-3, 1e12, -1e12, 0.25, 1.0]).unwrap();
    let (parts, part) = quantize_weights(&weights).unwrap();
    let sums = accumulate_weights(&river, &parts).unwrap();
    let real = |k: usize| sums[(0, k)] as f64 * part;
    assert!(part.log2().fract() == 0.0 && part < 1e-5, "{part}");
    assert!((real(2) - 1e-3).abs() <= part && (real(4) - 1.251).abs() <= 2.0 * part, "{} {}", real(2), real(4));
    for magnitude in [1e-200, 1.0, 1e300] {
        let (parts, part) = quantize_weights(&Field::new([2, 3], magnitude)).unwrap();
        let back = parts[(1, 2)] as f64 * part;
        assert!((back / magnitude - 1.0).abs() < 1e-15, "{back}");
    }
    assert_eq!(quantize_weights(&Field::new([2, 2], 0.0)).unwrap().0, Field::new([2, 2], 0));
    assert!(
        quantize_weights(&Field::new([2, 2], f64::NAN)).unwrap_err().to_string().contains("weight at row 0, column 0")
    );
    assert!(quantize_weights(&Field::new([2, 2], f64::MAX)).unwrap_err().to_string().contains("sum of the weights"));
}

#[test]
fn chi_is_the_integral_up_the_river() {
    let river: Directions = Field::from_vec([1, 4], vec![0, 0, 0, OUT]).unwrap().into();
    let areas = Field::from_vec([1, 4], vec![1.0, 4.0, 9.0, 16.0]).unwrap();
    let chi = streams::compute_chi(&river, &areas, 10.0, 0.5, 1.0).unwrap();
    // (1/A)^½ is 1, 1/2, 1/3, 1/4 at the cells.
    let wanted = [1.0 + 0.5, 0.5 + 1.0 / 3.0, 1.0 / 3.0 + 0.25, 0.0].map(|pair| 5.0 * pair);
    let sums = [0, 1, 2, 3].map(|k| wanted[k..].iter().sum::<f64>());
    assert!((0..4).all(|k| (chi[(0, k)] - sums[k]).abs() < 1e-12), "{chi:?}");
    let error =
        |theta, reference| streams::compute_chi(&river, &areas, 10.0, theta, reference).unwrap_err().to_string();
    assert!(error(-0.1, 1.0).contains("theta = -0.1") && error(0.5, 0.0).contains("reference area = 0"));
    assert!(streams::compute_chi(&river, &Field::new([2, 2], 1.0), 10.0, 0.5, 1.0).is_err());
}
