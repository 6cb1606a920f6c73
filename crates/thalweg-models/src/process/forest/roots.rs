//! [`Roots`]: the density of plant roots, stored as whole numbers so that what was added can be removed exactly.

use thalweg_core::{Cell, Field, Size};

/// The number of parts that make a density of 1.
const PARTS: f64 = 65_536.0;

/// The density on the four adjacent and on the four diagonal neighbours of a patch, relative to that on the patch
/// itself (McDonald 2020).
const SIDE: f64 = 0.6;
const CORNER: f64 = 0.4;

/// The greatest width of a patch in cells, which limits the work for one plant's roots.
pub const MAX_CELLS: f64 = 64.0;

/// The density of roots in each cell.
///
/// A plant has its full density on a square patch and, more weakly, on the eight patches around it; a cell's density
/// is the area-weighted part of them that overlaps it. On cells of the patch's size the values are therefore those of
/// the article, on finer cells roots extend over the same distance in metres, and a coarser cell gets the mean. Each
/// share is rounded separately and depends on the position alone, so exactly what was added can be removed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Roots {
    root_shares: Field<u32>,
    /// The same values as floating-point numbers, updated together with `root_shares`.
    density: Field<f32>,
}

impl Roots {
    /// Creates an empty density field.
    pub fn new(size: Size) -> Self {
        Self { root_shares: Field::new(size, 0), density: Field::new(size, 0.0) }
    }

    /// Returns the density of each cell.
    pub fn density(&self) -> &Field<f32> {
        &self.density
    }

    /// Converts into the density of each cell, without a copy.
    pub fn into_density(self) -> Field<f32> {
        self.density
    }

    /// Adds the roots of a plant at a position (rows and columns from the north-western corner) whose patch is
    /// `cells` wide.
    pub fn add(&mut self, at: Cell<f64>, cells: f64, strength: f32) {
        // Whole numbers make the removal exact; a sum of floats would leave remainders after plants have died.
        self.update_cells(at, cells, strength, u32::wrapping_add);
    }

    /// Removes what [`Roots::add`] added.
    pub fn remove(&mut self, at: Cell<f64>, cells: f64, strength: f32) {
        self.update_cells(at, cells, strength, u32::wrapping_sub);
    }

    /// Returns the mean density below the roots that a plant would have at a position: how crowded it would be.
    pub fn crowding(&self, at: Cell<f64>, cells: f64) -> f64 {
        let (mut sum, mut under) = (0.0, 0.0);
        visit_covered_cells(self.density.size(), at, cells, |cell, weight| {
            sum += f64::from(self.density[cell]) * weight;
            under += weight;
        });
        if under > 0.0 { sum / under } else { 0.0 }
    }

    /// Applies `sum` to the parts of each cell. Sums wrap around, so even excessive sums from a table of foreign
    /// origin can be removed again.
    fn update_cells(&mut self, at: Cell<f64>, cells: f64, strength: f32, sum: impl Fn(u32, u32) -> u32) {
        let whole = f64::from(strength) * PARTS;
        let (root_shares, density) = (&mut self.root_shares, &mut self.density);
        visit_covered_cells(root_shares.size(), at, cells, |cell, weight| {
            let root_shares = &mut root_shares[cell];
            *root_shares = sum(*root_shares, (weight * whole).round() as u32);
            density[cell] = (f64::from(*root_shares) / PARTS) as f32;
        });
    }
}

/// Calls `visit` with each cell below a plant's roots and the density of a plant of strength 1 there.
#[inline(always)]
fn visit_covered_cells([rows, cols]: Size, at: Cell<f64>, cells: f64, mut visit: impl FnMut((usize, usize), f64)) {
    let columns = find_touched_cells(at.col, cells, cols);
    for i in find_touched_cells(at.row, cells, rows) {
        let [side, middle] = measure_covered_lengths(at.row, cells, i);
        // These are the densities for this row, over the western and eastern patches and over the middle column of
        // patches.
        let (west_east, along) = (CORNER * side + SIDE * middle, SIDE * side + middle);
        for j in columns.clone() {
            let [side, middle] = measure_covered_lengths(at.col, cells, j);
            visit((i, j), west_east * side + along * middle);
        }
    }
}

/// Returns the cells of an axis that the three patches around a position touch.
fn find_touched_cells(at: f64, cells: f64, n: usize) -> std::ops::Range<usize> {
    let low = (at - 1.5 * cells).floor().max(0.0) as usize;
    low..((at + 1.5 * cells).ceil().max(0.0) as usize).min(n)
}

/// Returns the lengths of cell `k` that the two outer patches together and the middle patch cover.
fn measure_covered_lengths(at: f64, cells: f64, k: usize) -> [f64; 2] {
    // The three patches together are three widths wide and centred on the plant.
    let (low, high) = (k as f64, k as f64 + 1.0);
    let under = |half: f64| (high.min(at + half) - low.max(at - half)).max(0.0);
    let (all, middle) = (under(1.5 * cells), under(0.5 * cells));
    [all - middle, middle]
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;

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
        let key = RandomKey::new(4, "roots");
        for cells in [0.05, 0.3, 1.0, 2.7, 9.0] {
            let mut roots = Roots::new([40, 50]);
            let plants: Vec<_> = (0..200u64)
                .map(|n| {
                    let at =
                        Cell::from_axes(|a| key.derive_key(n).derive_key(a as u64).uniform_unit() * [40.0, 50.0][a]);
                    (at, key.derive_key(n).uniform_unit() as f32)
                })
                .collect();
            plants.iter().for_each(|(at, strength)| roots.add(*at, cells, *strength));
            assert!(roots.density().as_slice().iter().any(|d| *d > 0.0));
            plants.iter().rev().for_each(|(at, strength)| roots.remove(*at, cells, *strength));
            assert_eq!(roots, Roots::new([40, 50]), "{cells}");
            // In the middle of the grid the sum is 1 + 4·0.6 + 4·0.4 patches, with an error of half a part for each
            // cell touched.
            roots.add(Cell::new(20.3, 25.7), cells, 1.0);
            let sum: f64 = roots.density().as_slice().iter().map(|d| f64::from(*d)).sum();
            let touched = (3.0 * cells + 2.0) * (3.0 * cells + 2.0);
            assert!((sum - 5.0 * cells * cells).abs() <= touched * 0.5 / 65_536.0, "{cells}: {sum}");
        }
    }
}
