//! Drainage computed tile by tile, for elevation models larger than memory. The results equal those of
//! [`flow`](thalweg_flow) on the whole map to the bit.
//!
//! The drainage is a list of passes ([`drainage::tile_passes`]). Each [`TilePass`] visits every tile separately, in
//! any order or in parallel. It reads layers over the tile and a halo of a few cells, writes other layers over the
//! tile, and returns a summary in bytes. When all tiles have been visited, the pass is solved: from all summaries it
//! computes one answer for each tile, which the next pass receives. A driver, on one machine or many, moves layers
//! tile by tile and small messages, and never holds a whole map. [`memory::drain_in_memory`] is the simplest driver.
//!
//! Memory is bounded by the rims of tiles: solving a pass only involves what other tiles may need to know of a tile,
//! and summaries are read when they are needed ([`Summaries`]). [`TilePass::solve_bytes`] gives the bound before any
//! work begins. For example, a tile of 1024 × 1024 cells has a rim of 4092 cells.
//!
//! No result is approximate. Everything that extends over several tiles (levels of depressions, distances over flats,
//! counts, basins, streams, lakes) is resolved through tile borders alone, and a summary contains everything that
//! other tiles need.
//!
//! # Examples
//! ```
//! use thalweg_core::NoProgress;
//! use thalweg_core::terrain::{Terrain, grid::Grid};
//! use thalweg_export::survey::DrainOptions;
//! use thalweg_tiled::memory::drain_in_memory;
//!
//! let heights: Vec<f32> = (0..64 * 64).map(|k| ((k / 64) + (k % 64)) as f32).collect();
//! let terrain = Terrain::from_metres(Grid::new([64, 64], 30.0)?, &heights)?;
//! let drained = drain_in_memory(&terrain, &DrainOptions::default(), 16, |_| {}, &mut NoProgress)?;
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
mod pass;
mod raster;
mod records;
mod shore_lines;
mod shore_walk;
mod stream_cells;

pub use layer::TileLayer;
pub use pass::{Finding, LayerRead, PassedLayer, Product, Summaries, TileInput, TileOutput, TilePass};
