//! A session and a painter in a thread that shares no memory with the window, such as a web worker. [`WorkerStation`]
//! is in that thread, [`Link`] in the window's. They exchange bytes; only their owners know how the bytes are
//! transported.

mod land;
mod link;
mod station;
mod wire;

pub use link::{DeliveredFile, Link, Post, with_files_in};
pub use station::WorkerStation;
