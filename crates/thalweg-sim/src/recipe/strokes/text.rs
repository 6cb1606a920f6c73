//! The form of strokes in a recipe.

use serde_json::json;

use super::{MAX_DISTANCE_M, MAX_POINTS, MAX_STROKES, RADIUS, Stroke, Tool, list_names_and_meanings, stroke_name};
use thalweg_core::declare::keys::{self, Key, key};
use thalweg_core::declare::params::{Param, ParamKind, Written};
use thalweg_core::{Error, Point, Result};

/// The form of a stroke in messages.
const WRITTEN: &str =
    "{ step = number, tool = \"word\", x = metres, y = metres, … }, or points = [[x, y], …] for x and y";

/// A number of earlier repetitions.
const TIMES: (ParamKind, &str) = (ParamKind::Count { min: 0, max: u32::MAX }, "1");

/// The key that determines the settings.
const TOOL: &str = "tool";

/// The keys of a stroke in addition to its tool's settings. Its places are `x` and `y`, or `points`, or none.
const KEYS: [Key<Stroke>; 6] = [
    key!(Stroke, step, TIMES, "The number of steps that the stage has taken before."),
    Key {
        name: TOOL,
        is_rare: false,
        // It is read before all others.
        read: |_, _, _| Ok(()),
        write: |stroke| Some(keys::quote_toml(stroke.tool.name())),
        schema: |stroke| Some(json!({"const": stroke.tool.name(), "description": stroke.tool.meaning()})),
    },
    key!(Stroke, pass, TIMES, "The number of coarser levels on which the stage has run before.").omit_default(),
    Key {
        name: "x",
        is_rare: false,
        read: |stroke, name, value| read_coordinate(name, value).map(|x| stroke.place_mut().x = x),
        write: |stroke| stroke.only_place().map(|place| Written::from(place.x).to_string()),
        schema: |_| Some(coordinate_schema("Metres eastward from the world's north-western corner.")),
    },
    Key {
        name: "y",
        is_rare: false,
        read: |stroke, name, value| read_coordinate(name, value).map(|y| stroke.place_mut().y = y),
        write: |stroke| stroke.only_place().map(|place| Written::from(place.y).to_string()),
        schema: |_| Some(coordinate_schema("Metres southward from that corner.")),
    },
    Key {
        name: "points",
        is_rare: false,
        read: |stroke, name, value| {
            let rows = value.as_array().ok_or_else(|| Error::invalid_value(name, value, WRITTEN))?;
            let point = |row: &toml::Value| match row.as_array().map(Vec::as_slice) {
                Some([x, y]) => Ok(Point::new(read_coordinate(name, x)?, read_coordinate(name, y)?)),
                _ => Err(Error::invalid_value(name, row, WRITTEN)),
            };
            stroke.points = rows.iter().map(point).collect::<Result<_>>()?;
            Ok(())
        },
        write: |stroke| {
            let rows = || stroke.points.iter().map(|point| <[f64; 2]>::from(*point)).collect::<Vec<_>>();
            (stroke.points.len() > 1).then(|| format!("{:?}", rows()))
        },
        schema: |stroke| {
            let point = json!({"type": "array", "items": coordinate_schema("Metres."), "minItems": 2, "maxItems": 2});
            Some(json!({"type": "array", "items": point, "minItems": usize::from(stroke.tool.needs_place()),
                        "maxItems": MAX_POINTS, "description": "Places [x, y] in their order, instead of x and y."}))
        },
    },
];

/// Reads a coordinate of a place; its range is checked later with all others.
fn read_coordinate(name: &str, value: &toml::Value) -> Result<f64> {
    let number = value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
    number.ok_or_else(|| Error::invalid_value(name, value, WRITTEN))
}

fn coordinate_schema(about: &str) -> serde_json::Value {
    json!({"type": "number", "minimum": -MAX_DISTANCE_M, "maximum": MAX_DISTANCE_M, "description": about})
}

impl Stroke {
    /// Returns the one place, which is added if there is none.
    fn place_mut(&mut self) -> &mut Point {
        if self.points.is_empty() {
            self.points.push(Point::default());
        }
        &mut self.points[0]
    }

    fn only_place(&self) -> Option<Point> {
        if let [place] = self.points.as_slice() { Some(*place) } else { None }
    }

    /// Reads a stroke from a recipe's list; `name` is used in messages.
    fn parse(name: &str, row: &toml::Value) -> Result<Self> {
        let wrong = || Error::invalid_value(name, row, WRITTEN);
        let table = row.as_table().ok_or_else(wrong)?;
        let word = table.get(TOOL).and_then(toml::Value::as_str).ok_or_else(wrong)?;
        let tool = Tool::from_name(word);
        let tool = tool
            .ok_or_else(|| Error::unknown_name(TOOL, word, list_names_and_meanings().iter().map(|(word, _)| *word)))?;
        let [x, y, points] = ["x", "y", "points"].map(|key| table.contains_key(key));
        // A place needs both coordinates, and the two ways to give places exclude each other.
        if x != y || (x && points) {
            return Err(wrong());
        }
        let mut stroke = Self::new(tool, Vec::new());
        keys::read_keys(&mut stroke, name, table, &KEYS)?;
        for (key, value) in table.iter().filter(|(name, _)| !KEYS.iter().any(|key| key.name == *name)) {
            // Without a place there is no circle.
            if stroke.points.is_empty() && key == RADIUS.name {
                return Err(Error::conflict(
                    format!("{name}.{key} = {value}"),
                    "only applies with a place; add `x` and `y`, or `points`",
                ));
            }
            stroke.set_parameter(name, key, &Written::from_toml(value))?;
        }
        stroke.check_points(name).map(|()| stroke)
    }

    /// Returns its form in a recipe.
    fn to_toml(&self) -> String {
        // A shower without a place has no radius, and `parse` would refuse one.
        let is_idle = |setting: &Param| self.points.is_empty() && setting.name == RADIUS.name;
        let settings = self.tool.settings().iter().filter(|setting| !is_idle(setting));
        let settings = settings.filter_map(|set| Some((set.name, Written::from(self.get(set.name)?).to_string())));
        keys::format_inline_table(
            keys::write_keys(self, &Self::new(self.tool, Vec::new()), &KEYS).into_iter().chain(settings),
        )
    }
}

/// Reads the strokes of a recipe's list; what depends on the grid is checked later.
///
/// # Errors
/// Returns an error if it is not a list of strokes; for unknown tools, keys and settings; and for values and places
/// that are not allowed.
pub fn parse_strokes(value: &toml::Value) -> Result<Vec<Stroke>> {
    let rows = value.as_array().filter(|rows| rows.len() <= MAX_STROKES);
    let allowed = || format!("a list of up to {MAX_STROKES} of {WRITTEN}");
    let rows = rows.ok_or_else(|| Error::invalid_value("strokes", value.type_str(), allowed()))?;
    rows.iter().enumerate().map(|(number, row)| Stroke::parse(&stroke_name(number), row)).collect()
}

/// Returns the form of strokes in a recipe, one line for each; `None` if there are none.
pub fn to_toml(strokes: &[Stroke]) -> Option<String> {
    let lines: String = strokes.iter().map(|stroke| format!("    {},\n", stroke.to_toml())).collect();
    (!strokes.is_empty()).then(|| format!("[\n{lines}]"))
}

/// Returns the JSON Schema of a stage's list of strokes.
pub(crate) fn build_strokes_schema() -> serde_json::Value {
    let stroke = |tool: Tool| {
        let mut properties = keys::keys_schema(&Stroke::new(tool, Vec::new()), &KEYS);
        properties.extend(tool.settings().iter().map(|setting| (setting.name.to_string(), setting.json_schema())));
        let mut places = vec![json!({"required": ["x", "y"]}), json!({"required": ["points"]})];
        if !tool.needs_place() {
            let none = ["x", "y", "points"].map(|key| json!({"required": [key]}));
            places.push(json!({"not": {"anyOf": none}}));
        }
        let mut schema = keys::table_schema(properties);
        schema["title"] = tool.name().into();
        schema["required"] = json!([TOOL]);
        schema["oneOf"] = places.into();
        schema
    };
    let strokes: Vec<_> = Tool::all().map(stroke).collect();
    json!({"type": "array", "maxItems": MAX_STROKES, "items": {"oneOf": strokes},
           "description": "User edits in their order."})
}
