//! [`JsOptions`]: reads objects of JavaScript by their declared keys.

use js_sys::{Array, BigInt, Function, JSON, Object, Reflect};
use serde_json::{Map, Value as Json};
use thalweg_core::Error;
use thalweg_core::declare::operation::{Operation, OptionType};
use thalweg_core::declare::params::Written;
use thalweg_core::declare::script;
use wasm_bindgen::{JsCast as _, JsValue};

use crate::error::Result;

/// The largest integer up to which a number of JavaScript represents every integer exactly: 2⁵³ − 1.
const MAX_SAFE_INTEGER: f64 = 9007199254740991.0;

/// An object with known keys.
pub struct JsOptions {
    what: &'static str,
    object: JsValue,
}

impl JsOptions {
    /// Reads an object, null or undefined.
    ///
    /// # Errors
    /// Returns an error for any other value, and for an object with an unknown key.
    pub fn with_known_keys(what: &'static str, object: JsValue, known: &[&str]) -> Result<Self> {
        let options = Self { what, object };
        for (key, _) in options.entries()? {
            if !known.contains(&key.as_str()) {
                return Err(Error::unknown_name(what, &key, known.iter().copied()).into());
            }
        }
        Ok(options)
    }

    /// Reads an object whose keys the caller checks.
    pub fn with_any_keys(what: &'static str, object: JsValue) -> Self {
        Self { what, object }
    }

    /// Returns the keys and values, without keys whose value is undefined.
    pub fn entries(&self) -> Result<Vec<(String, JsValue)>> {
        if self.object.is_undefined() || self.object.is_null() {
            return Ok(Vec::new());
        }
        if !self.object.is_object() || Array::is_array(&self.object) {
            return Err(
                Error::invalid_value(self.what, format_value(&self.object), "an object, null or undefined").into()
            );
        }
        let pairs = Object::entries(self.object.unchecked_ref::<Object>());
        let pairs = pairs.iter().map(|pair| {
            let pair = Array::from(&pair);
            (pair.get(0).as_string().unwrap_or_default(), pair.get(1))
        });
        Ok(pairs.filter(|(_, value)| !value.is_undefined()).collect())
    }

    /// Returns the value of a key; `None` if it is null or undefined.
    pub fn value(&self, key: &str) -> Option<JsValue> {
        if !self.object.is_object() {
            return None;
        }
        let value = Reflect::get(&self.object, &key.into()).ok()?;
        (!value.is_undefined() && !value.is_null()).then_some(value)
    }

    fn read_value<T>(&self, key: &str, allowed: &str, of: impl FnOnce(&JsValue) -> Option<T>) -> Result<Option<T>> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let read = of(&value).ok_or_else(|| Error::invalid_value(key, format_value(&value), allowed))?;
        Ok(Some(read))
    }

    /// Returns a real number.
    pub fn read_number(&self, key: &str) -> Result<Option<f64>> {
        self.read_value(key, "a finite number", |value| value.as_f64().filter(|x| x.is_finite()))
    }

    /// Returns a number of cells: an integer of 1 or more.
    pub fn read_cell_count(&self, key: &str) -> Result<Option<usize>> {
        let most = f64::from(u32::MAX);
        let cells = |value: &JsValue| value.as_f64().filter(|x| x.fract() == 0.0 && (1.0..=most).contains(x));
        Ok(self.read_value(key, "a whole number of 1 or more", cells)?.map(|x| x as usize))
    }

    /// Returns a string.
    pub fn read_string(&self, key: &str) -> Result<Option<String>> {
        self.read_value(key, "a string", JsValue::as_string)
    }

    /// Returns a function.
    pub fn read_function(&self, key: &str) -> Result<Option<Function>> {
        self.read_value(key, "a function", |value| value.dyn_ref::<Function>().cloned())
    }

    /// Returns the object under a key; its keys are not checked.
    pub fn inner_object(&self, key: &'static str) -> JsOptions {
        Self { what: key, object: self.value(key).unwrap_or(JsValue::UNDEFINED) }
    }
}

/// Reads the options of an operation as they are declared; see [`script::read_operation`]. Keys of `others` are
/// accepted too, for the caller to read from the returned object.
pub fn read_operation<T: Operation + Default>(
    what: &'static str,
    object: JsValue,
    others: &[&str],
) -> Result<(T, JsOptions)> {
    let given = JsOptions::with_any_keys(what, object);
    // Values of the other keys, such as functions, have no JSON, and only the key matters.
    let to_json = |key: &str, value: &JsValue| if others.contains(&key) { Json::Null } else { to_json_value(value, 0) };
    let object: Map<String, Json> = given
        .entries()?
        .into_iter()
        .map(|(key, value)| {
            let json = to_json(&key, &value);
            (key, json)
        })
        .collect();
    Ok((script::read_operation(what, &object, others)?, given))
}

/// Changes the names in an error about options of this operation to those of JavaScript.
pub fn name_options<T: Operation + Default>(error: Error) -> Error {
    script::name_in_javascript(&T::default().declared(), error)
}

/// The greatest number of lists in one another in the value of an option.
const MAX_DEPTH: usize = 4;

/// Converts a value of an option to JSON; an infinite number becomes the text `inf`.
fn to_json_value(value: &JsValue, depth: usize) -> Json {
    if value.is_null() || value.is_undefined() {
        return Json::Null;
    }
    if let Some(switch) = value.as_bool() {
        return switch.into();
    }
    if let Some(number) = value.as_f64() {
        // JSON distinguishes whole numbers, JavaScript does not.
        let is_whole = number.fract() == 0.0 && number.abs() <= MAX_SAFE_INTEGER;
        return if is_whole { (number as i64).into() } else { OptionType::to_json(&number) };
    }
    if let Some(n) = to_whole_number(value) {
        return n.into();
    }
    // Typed arrays and plain arrays are treated alike.
    let is_list = js_sys::ArrayBuffer::is_view(value) || Array::is_array(value);
    // The limit excludes endless recursion in an array that contains itself.
    if depth < MAX_DEPTH && is_list {
        return Array::from(value).iter().map(|item| to_json_value(&item, depth + 1)).collect();
    }
    match value.dyn_ref::<Object>().filter(|_| depth < MAX_DEPTH && !is_list) {
        Some(object) => {
            let pairs = Object::entries(object);
            let pairs = pairs.iter().map(|pair| Array::from(&pair));
            let pairs =
                pairs.map(|pair| (pair.get(0).as_string().unwrap_or_default(), to_json_value(&pair.get(1), depth + 1)));
            pairs.collect::<serde_json::Map<String, Json>>().into()
        }
        // Texts, and values that no option accepts.
        None => format_value(value).into(),
    }
}

/// Returns an integer of 0 or more that fits into 64 bits.
fn to_whole_number(value: &JsValue) -> Option<u64> {
    if value.is_bigint() {
        // A seed may use all 64 bits, which only a BigInt represents exactly.
        return u64::try_from(BigInt::from(value.clone())).ok();
    }
    value.as_f64().filter(|x| x.fract() == 0.0 && (0.0..=MAX_SAFE_INTEGER).contains(x)).map(|x| x as u64)
}

/// Converts a value to a [`Written`] value.
pub fn to_written_value(value: &JsValue) -> Written {
    if let Some(switch) = value.as_bool() {
        return Written::Switch(switch);
    }
    if let Some(word) = value.as_string() {
        return Written::Word(word);
    }
    match value.as_f64() {
        // Beyond 2⁵³ the number may have been rounded already, so it does not count as whole.
        Some(x) if x.fract() == 0.0 && x.abs() <= MAX_SAFE_INTEGER => Written::Whole(x as i64),
        Some(x) => Written::Number(x),
        None => Written::Other(format_value(value)),
    }
}

/// Formats a value for a message.
pub fn format_value(value: &JsValue) -> String {
    if let Some(text) = value.as_string() {
        return text;
    }
    if let Some(x) = value.as_f64() {
        return x.to_string();
    }
    if value.is_bigint()
        && let Ok(text) = BigInt::from(value.clone()).to_string(10)
    {
        return text.into();
    }
    // Some values, such as functions, have no JSON; the message then names their type.
    let text = JSON::stringify(value).ok().and_then(|text| text.as_string());
    text.unwrap_or_else(|| value.js_typeof().as_string().unwrap_or_default())
}

/// Converts JSON to a value of JavaScript.
pub fn json_to_js(json: &serde_json::Value) -> Result<JsValue> {
    Ok(JSON::parse(&json.to_string())?)
}
