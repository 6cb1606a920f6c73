//! Drainage basins of a continent: the lengths of flow paths from the interior to the mouths of its great rivers.

use std::collections::VecDeque;

use crate::models::plates::lattice::{blur_values, compute_path_costs, list_adjacent_cells};
use crate::models::plates::mainland::Mainland;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Field, Grid, Point};

/// The properties of a lattice cell from which the basins are derived.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BasinSite {
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

impl Basins {
    /// Derives the basins from the sites of a lattice. There are `mouths` of them, the greatest first; `rim` is the
    /// width in metres of the raised rims that separate basins from coasts.
    pub fn new(grid: Grid, sites: &Field<BasinSite>, mouths: u32, rim: f64, key: RandomKey) -> Self {
        let size = grid.size;
        let cell = grid.cell as f32;
        let rim = rim as f32;
        let all = sites.as_slice();
        let mainland = Mainland::find(&grid, sites);
        let seas: Vec<_> = (0..grid.len()).filter(|k| mainland.is_sea[*k]).map(|k| (k, 0.0)).collect();
        // The distance to the sea is a path search with the length as cost.
        let coast = compute_path_costs(size, &seas, |_, _, length| Some(length * cell));
        let taken = mainland.place_mouths(&grid, sites, mouths, key);
        // Paths stay on the largest land. They avoid coasts and hard ground, so that rivers come from far inland.
        let cost = |_: usize, n: usize, length: f32| {
            if Some(mainland.land[n]) != mainland.largest {
                return None;
            }
            let shore = SHORE * (1.0 - coast[n] / rim).max(0.0);
            Some(length * cell * (1.0 + shore) * all[n].hard)
        };
        let mouth = |k: usize| list_adjacent_cells(size, k).map(|(n, _)| n).chain([k]).collect::<Vec<_>>();
        // One search starts from all mouths at once: each cell gets the mouth that is nearest by cost.
        let mut way = compute_path_costs(size, &taken, cost);
        let longest = way.iter().filter(|sum| sum.is_finite()).fold(0.0f32, |a, b| a.max(*b)).max(1.0);
        fill_beyond_paths(&mut way, size);
        // One pass of blurring removes the kinks, which would be visible on the cells of any width.
        let way = blur_values(&way, size, 1);
        let starts: Vec<_> = taken.iter().flat_map(|(k, _)| mouth(*k)).map(|k| (k, 0.0)).collect();
        let open = compute_path_costs(size, &starts, |_, _, length| Some(length * cell));
        let field =
            |values: &[f32], of: &(dyn Fn(f32) -> f32 + Sync)| Field::from_fn(size, |i, j| of(values[i * size[1] + j]));
        Self {
            way: field(&way, &|sum| sum / longest),
            broad: field(&blur_values(&coast, size, (0.3 * rim / cell).round() as usize), &|metres| metres),
            coast: field(&coast, &|metres| metres),
            open: field(&open, &|metres| {
                let t = (1.0 - 0.5 * metres / rim).max(0.0);
                t * t * (3.0 - 2.0 * t)
            }),
            grid,
        }
    }

    /// Returns the width of the lattice's cells in metres.
    pub fn cell_width(&self) -> f32 {
        self.grid.cell as f32
    }

    /// Returns the basin's values at a place, interpolated by quadratic B-splines, which show no facets.
    pub fn interpolate_at(&self, Point { x, y }: Point) -> Basin {
        let spot = |metres: f64, axis: usize| {
            let last = self.grid.size[axis] - 1;
            let at = (metres / self.grid.cell - 0.5).clamp(0.0, last as f64);
            // The three nearest cells have weights; at the lattice's rim the outermost cell counts twice.
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

/// Gives islands and the sea, where costs are infinite, the value of the nearest cell of the largest land, so that the
/// field has no jumps.
fn fill_beyond_paths(way: &mut [f32], size: [usize; 2]) {
    let count = way.len();
    let mut last = vec![0usize; count];
    let mut far = vec![f32::INFINITY; count];
    let mut queue: VecDeque<usize> = (0..count).filter(|k| way[*k].is_finite()).collect();
    for &k in &queue {
        (far[k], last[k]) = (0.0, k);
    }
    // The search is breadth first, in steps of neighbours, from all reached cells at once.
    while let Some(k) = queue.pop_front() {
        for (n, _) in list_adjacent_cells(size, k) {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns 40 × 40 cells of 10 km with a round land of radius 15 cells, a pond of five cells and an inlet one
    /// cell wide; the east leads.
    fn disc() -> Field<BasinSite> {
        let mut sites = Field::new([40, 40], BasinSite { crust: -1.0, leading: 0.0, hard: 1.0 });
        for (i, j) in (0..40).flat_map(|i| (0..40).map(move |j| (i, j))) {
            let [y, x] = [i as f32 - 19.5, j as f32 - 19.5];
            let far = (x * x + y * y).sqrt();
            let pond = (x - 5.0).abs() < 2.0 && (y - 5.0).abs() < 2.0;
            let inlet = i == 19 && x < 0.0;
            let crust = if far > 15.0 || pond || inlet { -0.2 } else { 0.4 };
            sites[(i, j)] = BasinSite { crust, leading: x / far.max(1.0), hard: 1.0 };
        }
        sites
    }

    fn laid(mouths: u32) -> Basins {
        let grid = Grid::new([40, 40], 10_000.0).unwrap();
        Basins::new(grid, &disc(), mouths, 30_000.0, RandomKey::new(1, "plates"))
    }

    #[test]
    fn a_pond_and_a_narrow_inlet_are_no_sea() {
        let basins = laid(1);
        let at = |i: f64, j: f64| basins.interpolate_at(Point { x: (j + 0.5) * 1e4, y: (i + 0.5) * 1e4 });
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
            while let Some((n, _)) = list_adjacent_cells(size, k)
                .filter(|(n, _)| way(*n) < way(k))
                .min_by(|a, b| way(a.0).total_cmp(&way(b.0)))
            {
                k = n;
            }
            let [a, b] = [k, mouth].map(|k| [(k / 40) as f32, (k % 40) as f32]);
            assert!((a[0] - b[0]).abs() <= 3.0 && (a[1] - b[1]).abs() <= 3.0, "{start}: ends at {k}, not {mouth}");
        }
    }
}
