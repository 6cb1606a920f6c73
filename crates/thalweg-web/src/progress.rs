//! [`Watcher`]: a function of the page that receives the progress of a call.

use std::ops::ControlFlow;

use js_sys::Function;
use send_wrapper::SendWrapper;
use thalweg_core::{Error, Progress, ProgressReport};
use wasm_bindgen::JsValue;

use crate::error::{JsException, Result};

/// Calls a function of the page with each report. The operation stops if the function returns false or throws.
///
/// The function belongs to the thread that received it: reports from another thread are skipped.
pub struct Watcher<'a> {
    function: Option<SendWrapper<&'a Function>>,
    argument: fn(&ProgressReport<'_>) -> Result<JsValue>,
    thrown: Option<SendWrapper<JsException>>,
}

impl<'a> Watcher<'a> {
    /// Creates a watcher; `argument` converts each report to the function's argument.
    pub fn new(function: Option<&'a Function>, argument: fn(&ProgressReport<'_>) -> Result<JsValue>) -> Self {
        Self { function: function.map(SendWrapper::new), argument, thrown: None }
    }

    /// Returns the result of the operation, or the value that the function threw as an error.
    pub fn finish<T>(self, result: std::result::Result<T, Error>) -> Result<T> {
        self.thrown.map_or(Ok(()), |thrown| Err(thrown.take()))?;
        Ok(result?)
    }
}

impl Progress for Watcher<'_> {
    fn report(&mut self, report: &ProgressReport<'_>) -> ControlFlow<()> {
        // On another worker thread the function does not exist; calling it there would be an error.
        let Some(function) = self.function.as_ref().filter(|function| function.valid()) else {
            return ControlFlow::Continue(());
        };
        match (self.argument)(report).and_then(|argument| Ok(function.call1(&JsValue::NULL, &argument)?)) {
            Ok(answer) if answer.as_bool() == Some(false) => ControlFlow::Break(()),
            Ok(_) => ControlFlow::Continue(()),
            Err(problem) => {
                // What the function threw is kept, so that `finish` throws the same value and not a message about a
                // stop.
                self.thrown = Some(SendWrapper::new(problem));
                ControlFlow::Break(())
            }
        }
    }
}
