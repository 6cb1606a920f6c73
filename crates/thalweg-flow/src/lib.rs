//! Flow routing: depressions, flow directions, flow accumulation, basins and streams, as pure functions on a
//! [`Land`].
//!
//! Every function is exact and returns the same bits for any number of threads. Neighbours have the codes of [`D8`]:
//! clockwise from the east, 0 to 7. Odd codes are therefore diagonal, and the opposite of code k is `k ^ 4`, which
//! some kernels use. Ties between neighbours are broken by a hash of the world cell ([`Land::break_tie`]), never by the
//! order of a scan, so that results do not depend on the orientation or the window of the grid. Where the grid's
//! edges are looped, neighbours are those of its [`Topology`](thalweg_core::terrain::grid::Topology); results show no
//! seam. For example, a cell between two equally low neighbours drains to the same one in a whole map and in a tile of
//! it.
//!
//! # Examples
//! ```
//! use thalweg_core::terrain::{Terrain, grid::Grid};
//! use thalweg_flow::{FlowGraph, Land};
//!
//! // A pit of 1 m in a slope that falls to the east; cells are 10 m wide.
//! let heights = [9.0, 8.0, 7.0, 9.0, 5.0, 6.0, 9.0, 8.0, 7.0];
//! let terrain = Terrain::from_metres(Grid::new([3, 3], 10.0)?, &heights)?;
//! let graph = FlowGraph::new(&Land::from_terrain(&terrain));
//! assert_eq!(graph.filled_surface()[(1, 1)].metres(), 6.0);
//! // The pit's cell and the one above it drain through the cell at the edge.
//! assert!(graph.upstream_cells()[(1, 2)] >= 2);
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod accumulate;
pub mod basins;
pub mod breach;
pub mod channels;
pub mod d8;
pub mod depressions;
pub mod fill;
pub mod flats;
mod flow_graph;
pub mod hydraulic;
pub mod infinity;
pub mod land;
mod live_d8;
pub mod multiple;
pub mod outlets;
pub mod padded_rows;
pub mod passes;
mod pit_basins;
pub mod pools;
pub mod spill;
mod spill_cells;
mod steps;
pub mod streams;

pub use flow_graph::FlowGraph;
pub use land::{CellRole, Land};

pub use steps::{Directions, find_receiver, receiver_index, tie_break_hash};
pub use thalweg_core::terrain::d8::{D8, Neighbourhood, OUT, PIT, VOID};
