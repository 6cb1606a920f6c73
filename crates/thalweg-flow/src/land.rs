//! [`Land`]: an elevation surface with everything that determines where water can leave it.

use rayon::prelude::*;

use crate::{Neighbourhood, tie_break_hash};
use thalweg_core::{Cell, Edge, Error, Field, Grid, Height, Result, Terrain};

/// An elevation surface, its missing data, and the places where water leaves it.
///
/// # Examples
/// ```
/// use thalweg_core::{Cell, Edge, Grid, Terrain};
/// use thalweg_flow::d8::route_d8;
/// use thalweg_flow::{Land, OUT};
///
/// // Walls on all four sides: water leaves at the given outlet only.
/// let grid = Grid { edges: [Edge::Closed; 4], ..Grid::new([1, 4], 10.0)? };
/// let terrain = Terrain::from_metres(grid, &[4.0, 3.0, 2.0, 3.0])?;
/// let outlets = [Cell::new(0, 2)];
/// let land = Land { outlets: &outlets, ..Land::from_terrain(&terrain) };
/// land.check()?;
/// assert_eq!(route_d8(&land).as_slice(), [0, 0, OUT, 4]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Land<'a> {
    /// The cell size, open and closed edges, the sea level, and world cells.
    pub grid: &'a Grid,
    /// The elevation of the surface that water flows over; a field of the grid's size.
    pub ground: &'a Field<Height>,
    /// True where there is no data, which is outside the land; a field of the grid's size. `None` if there is data
    /// everywhere.
    pub nodata: Option<&'a Field<bool>>,
    /// Additional cells (row, column) where water leaves, besides those that edges, sea and missing data determine. For
    /// example, such a cell may be a sinkhole.
    pub outlets: &'a [Cell],
}

/// The role of a cell in flow routing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum CellRole {
    /// Land from which water flows to a neighbour.
    #[default]
    Inside = 0,
    /// Land on an open edge or adjacent to missing data: water leaves here if no neighbour is lower.
    Rim = 1,
    /// Sea, or a given outlet: water that arrives leaves the land.
    Sink = 2,
    /// Missing data.
    Void = 3,
}

impl<'a> Land<'a> {
    /// Creates the land of a terrain, without additional outlets.
    pub fn from_terrain(terrain: &'a Terrain) -> Self {
        Self { grid: &terrain.grid, ground: &terrain.ground, nodata: terrain.nodata.as_ref(), outlets: &[] }
    }

    /// Returns the same land with another surface of the same size, for example its filled surface.
    #[must_use]
    pub fn with_ground(self, ground: &'a Field<Height>) -> Self {
        Self { ground, ..self }
    }

    /// Checks the sizes of the fields and the outlets.
    ///
    /// # Errors
    /// Returns an error if the ground or the mask does not have the grid's size, or if an outlet is outside the grid
    /// or has no data.
    pub fn check(&self) -> Result<()> {
        let [rows, cols] = self.grid.size;
        for (name, size) in [("ground", Some(self.ground.size())), ("nodata", self.nodata.map(Field::size))] {
            if let Some([r, c]) = size.filter(|size| *size != self.grid.size) {
                let allowed = format!("{rows} × {cols} (the grid)");
                return Err(Error::invalid_value(name, format!("{r} × {c} cells"), allowed));
            }
        }
        for &Cell { row: i, col: j } in self.outlets {
            let allowed = format!("a cell with data, rows 0 to {}, columns 0 to {}", rows - 1, cols - 1);
            if i >= rows || j >= cols || self.nodata.is_some_and(|mask| mask[(i, j)]) {
                return Err(Error::invalid_value("outlet", format!("row {i}, column {j}"), allowed));
            }
        }
        Ok(())
    }

    /// Returns the role of each cell. If water could not leave the land anywhere, the lowest cell becomes a sink. For
    /// example, this applies to a land with four closed edges and no sea.
    pub fn cell_roles(&self) -> Field<CellRole> {
        let (mut roles, all_inside) = self.classify_cells();
        // Every cell next to missing data is a rim. If there is neither a rim nor a sink, the whole grid is one
        // closed land.
        if all_inside && let Some(k) = self.find_lowest_cell() {
            roles[k] = CellRole::Sink;
        }
        roles
    }

    /// Returns the row-major index of the lowest cell, ties broken by hash; `None` if there are no cells.
    pub fn find_lowest_cell(&self) -> Option<usize> {
        let heights = self.ground.as_slice();
        let lowest = heights.iter().min()?;
        (0..heights.len()).filter(|k| heights[*k] == *lowest).min_by_key(|k| tie_break_hash(self.grid, *k))
    }

    /// Returns the role of each cell as determined by edges, sea, outlets and missing data alone, and whether all
    /// cells are [`CellRole::Inside`].
    pub fn classify_cells(&self) -> (Field<CellRole>, bool) {
        let cols = self.grid.cols();
        let mut roles = Field::new(self.grid.size, CellRole::Inside);
        let rows = roles.par_rows_mut().map_init(Vec::new, |near, (i, row)| self.classify_row(i, row, near));
        let mut all_inside = rows.reduce(|| true, |a, b| a & b);
        for &Cell { row: i, col: j } in self.outlets {
            if i < roles.rows() && j < cols && roles[(i, j)] != CellRole::Void {
                roles[(i, j)] = CellRole::Sink;
                all_inside = false;
            }
        }
        (roles, all_inside)
    }

    /// Returns true if cell (row, column) has data and is above sea level.
    pub fn is_dry(&self, i: usize, j: usize) -> bool {
        let sunk = self.grid.sea_level.is_some_and(|sea| self.ground[(i, j)] <= sea);
        !sunk && !self.nodata.is_some_and(|mask| mask[(i, j)])
    }

    /// Sets the roles of row `i`, which must all be [`CellRole::Inside`] before; outlets are not considered. Returns
    /// true if all stay so. `near` is a scratch buffer.
    fn classify_row(&self, i: usize, row: &mut [CellRole], near: &mut Vec<bool>) -> bool {
        let open = self.grid.edges.map(|edge| edge == Edge::Open);
        let cols = row.len();
        // Later steps overrule earlier ones: missing data overrules the sea, and the sea overrules a rim.
        if (i == 0 && open[0]) || (i + 1 == self.grid.rows() && open[2]) {
            row.fill(CellRole::Rim);
        }
        if open[3] {
            row[0] = CellRole::Rim;
        }
        if open[1] {
            row[cols - 1] = CellRole::Rim;
        }
        if let Some(mask) = self.nodata {
            // True for columns with missing data in this row or an adjacent one, padded by one cell at each end.
            near.clear();
            near.resize(cols + 2, false);
            let topology = self.grid.topology();
            for r in [-1, 0, 1].into_iter().filter_map(|by| topology.wrap_line(0, i as isize + by)) {
                for (near, void) in near[1..=cols].iter_mut().zip(mask.row(r)) {
                    *near |= *void;
                }
            }
            if topology.looped[1] {
                (near[0], near[cols + 1]) = (near[cols], near[1]);
            }
            for (j, part) in row.iter_mut().enumerate() {
                *part = if near[j] | near[j + 1] | near[j + 2] { CellRole::Rim } else { *part };
            }
        }
        if let Some(sea) = self.grid.sea_level {
            for (part, ground) in row.iter_mut().zip(self.ground.row(i)) {
                *part = if *ground <= sea { CellRole::Sink } else { *part };
            }
        }
        if let Some(mask) = self.nodata {
            for (part, void) in row.iter_mut().zip(mask.row(i)) {
                *part = if *void { CellRole::Void } else { *part };
            }
        }
        row.iter().all(|part| *part == CellRole::Inside)
    }

    /// Returns the existing neighbours of cell (row, column), each with its direction.
    pub fn neighbours(&self, i: usize, j: usize) -> Neighbourhood {
        Neighbourhood::new(self.grid.topology(), [i, j])
    }

    /// Breaks a tie between `count` candidates (1 or more) at cell (row, column): returns 0 to count − 1, from a hash
    /// of the world cell.
    #[inline]
    pub fn break_tie(&self, i: usize, j: usize, count: u32) -> u32 {
        let Cell { row, col } = self.grid.world_cell(i, j);
        // The odd multipliers (2⁶⁴ divided by the golden ratio, a prime of xxHash64, a multiplier of SplitMix64) spread
        // neighbouring cells over all values.
        let mut h = (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (col as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        h = (h ^ (h >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        // The upper bits of a wrapped product depend on more bits of its factors than the lower ones. The bias of the
        // remainder is below 10⁻⁸, because there are at most eight candidates.
        ((h >> 32) as u32) % count
    }

    /// Returns one of the neighbours of cell (i, j) whose bits are set (at least one must be), chosen by
    /// [`Land::break_tie`].
    pub(super) fn choose_neighbour(&self, i: usize, j: usize, neighbours: u8) -> u8 {
        let mut remaining = neighbours;
        for _ in 0..self.break_tie(i, j, neighbours.count_ones()) {
            // Clear the lowest bit that is set.
            remaining &= remaining - 1;
        }
        remaining.trailing_zeros() as u8
    }
}
