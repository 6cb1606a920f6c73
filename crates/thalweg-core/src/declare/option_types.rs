//! Types of options whose values are no number, word, text, path, cell or size: [`ValueForm`] describes their form, and
//! [`Setting`], [`NamedFile`] and [`Line`] are such types. [`Lists`] turns the options of an operation into lists.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, RangeFull};
use std::path::PathBuf;

use serde_json::json;

use crate::base::names::{from_text, to_text};
use crate::declare::operation::{
    Arity, Json, Operation, OptionKind, OptionSpec, OptionType, find_option, format_value, parse_numbers,
};
use crate::declare::params::{Written, parse_value};
use crate::terrain::grid::{Edges, SIDES};
use crate::{Cell, CellRect, Edge, Error, Result};

/// The form of the values of a type: which JSON is accepted, and how a value is typed on a command line. Two forms with
/// the same placeholder are the same form.
#[derive(Debug, Clone, Copy)]
pub struct ValueForm {
    /// The placeholder of a value in the help of a command, for example `ROW,COL,NUMBER`.
    pub placeholder: &'static str,
    /// The words that can be typed, each with its meaning; empty if the texts are no words.
    pub words: &'static [(&'static str, &'static str)],
    /// The accepted values in code or JSON, for the end of the sentence "must be".
    pub allowed: &'static str,
    /// The accepted texts on a command line, for the end of the sentence "must be".
    pub allowed_text: &'static str,
    /// Parses a text of a command line; returns `None` if it is not such a value.
    pub parse: fn(&str) -> Option<Json>,
    /// Returns true if JSON is such a value.
    pub is_accepted: fn(&Json) -> bool,
    /// Returns the JSON Schema of a value; of a named value, the schema of the value without its name.
    pub schema: fn() -> Json,
    /// The type of a value in Python; of a named value, the type of the value without its name.
    pub python: &'static str,
    /// The type of a value in TypeScript; of a named value, the type of the value without its name.
    pub typescript: &'static str,
    /// True if a value is a list of two items, a name and the value that belongs to it. A list of such values may be
    /// given as an object.
    pub is_named: bool,
}

impl PartialEq for ValueForm {
    fn eq(&self, other: &Self) -> bool {
        // Functions cannot be compared reliably.
        self.placeholder == other.placeholder
    }
}

/// The words for the boundary condition of a side, with their meanings.
const EDGE_WORDS: &[(&str, &str)] =
    &[("open", "Water and sediment leave through the sides."), ("closed", "Nothing leaves through the sides.")];

/// The words for the boundary condition of a side that may be joined to the opposite one.
const LOOPED_EDGE_WORDS: &[(&str, &str)] = &[
    EDGE_WORDS[0],
    EDGE_WORDS[1],
    ("looped", "The terrain continues at the opposite side, so that it repeats without a seam."),
];

/// The boundary conditions of a map that does not repeat: [`Edges`] without [`Edge::Looped`].
static EDGES: ValueForm = ValueForm {
    placeholder: "EDGES",
    words: EDGE_WORDS,
    allowed: "open or closed, or an object that contains one of these words for each side: north, east, south, west",
    allowed_text: "open or closed",
    parse: |text: &str| Some(json!(text)).filter(|word| read_edge(word, EDGE_WORDS).is_some()),
    is_accepted: |value: &Json| read_edges(value, EDGE_WORDS).is_some(),
    schema: || edges_schema(EDGE_WORDS),
    python: r#"Literal["open", "closed"] | Mapping[str, str]"#,
    typescript: r#""open" | "closed" | Partial<Record<"north" | "east" | "south" | "west", "open" | "closed">>"#,
    is_named: false,
};

/// The boundary conditions of a terrain in memory: [`LoopedEdges`].
static LOOPED_EDGES: ValueForm = ValueForm {
    placeholder: "EDGES-OR-LOOPED",
    words: LOOPED_EDGE_WORDS,
    allowed: "open, closed or looped, or an object that contains one of these words for each side: north, east, south, \
              west",
    allowed_text: "open, closed or looped",
    parse: |text: &str| Some(json!(text)).filter(|word| read_edge(word, LOOPED_EDGE_WORDS).is_some()),
    is_accepted: |value: &Json| read_edges(value, LOOPED_EDGE_WORDS).is_some(),
    schema: || edges_schema(LOOPED_EDGE_WORDS),
    python: r#"Literal["open", "closed", "looped"] | Mapping[str, str]"#,
    typescript: concat!(
        r#""open" | "closed" | "looped" | "#,
        r#"Partial<Record<"north" | "east" | "south" | "west", "open" | "closed" | "looped">>"#
    ),
    is_named: false,
};

fn edges_schema(words: &[(&str, &str)]) -> Json {
    let edge = json!({"enum": words.iter().map(|(word, _)| *word).collect::<Vec<_>>()});
    let sides: serde_json::Map<String, Json> = SIDES.iter().map(|side| (side.to_string(), edge.clone())).collect();
    json!({"anyOf": [edge, {"type": "object", "additionalProperties": false, "properties": sides}]})
}

/// Reads the boundary condition of a side, which must be one of these words.
fn read_edge(word: &Json, words: &[(&str, &str)]) -> Option<Edge> {
    let word = word.as_str().filter(|given| words.iter().any(|(word, _)| word == given))?;
    match word {
        "open" => Some(Edge::Open),
        "closed" => Some(Edge::Closed),
        "looped" => Some(Edge::Looped),
        _ => None,
    }
}

/// Reads one word for all sides, or an object of sides; a side that the object does not contain is open.
fn read_edges(value: &Json, words: &[(&str, &str)]) -> Option<Edges> {
    let Some(sides) = value.as_object() else { return Some([read_edge(value, words)?; 4]) };
    if sides.keys().any(|name| !SIDES.contains(&name.as_str())) {
        return None;
    }
    let mut edges = Edges::default();
    for (name, edge) in SIDES.iter().zip(&mut edges) {
        if let Some(word) = sides.get(*name) {
            *edge = read_edge(word, words)?;
        }
    }
    Some(edges)
}

impl OptionType for Edges {
    type Within = RangeFull;

    fn kind(_: RangeFull) -> OptionKind {
        OptionKind::Form(&EDGES)
    }

    fn from_json(value: &Json) -> Option<Self> {
        read_edges(value, EDGE_WORDS)
    }

    fn to_json(&self) -> Json {
        let word = |edge: &Edge| match edge {
            Edge::Open => "open",
            Edge::Closed => "closed",
            Edge::Looped => "looped",
        };
        match self.iter().all(|edge| *edge == self[0]) {
            true => json!(word(&self[0])),
            false => SIDES.iter().zip(self).map(|(side, edge)| (side.to_string(), json!(word(edge)))).collect(),
        }
    }
}

/// The boundary conditions of a terrain in memory. In contrast to those of a file, they may be [`Edge::Looped`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoopedEdges(pub Edges);

impl OptionType for LoopedEdges {
    type Within = RangeFull;

    fn kind(_: RangeFull) -> OptionKind {
        OptionKind::Form(&LOOPED_EDGES)
    }

    fn from_json(value: &Json) -> Option<Self> {
        read_edges(value, LOOPED_EDGE_WORDS).map(Self)
    }

    fn to_json(&self) -> Json {
        self.0.to_json()
    }
}

/// A cell with a number, for example a spring with its discharge.
static NUMBERED_CELL: ValueForm = ValueForm {
    placeholder: "ROW,COL,NUMBER",
    words: &[],
    allowed: "[row, column, number], where row and column are whole numbers of 0 or more",
    allowed_text: "ROW,COL,NUMBER, where ROW and COL are whole numbers of 0 or more",
    parse: |text: &str| {
        // The number follows the last comma; the rest is the cell.
        let (cell, number) = text.rsplit_once(',')?;
        let number = number.trim().parse::<f64>().ok().filter(|number| number.is_finite())?;
        let cell = parse_numbers::<usize>(cell, &[','])?;
        match cell.as_array().map(Vec::as_slice) {
            Some([row, col]) => Some(json!([row, col, number])),
            _ => None,
        }
    },
    is_accepted: |value: &Json| read_numbered_cell(value).is_some(),
    schema: || {
        let index = json!({"type": "integer", "minimum": 0});
        json!({"type": "array", "prefixItems": [index, index, {"type": "number"}], "items": false, "minItems": 3})
    },
    python: "Sequence[float]",
    typescript: "[number, number, number]",
    is_named: false,
};

fn read_numbered_cell(value: &Json) -> Option<(Cell, f64)> {
    let [row, col, number] = value.as_array()?.as_slice() else { return None };
    let index = |value: &Json| value.as_u64().and_then(|n| usize::try_from(n).ok());
    Some((Cell::new(index(row)?, index(col)?), number.as_f64()?))
}

impl OptionType for (Cell, f64) {
    type Within = RangeFull;

    fn kind(_: RangeFull) -> OptionKind {
        OptionKind::Form(&NUMBERED_CELL)
    }

    fn from_json(value: &Json) -> Option<Self> {
        read_numbered_cell(value)
    }

    fn to_json(&self) -> Json {
        let (cell, number) = self;
        json!([cell.row, cell.col, number.to_json()])
    }
}

/// A rectangle of cells.
static WINDOW: ValueForm = ValueForm {
    placeholder: "COL,ROW,COLS,ROWS",
    words: &[],
    allowed: "[row, column, rows, columns], four whole numbers of 0 or more",
    allowed_text: "COL,ROW,COLS,ROWS, four whole numbers",
    // A command line has the columns first, JSON the rows.
    parse: |text: &str| match parse_numbers::<usize>(text, &[','])?.as_array().map(Vec::as_slice) {
        Some([col, row, cols, rows]) => Some(json!([row, col, rows, cols])),
        _ => None,
    },
    is_accepted: |value: &Json| read_window(value).is_some(),
    schema: || json!({"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 4, "maxItems": 4}),
    python: "Sequence[int]",
    typescript: "[number, number, number, number]",
    is_named: false,
};

fn read_window(value: &Json) -> Option<CellRect> {
    let [row, col, rows, cols] = value.as_array()?.as_slice() else { return None };
    let index = |value: &Json| value.as_u64().and_then(|n| usize::try_from(n).ok());
    Some(CellRect::new([index(row)?, index(col)?], [index(rows)?, index(cols)?]))
}

impl OptionType for CellRect {
    type Within = RangeFull;

    fn kind(_: RangeFull) -> OptionKind {
        OptionKind::Form(&WINDOW)
    }

    fn from_json(value: &Json) -> Option<Self> {
        read_window(value)
    }

    fn to_json(&self) -> Json {
        json!([self.start.row, self.start.col, self.rows(), self.cols()])
    }
}

/// A parameter of a model with its value.
///
/// # Examples
/// ```
/// use thalweg_core::declare::option_types::{Setting, check_unique_settings};
///
/// let twice = [Setting::new("years", 2e6), Setting::new("years", 3e6)];
/// let error = check_unique_settings(&twice, |setting| &setting.name).unwrap_err();
/// assert!(error.to_string().contains("one value for each parameter"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The name of the parameter; for a recipe, the label of the stage, a dot and the name.
    pub name: String,
    /// The value.
    pub value: Written,
}

impl Setting {
    /// Makes a setting.
    pub fn new(name: impl Into<String>, value: impl Into<Written>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// Formats the setting as it is typed: `NAME=VALUE`.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// Checks that no parameter is set twice, to a value or to several; `name` returns the name of a parameter.
///
/// # Errors
/// Returns an error that names the parameter with both settings.
pub fn check_unique_settings<T: fmt::Display>(settings: &[T], name: impl Fn(&T) -> &str) -> Result<()> {
    for (number, setting) in settings.iter().enumerate() {
        if let Some(before) = settings[..number].iter().find(|before| name(before) == name(setting)) {
            let allowed = "one value for each parameter";
            return Err(Error::invalid_value("set", format!("{before} and {setting}"), allowed));
        }
    }
    Ok(())
}

/// A value of a parameter in JSON: a number, true or false, or a text as it is typed.
fn is_parameter_value(value: &Json) -> bool {
    value.is_number() || value.is_boolean() || value.is_string()
}

static SETTING: ValueForm = ValueForm {
    placeholder: "NAME=VALUE",
    words: &[],
    allowed: "[name, value], where the value is a number, true, false or a string",
    allowed_text: "NAME=VALUE",
    parse: |text: &str| text.split_once('=').map(|(name, value)| json!([name.trim(), value.trim()])),
    is_accepted: |pair: &Json| split_pair(pair).is_some_and(|(_, value)| is_parameter_value(value)),
    schema: || json!({"type": ["number", "boolean", "string"]}),
    python: "float | bool | str",
    typescript: "number | boolean | string",
    is_named: true,
};

/// Splits a list of a name and a value.
fn split_pair(pair: &Json) -> Option<(&str, &Json)> {
    match pair.as_array()?.as_slice() {
        [name, value] => Some((name.as_str()?, value)),
        _ => None,
    }
}

impl OptionType for Setting {
    type Within = RangeFull;

    fn kind(_: RangeFull) -> OptionKind {
        OptionKind::Form(&SETTING)
    }

    fn from_json(pair: &Json) -> Option<Self> {
        let (name, value) = split_pair(pair)?;
        let value = match value {
            Json::Bool(switch) => Written::Switch(*switch),
            // A text is read as on a command line, so that `2` is a number there, too.
            Json::String(text) => parse_value(text),
            number => number.as_i64().map(Written::Whole).or_else(|| number.as_f64().map(Written::Number))?,
        };
        Some(Self { name: name.to_string(), value })
    }

    fn to_json(&self) -> Json {
        let value = match &self.value {
            Written::Number(x) if x.is_finite() => json!(x),
            Written::Whole(n) => json!(n),
            Written::Switch(switch) => json!(switch),
            Written::Word(text) => json!(text),
            // JSON has no infinite numbers and no lists of TOML.
            other => json!(other.to_string()),
        };
        json!([self.name, value])
    }
}

/// A parameter of a model with several values, as texts that can be typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingValues {
    /// The label of the stage, a dot and the name of the parameter.
    pub name: String,
    /// The values.
    pub values: Vec<String>,
}

impl SettingValues {
    /// Makes a setting with these values.
    pub fn new(name: impl Into<String>, values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { name: name.into(), values: values.into_iter().map(Into::into).collect() }
    }
}

/// Formats the setting as it is typed: `NAME=VALUE,VALUE`.
impl fmt::Display for SettingValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.values.join(","))
    }
}

static SETTING_VALUES: ValueForm = ValueForm {
    placeholder: "NAME=VALUE,VALUE",
    words: &[],
    allowed: "[name, values], where each value is a number, true, false or a string",
    allowed_text: "NAME=VALUE or NAME=VALUE,VALUE,…",
    parse: |text: &str| {
        let (name, values) = text.split_once('=')?;
        Some(json!([name.trim(), values.split(',').map(str::trim).collect::<Vec<_>>()]))
    },
    is_accepted: |pair: &Json| {
        let is_list = |values: &Json| values.as_array().is_some_and(|values| values.iter().all(is_parameter_value));
        split_pair(pair).is_some_and(|(_, values)| is_parameter_value(values) || is_list(values))
    },
    schema: || {
        let one = json!({"type": ["number", "boolean", "string"]});
        json!({"anyOf": [one, {"type": "array", "items": one}]})
    },
    python: "float | bool | str | Sequence[float | bool | str]",
    typescript: "number | boolean | string | (number | boolean | string)[]",
    is_named: true,
};

impl OptionType for SettingValues {
    type Within = RangeFull;

    fn kind(_: RangeFull) -> OptionKind {
        OptionKind::Form(&SETTING_VALUES)
    }

    fn from_json(pair: &Json) -> Option<Self> {
        let (name, values) = split_pair(pair)?;
        let values = match values.as_array() {
            Some(values) => values.iter().map(format_value).collect(),
            None => vec![format_value(values)],
        };
        Some(Self { name: name.to_string(), values })
    }

    fn to_json(&self) -> Json {
        json!([self.name, self.values])
    }
}

/// A file with a name, for example the file of a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// The name.
    pub name: String,
    /// The path of the file.
    pub path: PathBuf,
}

impl NamedFile {
    /// Makes a named file.
    pub fn new(name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self { name: name.into(), path: path.into() }
    }
}

static NAMED_FILE: ValueForm = ValueForm {
    placeholder: "NAME=FILE",
    words: &[],
    allowed: "[name, path]",
    allowed_text: "NAME=FILE",
    parse: |text: &str| text.split_once('=').map(|(name, path)| json!([name.trim(), path.trim()])),
    is_accepted: |pair: &Json| split_pair(pair).is_some_and(|(_, path)| path.is_string()),
    schema: || json!({"type": "string"}),
    python: "str | PathLike[str]",
    typescript: "string",
    is_named: true,
};

impl OptionType for NamedFile {
    type Within = RangeFull;

    fn kind(_: RangeFull) -> OptionKind {
        OptionKind::Form(&NAMED_FILE)
    }

    fn from_json(pair: &Json) -> Option<Self> {
        let (name, path) = split_pair(pair)?;
        Some(Self { name: name.to_string(), path: from_text(path.as_str()?) })
    }

    fn to_json(&self) -> Json {
        json!([self.name, to_text(&self.path)])
    }
}

/// A line of text, which may contain commas: a list of lines is not separated by commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line(pub String);

impl Deref for Line {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Line {
    fn from(text: &str) -> Self {
        Self(text.to_string())
    }
}

static LINE: ValueForm = ValueForm {
    placeholder: "TEXT",
    words: &[],
    allowed: "a string",
    allowed_text: "a line of text",
    parse: |text: &str| Some(json!(text)),
    is_accepted: |value: &Json| value.is_string(),
    schema: || json!({"type": "string"}),
    python: "str",
    typescript: "string",
    is_named: false,
};

impl OptionType for Line {
    type Within = RangeFull;

    fn kind(_: RangeFull) -> OptionKind {
        OptionKind::Form(&LINE)
    }

    fn from_json(value: &Json) -> Option<Self> {
        value.as_str().map(Self::from)
    }

    fn to_json(&self) -> Json {
        json!(self.0)
    }
}

/// The options of an operation as lists: each option of `T` has any number of values, by default none. For example, a
/// sheet of several worlds varies the options of one world.
///
/// `T` must have no lists itself.
///
/// # Examples
/// ```
/// use serde_json::json;
/// use thalweg_core::declare::operation::Operation as _;
/// use thalweg_core::declare::option_types::Lists;
///
/// thalweg_core::operation! {
///     /// Fills a lake.
///     pub struct FloodOptions, "flood" {
///         /// The depth of the water.
///         depth: f64 = 1.0, within 0.0..=100.0, unit "m";
///     }
/// }
/// let mut floods = Lists::<FloodOptions>::default();
/// floods.set("depth", &json!([1.0, 5.0]))?;
/// let (option, depths) = &floods.list_given()[0];
/// assert_eq!((option.name, depths.len()), ("depth", 2));
/// assert!(floods.set("depth", &json!([200.0])).is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Lists<T> {
    /// The values by the name of the option; options without values are absent.
    values: BTreeMap<&'static str, Vec<Json>>,
    operation: PhantomData<T>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self { values: BTreeMap::new(), operation: PhantomData }
    }
}

impl<T: Operation + Default> Lists<T> {
    /// Returns the options that have values, in the order of their declaration; an option is that of `T`, with one
    /// value.
    pub fn list_given(&self) -> Vec<(OptionSpec, &[Json])> {
        let options = T::default().declared().into_iter();
        options.filter_map(|option| self.values.get(option.name).map(|values| (option, values.as_slice()))).collect()
    }
}

impl<T: Operation + Default> Operation for Lists<T> {
    fn name(&self) -> &'static str {
        T::default().name()
    }

    fn page(&self) -> &'static str {
        T::default().page()
    }

    fn declared(&self) -> Vec<OptionSpec> {
        let options = T::default().declared().into_iter();
        options.map(|option| OptionSpec { arity: Arity::List, default: json!([]), ..option }).collect()
    }

    fn get(&self, name: &str) -> Option<Json> {
        let declared = self.declared();
        let option = declared.iter().find(|option| option.name == name)?;
        Some(self.values.get(option.name).map_or(json!([]), |values| json!(values)))
    }

    fn set(&mut self, name: &str, value: &Json) -> Result<()> {
        let declared = self.declared();
        let option = find_option(&declared, name)?;
        option.check_value(value)?;
        // The value has just been checked, so it is a list.
        let values = value.as_array().cloned().unwrap_or_default();
        if values.is_empty() {
            self.values.remove(option.name);
        } else {
            self.values.insert(option.name, values);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declare::operation::WorkForm;
    use crate::declare::schema::operation_schema;

    crate::operation! {
        /// Tries the types of this file.
        pub struct FormOptions, "forms" {
            /// The boundary conditions.
            edges: Edges = Edges::default(), within .., unit "1";
            /// A spring.
            springs: Vec<(Cell, f64)> = Vec::new(), within .., unit "1", placeholder "ROW,COL,RATE";
            /// A window.
            window: Option<CellRect> = None, within .., unit "1", only Folder, required true;
            /// A parameter.
            set: Vec<Setting> = Vec::new(), within .., unit "1", placeholder "SET";
            /// Values of a parameter.
            vary: Vec<SettingValues> = Vec::new(), within .., unit "1", excludes set;
            /// A layer.
            layers: Vec<NamedFile> = Vec::new(), within .., unit "1", flag "layer";
            /// A caption.
            captions: Vec<Line> = Vec::new(), within .., unit "1";
            /// A rectangle.
            rect: Option<[f64; 4]> = None, within &["west", "north", "east", "south"], unit "m";
        }
    }

    fn option(name: &str) -> OptionSpec {
        find_option(&FormOptions::default().declared(), name).unwrap().clone()
    }

    #[test]
    fn typed_values_are_parsed() {
        let parsed = |name: &str, text: &str| option(name).parse_text(text);
        assert_eq!(parsed("edges", "closed"), Ok(json!("closed")));
        assert_eq!(parsed("edges", "looped").unwrap_err(), "must be open or closed");
        assert_eq!(parsed("springs", "3, 4,-0.5"), Ok(json!([3, 4, -0.5])));
        assert!(parsed("springs", "3,4").unwrap_err().contains("where ROW and COL are whole numbers"));
        assert!(parsed("springs", "3,4,inf").is_err() && parsed("springs", "-3,4,1").is_err());
        assert_eq!(parsed("window", "1,2,3,4"), Ok(json!([2, 1, 4, 3])));
        assert_eq!(parsed("window", "1,2,3").unwrap_err(), "must be COL,ROW,COLS,ROWS, four whole numbers");
        assert_eq!(parsed("set", " years = 2e6 "), Ok(json!(["years", "2e6"])));
        assert_eq!(parsed("set", "years").unwrap_err(), "must be NAME=VALUE");
        assert_eq!(parsed("vary", "a.b=1, two"), Ok(json!(["a.b", ["1", "two"]])));
        assert_eq!(parsed("layers", "rain=a=b.tif"), Ok(json!(["rain", "a=b.tif"])));
        assert_eq!(parsed("captions", "before, and after"), Ok(json!("before, and after")));
        assert_eq!(parsed("rect", "-1,2,3,4.5"), Ok(json!([-1.0, 2.0, 3.0, 4.5])));
        assert_eq!(parsed("rect", "1,2").unwrap_err(), "must be WEST,NORTH,EAST,SOUTH, four numbers");
        let shown: Vec<String> = FormOptions::default().declared().iter().map(OptionSpec::value_name).collect();
        let expected = ["EDGES", "ROW,COL,RATE", "COL,ROW,COLS,ROWS", "SET", "NAME=VALUE,VALUE", "NAME=FILE", "TEXT"];
        assert_eq!(shown[..7], expected);
        assert!(!option("captions").is_comma_separated() && !option("springs").is_comma_separated());
        assert_eq!(["set", "vary"].map(|name| option(name).python_name()), ["parameters", "vary"]);
    }

    #[test]
    fn values_are_set_by_name_and_come_back() {
        let mut options = FormOptions::default();
        let values = json!({
            "edges": {"north": "closed"}, "springs": [[1, 2, 0.5]], "window": [2, 1, 4, 3],
            "set": {"years": 2e6, "steps": 3, "quick": true, "area": "d8"}, "vary": {"a.b": [1, "two"], "c.d": 0.5},
            "layers": {"rain": "a.tif"}, "captions": ["one, two"], "rect": [0, 0, 10, 10],
        });
        options.set_all(values.as_object().unwrap()).unwrap();
        let expected = FormOptions {
            edges: [Edge::Closed, Edge::Open, Edge::Open, Edge::Open],
            springs: vec![(Cell::new(1, 2), 0.5)],
            window: Some(CellRect::new([2, 1], [4, 3])),
            set: vec![
                Setting::new("area", "d8"),
                Setting::new("quick", true),
                Setting::new("steps", 3u32),
                Setting::new("years", 2e6),
            ],
            vary: vec![SettingValues::new("a.b", ["1", "two"]), SettingValues::new("c.d", ["0.5"])],
            layers: vec![NamedFile::new("rain", "a.tif")],
            captions: vec!["one, two".into()],
            rect: Some([0.0, 0.0, 10.0, 10.0]),
        };
        // The order of an object's keys has no meaning.
        options.set.sort_by(|a, b| a.name.cmp(&b.name));
        options.vary.sort_by(|a, b| a.name.cmp(&b.name));
        assert_eq!(options, expected);
        let mut again = FormOptions::default();
        for (option, value) in options.changed_options() {
            again.set(option.name, &value).unwrap();
        }
        assert_eq!(again, expected);
        assert!(again.check_ranges().is_ok());
    }

    #[test]
    fn wrong_values_are_refused() {
        let mut options = FormOptions::default();
        let mut refused = |name: &str, value: Json| options.set(name, &value).unwrap_err().to_string();
        assert!(refused("edges", json!("looped")).starts_with("edges = looped: must be open or closed, or an object"));
        assert!(refused("edges", json!({"up": "open"})).contains("north, east, south, west"));
        assert!(refused("set", json!({"a": [1]})).contains("[\"a\",[1]]: must be [name, value]"));
        assert!(refused("set", json!(3)).contains("must be an object of names and values, or a list"));
        assert!(refused("layers", json!([["rain", 3]])).contains("must be [name, path]"));
        assert!(refused("window", json!([1, 2, 3])).contains("four whole numbers"));
        assert_eq!(options, FormOptions::default());
        // A field may be set to a value that the option does not accept.
        let looped = FormOptions { edges: [Edge::Looped; 4], ..FormOptions::default() };
        assert!(looped.check_ranges().unwrap_err().to_string().starts_with("edges = looped"));
    }

    #[test]
    fn options_that_exclude_each_other_or_are_missing_are_named() {
        let named = |option: &OptionSpec| format!("--{}", option.command_flag());
        let window = Some(CellRect::new([0, 0], [1, 1]));
        let set = vec![Setting::new("a", 1u32)];
        let vary = vec![SettingValues::new("a", ["1"])];
        let both = FormOptions { window, set, vary, ..FormOptions::default() };
        let message = both.check_form(WorkForm::Folder, named).unwrap_err().to_string();
        assert_eq!(message, "--vary does not apply together with --set");
        let none = FormOptions::default();
        let message = none.check_form(WorkForm::Folder, named).unwrap_err().to_string();
        assert_eq!(message, "--window is missing: give [row, column, rows, columns], four whole numbers of 0 or more");
        // The option has no effect in a store, so it is not required there.
        assert!(none.check_form(WorkForm::Store, named).is_ok());
        assert!(none.require("window", none.window).unwrap_err().to_string().starts_with("window is missing: give ["));
        let schema = operation_schema(&none);
        assert_eq!(schema["required"], json!(["window"]));
        assert_eq!(schema["properties"]["set"]["anyOf"][0]["type"], "object");
    }

    #[test]
    fn texts_of_settings_are_read_as_on_a_command_line() {
        let read = |value: Json| Setting::from_json(&json!(["a", value])).unwrap().value;
        assert_eq!(read(json!("2")), Written::Whole(2));
        assert_eq!(read(json!(2)), Written::Whole(2));
        assert!(matches!(read(json!("nan")), Written::Number(x) if x.is_nan()));
        assert_eq!(Setting::new("a", f64::INFINITY).to_json(), json!(["a", "inf"]));
    }

    #[test]
    fn lists_have_the_options_of_one_and_check_every_value() {
        let mut lists = Lists::<FormOptions>::default();
        assert_eq!(lists.get("rect"), Some(json!([])));
        lists.set("rect", &json!([[0, 0, 1, 1], [0, 0, 2, 2]])).unwrap();
        assert!(lists.set("rect", &json!([[0, 0, 1]])).is_err());
        assert!(lists.set("rct", &json!([])).unwrap_err().to_string().contains("did you mean `rect`"));
        let given = lists.list_given();
        assert_eq!((given.len(), given[0].0.name, given[0].1.len()), (1, "rect", 2));
        assert_eq!(lists.changed_options().len(), 1);
        lists.set("rect", &json!([])).unwrap();
        assert_eq!(lists, Lists::default());
    }
}
