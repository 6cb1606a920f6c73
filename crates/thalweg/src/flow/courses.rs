//! [`Courses`]: D8 directions of ground that keeps changing, of which only what changed is worked out again.

use crate::field::Field;
use crate::flow::d8::{self, Descent};
use crate::flow::{Directions, Land, PIT, Part, flats};
use crate::grid::Grid;

/// Directions, and what they were made from.
pub(super) struct Courses {
    grid: Grid,
    /// What each cell is to water.
    pub parts: Field<Part>,
    /// Those of steepest descent: flats are [`PIT`].
    steepest: Directions,
    /// Those of [`d8::directions`].
    pub directions: Directions,
}

impl Courses {
    /// All of a land's.
    pub fn of(land: &Land<'_>) -> Self {
        let parts = land.parts();
        let steepest = d8::descents(land, &parts);
        let mut directions = steepest.clone();
        flats::cross(land, &mut directions);
        Self { grid: land.grid.clone(), parts, steepest, directions }
    }

    /// The same as made anew, where the ground differs at most at cells that have `changed`.
    ///
    /// Rows beside a change are compared again: that is as quick as to pick cells. A flat costs more, and is crossed
    /// again only where a cell of it lies within two of a change, which may then alter its outline, or a cell at its
    /// shore.
    pub fn renew(&mut self, land: &Land<'_>, changed: &Field<bool>) {
        let [rows, cols] = self.steepest.size();
        if *land.grid != self.grid || changed.size() != land.grid.size {
            *self = Self::of(land);
            return;
        }
        let parts = land.parts();
        // Where the sea rose or fell, or an outlet came or went, the row has changed too.
        let row_changed: Vec<bool> =
            (0..rows).map(|i| changed.row(i).contains(&true) || parts.row(i) != self.parts.row(i)).collect();
        let near = |i: usize, by: usize| i.saturating_sub(by)..(i + by + 1).min(rows);
        let mut descent = Descent::new(cols);
        for i in (0..rows).filter(|i| row_changed[near(*i, 1)].contains(&true)) {
            let steepest = self.steepest.row_mut(i);
            descent.row(land, &parts, i, steepest);
            for (direction, steepest) in self.directions.row_mut(i).iter_mut().zip(steepest) {
                *direction = if *steepest == PIT { *direction } else { *steepest };
            }
        }
        let mut column = vec![false; cols];
        for i in (0..rows).filter(|i| row_changed[near(*i, 2)].contains(&true)) {
            column.fill(false);
            for r in near(i, 2).filter(|r| row_changed[*r]) {
                let cells = changed.row(r).iter().zip(parts.row(r)).zip(self.parts.row(r));
                for (any, ((changed, part), before)) in column.iter_mut().zip(cells) {
                    *any |= *changed | (part != before);
                }
            }
            for j in 0..cols {
                if self.steepest[(i, j)] == PIT && column[j.saturating_sub(2)..(j + 3).min(cols)].contains(&true) {
                    self.level(land, i * cols + j);
                }
            }
        }
        self.parts = parts;
        flats::cross(land, &mut self.directions);
    }

    /// Takes back the directions of the flat of cell `k`.
    fn level(&mut self, land: &Land<'_>, k: usize) {
        let cols = self.steepest.cols();
        let (steepest, codes) = (self.steepest.as_slice(), self.directions.as_mut_slice());
        let mut stack = Vec::new();
        codes[k] = PIT;
        stack.push(k);
        while let Some(k) = stack.pop() {
            for (_, [r, c]) in land.around(k / cols, k % cols) {
                let n = r * cols + c;
                if steepest[n] == PIT && codes[n] != PIT {
                    codes[n] = PIT;
                    stack.push(n);
                }
            }
        }
    }
}
