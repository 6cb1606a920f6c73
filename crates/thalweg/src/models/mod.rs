//! The models, one file each, and the one list of them.

pub mod droplets;
pub mod thermal;

use crate::error::{Error, Result};
use crate::model::Model;

/// Makes one model with default parameters.
type Make = fn() -> Box<dyn Model>;

/// Every model. A new one is a file, its `mod` line above, and its line here; the laws then test it.
pub const MODELS: &[Make] = &[|| Box::new(droplets::Droplets::default()), || Box::new(thermal::Thermal::default())];

/// The model of that name with default parameters.
///
/// # Errors
/// When there is none.
pub fn find(name: &str) -> Result<Box<dyn Model>> {
    all().find(|model| model.about().name == name).ok_or_else(|| {
        let names: Vec<&str> = all().map(|model| model.about().name).collect();
        Error::unknown("model", name, names)
    })
}

/// Every model with default parameters, in the list's order.
pub fn all() -> impl Iterator<Item = Box<dyn Model>> {
    MODELS.iter().map(|make| make())
}
