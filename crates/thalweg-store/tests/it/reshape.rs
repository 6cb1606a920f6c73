//! Tests that maps cropped and resampled by windows equal those cropped and resampled in memory, to the bit.

use thalweg_core::base::rng::RandomKey;
use thalweg_core::{CellRect, Field, Grid, Height, Terrain};
use thalweg_io::{LoadOptions, SampleType, Samples, SaveOptions, load_terrain, read_raster, save_terrain};
use thalweg_render::products::resample::{crop_terrain, resample_terrain};
use thalweg_store::{ElevationFile, Reshape, Reshaped, Store, WindowedMap as _};

/// Builds rough hills with holes in the data.
fn land([rows, cols]: [usize; 2]) -> Terrain {
    let key = RandomKey::new(5, "reshape");
    let ground = Field::from_fn([rows, cols], |i, j| {
        Height::from_metres_clamped(
            300.0
                + 80.0 * (i as f64 / 19.0).sin()
                + 0.4 * j as f64
                + 20.0 * key.for_cell([i as i64, j as i64]).uniform_signed(),
        )
    });
    let hole = |i: usize, j: usize| (i as f64 - 480.0).hypot(j as f64 - 90.0) < 25.0 || (i > 700 && j < 4);
    let nodata = Some(Field::from_fn([rows, cols], hole));
    Terrain { nodata, ..Terrain::from_ground(Grid::new([rows, cols], 10.0).unwrap(), ground).unwrap() }
}

#[test]
fn by_windows_as_in_memory_into_files_and_stores() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("land.tif");
    let options = SaveOptions { sample: Some(SampleType::F64), nodata: Some(-9999.0), ..SaveOptions::default() };
    save_terrain(&source, &land([1300, 210]), &options).unwrap();
    let terrain = load_terrain(&source, &LoadOptions::default()).unwrap().terrain;
    let file = ElevationFile::open(&source, &LoadOptions::default()).unwrap();
    let windows = [CellRect::new([400, 31], [777, 150]), CellRect::new([0, 0], [1300, 210])];
    let ways = windows
        .map(Reshape::Crop)
        .into_iter()
        .chain([[2599, 419], [1031, 166], [131, 22], [3000, 484]].map(Reshape::Resample));
    for (number, how) in ways.enumerate() {
        let whole = match how {
            Reshape::Crop(window) => crop_terrain(&terrain, window).unwrap(),
            Reshape::Resample(size) => resample_terrain(&terrain, size).unwrap(),
        };
        let reshaped = Reshaped::from_file(&file, how).unwrap();
        assert_eq!(reshaped.grid(), &whole.grid, "{how:?}");
        for sample in [SampleType::F32, SampleType::F64] {
            let [one, other] =
                ["memory", "windows"].map(|name| folder.path().join(format!("{name}_{sample}_{number}.tif")));
            save_terrain(&one, &whole, &SaveOptions { sample: Some(sample), ..options.clone() }).unwrap();
            reshaped.save_cog(&other, sample).unwrap();
            let [one, other] = [one, other].map(|path| read_raster(path).unwrap());
            assert!(one.samples == other.samples, "{how:?} as {sample}");
            assert_eq!(one.georeference, other.georeference);
        }
        let path = folder.path().join(format!("{number}.zarr"));
        reshaped.save_store(&path, &source, 100).unwrap();
        reshaped.save_store(&path, &source, 100).unwrap();
        let store = Store::open_read(&path).unwrap();
        let heights = store.layer("height").unwrap().read_window(CellRect::new([0, 0], whole.grid.size)).unwrap();
        let expected = (0..whole.grid.len()).map(|k| {
            let void = whole.nodata.as_ref().is_some_and(|mask| mask.as_slice()[k]);
            if void { i32::MIN } else { whole.ground.as_slice()[k].0 }
        });
        assert!(heights == Samples::I32(expected.collect()), "{how:?} in a store");
        assert!(reshaped.save_store(&path, &source, 200).is_err(), "another side");
    }
    for wrong in
        [Reshape::Crop(CellRect::new([1000, 0], [400, 10])), Reshape::Resample([10, 500]), Reshape::Resample([0, 5])]
    {
        assert!(Reshaped::from_file(&file, wrong).is_err(), "{wrong:?}");
    }
    let reshaped = Reshaped::from_file(&file, Reshape::Crop(windows[0])).unwrap();
    assert!(reshaped.save_cog(&folder.path().join("x.tif"), SampleType::U16).is_err());
    assert!(!folder.path().join("x.tif").exists());
}
