//! Drainage tile by tile, equal to the bit to what [`flow`](thalweg_flow) works out over the whole: for models larger than memory.
//!
//! Work is a list of [`Step`]s ([`drainage::steps`]). Each visits every tile alone, in any order or side by side: it reads layers over
//! the tile and a few cells round it, writes other layers over the tile, and hands in a summary in bytes. When all tiles have been
//! visited the step is solved: from the summaries come as many answers, one for each tile, which the next step is given. So who drives
//! it, one machine or many, moves layers by tiles and small messages, and holds no map. [`memory::drain_in_memory`] is the plainest
//! driver.
//!
//! Memory is bounded by the rims of tiles: a step is solved out of what others can ask of a tile, and summaries are read when they are
//! needed ([`Summaries`]). [`Step::solve_bytes`] says how much that is before anything is begun.
//!
//! Nothing here is approximate. What reaches over tiles (levels of depressions, distances over flats, counts, basins, streams, lakes)
//! goes through borders alone, and a summary holds all that others can ask of a tile.
//!
//! # Examples
//! ```
//! use thalweg_core::terrain::{Terrain, grid::Grid};
//! use thalweg_export::survey::SurveyOptions;
//! use thalweg_tiled::memory::drain_in_memory;
//!
//! let heights: Vec<f32> = (0..64 * 64).map(|k| ((k / 64) + (k % 64)) as f32).collect();
//! let terrain = Terrain::from_metres(Grid::new([64, 64], 30.0)?, &heights)?;
//! let drained = drain_in_memory(&terrain, &SurveyOptions::default(), 16, |_| {}, |_| {})?;
//! assert!(drained.channels.reaches.iter().all(|reach| reach.order >= 1));
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod catchments;
mod codec;
pub mod drainage;
mod fill;
mod flats;
mod lake_numbers;
mod lakes;
pub mod layer;
pub mod memory;
mod nested;
mod nested_parts;
mod nested_sweep;
mod numbering;
mod part;
mod raster;
mod records;
mod shore_lines;
mod shore_walk;
mod stream_cells;
pub mod tiling;

pub use layer::TileLayer;
pub use tiling::Tiling;

use std::borrow::Cow;
use std::ops::Range;

use thalweg_core::base::error::{Error, Result};
use thalweg_core::terrain::ChannelReach;
use thalweg_core::terrain::Lake;
use thalweg_io::Samples;
use thalweg_render::products::nested::NestedDepression;

/// One pass over all tiles, and what is to be known of all of them before the next.
///
/// The same bytes come of the same tiles, in whatever order and by however many threads.
pub trait Step: Send + Sync {
    /// A word for it.
    fn name(&self) -> &'static str;

    /// The layers that it reads, each with the width in cells of what it needs round the tile (less where the map ends).
    fn reads(&self) -> &[(TileLayer, usize)];

    /// The layers that it writes, over the tile's own cells.
    fn writes(&self) -> &[TileLayer] {
        &[]
    }

    /// One tile: the layers that it [reads](Step::reads), in that order, row-major over the tile's [window](Tiling::around), and the tile's
    /// answer of the step before (nothing at the first). Returns the layers that it [writes](Step::writes), in that order, and its summary.
    ///
    /// # Errors
    /// A tile that is none of the map, layers of another type or size, a damaged answer, a given outlet without data.
    fn tile(&self, tile: usize, inputs: Vec<Samples>, answer: &[u8]) -> Result<(Vec<Samples>, Vec<u8>)>;

    /// From the summaries of all tiles the answers for the next step, one a tile in their order, or none where it needs none. What is found
    /// out about the whole map is told to `found`, one after another.
    ///
    /// # Errors
    /// Summaries that are damaged, do not belong together, or are not as many as tiles; more things than 32 bits count; what `found`
    /// refuses.
    fn solve(&self, summaries: &dyn Summaries, found: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>>;

    /// Bytes that [`solve`](Step::solve) takes at the most with its answers, whatever the ground is; a tile's for each thread are not in
    /// it.
    fn solve_bytes(&self) -> u64;

    /// What it finds out about the whole map.
    fn finds(&self) -> Finding {
        Finding::Nothing
    }
}

/// The summaries of a step's tiles, wherever they lie. They may be read again and again, and by many threads at once.
pub trait Summaries: Sync {
    /// How many there are: one a tile.
    fn count(&self) -> usize;

    /// A tile's summary.
    ///
    /// # Errors
    /// A tile of which there is none; one that cannot be read.
    fn read(&self, tile: usize) -> Result<Cow<'_, [u8]>>;

    /// Some bytes of one that was read before.
    ///
    /// # Errors
    /// As [`Summaries::read`]; bytes beyond its end.
    fn part(&self, tile: usize, bytes: Range<usize>) -> Result<Cow<'_, [u8]>> {
        let read = self.read(tile)?;
        let none = || Error::value(format!("summary of tile {tile}"), format!("{} bytes", read.len()), "more");
        match &read {
            Cow::Borrowed(all) => all.get(bytes).map(Cow::Borrowed).ok_or_else(none),
            Cow::Owned(all) => all.get(bytes).map(|part| Cow::Owned(part.to_vec())).ok_or_else(none),
        }
    }
}

impl Summaries for Vec<Vec<u8>> {
    fn count(&self) -> usize {
        self.len()
    }

    fn read(&self, tile: usize) -> Result<Cow<'_, [u8]>> {
        let found = self.get(tile).ok_or_else(|| Error::value("tile", tile, format!("fewer than {}", self.len())))?;
        Ok(Cow::Borrowed(found))
    }
}

/// What a step finds out about the whole map, before that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// Nothing but layers.
    Nothing,
    /// How many basins there are.
    Basins,
    /// Streams.
    Streams {
        /// How many at the most, whatever the ground is.
        at_most: u64,
    },
    /// Lakes, and their outlines.
    Lakes {
        /// How many at the most, whatever the ground is.
        at_most: u64,
    },
    /// Depressions under lakes.
    Depressions,
}

/// What a step has found out about the whole map.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Product {
    /// Number of basins.
    Basins(u64),
    /// The next channel reach, as [`trace_channels`](thalweg_flow::channels::trace_channels) has them.
    Reach(ChannelReach),
    /// The next lake; its outline comes after it, piece by piece.
    Lake(Lake),
    /// Some more of the outline of the lake that came last, as [`Lake::outline`] has it: its lines one after another.
    Shore {
        /// Whether a line begins with the first of these points; it ends before the next begins.
        begins: bool,
        /// Row and column, in cells from the north-west corner.
        points: Vec<[f64; 2]>,
    },
    /// The next depression, as [`nested`](thalweg_render::products::nested::nested) has them.
    Depression(NestedDepression),
}
