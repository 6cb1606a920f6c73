//! Errors of the library as Python's: the words stay what they are.

use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use thalweg_core::Error;

/// The exception that says what an error says.
pub fn raised(error: Error) -> PyErr {
    let words = error.to_string();
    match error {
        // Python picks FileNotFoundError and its kin by the number.
        Error::Io { source, .. } => match source.raw_os_error() {
            Some(code) => PyOSError::new_err((code, words)),
            None => PyOSError::new_err(words),
        },
        Error::TooLarge { .. } => PyMemoryError::new_err(words),
        Error::Stopped { .. } => PyKeyboardInterrupt::new_err(words),
        // Values, conflicts, unsupported combinations, missing inputs: the call has to be changed.
        _ => PyValueError::new_err(words),
    }
}

/// An array of another size than a terrain, or a problem in words about a map that is held in memory.
pub fn unfit(what: &str, problem: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{what} {problem}"))
}

/// What is raised where an object is at work in another thread.
pub fn busy(what: &str) -> PyErr {
    PyRuntimeError::new_err(format!(
        "the {what} is at work in another thread; wait for that, or take one for each thread"
    ))
}

/// What is raised where an earlier failure has left an object half done.
pub fn broken(what: &str) -> PyErr {
    PyRuntimeError::new_err(format!("the {what} cannot go on: a step of it failed; take it up from a checkpoint"))
}
