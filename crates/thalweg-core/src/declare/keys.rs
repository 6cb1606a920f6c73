//! [`Key`]: a key of a recipe's table, declared once: how it is read, how it is written, and its schema for editors.
//!
//! A [`Form`] describes the values of a key: for example a number within limits, a text, or a file name. Error messages
//! name the key with its owner, the value, and either the allowed values or the nearest known name.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value as Json, json};

use crate::base::names;
use crate::declare::params::{ParamKind, ParamType, Written};
use crate::{Error, Result};

/// A key of the table that a `T` is read from. The current state of the `T` may determine which values are accepted:
/// for example, a stage's model determines the parameters that the stage has.
pub struct Key<T> {
    /// The name of the key in the file.
    pub name: &'static str,
    /// True if the key is written only when its value differs from the default of `T`.
    pub is_rare: bool,
    /// Reads the value into the `T`; the text is the name of the key in error messages.
    pub read: fn(&mut T, &str, &toml::Value) -> Result<()>,
    /// Returns the value as TOML text; `None` leaves the key out.
    pub write: fn(&T) -> Option<String>,
    /// Returns the JSON Schema of the value; `None` if the key has no schema.
    pub schema: fn(&T) -> Option<Json>,
}

/// How the values of a key are read, written and described.
pub trait Form<T> {
    /// Reads the value; `name` is the name of the key in error messages.
    ///
    /// # Errors
    /// Returns an error if the value has another type or is out of range.
    fn read(&self, name: &str, value: &toml::Value) -> Result<T>;
    /// Returns the value as TOML text that [`Form::read`] accepts; `None` if there is nothing to write.
    fn write(&self, value: &T) -> Option<String>;
    /// Returns the JSON Schema of the values.
    fn schema(&self) -> Json;
}

/// Makes the [`Key`](crate::declare::keys::Key) of a field. The arguments are: the type of the struct; the field,
/// preceded by the key's name where the two differ; the form, or `by` and a function that makes the form from the
/// struct; the description.
#[doc(hidden)]
#[macro_export]
macro_rules! key {
    ($of:ty, $field:ident, by $form:expr, $about:literal) => {
        $crate::declare::keys::Key::<$of> {
            name: stringify!($field),
            is_rare: false,
            read: |thing, name, value| {
                thing.$field = $crate::declare::keys::Form::read(&$form(thing), name, value)?;
                Ok(())
            },
            write: |thing| $crate::declare::keys::Form::write(&$form(thing), &thing.$field),
            schema: |thing| Some($crate::declare::keys::schema_of(&$form(thing), &thing.$field, $about)),
        }
    };
    ($of:ty, $field:ident, $form:expr, $about:literal) => {
        $crate::key!($of, stringify!($field) => $field, $form, $about)
    };
    ($of:ty, $name:expr => $field:ident, $form:expr, $about:literal) => {
        $crate::declare::keys::Key::<$of> {
            name: $name,
            is_rare: false,
            read: |thing, name, value| {
                thing.$field = $crate::declare::keys::Form::read(&$form, name, value)?;
                Ok(())
            },
            write: |thing| $crate::declare::keys::Form::write(&$form, &thing.$field),
            schema: |thing| Some($crate::declare::keys::schema_of(&$form, &thing.$field, $about)),
        }
    };
}
pub use key;

impl<T> Key<T> {
    /// Returns the same key, written only when its value differs from the default.
    pub const fn omit_default(mut self) -> Self {
        self.is_rare = true;
        self
    }
}

/// Reads the given keys from a table, in the order of `keys`. Other keys of the table are ignored: the caller handles
/// them. `owner` is the prefix of the names in error messages.
///
/// # Errors
/// Returns the first error: a value of another type or out of range.
pub fn read_keys<T>(thing: &mut T, owner: &str, table: &toml::Table, keys: &[Key<T>]) -> Result<()> {
    // The order is that of the declaration and not of the file, because a key may depend on an earlier one.
    for key in keys {
        if let Some(value) = table.get(key.name) {
            let name = if owner.is_empty() { key.name.to_string() } else { format!("{owner}.{}", key.name) };
            (key.read)(thing, &name, value)?;
        }
    }
    Ok(())
}

/// Returns the names and TOML values of the keys that a recipe contains for `thing`. `usual` is the default `thing`:
/// rare keys with the same value as there are left out.
pub fn write_keys<T>(thing: &T, usual: &T, keys: &[Key<T>]) -> Vec<(&'static str, String)> {
    let written = |key: &Key<T>| {
        let text = (key.write)(thing)?;
        // Texts are compared, because the type of the value is known to the key's functions only.
        (!key.is_rare || (key.write)(usual).as_ref() != Some(&text)).then_some((key.name, text))
    };
    keys.iter().filter_map(written).collect()
}

/// Returns the properties of the table's JSON Schema, with default values taken from `usual`.
pub fn keys_schema<T>(usual: &T, keys: &[Key<T>]) -> Map<String, Json> {
    let property = |key: &Key<T>| {
        let mut schema = (key.schema)(usual)?;
        // An empty text means "not set" and is not given as a default.
        let text = (key.write)(usual).filter(|text| *text != quote_toml(""));
        // The written text is parsed as TOML, so that the default has the type that the file would have.
        let default = text.and_then(|text| format!("v = {text}").parse::<toml::Table>().ok()?.remove("v"));
        if let (Some(default), Some(schema)) = (default, schema.as_object_mut()) {
            schema.insert("default".into(), serde_json::to_value(default).unwrap_or_default());
        }
        Some((key.name.to_string(), schema))
    };
    keys.iter().filter_map(property).collect()
}

/// Returns a form's schema with a description.
pub fn schema_of<T>(form: &impl Form<T>, _: &T, about: &str) -> Json {
    add_description(form.schema(), about)
}

/// Adds a description to a schema.
pub fn add_description(mut schema: Json, about: &str) -> Json {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".into(), about.into());
    }
    schema
}

/// Returns the JSON Schema of a table with these properties and no others.
pub fn table_schema(properties: Map<String, Json>) -> Json {
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}

/// Rejects a table that has a key not among `known`; `what` is the name of the kind of key in the message.
///
/// # Errors
/// Returns an error for the first key that is not among `known`, with the nearest known name.
pub fn check_known_keys<'a>(
    what: &'static str,
    table: &toml::Table,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Result<()> {
    match table.keys().find(|key| !known.clone().any(|known| known == *key)) {
        Some(key) => Err(Error::unknown_name(what, key, known)),
        None => Ok(()),
    }
}

/// Formats each pair as a TOML line `key = value`.
pub fn format_toml_lines<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    pairs.into_iter().map(|(key, value)| format!("{} = {value}\n", format_toml_key(key))).collect()
}

/// Formats the pairs as an inline TOML table.
pub fn format_inline_table<K: AsRef<str>>(pairs: impl IntoIterator<Item = (K, String)>) -> String {
    let pairs: Vec<_> =
        pairs.into_iter().map(|(key, value)| format!("{} = {value}", format_toml_key(key.as_ref()))).collect();
    format!("{{ {} }}", pairs.join(", "))
}

/// Formats a TOML key, in quotes if it is not a bare key.
fn format_toml_key(key: &str) -> String {
    // TOML allows these characters in a key without quotes.
    let is_bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if is_bare { key.to_string() } else { quote_toml(key) }
}

/// Formats a text as a TOML string.
pub fn quote_toml(text: &str) -> String {
    Written::from(text).to_string()
}

/// Returns the value of a finite TOML float or integer; `None` for anything else.
pub fn read_finite_number(value: &toml::Value) -> Option<f64> {
    // TOML has infinite numbers and NaN, which no key accepts.
    value.as_float().or_else(|| value.as_integer().map(|n| n as f64)).filter(|x| x.is_finite())
}

/// A text, written as a TOML string.
pub struct Text;

impl Form<String> for Text {
    fn read(&self, name: &str, value: &toml::Value) -> Result<String> {
        value.as_str().map(String::from).ok_or_else(|| Error::invalid_value(name, value, "a string in quotes"))
    }

    fn write(&self, text: &String) -> Option<String> {
        Some(quote_toml(text))
    }

    fn schema(&self) -> Json {
        json!({"type": "string"})
    }
}

/// The path of a file, written as a TOML string by [`names::to_text`].
pub struct File;

impl Form<PathBuf> for File {
    fn read(&self, name: &str, value: &toml::Value) -> Result<PathBuf> {
        Text.read(name, value).map(|text| names::from_text(&text))
    }

    fn write(&self, path: &PathBuf) -> Option<String> {
        Some(quote_toml(&names::to_text(path)))
    }

    fn schema(&self) -> Json {
        Text.schema()
    }
}

/// The values that a parameter of this kind accepts, with their unit; `1` for a pure number.
impl<T: ParamType> Form<T> for (ParamKind, &str) {
    fn read(&self, name: &str, value: &toml::Value) -> Result<T> {
        let (kind, unit) = self;
        let allowed = || if *unit == "1" { kind.to_string() } else { format!("{kind} {unit}") };
        T::parse(&Written::from_toml(value), kind).ok_or_else(|| Error::invalid_value(name, value, allowed()))
    }

    fn write(&self, value: &T) -> Option<String> {
        Some(Written::from(value.value()).to_string())
    }

    fn schema(&self) -> Json {
        self.0.json_schema()
    }
}

/// A number of items within limits.
impl Form<usize> for ParamKind {
    fn read(&self, name: &str, value: &toml::Value) -> Result<usize> {
        let count: u32 = (*self, "1").read(name, value)?;
        Ok(count as usize)
    }

    fn write(&self, count: &usize) -> Option<String> {
        Some(count.to_string())
    }

    fn schema(&self) -> Json {
        ParamKind::json_schema(self)
    }
}

/// An optional value: `None` is not written.
pub struct Maybe<F>(pub F);

impl<T, F: Form<T>> Form<Option<T>> for Maybe<F> {
    fn read(&self, name: &str, value: &toml::Value) -> Result<Option<T>> {
        self.0.read(name, value).map(Some)
    }

    fn write(&self, value: &Option<T>) -> Option<String> {
        value.as_ref().and_then(|value| self.0.write(value))
    }

    fn schema(&self) -> Json {
        self.0.schema()
    }
}

/// Two numbers in a list, for example a position.
pub struct Pair {
    /// Returns true if a pair is accepted.
    pub takes: fn([f64; 2]) -> bool,
    /// The accepted pairs in words, for error messages.
    pub allowed: &'static str,
    /// Returns the JSON Schema of each of the two numbers.
    pub number: fn() -> Json,
}

impl<T: Copy + From<[f64; 2]> + Into<[f64; 2]>> Form<T> for Pair {
    fn read(&self, name: &str, value: &toml::Value) -> Result<T> {
        let pair = match value.as_array().map(Vec::as_slice) {
            Some([a, b]) => read_finite_number(a).zip(read_finite_number(b)).map(|(a, b)| [a, b]),
            _ => None,
        };
        let pair =
            pair.filter(|pair| (self.takes)(*pair)).ok_or_else(|| Error::invalid_value(name, value, self.allowed))?;
        Ok(pair.into())
    }

    fn write(&self, pair: &T) -> Option<String> {
        let pair: [f64; 2] = (*pair).into();
        Some(format!("{pair:?}"))
    }

    fn schema(&self) -> Json {
        json!({"type": "array", "items": (self.number)(), "minItems": 2, "maxItems": 2})
    }
}

/// A table that maps some known names to values of one form.
pub struct ByName<F> {
    /// The form of the values.
    pub form: F,
    /// The known names.
    pub names: Vec<&'static str>,
    /// The kind of name in error messages.
    pub what: &'static str,
    /// The accepted tables in words, for error messages.
    pub allowed: &'static str,
}

impl<T, F: Form<T>> Form<BTreeMap<String, T>> for ByName<F> {
    fn read(&self, name: &str, value: &toml::Value) -> Result<BTreeMap<String, T>> {
        let table = value.as_table().ok_or_else(|| Error::invalid_value(name, value, self.allowed))?;
        check_known_keys(self.what, table, self.names.iter().copied())?;
        table.iter().map(|(key, value)| Ok((key.clone(), self.form.read(&format!("{name}.{key}"), value)?))).collect()
    }

    fn write(&self, values: &BTreeMap<String, T>) -> Option<String> {
        let pairs = values.iter().filter_map(|(key, value)| Some((key, self.form.write(value)?)));
        (!values.is_empty()).then(|| format_inline_table(pairs))
    }

    fn schema(&self) -> Json {
        table_schema(self.names.iter().map(|name| (name.to_string(), self.form.schema())).collect())
    }
}

/// The name of one item of a fixed list.
pub struct Named<T: 'static> {
    /// Finds the item with a name; an error if there is none.
    pub find: fn(&str) -> Result<&'static T>,
    /// Returns the name of an item.
    pub name: fn(&T) -> &str,
    /// Returns all names.
    pub all: fn() -> Vec<&'static str>,
}

impl<T> Form<&'static T> for Named<T> {
    fn read(&self, name: &str, value: &toml::Value) -> Result<&'static T> {
        (self.find)(&Text.read(name, value)?)
    }

    fn write(&self, thing: &&'static T) -> Option<String> {
        Some(quote_toml((self.name)(thing)))
    }

    fn schema(&self) -> Json {
        json!({"enum": (self.all)()})
    }
}
