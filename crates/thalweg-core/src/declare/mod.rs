//! Declarations: parameters of models, options of operations, keys of recipes, items kept in tables. Each is declared
//! once, and all code that needs it (parser, writer, schema, help) reads that declaration.

pub mod codec;
mod defaults;
pub mod keys;
pub mod operation;
pub mod option_types;
pub mod params;
pub mod schema;
pub mod script;
