//! Conversion of the library's errors to Python exceptions, with the same messages.

use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use thalweg_core::Error;

/// Converts an error to the Python exception of its kind, with the same message.
pub fn to_python_error(error: Error) -> PyErr {
    let words = error.to_string();
    match error {
        // Python chooses the subclass, such as FileNotFoundError, by the error number.
        Error::Io { source, .. } => match source.raw_os_error() {
            Some(code) => PyOSError::new_err((code, words)),
            None => PyOSError::new_err(words),
        },
        Error::TooLarge { .. } => PyMemoryError::new_err(words),
        // In this package only a signal stops work, for example Ctrl+C.
        Error::Stopped { .. } => PyKeyboardInterrupt::new_err(words),
        // Invalid values, conflicts, unsupported combinations, missing inputs: the call has to be changed.
        _ => PyValueError::new_err(words),
    }
}

/// Returns a ValueError about a map in memory: its name and the problem.
pub fn make_map_error(what: &str, problem: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{what} {problem}"))
}

/// Returns the error for an object that another thread is using.
pub fn make_busy_error(what: &str) -> PyErr {
    PyRuntimeError::new_err(format!(
        "the {what} is in use in another thread; wait until it is free, or use one {what} per thread"
    ))
}

/// Returns the error for an object that an earlier failure has left in an incomplete state.
pub fn make_broken_error(what: &str) -> PyErr {
    PyRuntimeError::new_err(format!(
        "the {what} cannot continue, because one of its steps failed; resume it from a checkpoint"
    ))
}
