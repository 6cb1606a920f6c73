//! The bed of sand on the ground, and how it slides.

use thalweg_core::{Cell, CellRect};
use thalweg_flow::D8;

/// Greatest stable height differences of sand, orthogonal and diagonal, in units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Repose([i32; 2]);

impl Repose {
    /// Computes them from the stable difference between orthogonal neighbours, in units.
    pub(super) fn new(drop: f64) -> Self {
        Self(D8::DISTANCES.map(|length| (drop * length).round().min(f64::from(i32::MAX)) as i32))
    }
}

/// The ground with the sand on it, of a patch or of a whole terrain.
pub(super) struct SandBed<'a> {
    /// Elevation in units. Differences of two elevations do not overflow: see
    /// [`Height`](thalweg_core::terrain::height::Height).
    pub(super) ground: &'a mut [i32],
    /// Thickness of the sand, in units.
    pub(super) loose: &'a mut [i32],
    /// Cells without data.
    pub(super) outside: Option<&'a [bool]>,
    /// Distance in the arrays from one row to the next.
    pub(super) stride: usize,
    /// The rectangle of cells that exist.
    pub(super) valid: CellRect<i32>,
    pub(super) repose: Repose,
    /// Total amount that has slid, in units, counted at every cell that it leaves.
    pub(super) slid: i64,
}

/// Maximum distance, in cells, that one disturbance moves sand; the next disturbance continues from there.
pub(super) const MAX_SLIDE_CELLS: usize = 14;

/// Maximum number of passes in [`SandBed::slide_until_stable`].
const ROUNDS: usize = 500;

/// The neighbours, orthogonal ones first and clockwise from the north, unlike the order of [`D8`]'s codes. Of equally
/// steep neighbours the first in this order is taken.
const ORDER: [D8; 8] =
    [D8::North, D8::East, D8::South, D8::West, D8::NorthEast, D8::SouthEast, D8::SouthWest, D8::NorthWest];

impl SandBed<'_> {
    /// Returns the index of a cell.
    #[inline(always)]
    pub(super) fn cell_index(&self, cell: Cell<i32>) -> usize {
        cell.row as usize * self.stride + cell.col as usize
    }

    /// Returns true if the cell exists.
    #[inline(always)]
    pub(super) fn is_within(&self, cell: Cell<i32>) -> bool {
        // One comparison per axis is enough, since the cast to `u32` turns a number below the first into a large one.
        let CellRect { start, end } = self.valid;
        let is_in = |x: i32, first: i32, end: i32| ((x - first) as u32) < (end - first) as u32;
        is_in(cell.row, start.row, end.row) && is_in(cell.col, start.col, end.col)
    }

    /// Returns true if the cell exists and has data.
    #[inline(always)]
    pub(super) fn has_data(&self, cell: Cell<i32>) -> bool {
        self.is_within(cell) && self.outside.is_none_or(|out| !out[self.cell_index(cell)])
    }

    /// Lets sand that is too steep slide from the cell to its steepest lower neighbour, and on from there. Returns
    /// true if any moved.
    #[inline(always)]
    pub(super) fn slide_down(&mut self, cell: Cell<i32>) -> bool {
        let mut here = cell;
        for _ in 0..MAX_SLIDE_CELLS {
            let at = self.cell_index(here);
            // Bare ground does not slide: `repose` applies to sand alone.
            if self.loose[at] <= 0 {
                break;
            }
            let z = self.ground[at];
            let Some((excess, next)) = self.find_steepest_neighbour(here, |other, _| z - other) else { break };
            // The whole excess moves and not half of it: the pair ends as far below the stable difference as it was
            // above it.
            let amount = excess.min(self.loose[at]);
            self.move_sand(at, self.cell_index(next), amount);
            here = next;
        }
        here != cell
    }

    /// Lets sand slide into a cell that has been lowered, then into the cell that it came from, and so on upwards.
    #[inline(always)]
    pub(super) fn slide_in(&mut self, cell: Cell<i32>) {
        let mut here = cell;
        for _ in 0..MAX_SLIDE_CELLS {
            let z = self.ground[self.cell_index(here)];
            let Some((excess, next)) =
                // A higher neighbour without sand has nothing that could slide in, so it counts as level.
                self.find_steepest_neighbour(here, |other, loose| if loose > 0 { other - z } else { 0 })
            else {
                break;
            };
            let from = self.cell_index(next);
            let amount = excess.min(self.loose[from]);
            self.move_sand(from, self.cell_index(here), amount);
            here = next;
        }
    }

    /// Applies creep between all cells and their eastern and southern neighbours, except where the sand is near its
    /// angle of repose.
    pub(super) fn diffuse_sand(&mut self, share: f32) {
        let CellRect { start, end } = self.valid;
        // Each pair of neighbours is visited once, from its northern or western cell, in one thread and a fixed order.
        for i in start.row..end.row {
            for j in start.col..end.col {
                let cell = Cell::new(i, j);
                for neighbour in [Cell::new(i, j + 1), Cell::new(i + 1, j)] {
                    if self.has_data(cell) && self.has_data(neighbour) {
                        let (a, b) = (self.cell_index(cell), self.cell_index(neighbour));
                        if self.is_gentle(a, b) {
                            self.diffuse_between(a, b, share);
                        }
                    }
                }
            }
        }
    }

    /// Lets all cells slide until all sand is stable, or [`ROUNDS`] passes have been made.
    pub(super) fn slide_until_stable(&mut self) {
        let CellRect { start, end } = self.valid;
        for _ in 0..ROUNDS {
            let mut any = false;
            for i in start.row..end.row {
                for j in start.col..end.col {
                    let cell = Cell::new(i, j);
                    any |= self.has_data(cell) && self.slide_down(cell);
                }
            }
            if !any {
                break;
            }
        }
    }

    /// Returns true if the height difference of two orthogonal neighbours is less than half of the stable one.
    #[inline(always)]
    pub(super) fn is_gentle(&self, a: usize, b: usize) -> bool {
        (self.ground[a] - self.ground[b]).abs() < self.repose.0[0] / 2
    }

    /// Moves `share` of the height difference of two neighbours from the higher to the lower one, limited by the sand
    /// there.
    #[inline(always)]
    pub(super) fn diffuse_between(&mut self, a: usize, b: usize, share: f32) {
        let rise = self.ground[a] - self.ground[b];
        let (from, to) = if rise > 0 { (a, b) } else { (b, a) };
        // The share is below a half and the amount is rounded toward zero, so creep never turns a slope around.
        let amount = (rise.abs() as f32 * share) as i32;
        let amount = amount.min(self.loose[from]);
        if amount > 0 {
            self.move_sand(from, to, amount);
        }
    }

    /// Returns the largest excess of `drop(ground, sand)` over the stable difference among the neighbours, and that
    /// neighbour; `None` if nothing is too steep. For the fast path, `drop` must not exceed its value for a sand
    /// thickness above zero.
    #[inline(always)]
    fn find_steepest_neighbour(&self, here: Cell<i32>, drop: impl Fn(i32, i32) -> i32) -> Option<(i32, Cell<i32>)> {
        // The fast path needs all eight neighbours, which it reads by slices of three cells in three rows.
        if self.is_within(here.map(|n| n - 1))
            && self.is_within(here.map(|n| n + 1))
            && !self.is_steep(self.cell_index(here), |other| drop(other, 1))
        {
            return None;
        }
        let mut most = (0, here);
        for direction in ORDER {
            let [di, dj] = direction.offset().map(|cells| cells as i32);
            let cell = Cell::new(here.row + di, here.col + dj);
            if !self.has_data(cell) {
                continue;
            }
            let at = self.cell_index(cell);
            let excess = drop(self.ground[at], self.loose[at])
                // The drop may be negative and the limit as large as `i32::MAX`, so the subtraction saturates.
                .saturating_sub(self.repose.0[usize::from(direction.is_diagonal())]);
            if excess > most.0 {
                most = (excess, cell);
            }
        }
        (most.0 > 0).then_some(most)
    }

    /// Returns true if `drop(ground)` exceeds the stable difference for any of the eight neighbours of an inner cell,
    /// with or without data. That is rare, and this branch-free test takes a fraction of the time of finding the
    /// steepest neighbour.
    #[inline(always)]
    fn is_steep(&self, at: usize, drop: impl Fn(i32) -> i32) -> bool {
        let row = |k: usize| &self.ground[k - 1..k + 2];
        let (north, here, south) = (row(at - self.stride), row(at), row(at + self.stride));
        let straight = drop(north[1]).max(drop(here[0])).max(drop(here[2])).max(drop(south[1]));
        let slant = drop(north[0]).max(drop(north[2])).max(drop(south[0])).max(drop(south[2]));
        straight > self.repose.0[0] || slant > self.repose.0[1]
    }

    /// Moves sand from one cell to another.
    #[inline(always)]
    fn move_sand(&mut self, from: usize, to: usize, amount: i32) {
        self.ground[from] -= amount;
        self.loose[from] -= amount;
        self.ground[to] += amount;
        // The thickness may come from a file and be near the limit of an `i32`; the ground itself is bounded by
        // `Height`.
        self.loose[to] = self.loose[to].saturating_add(amount);
        self.slid += i64::from(amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;

    #[test]
    fn the_first_of_the_steepest_neighbours_is_found() {
        let repose = Repose([20, 28]);
        for round in 0..3000 {
            // Few distinct heights, so that many are equal; about half of the central cells are too steep, or too low.
            let number =
                |k: usize, to: f64| (to * RandomKey::new(round, "bed").derive_key(k as u64).uniform_unit()) as i32;
            let mut ground: Vec<i32> = (0..9).map(|k| 4 * number(k, 9.0)).collect();
            let mut loose: Vec<i32> = (0..9).map(|k| number(9 + k, 2.0)).collect();
            let outside: Vec<bool> = (0..9).map(|k| k != 4 && number(18 + k, 6.0) == 0).collect();
            for outside in [None, Some(outside.as_slice())] {
                let (ground, loose) = (&mut ground, &mut loose);
                let bed = SandBed {
                    ground,
                    loose,
                    outside,
                    stride: 3,
                    valid: CellRect::new([0, 0], [3, 3]),
                    repose,
                    slid: 0,
                };
                let falls = |other: i32, _: i32| bed.ground[4] - other;
                let rises = |other: i32, loose: i32| if loose > 0 { other - bed.ground[4] } else { 0 };
                for drop in [&falls as &dyn Fn(i32, i32) -> i32, &rises] {
                    let mut most = (0, Cell::new(1, 1));
                    for direction in ORDER {
                        let cell = Cell::from(direction.offset().map(|cells| 1 + cells as i32));
                        let at = bed.cell_index(cell);
                        let excess =
                            drop(bed.ground[at], bed.loose[at]) - repose.0[usize::from(direction.is_diagonal())];
                        if excess > most.0 && outside.is_none_or(|outside| !outside[at]) {
                            most = (excess, cell);
                        }
                    }
                    assert_eq!(
                        bed.find_steepest_neighbour(Cell::new(1, 1), drop),
                        (most.0 > 0).then_some(most),
                        "round {round}"
                    );
                }
            }
        }
    }
}
