//! [`check_range`]: rejects values outside their limits.

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::{Error, Result};

/// Rejects a value outside `range`, and NaN; `name` is the name of the value in the message.
///
/// # Errors
/// Returns an error with the range if the value is outside it.
pub fn check_range<T: PartialOrd + Display>(name: &str, value: T, range: RangeInclusive<T>) -> Result<()> {
    match range.contains(&value) {
        true => Ok(()),
        false => Err(Error::invalid_value(name, value, format!("{} to {}", range.start(), range.end()))),
    }
}
