//! [`Roots`]: how firmly plants hold the ground, as whole parts, so that what is added can be taken back.

use thalweg_core::{Cell, Field, Size};

/// Parts of a density of 1.
const PARTS: f64 = 65_536.0;

/// Density on the four and on the diagonal neighbours of a patch, of that on the patch itself (McDonald 2020).
const SIDE: f64 = 0.6;
const CORNER: f64 = 0.4;

/// Widest patch in cells: the work of one plant's roots must stay small.
pub const MAX_CELLS: f64 = 64.0;

/// Density of roots by cell.
///
/// A plant holds a square patch and, more weakly, the eight round it; a cell's density is what of them lies over it, by
/// area. So on cells of the patch's size the values are those of the article, on finer cells roots reach as many
/// metres, and on coarser ones a cell holds the mean. Each share is rounded on its own and depends on the place
/// alone: what is taken back is what was added, to the part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Roots {
    parts: Field<u32>,
    /// The same as real numbers, kept in step.
    density: Field<f32>,
}

impl Roots {
    /// Bare ground.
    pub fn new(size: Size) -> Self {
        Self { parts: Field::new(size, 0), density: Field::new(size, 0.0) }
    }

    /// The density of each cell.
    pub fn density(&self) -> &Field<f32> {
        &self.density
    }

    /// The same, without a copy.
    pub fn into_density(self) -> Field<f32> {
        self.density
    }

    /// Adds the roots of a plant at a place (rows and columns from the north-western corner), whose patch is so many
    /// cells wide.
    pub fn add(&mut self, at: Cell<f64>, cells: f64, strength: f32) {
        self.change(at, cells, strength, u32::wrapping_add);
    }

    /// Takes back what [`Roots::add`] added.
    pub fn remove(&mut self, at: Cell<f64>, cells: f64, strength: f32) {
        self.change(at, cells, strength, u32::wrapping_sub);
    }

    /// The mean density under the roots that a plant would have at a place: how crowded it would be.
    pub fn crowding(&self, at: Cell<f64>, cells: f64) -> f64 {
        let (mut sum, mut under) = (0.0, 0.0);
        each(self.density.size(), at, cells, |cell, weight| {
            sum += f64::from(self.density[cell]) * weight;
            under += weight;
        });
        if under > 0.0 { sum / under } else { 0.0 }
    }

    /// Sums wrap, so that even those of tables that no forest could leave are taken back.
    fn change(&mut self, at: Cell<f64>, cells: f64, strength: f32, sum: impl Fn(u32, u32) -> u32) {
        let whole = f64::from(strength) * PARTS;
        let (parts, density) = (&mut self.parts, &mut self.density);
        each(parts.size(), at, cells, |cell, weight| {
            let parts = &mut parts[cell];
            *parts = sum(*parts, (weight * whole).round() as u32);
            density[cell] = (f64::from(*parts) / PARTS) as f32;
        });
    }
}

/// Calls `visit` with each cell under a plant's roots and the density that a plant of strength 1 has there.
#[inline(always)]
fn each([rows, cols]: Size, at: Cell<f64>, cells: f64, mut visit: impl FnMut((usize, usize), f64)) {
    let columns = span(at.col, cells, cols);
    for i in span(at.row, cells, rows) {
        let [side, middle] = shares(at.row, cells, i);
        // Over this row: on the patches west and east, and on those north, south and of the plant itself.
        let (west_east, along) = (CORNER * side + SIDE * middle, SIDE * side + middle);
        for j in columns.clone() {
            let [side, middle] = shares(at.col, cells, j);
            visit((i, j), west_east * side + along * middle);
        }
    }
}

/// The cells of an axis that three patches round a place touch.
fn span(at: f64, cells: f64, n: usize) -> std::ops::Range<usize> {
    let low = (at - 1.5 * cells).floor().max(0.0) as usize;
    low..((at + 1.5 * cells).ceil().max(0.0) as usize).min(n)
}

/// Lengths of cell `k` under the two outer patches together, and under the middle one.
fn shares(at: f64, cells: f64, k: usize) -> [f64; 2] {
    let (low, high) = (k as f64, k as f64 + 1.0);
    let under = |half: f64| (high.min(at + half) - low.max(at - half)).max(0.0);
    let (all, middle) = (under(1.5 * cells), under(0.5 * cells));
    [all - middle, middle]
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::Key;

    #[test]
    fn on_cells_of_a_patch_the_weights_are_the_articles() {
        let mut roots = Roots::new([7, 7]);
        roots.add(Cell::new(3.5, 3.5), 1.0, 1.0);
        for i in 0..7usize {
            for j in 0..7usize {
                let want = match (i.abs_diff(3), j.abs_diff(3)) {
                    (0, 0) => 1.0,
                    (0, 1) | (1, 0) => 0.6,
                    (1, 1) => 0.4,
                    _ => 0.0,
                };
                // Half a part of rounding.
                assert!((roots.density()[(i, j)] - want).abs() <= 0.5 / 65_536.0, "{i}, {j}");
            }
        }
    }

    #[test]
    fn what_is_taken_back_leaves_nothing_and_cells_do_not_change_the_sum() {
        let key = Key::new(4, "roots");
        for cells in [0.05, 0.3, 1.0, 2.7, 9.0] {
            let mut roots = Roots::new([40, 50]);
            let plants: Vec<_> = (0..200u64)
                .map(|n| {
                    let at = Cell::from_axes(|a| key.and(n).and(a as u64).unit() * [40.0, 50.0][a]);
                    (at, key.and(n).unit() as f32)
                })
                .collect();
            plants.iter().for_each(|(at, strength)| roots.add(*at, cells, *strength));
            assert!(roots.density().as_slice().iter().any(|d| *d > 0.0));
            plants.iter().rev().for_each(|(at, strength)| roots.remove(*at, cells, *strength));
            assert_eq!(roots, Roots::new([40, 50]), "{cells}");
            // In the middle the sum is 1 + 4·0.6 + 4·0.4 patches, to half a part for each cell touched.
            roots.add(Cell::new(20.3, 25.7), cells, 1.0);
            let sum: f64 = roots.density().as_slice().iter().map(|d| f64::from(*d)).sum();
            let touched = (3.0 * cells + 2.0) * (3.0 * cells + 2.0);
            assert!((sum - 5.0 * cells * cells).abs() <= touched * 0.5 / 65_536.0, "{cells}: {sum}");
        }
    }
}
