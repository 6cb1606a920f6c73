//! [`Key`]: a key of a recipe's table, declared once: how it is read, how it is written, and what editors are told of it.
//!
//! [`Form`]s are what stands behind keys: a number within limits, a text, a file. A message names the value's key and owner, the
//! value, and what is allowed or which name is near.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value as Json, json};

use crate::base::names;
use crate::declare::params::{ParamKind, ParamType, Written};
use crate::{Error, Result};

/// A key of the table that a `T` is read from. What the `T` is already, a stage's model for instance, may decide what the key accepts.
pub struct Key<T> {
    /// How it is called.
    pub name: &'static str,
    /// Whether it is written only where it says something else than a `T` has by default.
    pub is_rare: bool,
    /// Reads what stands behind it; the text is what messages call it.
    pub read: fn(&mut T, &str, &toml::Value) -> Result<()>,
    /// What stands behind it; `None` leaves the key out.
    pub write: fn(&T) -> Option<String>,
    /// The JSON Schema of what stands behind it; `None` where there is nothing to give.
    pub schema: fn(&T) -> Option<Json>,
}

/// How values stand behind keys.
pub trait Form<T> {
    /// The value; messages call it `name`.
    ///
    /// # Errors
    /// A value of another type or out of range.
    fn read(&self, name: &str, value: &toml::Value) -> Result<T>;
    /// As it is read; `None` where there is nothing to write.
    fn write(&self, value: &T) -> Option<String>;
    /// JSON Schema.
    fn schema(&self) -> Json;
}

/// The key of a field: of which type, its name, the field where that is called otherwise, its form or what makes it of the thing,
/// and its description.
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
    /// The same key, left out where it says what is so by default.
    pub const fn rare(mut self) -> Self {
        self.is_rare = true;
        self
    }
}

/// Reads what a table has of these keys, in the keys' order; what it has beside them is the caller's. `owner` stands before names in
/// messages.
///
/// # Errors
/// The first value of another type or out of range.
pub fn read_keys<T>(thing: &mut T, owner: &str, table: &toml::Table, keys: &[Key<T>]) -> Result<()> {
    for key in keys {
        if let Some(value) = table.get(key.name) {
            let name = if owner.is_empty() { key.name.to_string() } else { format!("{owner}.{}", key.name) };
            (key.read)(thing, &name, value)?;
        }
    }
    Ok(())
}

/// The keys and their values as they stand in a recipe; `usual` is what `thing` is by default.
pub fn write<T>(thing: &T, usual: &T, keys: &[Key<T>]) -> Vec<(&'static str, String)> {
    let written = |key: &Key<T>| {
        let text = (key.write)(thing)?;
        (!key.is_rare || (key.write)(usual).as_ref() != Some(&text)).then_some((key.name, text))
    };
    keys.iter().filter_map(written).collect()
}

/// The properties of the table's JSON Schema; `usual` says what is so by default.
pub fn keys_schema<T>(usual: &T, keys: &[Key<T>]) -> Map<String, Json> {
    let property = |key: &Key<T>| {
        let mut schema = (key.schema)(usual)?;
        // No text is no default.
        let text = (key.write)(usual).filter(|text| *text != quoted(""));
        let default = text.and_then(|text| format!("v = {text}").parse::<toml::Table>().ok()?.remove("v"));
        if let (Some(default), Some(schema)) = (default, schema.as_object_mut()) {
            schema.insert("default".into(), serde_json::to_value(default).unwrap_or_default());
        }
        Some((key.name.to_string(), schema))
    };
    keys.iter().filter_map(property).collect()
}

/// A form's schema with a description.
pub fn schema_of<T>(form: &impl Form<T>, _: &T, about: &str) -> Json {
    described(form.schema(), about)
}

/// A schema with a description.
pub fn described(mut schema: Json, about: &str) -> Json {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".into(), about.into());
    }
    schema
}

/// The JSON Schema of a table with these properties and no others.
pub fn table_schema(properties: Map<String, Json>) -> Json {
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}

/// Refuses keys of a table that are not among `known`; `what` says what they are.
///
/// # Errors
/// The first key that is not among `known`.
pub fn known<'a>(what: &'static str, table: &toml::Table, known: impl Iterator<Item = &'a str> + Clone) -> Result<()> {
    match table.keys().find(|key| !known.clone().any(|known| known == *key)) {
        Some(key) => Err(Error::unknown(what, key, known)),
        None => Ok(()),
    }
}

/// A line for each key.
pub fn lines<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    pairs.into_iter().map(|(key, value)| format!("{} = {value}\n", bare(key))).collect()
}

/// A table in one line.
pub fn inline<K: AsRef<str>>(pairs: impl IntoIterator<Item = (K, String)>) -> String {
    let pairs: Vec<_> = pairs.into_iter().map(|(key, value)| format!("{} = {value}", bare(key.as_ref()))).collect();
    format!("{{ {} }}", pairs.join(", "))
}

/// A key as it stands in a recipe; in quotes where it must.
fn bare(key: &str) -> String {
    let is_bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if is_bare { key.to_string() } else { quoted(key) }
}

/// A text as it stands in a recipe.
pub fn quoted(text: &str) -> String {
    Written::from(text).to_string()
}

/// A finite number, whole or not.
pub fn number(value: &toml::Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|n| n as f64)).filter(|x| x.is_finite())
}

/// A text in quotes.
pub struct Text;

impl Form<String> for Text {
    fn read(&self, name: &str, value: &toml::Value) -> Result<String> {
        value.as_str().map(String::from).ok_or_else(|| Error::value(name, value, "text in quotes"))
    }

    fn write(&self, text: &String) -> Option<String> {
        Some(quoted(text))
    }

    fn schema(&self) -> Json {
        json!({"type": "string"})
    }
}

/// A file's name, as a text.
pub struct File;

impl Form<PathBuf> for File {
    fn read(&self, name: &str, value: &toml::Value) -> Result<PathBuf> {
        Text.read(name, value).map(|text| names::from_text(&text))
    }

    fn write(&self, path: &PathBuf) -> Option<String> {
        Some(quoted(&names::to_text(path)))
    }

    fn schema(&self) -> Json {
        Text.schema()
    }
}

/// What a parameter of that kind would take, with its unit; 1 for a pure number.
impl<T: ParamType> Form<T> for (ParamKind, &str) {
    fn read(&self, name: &str, value: &toml::Value) -> Result<T> {
        let (kind, unit) = self;
        let allowed = || if *unit == "1" { kind.to_string() } else { format!("{kind} {unit}") };
        T::parse(&Written::of(value), kind).ok_or_else(|| Error::value(name, value, allowed()))
    }

    fn write(&self, value: &T) -> Option<String> {
        Some(Written::from(value.value()).to_string())
    }

    fn schema(&self) -> Json {
        self.0.schema()
    }
}

/// A number of things, within limits.
impl Form<usize> for ParamKind {
    fn read(&self, name: &str, value: &toml::Value) -> Result<usize> {
        let count: u32 = (*self, "1").read(name, value)?;
        Ok(count as usize)
    }

    fn write(&self, count: &usize) -> Option<String> {
        Some(count.to_string())
    }

    fn schema(&self) -> Json {
        ParamKind::schema(self)
    }
}

/// What need not be there.
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

/// Two numbers in a list, such as a point.
pub struct Pair {
    /// Which two are taken.
    pub takes: fn([f64; 2]) -> bool,
    /// The same in words.
    pub allowed: &'static str,
    /// The JSON Schema of either.
    pub number: fn() -> Json,
}

impl<T: Copy + From<[f64; 2]> + Into<[f64; 2]>> Form<T> for Pair {
    fn read(&self, name: &str, value: &toml::Value) -> Result<T> {
        let pair = match value.as_array().map(Vec::as_slice) {
            Some([a, b]) => number(a).zip(number(b)).map(|(a, b)| [a, b]),
            _ => None,
        };
        let pair = pair.filter(|pair| (self.takes)(*pair)).ok_or_else(|| Error::value(name, value, self.allowed))?;
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

/// A table of values, all of one form, each behind one of some names.
pub struct ByName<F> {
    /// The form.
    pub form: F,
    /// The names.
    pub names: Vec<&'static str>,
    /// What a name stands for.
    pub what: &'static str,
    /// The whole table in words.
    pub allowed: &'static str,
}

impl<T, F: Form<T>> Form<BTreeMap<String, T>> for ByName<F> {
    fn read(&self, name: &str, value: &toml::Value) -> Result<BTreeMap<String, T>> {
        let table = value.as_table().ok_or_else(|| Error::value(name, value, self.allowed))?;
        known(self.what, table, self.names.iter().copied())?;
        table.iter().map(|(key, value)| Ok((key.clone(), self.form.read(&format!("{name}.{key}"), value)?))).collect()
    }

    fn write(&self, values: &BTreeMap<String, T>) -> Option<String> {
        let pairs = values.iter().filter_map(|(key, value)| Some((key, self.form.write(value)?)));
        (!values.is_empty()).then(|| inline(pairs))
    }

    fn schema(&self) -> Json {
        table_schema(self.names.iter().map(|name| (name.to_string(), self.form.schema())).collect())
    }
}

/// The name of one of the things of a list.
pub struct Named<T: 'static> {
    /// The thing of that name.
    pub find: fn(&str) -> Result<&'static T>,
    /// Its name.
    pub name: fn(&T) -> &str,
    /// All names.
    pub all: fn() -> Vec<&'static str>,
}

impl<T> Form<&'static T> for Named<T> {
    fn read(&self, name: &str, value: &toml::Value) -> Result<&'static T> {
        (self.find)(&Text.read(name, value)?)
    }

    fn write(&self, thing: &&'static T) -> Option<String> {
        Some(quoted((self.name)(thing)))
    }

    fn schema(&self) -> Json {
        json!({"enum": (self.all)()})
    }
}
