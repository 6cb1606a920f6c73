//! [`Facts`]: the properties of an elevation model as they were understood, each with its source. A reader records a
//! fact where it decides, so `info` shows what other commands work with.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{RasterHead, geokeys};
use geokeys::key;
use thalweg_core::base::names::to_text;
use thalweg_core::terrain::CellShape;
use thalweg_core::terrain::grid::PixelIs;
use thalweg_core::{Georeference, Grid};

/// The source of a fact.
#[derive(Debug, Clone, PartialEq)]
pub enum FactSource {
    /// The file itself: the tag, key or field of the header that states it.
    File(String),
    /// The name of the file.
    Name,
    /// A file next to it.
    Sidecar(PathBuf),
    /// An option of the caller, by its name.
    Option(&'static str),
    /// The rule for files that do not state it.
    Default(String),
    /// A conclusion from other properties: the evidence.
    Guess(String),
    /// The samples.
    Samples,
}

impl FactSource {
    /// The words for the kinds of sources, and their meaning.
    const KINDS: [(&'static str, &'static str); 7] = [
        ("file", "the file itself"),
        ("name", "the name of the file"),
        ("sidecar", "a file next to it"),
        ("option", "an option"),
        ("default", "the rule for files that do not state it"),
        ("guess", "a conclusion from other properties"),
        ("samples", "the samples"),
    ];

    /// Returns the kind of the source as a word, such as `sidecar`.
    pub fn kind(&self) -> &'static str {
        let index = match self {
            Self::File(_) => 0,
            Self::Name => 1,
            Self::Sidecar(_) => 2,
            Self::Option(_) => 3,
            Self::Default(_) => 4,
            Self::Guess(_) => 5,
            Self::Samples => 6,
        };
        Self::KINDS[index].0
    }

    /// Returns the place or the evidence; `None` if the kind says all.
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::File(text) | Self::Default(text) | Self::Guess(text) => Some(text.clone()).filter(|t| !t.is_empty()),
            Self::Sidecar(path) => Some(to_text(path)),
            Self::Option(name) => Some((*name).to_string()),
            Self::Name | Self::Samples => None,
        }
    }
}

impl fmt::Display for FactSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind();
        match (self, self.detail()) {
            (Self::File(_), Some(place)) => f.write_str(&place),
            (Self::Sidecar(path), _) => f.write_str(&path.file_name().unwrap_or_default().to_string_lossy()),
            (Self::Option(name), _) => write!(f, "option {name}"),
            (Self::Name, _) => f.write_str("name of the file"),
            (_, Some(detail)) => write!(f, "{kind}: {detail}"),
            (_, None) => f.write_str(kind),
        }
    }
}

/// The type of a fact's value in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueType {
    Text,
    Number,
    Count,
    /// This many numbers.
    Numbers(usize),
    /// Any number of numbers.
    List,
    Texts,
    Stands,
}

/// The declaration of a fact.
#[derive(Debug, Clone, Copy)]
struct FactSpec {
    name: &'static str,
    value: ValueType,
    about: &'static str,
}

const fn spec(name: &'static str, value: ValueType, about: &'static str) -> FactSpec {
    FactSpec { name, value, about }
}

/// All facts, in the order in which they are listed.
const SPECS: [FactSpec; 39] = [
    spec("file", ValueType::Text, "Path of the file."),
    spec("format", ValueType::Text, "Format of the file."),
    spec("compression", ValueType::Text, "Compression of the samples."),
    spec("layout", ValueType::Text, "Division of the samples in the file: strips, tiles or blocks."),
    spec("channel", ValueType::Text, "Channel or band that is read as heights, where there are several."),
    spec("columns", ValueType::Count, "Number of columns."),
    spec("rows", ValueType::Count, "Number of rows."),
    spec("samples", ValueType::Text, "Type of the samples after they are read."),
    spec("stored_samples", ValueType::Text, "Type of the samples in the file."),
    spec("scale", ValueType::Number, "Factor from a sample to a value, as the file states it."),
    spec("offset", ValueType::Number, "Value of the sample 0, as the file states it."),
    spec("unit", ValueType::Text, "Unit of the values, as it is spelled in the file."),
    spec("vertical_unit", ValueType::Text, "Unit in which the heights are read."),
    spec("height_scale", ValueType::Numbers(2), "Factor and offset from a sample to metres."),
    spec("nodata", ValueType::Number, "Sample that is declared as no data; NaN and infinities as texts."),
    spec("nodata_given", ValueType::List, "Samples that an option declares as no data."),
    spec("nodata_guess", ValueType::Stands, "Samples that are read as no data although no file declares them."),
    spec("mask", ValueType::Text, "Mask that excludes cells."),
    spec("masked_cells", ValueType::Count, "Number of cells that the mask excludes."),
    spec("crs", ValueType::Text, "Code of the horizontal coordinate system."),
    spec("crs_name", ValueType::Text, "Name of the horizontal coordinate system, as the file spells it."),
    spec("vertical_crs", ValueType::Text, "Code of the vertical coordinate system."),
    spec("coordinate_unit", ValueType::Text, "Unit of the coordinates."),
    spec("transform", ValueType::Numbers(6), "Transform from columns and rows to coordinates, in the order of GDAL."),
    spec("pixel", ValueType::Text, "Whether a sample stands for the area of a cell or for a point."),
    spec("cell_size", ValueType::Numbers(2), "Width and height of a cell in the unit of the coordinates."),
    spec("cell_shape", ValueType::Text, "Shape of the cells on the ground: square, rectangular or geographic."),
    spec("cell_size_m", ValueType::Number, "Side in metres of a square with the area of a cell."),
    spec("extent_m", ValueType::Numbers(2), "Width and height of the map in metres, if its cells are squares."),
    spec("lowest_m", ValueType::Number, "Lowest height in metres."),
    spec("highest_m", ValueType::Number, "Highest height in metres."),
    spec("mean_m", ValueType::Number, "Mean height in metres."),
    spec("nodata_cells", ValueType::Count, "Number of cells without data."),
    spec("nodata_share", ValueType::Number, "Share of the cells without data, 0 to 1."),
    spec("layers", ValueType::Text, "Names of the layers of a store."),
    spec("sources", ValueType::Stands, "Sources of the facts by their names. Numbers of samples have none."),
    spec("warnings", ValueType::Texts, "Assumptions, and what is ignored or looks doubtful."),
    spec("units_overridden", ValueType::Texts, "Units of the file that an option replaces."),
    spec("problem", ValueType::Text, "Reason why other commands refuse the file."),
];

/// A property of an elevation model with its source.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// The name, such as `cell_size`; [`facts_schema`] lists all.
    pub name: &'static str,
    /// The value.
    pub value: Value,
    /// The source of the value.
    pub source: FactSource,
}

impl Fact {
    /// Formats the value for people.
    pub fn format_value(&self) -> String {
        fn format(value: &Value) -> String {
            match value {
                Value::String(text) => text.clone(),
                Value::Array(values) => values.iter().map(format).collect::<Vec<_>>().join(", "),
                Value::Object(_) => format!("{} in {} cells", format(&value["value"]), format(&value["cells"])),
                other => other.to_string(),
            }
        }
        format(&self.value)
    }
}

/// The facts about an elevation model.
///
/// # Examples
/// ```
/// use thalweg_io::facts::{FactSource, Facts};
/// use thalweg_io::{LoadOptions, MemoryFiles, Raster, Samples, load_terrain, write_raster};
///
/// let files = MemoryFiles::default();
/// let raster = Raster { nodata: Some(-1.0), ..Raster::new([1, 2], Samples::F32(vec![5.0, -1.0])) };
/// write_raster(files.path("dem.tif"), &raster)?;
/// let facts = load_terrain(files.path("dem.tif"), &LoadOptions::default())?.facts;
/// let nodata = facts.find("nodata").unwrap();
/// assert_eq!((nodata.value.as_f64(), nodata.source.kind()), (Some(-1.0), "file"));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Facts(Vec<Fact>);

/// Facts are always equal: the sources of its properties do not make a raster another one.
impl PartialEq for Facts {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Facts {
    /// Records a fact. It replaces an earlier one of the same name.
    pub fn record(&mut self, name: &'static str, value: impl Into<Value>, source: FactSource) {
        debug_assert!(SPECS.iter().any(|spec| spec.name == name), "{name} is not declared");
        self.0.retain(|fact| fact.name != name);
        self.0.push(Fact { name, value: value.into(), source });
    }

    /// Records a fact that is found by counting or measuring samples.
    pub fn record_measured(&mut self, name: &'static str, value: impl Into<Value>) {
        self.record(name, value, FactSource::Samples);
    }

    /// Records the source of a property whose value is recorded with the head of the raster.
    pub(super) fn record_source(&mut self, name: &'static str, source: FactSource) {
        self.record(name, Value::Null, source);
    }

    /// Records a mask in the file itself.
    pub(super) fn record_internal_mask(&mut self) {
        self.record("mask", "in the file", FactSource::File("an image that is a mask".to_string()));
    }

    /// Records an alpha band, which is used as a mask.
    pub(super) fn record_alpha(&mut self) {
        self.record("mask", "an alpha band", FactSource::File("tag 338".to_string()));
    }

    /// Records a mask in a file of its own.
    pub(super) fn record_mask_file(&mut self, file: &Path) {
        self.record("mask", "in a file next to it", FactSource::Sidecar(file.to_path_buf()));
    }

    /// Records all facts of another collection.
    pub fn record_all(&mut self, others: Facts) {
        for Fact { name, value, source } in others.0 {
            self.record(name, value, source);
        }
    }

    /// Returns a fact by its name.
    pub fn find(&self, name: &str) -> Option<&Fact> {
        self.0.iter().find(|fact| fact.name == name)
    }

    /// Returns the source of a fact; that of a value in the file itself if none is recorded.
    pub fn source(&self, name: &str) -> FactSource {
        self.find(name).map_or(FactSource::File(String::new()), |fact| fact.source.clone())
    }

    /// Returns the facts in the order of their declaration.
    pub fn iter(&self) -> impl Iterator<Item = &Fact> {
        SPECS.iter().filter_map(|spec| self.find(spec.name)).filter(|fact| {
            // A source whose property the file turned out not to have.
            !fact.value.is_null()
        })
    }

    /// Records the properties that a file states. A property whose source its reader has not recorded is one of the
    /// file itself.
    pub fn record_head(&mut self, head: &RasterHead) {
        self.record_all(head.facts.clone());
        let [rows, cols] = head.size;
        let mut state = |name: &'static str, value: Value| {
            if !value.is_null() {
                let source = self.source(name);
                self.record(name, value, source);
            }
        };
        state("columns", cols.into());
        state("rows", rows.into());
        state("samples", head.kind.to_string().into());
        if head.scale != [1.0, 0.0] {
            state("scale", head.scale[0].into());
            state("offset", head.scale[1].into());
        }
        state("unit", json!(head.unit));
        // JSON has no numbers that are not finite.
        let write = |nodata: f64| if nodata.is_finite() { json!(nodata) } else { json!(nodata.to_string()) };
        state("nodata", json!(head.nodata.map(write)));
        if let Some(place) = &head.georeference {
            state("crs", json!(place.epsg().map(|code| format!("EPSG:{code}"))));
            state("crs_name", json!(name_system(place)));
            let vertical = geokeys::find_short(place, key::VERTICAL).filter(|code| !matches!(code, 0 | 32_767));
            state("vertical_crs", json!(vertical.map(|code| format!("EPSG:{code}"))));
            state("transform", json!(place.transform));
            state("pixel", if place.pixel == PixelIs::Point { "point" } else { "area" }.into());
            if let Some([_, width, _, _, _, height]) = place.transform {
                let source = self.source("transform");
                self.record("cell_size", json!([width.abs(), height.abs()]), source);
            }
        }
    }

    /// Records the cells on the ground. `source` is that of the cell size, if it is not the transform's.
    pub(super) fn record_cells(&mut self, grid: &Grid, source: Option<FactSource>) {
        let source = source.unwrap_or_else(|| self.source("transform"));
        let shape = match grid.shape {
            CellShape::Square => "square",
            CellShape::Rectangular { .. } => "rectangular",
            CellShape::Geographic(_) => "geographic",
        };
        self.record("cell_shape", shape, source.clone());
        self.record("cell_size_m", grid.cell, source);
    }

    /// Names the file of facts that come from the sidecar of `path`, which code without a path recorded.
    pub(super) fn name_sidecar(&mut self, sidecar: &Path) {
        for fact in &mut self.0 {
            if fact.source == FactSource::Sidecar(PathBuf::new()) {
                fact.source = FactSource::Sidecar(sidecar.to_path_buf());
            }
        }
    }

    /// Returns the facts as a JSON object, whose key `sources` has the source of each.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut object: Map<String, Value> =
            self.iter().map(|fact| (fact.name.to_string(), fact.value.clone())).collect();
        let sources: Map<String, Value> = self
            .iter()
            .filter(|fact| fact.source != FactSource::Samples)
            .map(|fact| {
                let mut source = json!({"from": fact.source.kind()});
                if let Some(detail) = fact.source.detail() {
                    source["detail"] = detail.into();
                }
                (fact.name.to_string(), source)
            })
            .collect();
        object.insert("sources".to_string(), sources.into());
        object
    }
}

/// Returns the name of the coordinate system in the keys' texts: that of the projected system, or that of the
/// geographic one.
fn name_system(place: &Georeference) -> Option<String> {
    // PCSCitation, GTCitation, GeogCitation.
    let names = [3073, 1026, 2049].into_iter().map(|name| geokeys::join_key_texts(place, |key| key == name));
    let mut names = names.map(|name| name.trim().trim_end_matches('|').trim().to_string());
    names.find(|name| !name.is_empty())
}

/// Returns the JSON Schema of the facts that `thalweg info --json` prints.
///
/// # Examples
/// ```
/// use thalweg_io::facts::facts_schema;
///
/// assert_eq!(facts_schema()["properties"]["cell_size_m"]["type"], "number");
/// ```
pub fn facts_schema() -> Value {
    let kinds = FactSource::KINDS.map(|(kind, about)| json!({"const": kind, "description": about}));
    let source = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["from"],
        "properties": {
            "from": {"oneOf": kinds},
            "detail": {"type": "string", "description": "Tag, file, option or evidence."},
        },
    });
    let stands = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["value", "cells"],
        "properties": {"value": {"type": "number"}, "cells": {"type": "integer", "minimum": 0}},
    });
    let properties: Map<String, Value> = SPECS
        .iter()
        .map(|spec| {
            let mut schema = match (spec.name, spec.value) {
                ("sources", _) => json!({"type": "object", "additionalProperties": source}),
                ("nodata", _) => json!({"type": ["number", "string"]}),
                (_, ValueType::Text) => json!({"type": "string"}),
                (_, ValueType::Number) => json!({"type": "number"}),
                (_, ValueType::Count) => json!({"type": "integer", "minimum": 0}),
                (_, ValueType::Numbers(count)) => {
                    json!({"type": "array", "items": {"type": "number"}, "minItems": count, "maxItems": count})
                }
                (_, ValueType::List) => json!({"type": "array", "items": {"type": "number"}}),
                (_, ValueType::Texts) => json!({"type": "array", "items": {"type": "string"}}),
                (_, ValueType::Stands) => json!({"type": "array", "items": stands}),
            };
            schema["description"] = spec.about.into();
            (spec.name.to_string(), schema)
        })
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "thalweg info",
        "description": "Properties of an elevation model as they were understood, and their sources.",
        "type": "object",
        "additionalProperties": false,
        "required": ["file", "format", "columns", "rows", "samples", "sources"],
        "properties": properties,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_fact_replaces_an_earlier_one() {
        let mut facts = Facts::default();
        facts.record("cell_size_m", 5.0, FactSource::Default(String::new()));
        facts.record("rows", 7, FactSource::File("key nrows".to_string()));
        facts.record("cell_size_m", 30.0, FactSource::Option("cell_size"));
        facts.record_measured("lowest_m", 1.5);
        let names: Vec<&str> = facts.iter().map(|fact| fact.name).collect();
        assert_eq!(names, ["rows", "cell_size_m", "lowest_m"]);
        let json = Value::from(facts.to_json());
        assert_eq!(json["cell_size_m"], 30.0);
        assert_eq!(json["sources"]["cell_size_m"], json!({"from": "option", "detail": "cell_size"}));
        assert_eq!(json["sources"]["rows"], json!({"from": "file", "detail": "key nrows"}));
        assert_eq!(json["sources"].get("lowest_m"), None);
    }

    #[test]
    fn each_fact_is_declared_once() {
        let mut names: Vec<&str> = SPECS.iter().map(|spec| spec.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SPECS.len());
        assert_eq!(facts_schema()["properties"].as_object().map(Map::len), Some(SPECS.len()));
    }
}
