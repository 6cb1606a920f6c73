//! [`JsException`]: converts the library's errors to JavaScript's.

use thalweg_core::Error;
use wasm_bindgen::JsValue;

/// An error that is thrown in JavaScript: an `Error` with the library's message, or a value that a function threw.
#[derive(Debug)]
pub struct JsException(JsValue);

impl From<Error> for JsException {
    fn from(error: Error) -> Self {
        Self(js_sys::Error::new(&error.to_string()).into())
    }
}

/// A value that a function of the page threw is thrown again unchanged.
impl From<JsValue> for JsException {
    fn from(thrown: JsValue) -> Self {
        Self(thrown)
    }
}

impl From<JsException> for JsValue {
    fn from(problem: JsException) -> Self {
        problem.0
    }
}

/// The result of a function that JavaScript calls.
pub type Result<T> = std::result::Result<T, JsException>;
