//! Code shared by the developers' programs.

pub mod files;
pub mod shell;
