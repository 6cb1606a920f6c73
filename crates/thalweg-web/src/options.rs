//! [`Options`]: objects of JavaScript's, read by their declared keys.

use js_sys::{Array, BigInt, Function, JSON, Object, Reflect};
use thalweg_core::Error;
use thalweg_core::declare::params::Written;
use wasm_bindgen::{JsCast as _, JsValue};

use crate::error::Result;

/// The largest whole number that a number of JavaScript's holds with all below it.
const WHOLE: f64 = 9007199254740991.0;

/// An object with keys that are known.
pub struct Options {
    what: &'static str,
    object: JsValue,
}

impl Options {
    /// Reads an object, or nothing; a key that is none of those known is refused.
    pub fn of(what: &'static str, object: JsValue, known: &[&str]) -> Result<Self> {
        let options = Self { what, object };
        for (key, _) in options.entries()? {
            if !known.contains(&key.as_str()) {
                return Err(Error::unknown(what, &key, known.iter().copied()).into());
            }
        }
        Ok(options)
    }

    /// An object whose keys are the caller's to check.
    pub fn any(what: &'static str, object: JsValue) -> Self {
        Self { what, object }
    }

    /// Keys and values, those without a value left out.
    pub fn entries(&self) -> Result<Vec<(String, JsValue)>> {
        if self.object.is_undefined() || self.object.is_null() {
            return Ok(Vec::new());
        }
        if !self.object.is_object() || Array::is_array(&self.object) {
            return Err(Error::value(self.what, shown(&self.object), "an object, or nothing").into());
        }
        let pairs = Object::entries(self.object.unchecked_ref::<Object>());
        let pairs = pairs.iter().map(|pair| {
            let pair = Array::from(&pair);
            (pair.get(0).as_string().unwrap_or_default(), pair.get(1))
        });
        Ok(pairs.filter(|(_, value)| !value.is_undefined()).collect())
    }

    /// The value of a key.
    pub fn value(&self, key: &str) -> Option<JsValue> {
        if !self.object.is_object() {
            return None;
        }
        let value = Reflect::get(&self.object, &key.into()).ok()?;
        (!value.is_undefined() && !value.is_null()).then_some(value)
    }

    fn read<T>(&self, key: &str, allowed: &str, of: impl FnOnce(&JsValue) -> Option<T>) -> Result<Option<T>> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let read = of(&value).ok_or_else(|| Error::value(key, shown(&value), allowed))?;
        Ok(Some(read))
    }

    /// A real number.
    pub fn number(&self, key: &str) -> Result<Option<f64>> {
        self.read(key, "a finite number", |value| value.as_f64().filter(|x| x.is_finite()))
    }

    /// A whole number.
    pub fn count(&self, key: &str) -> Result<Option<u64>> {
        self.read(key, "a whole number from 0 on (a BigInt beyond 2^53)", whole)
    }

    /// A whole number that counts cells.
    pub fn cells(&self, key: &str) -> Result<Option<usize>> {
        let most = f64::from(u32::MAX);
        let cells = |value: &JsValue| value.as_f64().filter(|x| x.fract() == 0.0 && (1.0..=most).contains(x));
        Ok(self.read(key, "a whole number from 1 on", cells)?.map(|x| x as usize))
    }

    /// A word.
    pub fn word(&self, key: &str) -> Result<Option<String>> {
        self.read(key, "a word", JsValue::as_string)
    }

    /// True or false.
    pub fn switch(&self, key: &str) -> Result<bool> {
        Ok(self.read(key, "true, false", JsValue::as_bool)?.unwrap_or(false))
    }

    /// A function.
    pub fn function(&self, key: &str) -> Result<Option<Function>> {
        self.read(key, "a function", |value| value.dyn_ref::<Function>().cloned())
    }

    /// Another object.
    pub fn inner(&self, key: &'static str) -> Options {
        Self { what: key, object: self.value(key).unwrap_or(JsValue::UNDEFINED) }
    }
}

/// A whole number from 0 on that 64 bits hold.
fn whole(value: &JsValue) -> Option<u64> {
    if value.is_bigint() {
        return u64::try_from(BigInt::from(value.clone())).ok();
    }
    value.as_f64().filter(|x| x.fract() == 0.0 && (0.0..=WHOLE).contains(x)).map(|x| x as u64)
}

/// A value as somebody wrote it in JavaScript.
pub fn written(value: &JsValue) -> Written {
    if let Some(switch) = value.as_bool() {
        return Written::Switch(switch);
    }
    if let Some(word) = value.as_string() {
        return Written::Word(word);
    }
    match value.as_f64() {
        Some(x) if x.fract() == 0.0 && x.abs() <= WHOLE => Written::Whole(x as i64),
        Some(x) => Written::Number(x),
        None => Written::Other(shown(value)),
    }
}

/// A value in a message.
pub fn shown(value: &JsValue) -> String {
    if let Some(text) = value.as_string() {
        return text;
    }
    if let Some(x) = value.as_f64() {
        return x.to_string();
    }
    let text = JSON::stringify(value).ok().and_then(|text| text.as_string());
    text.unwrap_or_else(|| value.js_typeof().as_string().unwrap_or_default())
}

/// An object of what serde can write.
pub fn object(json: &serde_json::Value) -> Result<JsValue> {
    Ok(JSON::parse(&json.to_string())?)
}
