//! How things declare themselves: parameters, the keys of a recipe, things kept in tables. Each stands once, and all who need it
//! read it there.

pub mod codec;
mod defaults;
pub mod keys;
pub mod params;
