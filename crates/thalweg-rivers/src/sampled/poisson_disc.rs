//! Poisson-disc sampling keyed by position: any window of the world has the same points.

use crate::Site;
use crate::sampled::RiverSampling;
use crate::sampled::buckets::Buckets;
use crate::sampled::forest::SamplePoints;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Cell, Point};
use thalweg_flow::CellRole;

/// The distance d₆ within which points are connected, in spacings; a point has about six neighbours within it.
const JOINED: f64 = 1.9;

/// Number of candidates per spacing along each axis.
const CANDIDATES: f64 = 4.0;

/// Least number of cells per spacing, so that there are no more candidates than cells.
const MIN_CELLS_PER_SPACING: f64 = 4.0;

/// Sampled points, with the cells that they represent.
pub struct GroundSamples {
    /// The points.
    pub points: SamplePoints,
    /// Row-major index of each point's cell.
    pub cells: Vec<u32>,
    /// Numbers of the points at springs.
    pub springs: Vec<u32>,
}

/// Distance from a window's edge, in spacings, beyond which its samples are those of the world: four tiles, one
/// spacing for open edges, which are tested first, and one over which the slope is measured.
#[cfg(test)]
const FELT: f64 = 6.0;

/// Priority of a candidate; lower classes are tested first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Given,
    Rim,
    Free,
}

/// A candidate for a sample point.
struct SampleCandidate {
    class: Class,
    /// Turn of its tile, 0 to 3.
    phase: u8,
    rank: u64,
    /// Row and column in cells.
    place: Cell<f64>,
    spring: bool,
}

/// Samples the ground of a site.
///
/// Each square of a lattice with a quarter of the spacing has one candidate at a random position, and each candidate
/// has a random rank. The lattice belongs to the world, and so do tiles as wide as the spacing. The tiles take turns:
/// those of even rows and columns come first, those of odd ones last. In the order of turns, then ranks, each
/// candidate becomes a point if no point is within r. Therefore no two points are closer than r, and no place is
/// farther than 2·r from a point: the candidate of the place's own square is at most 0.36·r away, and that candidate
/// is within r of a point. Springs, mouths and, where there is no sea, open edges are tested before the other
/// candidates.
///
/// Tiles of the same turn are farther apart than the spacing, so a point does not depend on any tile beyond the third
/// from its own. The samples of a window therefore equal those of the world exactly, from six spacings inward.
pub fn sample_ground(site: &Site<'_>, sampling: &RiverSampling, key: RandomKey) -> GroundSamples {
    let grid = site.land.grid;
    let cell = grid.cell;
    let [rows, cols] = grid.size;
    let ground = site.land.ground.as_slice();
    let index = |Cell { row: y, col: x }: Cell<f64>| (y as usize).min(rows - 1) * cols + (x as usize).min(cols - 1);
    let finest = 1.0 - sampling.relief;
    // The upper limit is larger than the map, so that at most one free point remains.
    let spacing = (sampling.spacing / cell).max(MIN_CELLS_PER_SPACING / finest).min((rows + cols) as f64 * 2.0);
    let roles = site.land.cell_roles();
    let roles = roles.as_slice();
    let mut asked: Vec<SampleCandidate> = Vec::new();
    let middle = |k: usize| Cell::new((k / cols) as f64 + 0.5, (k % cols) as f64 + 0.5);
    let rank = |k: usize| key.derive_key(1).for_cell(grid.world_cell(k / cols, k % cols)).random_bits();
    let phase = |place: Cell<f64>| {
        let odd = |axis: usize| ((place[axis] + grid.origin[axis] as f64) / spacing).floor().rem_euclid(2.0) as u8;
        2 * odd(0) + odd(1)
    };
    for spring in site.springs {
        let k = spring.cell[0] * cols + spring.cell[1];
        asked.push(SampleCandidate { class: Class::Given, phase: 0, rank: rank(k), place: middle(k), spring: true });
    }
    let has_sea = (0..grid.len()).any(|k| site.is_sea(k) && !site.is_void(k));
    for (k, part) in roles.iter().enumerate() {
        let class = match part {
            CellRole::Sink if !site.is_sea(k) => Class::Given,
            CellRole::Rim if !has_sea => Class::Rim,
            _ => continue,
        };
        asked.push(SampleCandidate { class, phase: phase(middle(k)), rank: rank(k), place: middle(k), spring: false });
    }
    // Where points may be closer, the lattice is finer by the same factor.
    let step = spacing * finest / CANDIDATES;
    let squares = [0, 1].map(|axis| {
        let first = (grid.origin[axis] as f64 / step).floor() as i64;
        first..((grid.origin[axis] + grid.size[axis] as i64) as f64 / step).ceil() as i64
    });
    for i in squares[0].clone() {
        for j in squares[1].clone() {
            let chance = key.derive_key(2).for_cell([i, j]);
            let [u, v] = chance.uniform_pair();
            let place = Cell::new(
                (i as f64 + u) * step - grid.origin[0] as f64, //
                (j as f64 + v) * step - grid.origin[1] as f64,
            );
            let inside = place[0] >= 0.0 && place[1] >= 0.0 && place[0] < rows as f64 && place[1] < cols as f64;
            if inside && !site.is_void(index(place)) && !site.is_barred(index(place)) {
                let rank = chance.derive_key(3).random_bits();
                asked.push(SampleCandidate { class: Class::Free, phase: phase(place), rank, place, spring: false });
            }
        }
    }
    let turn = |of: &SampleCandidate| (of.class, of.phase, of.rank);
    asked.sort_unstable_by(|a, b| turn(a).cmp(&turn(b)).then(a.place[0].total_cmp(&b.place[0])));
    let radius = |place: Cell<f64>| {
        if sampling.relief == 0.0 {
            return spacing;
        }
        // Reduce the distance by the slope over one spacing: half of the reduction at a slope of one in four.
        let at = |dy: f64, dx: f64| {
            f64::from(ground[index(Cell::new((place[0] + dy).max(0.0), (place[1] + dx).max(0.0)))].0)
        };
        let half = spacing / 2.0;
        let [south, east] = [at(half, 0.0) - at(-half, 0.0), at(0.0, half) - at(0.0, -half)];
        let slope = (south * south + east * east).sqrt() / thalweg_core::terrain::height::UNITS / (spacing * cell);
        spacing * (1.0 - sampling.relief * slope / (slope + 0.25))
    };
    // Dart throwing in the order of turns and ranks. A given candidate (a spring or a mouth) is only rejected if
    // another point has the same position.
    let mut near = Buckets::new(grid.size, spacing);
    let mut sampled = GroundSamples {
        points: SamplePoints { place: vec![], height: vec![], reach: vec![], is_root: vec![] },
        cells: vec![],
        springs: vec![],
    };
    let mut taken: Vec<(Cell<f64>, f64)> = Vec::new();
    for candidate in asked {
        let own = radius(candidate.place);
        let mut free = true;
        near.visit_near(candidate.place, spacing, |n| {
            let (other, radius) = taken[n as usize];
            let [dy, dx] = [other[0] - candidate.place[0], other[1] - candidate.place[1]];
            let min_distance = if candidate.class == Class::Given { 1e-6 } else { own.min(radius) };
            free &= dy * dy + dx * dx >= min_distance * min_distance;
        });
        if !free {
            continue;
        }
        let n = taken.len() as u32;
        near.add(candidate.place, n);
        taken.push((candidate.place, own));
        let k = index(candidate.place);
        let place = candidate.place.map(|x| x * cell);
        sampled.points.place.push(Point { x: place.col, y: place.row });
        sampled.points.height.push(ground[k].metres());
        // Reaches and positions are in metres, as the graph of points needs them.
        sampled.points.reach.push(JOINED * own * cell);
        let is_edge = !has_sea && roles[k] == CellRole::Rim && candidate.class != Class::Free;
        sampled.points.is_root.push(roles[k] == CellRole::Sink || is_edge);
        sampled.cells.push(k as u32);
        if candidate.spring {
            sampled.springs.push(n);
        }
    }
    sampled
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::{CellRect, Field, Grid, Height};
    use thalweg_flow::Land;

    fn plain(grid: &Grid) -> Field<Height> {
        Field::from_fn(grid.size, |i, _| Height::from_metres_clamped(10.0 + i as f64))
    }

    fn sampled(grid: &Grid, sampling: &RiverSampling) -> GroundSamples {
        let ground = plain(grid);
        sample_ground(
            &Site::from_land(Land { grid, ground: &ground, nodata: None, outlets: &[] }),
            sampling,
            RandomKey::new(5, "points"),
        )
    }

    #[test]
    fn points_are_r_apart_and_nowhere_is_two_r_away_from_all() {
        let grid = Grid::new([200, 160], 10.0).unwrap();
        let sampling = RiverSampling { spacing: 90.0, ..RiverSampling::default() };
        let SamplePoints { place, reach, .. } = sampled(&grid, &sampling).points;
        let apart = |a: Point, b: Point| a.distance_to(b);
        let mut neighbours = 0;
        for (k, a) in place.iter().enumerate() {
            assert!(place[..k].iter().all(|b| apart(*a, *b) >= 90.0));
            neighbours += place.iter().filter(|b| apart(*a, **b) < reach[0]).count() - 1;
        }
        for (y, x) in (0..200).flat_map(|i| (0..160).map(move |j| (f64::from(i) * 10.0, f64::from(j) * 10.0))) {
            assert!(place.iter().any(|p| apart(*p, Point { x, y }) < 180.0));
        }
        // Points at the edge have fewer neighbours; points inside have about six.
        let mean = neighbours as f64 / place.len() as f64;
        assert!((4.8..6.8).contains(&mean), "{mean} neighbours");
        // Steeper ground has closer points: a slope of 0.1 with relief 0.5 reduces the distance by a seventh.
        let steep = sampled(&grid, &RiverSampling { relief: 0.5, ..sampling }).points.place.len() as f64;
        assert!((1.2..1.8).contains(&(steep / place.len() as f64)), "{steep} of {}", place.len());
    }

    #[test]
    fn windows_have_the_points_of_the_world() {
        // Open edges, which are tested first, and a sea, with which they are not; uniform spacing, and spacing that
        // depends on the slope.
        for (sea, relief) in [(None, 0.0), (Some(10.5), 0.0), (Some(10.5), 0.5)] {
            let mut world = Grid::new([300, 300], 10.0).unwrap();
            world.sea_level = sea.map(Height::from_metres_clamped);
            let sampling = RiverSampling { spacing: 80.0, relief, ..RiverSampling::default() };
            let hill = |grid: &Grid| {
                Field::from_fn(grid.size, |i, j| {
                    let Cell { row: y, col: x } = grid.world_cell(i, j).map(|n| n as f64 - 150.0);
                    Height::from_metres_clamped(400.0 - (y * y + 2.0 * x * x).sqrt())
                })
            };
            let places = |grid: &Grid| {
                let ground = hill(grid);
                let land = Land { grid, ground: &ground, nodata: None, outlets: &[] };
                let Cell { row: y, col: x } = grid.origin.map(|n| n as f64 * grid.cell);
                let points = sample_ground(&Site::from_land(land), &sampling, RandomKey::new(5, "points")).points.place;
                points.into_iter().map(|p| Cell::new(p.y + y, p.x + x)).collect::<Vec<_>>()
            };
            let all = places(&world);
            for (start, size) in [([0, 60], [300, 200]), ([37, 11], [211, 203]), ([101, 90], [140, 190])] {
                let part = world.window(CellRect::new(start, size));
                let far = |p: &&Cell<f64>| {
                    (0..2).all(|k| {
                        let (low, high) = (start[k] as f64 * 10.0, (start[k] + size[k]) as f64 * 10.0);
                        (low + FELT * 80.0..high - FELT * 80.0).contains(&p[k])
                    })
                };
                let here = places(&part);
                let [a, b] = [&all, &here].map(|of| of.iter().filter(far).collect::<Vec<_>>());
                assert!(a.len() > 20 && a.len() == b.len(), "{} and {}", a.len(), b.len());
                let same = |p: &&Cell<f64>| b.iter().any(|q| (q[0] - p[0]).abs() + (q[1] - p[1]).abs() < 1e-6);
                assert!(a.iter().all(same), "{sea:?} {relief} {start:?}");
            }
        }
    }
}
