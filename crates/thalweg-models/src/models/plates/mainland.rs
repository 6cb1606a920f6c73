//! The mainland of a continent: the open sea around it, its shores, and the mouths of its great rivers.

use std::cmp::Reverse;

use crate::models::plates::basins::BasinSite;
use crate::models::plates::lattice::list_adjacent_cells;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Field, Grid};

/// The lands and the open sea of a lattice, of which the largest land is the mainland.
pub(super) struct Mainland {
    /// True for cells of the open sea.
    pub(super) is_sea: Vec<bool>,
    /// The number of each cell's land; `usize::MAX` in the open sea.
    pub(super) land: Vec<usize>,
    /// The number of the largest land.
    pub(super) largest: Option<usize>,
    /// The cells of the largest land next to the open sea.
    shores: Vec<usize>,
    /// The side in metres of a square with the largest land's area.
    side: f32,
}

impl Mainland {
    /// Finds the open sea and the largest land of a lattice.
    pub(super) fn find(grid: &Grid, sites: &Field<BasinSite>) -> Self {
        let size = grid.size;
        let count = grid.len();
        let cell = grid.cell as f32;
        let all = sites.as_slice();
        // The open sea consists of the sea cells that are connected to the outermost cells of the lattice.
        let rows_cols = |k: usize| (k / size[1], k % size[1]);
        let outermost = |k: &usize| {
            let (i, j) = rows_cols(*k);
            i == 0 || j == 0 || i + 1 == size[0] || j + 1 == size[1]
        };
        // A strait narrower than three cells does not count as sea, because on finer cells it would be a row of
        // pools.
        let is_wide = |k: usize| all[k].crust <= 0.0 && list_adjacent_cells(size, k).all(|(n, _)| all[n].crust <= 0.0);
        let mut is_sea = vec![false; count];
        // Flooding goes on from wide sea only, and includes the sea cells next to it.
        let mut stack: Vec<usize> = (0..count).filter(outermost).filter(|k| is_wide(*k)).collect();
        while let Some(k) = stack.pop() {
            if !std::mem::replace(&mut is_sea[k], true) && is_wide(k) {
                stack.extend(list_adjacent_cells(size, k).map(|(n, _)| n));
            }
        }
        // Find the largest land by flood fill.
        let mut land = vec![usize::MAX; count];
        let mut sizes = Vec::new();
        for k in 0..count {
            if is_sea[k] || land[k] != usize::MAX {
                continue;
            }
            let (number, mut size_of, mut stack) = (sizes.len(), 0usize, vec![k]);
            land[k] = number;
            while let Some(k) = stack.pop() {
                size_of += 1;
                for (n, _) in list_adjacent_cells(size, k) {
                    if !is_sea[n] && land[n] == usize::MAX {
                        land[n] = number;
                        stack.push(n);
                    }
                }
            }
            sizes.push(size_of);
        }
        // Among two lands of the same size the first one counts.
        let largest = (0..sizes.len()).max_by_key(|number| (sizes[*number], Reverse(*number)));
        let shores: Vec<usize> = (0..count)
            .filter(|k| Some(land[*k]) == largest && list_adjacent_cells(size, *k).any(|(n, _)| is_sea[n]))
            .collect();
        let side = (sizes.iter().max().copied().unwrap_or(0) as f32).sqrt() * cell;
        Self { is_sea, land, largest, shores, side }
    }

    /// Returns the mouths of great rivers, the greatest first, and the length with which the paths of each start.
    pub(super) fn place_mouths(
        &self,
        grid: &Grid,
        sites: &Field<BasinSite>,
        mouths: u32,
        key: RandomKey,
    ) -> Vec<(usize, f32)> {
        let size = grid.size;
        let cell = grid.cell as f32;
        let all = sites.as_slice();
        let side = self.side;
        let rows_cols = |k: usize| (k / size[1], k % size[1]);
        // Score each coastal cell as a mouth: great rivers reach the sea where the coastal cell is easy to pass, on
        // the trailing side, and away from the mouths that are already placed.
        let mut taken: Vec<(usize, f32)> = Vec::new();
        for number in 0..mouths {
            let score = |k: usize| {
                let (i, j) = rows_cols(k);
                let apart = taken.iter().map(|(other, _)| {
                    let (a, b) = rows_cols(*other);
                    let [dy, dx] = [i as f32 - a as f32, j as f32 - b as f32];
                    (dy * dy + dx * dx).sqrt() * cell
                });
                let apart = apart.fold(f32::INFINITY, f32::min) / side;
                let drawn = key.derive_key(u64::from(number)).for_cell([i as i64, j as i64]).uniform_unit() as f32;
                // The terms of a score: the trailing side counts most for the first mouth, an easy coast up to 1,
                // chance up to 0.5, and nearness to another mouth up to −1.4. Distances are in widths of a square with
                // the land's area.
                let clear = 0.35 / (0.35 + all[k].hard);
                let trailing = if number == 0 { 0.6 - all[k].leading } else { 0.5 - 0.5 * all[k].leading };
                let spaced = if number == 0 { 0.0 } else { 2.0 * (apart - 0.7).min(0.0) };
                (trailing + clear + 0.5 * drawn + spaced, k)
            };
            // Ties go to the cell with the greater index.
            let best = self.shores.iter().map(|k| score(*k)).max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let Some((_, k)) = best else { break };
            // A later mouth belongs to a smaller river: its paths start with an additional length.
            let handicap = if number == 0 { 0.0 } else { 0.55 + 0.15 * number as f32 };
            taken.push((k, handicap * side));
        }
        taken
    }
}
