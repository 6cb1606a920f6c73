//! Sketches as GeoJSON.

use serde_json::{Map, Value, json};

use crate::sketch::{MAX_FEATURES, MAX_POINTS, Sketch, SketchFeature, SketchKind};
use thalweg_core::{Error, Point};
use thalweg_io::features::{Property, feature_text};
use thalweg_io::plain;

/// Properties that are read, and those that map programs add and that are ignored.
const READ_PROPERTIES: [&str; 4] = ["kind", "height", "width", "strength"];
const IGNORED_PROPERTIES: [&str; 3] = ["id", "fid", "name"];

type SketchResult<T> = Result<T, String>;

/// Returns the features of a text.
pub fn parse_sketch(text: &str) -> SketchResult<Sketch> {
    let json: Value = serde_json::from_str(text).map_err(|error| format!("is not valid JSON: {error}"))?;
    if json.get("type").and_then(Value::as_str) != Some("FeatureCollection") {
        return Err("is not supported GeoJSON: its `type` must be \"FeatureCollection\"".into());
    }
    let features = json.get("features").and_then(Value::as_array).ok_or("has no list `features`")?;
    if features.is_empty() {
        return Err("is empty: `features` has no items; remove `sketch` from the recipe, or add a feature".into());
    }
    if features.len() > MAX_FEATURES {
        return Err(format!("has {} features; at most {MAX_FEATURES} are allowed", features.len()));
    }
    let read = |(number, json): (usize, &Value)| read_feature(json).map_err(|what| format!("feature {number}: {what}"));
    let features: Vec<_> = (1..).zip(features).map(read).collect::<SketchResult<_>>()?;
    let points: usize = features.iter().map(|feature| feature.points.len()).sum();
    if points > MAX_POINTS {
        return Err(format!("has {points} points; at most {MAX_POINTS} are allowed"));
    }
    Ok(Sketch { features })
}

fn read_feature(json: &Value) -> SketchResult<SketchFeature> {
    let nothing = Map::new();
    let properties = json.get("properties").and_then(Value::as_object).unwrap_or(&nothing);
    let known = || READ_PROPERTIES.iter().copied();
    if let Some(key) =
        properties.keys().find(|key| !known().chain(IGNORED_PROPERTIES).any(|known| known == key.as_str()))
    {
        return Err(Error::unknown_name("property", key, known()).to_string());
    }
    let given = |name: &str| properties.get(name).filter(|value| !value.is_null());
    let words = || SketchKind::ALL.map(SketchKind::name);
    let kind = match given("kind") {
        None => return Err(format!("has no `kind`; give one of {}", words().join(", "))),
        Some(Value::String(word)) => SketchKind::ALL
            .into_iter()
            .find(|kind| kind.name() == word)
            .ok_or_else(|| Error::unknown_name("kind", word, words()).to_string())?,
        Some(other) => {
            return Err(format!(
                "kind = {}: must be one of {}",
                clip_value(other),
                words().map(|w| format!("\"{w}\"")).join(", ")
            ));
        }
    };
    let number = |name: &str, [least, most]: [f64; 2], unit: &str| match given(name) {
        None => Ok(None),
        Some(value) => match value.as_f64().filter(|x| (least..=most).contains(x)) {
            Some(x) => Ok(Some(x)),
            None => Err(format!("{name} = {}: must be {least} to {most}{unit}", clip_value(value))),
        },
    };
    let width = number("width", [0.01, 1e7], " m")?;
    let strength = number("strength", [0.0, 1.0], "")?.unwrap_or(1.0);
    let points =
        read_points(kind, json.get("geometry").filter(|geometry| !geometry.is_null()).ok_or("has no geometry")?)?;
    let heights = match given("height") {
        Some(Value::Array(list)) => {
            let heights: Option<Vec<f64>> = list.iter().map(Value::as_f64).collect();
            heights.filter(|list| list.len() == points.len()).ok_or_else(|| {
                format!("height is a list; it must contain one number for each of its {} points", points.len())
            })?
        }
        Some(_) => number("height", [-16_000.0, 16_000.0], " m")?.into_iter().collect(),
        None => Vec::new(),
    };
    if let Some(height) = heights.iter().find(|height| !(-16_000.0..=16_000.0).contains(*height)) {
        return Err(format!("height = {height}: must be -16000 to 16000 m"));
    }
    match (kind, heights.is_empty()) {
        (SketchKind::Height, true) => Err("a height needs a `height` in metres".into()),
        (SketchKind::Coast, false) => {
            Err("a coast cannot have a `height`, because it is at the recipe's `sea_level`".into())
        }
        _ => Ok(SketchFeature { kind, points, heights, width, strength }),
    }
}

/// Returns the points of a geometry, if it is one that the kind can have.
fn read_points(kind: SketchKind, geometry: &Value) -> SketchResult<Vec<Point>> {
    let form = geometry.get("type").and_then(Value::as_str).unwrap_or_default();
    let coordinates = geometry.get("coordinates").unwrap_or(&Value::Null);
    let line = |list: &Value| -> SketchResult<Vec<Point>> {
        let list = list.as_array().ok_or("its `coordinates` are not a list of points")?;
        let mut points: Vec<Point> = list.iter().map(read_point).collect::<SketchResult<_>>()?;
        if kind != SketchKind::River && kind != SketchKind::Ridge {
            // Lines that may have a list of heights keep repeated points, because each point has a height.
            points.dedup();
        }
        Ok(points)
    };
    let points = match (kind, form) {
        (SketchKind::Height, "Point") => return Ok(vec![read_point(coordinates)?]),
        (SketchKind::Height, _) => return Err(describe_wrong_geometry(kind, form, "a Point")),
        (SketchKind::Coast, "Polygon") => match coordinates.as_array().map(Vec::as_slice) {
            Some([ring]) => {
                let ring = line(ring)?;
                if ring.len() < 4 || ring.first() != ring.last() {
                    return Err("its ring does not close: it must have four points or more, and the last must \
                                    equal the first"
                        .into());
                }
                ring
            }
            Some([_, _, ..]) => return Err("a coast's Polygon has holes; it must have one ring".into()),
            _ => return Err("its Polygon has no ring".into()),
        },
        (_, "LineString") => line(coordinates)?,
        (SketchKind::Coast, _) => return Err(describe_wrong_geometry(kind, form, "a Polygon or a LineString")),
        _ => return Err(describe_wrong_geometry(kind, form, "a LineString")),
    };
    if points.len() < 2 || points.iter().all(|point| *point == points[0]) {
        return Err("a line needs two or more points that differ".into());
    }
    Ok(points)
}

fn describe_wrong_geometry(kind: SketchKind, form: &str, allowed: &str) -> String {
    format!("a {} has the geometry `{}`; it must be {allowed}", kind.name(), plain::clip_text_to(form, 40))
}

/// Reads a point; an altitude is ignored.
fn read_point(json: &Value) -> SketchResult<Point> {
    let number = |value: &Value| value.as_f64().filter(|x| x.is_finite());
    match json.as_array().map(Vec::as_slice) {
        Some([x, y] | [x, y, _]) => number(x).zip(number(y)).map(|(x, y)| Point::new(x, y)),
        _ => None,
    }
    .ok_or_else(|| format!("{} is not a point; a point must be [x, y] in metres", clip_value(json)))
}

fn clip_value(value: &Value) -> String {
    plain::clip_text_to(&value.to_string(), 60)
}

impl Sketch {
    /// Returns the sketch as it would be read from a file; checks each feature alone, and returns problems as text.
    ///
    /// # Errors
    /// Returns a description of the first feature that no file could contain.
    pub fn to_checked(&self) -> SketchResult<Self> {
        for (number, feature) in (1..).zip(&self.features) {
            let own = feature.heights.iter().chain(&feature.width).chain([&feature.strength]);
            // JSON has no such numbers: it would omit them, and a reader would use the defaults.
            let places = feature.points.iter().flat_map(|point| [point.x, point.y]);
            if let Some(x) = places.chain(own.copied()).find(|x| !x.is_finite()) {
                return Err(format!("feature {number} contains the number {x}; numbers must be finite"));
            }
        }
        parse_sketch(&self.to_geojson())
    }

    /// Returns the GeoJSON text of a file that [`Sketch::read`] reads, with one feature per line.
    pub fn to_geojson(&self) -> String {
        // Coordinates are those of the recipe's world, whatever its coordinate system: the collection names none.
        let lines: Vec<String> = self.features.iter().map(SketchFeature::to_geojson_feature).collect();
        format!("{{\"type\": \"FeatureCollection\", \"features\": [\n{}\n]}}\n", lines.join(",\n"))
    }
}

impl SketchFeature {
    fn to_geojson_feature(&self) -> String {
        let height = match self.heights.as_slice() {
            [] => None,
            [one] => Some(Property::Real(*one)),
            list => Some(Property::Reals(list.to_vec())),
        };
        let strength = (self.strength != 1.0).then_some(Property::Real(self.strength));
        let kind = Property::Word(self.kind.name().to_string());
        let given = [
            ("kind", Some(kind)),
            ("height", height),
            ("width", self.width.map(Property::Real)),
            ("strength", strength),
        ];
        let properties: Vec<_> = given.into_iter().filter_map(|(name, property)| Some((name, property?))).collect();
        let (shape, coordinates) = match (self.kind, self.points.as_slice()) {
            (SketchKind::Height, [point, ..]) => ("Point", json!(point)),
            (SketchKind::Coast, ring) if self.is_ring() => ("Polygon", json!([ring])),
            (_, line) => ("LineString", json!(line)),
        };
        feature_text(shape, &coordinates, &properties)
    }
}
