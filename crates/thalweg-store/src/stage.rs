//! [`Stage`]: one pass over all tiles of a job, and what is to be known of all of them before the next.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use thalweg::Result;
use thalweg::io::Samples;
use thalweg::tiled::Summaries;

use crate::StoredLayer;

/// A layer that a stage reads, with the cells round the tile that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The layer's name.
    pub layer: String,
    /// Cells round the tile; there are fewer where the map ends.
    pub halo: usize,
}

/// What a tile of a stage is given.
pub struct TileInput<'a> {
    /// The layers that the stage reads, in their order.
    pub layers: Vec<Samples>,
    /// The tile's answer of the stage before; nothing at the first.
    pub answer: &'a [u8],
    /// Summaries of the stage before, of the tiles that lie about this one, in the order of their numbers; none where the stage hears none.
    pub heard: Vec<Vec<u8>>,
}

/// One pass over all tiles. The same bytes come of the same tiles, in whatever order, on whatever machine.
///
/// A stage begins when the one before is solved. So it reads layers that are done, and writes others: nothing is changed in place.
pub trait Stage: Send + Sync {
    /// A word for it, of small letters and `_`.
    fn name(&self) -> &str;

    /// The layers that it reads: those that the stage before hands on, and the store's.
    fn reads(&self) -> Vec<Need> {
        Vec::new()
    }

    /// The layers of the store that it writes.
    fn writes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The files that it writes beside the store when it is solved, by their names there ([`beside`]).
    fn files(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Layers that it hands on to the next stage alone. They are not of the store: once the next stage is solved they are gone, and whoever needs
    /// them again has them made again.
    fn hands_on(&self) -> Vec<StoredLayer> {
        Vec::new()
    }

    /// So many cells about a tile lie those whose summaries of the stage before it is given; `None` where it is given none.
    fn hears(&self) -> Option<usize> {
        None
    }

    /// Bytes of memory that a tile takes while it is at work, beside what the process holds anyway.
    fn bytes(&self) -> u64;

    /// One tile. Gives the layers that it writes, then those that it hands on, and its summary.
    ///
    /// # Errors
    /// What cannot be read; a damaged answer.
    fn tile(&self, tile: usize, given: TileInput<'_>) -> Result<(Vec<Samples>, Vec<u8>)>;

    /// From the summaries of all tiles the answers for the next stage, and what was found of the whole map. Files of that go beside the store
    /// ([`beside`]), each whole. Summaries are read when they are needed, so that who solves holds no more of them than he must.
    ///
    /// # Errors
    /// Summaries that are damaged or do not belong together; a file that cannot be written.
    fn solve(&self, summaries: &dyn Summaries, store: &Path) -> Result<Answers>;

    /// Bytes of memory that [`solve`](Self::solve) takes at the most, beside a tile's for each thread.
    fn solve_bytes(&self) -> u64;
}

/// What comes of a stage.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answers {
    /// For each tile what the next stage is given of it; none where that is nothing for all.
    pub tiles: Vec<Vec<u8>>,
    /// What was found of the whole map, for the report.
    pub found: Map<String, Value>,
}

/// The path of a file that lies beside a store: `big.zarr` has `big.streams.fgb`.
pub fn beside(store: &Path, file: &str) -> PathBuf {
    let stem = store.file_stem().unwrap_or(store.as_os_str());
    let mut name = stem.to_os_string();
    name.push(".");
    name.push(file);
    store.with_file_name(name)
}
