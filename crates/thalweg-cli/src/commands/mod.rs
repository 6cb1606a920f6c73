//! The commands: each says what was typed to the library, and prints what it answers.

pub mod drain;
