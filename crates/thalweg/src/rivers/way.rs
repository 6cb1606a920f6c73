//! Which cells a line passes, and which of its vertices lie in each.
//!
//! A cell has one level of water and one of its bed. They are those of the lowest vertex in it: so the ground lies under every
//! vertex, and lines, rasters, ribbons and ground tell of one surface.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::rivers::network::Run;
use crate::rivers::walk::walk;

/// How far back along its way a line may come again to a cell that it has left, having only cut a corner.
const BACK: usize = 8;

/// A run's cells, each with the vertex whose levels it has.
pub(super) type Cells = Vec<(u32, u32)>;

/// Vertices of a run, from first to last, and the cells that have the levels of the last one.
pub(super) struct Station {
    pub first: usize,
    pub last: usize,
    pub cells: Vec<u32>,
}

/// A cell on the way.
struct Passed {
    cell: usize,
    /// The last vertex in it.
    last: Option<u32>,
}

/// The cells that a line passes among those that are its `own`, downstream, and those that it passes aside of them in cutting
/// corners. A cell without a vertex has the levels of the next one, or else of the one before.
pub(super) fn lay(places: &[[f64; 2]], size: [usize; 2], own: impl Fn(usize) -> bool) -> [Cells; 2] {
    let clamped = |at: [i64; 2]| {
        let [i, j] = [0, 1].map(|k| (at[k].max(0) as usize).min(size[k] - 1));
        i * size[1] + j
    };
    let mut way: Vec<Passed> = Vec::new();
    let mut aside: Vec<(usize, usize)> = Vec::new();
    let mut enter = |way: &mut Vec<Passed>, cell: usize| {
        let back = way.iter().rev().take(BACK).position(|passed| passed.cell == cell);
        let Some(back) = back else { return way.push(Passed { cell, last: None }) };
        aside.extend(way.drain(way.len() - back..).map(|passed| (passed.cell, cell)));
    };
    for (n, place) in places.iter().enumerate() {
        match n.checked_sub(1).map(|before| places[before]) {
            Some(before) => walk(before, *place, |at| enter(&mut way, clamped(at))),
            None => enter(&mut way, clamped(place.map(|x| x.floor() as i64))),
        }
        if let Some(here) = way.last_mut() {
            here.last = Some(n as u32);
        }
    }
    let (mut path, mut waiting): (Cells, Vec<u32>) = Default::default();
    for passed in way {
        let owned = own(passed.cell);
        if owned {
            waiting.push(passed.cell as u32);
        }
        if let Some(last) = passed.last {
            // At a cell of other water the levels are that one's: what comes before keeps to those before.
            let levels = if owned { last } else { path.last().map_or(last, |(_, before)| *before) };
            path.extend(waiting.drain(..).map(|cell| (cell, levels)));
        }
    }
    let levels = path.last().map_or(places.len() as u32 - 1, |(_, before)| *before);
    path.extend(waiting.drain(..).map(|cell| (cell, levels)));
    let mut known: HashMap<u32, u32> = path.iter().copied().collect();
    let mut beside: Cells = Vec::new();
    // What a cell lies aside of may itself lie aside of a later one.
    for (cell, by) in aside.into_iter().rev() {
        let levels = known.get(&(by as u32)).copied().filter(|_| own(cell));
        if let (Some(levels), Entry::Vacant(entry)) = (levels, known.entry(cell as u32)) {
            entry.insert(levels);
            beside.push((cell as u32, levels));
        }
    }
    beside.sort_by_key(|(cell, vertex)| (*vertex, *cell));
    [path, beside]
}

impl Run {
    /// The run's vertices by the cells that have their levels; the last ones may have none of their own.
    pub(super) fn stations(&self) -> Vec<Station> {
        let mut stations: Vec<Station> = Vec::new();
        let mut first = 0;
        for cells in self.path.chunk_by(|a, b| a.1 == b.1) {
            let last = cells[0].1 as usize;
            stations.push(Station { first, last, cells: cells.iter().map(|(k, _)| *k).collect() });
            first = last + 1;
        }
        for (k, vertex) in &self.aside {
            let at = stations.partition_point(|station| station.last < *vertex as usize);
            stations[at].cells.push(*k);
        }
        if first < self.vertices.len() {
            stations.push(Station { first, last: self.vertices.len() - 1, cells: Vec::new() });
        }
        stations
    }

    /// The cells that have the levels of the run's vertices.
    pub(super) fn cells(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.path.iter().chain(&self.aside).map(|(k, vertex)| (*k as usize, *vertex as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_the_levels_of_their_lowest_vertex() {
        // Along a row, through a cell without a vertex, aside by a corner and back, and into a cell of other water.
        let places = [[0.5, 0.5], [0.5, 1.2], [0.5, 3.5], [0.9, 3.6], [1.1, 3.7], [0.9, 3.8], [0.5, 4.5], [0.5, 5.5]];
        let [path, aside] = lay(&places, [3, 6], |k| k != 5);
        assert_eq!(path, [(0, 0), (1, 1), (2, 5), (3, 5), (4, 6)]);
        assert_eq!(aside, [(9, 5)]);
    }
}
