//! What the programs of developers share.

pub mod shell;
