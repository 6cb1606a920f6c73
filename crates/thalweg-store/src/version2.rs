//! Metadata of Zarr version 2 (`.zarray`, `.zattrs`), converted to the form of version 3.
//!
//! Zarr storage specification version 2 (2017, zarr.readthedocs.io). Names of codecs are those of numcodecs.

use serde_json::{Map, Value, json};

/// The types of version 2 without their byte order, and their names in version 3.
const TYPES: [(&str, &str); 12] = [
    ("b1", "bool"),
    ("i1", "int8"),
    ("u1", "uint8"),
    ("i2", "int16"),
    ("u2", "uint16"),
    ("i4", "int32"),
    ("u4", "uint32"),
    ("i8", "int64"),
    ("u8", "uint64"),
    ("f2", "float16"),
    ("f4", "float32"),
    ("f8", "float64"),
];

/// Converts the metadata of an array. The error is the problem in words.
pub fn convert_array(array: &Value, mut attributes: Map<String, Value>) -> Result<Value, String> {
    let rank = array["shape"].as_array().ok_or("has no shape")?.len();
    let dtype = array["dtype"].as_str().unwrap_or_default();
    let (order, name) = dtype.split_at_checked(1).unwrap_or_default();
    let kind = TYPES.iter().find(|(own, _)| *own == name).map(|(_, kind)| *kind);
    let kind = kind.ok_or_else(|| format!("has samples of type {}", shorten(&array["dtype"])))?;
    let endian = if order == ">" { "big" } else { "little" };

    let mut codecs = Vec::new();
    match array["order"].as_str() {
        None | Some("C") => {}
        // The first axis varies fastest, as if the chunk were stored with its axes in reverse order.
        Some("F") => {
            let reversed: Vec<usize> = (0..rank).rev().collect();
            codecs.push(json!({"name": "transpose", "configuration": {"order": reversed}}));
        }
        Some(_) => return Err(format!("has the order {}", shorten(&array["order"]))),
    }
    codecs.push(json!({"name": "bytes", "configuration": {"endian": endian}}));
    let filters = array["filters"].as_array().into_iter().flatten();
    for codec in filters.chain(Some(&array["compressor"]).filter(|codec| !codec.is_null())) {
        codecs.push(json!({"name": codec["id"], "configuration": codec}));
    }
    // In this version, the fill value stands for no data too; xarray and GDAL read it so.
    let fill = &array["fill_value"];
    if !fill.is_null() {
        attributes.entry("_FillValue").or_insert_with(|| fill.clone());
    }
    let names = attributes.get("_ARRAY_DIMENSIONS").cloned().unwrap_or_default();
    Ok(json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": array["shape"],
        "data_type": kind,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": array["chunks"]}},
        "chunk_key_encoding": {
            "name": "v2",
            "configuration": {"separator": array["dimension_separator"].as_str().unwrap_or(".")},
        },
        "fill_value": if fill.is_null() { json!(0) } else { fill.clone() },
        "codecs": codecs,
        "attributes": attributes,
        "dimension_names": names,
    }))
}

/// A shortened piece of a document, for a message.
fn shorten(value: &Value) -> String {
    value.to_string().chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_by_hand() {
        let array = json!({
            "zarr_format": 2, "shape": [4, 6], "chunks": [2, 3], "dtype": ">i2", "order": "F", "fill_value": -9999,
            "compressor": {"id": "zlib", "level": 1}, "filters": null, "dimension_separator": "/",
        });
        let attributes = json!({"_ARRAY_DIMENSIONS": ["y", "x"]}).as_object().cloned().unwrap();
        let about = convert_array(&array, attributes).unwrap();
        assert_eq!((&about["data_type"], &about["dimension_names"]), (&json!("int16"), &json!(["y", "x"])));
        assert_eq!(about["codecs"][0]["configuration"]["order"], json!([1, 0]));
        assert_eq!(about["codecs"][1]["configuration"]["endian"], "big");
        assert_eq!(about["codecs"][2]["name"], "zlib");
        assert_eq!(about["attributes"]["_FillValue"], -9999);
        assert_eq!(about["chunk_key_encoding"], json!({"name": "v2", "configuration": {"separator": "/"}}));
        for (key, value) in [
            ("dtype", json!("<c8")),
            ("dtype", json!([["a", "<i2"]])),
            ("order", json!("K")),
            ("shape", json!(4)),
            ("dtype", json!("é")),
        ] {
            let mut broken = array.clone();
            broken[key] = value;
            assert!(convert_array(&broken, Map::new()).is_err(), "{broken}");
        }
    }
}
