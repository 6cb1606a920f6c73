//! The integration tests of the studio, as one program.

mod explore;
mod far;
mod panels;
mod pictures;
mod support;
mod worker;
