//! Arrays as other programs write them: Zarr version 2, axes of one value, axes in another order.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::Draw;
use thalweg_core::CellRect;
use thalweg_io::{Samples, WindowedMap as _};
use thalweg_store::{ZarrArray, open_raster};

/// Writes metadata as JSON.
fn write(path: &Path, about: &Value) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, about.to_string()).unwrap();
}

/// Writes a chunk of big-endian 16-bit integers.
fn write_chunk(path: &Path, values: &[i16]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, values.iter().flat_map(|value| value.to_be_bytes()).collect::<Vec<u8>>()).unwrap();
}

/// The metadata of an array of version 2 with 2 × 3 cells in chunks of 2 × 2.
fn version_2(order: &str) -> Value {
    json!({
        "zarr_format": 2, "shape": [2, 3], "chunks": [2, 2], "dtype": ">i2", "compressor": null, "fill_value": -9,
        "filters": null, "order": order,
    })
}

#[test]
fn a_group_of_version_2() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dem.zarr");
    write(&path.join(".zgroup"), &json!({"zarr_format": 2}));
    write(&path.join("height/.zattrs"), &json!({"_ARRAY_DIMENSIONS": ["y", "x"], "units": "m"}));
    for (name, values) in [("y", [300i16, 290, 0]), ("x", [10, 20, 30])] {
        let count = if name == "y" { 2 } else { 3 };
        let about = json!({
            "zarr_format": 2, "shape": [count], "chunks": [3], "dtype": ">i2", "compressor": null, "fill_value": null,
            "filters": [], "order": "C",
        });
        write(&path.join(name).join(".zarray"), &about);
        write_chunk(&path.join(name).join("0"), &values);
    }
    for (order, first) in [("C", [1, 2, 4, 5]), ("F", [1, 4, 2, 5])] {
        write(&path.join("height/.zarray"), &version_2(order));
        write_chunk(&path.join("height/0.0"), &first);
        let map = open_raster(&path).unwrap();
        let all = map.read_window(CellRect::new([0, 0], [2, 3])).unwrap();
        // The second chunk is missing and has the fill value, which is no data.
        assert_eq!(all, Samples::I16(vec![1, 2, -9, 4, 5, -9]), "{order}");
        assert_eq!((map.head().nodata, map.head().unit.as_deref()), (Some(-9.0), Some("m")));
        let place = map.head().georeference.clone().unwrap();
        assert_eq!(place.transform, Some([5.0, 10.0, 0.0, 305.0, 0.0, -10.0]));
        assert_eq!(map.read_window(CellRect::new([1, 1], [1, 1])).unwrap(), Samples::I16(vec![5]));
    }
}

#[test]
fn axes_of_one_value_are_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dem.zarr");
    let about = |shape: Value, chunk: Value, names: Value| {
        json!({
            "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "int16", "fill_value": 0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
            "chunk_key_encoding": {"name": "default"}, "attributes": {}, "dimension_names": names,
            "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}],
        })
    };
    let values = [1, 2, 3, 4, 5, 6];
    for (shape, names, chunk, size, expected) in [
        (json!([1, 2, 3]), json!(["time", "y", "x"]), "c/0/0/0", [2, 3], [1, 2, 3, 4, 5, 6]),
        (json!([2, 1, 3]), json!(null), "c/0/0/0", [2, 3], [1, 2, 3, 4, 5, 6]),
        (json!([2, 3, 1, 1]), json!(["x", "y", "a", "b"]), "c/0/0/0/0", [3, 2], [1, 4, 2, 5, 3, 6]),
    ] {
        write(&path.join("zarr.json"), &about(shape.clone(), shape.clone(), names));
        write_chunk(&path.join(chunk), &values);
        let map = ZarrArray::open(&path).unwrap();
        assert_eq!(map.size(), size, "{shape}");
        let all = map.read_window(CellRect::new([0, 0], size)).unwrap();
        assert_eq!(all, Samples::I16(expected.to_vec()), "{shape}");
    }
    // A chunk may be longer than the axis of one value; its first part counts.
    write(&path.join("zarr.json"), &about(json!([1, 1, 3]), json!([2, 1, 3]), json!(["time", "y", "x"])));
    write_chunk(&path.join("c/0/0/0"), &values);
    let map = ZarrArray::open(&path).unwrap();
    assert_eq!(map.read_window(CellRect::new([0, 0], [1, 3])).unwrap(), Samples::I16(vec![1, 2, 3]));
    write(&path.join("zarr.json"), &about(json!([2, 2, 3]), json!([1, 2, 3]), json!(null)));
    let problem = ZarrArray::open(&path).unwrap_err().to_string();
    assert!(problem.contains("[2, 2, 3]") && problem.contains("select"), "{problem}");
}

/// Every document of version 2 is changed and truncated: the result is an answer, never a panic.
#[test]
fn damaged_documents_of_version_2_are_answered() {
    let mut draw = Draw::new("version 2");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dem.zarr");
    let compressor = json!({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1});
    let good = json!({
        "zarr_format": 2, "shape": [1, 4, 6], "chunks": [1, 2, 3], "dtype": "<f4", "compressor": compressor,
        "fill_value": "NaN", "filters": [{"id": "shuffle", "elementsize": 4}], "order": "F",
    });
    let good = good.to_string().into_bytes();
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join(".zattrs"), r#"{"_ARRAY_DIMENSIONS": ["time", "y", "x"]}"#).unwrap();
    for turn in 0..2000 {
        let mut bad = good.clone();
        match turn % 3 {
            0 => bad.truncate(draw.below(good.len())),
            1 => bad[draw.below(good.len())] = b"09\"{}[],:-e\xff"[draw.below(12)],
            _ => {}
        }
        fs::write(path.join(".zarray"), bad).unwrap();
        let noise: Vec<u8> = (0..draw.below(60)).map(|_| draw.below(256) as u8).collect();
        fs::write(path.join("0.0.0"), noise).unwrap();
        match ZarrArray::open(&path) {
            Ok(array) if array.size()[0] < 1 << 20 => drop(array.read_window(CellRect::new([0, 0], [1, 1]))),
            Ok(_) => {}
            Err(error) => assert!(error.to_string().len() < 2000),
        }
    }
}
