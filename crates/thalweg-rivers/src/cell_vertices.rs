//! Determines which cells a line passes, and which of its vertices belong to each cell.
//!
//! A cell has one water level and one bed level: those of the lowest vertex that is next to it. The ground is
//! therefore below every vertex, both as cells and as drawn between cell centres, so that lines, rasters, ribbons and
//! ground describe one surface.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use crate::line_cells::visit_line_cells;
use crate::network::{Network, River};
use thalweg_core::{Cell, Field, Height};

/// Number of cells back along its path within which a line that returns to a cell has only cut a corner.
// A line that returns after more cells has made a loop, which is not a cut corner.
const MAX_CORNER_CELLS: usize = 8;

/// A run's cells, each with the index of the vertex whose levels it has.
pub(super) type Cells = Vec<(u32, u32)>;

/// A range of a run's vertices, from `first` to `last`, with the cells whose water is at the level of vertex `low`,
/// which may be further downstream.
pub(super) struct RiverStation {
    pub first: usize,
    pub last: usize,
    pub low: usize,
    pub cells: Vec<u32>,
}

/// A cell that a line passes.
struct PassedCell {
    cell: usize,
    /// The last vertex in the cell, if any.
    last: Option<u32>,
}

/// Returns the cells among the line's `own` that it passes, in downstream order, and the own cells off that path
/// through which it only cuts corners. A cell without a vertex has the levels of the next vertex, or of the previous
/// one if there is no next.
pub(super) fn split_path_cells(places: &[Cell<f64>], size: [usize; 2], own: impl Fn(usize) -> bool) -> [Cells; 2] {
    let clamped = |at: Cell<i64>| {
        let [i, j] = [0, 1].map(|k| (at[k].max(0) as usize).min(size[k] - 1));
        i * size[1] + j
    };
    let mut passed_cells: Vec<PassedCell> = Vec::new();
    let mut aside: Vec<(usize, usize)> = Vec::new();
    let mut enter = |path: &mut Vec<PassedCell>, cell: usize| {
        let back = path.iter().rev().take(MAX_CORNER_CELLS).position(|passed| passed.cell == cell);
        let Some(back) = back else { return path.push(PassedCell { cell, last: None }) };
        let here = path.len() - back;
        // The vertices in the cells of the detour now belong to this cell.
        let last = path[here - 1..].iter().rev().find_map(|passed| passed.last);
        aside.extend(path.drain(here..).map(|passed| (passed.cell, cell)));
        path[here - 1].last = last;
    };
    for (n, place) in places.iter().enumerate() {
        match n.checked_sub(1).map(|before| places[before]) {
            Some(before) => visit_stretch_cells(before, *place, |at, corner| {
                let at = clamped(at);
                match corner.map(clamped).filter(|corner| own(*corner)) {
                    Some(corner) if passed_cells.last().is_none_or(|passed| passed.cell != at) => {
                        enter(&mut passed_cells, corner)
                    }
                    _ => {}
                }
                enter(&mut passed_cells, at);
            }),
            None => enter(&mut passed_cells, clamped(place.map(|x| x.floor() as i64))),
        }
        if let Some(here) = passed_cells.last_mut() {
            here.last = Some(n as u32);
        }
    }
    let (mut path, mut waiting): (Cells, Vec<u32>) = Default::default();
    for passed in passed_cells {
        let owned = own(passed.cell);
        if owned {
            waiting.push(passed.cell as u32);
        }
        if let Some(last) = passed.last {
            // In a cell of other water that water's levels apply, so preceding cells keep the levels of the vertices
            // before it.
            let levels = if owned { last } else { path.last().map_or(last, |(_, before)| *before) };
            path.extend(waiting.drain(..).map(|cell| (cell, levels)));
        }
    }
    let levels = path.last().map_or(places.len() as u32 - 1, |(_, before)| *before);
    path.extend(waiting.drain(..).map(|cell| (cell, levels)));
    let mut known: HashMap<u32, u32> = path.iter().copied().collect();
    let mut adjacent: Cells = Vec::new();
    // Go through the detours in reverse: a cell that was left out in favour of another may be assigned to one that
    // was left out later.
    for (cell, by) in aside.into_iter().rev() {
        let levels = known.get(&(by as u32)).copied().filter(|_| own(cell));
        if let (Some(levels), Entry::Vacant(entry)) = (levels, known.entry(cell as u32)) {
            entry.insert(levels);
            adjacent.push((cell as u32, levels));
        }
    }
    adjacent.sort_by_key(|(cell, vertex)| (*vertex, *cell));
    [path, adjacent]
}

/// Visits cells like [`visit_line_cells`]. Where the segment passes exactly through a corner towards the north-east or
/// south-west, `visit` also receives the cell that owns the corner point, which the segment would not enter
/// otherwise.
pub(super) fn visit_stretch_cells(from: Cell<f64>, to: Cell<f64>, mut visit: impl FnMut(Cell<i64>, Option<Cell<i64>>)) {
    let mut before = from.map(|x| x.floor() as i64);
    visit_line_cells(from, to, |at| {
        // A corner point belongs to the cell to its south-east. Only diagonal steps to the north-east or south-west
        // miss that cell.
        let across = (at[0] - before[0]) * (at[1] - before[1]) < 0;
        visit(at, across.then_some(Cell::new(at.row.max(before.row), at.col.max(before.col))));
        before = at;
    });
}

/// For each cell, upper limits for the levels of its water and bed, imposed by a line that continues downstream
/// through the cell.
pub(super) type Caps = BTreeMap<u32, [Height; 2]>;

/// Finds cells of other rivers or of no river in which a line would lead upwards, and returns them with the levels of
/// water and bed before them. The sea, lakes and missing data are `open`: lines end or begin there, so the comparison
/// starts again.
pub(super) fn find_rises(
    network: &Network,
    [ground, levels]: [&Field<Height>; 2],
    open: impl Fn(usize) -> bool,
) -> Vec<(u32, [Height; 2])> {
    let [rows, cols] = network.size;
    let mut rises = Vec::new();
    for river in &network.rivers {
        let mut before: Option<[Height; 2]> = None;
        for pair in river.vertices.windows(2) {
            visit_line_cells(pair[0].place, pair[1].place, |Cell { row: i, col: j }| {
                if i < 0 || j < 0 || i >= rows as i64 || j >= cols as i64 {
                    return;
                }
                let k = i as usize * cols + j as usize;
                if open(k) {
                    before = None;
                    return;
                }
                let here = [levels[k], ground[k]];
                match before {
                    // After a rise the comparison continues with the lower level before it, so that all cells of a dam
                    // are found.
                    Some(above) if here[1] > above[1] => rises.push((k as u32, above)),
                    _ => before = Some(here),
                }
            });
        }
    }
    rises
}

impl River {
    /// Groups the run's vertices by the cells that have their levels. The last vertices may have no cells of their
    /// own.
    pub(super) fn group_into_stations(&self) -> Vec<RiverStation> {
        let mut stations: Vec<RiverStation> = Vec::new();
        let mut first = 0;
        for cells in self.path.chunk_by(|a, b| a.1 == b.1) {
            let last = cells[0].1 as usize;
            // Sampled rivers have no list of lower vertices, so each station then has its own levels.
            let low = self.low.get(last).map_or(last, |low| *low as usize);
            stations.push(RiverStation { first, last, low, cells: cells.iter().map(|(k, _)| *k).collect() });
            first = last + 1;
        }
        for (k, vertex) in &self.aside {
            let at = stations.partition_point(|station| station.last < *vertex as usize);
            stations[at].cells.push(*k);
        }
        if first < self.vertices.len() {
            let last = self.vertices.len() - 1;
            stations.push(RiverStation { first, last, low: last, cells: Vec::new() });
        }
        stations
    }

    /// Iterates over the cells that have their levels from the run's vertices, each with the index of its vertex.
    pub(super) fn cells_with_vertices(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.path.iter().chain(&self.aside).map(|(k, vertex)| (*k as usize, *vertex as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_the_levels_of_their_lowest_vertex() {
        // A line along a row, through a cell without a vertex, through a corner and back, and into a cell of other
        // water.
        let places = [[0.5, 0.5], [0.5, 1.2], [0.5, 3.5], [0.9, 3.6], [1.1, 3.7], [0.9, 3.8], [0.5, 4.5], [0.5, 5.5]]
            .map(Cell::from);
        let [path, aside] = split_path_cells(&places, [3, 6], |k| k != 5);
        assert_eq!(path, [(0, 0), (1, 1), (2, 5), (3, 5), (4, 6)]);
        assert_eq!(aside, [(9, 5)]);
        // A cell that is cut off has the levels of the last vertex, even if that vertex is itself in a cut-off cell.
        let [path, aside] =
            split_path_cells(&[[0.5, 0.5], [0.97, 1.8], [1.03, 1.3], [0.6, 0.8]].map(Cell::from), [2, 3], |_| true);
        assert_eq!((path, aside), (vec![(0, 3)], vec![(1, 3), (4, 3)]));
        // Exactly through a corner.
        let [path, _] = split_path_cells(&[[1.5, 0.5], [0.5, 1.5]].map(Cell::from), [2, 2], |_| true);
        assert_eq!(path, [(2, 0), (3, 1), (1, 1)]);
    }
}
