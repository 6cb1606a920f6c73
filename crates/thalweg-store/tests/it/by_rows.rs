//! Tests that maps drawn, measured and summarised by rows, from files and from stores, equal those computed in memory.

use std::path::Path;

use thalweg_core::base::rng::RandomKey;
use thalweg_core::{CellRect, Field, Grid, Height, Terrain};
use thalweg_io::{LoadOptions, SampleType, SaveOptions, load_terrain, save_shaded, save_terrain};
use thalweg_render::pictures::light::Sun;
use thalweg_render::pictures::look::LookOptions;
use thalweg_render::pictures::shade::{ShadeOptions, draw_map};
use thalweg_render::products::measure::{MeasureOptions, measure_terrain};
use thalweg_store::{ElevationFile, MapRows, Reshape, Reshaped};

/// Builds rough hills with holes in the data.
fn land([rows, cols]: [usize; 2]) -> Terrain {
    let key = RandomKey::new(11, "by rows");
    let ground = Field::from_fn([rows, cols], |i, j| {
        let hills = 300.0 + 150.0 * (i as f64 / 43.0).sin() * (j as f64 / 29.0).cos();
        Height::from_metres_clamped(hills + 8.0 * key.for_cell([i as i64, j as i64]).uniform_signed())
    });
    let hole = |i: usize, j: usize| (i as f64 - 510.0).hypot(j as f64 - 90.0) < 35.0 || (i > 900 && j < 4);
    let nodata = Some(Field::from_fn([rows, cols], hole));
    Terrain { nodata, ..Terrain::from_ground(Grid::new([rows, cols], 10.0).unwrap(), ground).unwrap() }
}

fn check(path: &Path, terrain: &Terrain, sea: Option<Height>, folder: &Path) {
    let mut terrain = terrain.clone();
    terrain.grid.sea_level = sea;
    let file = ElevationFile::open(path, &LoadOptions::default()).unwrap();
    let rows = MapRows::from_file(&file, sea).unwrap();
    let look = LookOptions { sun: Sun { azimuth: 160.0, altitude: 15.0 }, ..LookOptions::default() };
    for options in [ShadeOptions::default(), ShadeOptions { look, scale_bar: true, legend: true, max_size: Some(333) }]
    {
        let picture = folder.join("map.png");
        save_shaded(&picture, rows.to_shaded_map(&options).unwrap()).unwrap();
        assert!(std::fs::read(&picture).unwrap() == draw_map(&terrain, &options).unwrap().to_png().unwrap());
    }
    let settings = MeasureOptions::default();
    let (whole, by_rows) = (measure_terrain(&terrain, &settings).unwrap(), rows.measure(&settings).unwrap());
    assert_eq!([by_rows.cells, [210, 1300]], [whole.cells; 2]);
    for (a, b) in whole.measures.iter().zip(&by_rows.measures).filter(|(_, b)| b.value.is_some()) {
        assert_eq!(a, b);
    }
    assert!(by_rows.value("slope_median").is_some() && by_rows.value("pits").is_none());
    let summary = rows.summarize().unwrap();
    assert_eq!(summary.range, terrain.elevation_range());
    assert_eq!(
        summary.cells.map(|n| n as usize),
        [terrain.grid.len() - terrain.nodata_count(), terrain.nodata_count()]
    );
    let of_data = |k: &usize| !terrain.nodata.as_ref().unwrap().as_slice()[*k];
    let sum = (0..terrain.grid.len()).filter(of_data).map(|k| i128::from(terrain.ground[k].0)).sum::<i128>();
    assert_eq!(summary.sum, sum);
}

#[test]
fn of_files_and_stores_as_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("land.tif");
    let options = SaveOptions { sample: Some(SampleType::F32), nodata: Some(-9999.0), ..SaveOptions::default() };
    save_terrain(&source, &land([1300, 210]), &options).unwrap();
    let terrain = load_terrain(&source, &LoadOptions::default()).unwrap().terrain;
    check(&source, &terrain, None, folder.path());
    let file = ElevationFile::open(&source, &LoadOptions::default()).unwrap();
    let all = Reshape::Crop(CellRect::new([0, 0], [1300, 210]));
    let store = folder.path().join("land.zarr");
    Reshaped::from_file(&file, all).unwrap().save_store(&store, &source, 100).unwrap();
    check(&store, &terrain, Some(Height::from_metres_clamped(250.0)), folder.path());
}
