//! The integration tests of the stores, as one program.

mod apply;
mod by_rows;
mod other_programs;
mod refusals;
mod reshape;
mod store;
mod support;
mod work;
