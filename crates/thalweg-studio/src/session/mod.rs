//! The studio's side of a run: a thread that steps a [`thalweg_sim::session::Session`], the orders that it receives,
//! and the snapshots that it publishes. Neither the window nor this thread waits for the other.

mod board;
mod estimate;
mod order;
mod snapshot;
mod work;
mod worker;

pub(crate) use board::Board;
pub use order::{INITIAL_STEPS_PER_SECOND, WorkerOrder};
pub use snapshot::{SessionSnapshot, Trace, TurnWork};
pub(crate) use work::SessionLoop;
pub use worker::{RemoteSession, Worker};
