//! [`LiveD8`]: D8 directions of changing ground, recomputed only where something changed.

use rayon::prelude::*;

use crate::d8::{self, SteepestDescent};
use crate::{CellRole, Directions, Land, PIT, flats};
use thalweg_core::{Cell, Field, Grid};

/// Least number of rows per task; each task also reads the adjacent rows.
const PIECE: usize = 16;

/// D8 directions, with the state that they were computed from.
pub(super) struct LiveD8 {
    grid: Grid,
    /// The role of each cell in flow routing.
    pub roles: Field<CellRole>,
    /// Directions of steepest descent; flat cells are [`PIT`].
    steepest: Directions,
    /// Directions as computed by [`d8::route_d8`].
    pub directions: Directions,
}

impl LiveD8 {
    /// Computes all directions of a land.
    pub fn from_land(land: &Land<'_>) -> Self {
        let roles = land.cell_roles();
        let steepest = d8::route_steepest_descent(land, &roles);
        let mut directions = steepest.clone();
        flats::route_flats(land, &mut directions);
        Self { grid: land.grid.clone(), roles, steepest, directions }
    }

    /// Updates the directions for ground that differs from the previous one at most at cells that have `changed`. The
    /// result equals a complete recomputation.
    ///
    /// Rows next to a change are compared again completely, which is as fast as selecting cells. Flats are more
    /// expensive, so a flat is processed again only if one of its cells is within two cells of a change, which may
    /// have altered its outline or a cell on its border.
    pub fn update_changed(&mut self, land: &Land<'_>, changed: &Field<bool>) {
        let [rows, cols] = self.steepest.size();
        // On a looped grid, adjacent rows are not the only neighbouring rows, so compute everything again.
        let looped = land.grid.topology().is_looped();
        if looped || *land.grid != self.grid || changed.size() != land.grid.size {
            *self = Self::from_land(land);
            return;
        }
        let roles = land.cell_roles();
        // A row also counts as changed if the sea rose or fell there, or an outlet was added or removed.
        let has_changed = |i: usize| changed.row(i).contains(&true) || roles.row(i) != self.roles.row(i);
        let row_changed: Vec<bool> = (0..rows).into_par_iter().with_min_len(PIECE).map(has_changed).collect();
        let near = |i: usize, by: usize| i.saturating_sub(by)..(i + by + 1).min(rows);
        let metrics = d8::uneven_metrics(land.grid);
        let lines = self.steepest.par_rows_mut().zip(self.directions.par_rows_mut()).with_min_len(PIECE);
        lines.filter(|((i, _), _)| row_changed[near(*i, 1)].contains(&true)).for_each_init(
            || SteepestDescent::new(land.grid.topology(), metrics.as_ref()),
            |descent, ((i, steepest), (_, directions))| {
                descent.route_row(land, &roles, i, steepest);
                for (direction, steepest) in directions.iter_mut().zip(steepest) {
                    // Cells of flats keep their direction here. The loop below resets the flats that may have changed.
                    *direction = if *steepest == PIT { *direction } else { *steepest };
                }
            },
        );
        for i in (0..rows).filter(|i| row_changed[near(*i, 2)].contains(&true)) {
            for j in 0..cols {
                // Cells that are still pits are processed in any case.
                if self.steepest[(i, j)] != PIT || self.directions[(i, j)] == PIT {
                    continue;
                }
                // Two cells are enough: a flat's directions depend on its cells, their neighbours and whether those
                // drain.
                let columns = j.saturating_sub(2)..(j + 3).min(cols);
                let mut rows = near(i, 2).filter(|r| row_changed[*r]);
                if rows.any(|r| {
                    changed.row(r)[columns.clone()].contains(&true)
                        || roles.row(r)[columns.clone()] != self.roles.row(r)[columns.clone()]
                }) {
                    self.reset_flat(land, i * cols + j);
                }
            }
        }
        self.roles = roles;
        flats::route_flats(land, &mut self.directions);
    }

    /// Resets the directions of the flat that contains cell `k`.
    fn reset_flat(&mut self, land: &Land<'_>, k: usize) {
        let cols = self.steepest.cols();
        let (steepest, codes) = (self.steepest.as_slice(), self.directions.as_mut_slice());
        let mut stack = Vec::new();
        // The flood fill resets all of the flat, because its distances may change far from the changed cell.
        codes[k] = PIT;
        stack.push(k);
        while let Some(k) = stack.pop() {
            for (_, Cell { row: r, col: c }) in land.neighbours(k / cols, k % cols) {
                let n = r * cols + c;
                if steepest[n] == PIT && codes[n] != PIT {
                    codes[n] = PIT;
                    stack.push(n);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Height;
    use thalweg_core::base::rng::RandomKey;

    #[test]
    fn renewed_directions_equal_those_made_anew() {
        for case in 0..40 {
            let key = RandomKey::new(case, "courses");
            let size =
                [1 + key.derive_key(1).random_bits() as usize % 40, 1 + key.derive_key(2).random_bits() as usize % 60];
            let mut grid = Grid::new(size, 10.0).unwrap();
            let levels = [2, 3, 8, 200][case as usize % 4];
            let draw = |key: RandomKey, i: usize, j: usize| key.for_cell([i as i64, j as i64]).random_bits() >> 16;
            // Constant squares, so that flats of all sizes occur.
            let mut ground = Field::from_fn(size, |i, j| Height((draw(key, i / 4, j / 5) % levels) as i32));
            let mut live = LiveD8::from_land(&Land { grid: &grid, ground: &ground, nodata: None, outlets: &[] });
            for round in 0..50 {
                let key = key.derive_key(round);
                let changed = Field::from_fn(size, |i, j| draw(key, i, j) % 60 == 0);
                for (height, changed) in ground.as_mut_slice().iter_mut().zip(changed.as_slice()) {
                    height.0 += if *changed { (key.random_bits() % 3) as i32 - 1 } else { 0 };
                }
                let nodata = (round % 8 > 5).then(|| Field::from_fn(size, |i, j| (i, j) == (size[0] / 2, 0)));
                let land = Land { grid: &grid, ground: &ground, nodata: nodata.as_ref(), outlets: &[] };
                live.update_changed(&land, &changed);
                assert_eq!(live.directions, d8::route_d8(&land), "case {case}, round {round}");
                assert_eq!(live.roles, land.cell_roles());
                if round == 30 {
                    grid.sea_level = Some(Height(0));
                }
            }
        }
    }
}
