//! The integration tests of the command, as one program. Each test runs the built command in a folder of its own.

mod bad_input;
mod by_rows;
mod commands;
mod declared_once;
mod drain;
mod exact;
mod faults;
mod frames;
mod kept;
mod limits;
#[path = "../../../thalweg/tests/it/long.rs"]
mod long;
mod messages;
mod rivers;
mod runs;
mod signals;
mod states;
mod support;
mod tile_memory;
mod trees;
