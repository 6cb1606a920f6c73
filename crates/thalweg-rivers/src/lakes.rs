//! Determines which depressions hold lakes, their water levels, and where rivers enter and leave them.

use std::collections::BTreeMap;

use crate::network::{Mouth, Network, PlannedLake};
use crate::route::PlanningDrainage;
use crate::tree::{NONE, RiverTree, Stem, neighbour_cells};
use crate::{Design, Site, water_levels};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Field, Height};
use thalweg_flow::{fill, tie_break_hash};

/// Number of iterations in which levels are lowered until no lake leaks. A lake that still leaks after that is given
/// up.
const MAX_ITERATIONS: usize = 8;

/// The lakes, and the parts of stems that are inside them.
pub(super) struct PlannedLakes {
    pub lakes: Vec<PlannedLake>,
    /// For each cell, the number of its lake, from 1 on; 0 where there is none.
    pub cells: Field<u32>,
    /// For each stem, its parts inside lakes. The node that a stem joins counts as its last node.
    pub parts: Vec<Vec<LakePassage>>,
    /// For each node, the number of the lake that it is in, from 1 on; 0 if it is in none.
    pub within: Vec<u32>,
}

/// A part of a stem inside a lake: the indices of its first and last node, and the lake's number.
#[derive(Clone, Copy)]
pub(super) struct LakePassage {
    pub first: usize,
    pub last: usize,
    pub lake: u32,
}

/// Upper limits of lake levels, keyed by the lakes' seeds.
pub(super) type Caps = BTreeMap<u32, Height>;

/// Finds the lakes along a planned river tree.
///
/// A depression of the planning surface that a river reaches is a lake if it is deep enough. Its level is the
/// depression's spill level on the planning surface, but no higher than the spill level of the actual, rougher
/// ground, and no higher than any lake that drains into it.
///
/// `caps` gives levels above which lakes (identified by their seeds) are known to leak.
pub(super) fn plan_lakes(
    site: &Site<'_>,
    design: &Design,
    drained: &PlanningDrainage,
    (tree, stems): (&RiverTree, &[Stem]),
    caps: &Caps,
) -> PlannedLakes {
    let ground = site.land.ground;
    let filled_surface = fill::fill_depressions(&site.land);
    let (mut lakes, hollow) = find_hollows(site, design, drained, tree, &filled_surface);
    for lake in &mut lakes {
        // Lakes are identified by their lowest cell, because their numbers change when other lakes disappear.
        lake.level = caps.get(&lake.seed).copied().unwrap_or(lake.level).min(lake.level);
    }
    let mut tries = 0;
    loop {
        // Lowering a lake also lowers those downstream, so levels, floods and passages are computed again in every
        // turn.
        lower_lake_levels(site, tree, &hollow, &mut lakes);
        let cells = flood_lakes(site, &mut lakes);
        let mut found =
            PlannedLakes { lakes: lakes.clone(), cells, parts: Vec::new(), within: vec![0; tree.cells.len()] };
        found.find_stem_passages(tree, stems);
        let mut leaks = false;
        for (node, lake) in found.within.iter().enumerate().filter(|(_, lake)| **lake > 0) {
            let k = tree.cells[node] as usize;
            let number = *lake as usize - 1;
            if found.cells[k] != 0 {
                continue;
            }
            // A dry cell on a river's path through a lake will be lowered, so its neighbours must hold the water. If
            // they are too low, lower the lake.
            let weak = neighbour_cells(ground.size(), k).filter(|n| found.cells[*n] == 0).map(|n| filled_surface[n]);
            if let Some(weak) = weak.min().filter(|weak| *weak < lakes[number].level) {
                // In the last turn a lake that still leaks is given up: at the lowest level it covers no cell.
                lakes[number].level = if tries + 1 < MAX_ITERATIONS { weak } else { Height::MIN };
                leaks = true;
            }
        }
        if !leaks || tries == MAX_ITERATIONS {
            found.add_path_cells(site, tree);
            return found;
        }
        tries += 1;
    }
}

/// Finds the depressions of the planning surface that contain nodes. Also returns the depression of each node.
fn find_hollows(
    site: &Site<'_>,
    design: &Design,
    drained: &PlanningDrainage,
    tree: &RiverTree,
    filled_surface: &Field<Height>,
) -> (Vec<PlannedLake>, Vec<u32>) {
    let (surface, filled) = (drained.surface.as_slice(), drained.filled.as_slice());
    let min_depth = (design.lake.min(16_000.0) * UNITS).max(1.0) as i64;
    let mut labels = Field::new(drained.surface.size(), 0u32);
    let mut hollow = vec![NONE; tree.cells.len()];
    let mut lakes = Vec::new();
    // For each label, the index of its lake; `NONE` for a depression that is too shallow.
    let mut kept = vec![NONE];
    for (node, k) in tree.cells.iter().enumerate() {
        let k = *k as usize;
        if filled[k] <= surface[k] {
            continue;
        }
        if labels[k] == 0 {
            let number = kept.len() as u32;
            // Flood the depression at its spill level, and find its lowest cell.
            let mut stack = vec![k];
            let mut seed = k;
            labels[k] = number;
            let rank = |k: usize| (surface[k], tie_break_hash(site.land.grid, k), k);
            while let Some(k) = stack.pop() {
                seed = if rank(k) < rank(seed) { k } else { seed };
                for n in neighbour_cells(drained.surface.size(), k) {
                    // All cells of a depression have the same level on the filled surface.
                    let inside = filled[n] == filled[k] && filled[n] > surface[n] && !site.is_void(n);
                    if inside && labels[n] == 0 {
                        labels[n] = number;
                        stack.push(n);
                    }
                }
            }
            let deep = i64::from(filled[k].0) - i64::from(surface[seed].0) >= min_depth;
            kept.push(if deep { lakes.len() as u32 } else { NONE });
            if deep {
                lakes.push(PlannedLake { level: filled[k].min(filled_surface[seed]), seed: seed as u32 });
            }
        }
        hollow[node] = kept[labels[k] as usize];
    }
    (lakes, hollow)
}

/// Lowers each level to the lowest of the lakes upstream. A lake that was given up, and so holds no water, lowers
/// none.
fn lower_lake_levels(site: &Site<'_>, tree: &RiverTree, hollow: &[u32], lakes: &mut [PlannedLake]) {
    // Nodes are visited after all nodes upstream, so the lowest lake above each node is known when it is visited.
    let mut arriving = vec![Height::MAX; tree.cells.len()];
    for node in tree.order.iter().map(|node| *node as usize) {
        if let Some(lake) = lakes.get_mut(hollow[node] as usize) {
            lake.level = lake.level.min(arriving[node]);
            if lake.level > site.land.ground[lake.seed as usize] {
                arriving[node] = lake.level;
            }
        }
        if let Some(below) = arriving.get(tree.down[node] as usize).copied() {
            arriving[tree.down[node] as usize] = below.min(arriving[node]);
        }
    }
}

/// Floods the lakes, lowest level first. A lake that meets another becomes part of it.
fn flood_lakes(site: &Site<'_>, lakes: &mut [PlannedLake]) -> Field<u32> {
    let mut cells = Field::new(site.land.grid.size, 0u32);
    let mut order: Vec<usize> = (0..lakes.len()).collect();
    // The lowest lake comes first, because it determines the level where two of them meet.
    order.sort_by_key(|k| (lakes[*k].level, *k));
    let mut wet = Vec::new();
    for number in order {
        let met = flood_ground(
            site,
            &mut cells,
            lakes[number].seed as usize,
            lakes[number].level,
            number as u32 + 1,
            &mut wet,
        );
        // Undo the flood, and repeat it with the number and the level of the lake that was met.
        if let Some(other) = met {
            wet.iter().for_each(|k| cells[*k] = 0);
            lakes[number].level = lakes[other as usize - 1].level;
            let _ = flood_ground(site, &mut cells, lakes[number].seed as usize, lakes[number].level, other, &mut wet);
        }
    }
    cells
}

/// Extends lakes over low ground on the banks of rivers that flow into them, where the terrain contains the lake at
/// its level. Returns the lakes for which it does not, which would spill through such a river's bank, with the
/// elevation of that bank.
pub(super) fn extend_lakes_upstream(
    site: &Site<'_>,
    network: &mut Network,
    numbers: &Field<u32>,
) -> Vec<(u32, Height)> {
    let ground = site.land.ground.as_slice();
    // The lake that each run finally reaches. A run comes after the one that it joins.
    let mut ends: Vec<Option<u32>> = Vec::with_capacity(network.rivers.len());
    for river in &network.rivers {
        ends.push(match river.mouth {
            Mouth::Lake(lake) => Some(lake),
            Mouth::Joins { river, .. } => ends[river as usize],
            _ => None,
        });
    }
    let mut low = Vec::new();
    for (number, lake) in ends.iter().enumerate().filter_map(|(number, lake)| Some((number, (*lake)?))) {
        let level = network.lakes[lake as usize].level;
        for at in 0..network.rivers[number].vertices.len() {
            let banks = water_levels::find_bank_cells(site, network, numbers, number, at);
            low.extend(banks.into_iter().flatten().filter(|k| ground[*k] < level).map(|k| (k, lake)));
        }
    }
    if low.is_empty() {
        return Vec::new();
    }
    let filled_surface = fill::fill_depressions(&site.land);
    let mut wet = Vec::new();
    for (k, lake) in low.iter().copied() {
        let level = network.lakes[lake as usize].level;
        if filled_surface[k] >= level && network.lake[k] == 0 {
            let met = flood_ground(site, &mut network.lake, k, level, lake + 1, &mut wet);
            // Cells that are another river's or another lake's water stay so. If another lake was met, the whole flood
            // is undone.
            let all = met.is_some();
            for k in wet.iter().filter(|k| all || numbers[**k] > 0) {
                network.lake[*k] = 0;
            }
        }
    }
    let dry = low.into_iter().filter(|(k, _)| network.lake[*k] == 0);
    dry.map(|(k, lake)| (lake, ground[k])).collect()
}

/// Marks the connected ground around `seed` below `level`. Stops at a lake of another number, and returns that
/// number.
fn flood_ground(
    site: &Site<'_>,
    cells: &mut Field<u32>,
    seed: usize,
    level: Height,
    number: u32,
    wet: &mut Vec<usize>,
) -> Option<u32> {
    wet.clear();
    let ground = site.land.ground.as_slice();
    let mut next = 0;
    let take = |k: usize, cells: &mut Field<u32>, wet: &mut Vec<usize>| {
        // Ground at the level itself is dry, so every lake cell has a depth of at least one unit.
        if ground[k] >= level || site.is_void(k) || site.is_sea(k) {
            return None;
        }
        match cells[k] {
            0 => {
                cells[k] = number;
                wet.push(k);
                None
            }
            other => (other != number).then_some(other),
        }
    };
    if let Some(other) = take(seed, cells, wet) {
        return Some(other);
    }
    while let Some(k) = wet.get(next).copied() {
        next += 1;
        for n in neighbour_cells(site.land.grid.size, k) {
            if let Some(other) = take(n, cells, wet) {
                return Some(other);
            }
        }
    }
    None
}

impl PlannedLakes {
    /// Finds again where stems are inside lakes. The lakes do not change.
    pub fn update_stem_passages(&mut self, tree: &RiverTree, stems: &[Stem]) {
        self.parts.clear();
        self.within = vec![0; tree.cells.len()];
        self.find_stem_passages(tree, stems);
    }

    /// Finds where stems are inside lakes.
    fn find_stem_passages(&mut self, tree: &RiverTree, stems: &[Stem]) {
        for stem in stems {
            let label = |lakes: &Self, at: usize| match stem.nodes.get(at) {
                Some(node) => lakes.cells[tree.cells[*node as usize] as usize],
                None => stem.joins.map_or(0, |node| lakes.within[node as usize]),
            };
            // A part extends from its first to its last node in the lake, including dry nodes between them.
            let labels: Vec<u32> = (0..=stem.nodes.len()).map(|at| label(self, at)).collect();
            let mut passages = Vec::new();
            let mut at = 0;
            while at < labels.len() {
                let lake = labels[at];
                let first = at;
                at += 1;
                if lake == 0 {
                    continue;
                }
                let mut last = first;
                for (k, other) in labels.iter().enumerate().skip(at) {
                    match *other {
                        0 => {}
                        other if other == lake => last = k,
                        _ => break,
                    }
                }
                passages.push(LakePassage { first, last, lake });
                for node in stem.nodes.iter().take(last + 1).skip(first) {
                    self.within[*node as usize] = lake;
                }
                at = last + 1;
            }
            self.parts.push(passages);
        }
    }

    /// Adds the dry cells on rivers' paths through a lake to it, with the adjacent ground below its level.
    fn add_path_cells(&mut self, site: &Site<'_>, tree: &RiverTree) {
        let mut wet = Vec::new();
        for (node, number) in self.within.iter().enumerate().filter(|(_, lake)| **lake > 0) {
            let k = tree.cells[node] as usize;
            if self.cells[k] == 0 {
                self.cells[k] = *number;
                let level = self.lakes[*number as usize - 1].level;
                for n in neighbour_cells(self.cells.size(), k) {
                    if self.cells[n] == 0 {
                        let _ = flood_ground(site, &mut self.cells, n, level, *number, &mut wet);
                    }
                }
            }
        }
    }
}
