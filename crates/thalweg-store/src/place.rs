//! The position of a store's cells: the coordinates of their centres and the reference system, and reading those that
//! other programs wrote.

use std::path::Path;

use serde_json::{Map, Value, json};
use thalweg_core::Georeference;
use thalweg_core::terrain::grid::PixelIs;
use thalweg_io::describe_system;

use crate::meta::{Array, Node, read_node};
use crate::spec::StoreSpec;

/// An array that locates the cells: its name, its metadata, the path of its only chunk, and the bytes of that chunk.
pub type Coordinate = (&'static str, Value, &'static str, Vec<u8>);

/// Keys of GeoTIFF (OGC 19-008r4): the kind of reference system, and the unit of its coordinates.
const MODEL_TYPE: u16 = 1024;
const LINEAR_UNITS: u16 = 3076;

/// Returns the georeference of a store. A missing transform is replaced by one in metres from the north-western
/// corner.
pub fn store_georeference(spec: &StoreSpec) -> Georeference {
    let mut place = spec.georeference.clone().unwrap_or_default();
    place.transform.get_or_insert([0.0, spec.cell, 0.0, 0.0, 0.0, -spec.cell]);
    place
}

/// Returns the arrays `y`, `x` and `spatial_ref` of a store.
pub fn build_coordinates(spec: &StoreSpec) -> [Coordinate; 3] {
    let place = store_georeference(spec);
    let [west, width, _, north, _, height] = place.transform.unwrap_or_default();
    let line = |name: &'static str, first: f64, step: f64, n: usize| {
        // Coordinates are those of the cells' centres. Each is computed from its index, so rounding errors do not add
        // up.
        let bytes = (0..n).flat_map(|k| (first + (k as f64 + 0.5) * step).to_le_bytes()).collect();
        let about = Array {
            shape: json!([n]),
            kind: "float64",
            chunk: json!([n]),
            codecs: json!([{"name": "bytes", "configuration": {"endian": "little"}}]),
            fill: json!("NaN"),
            dimensions: json!([name]),
        };
        (name, about.into_document(axis_attributes(name, &place)), "c/0", bytes)
    };
    let reference = Array {
        shape: json!([]),
        kind: "int64",
        chunk: json!([]),
        codecs: json!([{"name": "bytes", "configuration": {"endian": "little"}}]),
        fill: json!(0),
        dimensions: json!([]),
    };
    let reference = reference.into_document(crs_attributes(spec, &place));
    [
        line("y", north, height, spec.size[0]),
        line("x", west, width, spec.size[1]),
        ("spatial_ref", reference, "c", vec![0; 8]),
    ]
}

/// Returns the value of a GeoTIFF key that is stored in the key directory itself.
fn find_geotiff_key(place: &Georeference, name: u16) -> Option<u16> {
    // The first four values are the header of the directory. An entry is name, location, count and value; location 0
    // means that the value is in the entry itself.
    place.keys.as_chunks::<4>().0.iter().skip(1).find(|entry| entry[0] == name && entry[1] == 0).map(|entry| entry[3])
}

/// The CF attributes of a coordinate array.
fn axis_attributes(name: &str, place: &Georeference) -> Map<String, Value> {
    let mut about = Map::new();
    // Value 2 of this key means geographic coordinates, in degrees.
    let geographic = find_geotiff_key(place, MODEL_TYPE) == Some(2);
    let (standard, long) = match (name, geographic) {
        ("y", true) => ("latitude", "latitude of the cells' centres"),
        ("y", false) => ("projection_y_coordinate", "northing of the cells' centres"),
        (_, true) => ("longitude", "longitude of the cells' centres"),
        (_, false) => ("projection_x_coordinate", "easting of the cells' centres"),
    };
    // The EPSG codes of units are 9001 metre, 9002 foot and 9003 US survey foot.
    let unit = match (geographic, name, find_geotiff_key(place, LINEAR_UNITS)) {
        (true, "y", _) => Some("degrees_north"),
        (true, ..) => Some("degrees_east"),
        (false, _, None | Some(9001)) => Some("m"),
        (false, _, Some(9002)) => Some("foot"),
        (false, _, Some(9003)) => Some("US_survey_foot"),
        _ => None,
    };
    about.insert("standard_name".to_string(), json!(standard));
    about.insert("long_name".to_string(), json!(long));
    about.insert("axis".to_string(), json!(name.to_uppercase()));
    if let Some(unit) = unit {
        about.insert("units".to_string(), json!(unit));
    }
    about
}

/// The attributes of the reference system, as rioxarray and GDAL read them.
fn crs_attributes(spec: &StoreSpec, place: &Georeference) -> Map<String, Value> {
    let mut about = Map::new();
    if let Some(transform) = place.transform {
        let words = transform.map(|x| format!("{x:?}")).join(" ");
        about.insert("GeoTransform".to_string(), json!(words));
    }
    match (spec.wkt.clone().or_else(|| describe_system(place)), place.epsg()) {
        (Some(wkt), _) => {
            about.insert("crs_wkt".to_string(), json!(wkt));
            about.insert("spatial_ref".to_string(), json!(wkt));
        }
        (None, Some(code)) => drop(about.insert("spatial_ref".to_string(), json!(format!("EPSG:{code}")))),
        (None, None) => {}
    }
    if find_geotiff_key(place, MODEL_TYPE) == Some(2) {
        about.insert("grid_mapping_name".to_string(), json!("latitude_longitude"));
    }
    about
}

/// Returns the first of a line of coordinates and their step; `None` if the steps are uneven, that is, if a coordinate
/// is off by more than 1e-3 steps.
pub fn find_even_step(line: &[f64]) -> Option<(f64, f64)> {
    let (first, last) = (*line.first()?, *line.last()?);
    // The step is taken over the whole line, so that rounding of single coordinates, for example to f32, affects it
    // little.
    let step = (last - first) / (line.len().checked_sub(1).filter(|n| *n > 0)? as f64);
    let is_even = |(k, at): (usize, &f64)| (first + k as f64 * step - at).abs() <= 1e-3 * step.abs();
    (step != 0.0 && step.is_finite() && line.iter().enumerate().all(is_even)).then_some((first, step))
}

/// Reads the georeference of an array that another program wrote, as far as it is supported: the transform and an EPSG
/// code. Without a stated transform, `coordinates` returns the one given by the arrays `y` and `x`, and true if they
/// are in degrees.
///
/// # Errors
/// Returns the error of `coordinates`, if it returns one.
pub fn read_georeference(
    array: &Path,
    attributes: &Map<String, Value>,
    coordinates: impl FnOnce() -> Result<Option<([f64; 6], bool)>, String>,
) -> Result<Option<Georeference>, String> {
    let name = attributes.get("grid_mapping").and_then(Value::as_str).unwrap_or("spatial_ref");
    let is_plain = !(name.is_empty() || name.contains(['/', '\\']) || name.starts_with('.'));
    let read = || match read_node(&array.parent()?.join(name)).ok()?? {
        Node::Array(about) => Some(about),
        Node::Group => None,
    };
    let about = is_plain.then(read).flatten().unwrap_or_default();
    let word = |name: &str| about["attributes"][name].as_str();
    let stated = || {
        let numbers: Vec<f64> = word("GeoTransform")?.split_whitespace().filter_map(|x| x.parse().ok()).collect();
        <[f64; 6]>::try_from(numbers).ok().filter(|numbers| numbers.iter().all(|x| x.is_finite()))
    };
    let found = stated().map_or_else(coordinates, |transform| Ok(Some((transform, false))))?;
    let Some((transform, degrees)) = found else { return Ok(None) };
    let mut place = Georeference { transform: Some(transform), pixel: PixelIs::Area, ..Georeference::default() };
    if degrees {
        // This is a key directory of version 1.1.0 with one entry, which states that the coordinates are geographic.
        place.keys = vec![1, 1, 0, 1, MODEL_TYPE, 0, 1, 2];
    }
    let system = word("crs_wkt").or_else(|| word("spatial_ref")).unwrap_or("");
    let geographic = word("grid_mapping_name") == Some("latitude_longitude") || system.starts_with("GEOG");
    // The last code is that of the whole system; those before it are of its parts.
    let code = system.rsplit("EPSG").next().filter(|_| system.contains("EPSG"));
    let code = code.map(|rest| {
        rest.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect::<String>()
    });
    if let Some(code) = code.and_then(|code| code.parse::<u16>().ok()) {
        // Keys 2048 and 3072 are the codes of geographic and projected systems; key 1025 states that a pixel is an
        // area.
        let (model, name) = if geographic { (2, 2048) } else { (1, 3072) };
        place.keys = vec![1, 1, 0, 3, MODEL_TYPE, 0, 1, model, 1025, 0, 1, 1, name, 0, 1, code];
    }
    Ok(Some(place))
}
