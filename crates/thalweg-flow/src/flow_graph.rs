//! [`FlowGraph`]: the filled surface of a terrain and the cell that each cell drains to.

use std::cell::OnceCell;

use crate::{Directions, Land, accumulate, d8, fill, flats};
use thalweg_core::{Field, Height, Result};

/// The filled surface of a terrain and the cell that each cell drains to by D8.
///
/// The number of upstream cells and the upstream order are computed on first use and kept. All fields have the grid's
/// size, row by row from the north-western corner. The graph does not change; to change one of its fields, take it out
/// with [`FlowGraph::into_parts`].
///
/// # Examples
/// ```
/// use thalweg_core::{Edge, Grid, Terrain};
/// use thalweg_flow::{FlowGraph, Land};
///
/// // A pit of 2 m in a valley that is open to the east only.
/// let edges = [Edge::Closed, Edge::Open, Edge::Closed, Edge::Closed];
/// let terrain = Terrain::from_metres(Grid { edges, ..Grid::new([1, 5], 10.0)? }, &[5.0, 2.0, 3.0, 4.0, 1.0])?;
/// let graph = FlowGraph::new(&Land::from_terrain(&terrain));
/// assert_eq!(graph.fill_depths(&terrain.ground)[(0, 1)].metres(), 2.0);
/// assert_eq!(graph.next(1), Some(2));
/// assert_eq!(graph.upstream_cells().as_slice(), [1, 2, 3, 4, 5]);
/// // The discharge if each cell yields 0.5 m³/s.
/// assert_eq!(graph.accumulate_uniform_yield(0.5).as_slice(), [0.5, 1.0, 1.5, 2.0, 2.5]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
// `OnceLock` would block: a thread that waits for its own sums could steal a job that requests them again.
#[derive(Debug, Clone)]
pub struct FlowGraph {
    filled: Field<Height>,
    directions: Directions,
    upstream_cells: OnceCell<Field<u32>>,
    upstream_order: OnceCell<Vec<u32>>,
}

impl FlowGraph {
    /// Fills the depressions of a land that [`Land::check`] accepts and routes its flow. The result equals that of
    /// [`fill::fill_depressions`] followed by [`d8::route_d8`], in less time.
    pub fn new(land: &Land<'_>) -> Self {
        // Filling turns no cell into a rim or a sink and removes none, so the roles computed on the ground are also
        // those on the filled surface.
        let roles = land.cell_roles();
        let filled = fill::fill_with_roles(land, &roles);
        let surface = land.with_ground(&filled);
        let mut directions = d8::route_steepest_descent(&surface, &roles);
        drop(roles);
        flats::route_flats(&surface, &mut directions);
        Self { filled, directions, upstream_cells: OnceCell::new(), upstream_order: OnceCell::new() }
    }

    /// Returns the elevation with each depression filled to its spill level.
    pub fn filled_surface(&self) -> &Field<Height> {
        &self.filled
    }

    /// Returns the neighbour that each cell drains to, as flow directions.
    pub fn directions(&self) -> &Directions {
        &self.directions
    }

    /// Returns the number of cells that drain through each cell, including itself
    /// ([`accumulate::count_upstream_cells`]); 0 where there is no data.
    pub fn upstream_cells(&self) -> &Field<u32> {
        self.upstream_cells.get_or_init(|| accumulate::count_upstream_cells(&self.directions))
    }

    /// Returns the row-major indices of the cells with data, each before its receiver ([`accumulate::upstream_order`]).
    pub fn upstream_order(&self) -> &[u32] {
        self.upstream_order.get_or_init(|| accumulate::upstream_order(&self.directions))
    }

    /// Returns the flow through each cell if every cell with data yields `each`, in the unit of `each`; 0 where there
    /// is no data.
    pub fn accumulate_uniform_yield(&self, each: f64) -> Field<f32> {
        self.upstream_cells().map(|n| (f64::from(*n) * each) as f32)
    }

    /// Returns the sum of the weights of all cells that drain through each cell, including itself; 0 where there is no
    /// data.
    ///
    /// # Errors
    /// Returns the errors of [`accumulate::accumulate_weights`].
    pub fn accumulate_weights(&self, weights: &Field<i64>) -> Result<Field<i64>> {
        accumulate::accumulate_weights(&self.directions, weights)
    }

    /// Returns the land with the filled surface as its elevation.
    pub fn with_filled_surface<'a>(&'a self, land: &Land<'a>) -> Land<'a> {
        land.with_ground(&self.filled)
    }

    /// Returns the depth of the filled surface above `ground`, from which the graph must have been built; 0 outside of
    /// depressions.
    pub fn fill_depths(&self, ground: &Field<Height>) -> Field<Height> {
        let filled = &self.filled;
        Field::from_fn(filled.size(), |i, j| Height(filled[(i, j)].0 - ground[(i, j)].0))
    }

    /// Returns the row-major index of the receiver of cell `k`; `None` if it has none.
    #[inline]
    pub fn next(&self, k: usize) -> Option<usize> {
        self.directions.next(k)
    }

    /// Takes [`FlowGraph::upstream_cells`] out of the graph, which computes it again when it is next used.
    pub fn take_upstream_cells(&mut self) -> Field<u32> {
        self.upstream_cells.take().unwrap_or_else(|| accumulate::count_upstream_cells(&self.directions))
    }

    /// Takes [`FlowGraph::upstream_order`] out of the graph, which computes it again when it is next used.
    pub fn take_upstream_order(&mut self) -> Vec<u32> {
        self.upstream_order.take().unwrap_or_else(|| accumulate::upstream_order(&self.directions))
    }

    /// Splits the graph into the filled surface and the flow directions.
    pub fn into_parts(self) -> (Field<Height>, Directions) {
        (self.filled, self.directions)
    }
}
