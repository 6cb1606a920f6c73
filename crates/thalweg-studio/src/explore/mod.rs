//! The explorer: a view of an unbounded world from any distance, from the whole world down to a gully, without
//! interruption.
//!
//! The view shows nested rings ([`rings`]): windows of the world, each twice as fine as the one around it. A thread
//! prepares them ([`streamer`]), coarsest first, and the view shows those that are ready.

mod explorer;
mod ground;
pub mod rings;
mod shown;
pub mod stand;
mod still;
pub mod streamer;

pub use explorer::Explorer;
pub use still::still;
