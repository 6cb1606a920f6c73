//! Finds the cells at which rising water can flow from one basin into another.

use multiversion::multiversion;
use rayon::prelude::*;

use crate::padded_rows::{BLOCK, HERE, NEIGHBOURS, Near, WALL, read_block, read_heights, round_up_to_blocks};
use crate::{CellRole, Land, tie_break_hash};
use thalweg_core::{Cell, Field};

/// The label of a cell whose water leaves the land without passing a pit, or that has no data.
pub const OUTSIDE: u32 = u32::MAX;

/// Number of rows that one task processes.
const ROWS: usize = 32;

/// Returns a superset of the sills over which basins spill into each other or out of the land, as cell indices in the
/// order in which rising water reaches them; ties are broken by hash.
///
/// When uniformly rising water reaches a cell, it joins the basins of the lower neighbours. Neighbours that touch
/// each other are already joined, and the cell itself belongs to the basin of one of them. A cell whose lower
/// neighbours are connected, and which has no equally high neighbour in another basin, therefore joins nothing. This
/// excludes most border cells.
pub(super) fn list_sill_candidates(
    land: &Land<'_>,
    roles: &Field<CellRole>,
    leaf: &Field<u32>,
) -> impl Iterator<Item = u32> {
    let [rows, cols] = roles.size();
    // Pack the height above the index, which is below 2³². Flipping the sign bit makes the unsigned numbers sort like
    // the signed heights.
    let entry = |k: usize| (u64::from(land.ground[k].0 as u32 ^ (1 << 31)) << 32) | k as u64;
    let mut found: Vec<u64> = (0..rows.div_ceil(ROWS))
        .into_par_iter()
        .flat_map_iter(|band| {
            let mut near = Near::new(land.grid.topology(), WALL);
            let mut labels = Near::new(land.grid.topology(), OUTSIDE);
            let mut marks = vec![0; round_up_to_blocks(cols)];
            let mut found = Vec::new();
            for i in band * ROWS..(band * ROWS + ROWS).min(rows) {
                let fresh = i == band * ROWS;
                near.advance_to_row(i, fresh, |i, row| read_heights(land.ground, roles, i, row));
                labels.advance_to_row(i, fresh, |i, row| row.copy_from_slice(leaf.row(i)));
                mark_sills(&near.rows, &labels.rows, &mut marks);
                filter_marks(&mut marks, roles.row(i));
                for (block, chunk) in marks.chunks(BLOCK).enumerate().filter(|(_, chunk)| **chunk != [0; BLOCK]) {
                    let cells = (block * BLOCK..cols).zip(chunk);
                    for (j, _) in cells.filter(|(_, mark)| **mark != 0) {
                        if is_border(land, roles, leaf, [i, j]) {
                            found.push(entry(i * cols + j));
                        }
                    }
                }
            }
            found
        })
        .collect();
    // No two entries are equal, because each contains its index. The order therefore does not depend on the bands or
    // the sort.
    found.par_sort_unstable();
    // Compute hashes only for ties, and only once for each cell: a large flat has many.
    let mut hashed: Vec<(u64, u64)> = Vec::new();
    for equals in found.chunk_by_mut(|a, b| a >> 32 == b >> 32).filter(|equals| equals.len() > 1) {
        hashed.clear();
        hashed.extend(equals.iter().map(|entry| (tie_break_hash(land.grid, *entry as u32 as usize), *entry)));
        hashed.par_sort_unstable();
        for (to, (_, entry)) in equals.iter_mut().zip(&hashed) {
            *to = *entry;
        }
    }
    found.into_iter().map(|entry| entry as u32)
}

/// Returns true if water can flow over a cell into another basin, or out of the land.
fn is_border(land: &Land<'_>, roles: &Field<CellRole>, leaf: &Field<u32>, [i, j]: [usize; 2]) -> bool {
    let (here, height) = (leaf[(i, j)], land.ground[(i, j)]);
    match roles[(i, j)] {
        CellRole::Rim if here != OUTSIDE => true,
        // Cells next to the sea that are as low are sea as well.
        CellRole::Sink if !land.is_dry(i, j) => false,
        _ => land.neighbours(i, j).any(|(_, Cell { row: r, col: c })| {
            leaf[(r, c)] != here && land.ground[(r, c)] <= height && roles[(r, c)] != CellRole::Void
        }),
    }
}

/// Keeps only the marks of cells that may be sills, depending on their role.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn filter_marks(marks: &mut [u8], roles: &[CellRole]) {
    for (mark, part) in marks.iter_mut().zip(roles) {
        // Where a cell lets water leave the land, any lower neighbour may spill there.
        let required = if *part == CellRole::Inside { OTHER | DISCONNECTED } else { OTHER };
        let may = (*mark & required == required) | (*part == CellRole::Rim);
        *mark = u8::from(may & (*part != CellRole::Void));
    }
}

/// Mark: a neighbour belongs to another basin.
const OTHER: u8 = 1;
/// Mark: the lower neighbours are not all connected, or a neighbour of another basin is equally high.
const DISCONNECTED: u8 = 2;

/// Computes the marks of each cell of a row.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn mark_sills(near: &[Vec<i32>; 3], labels: &[Vec<u32>; 3], marks: &mut [u8]) {
    for j in (0..marks.len()).step_by(BLOCK) {
        let (here, label) = (read_block(near, HERE, j), read_block(labels, HERE, j));
        let (mut lower, mut equal, mut other) = ([0i32; BLOCK], [0i32; BLOCK], [0i32; BLOCK]);
        for k in 0..8 {
            let (height, adjacent) = (read_block(near, NEIGHBOURS[k], j), read_block(labels, NEIGHBOURS[k], j));
            for x in 0..BLOCK {
                lower[x] |= i32::from(height[x] < here[x]) << k;
                let differs = i32::from(adjacent[x] != label[x]);
                equal[x] |= i32::from(height[x] == here[x]) & differs;
                other[x] |= differs;
            }
        }
        let mut apart = [0i32; BLOCK];
        for x in 0..BLOCK {
            let lower = lower[x];
            // Two straight neighbours touch across the corner between them. 0xaa selects the diagonal neighbours. The
            // shifts by 7 wrap around the ring of eight bits.
            let corners = ((lower << 1 | lower >> 7) & (lower >> 1 | lower << 7)) & 0xaa;
            let joined = lower | corners;
            // Keep the first neighbour of each group, clockwise. More than one bit that is left means more than one
            // group.
            let first = joined & !(joined << 1 | joined >> 7);
            apart[x] = equal[x] | i32::from(first & first.wrapping_sub(1) != 0);
        }
        let mut bytes = [0; BLOCK];
        for x in 0..BLOCK {
            bytes[x] = (other[x] | apart[x] << 1) as u8;
        }
        marks[j..j + BLOCK].copy_from_slice(&bytes);
    }
}
