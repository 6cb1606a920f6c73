//! [`Problem`]: the library's errors as JavaScript's.

use thalweg_core::Error;
use wasm_bindgen::JsValue;

/// An error on its way to JavaScript, where it is an `Error` with the library's sentence.
#[derive(Debug)]
pub struct Problem(JsValue);

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self(js_sys::Error::new(&error.to_string()).into())
    }
}

/// What a function of JavaScript's threw goes on as it is.
impl From<JsValue> for Problem {
    fn from(thrown: JsValue) -> Self {
        Self(thrown)
    }
}

impl From<Problem> for JsValue {
    fn from(problem: Problem) -> Self {
        problem.0
    }
}

/// What a function that JavaScript calls returns.
pub type Result<T> = std::result::Result<T, Problem>;
