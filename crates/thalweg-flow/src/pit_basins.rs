//! [`PitBasins`]: labels each cell with the pit below it, and finds the passes between the pits' basins.
//!
//! Ties between equal heights are broken by cell index: "lower" means lower, or equally high with a smaller index.
//! Flats therefore need no special treatment: a plain has one pit, and cells of a flat never form a cycle.

use multiversion::multiversion;
use rayon::prelude::*;

use crate::padded_rows::{BLOCK, HERE, NEIGHBOURS, Near, WALL, read_block, read_heights, round_up_to_blocks};
use crate::passes::{self, BasinPass, OUTSIDE_BASIN};
use crate::{CellRole, D8, Land};
use thalweg_core::{Field, Height, Topology};

/// Number of cells per band, which is the work of one task: small enough for a core's own cache.
const BAND: usize = 1 << 17;

/// The label of cells that are not labelled yet.
const UNSET: u32 = u32::MAX;

/// The basins of a land's pits, and the mapping from cell labels to basins.
///
/// Bands of rows are labelled in parallel. Each band numbers its own roots: 0 is the outside, followed by its pits
/// and the cells from which water flows into another band.
pub(super) struct PitBasins {
    /// The number of basins, including the outside, which is basin 0.
    pub count: usize,
    /// The number of cells per band (the last one may have fewer).
    pub band_len: usize,
    /// For each band, the index of its first root in `ids`.
    pub starts: Vec<usize>,
    /// The basin of each root of each band.
    ids: Vec<u32>,
}

/// Returns the label stored in a cell.
#[inline(always)]
pub(super) fn decode_label(cell: Height) -> u32 {
    cell.0 as u32
}

/// Returns a cell that stores a label.
#[inline(always)]
fn encode_label(label: u32) -> Height {
    Height(label as i32)
}

impl PitBasins {
    /// Labels all cells, in `labels`, and finds the passes between basins.
    pub(super) fn from_land(
        land: &Land<'_>,
        roles: &Field<CellRole>,
        labels: &mut [Height],
    ) -> (Self, Vec<Vec<BasinPass>>) {
        let (cols, topology) = (land.grid.cols(), land.grid.topology());
        // A band has whole rows, at least eight, because every border between bands adds roots.
        let band_len = (BAND / cols.max(1)).max(8) * cols.max(1);
        let mut masks = vec![0u8; labels.len()];
        let bands = labels.par_chunks_mut(band_len).zip(masks.par_chunks_mut(band_len)).enumerate();
        let roots: Vec<Vec<u32>> = bands
            .map(|(band, (labels, masks))| {
                let start = band * band_len;
                lower_neighbours(land, roles, start / cols, masks);
                label_band(topology, start, &roles.as_slice()[start..start + labels.len()], masks, labels)
            })
            .collect();
        // The index of each band's first root in the list of all roots.
        let starts: Vec<usize> = roots
            .iter()
            .scan(0, |sum, roots| {
                let start = *sum;
                *sum += roots.len();
                Some(start)
            })
            .collect();
        // A pit points to itself, and a cell at a band's border points to the root of its receiver in the other band.
        let mut ids = Vec::with_capacity(roots.iter().map(Vec::len).sum());
        for roots in &roots {
            ids.push(OUTSIDE_BASIN);
            ids.extend(roots[1..].iter().map(|target| {
                let target = *target as usize;
                match decode_label(labels[target]) {
                    0 => OUTSIDE_BASIN,
                    root => (starts[target / band_len] as u32) + root,
                }
            }));
        }
        drop(roots);
        let count = passes::contract_pointers(&mut ids);
        let basins = Self { count, band_len, starts, ids };
        let passes = masks.par_chunks(band_len).enumerate();
        let passes = passes.map(|(band, masks)| basins.find_passes(land, labels, band, masks)).collect();
        (basins, passes)
    }

    /// Returns the basin of cell `k`.
    pub(super) fn find_basin(&self, labels: &[Height], k: usize) -> u32 {
        self.ids[self.starts[k / self.band_len] + decode_label(labels[k]) as usize]
    }

    /// Maps values of basins to the roots of all bands.
    pub(super) fn values_by_root(&self, values: &[i32]) -> Vec<i32> {
        self.ids.iter().map(|id| values[*id as usize]).collect()
    }

    /// Finds the passes among the cells of a band.
    ///
    /// When uniformly rising water reaches a cell, it joins the basins of the cell's lower neighbours. Neighbours
    /// that touch each other are already joined. A pass is therefore a cell whose lower neighbours are not all
    /// connected, or one where water leaves the land.
    fn find_passes(&self, land: &Land<'_>, labels: &[Height], band: usize, masks: &[u8]) -> Vec<BasinPass> {
        let topology = land.grid.topology();
        let start = band * self.band_len;
        let ground = &land.ground.as_slice()[start..];
        let ids = &self.ids[self.starts[band]..];
        let inside = start..start + masks.len();
        let basin = |k: usize| {
            let ids = if inside.contains(&k) { ids } else { &self.ids[self.starts[k / self.band_len]..] };
            ids[decode_label(labels[k]) as usize]
        };
        let mut passes = Vec::new();
        for (x, (mask, cell)) in masks.iter().zip(&labels[start..]).enumerate() {
            let apart = SEPARATE_NEIGHBOURS[usize::from(*mask)];
            // x & (x − 1) is 0 if x has at most one bit. One group of lower neighbours connects nothing, unless the
            // cell belongs to the outside (label 0): then it may connect the group with the outside.
            if apart & apart.wrapping_sub(1) == 0 && (decode_label(*cell) != 0 || apart == 0) {
                continue;
            }
            let here = basin(start + x);
            let mut rest = apart;
            while rest != 0 {
                let there = basin(topology.offset_index(start + x, D8::OFFSETS[rest.trailing_zeros() as usize]));
                if there != here {
                    passes.push(BasinPass { ends: [here, there], level: ground[x].0 });
                }
                rest &= rest - 1;
            }
        }
        passes
    }
}

/// Computes which neighbours of each cell are lower, from row `row` on: bit k for neighbour k. No bits are set where
/// there is no data.
fn lower_neighbours(land: &Land<'_>, roles: &Field<CellRole>, row: usize, masks: &mut [u8]) {
    let (cols, topology) = (land.grid.cols(), land.grid.topology());
    let mut near = Near::new(topology, WALL);
    let mut lower = vec![0; round_up_to_blocks(cols)];
    for (r, masks) in masks.chunks_mut(cols).enumerate() {
        let i = row + r;
        near.advance_to_row(i, r == 0, |i, row| read_heights(land.ground, roles, i, row));
        mark_lower_neighbours(&near.rows, &mut lower);
        if topology.is_looped() {
            compare_across(topology, &near, i, &mut lower);
        }
        for ((mask, lower), part) in masks.iter_mut().zip(&lower).zip(roles.row(i)) {
            *mask = if *part == CellRole::Void { 0 } else { *lower };
        }
    }
}

/// Sets bit k if neighbour k is lower, or equally high with a smaller index; the latter applies to the neighbours
/// from the west to the north-east.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn mark_lower_neighbours(near: &[Vec<i32>; 3], lower: &mut [u8]) {
    for j in (0..lower.len()).step_by(BLOCK) {
        let here = read_block(near, HERE, j);
        let mut mask = [0; BLOCK];
        for k in 0..4 {
            let (later, earlier) = (read_block(near, NEIGHBOURS[k], j), read_block(near, NEIGHBOURS[k + 4], j));
            for x in 0..BLOCK {
                // Neighbours 0 to 3 have larger indices and 4 to 7 smaller ones, which decides between equal heights.
                mask[x] |= i32::from(later[x] < here[x]) << k;
                mask[x] |= i32::from(earlier[x] <= here[x]) << (k + 4);
            }
        }
        for x in 0..BLOCK {
            lower[j + x] = mask[x] as u8;
        }
    }
}

/// Compares the cells of row `i` with those across the seam. There the neighbours to the north and west have larger
/// indices, and those to the south and east have smaller ones.
fn compare_across(topology: Topology, near: &Near<i32>, i: usize, lower: &mut [u8]) {
    let [rows, cols] = topology.size;
    let mut compare = |j: usize, k: usize| {
        let [row, shift] = NEIGHBOURS[k];
        let (here, there) = (near.rows[1][j + 1], near.rows[row][j + shift]);
        // Across the seam, neighbours 4 to 7, which otherwise have smaller indices, have larger ones, and vice versa.
        let is_lower = there < here || (there == here && k < 4);
        lower[j] = lower[j] & !(1 << k) | u8::from(is_lower) << k;
    };
    if topology.looped[1] {
        compare(0, 4);
        compare(cols - 1, 0);
    }
    if topology.looped[0] && (i == 0 || i + 1 == rows) {
        let across = if i == 0 { [5, 6, 7] } else { [1, 2, 3] };
        (0..cols).for_each(|j| across.into_iter().for_each(|k| compare(j, k)));
    }
}

/// Labels the cells of a band with its roots. Returns the target of each root: a pit's own index, or that of a cell
/// in another band.
fn label_band(topology: Topology, start: usize, roles: &[CellRole], masks: &[u8], labels: &mut [Height]) -> Vec<u32> {
    let mut roots = vec![0];
    let mut path = Vec::new();
    for (cell, part) in labels.iter_mut().zip(roles) {
        *cell = encode_label(if *part == CellRole::Inside { UNSET } else { 0 });
    }
    for k in 0..labels.len() {
        if decode_label(labels[k]) != UNSET {
            continue;
        }
        let mut at = k;
        let root = loop {
            path.push(at);
            let mask = usize::from(masks[at]);
            // A cell without a lower neighbour is a pit and points to itself.
            let target = if mask == 0 { at } else { neighbour_index(topology, start, at, LOWER_NEIGHBOUR[mask]) };
            // A target north of the band wraps around to a very large index.
            let known = if target < labels.len() { decode_label(labels[target]) } else { UNSET };
            if known != UNSET {
                break known;
            }
            if target == at || target >= labels.len() {
                roots.push(start.wrapping_add(target) as u32);
                break (roots.len() - 1) as u32;
            }
            at = target;
        };
        // Every cell is labelled once, so the time is linear in the number of cells.
        for at in path.drain(..) {
            labels[at] = encode_label(root);
        }
    }
    roots
}

/// Returns the index of neighbour `k` of cell `at`. Both are relative to `start`; the result wraps if the neighbour
/// comes before it.
#[inline(always)]
fn neighbour_index(topology: Topology, start: usize, at: usize, k: usize) -> usize {
    topology.offset_index(start + at, D8::OFFSETS[k]).wrapping_sub(start)
}

/// The order in which [`LOWER_NEIGHBOUR`] prefers neighbours: first those that a scan has already passed, because they
/// are already labelled, and straight ones before diagonal ones.
const ORDER: [D8; 8] =
    [D8::West, D8::North, D8::NorthWest, D8::NorthEast, D8::East, D8::South, D8::SouthWest, D8::SouthEast];

/// A lower neighbour for each set of lower neighbours. Any choice is correct.
const LOWER_NEIGHBOUR: [usize; 256] = {
    let mut table = [0; 256];
    let mut mask = 1;
    while mask < 256 {
        let mut x = 0;
        while mask >> ORDER[x].code() & 1 == 0 {
            x += 1;
        }
        table[mask] = ORDER[x].index();
        mask += 1;
    }
    table
};

/// For each set of neighbours, one neighbour per connected group. Neighbours are connected if they are adjacent on
/// the ring, or straight and on either side of a corner. The neighbour chosen by `DOWN` is one of them.
const SEPARATE_NEIGHBOURS: [u8; 256] = {
    let mut table = [0; 256];
    let mut mask: usize = 1;
    while mask < 256 {
        let mut seen = 0;
        let mut x = 0;
        while x < 8 {
            let k = ORDER[x].code();
            if mask >> k & 1 == 1 && seen >> k & 1 == 0 {
                table[mask] |= 1 << k;
                seen |= find_connected(mask, 1 << k);
            }
            x += 1;
        }
        mask += 1;
    }
    table
};

/// Returns the neighbours in `mask` that are connected to `some` of them.
const fn find_connected(mask: usize, some: usize) -> usize {
    let mut group = some;
    loop {
        // The set is a ring of eight bits, so each shift is paired with one that wraps around. 0x55 selects the
        // straight neighbours. Bits above the eighth are removed by the mask.
        let straight = group & 0x55;
        let rotated = group << 1 | group >> 7 | group >> 1 | group << 7;
        let across = straight << 2 | straight >> 6 | straight >> 2 | straight << 6;
        let more = (group | rotated | across) & mask;
        if more == group {
            return group;
        }
        group = more;
    }
}
