//! Drainage tile by tile, equal to the bit to what [`flow`](crate::flow) works out over the whole: for models larger than memory.
//!
//! Work is a list of [`Step`]s ([`drainage::steps`]). Each visits every tile alone, in any order or side by side: it reads layers over
//! the tile and a few cells round it, writes other layers over the tile, and hands in a summary in bytes. When all tiles have been
//! visited the step is solved: from the summaries come as many answers, one for each tile, which the next step is given. So who drives
//! it, one machine or many, moves layers by tiles and small messages, and holds no map. [`memory::drain_in_memory`] is the plainest
//! driver.
//!
//! Nothing here is approximate. What reaches over tiles (levels of depressions, distances over flats, counts, basins, streams, lakes)
//! goes through borders alone, and a summary holds all that others can ask of a tile.

mod catchments;
mod codec;
pub mod drainage;
mod fill;
mod flats;
mod lakes;
pub mod layer;
pub mod memory;
mod part;
mod raster;
mod stream_cells;
pub mod stream_paths;
pub mod tiling;

pub use layer::TileLayer;
pub use stream_paths::StreamPath;
pub use tiling::Tiling;

use crate::base::error::Result;
use crate::io::Samples;
use crate::products::lakes::LakeOutline;

/// One pass over all tiles, and what is to be known of all of them before the next.
///
/// The same bytes come of the same tiles, in whatever order and by however many threads.
pub trait Step: Send + Sync {
    /// A word for it.
    fn name(&self) -> &'static str;

    /// The layers that it reads, each with the cells round the tile that it needs (fewer where the map ends).
    fn reads(&self) -> &[(TileLayer, usize)];

    /// The layers that it writes, over the tile's own cells.
    fn writes(&self) -> &[TileLayer];

    /// One tile: the layers that it [reads](Step::reads), row-major over the tile's [window](Tiling::around), and the tile's answer of the
    /// step before (nothing at the first). Returns the layers that it writes, and its summary.
    ///
    /// # Errors
    /// A tile that is none of the map, layers of another type or size, a damaged answer, a given outlet without data.
    fn tile(&self, tile: usize, inputs: Vec<Samples>, answer: &[u8]) -> Result<(Vec<Samples>, Vec<u8>)>;

    /// From the summaries of all tiles, in the tiles' order, the answers for the next step.
    ///
    /// # Errors
    /// Summaries that are damaged, do not belong together, or are not as many as tiles; more things than numbers.
    fn solve(&self, summaries: Vec<Vec<u8>>) -> Result<Solved>;
}

/// What comes of a step.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Solved {
    /// For each tile what the next step is given of it.
    pub answers: Vec<Vec<u8>>,
    /// What was found out about the whole map, if anything.
    pub product: Option<Product>,
}

/// What a step finds out about the whole map.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Product {
    /// Number of basins.
    Basins(u64),
    /// All streams, as [`links`](crate::flow::links::links) has them.
    Streams(Vec<StreamPath>),
    /// All lakes, without their outlines.
    Lakes(Vec<LakeOutline>),
}
