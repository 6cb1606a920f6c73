//! Tests of files in every format: written files are read back unchanged, and errors are refused with a message that
//! names them.

use std::fs;
use std::path::Path;

use crate::support::elevation_model_path;
use tempfile::TempDir;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::cell_shape::CellShape;
use thalweg_core::terrain::grid::PixelIs;
use thalweg_core::terrain::{CellType, Cells, HARDNESS, LayerSpec};
use thalweg_core::{Field, Georeference, Grid, Height, Terrain};
use thalweg_io::{
    FilePath, Format, LoadOptions, Loaded, Raster, SampleType, Samples, SaveOptions, Sidecar, load_layer, load_terrain,
    read_raster, save_layer, save_terrain, write_raster,
};

const SIZES: [[usize; 2]; 4] = [[1, 1], [1, 7], [33, 17], [5, 1]];

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Returns samples over the whole range of their type.
fn samples(kind: SampleType, n: usize) -> Samples {
    let bits = |k: usize| RandomKey::new(7, "samples").derive_key(k as u64).random_bits();
    let metres = |k: usize| (bits(k) % 2_000_000_000) as f64 / 65_536.0 - 15_000.0;
    match kind {
        SampleType::U8 => Samples::U8((0..n).map(|k| bits(k) as u8).collect()),
        SampleType::U16 => Samples::U16((0..n).map(|k| bits(k) as u16).collect()),
        SampleType::I16 => Samples::I16((0..n).map(|k| bits(k) as i16).collect()),
        SampleType::I32 => Samples::I32((0..n).map(|k| bits(k) as i32).collect()),
        SampleType::U32 => Samples::U32((0..n).map(|k| bits(k) as u32).collect()),
        SampleType::F32 => Samples::F32((0..n).map(|k| metres(k) as f32).collect()),
        SampleType::F64 => Samples::F64((0..n).map(metres).collect()),
    }
}

/// Builds a terrain of rough heights with or without cells that lack data.
fn terrain(size: [usize; 2], hole: bool) -> Terrain {
    let key = RandomKey::new(3, "terrain");
    let ground =
        Field::from_fn(size, |i, j| Height((key.for_cell([i as i64, j as i64]).random_bits() % 100_000_000) as i32));
    let mut terrain = Terrain::from_ground(Grid::new(size, 2.5).unwrap(), ground).unwrap();
    if hole {
        let mask = Field::from_fn(size, |i, j| (i + j) % 5 == 2);
        let lowest = Terrain { nodata: Some(mask.clone()), ..terrain.clone() }.elevation_range().unwrap()[0];
        for (h, m) in terrain.ground.as_mut_slice().iter_mut().zip(mask.as_slice()) {
            *h = if *m { lowest } else { *h };
        }
        terrain.nodata = Some(mask);
    }
    terrain
}

fn plain(path: impl Into<FilePath>) -> Loaded {
    load_terrain(path, &LoadOptions::default()).unwrap()
}

fn refused(path: impl Into<FilePath>) -> String {
    load_terrain(path, &LoadOptions::default()).unwrap_err().to_string()
}

#[test]
fn every_format_holds_every_sample_type_it_says() {
    let folder = folder();
    for ending in ["tif", "TIFF", "png", "npy", "asc", "r16", "r32", "exr"] {
        let path = folder.path().join(format!("a.{ending}"));
        for kind in Format::from_path(&path).unwrap().writable_types() {
            for size in SIZES {
                let raster = Raster::new(size, samples(*kind, size[0] * size[1]));
                write_raster(&path, &raster).unwrap();
                if size[0] != size[1] && ending.starts_with('r') {
                    assert!(read_raster(&path).is_err()); // not square, and without a sidecar
                    continue;
                }
                let back = read_raster(&path).unwrap();
                assert_eq!(back.size, size);
                match (&back.samples, &raster.samples) {
                    // An ASCII grid has no sample type: f64 represents them all, and an f32 written in its shortest
                    // form is read as the same f32.
                    (Samples::F64(back), Samples::F32(f32)) => {
                        assert!(back.iter().zip(f32).all(|(b, s)| *b as f32 == *s));
                    }
                    (Samples::F64(back), other) => {
                        assert!(back.iter().enumerate().all(|(k, b)| *b == other.get(k)));
                    }
                    (back, other) => assert_eq!(back, other),
                }
            }
        }
    }
}

#[test]
fn georeference_nodata_scale_and_unit_survive_a_geotiff() {
    let folder = folder();
    let path = folder.path().join("a.tif");
    for pixel in [PixelIs::Area, PixelIs::Point] {
        let kind = if pixel == PixelIs::Point { 2 } else { 1 };
        for transform in [[500_000.0, 30.0, 0.0, 4_000_000.0, 0.0, -30.0], [100.0, 2.0, 0.5, 200.0, 0.25, -2.0]] {
            let georeference = Georeference {
                transform: Some(transform),
                pixel,
                keys: vec![1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, kind, 3072, 0, 1, 32616],
                doubles: vec![0.1, -7.0],
                ascii: "somewhere|else|".to_string(),
            };
            let raster = Raster {
                nodata: Some(f64::from(f32::MIN)),
                scale: [0.01, -50.0],
                scaled: true,
                unit: Some("m".to_string()),
                georeference: Some(georeference),
                ..Raster::new([3, 2], samples(SampleType::F32, 6))
            };
            write_raster(&path, &raster).unwrap();
            assert_eq!(read_raster(&path).unwrap(), raster);
        }
    }
}

#[test]
fn a_real_model_comes_back_the_same() {
    let folder = folder();
    let first = plain(elevation_model_path());
    assert_eq!((first.terrain.grid.size, first.terrain.grid.cell), ([345, 325], 90.0));
    assert_eq!((first.sample, first.nodata_count, first.warnings.len()), (SampleType::F32, 0, 0));
    // As read by GDAL: 236.98262 and 1074.5349 (f32).
    let [low, high] = first.terrain.elevation_range().unwrap().map(Height::metres);
    assert!((low - 236.98262).abs() < 1e-4 && (high - 1074.5349).abs() < 1e-4);

    let path = folder.path().join("again.tif");
    let options = SaveOptions { sample: Some(SampleType::F64), ..SaveOptions::default() };
    assert!(save_terrain(&path, &first.terrain, &options).unwrap().is_empty());
    let second = plain(&path);
    assert_eq!(second.terrain, first.terrain);
    let (raw, again) = (
        read_raster(elevation_model_path()).unwrap().georeference.unwrap(),
        read_raster(&path).unwrap().georeference.unwrap(),
    );
    assert_eq!(raw, again);
    assert_eq!(raw.transform.unwrap(), [731749.219455807, 90.0, 0.0, 4068416.1625951687, 0.0, -90.0]); // GDAL's
    assert!(raw.keys.len() > 4 && !raw.ascii.is_empty());
    assert!(!Sidecar::path_for(&path).exists());
}

#[test]
fn f64_is_exact_with_and_without_holes_and_nodata_comes_back() {
    let folder = folder();
    for size in SIZES {
        for hole in [false, true] {
            if hole && size[0] * size[1] < 3 {
                continue;
            }
            let before = terrain(size, hole);
            for name in ["a.tif", "a.npy", "a.asc"] {
                let path = folder.path().join(name);
                let nodata = Some(-1234.5);
                let options = SaveOptions { sample: Some(SampleType::F64), nodata, ..SaveOptions::default() };
                save_terrain(&path, &before, &options).unwrap();
                let after = plain(&path);
                assert_eq!(after.terrain.ground, before.ground, "{name} {size:?}");
                assert_eq!(after.terrain.nodata, before.nodata);
                assert_eq!(after.terrain.grid.cell, before.grid.cell);
                assert_eq!(after.nodata, hole.then_some(-1234.5));
                assert_eq!(after.nodata_count, before.nodata_count());
            }
        }
    }
}

#[test]
fn sixteen_bits_come_back_within_half_a_code_by_their_sidecar() {
    let folder = folder();
    for size in SIZES {
        for hole in [false, true] {
            if hole && size[0] * size[1] < 3 {
                continue;
            }
            let before = terrain(size, hole);
            let [low, high] = before.elevation_range().unwrap().map(Height::metres);
            // Half a code, and half a unit of the fixed-point heights.
            let allowed = 0.5 * (high - low) / 65_534.0 + 1.0 / 65_536.0;
            for name in ["a.png", "a.r16", "b.tif", "b.npy"] {
                let path = folder.path().join(name);
                let seed = Some(9);
                let options = SaveOptions { sample: Some(SampleType::U16), seed, ..SaveOptions::default() };
                save_terrain(&path, &before, &options).unwrap();
                let after = plain(&path);
                assert_eq!(after.terrain.nodata, before.nodata, "{name} {size:?}");
                assert_eq!(after.terrain.grid.cell, 2.5);
                for (a, b) in after.terrain.ground.as_slice().iter().zip(before.ground.as_slice()) {
                    assert!((a.metres() - b.metres()).abs() <= allowed, "{name}: {a} for {b}");
                }
                assert!(after.warnings.is_empty(), "{:?}", after.warnings);
                assert_eq!(Sidecar::read_for(&path).unwrap().unwrap().seed, Some(9));
            }
        }
    }
}

#[test]
fn unscaled_files_take_their_metres_from_options_or_say_the_default() {
    let folder = folder();
    let path = folder.path().join("a.png");
    write_raster(&path, &Raster::new([1, 4], Samples::U16(vec![0, 13107, 65535, 1]))).unwrap();
    let metres = |loaded: &Loaded| loaded.terrain.ground.as_slice()[..3].iter().map(|h| h.metres()).collect::<Vec<_>>();
    let asked = LoadOptions { height: Some([-100.0, 400.0]), cell_size: Some(7.0), ..LoadOptions::default() };
    let loaded = load_terrain(&path, &asked).unwrap();
    assert_eq!((metres(&loaded), loaded.terrain.grid.cell), (vec![-100.0, 0.0, 400.0], 7.0));
    assert!(loaded.warnings.is_empty());
    let default = plain(&path);
    assert_eq!(metres(&default), [0.0, 200.0, 1000.0]);
    assert!(default.warnings.iter().any(|w| w.contains("0 to 1000 m")));
    assert!(default.warnings.iter().any(|w| w.contains("does not state a cell size")));

    let normal = folder.path().join("a.npy");
    write_raster(&normal, &Raster::new([1, 3], Samples::F32(vec![0.0, 0.25, 1.0]))).unwrap();
    assert_eq!(metres(&load_terrain(&normal, &asked).unwrap()), [-100.0, 25.0, 400.0]);
    write_raster(&normal, &Raster::new([1, 3], Samples::F32(vec![0.0, 0.25, 1.5]))).unwrap();
    assert!(load_terrain(&normal, &asked).unwrap_err().to_string().contains("column 2"));
    for height in [[5.0, 5.0], [0.0, 20_000.0], [f64::NAN, 1.0]] {
        assert!(load_terrain(&path, &LoadOptions { height: Some(height), ..LoadOptions::default() }).is_err());
    }
    assert!(load_terrain(&path, &LoadOptions { cell_size: Some(-1.0), ..asked }).is_err());
}

#[test]
fn a_sidecar_of_another_size_is_refused() {
    let folder = folder();
    let path = folder.path().join("a.png");
    save_terrain(&path, &terrain([8, 8], false), &SaveOptions::default()).unwrap();
    write_raster(&path, &Raster::new([2, 2], Samples::U16(vec![0; 4]))).unwrap();
    assert!(refused(&path).contains("another file"));
}

#[test]
fn raw_files_heed_order_of_rows_and_bytes() {
    let folder = folder();
    let path = folder.path().join("a.raw");
    fs::write(&path, [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]).unwrap();
    assert!(read_raster(&path).unwrap_err().to_string().contains("do not make a square"));
    let sidecar = r#"{"minimum": 0, "maximum": 65535, "cell_size": 1, "rows": 3, "columns": 2, "sample": "u16",
        "byte_order": "big", "row_order": "south"}"#;
    fs::write(Sidecar::path_for(&path), sidecar).unwrap();
    assert_eq!(read_raster(&path).unwrap().samples, Samples::U16(vec![1280, 1536, 768, 1024, 256, 512]));
}

#[test]
fn no_data_is_masked_counted_and_stands_at_the_lowest_height() {
    let folder = folder();
    let path = folder.path().join("a.tif");
    let stored = |values: Vec<f32>, nodata| {
        write_raster(&path, &Raster { nodata, ..Raster::new([1, values.len()], Samples::F32(values)) }).unwrap();
    };
    let lowest = |loaded: &Loaded| {
        assert_eq!(loaded.terrain.nodata_count(), loaded.nodata_count);
        (loaded.nodata_count, loaded.terrain.ground.as_slice().iter().map(|h| h.metres()).collect::<Vec<_>>())
    };
    stored(vec![5.0, -7.0, f32::NAN, 3.0], Some(-7.0));
    assert_eq!(lowest(&plain(&path)), (2, vec![5.0, 3.0, 3.0, 3.0]));
    for value in [-9999.0, -32768.0, -32767.0, f32::MIN, f32::MAX, -3.4e38] {
        stored(vec![5.0, value, 3.0], None);
        let loaded = plain(&path);
        assert_eq!(lowest(&loaded), (1, vec![5.0, 3.0, 3.0]));
        assert_eq!(loaded.nodata, Some(f64::from(value)));
        assert!(loaded.warnings.iter().any(|w| w.contains("no data")));
    }
    stored(vec![-9998.0, -9999.0, -10_000.0], None); // a trench
    assert_eq!(plain(&path).nodata_count, 0);
    stored(vec![5.0, f32::INFINITY, 3.0], None);
    assert!(refused(&path).contains("column 1"));
    let options = LoadOptions { infinite_is_nodata: true, ..LoadOptions::default() };
    assert_eq!(load_terrain(&path, &options).unwrap().nodata_count, 1);
    for all in [vec![f32::NAN, f32::NAN], vec![-9999.0, -9999.0], vec![f32::MAX]] {
        stored(all, None);
        assert!(refused(&path).contains("has no data"));
    }
    stored(vec![5.0, 16_001.0], None);
    assert!(refused(&path).contains("row 0, column 1"));
    // A nodata value that equals some height is replaced.
    let options = SaveOptions { nodata: Some(100.0), ..SaveOptions::default() };
    let holed = terrain([33, 17], true);
    assert!(save_terrain(&path, &holed, &options).unwrap()[0].contains("-9999"));
    assert_eq!(plain(&path).terrain.nodata, holed.nodata);
}

#[test]
fn degrees_and_oblong_cells_are_read_feet_and_rotated_cells_are_refused() {
    let folder = folder();
    let path = folder.path().join("N45E010.hgt");
    fs::write(&path, [0, 1, 0, 2, 0, 3, 0, 4]).unwrap();
    let is_geographic = |path: &Path| matches!(plain(path).terrain.grid.shape, CellShape::Geographic(_));
    assert!(is_geographic(&path));
    let options = LoadOptions { cell_size: Some(30.0), ..LoadOptions::default() };
    let loaded = load_terrain(&path, &options).unwrap();
    assert_eq!(loaded.terrain.grid.cell, 30.0);
    assert!(loaded.warnings[0].contains("degrees"));
    // The terrain that was read is written back with its degrees.
    let again = folder.path().join("again.tif");
    save_terrain(&again, &loaded.terrain, &SaveOptions::default()).unwrap();
    assert!(is_geographic(&again));
    let place = |path: &Path| read_raster(path).unwrap().georeference.unwrap().transform.unwrap();
    assert_eq!(place(&path), place(&again));

    let path = folder.path().join("a.tif");
    let stored = |transform, keys| {
        let georeference = Some(Georeference { transform: Some(transform), keys, ..Georeference::default() });
        write_raster(&path, &Raster { georeference, ..Raster::new([1, 1], Samples::F32(vec![1.0])) }).unwrap();
    };
    let square = [0.0, 10.0, 0.0, 0.0, 0.0, -10.0];
    stored(square, vec![1, 1, 0, 2, 1024, 0, 1, 1, 3076, 0, 1, 9003]);
    assert!(refused(&path).contains("US survey foot"));
    stored(square, vec![1, 1, 0, 2, 1024, 0, 1, 1, 4099, 0, 1, 9002]);
    assert!(refused(&path).contains("foot") && load_terrain(&path, &options).is_err());
    stored([0.0, 10.0, 0.0, 0.0, 0.0, -12.0], vec![]);
    assert_eq!(plain(&path).terrain.grid.shape, CellShape::Rectangular { width: 10.0, height: 12.0 });
    stored([0.0, 10.0, 1.0, 0.0, 0.0, -10.0], vec![]);
    assert!(refused(&path).contains("rotated") && load_terrain(&path, &options).is_err());
}

#[test]
fn eight_bits_warn_and_deterrace_smooths() {
    let folder = folder();
    let path = folder.path().join("a.png");
    let codes =
        |stretch: u16| (0..40 * 60).map(|k| ((k / 60 * 3 + k % 60 * 2 + 6) / 12) as u16 * stretch).collect::<Vec<_>>();
    let eight = Samples::U8(codes(1).iter().map(|c| *c as u8).collect());
    for samples in [eight, Samples::U16(codes(257))] {
        write_raster(&path, &Raster::new([40, 60], samples)).unwrap();
        let options =
            LoadOptions { height: Some([0.0, 510.0]), cell_size: Some(1.0), deterrace: true, ..LoadOptions::default() };
        let rough = load_terrain(&path, &LoadOptions { deterrace: false, ..options.clone() }).unwrap();
        assert!(rough.warnings.iter().any(|w| w.contains("2.000 m")), "{:?}", rough.warnings);
        let smooth = load_terrain(&path, &options).unwrap();
        assert!(smooth.warnings.is_empty());
        let step = |t: &Terrain| (0..59).map(|j| (t.ground[(20, j + 1)].0 - t.ground[(20, j)].0).abs()).max().unwrap();
        assert_eq!(step(&rough.terrain), 2 * 65_536);
        assert!(step(&smooth.terrain) < 65_536);
    }
}

#[test]
fn wrong_endings_folders_and_empty_files_are_named() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    write_raster(path("a.png"), &Raster::new([2, 2], Samples::U8(vec![0; 4]))).unwrap();
    fs::copy(path("a.png"), path("b.tif")).unwrap();
    assert!(refused(path("b.tif")).contains("is a PNG file, not a TIFF"));
    fs::write(path("c.asc"), "").unwrap();
    assert!(refused(path("c.asc")).contains("is empty"));
    fs::create_dir(path("d.tif")).unwrap();
    assert!(refused(path("d.tif")).contains("is a folder"));
    assert!(refused(path("none.tif")).contains("none.tif"));
    assert!(refused(path("a.dxf")).contains(".tif"));
    let terrain = terrain([2, 2], false);
    assert!(save_terrain(path("a.hgt"), &terrain, &SaveOptions::default()).unwrap_err().to_string().contains("HGT"));
    let options = SaveOptions { sample: Some(SampleType::F32), ..SaveOptions::default() };
    assert!(save_terrain(path("a.png"), &terrain, &options).unwrap_err().to_string().contains("u16"));
    assert!(!path("a.hgt").exists());
}

#[test]
fn layers_are_written_and_read() {
    let folder = folder();
    let terrain = terrain([4, 6], false);
    let grid = &terrain.grid;
    let float = Cells::Float(Field::from_fn([4, 6], |i, j| i as f32 + 0.25 * j as f32));
    let count = Cells::Count(Field::from_fn([4, 6], |i, j| (i * 100 + j) as u32));
    let height = Cells::Height(terrain.ground.clone());
    let spec = |cells| LayerSpec { cells, ..LayerSpec::floats("x", "m", "") };
    for name in ["a.tif", "a.npy", "a.asc"] {
        let path = folder.path().join(name);
        for (cells, kind) in [(&float, CellType::Float), (&count, CellType::Count)] {
            save_layer(&path, &terrain, "x", cells).unwrap();
            assert_eq!(load_layer(&path, grid, &spec(kind)).unwrap(), *cells);
        }
    }
    let path = folder.path().join("a.tif");
    save_layer(&path, &terrain, "x", &height).unwrap();
    assert_eq!(load_layer(&path, grid, &spec(CellType::Height)).unwrap().size(), [4, 6]);
    assert_eq!(plain(&path).terrain.grid.cell, 2.5);

    let mask = folder.path().join("mask.png");
    write_raster(&mask, &Raster::new([1, 2], Samples::U8(vec![51, 255]))).unwrap();
    let grid = Grid::new([1, 2], 1.0).unwrap();
    let Cells::Float(shares) = load_layer(&mask, &grid, &HARDNESS).unwrap() else { panic!() };
    assert_eq!(shares.as_slice(), [0.2, 1.0]);
    let problem = load_layer(&mask, &terrain.grid, &HARDNESS).unwrap_err().to_string();
    assert!(problem.contains("2 × 1") && problem.contains("6 × 4"), "{problem}");
    let npy = folder.path().join("mask.npy");
    write_raster(&npy, &Raster::new([1, 2], Samples::F32(vec![0.5, f32::NAN]))).unwrap();
    assert!(load_layer(&npy, &grid, &HARDNESS).unwrap_err().to_string().contains("column 1"));
    write_raster(&npy, &Raster::new([1, 2], Samples::F32(vec![0.5, 1.0]))).unwrap();
    assert!(load_layer(&npy, &grid, &spec(CellType::Count)).is_err());
}

#[test]
fn a_tile_is_written_where_it_lies() {
    let folder = folder();
    let path = folder.path().join("tile.tif");
    let whole = plain(elevation_model_path()).terrain;
    let tile = whole.copy_window(thalweg_core::terrain::CellRect::new([10, 20], [5, 7]));
    save_terrain(&path, &tile, &SaveOptions::default()).unwrap();
    let [x, _, _, y, ..] = read_raster(&path).unwrap().georeference.unwrap().transform.unwrap();
    assert_eq!([x, y], [731749.219455807 + 20.0 * 90.0, 4068416.1625951687 - 10.0 * 90.0]);
}
