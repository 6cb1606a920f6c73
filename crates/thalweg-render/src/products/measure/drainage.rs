//! [`MeasuredDrainage`]: the drainage of the filled terrain, and the pits that filling removes.

use crate::products::measure::ground::MeasuredLand;
use crate::products::measure::spec::{Measures, Spec, measures, need_land};
use thalweg_core::terrain::POOL;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Field};
use thalweg_flow::{CellRole, D8, Directions, FlowGraph, Land, PIT, d8, outlets};

pub(super) const SPECS: [Spec; 6] = measures! {
    /// Running water fills or breaches pits. Elevation models have some that are caused by noise, trees and bridges.
    pits: "pits per area", Drainage, unit "1/km²", usual 0.0 to 3.0, source "Lindsay & Creed 2005";
    /// It is below 5 %, except in karst, in dunes and in land that ice has left recently.
    pit_cells: "land raised by filling", Drainage, unit "%", usual 0.0 to 5.0, source "Lindsay & Creed 2005";
    /// It is some centimetres in land that rivers shape.
    pit_volume: "fill volume per land area", Drainage, unit "m", usual 0.0 to 0.5, source "Lindsay & Creed 2005";
    /// Depths of a few metres are survey errors. Depths of tens of metres and more are lakes, quarries, and gorges
    /// narrower than a cell.
    pit_depth: "greatest fill depth", Drainage, unit "m", source "Lindsay & Creed 2005";
    /// All real land with rivers drains to an edge, the sea or a lake. In elevation models, 5 % to 20 % does, because
    /// pits interrupt rivers.
    drained: "land that drains without filling", Drainage, unit "%", source "O'Callaghan & Mark 1984";
    /// Lakes are level, and so is land whose elevations are rounded to whole metres.
    level_cells: "level land", Drainage, unit "%", usual 0.0 to 5.0, source "Garbrecht & Martz 1997";
};

/// The drainage of the terrain, with properties of the basin above each cell.
pub(super) struct MeasuredDrainage {
    pub drainage: FlowGraph,
    /// True for cells whose basin is complete: no cell that drains through it is at an edge or next to missing data,
    /// where the land continues outside the map and the basin is cut off.
    pub whole: Vec<bool>,
    /// The length in metres of the flow path from the farthest divide.
    pub length: Vec<f64>,
}

impl MeasuredDrainage {
    pub fn new(ground: &MeasuredLand<'_>) -> Self {
        let land = Land::from_terrain(ground.terrain);
        let drainage = FlowGraph::new(&land);
        let parts = land.cell_roles();
        let mut whole = vec![true; parts.len()];
        let mut length = vec![0.0f64; whole.len()];
        // Cells come before those that they drain to, so each is complete when it is passed on.
        for &k in drainage.upstream_order() {
            let k = k as usize;
            if let Some(n) = drainage.next(k) {
                let step = step_length(drainage.directions()[k]);
                length[n] = length[n].max(length[k] + step * ground.cell_size());
                whole[n] &= whole[k] && parts[k] != CellRole::Rim;
            }
        }
        Self { drainage, whole, length }
    }

    /// Takes the measures of drainage. `level` is the result of [`level_cells`].
    pub fn report_drainage(&self, ground: &MeasuredLand<'_>, level: u64, all: &mut Measures) {
        if let Err(missing) = need_land(ground.count) {
            return all.mark_missing(&SPECS, missing);
        }
        let raw = d8::route_d8(&Land::from_terrain(ground.terrain));
        let count = ground.count as f64;
        // The volume is summed in integers, so that it does not depend on the order of cells.
        let (mut under, mut volume, mut deepest) = (0u64, 0i128, 0i64);
        for cell in ground.land_cells() {
            let depth = i64::from(self.drainage.filled_surface()[cell].0) - i64::from(ground.terrain.ground[cell].0);
            under += u64::from(depth > 0);
            volume += i128::from(depth);
            deepest = deepest.max(depth);
        }
        let share = |n: u64| Ok(100.0 * n as f64 / count);
        all.add_values(
            &SPECS,
            [
                Ok(count_pits(ground, &raw) as f64 / ground.area_km2()),
                share(under),
                Ok(volume as f64 / UNITS / count),
                Ok(deepest as f64 / UNITS),
                share(count_drained_cells(ground)),
                share(level),
            ],
        );
    }
}

/// Takes the measures that do not need the drainage of the whole map, and marks the others as missing.
pub(super) fn report_local(count: usize, level: u64, missing: &'static str, all: &mut Measures) {
    let level = need_land(count).map(|()| 100.0 * level as f64 / count as f64);
    all.add_values(&SPECS, [Err(missing), Err(missing), Err(missing), Err(missing), Err(missing), level]);
}

/// Counts the land cells without any slope.
pub(super) fn level_cells(ground: &MeasuredLand<'_>) -> u64 {
    ground.land_cells().filter(|cell| is_level(ground, cell.row, cell.col)).count() as u64
}

/// Returns the length of a step in a direction, in cells.
pub(super) fn step_length(direction: u8) -> f64 {
    D8::DISTANCES[usize::from(direction % 2)]
}

/// Counts the pits, the depressions without an outlet; touching cells of a level bottom count once.
fn count_pits(ground: &MeasuredLand<'_>, raw: &Directions) -> u64 {
    let land = Land::from_terrain(ground.terrain);
    let cols = raw.cols();
    let mut open: Vec<bool> = raw.as_slice().iter().map(|d| *d == PIT).collect();
    let mut pits = 0;
    // The flood fill removes all touching cells of a pit from the list, so that each pit counts once.
    let mut rest = Vec::new();
    for k in 0..open.len() {
        if std::mem::take(&mut open[k]) {
            pits += 1;
            rest.push(k);
        }
        while let Some(k) = rest.pop() {
            for (_, Cell { row: r, col: c }) in land.neighbours(k / cols, k % cols) {
                if std::mem::take(&mut open[r * cols + c]) {
                    rest.push(r * cols + c);
                }
            }
        }
    }
    pits
}

/// Counts the land cells that drain without filling; standing water in the layer of pools counts as a lake.
fn count_drained_cells(ground: &MeasuredLand<'_>) -> u64 {
    let lakes = match ground.terrain.height_layer(&POOL) {
        Some(pools) => pools.map(|depth| depth.0 > 0),
        None => Field::new(ground.land.size(), false),
    };
    let drains = outlets::find_draining_cells(&Land::from_terrain(ground.terrain), &lakes);
    drains.as_slice().iter().zip(ground.land.as_slice()).filter(|(drains, land)| **drains && **land).count() as u64
}

/// Returns true if all neighbours of cell (i, j) with data have its elevation.
fn is_level(ground: &MeasuredLand<'_>, i: usize, j: usize) -> bool {
    let heights = &ground.terrain.ground;
    let land = Land::from_terrain(ground.terrain);
    land.neighbours(i, j)
        .all(|(_, Cell { row: r, col: c })| heights[(r, c)] == heights[(i, j)] || ground.terrain.is_nodata(r, c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::products::measure::testing::terrain_from_formula;
    use crate::products::measure::{MeasureOptions, measure_terrain};
    use thalweg_core::Height;
    use thalweg_core::base::rng::RandomKey;
    use thalweg_flow::{OUT, find_receiver};

    #[test]
    fn pits_by_hand() {
        // A plane that falls westward by 1 m per cell of 10 m, with three depressions: one cell 5 m below its lowest
        // neighbour, two level cells 3 m below theirs, and one cell 0.5 m below.
        let mut ground = terrain_from_formula([20, 20], 10.0, |x, _| 0.1 * x + 100.0);
        ground.ground[(5, 5)] = Height::from_metres_clamped(99.0);
        ground.ground[(10, 10)] = Height::from_metres_clamped(106.0);
        ground.ground[(10, 11)] = Height::from_metres_clamped(106.0);
        ground.ground[(15, 15)] = Height::from_metres_clamped(113.5);
        let found = measure_terrain(&ground, &MeasureOptions::default()).unwrap();
        assert_eq!(found.value("pits").unwrap(), 3.0 / 0.04);
        assert_eq!(found.value("pit_cells").unwrap(), 1.0);
        assert_eq!(found.value("pit_depth").unwrap(), 5.0);
        assert_eq!(found.value("pit_volume").unwrap(), (5.0 + 3.0 + 3.0 + 0.5) / 400.0);
        assert_eq!(found.value("level_cells").unwrap(), 0.0);
    }

    #[test]
    fn ways_out_and_lengths_equal_a_walk_from_every_cell() {
        for seed in 0..20 {
            let key = RandomKey::new(seed, "walk");
            let mut ground = terrain_from_formula([15, 18], 10.0, |x, y| {
                (key.for_cell([x as i64, y as i64]).uniform_unit() * 8.0).floor() + 0.05 * x
            });
            ground.nodata = Some(Field::from_fn([15, 18], |i, j| {
                key.derive_key(1).for_cell([i as i64, j as i64]).uniform_unit() < 0.04
            }));
            let of = MeasuredLand::new(&ground);
            let catchments = MeasuredDrainage::new(&of);
            let drainage = &catchments.drainage;
            let raw = d8::route_d8(&Land::from_terrain(&ground));
            let (mut out, mut longest) = (0, vec![0.0f64; 270]);
            for k in (0..270).filter(|k| of.land[*k]) {
                let mut at = k;
                while let Some(next) = find_receiver(at, raw[at], 18) {
                    at = next;
                }
                out += u64::from(raw[at] == OUT);
                let (mut at, mut length) = (k, 0.0);
                while let Some(next) = drainage.next(at) {
                    length += step_length(drainage.directions()[at]) * 10.0;
                    at = next;
                    longest[at] = longest[at].max(length);
                }
            }
            assert_eq!(count_drained_cells(&of), out, "{seed}");
            // Both are sums of the same steps in the same order.
            assert_eq!(catchments.length, longest, "{seed}");
        }
    }
}
