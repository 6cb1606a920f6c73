//! What the programs of developers share.

pub mod files;
pub mod shell;
