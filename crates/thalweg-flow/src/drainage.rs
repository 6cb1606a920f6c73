//! [`Drainage`]: where all water of a land goes, once its depressions are full.

use std::cell::OnceCell;

use crate::{Directions, Land, accumulate, d8, fill, flats};
use thalweg_core::{Field, Height, Result};

/// The filled surface of a land and where its water goes; what gathers, and in which order, is worked out when first asked for.
///
/// All fields are of the grid's size, row-major from the north-western corner. Nothing in it changes after it is made; who wants to
/// change a part takes it out.
// The cells are no `OnceLock`: a thread that waits for its own sums could take up a job that asks for them again.
#[derive(Debug, Clone)]
pub struct Drainage {
    filled: Field<Height>,
    directions: Directions,
    cells: OnceCell<Field<u32>>,
    order: OnceCell<Vec<u32>>,
}

impl Drainage {
    /// Of a land that [`Land::check`] accepts: [`fill::fill`], then [`d8::directions`], in less time than one after the other.
    pub fn of(land: &Land<'_>) -> Self {
        // Filling makes no cell rim or sink, nor an end of that: the parts of the ground are those of the filled surface.
        let parts = land.parts();
        let filled = fill::filled(land, &parts);
        let surface = land.under(&filled);
        let mut directions = d8::descents(&surface, &parts);
        drop(parts);
        flats::cross(&surface, &mut directions);
        Self { filled, directions, cells: OnceCell::new(), order: OnceCell::new() }
    }

    /// The ground with each depression filled to its spill level.
    pub fn filled(&self) -> &Field<Height> {
        &self.filled
    }

    /// For each cell the neighbour that it drains to.
    pub fn directions(&self) -> &Directions {
        &self.directions
    }

    /// Number of cells that drain through each cell, itself among them ([`accumulate::cells`]).
    pub fn cells(&self) -> &Field<u32> {
        self.cells.get_or_init(|| accumulate::cells(&self.directions))
    }

    /// Row-major indices of the cells with data, each before the one that it drains to ([`accumulate::order`]).
    pub fn order(&self) -> &[u32] {
        self.order.get_or_init(|| accumulate::order(&self.directions))
    }

    /// What comes through each cell if every cell with data yields `each`, in the unit of `each`; 0 where there is no data.
    pub fn yields(&self, each: f64) -> Field<f32> {
        self.cells().map(|n| (f64::from(*n) * each) as f32)
    }

    /// Sum of the weights of all cells that drain through each cell, itself among them; 0 where there is no data.
    ///
    /// # Errors
    /// As [`accumulate::weighted`].
    pub fn weighted(&self, weights: &Field<i64>) -> Result<Field<i64>> {
        accumulate::weighted(&self.directions, weights)
    }

    /// The land under its filled surface.
    pub fn surface<'a>(&'a self, land: &Land<'a>) -> Land<'a> {
        land.under(&self.filled)
    }

    /// Depth of the depressions, full to their brims, over the `ground` that the drainage was made of; 0 elsewhere.
    pub fn depths(&self, ground: &Field<Height>) -> Field<Height> {
        let filled = &self.filled;
        Field::generate(filled.size(), |i, j| Height(filled[(i, j)].0 - ground[(i, j)].0))
    }

    /// Row-major index of the cell that cell `k` drains to, if it drains to one.
    #[inline]
    pub fn next(&self, k: usize) -> Option<usize> {
        self.directions.next(k)
    }

    /// [`Drainage::cells`] as the caller's own.
    pub fn take_cells(&mut self) -> Field<u32> {
        self.cells.take().unwrap_or_else(|| accumulate::cells(&self.directions))
    }

    /// [`Drainage::order`] as the caller's own.
    pub fn take_order(&mut self) -> Vec<u32> {
        self.order.take().unwrap_or_else(|| accumulate::order(&self.directions))
    }

    /// The filled surface and the directions as the caller's own.
    pub fn into_parts(self) -> (Field<Height>, Directions) {
        (self.filled, self.directions)
    }
}
