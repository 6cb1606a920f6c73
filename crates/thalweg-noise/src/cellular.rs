//! Cellular noise, after Worley (1996, "A cellular texture basis function", doi:10.1145/237170.237267). Each square
//! of a lattice has one feature point, and the noise is a function of the distances to the nearest and the second
//! nearest feature point.
//!
//! The search always covers enough squares: three by three around the sample, and the surrounding ring of sixteen
//! when it may contain a nearer point.

use std::ops::Range;

use multiversion::multiversion;

use crate::chunk::{CHUNK, Chunk, for_chunks};
use crate::fractal::Warp;
use crate::gradient;
use crate::octave::{NoisePlane, Octave, Period};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Grid, Point, choice};

choice! {
    /// The distance that is the value, in sides of a square of the lattice.
    pub enum Distance {
        /// Distance to the nearest feature point: bowls around the points, with crests where two are equally near.
        F1 = "f1",
        /// Distance to the second nearest feature point.
        F2 = "f2",
        /// Difference of the two: blocks with flat sides, and valleys where two points are equally near.
        Difference = "f2_minus_f1",
    }
}

impl Distance {
    /// Returns the mean over the plane, interpolated in `jitter` between two sampled means: for points in the middle
    /// of their squares (`jitter` 0) and for points anywhere in them (`jitter` 1).
    fn mean(self, jitter: f64) -> f32 {
        let [still, free] = match self {
            Self::F1 => [0.3826, 0.4295],
            Self::F2 => [0.6996, 0.6990],
            Self::Difference => [0.3170, 0.2695],
        };
        (still + jitter * (free - still)) as f32
    }

    #[inline]
    fn combine_distances(self, [f1, f2]: [f32; 2]) -> f32 {
        match self {
            Self::F1 => f1,
            Self::F2 => f2,
            Self::Difference => f2 - f1,
        }
    }
}

/// A cache of the feature points around one square of the lattice, so that neighbouring samples do not hash them
/// again.
#[derive(Debug, Clone)]
pub struct FeaturePoints {
    square: Option<(i32, i32)>,
    /// Positions relative to the square's corner, in lattice units: the inner nine first, then the ring of sixteen.
    points: [[f32; 2]; 25],
    /// True if the ring's points are computed. They are computed on demand, because few samples need them.
    ring: bool,
    jitter: f32,
    seed: u32,
    period: Option<Period>,
}

impl FeaturePoints {
    /// Creates points that deviate from the middle of their squares by up to `jitter` (0 to 1) times half a square.
    pub fn new(jitter: f64, seed: u32) -> Self {
        Self { square: None, points: [[0.0; 2]; 25], ring: false, jitter: jitter as f32, seed, period: None }
    }

    /// Returns the distances, in lattice units, from the sample at offset (x, y), each in 0..1, in square (i, j) to
    /// the nearest two feature points, the nearer first.
    #[inline]
    pub fn find_nearest_two(&mut self, i: i32, j: i32, x: f32, y: f32) -> [f32; 2] {
        if self.square != Some((i, j)) {
            self.square = Some((i, j));
            self.ring = false;
            self.hash(i, j, 0..9);
        }
        // Squared distances are compared; the two roots are taken at the end.
        let mut nearest = update_nearest_two([f32::MAX; 2], &self.points[..9], x, y);
        // Points outside the inner nine squares are at least `margin` away: one square plus the distance to the
        // nearest edge of this one.
        let margin = 1.0 + x.min(1.0 - x).min(y.min(1.0 - y));
        if nearest[1] > margin * margin {
            if !self.ring {
                self.ring = true;
                self.hash(i, j, 9..25);
            }
            nearest = update_nearest_two(nearest, &self.points[9..], x, y);
        }
        nearest.map(f32::sqrt)
    }

    #[inline]
    fn hash(&mut self, i: i32, j: i32, which: Range<usize>) {
        for k in which {
            self.points[k] = place_feature_point(i, j, SURROUNDING_SQUARES[k], self.jitter, |i, j| {
                let (i, j) = self.period.map_or((i, j), |period| period.wrap_point(i, j));
                gradient::hash_lattice_point(i, j, self.seed)
            });
        }
    }
}

/// Offsets of the 25 squares around a square, the inner nine first.
const SURROUNDING_SQUARES: [[i32; 2]; 25] = list_surrounding_squares();

const fn list_surrounding_squares() -> [[i32; 2]; 25] {
    let mut all = [[0; 2]; 25];
    let (mut inner, mut ring, mut k) = (0, 9, 0i32);
    while k < 25 {
        let [di, dj] = [k % 5 - 2, k / 5 - 2];
        let slot = if di.abs() < 2 && dj.abs() < 2 { &mut inner } else { &mut ring };
        all[*slot] = [di, dj];
        *slot += 1;
        k += 1;
    }
    all
}

/// Returns the feature point of square (i + di, j + dj) relative to the corner of square (i, j). `hash` returns the
/// random number of a square.
#[inline]
fn place_feature_point(i: i32, j: i32, [di, dj]: [i32; 2], jitter: f32, hash: impl Fn(i32, i32) -> u32) -> [f32; 2] {
    let hash = hash(i.wrapping_add(di), j.wrapping_add(dj));
    // One random number serves both coordinates: its upper 16 bits move the point along the first axis, its lower ones
    // along the second.
    let stray = |bits: u32| jitter * (bits as f32 / 65_536.0 - 0.5);
    [di as f32 + 0.5 + stray(hash >> 16), dj as f32 + 0.5 + stray(hash & 0xffff)]
}

/// Returns the two smallest squared distances among `nearest` (those found so far) and those to `points`.
#[inline]
fn update_nearest_two(mut nearest: [f32; 2], points: &[[f32; 2]], x: f32, y: f32) -> [f32; 2] {
    for [px, py] in points {
        let square = (px - x) * (px - x) + (py - y) * (py - y);
        // Minimum and maximum in place of comparisons leave the loop without branches.
        nearest = [nearest[0].min(square), nearest[1].min(nearest[0].max(square))];
    }
    nearest
}

/// A sum of octaves of cellular noise.
///
/// # Examples
/// ```
/// use thalweg_core::Grid;
/// use thalweg_core::base::rng::RandomKey;
/// use thalweg_noise::cellular::{Cellular, Distance};
///
/// let grid = Grid::new([1, 64], 30.0)?;
/// let octaves = Cellular::octaves(1, 900.0, 0.5, RandomKey::new(1, "cells"), &grid);
/// let noise = Cellular::new(Distance::F1, 1.0, octaves, None);
/// let mut row = vec![0.0; 64];
/// noise.fill_row(&grid, 0, &mut row);
/// // Every square has a feature point, which is no further away than the square's diagonal.
/// assert!(row.iter().all(|distance| (0.0..1.42).contains(distance)));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cellular {
    distance: Distance,
    jitter: f64,
    octaves: Vec<Octave>,
    warp: Option<Warp>,
    scale: f32,
}

impl Cellular {
    /// Creates the sum of `octaves` (see [`Cellular::octaves`]) of `distance` to feature points with the given
    /// `jitter` (see [`FeaturePoints::new`]), with the sample positions displaced by `warp`.
    pub fn new(distance: Distance, jitter: f64, octaves: Vec<Octave>, warp: Option<Warp>) -> Self {
        let total: f32 = octaves.iter().map(|octave| octave.amplitude).sum();
        Self { distance, jitter, octaves, warp, scale: 1.0 / total.max(1e-6) }
    }

    /// Returns `count` octaves for [`Cellular::new`]. The first has squares of `wavelength` metres; each further one
    /// has half the wavelength of the one before and `gain` times its weight. `plane` is a grid or a cell size in
    /// metres. For example, 3 octaves from 900 m on have squares of 900, 450 and 225 m.
    pub fn octaves(
        count: u32,
        wavelength: f64,
        gain: f64,
        key: RandomKey,
        plane: impl Into<NoisePlane>,
    ) -> Vec<Octave> {
        Octave::series(count, wavelength, 2.0, gain, key, plane)
    }

    /// Fills row `i` of the grid's window, one value in `out` per column: the weighted mean of the octaves'
    /// distances, in units of a square's side.
    pub fn fill_row(&self, grid: &Grid, i: usize, out: &mut [f32]) {
        // Each row has caches of its own, so rows can be computed on any thread.
        let mut points: Vec<FeaturePoints> = self
            .octaves
            .iter()
            .map(|octave| FeaturePoints { period: octave.period, ..FeaturePoints::new(self.jitter, octave.seed) })
            .collect();
        for_chunks(grid, i, out, |anchor, chunk| self.fill_chunk(&mut points, anchor, grid.cell, chunk));
    }

    fn fill_chunk(&self, points: &mut [FeaturePoints], anchor: Point, cell: f64, out: &mut Chunk) {
        let moved = self.warp.as_ref().map_or([[0.0; CHUNK]; 2], |warp| warp.displace_chunk(anchor, cell));
        let mean = self.distance.mean(self.jitter);
        out.fill(0.0);
        for (octave, points) in self.octaves.iter().zip(points) {
            let weight = self.scale * octave.amplitude;
            let mut values = [mean; CHUNK];
            if octave.fade > 0.0 {
                compute_distances(octave, points, self.distance, anchor, cell, &moved, &mut values);
            }
            for k in 0..CHUNK {
                // The share of an octave that the grid cannot resolve is replaced by the mean, so that the surface
                // keeps its level on coarser grids.
                out[k] += weight * (octave.fade * values[k] + (1.0 - octave.fade) * mean);
            }
        }
    }
}

/// Computes the distances of one octave at a chunk's samples, each displaced by `[east, south]` metres.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2", "aarch64+neon"))]
fn compute_distances(
    octave: &Octave,
    points: &mut FeaturePoints,
    distance: Distance,
    Point { x, y }: Point,
    cell: f64,
    [east, south]: &[Chunk; 2],
    out: &mut Chunk,
) {
    for k in 0..CHUNK {
        let [(i, u), (j, v)] = octave.to_lattice(x + k as f64 * cell + f64::from(east[k]), y + f64::from(south[k]));
        out[k] = distance.combine_distances(points.find_nearest_two(i, j, u as f32, v as f32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches every feature point of the squares −3..=3 exhaustively.
    fn brute_force(x: f32, y: f32, jitter: f32, seed: u32) -> [f32; 2] {
        let mut distances: Vec<f32> = (-3..=3)
            .flat_map(|i| {
                (-3..=3).map(move |j| {
                    place_feature_point(0, 0, [i, j], jitter, |i, j| gradient::hash_lattice_point(i, j, seed))
                })
            })
            .map(|[px, py]| (px - x).hypot(py - y))
            .collect();
        distances.sort_by(f32::total_cmp);
        [distances[0], distances[1]]
    }

    #[test]
    fn distances_are_those_of_a_search_among_all_points() {
        for seed in 0..400 {
            let mut points = FeaturePoints::new(1.0, seed);
            for (x, y) in [(0.0, 0.0), (0.5, 0.5), (0.01, 0.97), (0.3, 0.8), (0.99, 0.02)] {
                let [f1, f2] = points.find_nearest_two(0, 0, x, y);
                let [b1, b2] = brute_force(x, y, 1.0, seed);
                // Coordinates and distances are under 5: a few roundings of 2⁻²³ · 5.
                assert!((f1 - b1).abs() < 3e-6 && (f2 - b2).abs() < 3e-6, "seed {seed} at {x}, {y}");
            }
        }
    }

    #[test]
    fn the_ring_matters() {
        // Without such samples the test above would pass even if the ring were ignored: for some keys the second
        // nearest point must lie in it.
        let outside = |seed: &u32| {
            let inner: Vec<_> = SURROUNDING_SQUARES[..9]
                .iter()
                .map(|offset| place_feature_point(0, 0, *offset, 1.0, |i, j| gradient::hash_lattice_point(i, j, *seed)))
                .collect();
            update_nearest_two([f32::MAX; 2], &inner, 0.0, 0.0)[1].sqrt() > brute_force(0.0, 0.0, 1.0, *seed)[1] + 1e-5
        };
        assert!((0..20_000).filter(outside).count() > 0);
    }

    #[test]
    fn without_jitter_points_stand_in_the_middle() {
        let mut points = FeaturePoints::new(0.0, 1);
        let [f1, f2] = points.find_nearest_two(4, -7, 0.5, 0.25);
        assert_eq!([f1, f2], [0.25, 0.75]);
    }

    #[test]
    fn means_are_as_stated() {
        // 160 000 samples, about 10 000 of them independent at a standard deviation of 0.25: 0.0025; four of those.
        for jitter in [0.0, 1.0] {
            let mut points = FeaturePoints::new(jitter, 9);
            let mut sums = [0.0; 3];
            let n = 400;
            for a in 0..n {
                for b in 0..n {
                    // Multiples of an irrational step fill the squares evenly.
                    let [x, y] = [a as f32 * 0.271_828, b as f32 * 0.271_828];
                    let pair = points.find_nearest_two(x.floor() as i32, y.floor() as i32, x.fract(), y.fract());
                    let kinds = [Distance::F1, Distance::F2, Distance::Difference];
                    for (sum, kind) in sums.iter_mut().zip(kinds) {
                        *sum += f64::from(kind.combine_distances(pair)) / f64::from(n * n)
                            - f64::from(kind.mean(jitter)) / f64::from(n * n);
                    }
                }
            }
            assert!(sums.iter().all(|difference| difference.abs() < 0.01), "{jitter}: {sums:?}");
        }
    }
}
