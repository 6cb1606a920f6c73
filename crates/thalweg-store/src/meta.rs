//! The metadata of an array, `zarr.json`: parsing those of any array, and writing our own.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value, json};
use thalweg_core::{Cell, Error, Size};
use thalweg_io::{SampleType, Samples, StoredType, plain};

use crate::codec::{self, Codecs};
use crate::layout::{Axes, parse_counts, parse_shape};
use crate::spec::{StoreSpec, StoredLayer};
use crate::version2;

/// The name of the metadata file in the folder of an array or group.
pub const ZARR: &str = "zarr.json";

/// The maximum size of a metadata file in bytes. The root's file is the longest, because it repeats those of all
/// arrays.
pub const MAX_BYTES: u64 = 16 << 20;

/// The maximum number of cells of a chunk, because a chunk is decoded as a whole.
const MAX_CHUNK: usize = 1 << 28;

/// The metadata of an array with two axes; further axes have one value.
#[derive(Debug, Clone, PartialEq)]
pub struct Meta {
    pub size: Size,
    /// The type of the samples in the chunks, and the type in which they are read.
    pub stored: StoredType,
    pub kind: SampleType,
    /// Rows and columns of a chunk, which may be a shard.
    pub chunk: Size,
    pub codecs: Codecs,
    pub fill: f64,
    /// The prefix and the separator of the chunk numbers in a chunk's path.
    key: (&'static str, char),
    pub attributes: Map<String, Value>,
    /// The names of the dimensions of rows and columns, if both are given.
    pub dimensions: Vec<String>,
    axes: Axes,
}

/// The Zarr names of the supported sample types.
const TYPES: [(&str, StoredType); 11] = [
    ("uint8", StoredType::Plain(SampleType::U8)),
    ("uint16", StoredType::Plain(SampleType::U16)),
    ("int16", StoredType::Plain(SampleType::I16)),
    ("int32", StoredType::Plain(SampleType::I32)),
    ("uint32", StoredType::Plain(SampleType::U32)),
    ("float32", StoredType::Plain(SampleType::F32)),
    ("float64", StoredType::Plain(SampleType::F64)),
    ("int8", StoredType::I8),
    ("int64", StoredType::I64),
    ("uint64", StoredType::U64),
    ("float16", StoredType::F16),
];

/// Parses a Zarr v3 document of the given kind, `array` or `group`.
pub fn parse_document(text: &str, kind: &str) -> Result<Value, String> {
    let document: Value = serde_json::from_str(text).map_err(|error| format!("is damaged: {error}"))?;
    match document["zarr_format"].as_u64() {
        Some(3) => {}
        Some(other) => {
            return Err(format!(
                "has the format Zarr version {other}, which is not supported; convert it to version 3"
            ));
        }
        None => return Err("is damaged: it has no zarr_format".to_string()),
    }
    match document["node_type"].as_str() {
        Some(found) if found == kind => Ok(document),
        Some(found @ ("array" | "group")) => Err(format!("is a Zarr {found}; a Zarr {kind} is required")),
        _ => Err("is damaged: it has no node_type".to_string()),
    }
}

/// The metadata of an array or a group, in the form of Zarr version 3.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    Array(Value),
    Group,
}

/// Reads the metadata of the array or the group in a folder, of Zarr version 3 or 2; `None` if there are none.
///
/// # Errors
/// Returns an error if the metadata cannot be read or are damaged, or if an array of version 2 cannot be converted.
pub fn read_node(folder: &Path) -> Result<Option<Node>, Error> {
    let read = |name: &str| -> Result<Option<Value>, Error> {
        let path = folder.join(name);
        let Some(bytes) = plain::read_if_exists(&path, MAX_BYTES)? else { return Ok(None) };
        let damaged = |error: serde_json::Error| Error::invalid_file(&path, format!("is damaged: {error}"));
        serde_json::from_slice(&bytes).map(Some).map_err(damaged)
    };
    let path = folder.join(ZARR);
    if let Some(bytes) = plain::read_if_exists(&path, MAX_BYTES)? {
        let text = std::str::from_utf8(&bytes).map_err(|_| Error::invalid_file(&path, "is not UTF-8 text"))?;
        let array = parse_document(text, "array");
        return match array {
            Err(_) if parse_document(text, "group").is_ok() => Ok(Some(Node::Group)),
            array => array.map(|about| Some(Node::Array(about))).map_err(|problem| Error::invalid_file(&path, problem)),
        };
    }
    if let Some(array) = read(".zarray")? {
        let attributes = read(".zattrs")?.and_then(|all| all.as_object().cloned()).unwrap_or_default();
        let about = version2::convert_array(&array, attributes).map_err(|problem| {
            let problem = format!(
                "has the format Zarr version 2 and {problem}; rewrite it in version 3, for example with xarray: \
                 `xarray.open_zarr(IN).to_zarr(OUT, zarr_format=3)`"
            );
            Error::invalid_file(folder, problem)
        })?;
        return Ok(Some(Node::Array(about)));
    }
    Ok(folder.join(".zgroup").is_file().then_some(Node::Group))
}

/// Returns the names of an array's dimensions, if they are given.
fn list_dimension_names(about: &Value) -> Vec<Option<&str>> {
    about["dimension_names"].as_array().into_iter().flatten().map(Value::as_str).collect()
}

/// Returns true if an array is a map: if it has two axes, or more of which all but two have one value.
pub fn is_map(about: &Value) -> bool {
    parse_counts(&about["shape"]).is_some_and(|shape| Axes::choose(&shape, &list_dimension_names(about)).is_ok())
}

impl Meta {
    /// Parses the metadata of a map, in the form of Zarr version 3.
    pub fn parse(about: &Value) -> Result<Self, String> {
        let shape = parse_counts(&about["shape"]).ok_or("is damaged: it has no shape")?;
        Self::parse_axes(about, Axes::choose(&shape, &list_dimension_names(about))?)
    }

    /// Parses the metadata of an array of one dimension, such as a coordinate, as those of a map with one row.
    pub fn parse_line(about: &Value) -> Result<Self, String> {
        match parse_counts(&about["shape"]).as_deref() {
            Some([_]) => Self::parse_axes(about, Axes::LINE),
            _ => Err("does not have one dimension".to_string()),
        }
    }

    fn parse_axes(about: &Value, axes: Axes) -> Result<Self, String> {
        let shape = parse_shape(&about["shape"]).filter(|shape| shape.len() == axes.rank && !shape.contains(&0));
        let size = shape.map(|shape| axes.select_size(&shape));
        // No sample has more than eight bytes, so the bytes of the whole map can be counted in an `isize`.
        let size = size.filter(|[rows, cols]| rows.checked_mul(*cols).is_some_and(|n| n < isize::MAX as usize / 8));
        let size = size.ok_or_else(|| {
            format!("has the shape {}; it must have at least 1 × 1 cells, and fewer than 2^60 in all", about["shape"])
        })?;
        let named = about["data_type"].as_str().unwrap_or("");
        let stored = TYPES.iter().find(|(name, _)| *name == named).map(|(_, kind)| *kind);
        let stored = stored.ok_or_else(|| {
            let known: Vec<_> = TYPES.iter().map(|(name, _)| *name).collect();
            format!(
                "has samples of type {}; they must have one of the types {}",
                shorten_value(&about["data_type"]),
                known.join(", ")
            )
        })?;
        if about["chunk_grid"]["name"].as_str() != Some("regular") {
            return Err(format!(
                "has the chunk grid {}; it must be regular",
                shorten_value(&about["chunk_grid"]["name"])
            ));
        }
        let chunk = parse_shape(&about["chunk_grid"]["configuration"]["chunk_shape"]);
        let is_small = |chunk: &Vec<usize>| {
            let count = chunk.iter().try_fold(1usize, |count, n| count.checked_mul(*n));
            chunk.len() == axes.rank && count.is_some_and(|count| (1..=MAX_CHUNK).contains(&count))
        };
        let chunk = chunk.filter(is_small).ok_or_else(|| {
            format!(
                "has chunks of {} cells; a chunk must have 1 to {MAX_CHUNK} in all",
                shorten_value(&about["chunk_grid"]["configuration"]["chunk_shape"])
            )
        })?;
        if about["storage_transformers"].as_array().is_some_and(|list| !list.is_empty()) {
            return Err("has storage transformers, which are not supported".to_string());
        }
        let encoding = &about["chunk_key_encoding"];
        let separator = encoding["configuration"]["separator"].as_str();
        let key = match (encoding["name"].as_str(), separator) {
            (Some("default"), None | Some("/")) => ("c/", '/'),
            (Some("default"), Some(".")) => ("c.", '.'),
            (Some("v2"), Some("/")) => ("", '/'),
            (Some("v2"), None | Some(".")) => ("", '.'),
            _ => {
                return Err(format!(
                    "has the chunk key encoding {}; it must be default or v2",
                    shorten_value(encoding)
                ));
            }
        };
        let fill = match &about["fill_value"] {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => match text.as_str() {
                "NaN" => Some(f64::NAN),
                "Infinity" => Some(f64::INFINITY),
                "-Infinity" => Some(f64::NEG_INFINITY),
                _ => None,
            },
            _ => None,
        };
        let fill = fill.ok_or_else(|| {
            format!("has the fill value {}, which is not a number", shorten_value(&about["fill_value"]))
        })?;
        let attributes = about["attributes"].as_object().cloned().unwrap_or_default();
        let codecs = Codecs::parse(&about["codecs"], &chunk, axes)?;
        let names = list_dimension_names(about);
        let name = |axis: usize| names.get(axis).copied().flatten().map(String::from);
        let dimensions = axes.rows.and_then(|rows| Some(vec![name(rows)?, name(axes.cols)?])).unwrap_or_default();
        let (kind, chunk) = (stored.sample(), axes.select_size(&chunk));
        Ok(Self { size, stored, kind, chunk, codecs, fill, key, attributes, dimensions, axes })
    }

    /// Returns the path of a chunk inside the array's folder, from its row and column among the chunks.
    pub fn chunk_path(&self, chunk: Cell) -> String {
        let (head, between) = self.key;
        // The only chunk along every other axis has the number 0.
        let mut numbers = vec![0; self.axes.rank];
        if let Some(rows) = self.axes.rows {
            numbers[rows] = chunk.row;
        }
        numbers[self.axes.cols] = chunk.col;
        let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
        format!("{head}{}", numbers.join(&between.to_string()))
    }

    /// Returns the sample that stands for no data: the one that an attribute states, or NaN if the fill value is NaN.
    pub fn nodata(&self) -> Option<f64> {
        let stated = match self.attributes.get("_FillValue").or_else(|| self.attributes.get("missing_value")) {
            Some(Value::Number(number)) => number.as_f64(),
            // xarray writes the bytes of a float in base64.
            Some(Value::String(text)) => decode_base64_float(text).or_else(|| text.parse().ok()),
            _ => None,
        };
        stated.or_else(|| self.fill.is_nan().then_some(f64::NAN))
    }

    /// Returns the factor and the offset from sample to value.
    pub fn scale(&self) -> Result<[f64; 2], String> {
        // A factor of 0 would make all values equal; an offset of 0 is the usual one.
        let number = |name: &str, usual: f64, allowed: &str| {
            let Some(value) = self.attributes.get(name) else { return Ok(usual) };
            let number = value.as_f64().filter(|x| x.is_finite() && (*x != 0.0 || name == OFFSET));
            number.ok_or_else(|| format!("has {name} = {}; it must be {allowed}", shorten_value(value)))
        };
        Ok([number("scale_factor", 1.0, "a number other than 0")?, number(OFFSET, 0.0, "a number")?])
    }
}

const OFFSET: &str = "add_offset";

/// A shortened piece of a document, for a message.
fn shorten_value(value: &Value) -> String {
    value.to_string().chars().take(60).collect()
}

/// Converts a number to the JSON form of a fill value of this type.
fn fill_value(kind: SampleType, fill: f64) -> Value {
    match kind {
        SampleType::F32 | SampleType::F64 if fill.is_nan() => json!("NaN"),
        SampleType::F32 | SampleType::F64 if fill.is_infinite() => {
            json!(if fill > 0.0 { "Infinity" } else { "-Infinity" })
        }
        SampleType::F32 | SampleType::F64 => Number::from_f64(fill).map_or(Value::Null, Value::Number),
        _ => json!(fill as i64),
    }
}

/// The metadata of a layer of a thalweg store.
pub fn layer_metadata(spec: &StoreSpec, layer: &StoredLayer) -> Value {
    let mut attributes = Map::new();
    let mut put = |name: &str, value: Value| attributes.insert(name.to_string(), value);
    put("units", json!(layer.unit));
    put("long_name", json!(layer.long_name));
    if let Some(name) = &layer.standard_name {
        put("standard_name", json!(name));
    }
    if !layer.description.is_empty() {
        put("description", json!(layer.description));
    }
    if let Some(scale) = layer.scale {
        put("scale_factor", json!(scale));
        put("add_offset", json!(0.0));
    }
    match layer.kind {
        _ if !layer.fill_is_nodata => {}                               // a value like any other
        SampleType::F32 | SampleType::F64 if layer.fill.is_nan() => {} // NaN counts as no data without an attribute
        SampleType::F32 | SampleType::F64 => drop(put("_FillValue", json!(encode_base64(layer.fill)))),
        kind => drop(put("_FillValue", fill_value(kind, layer.fill))),
    }
    put("grid_mapping", json!("spatial_ref"));
    // With this attribute, xarray attaches the variable to every map as a coordinate, where rioxarray looks for it.
    put("coordinates", json!("spatial_ref"));
    let name = TYPES.iter().find(|(_, kind)| *kind == StoredType::Plain(layer.kind)).map_or("", |(name, _)| name);
    let about = Array {
        shape: json!(spec.size),
        kind: name,
        chunk: json!([spec.side, spec.side]),
        codecs: codec::store_codecs(spec.inner_chunk_side()),
        fill: fill_value(layer.kind, layer.fill),
        dimensions: json!(["y", "x"]),
    };
    about.into_document(attributes)
}

/// The parts of an array's metadata that vary between our arrays.
pub struct Array {
    pub shape: Value,
    pub kind: &'static str,
    pub chunk: Value,
    pub codecs: Value,
    pub fill: Value,
    pub dimensions: Value,
}

impl Array {
    pub fn into_document(self, attributes: Map<String, Value>) -> Value {
        json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": self.shape,
            "data_type": self.kind,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": self.chunk}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": self.fill,
            "codecs": self.codecs,
            "attributes": attributes,
            "dimension_names": self.dimensions,
            "storage_transformers": [],
        })
    }
}

/// Encodes the eight bytes of a float in base64 (RFC 4648), the form in which xarray stores a float's fill value in
/// Zarr.
fn encode_base64(number: f64) -> String {
    STANDARD.encode(number.to_le_bytes())
}

/// Decodes a float whose eight bytes are given in base64.
fn decode_base64_float(text: &str) -> Option<f64> {
    Some(f64::from_le_bytes(STANDARD.decode(text).ok()?.try_into().ok()?))
}

/// The bytes of one sample with the fill value.
pub fn fill_bytes(kind: SampleType, fill: f64) -> Vec<u8> {
    Samples::filled(kind, 1, fill).map(|samples| samples.to_bytes()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_in_base64_as_python_has_them() {
        // base64.b64encode(struct.pack("<d", x))
        assert_eq!(encode_base64(0.0), "AAAAAAAAAAA=");
        assert_eq!(encode_base64(-9999.0), "AAAAAICHw8A=");
        assert_eq!(encode_base64(0.1), "mpmZmZmZuT8=");
        for x in [0.0, -1.5, 1e300, 0.1, f64::MIN] {
            assert_eq!(decode_base64_float(&encode_base64(x)), Some(x));
        }
        assert_eq!(decode_base64_float("-9999"), None);
    }
}
