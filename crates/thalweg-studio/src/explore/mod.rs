//! The explorer: a view of an unbounded world from any distance, from the whole world down to a gully, without
//! interruption.
//!
//! The view shows nested rings ([`rings`]): windows of the world, each twice as fine as the one around it. A thread
//! prepares them ([`streamer`]), coarsest first, and the view shows those that are ready.

mod explorer;
mod ground;
mod loaded_rings;
pub mod rings;
mod still;
pub mod streamer;
pub mod viewpoint;

pub use explorer::Explorer;
pub use still::draw_world_picture;
