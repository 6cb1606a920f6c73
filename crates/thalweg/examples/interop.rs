//! One file of every format for other programs to read, and a reader for the files of other programs: the counterpart of
//! `tests/interop/test_files.py`.
//!
//! `interop write FOLDER REAL.tif` writes `a.tif`, `a.png` … and `expected.json`; `interop read FILE` prints as JSON what
//! the file holds; `interop fill FILE OUTPUT` fills the depressions of an elevation model.

use std::error::Error;
use std::fs;
use std::path::Path;

use serde_json::json;
use thalweg::flow::{Land, fill_depressions};
use thalweg::io::{LoadOptions, SampleType, SaveOptions, load_terrain, read_raster, save_terrain};
use thalweg::terrain::{Field, Grid, Height, Terrain};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", folder, real] => write_all(Path::new(folder), Path::new(real)),
        ["read", file] => print(Path::new(file)),
        ["fill", file, output] => filled(Path::new(file), Path::new(output)),
        _ => Err("usage: interop write FOLDER REAL.tif | interop read FILE | interop fill FILE OUTPUT".into()),
    }
}

/// Writes a small terrain with holes, under the real model's CRS, in every format.
fn write_all(folder: &Path, real: &Path) -> Result<(), Box<dyn Error>> {
    let size = [33, 17];
    let real = load_terrain(real, &LoadOptions::default())?.terrain;
    let grid = Grid { georeference: real.grid.georeference, ..Grid::new(size, real.grid.cell)? };
    let ground = Field::from_fn(size, |i, j| Height((i * 7_654_321 + j * 123_457) as i32 - 20_000_000));
    let mask = Field::from_fn(size, |i, j| (i * 5 + j * 3) % 11 == 4);
    let terrain = Terrain { nodata: Some(mask.clone()), ..Terrain::from_ground(grid, ground)? };
    let local = Terrain { grid: Grid::new(size, 2.5)?, nodata: None, ..terrain.clone() };
    let named = [
        ("f32.tif", SampleType::F32),
        ("f64.tif", SampleType::F64),
        ("u16.tif", SampleType::U16),
        ("u16.png", SampleType::U16),
        ("u8.png", SampleType::U8),
        ("u16.r16", SampleType::U16),
        ("f32.r32", SampleType::F32),
        ("f32.npy", SampleType::F32),
        ("f64.npy", SampleType::F64),
        ("f64.asc", SampleType::F64),
    ];
    for (name, sample) in named {
        let options = SaveOptions { sample: Some(sample), nodata: Some(-9999.0), ..SaveOptions::default() };
        save_terrain(folder.join(name), &terrain, &options)?;
        save_terrain(folder.join(format!("local_{name}")), &local, &options)?;
    }
    let metres: Vec<f64> = terrain.ground.as_slice().iter().map(|h| h.metres()).collect();
    let expected =
        json!({"rows": size[0], "columns": size[1], "metres": metres, "nodata": mask.as_slice(), "value": -9999.0});
    Ok(fs::write(folder.join("expected.json"), expected.to_string())?)
}

/// Prints what a file holds.
fn print(path: &Path) -> Result<(), Box<dyn Error>> {
    let raster = read_raster(path)?;
    let values: Vec<f64> = (0..raster.samples.len()).map(|k| raster.samples.get(k)).collect();
    let transform = raster.georeference.and_then(|g| g.transform);
    let found = json!({"rows": raster.size[0], "columns": raster.size[1], "type": raster.samples.kind(), "values": values,
        "nodata": raster.nodata, "transform": transform, "scale": raster.scale, "unit": raster.unit});
    println!("{found}");
    Ok(())
}

/// Writes a model's filled surface, in 64 bits: exact.
fn filled(path: &Path, output: &Path) -> Result<(), Box<dyn Error>> {
    let mut terrain = load_terrain(path, &LoadOptions::default())?.terrain;
    terrain.ground = fill_depressions(&Land::from_terrain(&terrain));
    let options = SaveOptions { sample: Some(SampleType::F64), nodata: Some(-9999.0), ..SaveOptions::default() };
    save_terrain(output, &terrain, &options)?;
    Ok(())
}
