//! Lines and areas with properties as GeoJSON and FlatGeobuf; see [`vector`](super::vector) on coordinates.

use std::io::{self, Write};
use std::path::Path;

use flatgeobuf::geozero::error::Result as Answer;
use flatgeobuf::geozero::{ColumnValue, GeomProcessor, GeozeroGeometry, PropertyProcessor};
use flatgeobuf::{ColumnType, FgbCrs, FgbWriter, FgbWriterOptions, GeometryType};
use serde_json::{Map, json};

use super::atomic;
use super::vector::{Place, unnamed};
use crate::error::{Error, Result};
use crate::grid::Grid;

/// A line or an area; places are rows and columns in cells, from the north-western corner.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A line with heights in metres.
    Line(Vec<([f64; 2], f64)>),
    /// Areas: each a ring round it, then rings round its holes; every ring ends where it began.
    Area(Vec<Vec<Vec<[f64; 2]>>>),
}

/// What a property may be.
#[derive(Debug, Clone, PartialEq)]
pub enum Property {
    /// A number of a thing, if there is one.
    Count(Option<u32>),
    /// A real number.
    Real(f64),
    /// A word.
    Word(String),
    /// A number to each point of a line; FlatGeobuf holds none.
    Reals(Vec<f64>),
}

/// A thing with a shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    /// Where it is.
    pub shape: Shape,
    /// What it is; all features of a file have the same properties, in the same order.
    pub properties: Vec<(&'static str, Property)>,
}

/// Writes features of one kind; the ending picks the format, `.fgb` or `.geojson`. Returns what could not be kept, in words.
///
/// # Errors
/// Another ending, a file that cannot be written.
pub fn save_features(path: impl AsRef<Path>, features: &[Feature], grid: &Grid) -> Result<Vec<String>> {
    let path = path.as_ref();
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let write = match ending.as_str() {
        "fgb" => flatgeobuf,
        "geojson" => geojson,
        _ => return Err(Error::file(path, "its ending names no format of features; known are .fgb, .geojson")),
    };
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let place = Place::of(grid);
    atomic(path, |file| write(file, &name, features, &place).map_err(Error::io(path, "write")))?;
    Ok(unnamed(path, grid))
}

impl Shape {
    fn geojson(&self, place: &Place) -> serde_json::Value {
        match self {
            Self::Line(points) => {
                let points: Vec<[f64; 3]> = points
                    .iter()
                    .map(|(at, height)| {
                        let [x, y] = place.at(*at);
                        [x, y, *height]
                    })
                    .collect();
                json!({"type": "LineString", "coordinates": points})
            }
            Self::Area(parts) => {
                let ring = |ring: &Vec<[f64; 2]>| ring.iter().map(|at| place.at(*at)).collect::<Vec<_>>();
                let parts: Vec<Vec<_>> = parts.iter().map(|rings| rings.iter().map(ring).collect()).collect();
                json!({"type": "MultiPolygon", "coordinates": parts})
            }
        }
    }
}

/// A feature to a line, so that the file can be read and compared as text.
fn geojson(file: &mut impl Write, name: &str, features: &[Feature], place: &Place) -> io::Result<()> {
    writeln!(file, "{{\"type\": \"FeatureCollection\", \"name\": {},", json!(name))?;
    if let Some(code) = place.epsg {
        let crs = json!({"type": "name", "properties": {"name": format!("urn:ogc:def:crs:EPSG::{code}")}});
        writeln!(file, "\"crs\": {crs},")?;
    }
    writeln!(file, "\"features\": [")?;
    for (number, feature) in features.iter().enumerate() {
        let properties: Map<String, serde_json::Value> = feature
            .properties
            .iter()
            .map(|(name, value)| {
                let value = match value {
                    Property::Count(count) => json!(count),
                    Property::Real(real) => json!(real),
                    Property::Word(word) => json!(word),
                    Property::Reals(reals) => json!(reals),
                };
                (name.to_string(), value)
            })
            .collect();
        let feature = json!({"type": "Feature", "properties": properties, "geometry": feature.shape.geojson(place)});
        writeln!(file, "{feature}{}", if number + 1 < features.len() { "," } else { "" })?;
    }
    writeln!(file, "]}}")
}

/// Features in the order of the format's spatial index.
fn flatgeobuf(file: &mut impl Write, name: &str, features: &[Feature], place: &Place) -> io::Result<()> {
    let other = |error: flatgeobuf::Error| match error {
        flatgeobuf::Error::IO(error) => error,
        error => io::Error::other(error.to_string()),
    };
    let crs = FgbCrs { org: place.epsg.map(|_| "EPSG"), code: place.epsg.unwrap_or(0).into(), ..FgbCrs::default() };
    let lines = features.iter().all(|feature| matches!(feature.shape, Shape::Line(_)));
    let kind = if lines { GeometryType::LineString } else { GeometryType::MultiPolygon };
    // GDAL takes an index over nothing for a broken file.
    let options =
        FgbWriterOptions { crs, write_index: !features.is_empty(), has_z: lines, ..FgbWriterOptions::default() };
    let mut writer = FgbWriter::create_with_options(name, kind, options).map_err(other)?;
    let columns: Vec<(&str, ColumnType)> = features.first().map_or(Vec::new(), |first| {
        let kind = |property: &Property| match property {
            Property::Count(_) => Some(ColumnType::UInt),
            Property::Real(_) => Some(ColumnType::Double),
            Property::Word(_) => Some(ColumnType::String),
            Property::Reals(_) => None,
        };
        first.properties.iter().filter_map(|(name, property)| Some((*name, kind(property)?))).collect()
    });
    for (name, kind) in &columns {
        writer.add_column(name, *kind, |_, _| {});
    }
    for feature in features {
        let mut kept = Ok(());
        let shape = Placed { shape: &feature.shape, place };
        let values = feature.properties.iter().filter(|(name, _)| columns.iter().any(|(known, _)| known == name));
        writer
            .add_feature_geom(shape, |row| {
                for (number, (name, property)) in values.enumerate() {
                    let value = match property {
                        Property::Count(count) => count.map(ColumnValue::UInt),
                        Property::Real(real) => Some(ColumnValue::Double(*real)),
                        Property::Word(word) => Some(ColumnValue::String(word)),
                        Property::Reals(_) => None,
                    };
                    if let (Some(value), Ok(())) = (value, &kept) {
                        kept = row.property(number, name, &value).map(drop);
                    }
                }
            })
            .and(kept)
            .map_err(|error| io::Error::other(error.to_string()))?;
    }
    writer.write(file).map_err(other)
}

/// A shape in coordinates.
struct Placed<'a> {
    shape: &'a Shape,
    place: &'a Place,
}

impl GeozeroGeometry for Placed<'_> {
    fn process_geom<P: GeomProcessor>(&self, processor: &mut P) -> Answer<()> {
        match self.shape {
            Shape::Line(points) => {
                processor.linestring_begin(true, points.len(), 0)?;
                for (number, (at, height)) in points.iter().enumerate() {
                    let [x, y] = self.place.at(*at);
                    processor.coordinate(x, y, Some(*height), None, None, None, number)?;
                }
                processor.linestring_end(true, 0)
            }
            Shape::Area(parts) => {
                processor.multipolygon_begin(parts.len(), 0)?;
                for (number, rings) in parts.iter().enumerate() {
                    processor.polygon_begin(false, rings.len(), number)?;
                    for (which, ring) in rings.iter().enumerate() {
                        processor.linestring_begin(false, ring.len(), which)?;
                        for (k, at) in ring.iter().enumerate() {
                            let [x, y] = self.place.at(*at);
                            processor.xy(x, y, k)?;
                        }
                        processor.linestring_end(false, which)?;
                    }
                    processor.polygon_end(false, number)?;
                }
                processor.multipolygon_end(0)
            }
        }
    }
}
