//! The cells next to a line that determine the drawn ground under it.
//!
//! A renderer interpolates the ground between cell centres. A channel one cell wide is then a narrow groove, and a
//! smooth line leaves it wherever it deviates from the cell centres; half of the line would be below the groove's
//! walls. All cells that determine the drawn ground under a line therefore belong to the river, and none of them is
//! higher than the line where it last passes them.

use std::collections::BTreeMap;
use thalweg_core::Cell;

use crate::Site;
use crate::network::{Mouth, Network, River, RunSource};
use crate::rendered_ground::Stencil;
use crate::tree::neighbour_cells;

/// Interpolation weight below which a cell is left unchanged.
// With a larger weight fewer cells would be lowered, and more of a line would be hidden by the ground.
const LIGHT: f64 = 0.01;

/// Sampling step along a line, and sampling offset across it, in cells. The offset is a share of the half-width, with
/// an upper limit.
const SAMPLING_STEP_CELLS: f64 = 0.25;
const SAMPLING_OFFSET: [f64; 2] = [0.8, 0.5];

/// Number of vertices for which a line may leave a cell and return to it.
const MAX_AWAY_VERTICES: u32 = 2;

/// Gives runs the free cells next to their lines, and each cell the last vertex that is next to it. If two rivers
/// compete for a cell, the one downstream takes precedence. Shores of other lakes, and cells that would let a lake
/// spill, are left out.
pub(super) fn claim_adjacent_cells(site: &Site<'_>, network: &mut Network) {
    let mut taken = vec![false; network.lake.len()];
    for (k, _) in network.rivers.iter().flat_map(River::cells_with_vertices) {
        taken[k] = true;
    }
    // The order is reversed: rivers downstream come first and take precedence.
    for number in network.order.clone().into_iter().rev().map(|river| river as usize) {
        let river = &network.rivers[number];
        let wet = |k: usize| network.lake[k] > 0 || site.is_sea(k) || site.is_void(k);
        let own_lake = |lake: u32| river.source == RunSource::Lake(lake - 1) || river.mouth == Mouth::Lake(lake - 1);
        let may = |k: usize| {
            let is_unaffected = |n: usize| {
                let lake = network.lake[n];
                let low = river.base.is_some_and(|base| !taken[n] && !wet(n) && site.land.ground[n] < base);
                !low && (lake == 0 || own_lake(lake))
            };
            !taken[k] && !wet(k) && !site.is_barred(k) && neighbour_cells(network.size, k).all(is_unaffected)
        };
        let mut last: BTreeMap<u32, u32> =
            river.cells_with_vertices().map(|(k, vertex)| (k as u32, vertex as u32)).collect();
        let mut found = Vec::new();
        visit_adjacent_cells(river, network.size, network.cell, |k, vertex| match last.get_mut(&(k as u32)) {
            // The level is that of the last vertex next to the cell. A line that only comes back later, for example in
            // a meander, does not lower the cell.
            Some(known) if *known < vertex && vertex - *known <= MAX_AWAY_VERTICES => *known = vertex,
            Some(_) => {}
            None if may(k) => {
                last.insert(k as u32, vertex);
                found.push(k as u32);
            }
            None => {}
        });
        found.iter().for_each(|k| taken[*k as usize] = true);
        assign_to_stations(&mut network.rivers[number], &last, found);
    }
}

/// Calls `visit` with each cell that determines the drawn ground under a line, and the vertex that follows.
fn visit_adjacent_cells(river: &River, size: [usize; 2], cell: f64, mut visit: impl FnMut(usize, u32)) {
    for (at, vertex) in river.vertices.iter().enumerate() {
        let before = river.vertices[at.saturating_sub(1)].place;
        let [y, x] = [vertex.place[0] - before[0], vertex.place[1] - before[1]];
        let length = (y * y + x * x).sqrt();
        let steps = (length / SAMPLING_STEP_CELLS).ceil().max(1.0);
        let across = (SAMPLING_OFFSET[0] * vertex.width / 2.0 / cell).min(SAMPLING_OFFSET[1]) / length.max(1e-9);
        for step in 1..=steps as usize {
            let t = step as f64 / steps;
            // Points on both sides of the line count too, so that the ground does not hide the water's edges.
            for side in [0.0, across, -across] {
                let place = Cell::new(before.row + t * y - side * x, before.col + t * x + side * y);
                Stencil::from_point(size, place).cells_heavier_than(LIGHT).for_each(|k| visit(k, at as u32));
            }
        }
    }
}

/// Assigns the found cells to a run, each to the first station that is low enough.
fn assign_to_stations(river: &mut River, last: &BTreeMap<u32, u32>, found: Vec<u32>) {
    let mut low: Vec<u32> = (0..river.vertices.len() as u32).collect();
    let mut lowest = 0;
    let mut stations = Vec::new();
    for station in river.group_into_stations() {
        let vertices = station.cells.iter().filter_map(|k| last.get(k)).copied();
        lowest = vertices.fold(lowest.max(station.last as u32), u32::max);
        low[station.first..=station.last].fill(lowest);
        if !station.cells.is_empty() {
            stations.push((station.last as u32, lowest));
        }
    }
    for k in found {
        let first = stations.partition_point(|(_, low)| *low < last[&k]);
        if let Some((vertex, _)) = stations.get(first).or(stations.last()) {
            river.aside.push((k, *vertex));
        }
    }
    river.aside.sort_unstable_by_key(|(k, vertex)| (*vertex, *k));
    river.low = low;
}
