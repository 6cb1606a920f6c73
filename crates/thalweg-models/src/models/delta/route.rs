//! The path that a river takes over the land, found on a grid whose cell size does not depend on the terrain's.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Grid, Height, Point, Terrain};
use thalweg_noise::fractal::{Fractal, FractalSettings};

/// Steps to neighbours up to three cells away, without multiples of shorter steps. So many directions keep paths from
/// following the axes and diagonals of the grid.
const PATH_STEPS: [[i64; 2]; 32] = {
    let first = [[0, 1], [1, 1], [1, 2], [2, 1], [1, 3], [3, 1], [2, 3], [3, 2]];
    let mut all = [[0; 2]; 32];
    let mut k = 0;
    while k < 8 {
        let [y, x] = first[k];
        // The eight steps of one quadrant, rotated by quarter turns.
        all[k] = [y, x];
        all[8 + k] = [x, -y];
        all[16 + k] = [-y, -x];
        all[24 + k] = [-x, y];
        k += 1;
    }
    all
};

/// Range of ground heights relative to the river's level, in levee heights, to which the cost of a path responds.
const COST_HEIGHT_RANGE: [f64; 2] = [-1.5, 3.0];

/// A coarse view of the terrain for the path search.
pub struct PathSearchMap {
    size: [usize; 2],
    /// Cell width in metres.
    cell: f64,
    /// Mean height above the sea in metres.
    height: Vec<f64>,
    /// True for cells without enough data.
    closed: Vec<bool>,
    /// True for open sea: cells below sea level that are connected to the world's edge or, if there are none, the
    /// largest connected part.
    sea: Vec<bool>,
    /// Distance to the open sea in metres.
    far: Vec<f64>,
}

/// Radius in cells around the start that stays open even if an arm is there.
const OPEN_RADIUS_CELLS: f64 = 1.6;

/// Width in cells of the rim along the world's edge, in which no path ends; the number of cells a side above which a
/// world has a rim; and the factor of the cost there.
const RIM: (usize, usize, f64) = (3, 16, 4.0);

/// The parameters that determine the path of a river.
pub struct PathParameters {
    /// Slope of its water surface.
    pub slope: f64,
    /// Height of its levees in metres.
    pub levee: f64,
    /// Amplitude of the unevenness that it avoids, in metres.
    pub wander: f64,
    /// Wavelength of the unevenness in metres.
    pub wavelength: f64,
}

/// An entry of the search queue: the cost so far, and the cell.
#[derive(PartialEq)]
struct Visit(f64, usize);

impl Eq for Visit {}

impl PartialOrd for Visit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Visit {
    /// Reverses the order, so that a [`BinaryHeap`] returns the cheapest entry first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.total_cmp(&self.0).then(other.1.cmp(&self.1))
    }
}

impl PathSearchMap {
    /// Averages the terrain over cells about `cell` metres wide, at least as wide as the terrain's.
    pub fn new(terrain: &Terrain, sea: Height, cell: f64) -> Self {
        let grid = &terrain.grid;
        let cell = cell.max(grid.cell);
        let size = grid.size.map(|count| ((count as f64 * grid.cell / cell) as usize).clamp(1, count));
        let len = size[0] * size[1];
        let mut sums = vec![(0i64, 0i64, 0i64); len];
        for i in 0..grid.size[0] {
            for j in 0..grid.size[1] {
                // Sums are whole units, which do not depend on the order of the cells.
                let at = |k: usize, count: usize| (((k as f64 + 0.5) * grid.cell / cell) as usize).min(count - 1);
                let slot = &mut sums[at(i, size[0]) * size[1] + at(j, size[1])];
                slot.2 += 1;
                if !terrain.nodata.as_ref().is_some_and(|mask| mask[(i, j)]) {
                    slot.0 += i64::from(terrain.ground[(i, j)].0) - i64::from(sea.0);
                    slot.1 += 1;
                }
            }
        }
        let height = sums
            .iter()
            .map(|(sum, count, _)| *sum as f64 / (*count).max(1) as f64 / thalweg_core::terrain::height::UNITS)
            .collect();
        // Cells with more than half of their area missing are closed.
        let closed = sums.iter().map(|(_, count, all)| 2 * count < *all || *count == 0).collect();
        let mut map = Self { size, cell, height, closed, sea: vec![false; len], far: vec![f64::INFINITY; len] };
        // The distance to the sea is a path search as well: of cost 1 per metre, from all cells of the sea at once.
        map.sea = map.open_sea();
        let starts: Vec<usize> = (0..len).filter(|k| map.sea[*k]).collect();
        map.far = map.find_least_costs(&starts, |_| 1.0, |_| false).0;
        map
    }

    /// Finds the connected parts of the cells below sea level, and returns those that form the open sea.
    fn open_sea(&self) -> Vec<bool> {
        let len = self.height.len();
        let mut part = vec![0usize; len];
        let mut groups = vec![(false, 0usize)];
        for start in 0..len {
            if part[start] > 0 || self.closed[start] || self.height[start] > 0.0 {
                continue;
            }
            let number = groups.len();
            // Parts are numbered from 1 in the order of their first cells; 0 means no part. Flooding uses the four
            // nearest neighbours.
            let (mut edge, mut count) = (false, 0);
            let mut next = vec![start];
            part[start] = number;
            while let Some(k) = next.pop() {
                count += 1;
                let [i, j] = [k / self.size[1], k % self.size[1]];
                edge |= i == 0 || j == 0 || i + 1 == self.size[0] || j + 1 == self.size[1];
                for step in PATH_STEPS.iter().filter(|step| step[0].abs() + step[1].abs() == 1) {
                    let to = self.neighbour_at_offset(k, *step);
                    let low = |to: &usize| part[*to] == 0 && !self.closed[*to] && self.height[*to] <= 0.0;
                    if let Some(to) = to.filter(low) {
                        part[to] = number;
                        next.push(to);
                    }
                }
            }
            groups.push((edge, count));
        }
        let most = groups.iter().map(|(_, count)| *count).max().unwrap_or(0);
        // Water at the world's edge is open sea. Where none reaches the edge, the largest part takes its place.
        let any = groups.iter().any(|(edge, _)| *edge);
        part.iter()
            .map(|number| *number > 0 && if any { groups[*number].0 } else { groups[*number].1 == most })
            .collect()
    }

    /// Returns the cell at an offset from cell `k`, or `None` outside of the grid.
    fn neighbour_at_offset(&self, k: usize, step: [i64; 2]) -> Option<usize> {
        let i = (k / self.size[1]).checked_add_signed(step[0] as isize).filter(|i| *i < self.size[0])?;
        let j = (k % self.size[1]).checked_add_signed(step[1] as isize).filter(|j| *j < self.size[1])?;
        Some(i * self.size[1] + j)
    }

    /// Computes the least cost from the starts to each cell, up to the first cell for which `ends` is true (Dijkstra
    /// 1959). Returns the costs, the predecessor of each cell, and that first cell. The cost per metre of a step is
    /// the mean of the costs at its ends; an infinite cost closes a cell.
    fn find_least_costs(
        &self,
        starts: &[usize],
        cost: impl Fn(usize) -> f64,
        ends: impl Fn(usize) -> bool,
    ) -> (Vec<f64>, Vec<usize>, Option<usize>) {
        let len = self.height.len();
        let mut best = vec![f64::INFINITY; len];
        let mut from = vec![usize::MAX; len];
        let mut next: BinaryHeap<Visit> = starts.iter().map(|k| Visit(0.0, *k)).collect();
        starts.iter().for_each(|k| best[*k] = 0.0);
        while let Some(Visit(spent, k)) = next.pop() {
            // The entry is outdated: a cheaper path to the cell was found after it was queued.
            if spent > best[k] {
                continue;
            }
            if ends(k) {
                return (best, from, Some(k));
            }
            for step in PATH_STEPS {
                let Some(to) = self.neighbour_at_offset(k, step).filter(|to| !self.closed[*to]) else { continue };
                let far = ((step[0] * step[0] + step[1] * step[1]) as f64).sqrt() * self.cell;
                let all = spent + far * 0.5 * (cost(k) + cost(to));
                if all < best[to] {
                    (best[to], from[to]) = (all, k);
                    next.push(Visit(all, to));
                }
            }
        }
        (best, from, None)
    }

    /// Returns the cell of a place; places outside are moved to the nearest cell.
    fn cell_at_point(&self, place: Point) -> usize {
        let [i, j] = [0, 1].map(|a| ((place.axis_coordinate(a) / self.cell).max(0.0) as usize).min(self.size[a] - 1));
        i * self.size[1] + j
    }

    /// Finds the cheapest path from a place to the open sea over low ground, avoiding `others`. It ends in the first
    /// cell of the sea that is not on the world's rim. Returns `None` if there is no sea or no path, or if the place
    /// is in the sea.
    pub fn find_path_to_sea(
        &self,
        start: Point,
        others: &[&[Point]],
        choice: &PathParameters,
        key: RandomKey,
    ) -> Option<Vec<Point>> {
        // There are three octaves; the widest spans at least four cells, so that the search can follow it.
        let noise =
            Fractal::new(&FractalSettings::fbm(3, choice.wavelength.max(4.0 * self.cell), 0.5), None, key, self.cell);
        let grid = Grid::new(self.size, self.cell).ok()?;
        let mut uneven = vec![0.0f32; self.height.len()];
        for (i, line) in uneven.chunks_mut(self.size[1]).enumerate() {
            noise.fill_row(&grid, i, line);
        }
        let first = self.cell_at_point(start);
        // Cells of other arms and their neighbours are closed, except around the start.
        let mut shut = vec![false; self.height.len()];
        for place in others.iter().flat_map(|line| line.iter()) {
            let k = self.cell_at_point(*place);
            let near = PATH_STEPS.iter().filter(|step| step[0].abs().max(step[1].abs()) == 1);
            for to in near.filter_map(|step| self.neighbour_at_offset(k, *step)).chain([k]) {
                let centre = self.cell_centre(to);
                let (dx, dy) = (centre.x - start.x, centre.y - start.y);
                shut[to] |= dy * dy + dx * dx > (OPEN_RADIUS_CELLS * self.cell) * (OPEN_RADIUS_CELLS * self.cell);
            }
        }
        // The cost grows exponentially with the height of the ground, including unevenness, above the river's level.
        let cost: Vec<f64> = (0..self.height.len())
            .map(|k| {
                if shut[k] {
                    return f64::INFINITY;
                }
                // The river's level over a cell follows from the cell's distance to the sea. Cells without a path to it
                // have an infinite distance.
                let level = choice.slope * self.far[k].min(1e9);
                let over = self.height[k] + 3.0 * choice.wander * f64::from(uneven[k]) - level;
                let rim = if self.is_rim(k) { RIM.2 } else { 1.0 };
                // The limits of the exponent keep single mountains or trenches from deciding the whole path.
                rim * libm::exp((over / choice.levee.max(0.5)).clamp(COST_HEIGHT_RANGE[0], COST_HEIGHT_RANGE[1]))
            })
            .collect();
        if self.sea[first] || self.closed[first] {
            return None;
        }
        let (_, from, end) = self.find_least_costs(&[first], |k| cost[k], |k| self.sea[k] && !self.is_rim(k));
        // The predecessors lead back from the sea to the start.
        let mut cells = vec![end?];
        while let Some(before) = cells.last().and_then(|k| from.get(*k)).filter(|k| **k != usize::MAX) {
            cells.push(*before);
        }
        let mut path: Vec<Point> = cells.iter().rev().map(|k| self.cell_centre(*k)).collect();
        // The path begins at the exact place and not in the centre of its cell.
        if let Some(place) = path.first_mut() {
            *place = start;
        }
        Some(path)
    }

    /// Returns true if a cell is on the rim, in a world large enough to have one.
    fn is_rim(&self, k: usize) -> bool {
        let [i, j] = [k / self.size[1], k % self.size[1]];
        let near = |at: usize, count: usize| count > RIM.1 && at.min(count - 1 - at) < RIM.0;
        near(i, self.size[0]) || near(j, self.size[1])
    }

    /// Returns the centre of a cell in metres.
    fn cell_centre(&self, k: usize) -> Point {
        let metres = |n: usize| (n as f64 + 0.5) * self.cell;
        Point { x: metres(k % self.size[1]), y: metres(k / self.size[1]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Field;

    /// Returns land that slopes to a sea in the south, with a pond below sea level in its middle.
    fn land(cells: usize, cell: f64, wall: bool) -> Terrain {
        let grid = Grid::new([cells, cells], cell).unwrap();
        let ground = Field::from_fn([cells, cells], |i, j| {
            let [y, x] = [(i as f64 + 0.5) * cell, (j as f64 + 0.5) * cell];
            let pond = (y - 3000.0).abs() < 600.0 && (x - 5000.0).abs() < 600.0;
            let walled = wall && (y - 5000.0).abs() < 400.0 && x > 2000.0;
            Height::from_metres_clamped(if pond {
                -5.0
            } else if walled {
                20.0
            } else {
                1e-3 * (8000.0 - y)
            })
        });
        Terrain::from_ground(grid, ground).unwrap()
    }

    const CHOICE: PathParameters = PathParameters { slope: 1e-4, levee: 2.0, wander: 0.0, wavelength: 2000.0 };

    #[test]
    fn a_way_leads_to_the_open_sea_round_what_is_high_or_taken() {
        let map = PathSearchMap::new(&land(200, 50.0, true), Height::ZERO, 400.0);
        let path = map.find_path_to_sea(Point::new(5000.0, 10.0), &[], &CHOICE, RandomKey::ZERO).unwrap();
        assert_eq!(path[0], Point::new(5000.0, 10.0));
        assert!((8000.0..9000.0).contains(&path.last().unwrap().y), "{path:?}");
        assert!(path.iter().any(|place| (4500.0..5500.0).contains(&place.y) && place.x < 2400.0), "{path:?}");
        // A line across the land leaves no path. On coarser cells the path is the same.
        let across: Vec<Point> = (0..100).map(|k| Point::new(f64::from(k) * 100.0, 6500.0)).collect();
        assert_eq!(map.find_path_to_sea(Point::new(5000.0, 10.0), &[&across], &CHOICE, RandomKey::ZERO), None);
        let coarse = PathSearchMap::new(&land(100, 100.0, true), Height::ZERO, 400.0);
        assert_eq!(coarse.find_path_to_sea(Point::new(5000.0, 10.0), &[], &CHOICE, RandomKey::ZERO), Some(path));
    }

    #[test]
    fn nothing_begins_in_the_sea_nor_without_one() {
        let map = PathSearchMap::new(&land(100, 100.0, false), Height::ZERO, 400.0);
        assert_eq!(map.find_path_to_sea(Point::new(5000.0, 9900.0), &[], &CHOICE, RandomKey::ZERO), None);
        let dry = PathSearchMap::new(&land(100, 100.0, false), Height::from_metres_clamped(-50.0), 400.0);
        assert_eq!(dry.find_path_to_sea(Point::new(5000.0, 10.0), &[], &CHOICE, RandomKey::ZERO), None);
        let speck = Terrain::new(Grid::new([1, 1], 100.0).unwrap());
        assert_eq!(
            PathSearchMap::new(&speck, Height::from_metres_clamped(-1.0), 400.0).find_path_to_sea(
                Point::new(50.0, 50.0),
                &[],
                &CHOICE,
                RandomKey::ZERO
            ),
            None
        );
    }
}
