//! Finds the lakes of the coarsest level.

use std::collections::{BTreeSet, VecDeque};

use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Field, Height};
use thalweg_flow::{Neighbourhood, find_receiver};

/// A depression of level 0 is a lake only if the water would be at least this deep at its deepest point, in metres;
/// others are filled.
pub const MIN_LAKE_DEPTH_M: f64 = 2.0;

/// A depression of level 0 is a lake only if, in addition, at least this many cells drain out of it. This is the
/// largest threshold that [`crate::Rules::river`] allows, so that a river leaves every lake.
pub const LAKE_CATCHMENT: u32 = 48;

/// A lake of level 0, before the filled surface is tilted.
pub(super) struct UntiltedLake {
    /// Its level: that of the filled terrain.
    pub level: i32,
    /// The land cell to which it drains.
    pub outlet: usize,
}

/// Finds the lakes of level 0. Returns the number of each cell's lake (0 for none), and the lakes, beginning with
/// number 1. All of a lake's water leaves by one outlet: if the lake has several sills of the same height,
/// `directions` are changed.
pub(super) fn find_lakes(
    ground: &Field<Height>,
    filled: &Field<Height>,
    directions: &mut Field<u8>,
    cells: &Field<u32>,
) -> (Field<u32>, Vec<UntiltedLake>) {
    let size = ground.size();
    let (filled, counts) = (filled.as_slice(), cells.as_slice());
    let is_wet = |k: usize| filled[k] > ground.as_slice()[k];
    let (mut id, mut is_visited) = (Field::new(size, 0u32), vec![false; filled.len()]);
    let mut found = Vec::new();
    for first in (0..filled.len()).filter(|k| is_wet(*k)) {
        if std::mem::replace(&mut is_visited[first], true) {
            continue;
        }
        // All connected cells under water form one depression.
        let mut cells = vec![first];
        let mut at = 0;
        while let Some(k) = cells.get(at).copied() {
            at += 1;
            for n in neighbour_cells(size, k).filter(|n| is_wet(*n)) {
                if !std::mem::replace(&mut is_visited[n], true) {
                    cells.push(n);
                }
            }
        }
        let deepest = cells.iter().map(|k| filled[*k].0 - ground.as_slice()[*k].0).max().unwrap_or(0);
        if f64::from(deepest) < MIN_LAKE_DEPTH_M * UNITS {
            continue;
        }
        let number = found.len() as u32 + 1;
        cells.iter().for_each(|k| id.as_mut_slice()[*k] = number);
        let inside = |k: usize| id.as_slice()[k] == number;
        // Spills: land cells to which cells of the lake drain, and from which the flow path leads away instead of
        // back into the lake.
        let next = |k: usize| find_receiver(k, directions.as_slice()[k], size[1]);
        let leads_out = |mut k: usize| loop {
            match next(k) {
                Some(next) if inside(next) => return false,
                Some(next) if filled[next] == filled[first] => k = next,
                _ => return true,
            }
        };
        let spills: BTreeSet<usize> = cells.iter().filter_map(|k| next(*k)).filter(|k| !inside(*k)).collect();
        // Among several spills the one with the most upstream cells is the outlet, and of equal ones the first in
        // row-major order.
        let main = spills.iter().copied().filter(|k| leads_out(*k)).max_by_key(|k| (counts[*k], usize::MAX - k));
        let leaves = |k: &&usize| next(**k).is_some_and(|next| !inside(next));
        let catchment: u64 = cells.iter().filter(leaves).map(|k| u64::from(counts[*k])).sum();
        // With too little drainage area, or no spill that leads out, the depression is filled instead.
        let Some(outlet) = main.filter(|_| catchment >= LAKE_CATCHMENT.into()) else {
            cells.iter().for_each(|k| id.as_mut_slice()[*k] = 0);
            continue;
        };
        // Let only one cell drain to the outlet: a small arm next to it would not be a river farther down.
        let exits = cells.iter().copied().filter(|k| next(*k) == Some(outlet));
        let alone = |exit: &usize| !cells.iter().any(|k| k != exit && next(*k).is_some_and(|next| !inside(next)));
        if let Some(exit) = exits.max_by_key(|k| (counts[*k], usize::MAX - k)).filter(|exit| !alone(exit)) {
            redirect_to_exit(exit, size, &mut |k| inside(k), directions);
        }
        found.push(UntiltedLake { level: filled[first].0, outlet });
    }
    (id, found)
}

/// Redirects a lake's cells to one of them, by the fewest steps.
fn redirect_to_exit(exit: usize, size: [usize; 2], inside: &mut dyn FnMut(usize) -> bool, directions: &mut Field<u8>) {
    let cols = size[1];
    let mut visited_cells = BTreeSet::from([exit]);
    // A breadth-first search from the exit gives every cell a path of the fewest steps.
    let mut queue = VecDeque::from([exit]);
    while let Some(k) = queue.pop_front() {
        for (direction, Cell { row: i, col: j }) in Neighbourhood::new(size, [k / cols, k % cols]) {
            let n = i * cols + j;
            if inside(n) && visited_cells.insert(n) {
                directions.as_mut_slice()[n] = direction.opposite().code();
                queue.push_back(n);
            }
        }
    }
}

/// Returns pairs of a cell and a lake's number, for the cells of the flow path out of that lake that are as high as
/// the lake: they may touch the lake without being raised above it.
pub(super) fn find_outflow_cells(
    found: &[UntiltedLake],
    filled: &Field<Height>,
    directions: &Field<u8>,
) -> BTreeSet<(usize, u32)> {
    let mut outflow_cells = BTreeSet::new();
    for (lake, number) in found.iter().zip(1..) {
        let mut at = Some(lake.outlet);
        while let Some(k) = at.filter(|k| filled.as_slice()[*k].0 >= lake.level) {
            outflow_cells.insert((k, number));
            at = find_receiver(k, directions.as_slice()[k], filled.cols());
        }
    }
    outflow_cells
}

/// Returns the neighbours of a cell.
pub(super) fn neighbour_cells(size: [usize; 2], k: usize) -> impl Iterator<Item = usize> {
    Neighbourhood::new(size, [k / size[1], k % size[1]]).map(move |(_, Cell { row: i, col: j })| i * size[1] + j)
}
