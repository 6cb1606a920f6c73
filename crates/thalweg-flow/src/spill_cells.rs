//! The cells at which rising water can run from one basin into another.

use multiversion::multiversion;
use rayon::prelude::*;

use crate::near::{BLOCK, HERE, NEIGHBOURS, Near, WALL, block, heights, whole};
use crate::{Land, Part, lot};
use thalweg_core::{Cell, Field};

/// The label of a cell from which water leaves the land without passing a pit, or which has no data.
pub const OUTSIDE: u32 = u32::MAX;

/// Rows that one task works through.
const ROWS: usize = 32;

/// Among them all sills over which one basin spills into another or out of the land: indices in the order in which
/// rising water reaches the cells, equals by their hash.
///
/// When the water that rises everywhere reaches a cell, it joins the basins of the lower cells beside it. Those that
/// touch one another have been joined before, where they touch; and a cell is of the basin of one of them. So a cell
/// whose lower neighbours hang together, with no equal one of another basin, joins nothing: most on borders are such.
pub(super) fn candidates(land: &Land<'_>, parts: &Field<Part>, leaf: &Field<u32>) -> impl Iterator<Item = u32> {
    let [rows, cols] = parts.size();
    // Heights above, indices below: an index is under 2³².
    let entry = |k: usize| (u64::from(land.ground[k].0 as u32 ^ (1 << 31)) << 32) | k as u64;
    let mut found: Vec<u64> = (0..rows.div_ceil(ROWS))
        .into_par_iter()
        .flat_map_iter(|band| {
            let mut near = Near::new(land.grid.topology(), WALL);
            let mut labels = Near::new(land.grid.topology(), OUTSIDE);
            let mut marks = vec![0; whole(cols)];
            let mut found = Vec::new();
            for i in band * ROWS..(band * ROWS + ROWS).min(rows) {
                let fresh = i == band * ROWS;
                near.advance(i, fresh, |i, row| heights(land.ground, parts, i, row));
                labels.advance(i, fresh, |i, row| row.copy_from_slice(leaf.row(i)));
                mark(&near.rows, &labels.rows, &mut marks);
                sift(&mut marks, parts.row(i));
                for (block, chunk) in marks.chunks(BLOCK).enumerate().filter(|(_, chunk)| **chunk != [0; BLOCK]) {
                    let cells = (block * BLOCK..cols).zip(chunk);
                    for (j, _) in cells.filter(|(_, mark)| **mark != 0) {
                        if is_border(land, parts, leaf, [i, j]) {
                            found.push(entry(i * cols + j));
                        }
                    }
                }
            }
            found
        })
        .collect();
    found.par_sort_unstable();
    // Hashes of equals alone, and each but once: a great flat has many.
    let mut hashed: Vec<(u64, u64)> = Vec::new();
    for equals in found.chunk_by_mut(|a, b| a >> 32 == b >> 32).filter(|equals| equals.len() > 1) {
        hashed.clear();
        hashed.extend(equals.iter().map(|entry| (lot(land.grid, *entry as u32 as usize), *entry)));
        hashed.par_sort_unstable();
        for (to, (_, entry)) in equals.iter_mut().zip(&hashed) {
            *to = *entry;
        }
    }
    found.into_iter().map(|entry| entry as u32)
}

/// Whether water can run from a cell over itself into another basin, or out.
fn is_border(land: &Land<'_>, parts: &Field<Part>, leaf: &Field<u32>, [i, j]: [usize; 2]) -> bool {
    let (here, height) = (leaf[(i, j)], land.ground[(i, j)]);
    match parts[(i, j)] {
        Part::Rim if here != OUTSIDE => true,
        // Around the sea, what is as low is sea too.
        Part::Sink if !land.is_dry(i, j) => false,
        _ => land.around(i, j).any(|(_, Cell { row: r, col: c })| {
            leaf[(r, c)] != here && land.ground[(r, c)] <= height && parts[(r, c)] != Part::Void
        }),
    }
}

/// Leaves the marks of cells that may be sills, by what they are to water.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn sift(marks: &mut [u8], parts: &[Part]) {
    for (mark, part) in marks.iter_mut().zip(parts) {
        // Where a cell lets water out, it may leave from any lower neighbour.
        let wanted = if *part == Part::Inside { OTHER | APART } else { OTHER };
        let may = (*mark & wanted == wanted) | (*part == Part::Rim);
        *mark = u8::from(may & (*part != Part::Void));
    }
}

/// A neighbour is of another basin.
const OTHER: u8 = 1;
/// Lower neighbours lie apart, or one of another basin is as high.
const APART: u8 = 2;

/// Marks each cell of a row.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn mark(near: &[Vec<i32>; 3], labels: &[Vec<u32>; 3], marks: &mut [u8]) {
    for j in (0..marks.len()).step_by(BLOCK) {
        let (here, label) = (block(near, HERE, j), block(labels, HERE, j));
        let (mut lower, mut equal, mut other) = ([0i32; BLOCK], [0i32; BLOCK], [0i32; BLOCK]);
        for k in 0..8 {
            let (height, beside) = (block(near, NEIGHBOURS[k], j), block(labels, NEIGHBOURS[k], j));
            for x in 0..BLOCK {
                lower[x] |= i32::from(height[x] < here[x]) << k;
                let differs = i32::from(beside[x] != label[x]);
                equal[x] |= i32::from(height[x] == here[x]) & differs;
                other[x] |= differs;
            }
        }
        let mut apart = [0i32; BLOCK];
        for x in 0..BLOCK {
            let lower = lower[x];
            // Two straight neighbours touch across the corner between them.
            let corners = ((lower << 1 | lower >> 7) & (lower >> 1 | lower << 7)) & 0xaa;
            let joined = lower | corners;
            // The first of each group, clockwise; more than one of them?
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
