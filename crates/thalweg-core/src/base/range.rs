//! [`check_range`]: refuses values outside their limits.

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::{Error, Result};

/// Refuses a value outside `range`, and NaN; `name` is what the value is called in the message.
///
/// # Errors
/// When the value is outside, with the range.
pub fn check_range<T: PartialOrd + Display>(name: &str, value: T, range: RangeInclusive<T>) -> Result<()> {
    match range.contains(&value) {
        true => Ok(()),
        false => Err(Error::value(name, value, format!("{} to {}", range.start(), range.end()))),
    }
}
