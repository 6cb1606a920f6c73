//! The explorer: an endless world looked at from any distance, from the whole into a gully, without a stop.
//!
//! What is seen is a nest of rings ([`rings`]): windows of the world, each twice as fine as the one about it. A thread makes them
//! ready ([`streamer`]), the coarsest first, and the view shows what there is.

mod explorer;
mod ground;
pub mod rings;
mod shown;
pub mod stand;
mod still;
pub mod streamer;

pub use explorer::Explorer;
pub use still::still;
