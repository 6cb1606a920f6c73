//! Shortest paths to the sea over a graph of points, and the rivers along them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use thalweg_core::{Cell, Point};

use crate::sampled::buckets::Buckets;
use crate::tree::NONE;

/// Sample points of the ground, as parallel lists.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplePoints {
    /// Positions in metres eastward (x) and southward (y).
    pub place: Vec<Point>,
    /// Elevations in metres.
    pub height: Vec<f64>,
    /// Connection radii in metres: two points are connected if their distance is less than the mean of their radii.
    pub reach: Vec<f64>,
    /// True for points where rivers end.
    pub is_root: Vec<bool>,
}

/// The cheapest paths from all points to roots.
#[derive(Debug, Clone, PartialEq)]
pub struct PathForest {
    /// The next point downstream of each point; [`u32::MAX`] for roots and points without a path.
    pub down: Vec<u32>,
    /// The cost of the path; infinite if there is none.
    pub cost: Vec<f64>,
    /// Points with a path, each after its next point downstream.
    pub order: Vec<u32>,
}

/// The rivers of a forest.
#[derive(Debug, Clone, PartialEq)]
pub struct TracedRivers {
    /// The drainage of each point: 1 plus the sum over the points that flow into it; 0 for points that are on no
    /// river.
    pub drainage: Vec<u32>,
    /// Elevations, corrected along rivers so that none rises downstream.
    pub height: Vec<f64>,
}

/// Returns the cost of the arc from `a` to `b` (row, column, height in metres) in the direction of flow.
///
/// With d = ‖b − a‖ and s = (b − a)·z/d, the weight is w = d·(1 − s/2). It is multiplied by C² uphill, and divided by
/// C downhill.
pub fn compute_arc_cost(a: [f64; 3], b: [f64; 3], climb: f64) -> f64 {
    let [y, x, z] = [0, 1, 2].map(|k| b[k] - a[k]);
    // d·(1 − s/2) with s = z/d is d − z/2.
    let w = (y * y + x * x + z * z).sqrt() - z / 2.0;
    match z {
        z if z > 0.0 => climb * climb * w,
        z if z < 0.0 => w / climb,
        _ => w,
    }
}

/// Finds the cheapest paths to roots (Dijkstra 1959, doi:10.1007/BF01386390). Of paths of equal cost, the one to the
/// point with the lower number is taken.
pub fn find_cheapest_paths(points: &SamplePoints, climb: f64) -> PathForest {
    let SamplePoints { place, height, reach, is_root } = points;
    let count = place.len();
    // Two points are connected within the mean of their radii, which is at most the largest radius.
    let far = reach.iter().copied().fold(1e-3, f64::max);
    let low_corner = [0, 1].map(|k| place.iter().map(|p| p.axis_coordinate(k)).fold(f64::INFINITY, f64::min));
    let high_corner = [0, 1].map(|k| place.iter().map(|p| p.axis_coordinate(k)).fold(0.0, f64::max));
    let shifted = |n: usize| Cell::from_axes(|k| place[n].axis_coordinate(k) - low_corner[k]);
    let mut near = Buckets::new([0, 1].map(|k| (high_corner[k] - low_corner[k]).max(0.0) as usize + 1), far);
    (0..count).for_each(|n| near.add(shifted(n), n as u32));
    let solid = |n: usize| [place[n].y, place[n].x, height[n]];
    let mut forest = PathForest { down: vec![NONE; count], cost: vec![f64::INFINITY; count], order: Vec::new() };
    let mut is_settled = vec![false; count];
    let mut heap = BinaryHeap::new();
    for root in (0..count).filter(|n| is_root[*n]) {
        forest.cost[root] = 0.0;
        heap.push(Reverse((0u64, root as u32)));
    }
    // The bit patterns of non-negative floats sort like their values, so they serve as integer keys of the heap.
    while let Some(Reverse((_, at))) = heap.pop() {
        let n = at as usize;
        // A point may be in the heap several times. Its first entry has the lowest cost, and later ones are outdated.
        if std::mem::replace(&mut is_settled[n], true) {
            continue;
        }
        forest.order.push(at);
        near.visit_near(shifted(n), far, |from| {
            let m = from as usize;
            let [dy, dx] = [place[m].y - place[n].y, place[m].x - place[n].x];
            if is_settled[m] || (dy * dy + dx * dx).sqrt() >= (reach[m] + reach[n]) / 2.0 {
                return;
            }
            let path_cost = forest.cost[n] + compute_arc_cost(solid(m), solid(n), climb);
            if path_cost < forest.cost[m] || (path_cost == forest.cost[m] && !is_root[m] && at < forest.down[m]) {
                (forest.cost[m], forest.down[m]) = (path_cost, at);
                heap.push(Reverse((path_cost.to_bits(), from)));
            }
        });
    }
    forest
}

/// Traces the rivers that begin at `sources`, corrects elevations along them and counts points.
pub fn trace_rivers(points: &SamplePoints, forest: &PathForest, sources: &[u32]) -> TracedRivers {
    let mut drainage = vec![0u32; points.place.len()];
    for source in sources {
        let mut at = *source;
        // A path that meets a river ends there, so every point is visited once.
        while at != NONE && drainage[at as usize] == 0 {
            drainage[at as usize] = 1;
            at = forest.down[at as usize];
        }
    }
    let mut height = points.height.clone();
    for n in forest.order.iter().rev().map(|n| *n as usize).filter(|n| forest.down[*n] != NONE) {
        let down = forest.down[n] as usize;
        if drainage[n] > 0 {
            drainage[down] += drainage[n];
            height[down] = height[down].min(height[n]);
        }
    }
    TracedRivers { drainage, height }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five points, computed by hand. Seen from above (metres), with heights; the sea is at −1, arcs are shorter than
    /// 6, and C = 2:
    ///
    /// ```text
    ///                     d 3
    ///                      |
    ///   a −3 ---- b 0 ---- c 3 ---- e 0          a–b, b–c, c–e and c–d are 4 apart, b–d and d–e √32
    /// ```
    ///
    /// Since d·s is the rise Δ, w = d − Δ/2.
    ///
    /// * a is sea: 0.
    /// * b→a falls by 3 over a length of √(16 + 9) = 5: w = 5 + 1.5 = 6.5, downhill 6.5/2 = 3.25. So b costs 3.25.
    /// * c→b is the same: c costs 3.25 + 3.25 = 6.5.
    /// * d→b falls by 3 over √(32 + 9) = 6.4031: w = 7.9031, /2 = 3.9516: 7.2016 in all. Through c it would be level,
    ///   4 long, w = 4: 10.5 in all. So d goes to b.
    /// * e→c climbs 3 over 5: w = 5 − 1.5 = 3.5, uphill ·4 = 14: 20.5 in all. Through d: w = 6.4031 − 1.5 = 4.9031,
    ///   ·4 = 19.6125, 26.81 in all. So e goes to c.
    /// * Correction, from sources downward: e is 0, so c is 0 at most, so b is 0; d stays 3; a stays −3.
    /// * Drainage: e 1, d 1, c 1 + 1 = 2, b 1 + 2 + 1 = 4, a 5. Half-widths Q = √D: 1, 1, √2, 2.
    #[test]
    fn five_points_by_hand() {
        let [a, b, c, d, e] = [0, 1, 2, 3, 4];
        let points = SamplePoints {
            place: [[4.0, 0.0], [4.0, 4.0], [4.0, 8.0], [0.0, 8.0], [4.0, 12.0]].map(|[y, x]| Point { x, y }).to_vec(),
            height: vec![-3.0, 0.0, 3.0, 3.0, 0.0],
            reach: vec![6.0; 5],
            is_root: vec![true, false, false, false, false],
        };
        let forest = find_cheapest_paths(&points, 2.0);
        assert_eq!(forest.down, [NONE, a, b, b, c]);
        let expected = [0.0, 3.25, 6.5, 7.2016, 20.5];
        for (cost, expected) in forest.cost.iter().zip(expected) {
            assert!((cost - expected).abs() < 1e-4, "{cost} {expected}");
        }
        assert_eq!(forest.order, [a, b, c, d, e]);
        let drawn = trace_rivers(&points, &forest, &[b, c, d, e]);
        assert_eq!(drawn.drainage, [5, 4, 2, 1, 1]);
        assert_eq!(drawn.height, [-3.0, 0.0, 0.0, 3.0, 0.0]);
        // With the source d alone, only its path counts.
        assert_eq!(trace_rivers(&points, &forest, &[d]).drainage, [3, 2, 0, 1, 0]);
    }

    #[test]
    fn ways_are_the_cheapest_of_all() {
        use thalweg_core::base::rng::RandomKey;
        for seed in 0..20u64 {
            let key = RandomKey::new(seed, "graph");
            let count = 40;
            let draw = |n: usize, k: u64| key.derive_key(n as u64).derive_key(k).uniform_unit();
            let points = SamplePoints {
                place: (0..count).map(|n| Point { y: 50.0 + 100.0 * draw(n, 0), x: 200.0 * draw(n, 1) }).collect(),
                height: (0..count).map(|n| (20.0 * draw(n, 2)).floor()).collect(),
                reach: (0..count).map(|n| 20.0 + 30.0 * draw(n, 3)).collect(),
                is_root: (0..count).map(|n| n % 17 == 0).collect(),
            };
            // Bellman–Ford: relax every arc again and again.
            let mut cost_of: Vec<f64> =
                points.is_root.iter().map(|root| if *root { 0.0 } else { f64::INFINITY }).collect();
            let solid = |n: usize| [points.place[n].y, points.place[n].x, points.height[n]];
            for _ in 0..count {
                for (a, b) in (0..count).flat_map(|a| (0..count).map(move |b| (a, b))).filter(|(a, b)| a != b) {
                    let [y, x] =
                        [0, 1].map(|k| points.place[a].axis_coordinate(k) - points.place[b].axis_coordinate(k));
                    if (y * y + x * x).sqrt() < (points.reach[a] + points.reach[b]) / 2.0 {
                        cost_of[a] = cost_of[a].min(cost_of[b] + compute_arc_cost(solid(a), solid(b), 3.0));
                    }
                }
            }
            assert_eq!(find_cheapest_paths(&points, 3.0).cost, cost_of);
        }
    }
}
