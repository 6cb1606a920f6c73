//! Drainage basins of a continent: the lengths of flow paths from the interior to the mouths of its great rivers.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use thalweg_core::base::rng::Key;
use thalweg_core::{Cell, Field, Grid, Point};
use thalweg_flow::Neighbourhood;

/// The properties of a lattice cell from which the basins are derived.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Site {
    /// The crust of the cell; above 0 it is land.
    pub crust: f32,
    /// The position relative to the continent's drift: 1 on the leading side, −1 on the trailing side.
    pub leading: f32,
    /// The cost of a great river's path through the cell, relative to 1 on open plains.
    pub hard: f32,
}

/// The great basins of a continent, as fields on a lattice.
pub struct Basins {
    grid: Grid,
    /// The length (cost) of the flow path to a great river's mouth, scaled to 1 at the far end of the longest path.
    way: Field<f32>,
    /// The distance to the sea in metres.
    coast: Field<f32>,
    /// The closeness of a mouth: 1 there, 0 from twice a rim's width on.
    open: Field<f32>,
    /// The distance in metres to a smoothed coastline, without its bays and headlands.
    broad: Field<f32>,
}

/// The values of the basin fields at one place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Basin {
    /// The length (cost) of the flow path to a great river's mouth, 1 at the far end of the longest path.
    pub way: f32,
    /// The distance to the sea in metres.
    pub coast: f32,
    /// The closeness of a mouth: 1 there, 0 from twice a rim's width on.
    pub open: f32,
    /// The distance in metres to a smoothed coastline, without its bays and headlands.
    pub broad: f32,
}

/// The additional cost per metre of a path at the coast, relative to a path inland. It keeps flow paths away from
/// coasts.
const SHORE: f32 = 5.0;

/// The knight's moves, which extend the eight neighbours so that paths can run in sixteen directions.
const FURTHER: [(isize, isize); 8] = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)];

/// Returns the cells a knight's move away from a cell, and their distance in cells (√5).
fn reached([rows, cols]: [usize; 2], k: usize) -> impl Iterator<Item = (usize, f32)> {
    let (i, j) = (k / cols, k % cols);
    FURTHER.into_iter().filter_map(move |(down, right)| {
        let (i, j) = (i.checked_add_signed(down)?, j.checked_add_signed(right)?);
        (i < rows && j < cols).then_some((i * cols + j, 2.236_068))
    })
}

/// Returns the up to eight neighbours of a cell, and their distance in cells.
fn near([rows, cols]: [usize; 2], k: usize) -> impl Iterator<Item = (usize, f32)> {
    Neighbourhood::new([rows, cols], [k / cols, k % cols])
        .map(move |(direction, Cell { row: i, col: j })| (i * cols + j, direction.distance_f32()))
}

/// Computes the least sum of `cost` over paths from the starts to each cell, by Dijkstra's algorithm. `cost` receives
/// the two cells of a move and its length in cells, and returns `None` for a move that is not allowed. Cells that no
/// path reaches get infinity. The queue is ordered by the bits of the sums, since the bits of non-negative
/// floating-point numbers have the order of their values.
fn ways(size: [usize; 2], starts: &[(usize, f32)], mut cost: impl FnMut(usize, usize, f32) -> Option<f32>) -> Vec<f32> {
    let mut sums = vec![f32::INFINITY; size[0] * size[1]];
    let mut queue = BinaryHeap::new();
    for &(k, sum) in starts {
        sums[k] = sums[k].min(sum);
        queue.push(Reverse((sum.to_bits(), k)));
    }
    while let Some(Reverse((bits, k))) = queue.pop() {
        let sum = f32::from_bits(bits);
        if sum > sums[k] {
            continue;
        }
        for (n, length) in near(size, k).chain(reached(size, k)) {
            if let Some(more) = cost(k, n, length).map(|cost| sum + cost)
                && more < sums[n]
            {
                sums[n] = more;
                queue.push(Reverse((more.to_bits(), n)));
            }
        }
    }
    sums
}

impl Basins {
    /// Derives the basins from the sites of a lattice. There are `mouths` of them, the greatest first; `rim` is the
    /// width in metres of the raised rims that separate basins from coasts.
    pub fn new(grid: Grid, sites: &Field<Site>, mouths: u32, rim: f64, key: Key) -> Self {
        let size = grid.size;
        let count = grid.len();
        let cell = grid.cell as f32;
        let rim = rim as f32;
        let all = sites.as_slice();
        // The open sea consists of the sea cells that are connected to the outermost cells of the lattice.
        let rows_cols = |k: usize| (k / size[1], k % size[1]);
        let outermost = |k: &usize| {
            let (i, j) = rows_cols(*k);
            i == 0 || j == 0 || i + 1 == size[0] || j + 1 == size[1]
        };
        // A strait narrower than three cells does not count as sea, because on finer cells it would be a row of
        // pools.
        let is_wide = |k: usize| all[k].crust <= 0.0 && near(size, k).all(|(n, _)| all[n].crust <= 0.0);
        let mut is_sea = vec![false; count];
        let mut stack: Vec<usize> = (0..count).filter(outermost).filter(|k| is_wide(*k)).collect();
        while let Some(k) = stack.pop() {
            if !std::mem::replace(&mut is_sea[k], true) && is_wide(k) {
                stack.extend(near(size, k).map(|(n, _)| n));
            }
        }
        let seas: Vec<_> = (0..count).filter(|k| is_sea[*k]).map(|k| (k, 0.0)).collect();
        let coast = ways(size, &seas, |_, _, length| Some(length * cell));
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
                for (n, _) in near(size, k) {
                    if !is_sea[n] && land[n] == usize::MAX {
                        land[n] = number;
                        stack.push(n);
                    }
                }
            }
            sizes.push(size_of);
        }
        let largest = (0..sizes.len()).max_by_key(|number| (sizes[*number], Reverse(*number)));
        let shores: Vec<usize> =
            (0..count).filter(|k| Some(land[*k]) == largest && near(size, *k).any(|(n, _)| is_sea[n])).collect();
        // Score each coastal cell as a mouth: great rivers reach the sea where the coastal cell is easy to pass, on
        // the trailing side, and away from the mouths that are already placed.
        let mut taken: Vec<(usize, f32)> = Vec::new();
        let side = (sizes.iter().max().copied().unwrap_or(0) as f32).sqrt() * cell;
        for number in 0..mouths {
            let score = |k: usize| {
                let (i, j) = rows_cols(k);
                let apart = taken.iter().map(|(other, _)| {
                    let (a, b) = rows_cols(*other);
                    let [dy, dx] = [i as f32 - a as f32, j as f32 - b as f32];
                    (dy * dy + dx * dx).sqrt() * cell
                });
                let apart = apart.fold(f32::INFINITY, f32::min) / side;
                let drawn = key.and(u64::from(number)).cell([i as i64, j as i64]).unit() as f32;
                let clear = 0.35 / (0.35 + all[k].hard);
                let trailing = if number == 0 { 0.6 - all[k].leading } else { 0.5 - 0.5 * all[k].leading };
                let spaced = if number == 0 { 0.0 } else { 2.0 * (apart - 0.7).min(0.0) };
                (trailing + clear + 0.5 * drawn + spaced, k)
            };
            let best = shores.iter().map(|k| score(*k)).max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let Some((_, k)) = best else { break };
            // A later mouth belongs to a smaller river: its paths start with an additional length.
            let handicap = if number == 0 { 0.0 } else { 0.55 + 0.15 * number as f32 };
            taken.push((k, handicap * side));
        }
        let cost = |_: usize, n: usize, length: f32| {
            if Some(land[n]) != largest {
                return None;
            }
            let shore = SHORE * (1.0 - coast[n] / rim).max(0.0);
            Some(length * cell * (1.0 + shore) * all[n].hard)
        };
        let mouth = |k: usize| near(size, k).map(|(n, _)| n).chain([k]).collect::<Vec<_>>();
        let mut way = ways(size, &taken, cost);
        let longest = way.iter().filter(|sum| sum.is_finite()).fold(0.0f32, |a, b| a.max(*b)).max(1.0);
        // Islands and the sea take the value of the nearest cell of the largest land, so that the field has no jumps.
        let mut last = vec![0usize; count];
        let mut far = vec![f32::INFINITY; count];
        let mut queue: VecDeque<usize> = (0..count).filter(|k| way[*k].is_finite()).collect();
        for &k in &queue {
            (far[k], last[k]) = (0.0, k);
        }
        while let Some(k) = queue.pop_front() {
            for (n, _) in near(size, k) {
                if far[n].is_infinite() {
                    (far[n], last[n]) = (far[k] + 1.0, last[k]);
                    queue.push_back(n);
                }
            }
        }
        for k in 0..count {
            if way[k].is_infinite() {
                way[k] = if far[k].is_infinite() { 0.0 } else { way[last[k]] };
            }
        }
        // One pass of blurring removes the kinks, which would be visible on the cells of any width.
        let way = blurred(&way, size, 1);
        let starts: Vec<_> = taken.iter().flat_map(|(k, _)| mouth(*k)).map(|k| (k, 0.0)).collect();
        let open = ways(size, &starts, |_, _, length| Some(length * cell));
        let field = |values: &[f32], of: &(dyn Fn(f32) -> f32 + Sync)| {
            Field::generate(size, |i, j| of(values[i * size[1] + j]))
        };
        Self {
            way: field(&way, &|sum| sum / longest),
            broad: field(&blurred(&coast, size, (0.3 * rim / cell).round() as usize), &|metres| metres),
            coast: field(&coast, &|metres| metres),
            open: field(&open, &|metres| {
                let t = (1.0 - 0.5 * metres / rim).max(0.0);
                t * t * (3.0 - 2.0 * t)
            }),
            grid,
        }
    }

    /// Returns the width of the lattice's cells in metres.
    pub fn cell(&self) -> f32 {
        self.grid.cell as f32
    }

    /// Returns the basin's values at a place, interpolated by quadratic B-splines, which show no facets.
    pub fn at(&self, Point { x, y }: Point) -> Basin {
        let spot = |metres: f64, axis: usize| {
            let last = self.grid.size[axis] - 1;
            let at = (metres / self.grid.cell - 0.5).clamp(0.0, last as f64);
            let middle = at.round();
            let t = (at - middle) as f32;
            let weights = [0.5 * (0.5 - t) * (0.5 - t), 0.75 - t * t, 0.5 * (0.5 + t) * (0.5 + t)];
            let middle = middle as usize;
            ([middle.saturating_sub(1), middle, (middle + 1).min(last)], weights)
        };
        let ((rows, down), (cols, right)) = (spot(y, 0), spot(x, 1));
        let mut basin = Basin { way: 0.0, coast: 0.0, open: 0.0, broad: 0.0 };
        for (i, a) in rows.into_iter().zip(down) {
            for (j, b) in cols.into_iter().zip(right) {
                let weight = a * b;
                basin.way += weight * self.way[(i, j)];
                basin.coast += weight * self.coast[(i, j)];
                basin.open += weight * self.open[(i, j)];
                basin.broad += weight * self.broad[(i, j)];
            }
        }
        basin
    }
}

/// Averages over `radius` cells to each side along both axes, three times, which approximates a Gaussian blur.
fn blurred(values: &[f32], [rows, cols]: [usize; 2], radius: usize) -> Vec<f32> {
    let along = |values: &[f32], [rows, cols]: [usize; 2]| {
        // The output is transposed, so that the second call works along the other axis.
        let mut out = vec![0.0; values.len()];
        for i in 0..rows {
            for j in 0..cols {
                let span = j.saturating_sub(radius)..(j + radius + 1).min(cols);
                let count = span.len() as f32;
                out[j * rows + i] = values[i * cols..][span].iter().sum::<f32>() / count;
            }
        }
        out
    };
    (0..3).fold(values.to_vec(), |values, _| along(&along(&values, [rows, cols]), [cols, rows]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns 40 × 40 cells of 10 km with a round land of radius 15 cells, a pond of five cells and an inlet one
    /// cell wide; the east leads.
    fn disc() -> Field<Site> {
        let mut sites = Field::new([40, 40], Site { crust: -1.0, leading: 0.0, hard: 1.0 });
        for (i, j) in (0..40).flat_map(|i| (0..40).map(move |j| (i, j))) {
            let [y, x] = [i as f32 - 19.5, j as f32 - 19.5];
            let far = (x * x + y * y).sqrt();
            let pond = (x - 5.0).abs() < 2.0 && (y - 5.0).abs() < 2.0;
            let inlet = i == 19 && x < 0.0;
            let crust = if far > 15.0 || pond || inlet { -0.2 } else { 0.4 };
            sites[(i, j)] = Site { crust, leading: x / far.max(1.0), hard: 1.0 };
        }
        sites
    }

    fn laid(mouths: u32) -> Basins {
        let grid = Grid::new([40, 40], 10_000.0).unwrap();
        Basins::new(grid, &disc(), mouths, 30_000.0, Key::new(1, "plates"))
    }

    #[test]
    fn a_pond_and_a_narrow_inlet_are_no_sea() {
        let basins = laid(1);
        let at = |i: f64, j: f64| basins.at(Point { x: (j + 0.5) * 1e4, y: (i + 0.5) * 1e4 });
        for (i, j) in [(24.0, 24.0), (19.0, 15.0), (19.0, 19.0)] {
            assert!(at(i, j).coast > 60_000.0, "{i}, {j}: {:?}", at(i, j));
        }
        assert!((at(19.5, 19.5).coast - 1.5e5).abs() < 2e4 && at(2.0, 2.0).coast == 0.0);
    }

    #[test]
    fn ways_lead_to_mouths_behind() {
        let basins = laid(1);
        let sites = disc();
        let size = basins.grid.size;
        let land: Vec<usize> = (0..1600).filter(|k| basins.coast.as_slice()[*k] > 0.0).collect();
        let way = |k: usize| basins.way.as_slice()[k];
        let mouth = *land.iter().min_by(|a, b| way(**a).total_cmp(&way(**b))).unwrap();
        assert!(sites.as_slice()[mouth].leading < 0.0 && basins.open.as_slice()[mouth] > 0.5);
        // From every inland cell the path length decreases until a mouth is near.
        for &start in &land {
            let mut k = start;
            while let Some((n, _)) =
                near(size, k).filter(|(n, _)| way(*n) < way(k)).min_by(|a, b| way(a.0).total_cmp(&way(b.0)))
            {
                k = n;
            }
            let [a, b] = [k, mouth].map(|k| [(k / 40) as f32, (k % 40) as f32]);
            assert!((a[0] - b[0]).abs() <= 3.0 && (a[1] - b[1]).abs() <= 3.0, "{start}: ends at {k}, not {mouth}");
        }
    }
}
