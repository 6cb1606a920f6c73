//! Depression filling.

use rayon::prelude::*;

use crate::passes::{self, Pass};
use crate::pit_basins::{self, PitBasins};
use crate::{Land, Part};
use thalweg_core::{Field, Height};

/// The lowest surface, nowhere under the ground, from every cell of which a path leads out that never rises: each
/// depression filled to its spill level, flat.
///
/// What priority-flood gives (Barnes, Lehman & Mulla 2014, doi:10.1016/j.cageo.2013.04.024), without a queue of cells:
/// every cell is labelled with a pit below it, the passes between pits make a graph, and a cell is filled to the level
/// at which its pit spills outside. Only cells whose lower neighbours do not touch one another can be passes; their
/// number bounds the graph (as in the join trees of Carr, Snoeyink & Axen 2003, doi:10.1016/S0925-7721(02)00093-7).
/// Cells without data stay as they are. The land is one that [`Land::check`] accepts.
pub fn fill_depressions(land: &Land<'_>) -> Field<Height> {
    filled(land, &land.parts())
}

/// [`fill_depressions`], with the land's parts at hand.
pub(super) fn filled(land: &Land<'_>, parts: &Field<Part>) -> Field<Height> {
    Pits::find(land, parts).fill(land)
}

/// The pits of a land and the passes between their basins: all that filling needs to know.
pub struct Pits {
    // The labels lie where the heights will: four bytes a cell less.
    surface: Field<Height>,
    basins: PitBasins,
    /// What is found in each band of rows; more may be added.
    pub passes: Vec<Vec<Pass>>,
}

impl Pits {
    /// Labels every cell with the pit that it drains to, and finds the passes between pits.
    pub fn find(land: &Land<'_>, parts: &Field<Part>) -> Self {
        let mut surface = Field::new(land.grid.size, Height::ZERO);
        let (basins, passes) = PitBasins::find(land, parts, surface.as_mut_slice());
        Self { surface, basins, passes }
    }

    /// Number of basins, with the outside, which is basin 0.
    pub fn count(&self) -> usize {
        self.basins.count
    }

    /// The basin of cell `k`; 0 where water has left.
    pub fn basin(&self, k: usize) -> u32 {
        self.basins.basin(self.surface.as_slice(), k)
    }

    /// The filled surface.
    pub fn fill(self, land: &Land<'_>) -> Field<Height> {
        let Self { mut surface, basins, passes } = self;
        let levels = basins.by_root(&passes::levels(basins.count, passes));
        let len = basins.band_len;
        let bands = surface.as_mut_slice().par_chunks_mut(len).zip(land.ground.as_slice().par_chunks(len));
        bands.enumerate().for_each(|(band, (surface, ground))| {
            let levels = &levels[basins.starts[band]..];
            for (cell, ground) in surface.iter_mut().zip(ground) {
                *cell = Height(ground.0.max(levels[pit_basins::label(*cell) as usize]));
            }
        });
        surface
    }
}
