//! Depression filling.

use rayon::prelude::*;

use crate::passes::{self, BasinPass};
use crate::pit_basins::{self, PitBasins};
use crate::{CellRole, Land};
use thalweg_core::{Field, Height};

/// Fills all depressions of a land to their spill level. The result is the lowest surface that is nowhere below the
/// ground and from every cell of which a path leads out of the land that never rises; filled depressions are flat. For
/// example, a pit at 3 m whose lowest sill is at 6 m is filled to 6 m.
///
/// The result equals that of priority-flood (Barnes, Lehman & Mulla 2014, doi:10.1016/j.cageo.2013.04.024), but
/// without a queue of cells: every cell is labelled with a pit below it, the passes between pits form a graph, and a
/// cell is filled to the level at which its pit spills outside. Only cells whose lower neighbours do not touch one
/// another can be passes, which bounds the size of the graph (as in the join trees of Carr, Snoeyink & Axen 2003,
/// doi:10.1016/S0925-7721(02)00093-7). Cells without data stay as they are. The land must be one that [`Land::check`]
/// accepts.
///
/// # Examples
/// ```
/// use thalweg_core::{Grid, Height, Terrain};
/// use thalweg_flow::Land;
/// use thalweg_flow::fill::fill_depressions;
///
/// // The water in the middle leaves over the sill of 6 m at the eastern edge.
/// let heights = [
///     9.0, 9.0, 9.0, 9.0,
///     9.0, 3.0, 4.0, 9.0,
///     9.0, 9.0, 5.0, 6.0,
///     9.0, 9.0, 9.0, 9.0,
/// ];
/// let terrain = Terrain::from_metres(Grid::new([4, 4], 10.0)?, &heights)?;
/// let filled = fill_depressions(&Land::from_terrain(&terrain));
/// assert_eq!(filled.row(1), [9.0, 6.0, 6.0, 9.0].map(Height::from_metres_clamped));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn fill_depressions(land: &Land<'_>) -> Field<Height> {
    fill_with_roles(land, &land.cell_roles())
}

/// Does the same as [`fill_depressions`], for land whose cell roles are already computed.
pub(super) fn fill_with_roles(land: &Land<'_>, roles: &Field<CellRole>) -> Field<Height> {
    Pits::from_land(land, roles).fill(land)
}

/// The pits of a land and the passes between their basins: everything that filling needs.
pub struct Pits {
    // Labels are stored in the field that later receives the heights, which saves four bytes per cell.
    surface: Field<Height>,
    basins: PitBasins,
    /// The passes found in each band of rows; callers may add more.
    pub passes: Vec<Vec<BasinPass>>,
}

impl Pits {
    /// Labels every cell with the pit that it drains to, and finds the passes between basins.
    pub fn from_land(land: &Land<'_>, roles: &Field<CellRole>) -> Self {
        let mut surface = Field::new(land.grid.size, Height::ZERO);
        let (basins, passes) = PitBasins::from_land(land, roles, surface.as_mut_slice());
        Self { surface, basins, passes }
    }

    /// Returns the number of basins, including the outside, which is basin 0.
    pub fn basin_count(&self) -> usize {
        self.basins.count
    }

    /// Returns the basin of cell `k`; 0 if its water leaves the land.
    pub fn basin(&self, k: usize) -> u32 {
        self.basins.find_basin(self.surface.as_slice(), k)
    }

    /// Returns the filled surface.
    pub fn fill(self, land: &Land<'_>) -> Field<Height> {
        let Self { mut surface, basins, passes } = self;
        // The outside, and a basin that never spills, have the lowest `i32` as their level, so their cells keep the
        // ground's height.
        let levels = basins.values_by_root(&passes::compute_spill_levels(basins.count, passes));
        // Labels are numbered within a band, so the surface is split into the same bands in which it was labelled.
        let len = basins.band_len;
        let bands = surface.as_mut_slice().par_chunks_mut(len).zip(land.ground.as_slice().par_chunks(len));
        bands.enumerate().for_each(|(band, (surface, ground))| {
            let levels = &levels[basins.starts[band]..];
            for (cell, ground) in surface.iter_mut().zip(ground) {
                *cell = Height(ground.0.max(levels[pit_basins::decode_label(*cell) as usize]));
            }
        });
        surface
    }
}
