//! Options of operations, each declared once.
//!
//! [`operation!`](crate::operation!) declares the options of an operation such as `drain`: name, meaning, unit,
//! default, range, and the forms of the operation in which the option has an effect. The struct, its checks, the flags
//! and help of the command, the keyword arguments and docstrings of the Python package and the types of the npm package
//! are all derived from this declaration.

use std::fmt;
use std::ops::{RangeFull, RangeInclusive};
use std::path::PathBuf;

use serde::Serialize;
pub use serde_json::Value as Json;
use serde_json::{Map, json};

use crate::base::names;
use crate::declare::option_types::ValueForm;
use crate::{Cell, Error, MapPoint, Point, Result, Size};

/// The values that an option accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OptionKind {
    /// True or false; on a command line a flag without a value.
    Switch,
    /// A real number between `min` and `max`, both included.
    Number {
        /// The least accepted value, in the option's unit.
        min: f64,
        /// The greatest accepted value, in the option's unit.
        max: f64,
    },
    /// A real number between `min` and `max`, both included, or a word.
    NumberOr {
        /// The least accepted value, in the option's unit.
        min: f64,
        /// The greatest accepted value, in the option's unit.
        max: f64,
        /// The word.
        word: &'static str,
    },
    /// A whole number between `min` and `max`, both included.
    Count {
        /// The least accepted value.
        min: u64,
        /// The greatest accepted value.
        max: u64,
    },
    /// One of these whole numbers.
    OneOf(&'static [u64]),
    /// One word of a list; each word is paired with its meaning.
    Choice(&'static [(&'static str, &'static str)]),
    /// A cell: its row and its column, counted from 0 in the north-west.
    Cell,
    /// Finite numbers with these names, for example the coordinates of a point.
    Numbers(&'static [&'static str]),
    /// A size in rows and columns, 1 or more; a command line has the columns first.
    Size,
    /// The first and the last of several whole numbers between `min` and `max`, both included.
    Span {
        /// The least accepted number.
        min: u32,
        /// The greatest accepted number.
        max: u32,
    },
    /// A division into tiles: a number of tiles, rows and columns of tiles, or the side of a tile in samples, such as
    /// `1009px`.
    Tiles,
    /// Two upper limits of 0 or more with these names.
    Limits([&'static str; 2]),
    /// A path of a file or folder.
    Path,
    /// Any text.
    Text,
    /// Values of a type with a form of its own.
    Form(&'static ValueForm),
}

/// The number of values that an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arity {
    /// One value; the default is a value, too.
    One,
    /// One value or none; the default is none.
    Optional,
    /// Any number of values; a command line repeats the flag.
    List,
}

/// A form in which an operation runs. An option may have an effect in some forms only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkForm {
    /// From arrays to arrays, as in the Python package.
    Arrays,
    /// From arrays to arrays in a web page, which has no files, as in the npm package.
    Browser,
    /// From a file that fits in memory to a file or a folder of files.
    Folder,
    /// Tile by tile into a Zarr store, for input of any size.
    Store,
}

impl WorkForm {
    /// All forms.
    pub const ALL: [Self; 4] = [Self::Arrays, Self::Browser, Self::Folder, Self::Store];

    /// Completes the sentence "only applies when".
    fn applies_when(self) -> &'static str {
        match self {
            Self::Arrays => "a program calls the library",
            Self::Browser => "a web page calls the library",
            Self::Folder => "the output is a file or a folder, not a Zarr store, and the input fits in memory",
            Self::Store => "the output is a Zarr store (-o DIR.zarr)",
        }
    }
}

/// The declaration of an option.
#[derive(Debug, Clone, PartialEq)]
pub struct OptionSpec {
    /// The name in code, in Python and in JSON.
    pub name: &'static str,
    /// The flag of the command without its hyphens; `None` if it is the name with hyphens for underscores.
    pub flag: Option<&'static str>,
    /// A name of earlier versions that is still accepted.
    pub alias: Option<&'static str>,
    /// The placeholder of a value in the help of a command; `None` if it follows from the kind and the unit.
    pub placeholder: Option<&'static str>,
    /// The name of the group that declares the option; `None` for an option of the operation itself.
    pub group: Option<&'static str>,
    /// The effect of the option.
    pub meaning: &'static str,
    /// The unit; `1` for a pure number, and for values that are not numbers.
    pub unit: &'static str,
    /// The accepted values.
    pub kind: OptionKind,
    /// The number of values.
    pub arity: Arity,
    /// The default as JSON: `null` for [`Arity::Optional`], an array for [`Arity::List`].
    pub default: Json,
    /// The forms of the operation in which the option has an effect.
    pub forms: &'static [WorkForm],
    /// The option without which this one has no effect.
    pub needs: Option<&'static str>,
    /// The options that cannot be given together with this one.
    pub excludes: &'static [&'static str],
    /// True if the operation cannot run without a value. The default, `null`, only stands for a value that is missing.
    pub is_required: bool,
}

impl OptionSpec {
    /// Returns the flag of the command, without its hyphens.
    ///
    /// # Examples
    /// ```
    /// thalweg_core::operation! {
    ///     /// Fills a lake.
    ///     pub struct FloodOptions, "flood" {
    ///         /// The depth of the water.
    ///         water_depth: f64 = 1.0, within 0.0..=100.0, unit "m";
    ///     }
    /// }
    /// use thalweg_core::declare::operation::Operation;
    /// assert_eq!(FloodOptions::default().declared()[0].command_flag(), "water-depth");
    /// ```
    pub fn command_flag(&self) -> String {
        self.flag.map_or_else(|| self.name.replace('_', "-"), String::from)
    }

    /// Returns the name in JavaScript, which is that of [Python](OptionSpec::python_name) in `camelCase`: `waterDepth`
    /// for `water_depth`.
    pub fn camel_name(&self) -> String {
        to_camel_case(self.python_name())
    }

    /// Returns the names that the option had in JavaScript in earlier versions. They are still accepted.
    pub fn earlier_camel_names(&self) -> Vec<String> {
        let own = Some(self.name).filter(|name| *name != self.python_name());
        own.into_iter().chain(self.alias).map(to_camel_case).collect()
    }

    /// Returns the name in Python: `parameters` for the option `set`, because `set` is the name of a type there.
    pub fn python_name(&self) -> &'static str {
        match self.name {
            "set" => "parameters",
            name => name,
        }
    }

    /// Returns the placeholder of a value in the help of a command, for example `ROW,COL`.
    pub fn value_name(&self) -> String {
        if let Some(placeholder) = self.placeholder {
            return placeholder.to_string();
        }
        match self.kind {
            OptionKind::Switch => String::new(),
            OptionKind::Number { .. }
            | OptionKind::NumberOr { .. }
            | OptionKind::Count { .. }
            | OptionKind::OneOf(_) => match self.unit {
                "1" => "N".to_string(),
                "m²" => "AREA".to_string(),
                "km²" => "KM2".to_string(),
                "°" => "DEGREES".to_string(),
                "B" => "BYTES".to_string(),
                unit => unit.to_uppercase(),
            },
            OptionKind::Choice(_) => self.name.to_uppercase(),
            OptionKind::Cell => "ROW,COL".to_string(),
            OptionKind::Numbers(names) => names.join(",").to_uppercase(),
            OptionKind::Size if self.unit == "pixels" => "WIDTHxHEIGHT".to_string(),
            OptionKind::Size => "COLSxROWS".to_string(),
            OptionKind::Span { .. } => "FIRST-LAST".to_string(),
            OptionKind::Limits(names) => names.join(",").to_uppercase(),
            OptionKind::Path => "FILE".to_string(),
            OptionKind::Form(form) => form.placeholder.to_string(),
            OptionKind::Tiles | OptionKind::Text => self.command_flag().replace('-', "_").to_uppercase(),
        }
    }

    /// Describes one accepted value in code or JSON, for the end of the sentence "must be".
    pub fn describe_allowed(&self) -> String {
        match self.kind {
            OptionKind::Switch => "true or false".to_string(),
            OptionKind::Number { min, max } => {
                format!("{} to {}{}", ReadableNumber(min), ReadableNumber(max), self.unit_suffix())
            }
            OptionKind::NumberOr { min, max, word } => {
                format!("{} to {}{}, or {word}", ReadableNumber(min), ReadableNumber(max), self.unit_suffix())
            }
            // A limit of 2³² − 1 or more stands for no limit.
            OptionKind::Count { min, max } if max >= u64::from(u32::MAX) => {
                format!("a whole number of {min}{} or more", self.unit_suffix())
            }
            OptionKind::Count { min, max } if self.unit == "1" => format!("a whole number from {min} to {max}"),
            OptionKind::Count { min, max } => format!("{min} to {max}{}", self.unit_suffix()),
            OptionKind::OneOf(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
                format!("one of {}", numbers.join(", "))
            }
            OptionKind::Choice(words) => {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                format!("one of {}", words.join(", "))
            }
            OptionKind::Cell => "[row, column], two whole numbers of 0 or more".to_string(),
            OptionKind::Numbers(names) => format!("[{}], {} numbers", names.join(", "), count_word(names.len())),
            OptionKind::Size => "[rows, columns] or one number for both, whole numbers of 1 or more".to_string(),
            OptionKind::Span { min, max } => {
                format!("a whole number from {min} to {max}, or [first, last] in rising order")
            }
            OptionKind::Tiles => {
                "a number of tiles, [rows, columns] of tiles, or a string such as 8x4 or 1009px".to_string()
            }
            OptionKind::Limits(names) => {
                format!("[{}], two numbers of 0 or more, or true for no limits", names.join(", "))
            }
            OptionKind::Path => "a path".to_string(),
            OptionKind::Text => "a string".to_string(),
            OptionKind::Form(form) => form.allowed.to_string(),
        }
    }

    /// Describes one accepted value as it is typed on a command line, for the end of the sentence "must be".
    pub fn allowed_text(&self) -> String {
        match (self.kind, self.unit) {
            (OptionKind::Number { .. }, "m²" | "km²") => {
                format!("an area of {}, such as 0.5km2", self.describe_allowed().replace('²', "2"))
            }
            (OptionKind::Count { min, max }, "B") if max >= u64::from(u32::MAX) => {
                format!("{min} bytes or more, such as 500M or 2.5G")
            }
            (OptionKind::Count { .. }, "B") => format!("{}, such as 500M or 2.5G", self.describe_allowed()),
            (OptionKind::Cell, _) => "ROW,COL, two whole numbers of 0 or more".to_string(),
            (OptionKind::Numbers(names), _) => {
                format!("{}, {} numbers", names.join(",").to_uppercase(), count_word(names.len()))
            }
            (OptionKind::Size, _) => {
                format!("{} or one number for both, whole numbers of 1 or more", self.value_name())
            }
            (OptionKind::Span { min, max }, _) => {
                format!(
                    "a whole number from {min} to {max}, or the first and the last in rising order such as {min}-{max}"
                )
            }
            (OptionKind::Tiles, _) => {
                "N, COLSxROWS (numbers of tiles), or a tile's side in samples such as 1009px".to_string()
            }
            (OptionKind::Limits(names), _) => {
                format!("{}, two numbers of 0 or more, or `unlimited`", names.join(",").to_uppercase())
            }
            (OptionKind::Form(form), _) => form.allowed_text.to_string(),
            _ => self.describe_allowed(),
        }
    }

    /// Returns a value, for a list one of its items, as it is typed on a command line. For example, a size is `60x40`.
    /// The parts of a value with a [form of its own](OptionKind::Form) have commas between them in any case.
    pub fn format_typed(&self, value: &Json) -> String {
        let numbers = value.as_array().map(|numbers| numbers.iter().map(format_value).collect::<Vec<_>>());
        match (self.kind, numbers) {
            (OptionKind::Size, Some(mut numbers)) => {
                // A command line has the columns first, JSON the rows.
                numbers.reverse();
                numbers.join("x")
            }
            (OptionKind::Span { .. }, Some(numbers)) => numbers.join("-"),
            (_, Some(numbers)) => numbers.join(","),
            (_, None) => format_value(value),
        }
    }

    /// Returns examples of values with a unit that may be typed, for the help of a command.
    pub fn typed_examples(&self) -> Option<&'static str> {
        match (self.kind, self.unit) {
            (OptionKind::Number { .. }, "m²") => Some("250000, 250000m2 or 0.25km2"),
            (OptionKind::Number { .. }, "km²") => Some("0.1 or 100000m2"),
            (OptionKind::Count { .. }, "B") => Some("500M or 2.5G"),
            _ => None,
        }
    }

    /// Returns a sentence that states how several values are typed, where the placeholder does not show it; for the
    /// help of a command.
    pub fn value_syntax(&self) -> Option<&'static str> {
        match (self.kind, self.arity) {
            (OptionKind::Size, _) => Some("One number stands for both."),
            (_, Arity::List) if self.is_comma_separated() => {
                Some("Several values are separated by commas, or the option is repeated.")
            }
            (_, Arity::List) => Some("The option may be repeated."),
            _ => None,
        }
    }

    /// Returns true if the values of a list may be typed with commas between them. In a list of cells or points, each
    /// value contains commas itself, so the option is repeated.
    pub fn is_comma_separated(&self) -> bool {
        let is_plain = matches!(
            self.kind,
            OptionKind::Number { .. }
                | OptionKind::NumberOr { .. }
                | OptionKind::Count { .. }
                | OptionKind::OneOf(_)
                | OptionKind::Choice(_)
                | OptionKind::Text
        );
        self.arity == Arity::List && is_plain
    }

    /// Returns the unit as it follows a number: with a space before it, except for degrees; empty for a pure number.
    pub fn unit_suffix(&self) -> String {
        match self.unit {
            "1" => String::new(),
            "°" => "°".to_string(),
            unit => format!(" {unit}"),
        }
    }

    /// Parses one value as it is typed on a command line. Numbers may have the endings of
    /// [`parse_number_with_unit`].
    ///
    /// # Errors
    /// Returns the sentence "must be …" if the text is not such a value, or out of range.
    pub fn parse_text(&self, text: &str) -> Result<Json, String> {
        let parsed = match self.kind {
            OptionKind::Switch => text.parse().ok().map(Json::Bool),
            OptionKind::NumberOr { word, .. } if text.trim() == word => Some(json!(word)),
            OptionKind::Number { .. } | OptionKind::NumberOr { .. } => {
                parse_number_with_unit(text, self.unit).map(|x| json!(x))
            }
            OptionKind::Count { .. } if self.unit == "B" => {
                // The cast is safe: 10¹⁸ is below 2⁶⁴.
                let bytes = parse_number_with_unit(text, "B").filter(|bytes| (0.0..1e18).contains(bytes));
                bytes.map(|bytes| json!(bytes as u64))
            }
            OptionKind::Count { .. } | OptionKind::OneOf(_) => text.trim().parse::<u64>().ok().map(|n| json!(n)),
            OptionKind::Choice(_) | OptionKind::Tiles | OptionKind::Path | OptionKind::Text => Some(json!(text)),
            OptionKind::Cell => parse_numbers::<usize>(text, &[',']),
            OptionKind::Limits(_) if text == UNLIMITED => Some(json!(true)),
            OptionKind::Numbers(_) | OptionKind::Limits(_) => parse_numbers::<f64>(text, &[',']),
            OptionKind::Span { .. } => parse_numbers::<u32>(text, &['-']).map(repeat_single_number),
            // A command line has the columns first, JSON the rows.
            OptionKind::Size => parse_numbers::<usize>(text, &['x', 'X']).map(repeat_single_number).map(reverse_list),
            OptionKind::Form(form) => (form.parse)(text),
        };
        parsed.filter(|value| self.is_accepted(value)).ok_or_else(|| format!("must be {}", self.allowed_text()))
    }

    /// Checks a value of the option as JSON, for a list the whole list.
    ///
    /// # Errors
    /// Returns an error that names the option, the first wrong value and what is allowed.
    pub fn check_value(&self, value: &Json) -> Result<()> {
        let wrong = |value: &Json, allowed: String| {
            // A unit after a text or a list would be misleading.
            let unit = if value.is_number() { self.unit_suffix() } else { String::new() };
            Err(Error::invalid_value(self.name, format!("{}{unit}", format_value(value)), allowed))
        };
        let pairs = self.list_pairs(value);
        match (self.arity, pairs.as_ref().unwrap_or(value)) {
            (Arity::Optional, value) if is_none(value, self.kind) => Ok(()),
            (Arity::List, Json::Array(values)) => match values.iter().find(|value| !self.is_accepted(value)) {
                Some(value) => wrong(value, self.describe_allowed()),
                None => Ok(()),
            },
            (Arity::List, value) => {
                let object = if self.is_named() { "an object of names and values, or " } else { "" };
                wrong(value, format!("{object}a list; each item must be {}", self.describe_allowed()))
            }
            (_, value) if self.is_accepted(value) => Ok(()),
            (_, value) => wrong(value, self.describe_allowed()),
        }
    }

    /// Returns true if each value belongs to a name. A list of such values may be an object.
    pub fn is_named(&self) -> bool {
        matches!(self.kind, OptionKind::Form(form) if form.is_named)
    }

    /// Returns the pairs of an object that gives a list of named values; `None` for other JSON and other options.
    fn list_pairs(&self, value: &Json) -> Option<Json> {
        let object = value.as_object().filter(|_| self.is_named() && self.arity == Arity::List)?;
        Some(object.iter().map(|(name, value)| json!([name, value])).collect())
    }

    /// Returns true if one value has the option's kind and is in range.
    fn is_accepted(&self, value: &Json) -> bool {
        let pair = || value.as_array().filter(|pair| pair.len() == 2);
        let is_count = |value: &Json| value.as_u64().is_some_and(|n| n > 0);
        let is_limit = |value: &Json| read_real_number(value).is_some_and(|limit| limit >= 0.0);
        match self.kind {
            OptionKind::Switch => value.is_boolean(),
            OptionKind::Number { min, max } => value.as_f64().is_some_and(|x| (min..=max).contains(&x)),
            OptionKind::NumberOr { min, max, word } => {
                value == word || value.as_f64().is_some_and(|x| (min..=max).contains(&x))
            }
            OptionKind::Count { min, max } => value.as_u64().is_some_and(|n| (min..=max).contains(&n)),
            OptionKind::OneOf(numbers) => value.as_u64().is_some_and(|n| numbers.contains(&n)),
            OptionKind::Choice(words) => words.iter().any(|(word, _)| value.as_str() == Some(*word)),
            OptionKind::Cell => pair().is_some_and(|pair| pair.iter().all(Json::is_u64)),
            OptionKind::Numbers(names) => {
                let numbers = value.as_array().filter(|numbers| numbers.len() == names.len());
                numbers.is_some_and(|numbers| numbers.iter().all(Json::is_number))
            }
            OptionKind::Size => is_count(value) || pair().is_some_and(|pair| pair.iter().all(is_count)),
            OptionKind::Span { min, max } => {
                let ends = pair().and_then(|pair| Some([pair[0].as_u64()?, pair[1].as_u64()?]));
                // A single number is a span that begins and ends there.
                let ends = ends.or(value.as_u64().map(|one| [one, one]));
                ends.is_some_and(|[first, last]| u64::from(min) <= first && first <= last && last <= u64::from(max))
            }
            OptionKind::Tiles => {
                let is_text = value.as_str().is_some_and(is_division);
                is_text || is_count(value) || pair().is_some_and(|pair| pair.iter().all(is_count))
            }
            OptionKind::Limits(names) => {
                let object = value.as_object().filter(|object| object.len() == names.len());
                value == &json!(true)
                    || pair().is_some_and(|pair| pair.iter().all(is_limit))
                    || object.is_some_and(|object| names.iter().all(|name| object.get(*name).is_some_and(is_limit)))
            }
            OptionKind::Path | OptionKind::Text => value.is_string(),
            OptionKind::Form(form) => (form.is_accepted)(value),
        }
    }
}

/// Converts a name with underscores to `camelCase`.
fn to_camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_string();
    // Names of options are ASCII, so the first byte is the first letter.
    words.fold(first, |name, word| name + &word[..1].to_uppercase() + &word[1..])
}

/// Returns a small number as a word.
fn count_word(count: usize) -> &'static str {
    match count {
        2 => "two",
        3 => "three",
        _ => "four",
    }
}

/// Returns true if a text is a division into tiles: `8`, `8x4`, `1009px`.
fn is_division(text: &str) -> bool {
    let is_count = |text: &str| text.trim().parse::<u64>().is_ok_and(|n| n > 0);
    // The suffix `px` is tested first, because it contains an x.
    match (text.strip_suffix("px"), text.split_once(['x', 'X'])) {
        (Some(side), _) => is_count(side),
        (None, Some((cols, rows))) => is_count(cols) && is_count(rows),
        (None, None) => is_count(text),
    }
}

/// The text that stands for limits without an upper bound.
const UNLIMITED: &str = "unlimited";

/// A number as it is read easily: 1e15 rather than 1000000000000000. All ranges are written with it.
pub struct ReadableNumber(pub f64);

impl fmt::Display for ReadableNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Below 10⁹ the digits are few enough to be read easily.
        if self.0.abs() >= 1e9 { write!(f, "{:e}", self.0) } else { write!(f, "{}", self.0) }
    }
}

/// Returns true if a value stands for none: `null`, or `false` where that is not a value of the option.
fn is_none(value: &Json, kind: OptionKind) -> bool {
    value.is_null() || (value == &Json::Bool(false) && kind != OptionKind::Switch)
}

/// Formats a value in an error message: a text without its quotes, a real number without an empty fraction.
pub(super) fn format_value(value: &Json) -> String {
    match (value.as_str(), value.as_f64().filter(|_| value.is_f64())) {
        (Some(text), _) => text.to_string(),
        (None, Some(number)) => number.to_string(),
        (None, None) => value.to_string(),
    }
}

/// Parses a number in this unit as it is typed on a command line; returns `None` for other text. Areas may end in `m2`
/// or `km2`, numbers of bytes (`B`) in `K`, `M`, `G` or `T`, each 1024 times the one before.
///
/// # Examples
/// ```
/// use thalweg_core::declare::operation::parse_number_with_unit;
///
/// assert_eq!(parse_number_with_unit("0.25km2", "m²"), Some(250_000.0));
/// assert_eq!(parse_number_with_unit("1.5 KiB", "B"), Some(1536.0));
/// assert_eq!(parse_number_with_unit("3", "m"), Some(3.0));
/// assert_eq!(parse_number_with_unit("3km2", "m"), None);
/// ```
pub fn parse_number_with_unit(text: &str, unit: &str) -> Option<f64> {
    let text = text.trim();
    // `K`, `KB` and `KiB` mean the same: 1024 bytes.
    let bytes = text.trim_end_matches("iB").trim_end_matches('B');
    let (number, factor) = match unit {
        // `km2` is tested first, because it ends in `m2`.
        "m²" => match (text.strip_suffix("km2"), text.strip_suffix("m2")) {
            (Some(number), _) => (number, 1e6),
            (None, Some(number)) => (number, 1.0),
            (None, None) => (text, 1.0),
        },
        "km²" => match (text.strip_suffix("km2"), text.strip_suffix("m2")) {
            (Some(number), _) => (number, 1.0),
            (None, Some(number)) => (number, 1e-6),
            (None, None) => (text, 1.0),
        },
        "B" => {
            let mut powers = "KMGT".chars().zip([10, 20, 30, 40]);
            let found = powers.find_map(|(unit, power)| Some((bytes.strip_suffix(unit)?, (1u64 << power) as f64)));
            found.unwrap_or((bytes, 1.0))
        }
        _ => (text, 1.0),
    };
    number.trim().parse::<f64>().ok().map(|number| number * factor).filter(|number| number.is_finite())
}

/// Parses numbers with one of these separators between them.
pub(super) fn parse_numbers<T: std::str::FromStr + Serialize>(text: &str, separators: &[char]) -> Option<Json> {
    let numbers = text.split(separators).map(|number| number.trim().parse::<T>().ok());
    numbers.collect::<Option<Vec<T>>>().map(|numbers| json!(numbers))
}

/// Returns a list of one number as a list of that number twice; other lists stay.
fn repeat_single_number(numbers: Json) -> Json {
    match numbers.as_array().map(Vec::as_slice) {
        Some([one]) => json!([one, one]),
        _ => numbers,
    }
}

/// Returns a list in reverse order.
fn reverse_list(numbers: Json) -> Json {
    numbers.as_array().into_iter().flatten().rev().cloned().collect()
}

/// A Rust type that an option can have.
pub trait OptionType: Sized {
    /// The type of the limits in the declaration.
    type Within;
    /// The number of values.
    const ARITY: Arity = Arity::One;
    /// Returns the accepted values within these limits.
    fn kind(within: Self::Within) -> OptionKind;
    /// Converts from JSON that [`OptionSpec::check_value`] accepts; `None` for other JSON.
    fn from_json(value: &Json) -> Option<Self>;
    /// Converts to JSON.
    fn to_json(&self) -> Json;
}

/// Implements [`OptionType`] for a type that serde reads and writes.
macro_rules! serde_option {
    ($type:ty, $within:ty, $limits:pat => $kind:expr) => {
        impl OptionType for $type {
            type Within = $within;
            fn kind($limits: Self::Within) -> OptionKind {
                $kind
            }
            fn from_json(value: &Json) -> Option<Self> {
                serde_json::from_value(value.clone()).ok()
            }
            fn to_json(&self) -> Json {
                json!(self)
            }
        }
    };
}

serde_option!(bool, RangeFull, _ => OptionKind::Switch);
serde_option!(u32, RangeInclusive<u32>, within => OptionKind::Count {
    min: (*within.start()).into(),
    max: (*within.end()).into(),
});
serde_option!(u64, RangeInclusive<u64>, within => OptionKind::Count { min: *within.start(), max: *within.end() });
serde_option!(usize, RangeInclusive<usize>, within => OptionKind::Count {
    min: *within.start() as u64,
    max: *within.end() as u64,
});
serde_option!(Cell, RangeFull, _ => OptionKind::Cell);
serde_option!(MapPoint, RangeFull, _ => OptionKind::Numbers(&["x", "y"]));
serde_option!(Point, RangeFull, _ => OptionKind::Numbers(&["x", "y"]));
serde_option!(Size, RangeFull, _ => OptionKind::Size);
serde_option!([f64; 2], &'static [&'static str; 2], names => OptionKind::Numbers(names));
serde_option!([f64; 3], &'static [&'static str; 3], names => OptionKind::Numbers(names));
serde_option!([f64; 4], &'static [&'static str; 4], names => OptionKind::Numbers(names));
serde_option!([u32; 2], RangeInclusive<u32>, within => OptionKind::Span { min: *within.start(), max: *within.end() });
serde_option!(String, RangeFull, _ => OptionKind::Text);

/// A path need not be UTF-8, so its text is the one of [`names::to_text`], which keeps every byte.
impl OptionType for PathBuf {
    type Within = RangeFull;
    fn kind(_: RangeFull) -> OptionKind {
        OptionKind::Path
    }
    fn from_json(value: &Json) -> Option<Self> {
        value.as_str().map(names::from_text)
    }
    fn to_json(&self) -> Json {
        json!(names::to_text(self))
    }
}

impl OptionType for f64 {
    type Within = RangeInclusive<f64>;
    fn kind(within: Self::Within) -> OptionKind {
        OptionKind::Number { min: *within.start(), max: *within.end() }
    }
    fn from_json(value: &Json) -> Option<Self> {
        read_real_number(value)
    }
    /// JSON has no infinite numbers and no NaN: these are converted to texts, which no range accepts.
    fn to_json(&self) -> Json {
        if self.is_finite() { json!(self) } else { json!(self.to_string()) }
    }
}

/// Reads a number, which may be infinite and is a text then.
pub fn read_real_number(value: &Json) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str().filter(|text| *text == "inf").map(|_| f64::INFINITY))
}

impl<T: OptionType> OptionType for Option<T> {
    type Within = T::Within;
    const ARITY: Arity = Arity::Optional;
    fn kind(within: Self::Within) -> OptionKind {
        T::kind(within)
    }
    fn from_json(value: &Json) -> Option<Self> {
        T::from_json(value).map(Some).or_else(|| (value.is_null() || value == &Json::Bool(false)).then_some(None))
    }
    fn to_json(&self) -> Json {
        self.as_ref().map_or(Json::Null, T::to_json)
    }
}

impl<T: OptionType> OptionType for Vec<T> {
    type Within = T::Within;
    const ARITY: Arity = Arity::List;
    fn kind(within: Self::Within) -> OptionKind {
        T::kind(within)
    }
    fn from_json(value: &Json) -> Option<Self> {
        value.as_array()?.iter().map(T::from_json).collect()
    }
    fn to_json(&self) -> Json {
        self.iter().map(T::to_json).collect()
    }
}

/// The declared options of an operation, accessed by name. Implemented by [`operation!`](crate::operation!).
///
/// # Examples
/// ```
/// use serde_json::json;
/// use thalweg_core::declare::operation::{Operation, WorkForm};
///
/// thalweg_core::operation! {
///     /// Fills a lake.
///     pub struct FloodOptions, "flood" {
///         /// The depth of the water.
///         depth: f64 = 1.0, within 0.0..=100.0, unit "m";
///         /// The least area of a lake that is filled.
///         area: Option<f64> = None, within 0.0..=1e9, unit "m²";
///         /// Leaves out the outline.
///         skip_outline: bool = false, within .., unit "1", only Store;
///     }
/// }
/// let mut flood = FloodOptions::default();
/// flood.set("area", &flood.declared()[1].parse_text("2km2").unwrap())?;
/// assert_eq!((flood.area, flood.get("area")), (Some(2e6), Some(json!(2e6))));
///
/// let error = flood.set("depth", &json!(200)).unwrap_err();
/// assert_eq!(error.to_string(), "depth = 200 m: must be 0 to 100 m");
///
/// flood.skip_outline = true;
/// let error = flood.check_form(WorkForm::Folder, |option| format!("--{}", option.command_flag())).unwrap_err();
/// assert_eq!(error.to_string(), "--skip-outline only applies when the output is a Zarr store (-o DIR.zarr)");
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub trait Operation {
    /// Returns the name of the operation.
    fn name(&self) -> &'static str;
    /// Returns the words of the command that has these options, such as `render map`. Without other words in the
    /// declaration, it is the name.
    fn command(&self) -> &'static str {
        self.name()
    }
    /// Returns the documentation of the operation; the first line is its summary.
    fn page(&self) -> &'static str;
    /// Returns the declarations of the options in their order.
    fn declared(&self) -> Vec<OptionSpec>;
    /// Returns the value of the option `name` as JSON; `None` if no option has that name.
    fn get(&self, name: &str) -> Option<Json>;
    /// Sets the option `name`, which may also be its alias.
    ///
    /// # Errors
    /// Returns an error if the name is unknown, or if the value is of another kind or out of range; nothing is changed
    /// then.
    fn set(&mut self, name: &str, value: &Json) -> Result<()>;

    /// Sets several options.
    ///
    /// # Errors
    /// Returns the errors of [`Operation::set`]; the options before the wrong one are set then.
    fn set_all(&mut self, values: &Map<String, Json>) -> Result<()> {
        values.iter().try_for_each(|(name, value)| self.set(name, value))
    }

    /// Returns the options that differ from their defaults, with their values.
    fn changed_options(&self) -> Vec<(OptionSpec, Json)> {
        let options = self.declared().into_iter();
        let with_values = options.filter_map(|option| self.get(option.name).map(|value| (option, value)));
        // Values are compared as JSON, so that the type of a field does not matter.
        with_values.filter(|(option, value)| *value != option.default).collect()
    }

    /// Checks that all values are in range: fields can be set without [`Operation::set`].
    ///
    /// # Errors
    /// Returns an error for the first value that is out of range.
    fn check_ranges(&self) -> Result<()> {
        self.changed_options().iter().try_for_each(|(option, value)| option.check_value(value))
    }

    /// Checks that each option that differs from its default has an effect in this form of the operation and together
    /// with the other options, and that no value is missing. `name_option` returns the name of an option as the user
    /// wrote it.
    ///
    /// # Errors
    /// Returns [`Error::Conflict`] for the first option that has no effect, or that cannot be given together with
    /// another one; the message states when it has an effect. Returns [`Error::MissingInput`] for a required option
    /// without a value.
    fn check_form(&self, form: WorkForm, name_option: impl Fn(&OptionSpec) -> String) -> Result<()>
    where
        Self: Sized,
    {
        let (changed, declared) = (self.changed_options(), self.declared());
        let is_changed = |name: &str| changed.iter().any(|(option, _)| option.name == name);
        for (option, _) in &changed {
            if let Some(needed) = option.needs.filter(|needed| !is_changed(needed)) {
                let needed = name_option(find_option(&declared, needed)?);
                return Err(Error::conflict(name_option(option), format!("only applies together with {needed}")));
            }
            if let Some(other) = option.excludes.iter().find(|other| is_changed(other)) {
                let other = name_option(find_option(&declared, other)?);
                return Err(Error::conflict(name_option(option), format!("does not apply together with {other}")));
            }
        }
        let missing = |option: &&OptionSpec| option.is_required && !is_changed(option.name);
        if let Some(option) = declared.iter().filter(|option| option.forms.contains(&form)).find(missing) {
            return Err(Error::missing_input(name_option(option), format!("give {}", option.describe_allowed())));
        }
        let Some((option, _)) = changed.iter().find(|(option, _)| !option.forms.contains(&form)) else {
            return Ok(());
        };
        // A user who writes files cannot choose arrays instead, and nobody can choose a browser instead.
        let is_choice = |other: &WorkForm| match other {
            WorkForm::Browser => false,
            WorkForm::Arrays => matches!(form, WorkForm::Arrays | WorkForm::Browser),
            WorkForm::Folder | WorkForm::Store => true,
        };
        let when: Vec<&str> =
            option.forms.iter().filter(|other| is_choice(other)).map(|form| form.applies_when()).collect();
        let place = if form == WorkForm::Browser { "outside a browser, " } else { "" };
        Err(Error::conflict(name_option(option), format!("only applies {place}when {}", when.join(", or "))))
    }

    /// Returns the value of the required option `name`, which is that of its field.
    ///
    /// # Errors
    /// Returns [`Error::MissingInput`] if there is none.
    fn require<T>(&self, name: &str, value: Option<T>) -> Result<T>
    where
        Self: Sized,
    {
        let allowed = || find_option(&self.declared(), name).map(OptionSpec::describe_allowed).unwrap_or_default();
        value.ok_or_else(|| Error::missing_input(name, format!("give {}", allowed())))
    }
}

/// Returns the declared options that have an effect in this form of the operation.
pub fn options_for(operation: &dyn Operation, form: WorkForm) -> Vec<OptionSpec> {
    operation.declared().into_iter().filter(|option| option.forms.contains(&form)).collect()
}

/// Finds the option with this name or alias.
///
/// # Errors
/// Returns an error with the nearest name if there is none.
pub fn find_option<'a>(options: &'a [OptionSpec], name: &str) -> Result<&'a OptionSpec> {
    let found = options.iter().find(|option| option.name == name || option.alias == Some(name));
    found.ok_or_else(|| Error::unknown_name("option", name, options.iter().map(|option| option.name)))
}

/// Returns the options of a group, with its name. It is hidden because only the macro uses it.
#[doc(hidden)]
pub fn list_group_options(group: &dyn Operation) -> Vec<OptionSpec> {
    let mut options = group.declared();
    // An option of a group within the group keeps the name of the inner one.
    options.iter_mut().for_each(|option| option.group = option.group.or(Some(group.name())));
    options
}

/// Converts a checked value to the type of a field. It is hidden because only the macro uses it.
///
/// # Errors
/// Returns an error if the JSON does not fit the type: for example, a whole number that is too large for it.
#[doc(hidden)]
pub fn read_option<T: OptionType>(option: &OptionSpec, value: &Json) -> Result<T> {
    option.check_value(value)?;
    // The struct's field is a pair, also where the user gave one number.
    let is_one_for_both = value.is_u64() && matches!(option.kind, OptionKind::Size | OptionKind::Span { .. });
    let changed = if is_one_for_both { Some(json!([value, value])) } else { option.list_pairs(value) };
    let value = changed.as_ref().unwrap_or(value);
    T::from_json(value).ok_or_else(|| Error::invalid_value(option.name, format_value(value), option.describe_allowed()))
}

/// Declares the options of an operation in one place.
///
/// The comment above the struct is the page of the operation: a sentence, then paragraphs. The name of the struct is
/// followed by that of the operation, by the words of its command if they differ from the name, such as `command
/// "render map"`, by traits to derive in addition, by an attribute of serde, and by groups of options that several
/// operations share. For example, `with(look: LookOptions)` adds a field `look`; this macro also declares the struct of
/// a group. The options of groups come first. Each option has a type, a default, the range `within` which its values are
/// allowed (`..` for types without a range), and a unit (`1` for none). These may follow:
///
/// - `flag "…"`: the flag of the command, if it is not the name with hyphens;
/// - `alias "…"`: a name of earlier versions that is still accepted;
/// - `placeholder "…"`: the placeholder of a value in the help of the command, if it does not follow from the type;
/// - `only …`: the [forms](crate::declare::operation::WorkForm) in which the option has an effect; without it, all;
/// - `needs …`: another option without which this one has no effect;
/// - `excludes …`: other options that cannot be given together with this one;
/// - `required true`: the operation cannot run without a value; the type is an `Option`, and the default `None`.
///
/// # Examples
/// ```
/// use thalweg_core::declare::operation::{Operation, WorkForm};
///
/// thalweg_core::operation! {
///     /// Finds springs.
///     pub struct SpringOptions, "springs" {
///         /// The least discharge of a spring.
///         discharge: f64 = 0.01, within 0.0..=1e6, unit "m³/s";
///         /// A cell that is no spring; may be repeated.
///         dry: Vec<thalweg_core::Cell> = Vec::new(), within .., unit "1", flag "dry-cell", only Arrays Folder;
///     }
/// }
/// let springs = SpringOptions { discharge: 0.1, ..SpringOptions::default() };
/// assert_eq!(springs.page().trim(), "Finds springs.");
/// assert_eq!(springs.changed_options()[0].0.name, "discharge");
/// assert_eq!(springs.declared()[1].forms, [WorkForm::Arrays, WorkForm::Folder]);
/// ```
#[macro_export]
macro_rules! operation {
    (
        $(#[doc = $page:literal])+
        pub struct $type:ident, $operation:literal $(, command $command:literal)?
        $(, derive($($derive:ident),+))? $(, serde($serde:ident))? $(, with($($group:ident: $group_type:ty),+))? {
            $( $(#[doc = $meaning:literal])+
               $name:ident : $kind:ty = $default:expr, within $within:expr, unit $unit:literal
               $(, flag $flag:literal)? $(, alias $alias:literal)? $(, placeholder $placeholder:literal)?
               $(, only $($form:ident)+)? $(, needs $needed:ident)? $(, excludes $($excluded:ident)+)?
               $(, required $required:literal)?; )*
        }
    ) => {
        #[doc = concat!("The options of the operation `", $operation, "`.\n")]
        $(#[doc = $page])+
        #[derive(Debug, Clone, PartialEq $(, $($derive),+)?)]
        $(#[serde($serde)])?
        pub struct $type {
            $($( #[doc = concat!("A group of options: [`", stringify!($group_type), "`].")] pub $group: $group_type, )+)?
            $( $(#[doc = $meaning])+ #[doc = $crate::operation!(@unit $unit)] pub $name: $kind, )*
        }

        impl Default for $type {
            fn default() -> Self {
                Self { $($( $group: Default::default(), )+)? $( $name: $default, )* }
            }
        }

        impl $crate::declare::operation::Operation for $type {
            fn name(&self) -> &'static str {
                $operation
            }
            fn command(&self) -> &'static str {
                [$($command,)? $operation][0]
            }
            fn page(&self) -> &'static str {
                concat!($($page, "\n"),+)
            }
            fn declared(&self) -> Vec<$crate::declare::operation::OptionSpec> {
                use $crate::declare::operation::{OptionSpec, OptionType, WorkForm};
                let defaults = Self::default();
                let groups: Vec<Vec<OptionSpec>> =
                    vec![ $($( $crate::declare::operation::list_group_options(&defaults.$group), )+)? ];
                let own = vec![ $( OptionSpec {
                    name: stringify!($name),
                    flag: [$(Some($flag),)? None][0],
                    alias: [$(Some($alias),)? None][0],
                    placeholder: [$(Some($placeholder),)? None][0],
                    group: None,
                    meaning: concat!($($meaning),+).trim_ascii(),
                    unit: $unit,
                    kind: <$kind as OptionType>::kind($within),
                    arity: <$kind as OptionType>::ARITY,
                    default: OptionType::to_json(&defaults.$name),
                    forms: [$(&[$(WorkForm::$form),+] as &[WorkForm],)? &WorkForm::ALL][0],
                    needs: [$(Some(stringify!($needed)),)? None][0],
                    excludes: &[$($(stringify!($excluded),)+)?],
                    is_required: [$($required,)? false][0],
                }, )* ];
                groups.into_iter().flatten().chain(own).collect()
            }
            fn get(&self, name: &str) -> Option<$crate::declare::operation::Json> {
                $($( if let Some(value) = $crate::declare::operation::Operation::get(&self.$group, name) {
                    return Some(value);
                } )+)?
                match name {
                    $( stringify!($name) => Some($crate::declare::operation::OptionType::to_json(&self.$name)), )*
                    _ => None,
                }
            }
            fn set(&mut self, name: &str, value: &$crate::declare::operation::Json) -> $crate::base::error::Result<()> {
                let declared = $crate::declare::operation::Operation::declared(self);
                let option = $crate::declare::operation::find_option(&declared, name)?;
                $($( if $crate::declare::operation::Operation::get(&self.$group, option.name).is_some() {
                    return $crate::declare::operation::Operation::set(&mut self.$group, option.name, value);
                } )+)?
                match option.name {
                    $( stringify!($name) => self.$name = $crate::declare::operation::read_option(option, value)?, )*
                    // Unreachable, because the option was found above.
                    _ => _ = value,
                }
                Ok(())
            }
        }
    };
    (@unit "1") => { "" };
    (@unit $unit:literal) => { concat!("\n\nUnit: ", $unit, ".") };
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::choice! {
        /// A way to route flow.
        pub enum Routing {
            /// To one neighbour.
            Single = "single",
            /// To all lower neighbours.
            Multiple = "multiple",
        }
    }

    operation! {
        /// Tries every kind of option.
        ///
        /// A second paragraph.
        pub struct TrialOptions, "trial" {
            /// An area.
            area: Option<f64> = None, within 0.0..=1e15, unit "m²";
            /// The memory.
            memory: Option<u64> = None, within 1_048_576..=u64::MAX, unit "B";
            /// A number of steps.
            steps: u32 = 3, within 1..=10, unit "1";
            /// The routing.
            routing: Routing = Routing::Single, within .., unit "1", only Arrays Folder;
            /// A cell.
            cells: Vec<Cell> = Vec::new(), within .., unit "1", flag "cell";
            /// A point.
            point: Option<MapPoint> = None, within .., unit "1";
            /// Skips the outlines.
            skip_outlines: bool = false, within .., unit "1", alias "no_outlines", only Store;
            /// A file.
            file: Option<PathBuf> = None, within .., unit "1";
            /// A size.
            size: Option<Size> = None, within .., unit "1";
            /// Zooms.
            zoom: Option<[u32; 2]> = None, within 0..=22, unit "1";
            /// Tiles.
            tiles: Option<Division> = None, within .., unit "1";
        }
    }

    operation! {
        /// A group of options.
        pub struct LightOptions, "light" {
            /// The sun.
            sun: [f64; 2] = [315.0, 45.0], within &["azimuth", "altitude"], unit "°";
            /// Casts shadows.
            shadows: bool = false, within .., unit "1";
        }
    }

    operation! {
        /// An operation with a group.
        pub struct DrawOptions, "draw", with(light: LightOptions) {
            /// A size.
            size: Size = [40, 60], within .., unit "pixels";
            /// The softness of shadows.
            blur: Option<f64> = None, within 0.0..=10.0, unit "1", only Folder, needs shadows;
        }
    }

    #[test]
    fn a_group_adds_its_options() {
        let mut draw = DrawOptions::default();
        let names: Vec<&str> = draw.declared().iter().map(|option| option.name).collect();
        assert_eq!(names, ["sun", "shadows", "size", "blur"]);
        draw.set("sun", &json!([10, 20])).unwrap();
        draw.set("size", &json!(8)).unwrap();
        assert_eq!((draw.light.sun, draw.get("sun"), draw.size), ([10.0, 20.0], Some(json!([10.0, 20.0])), [8, 8]));
        assert!(draw.set("sun", &json!([10])).unwrap_err().to_string().starts_with("sun = [10]: must be"));
        assert!(draw.set("sn", &json!(1)).unwrap_err().to_string().contains("did you mean `sun`"));
        let changed: Vec<&str> = draw.changed_options().iter().map(|(option, _)| option.name).collect();
        assert_eq!(changed, ["sun", "size"]);
    }

    #[test]
    fn an_option_that_needs_another_is_refused_without_it() {
        let mut draw = DrawOptions { blur: Some(2.0), ..DrawOptions::default() };
        let typed = |option: &OptionSpec| format!("--{}", option.command_flag());
        let refused = draw.check_form(WorkForm::Folder, typed).unwrap_err().to_string();
        assert_eq!(refused, "--blur only applies together with --shadows");
        draw.light.shadows = true;
        assert!(draw.check_form(WorkForm::Folder, typed).is_ok());
        assert!(draw.check_form(WorkForm::Arrays, typed).unwrap_err().to_string().contains("a file or a folder"));
    }

    #[test]
    fn a_default_is_shown_as_it_is_typed() {
        let declared = DrawOptions::default().declared();
        let typed: Vec<String> = declared.iter().map(|option| option.format_typed(&option.default)).collect();
        assert_eq!(typed, ["315,45", "false", "60x40", "null"]);
        // The parser accepts the text that is shown.
        assert_eq!(declared[2].parse_text("60x40"), Ok(json!([40, 60])));
        assert_eq!(declared[0].parse_text("315,45"), Ok(json!([315.0, 45.0])));
    }

    #[derive(Debug, Clone, PartialEq)]
    pub struct Division(String);

    impl OptionType for Division {
        type Within = RangeFull;
        fn kind(_: RangeFull) -> OptionKind {
            OptionKind::Tiles
        }
        fn from_json(value: &Json) -> Option<Self> {
            Some(Self(format_value(value)))
        }
        fn to_json(&self) -> Json {
            json!(self.0)
        }
    }

    fn option(name: &str) -> OptionSpec {
        find_option(&TrialOptions::default().declared(), name).unwrap().clone()
    }

    #[test]
    fn typed_values_are_read_with_their_units() {
        let parsed = |name: &str, text: &str| option(name).parse_text(text);
        assert_eq!(parsed("area", "0.25km2"), Ok(json!(250_000.0)));
        assert_eq!(parsed("area", "250 m2"), Ok(json!(250.0)));
        assert_eq!(parsed("area", "-1").unwrap_err(), "must be an area of 0 to 1e15 m2, such as 0.5km2");
        assert!(parsed("area", "2e9km2").is_err() && parsed("area", "1e9km2").is_ok());
        assert_eq!(parsed("memory", "2.5GiB"), Ok(json!(2_684_354_560u64)));
        assert_eq!(parsed("memory", "500M"), Ok(json!(524_288_000u64)));
        assert!(parsed("memory", "12").unwrap_err().contains("such as 500M"));
        assert_eq!(parsed("cells", "3, 4"), Ok(json!([3, 4])));
        assert_eq!(parsed("cells", "3,-4").unwrap_err(), "must be ROW,COL, two whole numbers of 0 or more");
        assert_eq!(parsed("point", "-3,4.5"), Ok(json!([-3.0, 4.5])));
        assert!(parsed("point", "inf,0").is_err() && parsed("point", "1").is_err());
        assert_eq!(parsed("routing", "all").unwrap_err(), "must be one of single, multiple");
        for (text, value) in [("8", json!("8")), ("8x4", json!("8x4")), ("1009px", json!("1009px"))] {
            assert_eq!(parsed("tiles", text), Ok(value));
        }
        assert!(["0", "8x", "px", "-1"].iter().all(|text| parsed("tiles", text).is_err()));
        assert_eq!((parsed("size", "40x30"), parsed("size", "7")), (Ok(json!([30, 40])), Ok(json!([7, 7]))));
        assert_eq!((parsed("zoom", "8-12"), parsed("zoom", "12")), (Ok(json!([8, 12])), Ok(json!([12, 12]))));
        assert!(parsed("zoom", "9-7").unwrap_err().contains("in rising order such as 0-22"));
        assert!(parsed("zoom", "x").is_err() && parsed("zoom", "8-23").is_err());
    }

    #[test]
    fn every_option_is_set_by_name_and_by_alias_and_comes_back() {
        let mut trial = TrialOptions::default();
        let values = json!({
            "area": 5, "memory": 2_000_000, "steps": 10, "routing": "multiple", "cells": [[1, 2], [3, 4]],
            "point": [0.5, -1], "no_outlines": true, "file": "a.tif", "size": 9, "zoom": [3, 4], "tiles": "2x3",
        });
        trial.set_all(values.as_object().unwrap()).unwrap();
        let expected = TrialOptions {
            area: Some(5.0),
            memory: Some(2_000_000),
            steps: 10,
            routing: Routing::Multiple,
            cells: vec![Cell::new(1, 2), Cell::new(3, 4)],
            point: Some(MapPoint::new(0.5, -1.0)),
            skip_outlines: true,
            file: Some("a.tif".into()),
            size: Some([9, 9]),
            zoom: Some([3, 4]),
            tiles: Some(Division("2x3".into())),
        };
        assert_eq!(trial, expected);
        assert_eq!(trial.changed_options().len(), 11);
        let back: Map<String, Json> =
            trial.changed_options().into_iter().map(|(option, value)| (option.name.into(), value)).collect();
        let mut again = TrialOptions::default();
        again.set_all(&back).unwrap();
        assert_eq!(again, expected);
    }

    #[test]
    fn wrong_values_are_refused_and_change_nothing() {
        let mut trial = TrialOptions::default();
        let mut refused = |name: &str, value: Json| trial.set(name, &value).unwrap_err().to_string();
        assert_eq!(refused("steps", json!(11)), "steps = 11: must be a whole number from 1 to 10");
        assert_eq!(refused("steps", json!(1.5)), "steps = 1.5: must be a whole number from 1 to 10");
        assert_eq!(refused("area", json!(-1)), "area = -1 m²: must be 0 to 1e15 m²");
        assert_eq!(
            refused("cells", json!([[1, 2], [3]])),
            "cells = [3]: must be [row, column], two whole numbers of 0 or more"
        );
        assert!(refused("cells", json!(3)).starts_with("cells = 3: must be a list"));
        assert_eq!(refused("stps", json!(3)), "unknown option `stps`; did you mean `steps`?");
        assert_eq!(trial, TrialOptions::default());
        let set = TrialOptions { area: Some(f64::NAN), ..trial.clone() };
        assert_eq!(set.check_ranges().unwrap_err().to_string(), "area = NaN: must be 0 to 1e15 m²");
        let error = TrialOptions { area: Some(-1.0), ..trial }.check_ranges().unwrap_err();
        assert_eq!(error.to_string(), "area = -1 m²: must be 0 to 1e15 m²");
    }

    #[test]
    fn an_option_without_effect_names_when_it_has_one() {
        let named = |option: &OptionSpec| format!("--{}", option.command_flag());
        let skips = TrialOptions { skip_outlines: true, ..TrialOptions::default() };
        assert!(skips.check_form(WorkForm::Store, named).is_ok());
        let message = skips.check_form(WorkForm::Arrays, named).unwrap_err().to_string();
        assert_eq!(message, "--skip-outlines only applies when the output is a Zarr store (-o DIR.zarr)");
        let names = |form| options_for(&skips, form).iter().map(|option| option.name).collect::<Vec<_>>();
        assert!(!names(WorkForm::Store).contains(&"routing") && names(WorkForm::Folder).contains(&"routing"));
    }
}
