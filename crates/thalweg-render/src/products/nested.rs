//! Depressions within depressions: the tree of hollows under each lake, with where each spills and what it holds.
//!
//! As water rises everywhere it reaches cells in the order of their heights, equals row by row. A cell without a lower one beside it
//! begins a hollow. Where a cell joins several, each of them spills there, and they go on as one, which begins at that sill. What begins
//! and ends at one height is flat ground, no hollow. So the tree is one of the ground alone: it asks neither for directions nor for the
//! order of work.

use rayon::prelude::*;

use thalweg_core::{Cell, Error, Field, Height, Result};
use thalweg_flow::basins::spread;
use thalweg_flow::{Directions, Land, OUT};

/// A depression of a filled land's tree (Barnes, Callaghan & Wickert 2020, doi:10.5194/esurf-8-431-2020).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NestedDepression {
    /// The place of the cell at which it begins, row by row from 1: of a leaf its pit, of others the sill at which those within it spill.
    pub id: u64,
    /// The `id` of the one that it becomes part of by spilling; `None` where it is a whole lake.
    pub parent: Option<u64>,
    /// The lake under which it lies: its number among [`outline_lakes`](crate::products::lakes::outline_lakes).
    pub lake: u32,
    /// Row and column of its lowest cell, of several the first row by row.
    pub pit: Cell,
    /// Height of that cell.
    pub floor: Height,
    /// Row and column of the cell over which it spills: the sill. A lake's is the cell of its level from which its water falls on, of
    /// several the first row by row; `None` where it has none.
    pub spill: Option<Cell>,
    /// Height at which it spills.
    pub level: Height,
    /// The `id` of the one into which it spills, within the lake; of several the deepest. `None` where it is a whole lake.
    pub into: Option<u64>,
    /// Number of the lake to which its water comes next: its own, unless it is a whole lake; 0 if the water leaves the land without
    /// another lake on its way.
    pub into_lake: u32,
    /// Number of its cells below that level.
    pub cells: u64,
    /// What it holds up to there, in units of height × cells (1/65 536 m over one cell).
    pub volume: u128,
}

/// A hollow that water rises in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rising {
    /// Number of the depression.
    pub id: u64,
    /// Index of its lowest cell.
    pub pit: u64,
    /// Height of its lowest cell, in units of height.
    pub floor: i32,
    /// Cells below the height `at`, and the sum of their heights.
    pub cells: u64,
    /// Sum of the heights of these cells, in units of height.
    pub sum: i128,
    /// The height of the last cells that it took, and how many of that height they are.
    pub at: i32,
    /// Number of cells of the height `at`.
    pub level_cells: u64,
}

impl Rising {
    /// Begins at a cell, without cells.
    fn begin(cell: u64, height: i32) -> Self {
        Self { id: cell + 1, pit: cell, floor: height, cells: 0, sum: 0, at: height, level_cells: 0 }
    }

    /// Takes so many cells of a height that is no lower than those before.
    pub fn take(&mut self, height: i32, cells: u64) {
        self.rise(height);
        self.level_cells = self.level_cells.saturating_add(cells);
    }

    /// Counts as below `height` what is.
    pub fn rise(&mut self, height: i32) {
        if height > self.at {
            self.cells = self.cells.saturating_add(self.level_cells);
            self.sum = self.sum.saturating_add(i128::from(self.at).saturating_mul(i128::from(self.level_cells)));
            (self.at, self.level_cells) = (height, 0);
        }
    }

    /// What it holds up to `at`.
    pub fn volume(&self) -> u128 {
        let full = i128::from(self.at).saturating_mul(i128::from(self.cells));
        u128::try_from(full.saturating_sub(self.sum)).unwrap_or_default()
    }

    /// Full to `level`, in a lake: all but what it spills into.
    fn full(mut self, level: i32, lake: u32, cell: impl Fn(u64) -> Cell) -> NestedDepression {
        self.rise(level);
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

    /// As a whole lake, of this level, that spills over a sill, and on to another lake.
    pub fn whole(self, lake: u32, level: i32, out: Option<(u64, u32)>, cols: u64) -> NestedDepression {
        let place = |index| place(index, cols);
        let (spill, into_lake) = (out.map(|out| place(out.0)), out.map_or(0, |out| out.1));
        NestedDepression { spill, into_lake, ..self.full(level, lake, place) }
    }
}

/// Row and column of a cell.
fn place(index: u64, cols: u64) -> Cell {
    Cell::new((index / cols) as usize, (index % cols) as usize)
}

/// Where in the map, of so many columns, the water meets.
#[derive(Debug, Clone, Copy)]
pub struct Meeting {
    /// Index of the cell.
    pub cell: u64,
    /// Height of the cell, in units of height.
    pub height: i32,
    /// Number of the lake over the cell; 0 on dry land.
    pub lake: u32,
    /// Columns of the map.
    pub cols: u64,
}

/// Water reaches a cell and joins what is beside it. The hollows that end there are told in the order of their depths; what they become is
/// given back.
pub fn meet(at: Meeting, rising: &mut [Rising], mut told: impl FnMut(NestedDepression)) -> Rising {
    let Meeting { cell, height, lake, cols } = at;
    rising.sort_unstable_by_key(|one| (one.floor, one.pit));
    // Flat ground of this height is no hollow.
    let count = rising.partition_point(|one| one.floor < height);
    let several = count > 1;
    for (k, one) in rising[..count].iter().enumerate().filter(|_| several) {
        let into = rising[usize::from(k == 0)].id;
        let full = one.full(height, lake, |index| place(index, cols));
        told(NestedDepression { parent: Some(cell + 1), into: Some(into), spill: Some(place(cell, cols)), ..full });
    }
    let mut whole = Rising::begin(cell, height);
    for (k, one) in rising.iter_mut().enumerate() {
        one.rise(height);
        if k == 0 {
            whole = Rising { id: if several { cell + 1 } else { one.id }, ..*one };
        } else {
            whole.cells = whole.cells.saturating_add(one.cells);
            whole.sum = whole.sum.saturating_add(one.sum);
            whole.level_cells = whole.level_cells.saturating_add(one.level_cells);
        }
    }
    whole.take(height, 1);
    whole
}

/// No hollow yet.
const NONE: u32 = u32::MAX;

/// The depressions of a land that is filled: by lakes in their order, those of each in the order in which they spill, so that each stands
/// before the one that it becomes part of and a lake as a whole last. `filled` is the land's surface with its hollows filled to their
/// sills, `directions` are those of that surface.
///
/// # Errors
/// When a field is not of the land's size, or as [`Land::check`].
pub fn nested_depressions(
    land: &Land<'_>,
    filled: &Field<Height>,
    directions: &Directions,
) -> Result<Vec<NestedDepression>> {
    land.under(filled).check()?;
    land.check()?;
    if directions.size() != land.grid.size {
        let [r, c] = directions.size();
        return Err(Error::value("directions", format!("{r} × {c} cells"), "the size of the land"));
    }
    let ground = land.ground.as_slice();
    let cols = land.grid.cols();
    let is_wet = |k: usize| filled[k] > ground[k] && !land.nodata.is_some_and(|mask| mask[k]);
    let around = |k: usize| land.around(k / cols, k % cols).map(|(_, Cell { row: r, col: c })| r * cols + c);
    let lakes = lake_numbers(land, is_wet, around);
    let outs = outs(directions, filled, &lakes);

    let mut order: Vec<(i32, u32)> =
        (0..ground.len()).filter(|k| lakes[*k] != 0).map(|k| (ground[k].0, k as u32)).collect();
    order.par_sort_unstable();
    let mut number = Field::new(land.grid.size, NONE);
    let (mut hollows, mut up): (Vec<Rising>, Vec<u32>) = (Vec::new(), Vec::new());
    let (mut rows, mut beside, mut rising) = (Vec::new(), Vec::new(), Vec::new());
    for (height, k) in order.iter().map(|(height, k)| (*height, *k as usize)) {
        beside.clear();
        for n in around(k).filter(|n| number[*n] != NONE) {
            let top = top(&mut up, number[n]);
            if !beside.contains(&top) {
                beside.push(top);
            }
        }
        rising.clear();
        rising.extend(beside.iter().map(|one| hollows[*one as usize]));
        let at = Meeting { cell: k as u64, height, lake: lakes[k], cols: cols as u64 };
        let whole = meet(at, &mut rising, |row| rows.push(row));
        let here = beside.first().copied().unwrap_or(up.len() as u32);
        if beside.is_empty() {
            up.push(here);
            hollows.push(whole);
        }
        hollows[here as usize] = whole;
        beside.iter().for_each(|one| up[*one as usize] = here);
        number[k] = here;
    }
    for (one, hollow) in hollows.iter().enumerate().filter(|(one, _)| up[*one] as usize == *one) {
        let pit = hollow.pit as usize;
        debug_assert!(one < up.len());
        let lake = lakes[pit];
        rows.push(hollow.whole(lake, filled[pit].0, outs[lake as usize - 1], cols as u64));
    }
    // Of each lake all stand in their order already, and none spills as late as the lake as a whole.
    rows.par_sort_by_key(|row| (row.lake, row.level, row.spill, row.floor, row.pit));
    Ok(rows)
}

/// The root of a tree; paths are halved on the way.
pub fn top(up: &mut [u32], from: u32) -> u32 {
    let mut at = from;
    while up[at as usize] != at {
        up[at as usize] = up[up[at as usize] as usize];
        at = up[at as usize];
    }
    at
}

/// Numbers lakes by their first cells.
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

/// For each lake the sill, of several the first row by row, and the lake to which water comes from there, 0 where it leaves.
///
/// A sill is the last cell of the lake's level on a way out of it: from there on all lies lower, so that no chain of lakes returns.
fn outs(directions: &Directions, filled: &Field<Height>, lakes: &Field<u32>) -> Vec<Option<(u64, u32)>> {
    let mut ends = Field::generate(lakes.size(), |i, j| (i * lakes.cols() + j) as u32);
    let mut to_sills = directions.clone();
    for k in 0..lakes.len() {
        if directions.next(k).is_some_and(|n| filled[n] < filled[k]) {
            to_sills[k] = OUT;
        }
    }
    spread(&to_sills, &mut ends, NONE);
    drop(to_sills);
    let count = lakes.as_slice().iter().max().copied().unwrap_or(0);
    let mut outs: Vec<Option<(u64, u32)>> = vec![None; count as usize];
    for (lake, sill) in lakes.as_slice().iter().zip(ends.as_slice()).filter(|(_, sill)| **sill != NONE) {
        if let Some(lake) = lake.checked_sub(1) {
            let known = outs[lake as usize].map_or(u64::MAX, |out| out.0);
            outs[lake as usize] = Some((known.min(u64::from(*sill)), 0));
        }
    }
    let mut to_lakes = directions.clone();
    (0..lakes.len()).filter(|k| lakes[*k] != 0).for_each(|k| to_lakes[k] = OUT);
    ends.as_mut_slice().copy_from_slice(lakes.as_slice());
    spread(&to_lakes, &mut ends, 0);
    for (sill, lake) in outs.iter_mut().flatten() {
        *lake = directions.next(*sill as usize).map_or(0, |n| ends[n]);
    }
    outs
}
