//! A session and a painter in a thread that shares no memory with the window, as the workers of a browser are. [`Station`] is there,
//! [`Link`] here; between them go bytes, and only their owners know how these travel.

mod land;
mod link;
mod station;
mod wire;

pub use link::{GivenFile, Link, Post, with_files_in};
pub use station::Station;
