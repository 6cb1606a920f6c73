//! Subdivided lattices: diamond-square and midpoint displacement, with displacements hashed from (level, position).
//!
//! A world's lattice is a square of 2ⁿ × 2ⁿ intervals over its longer side. Level 0 has the four corners. Every
//! further level halves the interval, keeps the existing points, and sets new ones to the mean of their neighbours
//! plus a keyed displacement. A point depends on few points of the level before, so any rectangle of the lattice can
//! be computed on its own with the same bits: each coarser level needs about half as many points a side, down to some
//! six.

use std::ops::Range;

use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Cell, CellRect, Field, Grid};

/// The points whose mean a new point starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LatticeRule {
    /// In the middle of a square: its four corners. In the middle of an edge: the three or four points around it, two
    /// of which have just been set in the middles of squares.
    DiamondSquare,
    /// In the middle of a square: its four corners. In the middle of an edge: its two ends.
    Midpoint,
}

/// The parameters of a subdivided lattice.
#[derive(Debug, Clone, Copy)]
pub struct Lattice {
    /// The rule for the means.
    pub rule: LatticeRule,
    /// The largest elevation of the corners in metres, which are uniform in ± this value.
    pub corners: f64,
    /// The largest displacement of the points that are new on level 1, uniform in ± this value, in metres.
    pub amplitude: f64,
    /// The factor on the displacement from one level to the next.
    pub falling: f64,
    /// The key of all displacements.
    pub key: RandomKey,
}

/// A rectangle of lattice points whose north-western point is `start`. Points in its margin may be unset.
#[derive(Debug, Clone)]
pub struct LatticePatch {
    start: Cell<i64>,
    values: Field<f32>,
}

impl LatticePatch {
    /// Returns the value in metres at a lattice point inside the patch, by row and column of the lattice.
    #[inline]
    pub fn value_at(&self, i: i64, j: i64) -> f32 {
        self.values[((i - self.start.row) as usize, (j - self.start.col) as usize)]
    }
}

impl Lattice {
    /// Computes the points of `level` in these rows and columns, which must be within 0..=2^level.
    pub fn patch(&self, level: u32, points: CellRect<i64>) -> LatticePatch {
        // One more point on each side, because means are taken over neighbours.
        let around = points.grow_within(1, CellRect::from_corners([0, 0], [(1 << level) + 1; 2]));
        let (CellRect { start, end }, size) = (around, around.size());
        let key = self.key.derive_key(level.into());
        if level == 0 {
            let values = Field::from_fn(size, |r, c| {
                let corner = Cell::new(start.row + r as i64, start.col + c as i64);
                (self.corners * key.for_cell(corner).uniform_signed()) as f32
            });
            return LatticePatch { start, values };
        }
        // The coarser patch includes the point after the last one, because a new point has neighbours on both sides.
        let coarse = self.patch(level - 1, CellRect { start: start.map(|p| p >> 1), end: end.map(|p| (p >> 1) + 1) });
        let reach = self.max_displacement(level);
        let shift = |i: i64, j: i64| reach * key.for_cell([i, j]).uniform_signed() as f32;
        let world = |r: usize, c: usize| (start.row + r as i64, start.col + c as i64);
        // First the points kept from the coarser level and the new middles of squares; the second pass sets the
        // middles of edges.
        let corners = LatticePatch {
            start,
            values: Field::from_fn(size, |r, c| {
                let (i, j) = world(r, c);
                let (a, b) = (i >> 1, j >> 1);
                match (i & 1, j & 1) {
                    (0, 0) => coarse.value_at(a, b),
                    (1, 1) => {
                        let [north, south] = [a, a + 1].map(|a| coarse.value_at(a, b) + coarse.value_at(a, b + 1));
                        0.25 * (north + south) + shift(i, j)
                    }
                    // Middles of edges are set in the second pass, which needs the middles of squares.
                    _ => 0.0,
                }
            }),
        };
        let inside = |i: i64, j: i64| around.contains_cell([i, j]);
        let values = Field::from_fn(size, |r, c| {
            let (i, j) = world(r, c);
            let [north, south, west, east] = [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)];
            // On the lattice's border a neighbour is missing and the mean is over the others. In the patch's margin the
            // mean is wrong for the same reason; the margin is not read.
            let across = |p: (i64, i64), q: (i64, i64)| match (inside(p.0, p.1), inside(q.0, q.1)) {
                (true, true) => (corners.value_at(p.0, p.1) + corners.value_at(q.0, q.1), 2.0),
                (true, false) => (corners.value_at(p.0, p.1), 1.0),
                (false, true) => (corners.value_at(q.0, q.1), 1.0),
                (false, false) => (0.0, 0.0),
            };
            // `sum` is over the two ends of the edge, `other` over the middles of the squares on both sides of it.
            let ((sum, count), (other, others)) = match (i & 1, j & 1) {
                (0, 1) => (across(west, east), across(north, south)),
                (1, 0) => (across(north, south), across(west, east)),
                _ => return corners.value_at(i, j),
            };
            match self.rule {
                LatticeRule::DiamondSquare => (sum + other) / (count + others) + shift(i, j),
                LatticeRule::Midpoint => 0.5 * sum + shift(i, j),
            }
        });
        LatticePatch { start, values }
    }

    /// Returns a function that fills row `i` of the window, which must be one of `rows`, with one value per column:
    /// the surface at the cell centres (bilinear interpolation) plus `offset`, in metres.
    pub fn sampler(&self, grid: &Grid, rows: Range<usize>, offset: f32) -> impl Fn(usize, &mut [f32]) + Sync + use<> {
        let level = find_level(grid);
        let cells = grid.world[0].max(grid.world[1]) as f64;
        let side = (1u64 << level) as f64;
        let origin = Cell::from_axes(|axis| grid.origin[axis] - grid.first[axis]);
        // In intervals of the lattice: the interval that contains the cell's centre, and the fraction within it.
        let place = move |cell: i64| {
            let at = ((cell as f64 + 0.5) * (side / cells)).clamp(0.0, side);
            // A centre on the last lattice line belongs to the interval before it, whose fraction is then 1.
            let line = at.floor().min(side - 1.0);
            (line as i64, (at - line) as f32)
        };
        let first = Cell::new(origin.row + rows.start as i64, origin.col);
        let last = Cell::new(origin.row + rows.end as i64 - 1, origin.col + grid.cols() as i64 - 1);
        // Includes the points at both ends of the last cells' intervals.
        let points = CellRect { start: first.map(|cell| place(cell).0), end: last.map(|cell| place(cell).0 + 2) };
        let patch = (!rows.is_empty()).then(|| self.patch(level, points));
        move |i, out| {
            let Some(patch) = &patch else { return };
            let (a, v) = place(origin.row + i as i64);
            for (j, value) in out.iter_mut().enumerate() {
                let (b, u) = place(origin.col + j as i64);
                let [north, south] =
                    [a, a + 1].map(|a| patch.value_at(a, b) + u * (patch.value_at(a, b + 1) - patch.value_at(a, b)));
                *value = offset + (north + v * (south - north));
            }
        }
    }

    /// Returns the largest displacement of points that are new on `level` (1 or more), in metres.
    fn max_displacement(&self, level: u32) -> f32 {
        (self.amplitude * libm::pow(self.falling, f64::from(level - 1))) as f32
    }
}

/// Returns the first level whose intervals are no wider than a cell.
fn find_level(grid: &Grid) -> u32 {
    (grid.world[0].max(grid.world[1]).max(1) as u64).next_power_of_two().trailing_zeros()
}

/// Returns the approximate scratch memory in bytes for a grid of `cells` cells, at most `step` of which are computed
/// at once: up to four points per cell, held twice while a level is computed, plus the level before.
pub fn bytes(cells: u64, step: u64) -> u64 {
    // A point has 4 bytes and a cell 4 points. The level is held twice and the level before has a quarter of its
    // points: 2 + ¼ = 9/4.
    4 * 4 * 9 / 4 * cells.min(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lattice(rule: LatticeRule, corners: f64, amplitude: f64) -> Lattice {
        Lattice { rule, corners, amplitude, falling: 0.5, key: RandomKey::new(3, "lattice") }
    }

    /// The methods as in the literature: the whole lattice, in place, phase by phase.
    fn plain(lattice: &Lattice, levels: u32) -> Vec<Vec<f32>> {
        let side = 1usize << levels;
        let mut z = vec![vec![0.0f32; side + 1]; side + 1];
        for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            z[i * side][j * side] =
                (lattice.corners * lattice.key.derive_key(0).for_cell([i as i64, j as i64]).uniform_signed()) as f32;
        }
        for level in 1..=levels {
            let step = side >> level;
            let reach = (lattice.amplitude * 0.5f64.powi(level as i32 - 1)) as f32;
            let shift = |i: usize, j: usize| {
                let cell = [(i / step) as i64, (j / step) as i64];
                reach * lattice.key.derive_key(level.into()).for_cell(cell).uniform_signed() as f32
            };
            let lines: Vec<usize> = (0..=side).step_by(step).collect();
            let odd = |n: usize| (n / step) % 2 == 1;
            for &i in lines.iter().filter(|i| odd(**i)) {
                for &j in lines.iter().filter(|j| odd(**j)) {
                    let north = z[i - step][j - step] + z[i - step][j + step];
                    z[i][j] = 0.25 * (north + (z[i + step][j - step] + z[i + step][j + step])) + shift(i, j);
                }
            }
            for &i in &lines {
                for &j in lines.iter().filter(|j| odd(**j) != odd(i)) {
                    let column = (i.checked_sub(step).map(|n| z[n][j]), z.get(i + step).map(|row| row[j]));
                    let row = (j.checked_sub(step).map(|w| z[i][w]), z[i].get(j + step).copied());
                    let (ends, sides) = if odd(j) { (row, column) } else { (column, row) };
                    let all = [ends.0, ends.1, sides.0, sides.1];
                    let used = if lattice.rule == LatticeRule::Midpoint { &all[..2] } else { &all[..] };
                    let [two, more] = [&used[..2], &used[2..]].map(|part| part.iter().flatten().sum::<f32>());
                    z[i][j] = (two + more) / used.iter().flatten().count() as f32 + shift(i, j);
                }
            }
        }
        z
    }

    #[test]
    fn the_whole_lattice_is_that_of_the_plain_methods() {
        for rule in [LatticeRule::DiamondSquare, LatticeRule::Midpoint] {
            let lattice = lattice(rule, 100.0, 60.0);
            let patch = lattice.patch(4, CellRect::new([0, 0], [17, 17]));
            for (i, row) in plain(&lattice, 4).iter().enumerate() {
                for (j, value) in row.iter().enumerate() {
                    assert_eq!(patch.value_at(i as i64, j as i64), *value, "{rule:?} at {i}, {j}");
                }
            }
        }
    }

    #[test]
    fn a_part_has_the_bits_of_the_whole() {
        for rule in [LatticeRule::DiamondSquare, LatticeRule::Midpoint] {
            let lattice = lattice(rule, 100.0, 60.0);
            let whole = lattice.patch(6, CellRect::new([0, 0], [65, 65]));
            for (first, last) in [([0, 0], [0, 0]), ([13, 50], [27, 64]), ([31, 31], [33, 32]), ([64, 7], [64, 9])] {
                let part = lattice.patch(6, CellRect::from_corners(first, last.map(|n| n + 1)));
                for i in first[0]..=last[0] {
                    for j in first[1]..=last[1] {
                        assert_eq!(part.value_at(i, j), whole.value_at(i, j), "{rule:?} at {i}, {j}");
                    }
                }
            }
        }
    }

    #[test]
    fn without_displacement_the_midpoint_rule_interpolates_the_corners() {
        // Rounding of six levels of means of values under 100: 6 · 100 · 2⁻²⁴ < 4·10⁻⁵.
        let patch = lattice(LatticeRule::Midpoint, 100.0, 0.0).patch(6, CellRect::new([0, 0], [65, 65]));
        let [nw, ne, sw, se] = [(0, 0), (0, 64), (64, 0), (64, 64)].map(|(i, j)| patch.value_at(i, j));
        for (i, j) in [(0, 32), (1, 1), (17, 50), (64, 63), (32, 32)] {
            let (v, u) = (i as f32 / 64.0, j as f32 / 64.0);
            let exact = (1.0 - v) * ((1.0 - u) * nw + u * ne) + v * ((1.0 - u) * sw + u * se);
            assert!((patch.value_at(i, j) - exact).abs() < 4e-5, "{i}, {j}");
        }
    }

    #[test]
    fn a_finer_level_keeps_the_points_of_the_coarser() {
        let lattice = lattice(LatticeRule::DiamondSquare, 100.0, 60.0);
        let [coarse, fine] = [5, 6].map(|level| lattice.patch(level, CellRect::new([0, 0], [(1 << level) + 1; 2])));
        for i in 0..=32 {
            for j in 0..=32 {
                assert_eq!(coarse.value_at(i, j), fine.value_at(2 * i, 2 * j));
            }
        }
    }
}
