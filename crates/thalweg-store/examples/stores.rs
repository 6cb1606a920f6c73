//! Writes two small stores, and reads arrays of others: the counterpart of tests/interop/test_store.py.
//!
//! `stores read ARRAY FILE` writes the samples of an array of Zarr into a file, row by row, least byte first, and prints what it is.
//! `stores cog FOLDER SEED` writes `means.tif` and `classes.tif`, cloud-optimised, and `NAME.bin` beside each.
//! `stores write FOLDER SEED` writes `utm.zarr` and `local.zarr` with a layer of each kind that a drainage has, in tiles of 64 and 300, and
//! `NAME.bin` beside each store's folder: the samples of layer NAME row by row, least byte first.

use std::path::Path;

use thalweg_core::terrain::grid::PixelIs;
use thalweg_core::{CellRect, Error, Georeference, Result};
use thalweg_io::{Overviews, RasterHead, SampleType, Samples, write_cog};
use thalweg_store::{Access, Store, StoreSpec, StoredLayer, WindowedMap as _, ZarrArray};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", folder, seed] => write(folder, seed),
        ["read", array, file] => read(array, file),
        ["cog", folder, seed] => cogs(folder, seed),
        _ => Err(Error::invalid_value(
            "arguments",
            words.join(" "),
            "write FOLDER SEED | read ARRAY FILE | cog FOLDER SEED",
        )),
    }
}

fn read(array: &str, file: &str) -> Result<()> {
    let array = ZarrArray::open(Path::new(array))?;
    let [rows, cols] = array.size();
    // Row by row, so that each window meets chunks in part.
    let mut bytes = Vec::new();
    for i in 0..rows {
        bytes.extend(array.read_window(CellRect::new([i, 0], [1, cols]))?.to_bytes());
    }
    std::fs::write(file, bytes).map_err(Error::io(file, "write"))?;
    println!("{}", serde_json::json!({"rows": rows, "columns": cols, "kind": array.head().kind}));
    Ok(())
}

fn write(folder: &str, seed: &str) -> Result<()> {
    let seed = number(seed)?;
    for (name, side, georeference) in [("utm", 64, Some(utm())), ("local", 300, None)] {
        let mut spec = StoreSpec::new([203, 331], side, 30.0, "0123456789abcdef", layers());
        spec.georeference = georeference;
        spec.attributes.insert("title".to_string(), "a store of a test".into());
        let home = Path::new(folder).join(name);
        std::fs::create_dir_all(&home).map_err(Error::io(&home, "create the folder"))?;
        let store = Store::create(&home.join("store.zarr"), spec, Access::Alone)?;
        for layer in layers() {
            let map = samples(layer.kind, layer.fill, store.spec().size, seed);
            let path = home.join(format!("{}.bin", layer.name));
            std::fs::write(&path, map.to_bytes()).map_err(Error::io(&path, "write"))?;
            for tile in store.unfinished_tiles(&layer.name)? {
                let part = map.copy_window(store.spec().size, store.spec().tile_window(tile)?)?;
                store.write_tile(&layer.name, tile, &part)?;
            }
        }
    }
    Ok(())
}

fn cogs(folder: &str, seed: &str) -> Result<()> {
    let size = [1301, 2051];
    let both =
        [("means", SampleType::F32, -9999.0, Overviews::Means), ("classes", SampleType::U8, 255.0, Overviews::Classes)];
    for (name, kind, nodata, overviews) in both {
        let map = samples(kind, nodata, size, number(seed)?);
        let path = Path::new(folder).join(format!("{name}.bin"));
        std::fs::write(&path, map.to_bytes()).map_err(Error::io(&path, "write"))?;
        let head = RasterHead { nodata: Some(nodata), georeference: Some(utm()), ..RasterHead::new(size, kind) };
        write_cog(path.with_extension("tif"), &head, overviews, |window| map.copy_window(size, window))?;
    }
    Ok(())
}

fn number(seed: &str) -> Result<u64> {
    seed.parse().map_err(|_| Error::invalid_value("seed", seed, "a whole number"))
}

/// UTM 33 N on WGS 84.
fn utm() -> Georeference {
    Georeference {
        transform: Some([432_100.0, 30.0, 0.0, 5_678_900.0, 0.0, -30.0]),
        pixel: PixelIs::Area,
        keys: vec![1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32_633],
        ..Georeference::default()
    }
}

fn layers() -> Vec<StoredLayer> {
    let height = StoredLayer {
        scale: Some(1.0 / 65_536.0),
        unit: "m".to_string(),
        standard_name: Some("surface_altitude".to_string()),
        description: "Heights of the ground.".to_string(),
        ..StoredLayer::new("height", SampleType::I32, f64::from(i32::MIN))
    };
    let area = StoredLayer { unit: "m2".to_string(), ..StoredLayer::new("drainage_area", SampleType::F64, 0.0) };
    let angle = StoredLayer { unit: "radian".to_string(), ..StoredLayer::new("angle", SampleType::F32, f64::NAN) };
    let classes = [
        StoredLayer::new("flow_direction", SampleType::U8, 255.0),
        StoredLayer::new("basin", SampleType::U32, 0.0),
        StoredLayer::new("change", SampleType::I16, -32_768.0),
        StoredLayer::new("count", SampleType::U16, 65_535.0),
    ];
    [height, area, angle].into_iter().chain(classes).collect()
}

/// Hashed numbers, a fifth of them fill values, and a corner of a whole tile without any other.
fn samples(kind: SampleType, fill: f64, [rows, cols]: [usize; 2], seed: u64) -> Samples {
    let hash =
        |k: u64| (k ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = |k: usize| {
        let bits = hash(k as u64);
        let bare = bits >> 60 < 3 || (k / cols < 70 && k % cols < 70);
        if bare { None } else { Some(bits) }
    };
    let cells = 0..rows * cols;
    match kind {
        SampleType::U8 => Samples::U8(cells.map(|k| value(k).map_or(fill as u8, |bits| bits as u8)).collect()),
        SampleType::U16 => Samples::U16(cells.map(|k| value(k).map_or(fill as u16, |bits| bits as u16)).collect()),
        SampleType::I16 => Samples::I16(cells.map(|k| value(k).map_or(fill as i16, |bits| bits as i16)).collect()),
        SampleType::I32 => Samples::I32(cells.map(|k| value(k).map_or(fill as i32, |bits| bits as i32)).collect()),
        SampleType::U32 => Samples::U32(cells.map(|k| value(k).map_or(fill as u32, |bits| bits as u32)).collect()),
        SampleType::F32 => {
            Samples::F32(cells.map(|k| value(k).map_or(fill as f32, |bits| bits as u32 as f32 / 7.0)).collect())
        }
        SampleType::F64 => Samples::F64(cells.map(|k| value(k).map_or(fill, |bits| bits as f64 / 7.0)).collect()),
    }
}
