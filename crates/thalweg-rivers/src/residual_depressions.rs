//! Depressions that remain after carving, on river banks and elsewhere: drained by channels, or turned into lakes.

use crate::network::{Mouth, Network, PlannedLake};
use crate::tree::neighbour_cells;
use crate::{Design, Site, water_levels};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Field, Height};
use thalweg_flow::breach::{Search, square_reach};
use thalweg_flow::{CellRole, Land, fill, tie_break_hash};

/// Cells that hold back water, sorted by cell, and the level up to which they do.
pub(super) type Rims = [(u32, Height)];

/// Returns the cells that channels cut, and their new elevation, so that the land's depressions drain to lower
/// ground, to rivers, lakes, the sea or the edge.
///
/// A depression that is deep enough for a lake is drained only within the design's breaching limits; a shallower one
/// at any channel length. Of all paths, the one that removes the least ground is taken (as in `flow::breach`), but
/// never through cells that hold back the water of a lake or a river, nor through protected ground. A channel is
/// flat, as low as the cell that it drains.
pub(super) fn cut_drainage_channels(
    site: &Site<'_>,
    design: &Design,
    network: &Network,
    rims: &Rims,
    ground: &Field<Height>,
) -> Vec<(u32, Height)> {
    let outlets = collect_outlets(site, network);
    let land = Land { ground, outlets: &outlets, ..site.land };
    let roles = land.cell_roles();
    let pits = find_pits(&land, &roles);
    if pits.is_empty() {
        return Vec::new();
    }
    let filled = fill::fill_depressions(&land);
    let holds = |k: usize| {
        if network.lake[k] > 0 || site.is_barred(k) { Height(i32::MAX) } else { water_levels::find_rim_level(rims, k) }
    };
    let mut search = Search::new(&land);
    search.floors = Some(&holds);
    // The search compares squared distances in cells.
    let near = square_reach(design.breach.length / site.land.grid.cell);
    // Depressions deep enough for a lake are only drained within the limits; shallow ones at any length.
    for pit in pits {
        let height = ground[pit as usize];
        let hollow = f64::from(filled[pit as usize].0) - f64::from(height.0);
        (search.depth, search.reach) = match hollow >= min_lake_depth(design) {
            true => (design.breach.depth * UNITS, near),
            false => ((design.breach.depth * UNITS).max(min_lake_depth(design)), f64::INFINITY),
        };
        if let Some(end) = search.find_breach_path_end(pit, height) {
            search.carve_channel(end, height);
        }
    }
    // Only the differences are returned. The caller applies them together with the changes of the rivers' levels.
    let pairs = search.ground.as_slice().iter().zip(ground.as_slice()).enumerate();
    pairs.filter(|(_, (cut, ground))| cut < ground).map(|(k, (cut, _))| (k as u32, *cut)).collect()
}

/// Returns the depth from which on a depression is a lake, in units.
fn min_lake_depth(design: &Design) -> f64 {
    (design.lake * UNITS).max(1.0)
}

/// Turns the remaining depressions away from rivers into lakes: deep ones, and shallow ones that could only be
/// drained through cells that hold back other water. Shallow ones in protected ground stay as they are.
pub(super) fn convert_ponds_to_lakes(
    site: &Site<'_>,
    design: &Design,
    network: &mut Network,
    numbers: &Field<u32>,
    ground: &Field<Height>,
) {
    let outlets = collect_outlets(site, network);
    let filled = fill::fill_depressions(&Land { ground, outlets: &outlets, ..site.land });
    let (filled, ground) = (filled.as_slice(), ground.as_slice());
    let mut is_visited = vec![false; ground.len()];
    for k in 0..ground.len() {
        let wet = |k: usize| filled[k] > ground[k] && !site.is_void(k);
        if is_visited[k] || !wet(k) {
            continue;
        }
        let mut cells = vec![k];
        is_visited[k] = true;
        let mut next = 0;
        while let Some(at) = cells.get(next).copied() {
            next += 1;
            for n in neighbour_cells(network.size, at) {
                if !is_visited[n] && wet(n) && filled[n] == filled[k] {
                    is_visited[n] = true;
                    cells.push(n);
                }
            }
        }
        let seed =
            cells.iter().copied().min_by_key(|k| (ground[*k], tie_break_hash(site.land.grid, *k), *k)).unwrap_or(k);
        let deep = f64::from(filled[seed].0) - f64::from(ground[seed].0) >= min_lake_depth(design);
        // A depression that contains river or lake cells is left to the levels of that water.
        if (deep || !site.is_barred(seed)) && cells.iter().all(|k| numbers[*k] == 0 && network.lake[*k] == 0) {
            network.lakes.push(PlannedLake { level: filled[seed], seed: seed as u32 });
            let number = network.lakes.len() as u32;
            cells.into_iter().for_each(|k| network.lake[k] = number);
        }
    }
}

/// Returns the cells where water leaves the land surface: lakes, the land's own outlets, and the last cells of rivers
/// that end at an outlet.
fn collect_outlets(site: &Site<'_>, network: &Network) -> Vec<Cell> {
    let cols = network.size[1];
    let lakes = network.lake.as_slice().iter().enumerate().filter(|(_, lake)| **lake > 0).map(|(k, _)| k);
    let ends = network.rivers.iter().filter(|river| river.mouth == Mouth::Outlet);
    let ends = ends.filter_map(|river| river.path.last()).map(|(k, _)| *k as usize);
    let cells = lakes.chain(ends).map(|k| Cell::new(k / cols, k % cols));
    site.land.outlets.iter().copied().chain(cells).collect()
}

/// Returns one cell of each pit or flat without an outlet, lowest first.
fn find_pits(land: &Land<'_>, roles: &Field<CellRole>) -> Vec<u32> {
    let (heights, roles) = (land.ground.as_slice(), roles.as_slice());
    let size = land.grid.size;
    let lower = |k: usize| neighbour_cells(size, k).any(|n| heights[n] < heights[k] && roles[n] != CellRole::Void);
    let mut is_visited = vec![false; heights.len()];
    let mut flat = Vec::new();
    let mut pits = Vec::new();
    for k in 0..heights.len() {
        if is_visited[k] || roles[k] != CellRole::Inside || lower(k) {
            continue;
        }
        flat.clear();
        flat.push(k);
        is_visited[k] = true;
        // Flood the flat, and find out whether water leaves it anywhere.
        let (mut next, mut leaves) = (0, false);
        while let Some(at) = flat.get(next).copied() {
            next += 1;
            leaves = leaves || roles[at] != CellRole::Inside || lower(at);
            for n in neighbour_cells(size, at) {
                if !is_visited[n] && heights[n] == heights[k] && roles[n] != CellRole::Void {
                    is_visited[n] = true;
                    flat.push(n);
                }
            }
        }
        if !leaves {
            pits.push(k as u32);
        }
    }
    // Higher pits can then lead into the channels of lower ones, as in `breach_depressions`.
    pits.sort_by_cached_key(|k| (heights[*k as usize], tie_break_hash(land.grid, *k as usize), *k));
    pits
}
