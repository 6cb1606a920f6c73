//! Nested depressions: the tree of depressions under each lake, with the spill point and the storage volume of each.
//!
//! As the water level rises everywhere, it reaches cells in the order of their elevations, cells of equal elevation
//! row by row. A cell without a lower neighbour starts a depression. Where a cell joins several depressions, each of
//! them spills there, and they continue as one, which starts at that sill. A depression that starts and ends at one
//! elevation is flat ground and is omitted. The tree therefore depends on the elevations alone, not on flow
//! directions or the order of computation.

use rayon::prelude::*;

use thalweg_core::{Cell, Error, Field, Height, Result};
use thalweg_flow::basins::propagate_outlet_labels;
use thalweg_flow::{Directions, Land, OUT};

/// A depression in the tree of a filled terrain (Barnes, Callaghan & Wickert 2020, doi:10.5194/esurf-8-431-2020).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NestedDepression {
    /// The index of the cell at which it starts, counted row by row from 1. For a leaf this is its pit, for others
    /// the sill at which the depressions within it spill.
    pub id: u64,
    /// The `id` of the depression that it merges into when it spills; `None` for a whole lake.
    pub parent: Option<u64>,
    /// The lake that covers it: its number in the result of [`outline_lakes`](crate::products::lakes::outline_lakes).
    pub lake: u32,
    /// The row and column of its lowest cell; of several, the first one row by row.
    pub pit: Cell,
    /// The elevation of that cell.
    pub floor: Height,
    /// The row and column of the cell over which it spills: the sill. For a lake it is the cell at lake level from
    /// which water flows on downhill; of several, the first one row by row. `None` if there is none.
    pub spill: Option<Cell>,
    /// The elevation at which it spills.
    pub level: Height,
    /// The `id` of the depression, within the same lake, into which it spills; of several, the deepest. `None` for a
    /// whole lake.
    pub into: Option<u64>,
    /// The number of the lake that its water reaches next: its own lake, unless it is a whole lake. 0 if the water
    /// leaves the terrain without passing another lake.
    pub into_lake: u32,
    /// The number of its cells below the spill level.
    pub cells: u64,
    /// Its storage volume up to that level, in height units × cells (1/65 536 m over one cell).
    pub volume: u128,
}

/// A depression while the water level rises in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RisingDepression {
    /// The number of the depression, [`NestedDepression::id`].
    pub id: u64,
    /// The index of its lowest cell.
    pub pit: u64,
    /// The elevation of its lowest cell in height units.
    pub floor: i32,
    /// The number of cells below the elevation `at`.
    pub cells: u64,
    /// The sum of the elevations of these cells in height units.
    pub sum: i128,
    /// The elevation of the cells added last.
    pub at: i32,
    /// The number of cells at the elevation `at`.
    pub level_cells: u64,
}

impl RisingDepression {
    /// Starts a depression at a cell, which is not yet counted.
    fn start_at(cell: u64, height: i32) -> Self {
        Self { id: cell + 1, pit: cell, floor: height, cells: 0, sum: 0, at: height, level_cells: 0 }
    }

    /// Adds `cells` cells of an elevation that is not lower than that of earlier ones.
    pub fn add_cells(&mut self, height: i32, cells: u64) {
        self.raise_to(height);
        self.level_cells = self.level_cells.saturating_add(cells);
    }

    /// Raises the level to `height` and counts all cells below it as submerged.
    pub fn raise_to(&mut self, height: i32) {
        if height > self.at {
            // Saturating sums only matter for maps with more cells than 64-bit counts allow; they keep the function
            // free of panics.
            self.cells = self.cells.saturating_add(self.level_cells);
            self.sum = self.sum.saturating_add(i128::from(self.at).saturating_mul(i128::from(self.level_cells)));
            (self.at, self.level_cells) = (height, 0);
        }
    }

    /// Returns the storage volume up to `at`, in height units × cells.
    pub fn volume(&self) -> u128 {
        // The volume is the water column above each cell: the level times the number of cells, less the sum of their
        // heights.
        let full = i128::from(self.at).saturating_mul(i128::from(self.cells));
        u128::try_from(full.saturating_sub(self.sum)).unwrap_or_default()
    }

    /// Returns the depression filled to `level`, in a lake, with every field except those of its spill point and
    /// parent.
    fn fill_to(mut self, level: i32, lake: u32, cell: impl Fn(u64) -> Cell) -> NestedDepression {
        self.raise_to(level);
        NestedDepression {
            id: self.id,
            parent: None,
            lake,
            pit: cell(self.pit),
            floor: Height(self.floor),
            spill: None,
            level: Height(level),
            into: None,
            into_lake: lake,
            cells: self.cells,
            volume: self.volume(),
        }
    }

    /// Returns the depression as a whole lake of the given level, which spills over the sill `out.0` and on to the
    /// lake `out.1`.
    pub fn into_whole_lake(self, lake: u32, level: i32, out: Option<(u64, u32)>, cols: u64) -> NestedDepression {
        let place = |index| cell_at(index, cols);
        let (spill, into_lake) = (out.map(|out| place(out.0)), out.map_or(0, |out| out.1));
        NestedDepression { spill, into_lake, ..self.fill_to(level, lake, place) }
    }
}

/// Returns the row and column of a cell.
fn cell_at(index: u64, cols: u64) -> Cell {
    Cell::new((index / cols) as usize, (index % cols) as usize)
}

/// A cell at which the rising water joins depressions.
#[derive(Debug, Clone, Copy)]
pub struct Meeting {
    /// The index of the cell.
    pub cell: u64,
    /// The elevation of the cell in height units.
    pub height: i32,
    /// The number of the lake over the cell; 0 on dry land.
    pub lake: u32,
    /// The number of columns of the map.
    pub cols: u64,
}

/// Adds a cell to the adjacent depressions and joins them. The depressions that end there are passed to `report`, the
/// one with the lowest floor first. Returns the depression that they become.
pub fn join_depressions(
    at: Meeting,
    rising: &mut [RisingDepression],
    mut report: impl FnMut(NestedDepression),
) -> RisingDepression {
    let Meeting { cell, height, lake, cols } = at;
    // The order by floor, then by pit, makes the result independent of the order in which neighbours are visited.
    rising.sort_unstable_by_key(|one| (one.floor, one.pit));
    // Depressions whose floor is at this elevation are flat ground.
    let count = rising.partition_point(|one| one.floor < height);
    let several = count > 1;
    for (k, one) in rising[..count].iter().enumerate().filter(|_| several) {
        // The deepest depression spills into the second deepest, and all others into the deepest.
        let into = rising[usize::from(k == 0)].id;
        let full = one.fill_to(height, lake, |index| cell_at(index, cols));
        report(NestedDepression { parent: Some(cell + 1), into: Some(into), spill: Some(cell_at(cell, cols)), ..full });
    }
    let mut whole = RisingDepression::start_at(cell, height);
    for (k, one) in rising.iter_mut().enumerate() {
        one.raise_to(height);
        // The joined depression keeps the deepest pit, and the number of a single depression unless a sill starts a new
        // one.
        if k == 0 {
            whole = RisingDepression { id: if several { cell + 1 } else { one.id }, ..*one };
        } else {
            whole.cells = whole.cells.saturating_add(one.cells);
            whole.sum = whole.sum.saturating_add(one.sum);
            whole.level_cells = whole.level_cells.saturating_add(one.level_cells);
        }
    }
    whole.add_cells(height, 1);
    whole
}

/// The value of a cell that is not part of any depression yet.
const NONE: u32 = u32::MAX;

/// Returns the depressions of a filled terrain, ordered by lake and, within a lake, by the order in which they spill,
/// so that each precedes its parent and the lake as a whole comes last. `filled` is the surface with its depressions
/// filled to their sills; `directions` are the flow directions on that surface.
///
/// # Errors
/// Returns an error if the size of a field differs from the terrain's; also returns the errors of [`Land::check`].
///
/// # Examples
/// ```
/// use thalweg_core::{Edge, Grid, Terrain};
/// use thalweg_flow::{FlowGraph, Land};
/// use thalweg_render::products::nested::nested_depressions;
///
/// // Pits at 1 m and 2 m with a sill of 3 m between them; together they spill to the east at 4 m.
/// let edges = [Edge::Closed, Edge::Open, Edge::Closed, Edge::Closed];
/// let heights = [5.0, 1.0, 3.0, 2.0, 4.0, 0.0];
/// let terrain = Terrain::from_metres(Grid { edges, ..Grid::new([1, 6], 10.0)? }, &heights)?;
/// let land = Land::from_terrain(&terrain);
/// let graph = FlowGraph::new(&land);
/// let nested = nested_depressions(&land, graph.filled_surface(), graph.directions())?;
/// assert_eq!(nested.iter().map(|one| one.level.metres()).collect::<Vec<_>>(), [3.0, 3.0, 4.0]);
/// assert_eq!((nested[0].parent, nested[2].parent), (Some(nested[2].id), None));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn nested_depressions(
    land: &Land<'_>,
    filled: &Field<Height>,
    directions: &Directions,
) -> Result<Vec<NestedDepression>> {
    land.with_ground(filled).check()?;
    land.check()?;
    if directions.size() != land.grid.size {
        let [r, c] = directions.size();
        return Err(Error::invalid_value("directions", format!("{r} × {c} cells"), "the size of the land"));
    }
    let ground = land.ground.as_slice();
    let cols = land.grid.cols();
    let is_wet = |k: usize| filled[k] > ground[k] && !land.nodata.is_some_and(|mask| mask[k]);
    let around = |k: usize| land.neighbours(k / cols, k % cols).map(|(_, Cell { row: r, col: c })| r * cols + c);
    let lakes = lake_numbers(land, is_wet, around);
    let outs = find_lake_outlets(directions, filled, &lakes);

    // Visit the cells of lakes by elevation. A union-find forest, `up`, maps each depression to the one that it has
    // become.
    let mut order: Vec<(i32, u32)> =
        (0..ground.len()).filter(|k| lakes[*k] != 0).map(|k| (ground[k].0, k as u32)).collect();
    // No two entries are equal, because they contain the cell's index, so an unstable sort is deterministic.
    order.par_sort_unstable();
    let mut number = Field::new(land.grid.size, NONE);
    let (mut hollows, mut up): (Vec<RisingDepression>, Vec<u32>) = (Vec::new(), Vec::new());
    let (mut rows, mut adjacent, mut rising) = (Vec::new(), Vec::new(), Vec::new());
    for (height, k) in order.iter().map(|(height, k)| (*height, *k as usize)) {
        adjacent.clear();
        for n in around(k).filter(|n| number[*n] != NONE) {
            let top = find_root(&mut up, number[n]);
            if !adjacent.contains(&top) {
                adjacent.push(top);
            }
        }
        rising.clear();
        rising.extend(adjacent.iter().map(|one| hollows[*one as usize]));
        let at = Meeting { cell: k as u64, height, lake: lakes[k], cols: cols as u64 };
        let whole = join_depressions(at, &mut rising, |row| rows.push(row));
        let here = adjacent.first().copied().unwrap_or(up.len() as u32);
        // A cell without an adjacent depression starts one of its own.
        if adjacent.is_empty() {
            up.push(here);
            hollows.push(whole);
        }
        hollows[here as usize] = whole;
        adjacent.iter().for_each(|one| up[*one as usize] = here);
        number[k] = here;
    }
    // The roots that remain are whole lakes.
    for (one, hollow) in hollows.iter().enumerate().filter(|(one, _)| up[*one] as usize == *one) {
        let pit = hollow.pit as usize;
        debug_assert!(one < up.len());
        let lake = lakes[pit];
        rows.push(hollow.into_whole_lake(lake, filled[pit].0, outs[lake as usize - 1], cols as u64));
    }
    // The sort is stable: within a lake the order of spilling is kept, and no depression spills as late as the whole
    // lake.
    rows.par_sort_by_key(|row| (row.lake, row.level, row.spill, row.floor, row.pit));
    Ok(rows)
}

/// Returns the root of a tree in a union-find forest, halving the path on the way.
pub fn find_root(up: &mut [u32], from: u32) -> u32 {
    let mut at = from;
    while up[at as usize] != at {
        up[at as usize] = up[up[at as usize] as usize];
        at = up[at as usize];
    }
    at
}

/// Numbers the lakes by their first cells, row by row.
fn lake_numbers<I: Iterator<Item = usize>>(
    land: &Land<'_>,
    is_wet: impl Fn(usize) -> bool,
    around: impl Fn(usize) -> I,
) -> Field<u32> {
    let mut lakes = Field::new(land.grid.size, 0u32);
    let (mut count, mut found) = (0, Vec::new());
    for first in 0..lakes.len() {
        if lakes[first] != 0 || !is_wet(first) {
            continue;
        }
        count += 1;
        lakes[first] = count;
        found.push(first);
        while let Some(k) = found.pop() {
            for n in around(k) {
                if lakes[n] == 0 && is_wet(n) {
                    lakes[n] = count;
                    found.push(n);
                }
            }
        }
    }
    lakes
}

/// Returns, for each lake, the sill (of several, the first one row by row) and the lake that water from there reaches
/// next, 0 if it leaves the terrain.
///
/// A sill is the last cell at the lake's level on a flow path out of it. Everything downstream is lower, so that no
/// chain of lakes can be circular.
fn find_lake_outlets(directions: &Directions, filled: &Field<Height>, lakes: &Field<u32>) -> Vec<Option<(u64, u32)>> {
    // A cell's label is first the sill downstream at its own level.
    let mut ends = Field::from_fn(lakes.size(), |i, j| (i * lakes.cols() + j) as u32);
    let mut to_sills = directions.clone();
    // Flow paths end where the filled surface falls, that is at sills.
    for k in 0..lakes.len() {
        if directions.next(k).is_some_and(|n| filled[n] < filled[k]) {
            to_sills[k] = OUT;
        }
    }
    propagate_outlet_labels(&to_sills, &mut ends, NONE);
    drop(to_sills);
    let count = lakes.as_slice().iter().max().copied().unwrap_or(0);
    let mut outs: Vec<Option<(u64, u32)>> = vec![None; count as usize];
    for (lake, sill) in lakes.as_slice().iter().zip(ends.as_slice()).filter(|(_, sill)| **sill != NONE) {
        if let Some(lake) = lake.checked_sub(1) {
            // Among several sills the one with the smallest index counts.
            let known = outs[lake as usize].map_or(u64::MAX, |out| out.0);
            outs[lake as usize] = Some((known.min(u64::from(*sill)), 0));
        }
    }
    // In the second pass, paths end at the first lake that they reach.
    let mut to_lakes = directions.clone();
    (0..lakes.len()).filter(|k| lakes[*k] != 0).for_each(|k| to_lakes[k] = OUT);
    ends.as_mut_slice().copy_from_slice(lakes.as_slice());
    propagate_outlet_labels(&to_lakes, &mut ends, 0);
    for (sill, lake) in outs.iter_mut().flatten() {
        *lake = directions.next(*sill as usize).map_or(0, |n| ends[n]);
    }
    outs
}
