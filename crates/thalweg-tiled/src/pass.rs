//! [`TilePass`]: a computation that processes a grid tile by tile.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;
use thalweg_core::terrain::{ChannelReach, Lake, TileGrid};
use thalweg_core::{Cell, Error, Result};
use thalweg_io::{SampleType, Samples};
use thalweg_render::products::nested::NestedDepression;

/// One pass over all tiles, and the global solution that follows it.
///
/// A driver runs the pass on every tile ([`run_tile`](Self::run_tile)), in any order and on any number of threads or
/// machines. When all tiles are done, it calls [`solve`](Self::solve) with their summaries, which returns an answer
/// for each tile for the next pass. The result does not depend on the order. A pass reads layers that earlier passes
/// have finished and writes other layers; no layer is changed in place.
///
/// [`drain_in_memory`](crate::memory::drain_in_memory) is the simplest driver. The crate `thalweg-store` has one that
/// keeps everything on disk, for several processes.
pub trait TilePass: Send + Sync {
    /// The name of the pass, in small letters, digits and `_`.
    fn name(&self) -> &str;

    /// The layers that [`run_tile`](Self::run_tile) receives.
    fn input_layers(&self) -> Vec<LayerRead> {
        Vec::new()
    }

    /// The names of the layers that the pass writes over the tile's own cells.
    fn output_layers(&self) -> Vec<String> {
        Vec::new()
    }

    /// Temporary layers for the next pass only. They are deleted when the next pass is solved.
    fn temporary_layers(&self) -> Vec<PassedLayer> {
        Vec::new()
    }

    /// The halo in cells within which a tile receives the summaries of the previous pass; `None` if it needs no
    /// summaries.
    fn summary_halo(&self) -> Option<usize> {
        None
    }

    /// Runs the pass on one tile.
    ///
    /// # Errors
    /// Returns an error if the grid has no such tile, if a layer is missing or has another type or size, if the
    /// answer is damaged, or if a given outlet has no data.
    fn run_tile(&self, input: TileInput<'_>) -> Result<TileOutput>;

    /// Solves the pass for the whole grid from the summaries of all tiles.
    ///
    /// Returns one answer per tile in the order of their numbers, or none if the next pass needs none. Products are
    /// reported to `found` one after another.
    ///
    /// # Errors
    /// Returns an error if summaries are damaged, do not belong together or do not match the number of tiles, if more
    /// items are found than 32 bits can count, or if `found` returns an error.
    fn solve(&self, summaries: &dyn Summaries, found: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>>;

    /// Returns an upper limit, in bytes, of the memory that one tile takes while it is run.
    ///
    /// The default, 64 bytes per cell of a tile, is enough for every pass of the [drainage](crate::drainage).
    fn tile_bytes(&self, tiles: &TileGrid) -> u64 {
        // Tiles at the southern and eastern edges may be smaller; the limit is that of a complete tile.
        64 * (tiles.tile_size() * tiles.tile_size()) as u64
    }

    /// Returns an upper limit, in bytes, of the memory that [`solve`](Self::solve) takes including its answers, for
    /// any terrain. The memory for the summaries that threads read meanwhile is not included.
    fn solve_bytes(&self) -> u64 {
        0
    }

    /// The kind of products that [`solve`](Self::solve) reports, if they are stored as files.
    fn reported_kind(&self) -> Finding {
        Finding::Nothing
    }
}

/// A layer that a pass reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerRead {
    /// The name of the layer.
    pub layer: String,
    /// The cells that are read on each side of the tile; there are fewer where the grid ends.
    pub halo: usize,
}

/// A temporary layer that a pass leaves to the next one.
#[derive(Debug, Clone, PartialEq)]
pub struct PassedLayer {
    /// The name of the layer.
    pub name: String,
    /// The type of its samples.
    pub kind: SampleType,
    /// The sample value that stands for missing data.
    pub fill: f64,
}

/// The input of a pass for one tile.
#[derive(Debug)]
pub struct TileInput<'a> {
    /// The number of the tile.
    pub tile: usize,
    /// The layers of [`TilePass::input_layers`] in that order, each row-major over the tile's [window with its
    /// halo](TileGrid::window_with_halo).
    pub layers: Vec<Samples>,
    /// The tile's answer from the solution of the previous pass; empty for the first pass.
    pub answer: &'a [u8],
    /// The summaries of the previous pass, for the tiles within [`TilePass::summary_halo`] in the order of their
    /// numbers.
    pub summaries: Vec<Vec<u8>>,
}

/// The output of a pass for one tile.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TileOutput {
    /// The layers of [`TilePass::output_layers`], then those of [`TilePass::temporary_layers`].
    pub layers: Vec<Samples>,
    /// The tile's part of the global solution.
    pub summary: Vec<u8>,
}

/// The summaries of all tiles of a pass. They may be read repeatedly and by several threads at once.
pub trait Summaries: Sync {
    /// The number of summaries: one per tile.
    fn count(&self) -> usize;

    /// Reads the summary of a tile.
    ///
    /// # Errors
    /// Returns an error if there is none, or if it cannot be read.
    fn read(&self, tile: usize) -> Result<Cow<'_, [u8]>>;

    /// Reads some bytes of a summary that was read before.
    ///
    /// # Errors
    /// Returns the errors of [`Summaries::read`], and an error if the summary has fewer bytes.
    fn read_range(&self, tile: usize, bytes: Range<usize>) -> Result<Cow<'_, [u8]>> {
        let (read, end) = (self.read(tile)?, bytes.end);
        let allowed = || format!("at least {end} bytes");
        let none =
            || Error::invalid_value(format!("summary of tile {tile}"), format!("{} bytes", read.len()), allowed());
        // A summary in memory is borrowed; one that was read from disk is copied in part, and the rest is freed.
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
        let found =
            self.get(tile).ok_or_else(|| Error::invalid_value("tile", tile, format!("fewer than {}", self.len())))?;
        Ok(Cow::Borrowed(found))
    }
}

/// The kind of products that a pass reports and that are stored as files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// None, or only figures.
    Nothing,
    /// Streams.
    Streams {
        /// The greatest possible number of streams, whatever the terrain is.
        at_most: u64,
    },
    /// Lakes, and their outlines.
    Lakes,
    /// Depressions under lakes.
    Depressions,
}

/// A result of a pass for the whole grid.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Product {
    /// The number of basins.
    Basins(u64),
    /// Any other figure for the report, by its key there.
    Figure(&'static str, Value),
    /// The next channel reach, as [`trace_channels`](thalweg_flow::channels::trace_channels) returns them.
    Reach(ChannelReach),
    /// The next lake. Its outline follows it, piece by piece.
    Lake(Lake),
    /// A piece of the outline of the last reported lake, as in [`Lake::outline`]: its lines one after another.
    Shore {
        /// True if a new line begins with the first of these points, which also ends the previous line.
        begins: bool,
        /// Row and column, in cells from the north-western corner.
        points: Vec<Cell<f64>>,
    },
    /// The next depression, as [`nested_depressions`](thalweg_render::products::nested::nested_depressions) returns
    /// them.
    Depression(NestedDepression),
}
