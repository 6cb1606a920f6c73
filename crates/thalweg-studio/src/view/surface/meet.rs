//! Intersections of a surface with places, cells and rays.

use glam::{DVec3, Vec2, Vec3};
use thalweg_core::Cell;
use thalweg_render::pictures::sample::bilinear;

use crate::view::space::{Ground, Ray};
use crate::view::surface::{DRY, HOLE, Surface};

impl Surface {
    /// Returns the height of the ground in metres at a place; `None` outside the terrain and where there is no data.
    pub fn height_at(&self, place: [f32; 2]) -> Option<f32> {
        let [i, j] = self.sample(place)?;
        Some(bilinear(&self.heights, i, j))
    }

    /// Returns the height in metres of the ground or of the water above it; `None` outside the terrain and where there
    /// is no data.
    pub fn top_at(&self, place: [f32; 2]) -> Option<f32> {
        let [i, j] = self.sample(place)?;
        Some(self.top(i, j))
    }

    /// Returns the terrain's cell at a place of the scene; `None` outside the terrain.
    pub fn cell_at(&self, [x, y]: [f32; 2]) -> Option<Cell> {
        let [rows, cols] = self.cells;
        let at = |metres: f32, n: usize| {
            let k = f64::from(metres) / f64::from(self.cell) + (n - 1) as f64 / 2.0;
            (k.round() >= 0.0 && k.round() < n as f64).then_some(k.round() as usize)
        };
        Some(Cell::new(at(-y, rows)?, at(x, cols)?))
    }

    /// Returns where a ray first meets the ground or the water above it; `None` if it meets nothing, or a side of the
    /// block.
    pub fn hit(&self, ray: &Ray, exaggeration: f32) -> Option<Vec3> {
        let [y, x] = self.half().map(f64::from);
        let exaggeration = f64::from(exaggeration);
        let [low, high] = self.extremes.map(|metres| f64::from(metres) * exaggeration);
        // Clip the ray to the bounding box of the surface (slab method).
        let slack = 1e-3 * (high - low).abs() + 1e-3;
        let low_end = DVec3::new(-x, -y, low.min(high) - slack);
        let high_end = DVec3::new(x, y, low.max(high) + slack);
        let (origin, along) = (ray.origin.as_dvec3(), ray.direction.as_dvec3());
        let (mut from, mut to) = (0f64, f64::MAX);
        for k in 0..3 {
            if along[k].abs() < 1e-9 {
                if origin[k] < low_end[k] || origin[k] > high_end[k] {
                    return None;
                }
                continue;
            }
            let (a, b) = ((low_end[k] - origin[k]) / along[k], (high_end[k] - origin[k]) / along[k]);
            (from, to) = (from.max(a.min(b)), to.min(a.max(b)));
        }
        if from > to || !to.is_finite() {
            return None;
        }
        let point = |t: f64| origin + t * along;
        let above = |t: f64| {
            let at = point(t);
            let [i, j] = self.inside(at.x, at.y);
            let there = self.level[(i.round() as usize, j.round() as usize)] > HOLE;
            there.then(|| at.z - f64::from(self.top(i, j)) * exaggeration)
        };
        // March in steps of half a sample along the ground, with a limit on the number of steps; then find the
        // crossing by bisection.
        let flat = along.truncate().length();
        let span = to - from;
        let steps = (span * flat / (0.5 * f64::from(self.sides[0].min(self.sides[1])))).ceil().clamp(8.0, 60_000.0);
        let step = span / steps;
        let mut before = from;
        for n in 0..=steps as usize {
            let t = from + n as f64 * step;
            if above(t).is_some_and(|over| over <= 0.0) {
                if n == 0 && from > 0.0 {
                    return None;
                }
                let (mut over, mut under) = (before, t);
                for _ in 0..40 {
                    let middle = 0.5 * (over + under);
                    if above(middle).is_some_and(|over| over <= 0.0) { under = middle } else { over = middle }
                }
                return Some(point(under).as_vec3());
            }
            before = t;
        }
        None
    }

    /// Returns the fractional row and column among the samples; `None` outside the terrain and where there is no data.
    fn sample(&self, [x, y]: [f32; 2]) -> Option<[f32; 2]> {
        let [half_y, half_x] = self.half();
        let inside = x.abs() <= half_x * 1.000_01 && y.abs() <= half_y * 1.000_01;
        let [i, j] = if inside { self.inside(x.into(), y.into()) } else { return None };
        (self.level[(i.round() as usize, j.round() as usize)] > HOLE).then_some([i, j])
    }

    /// Returns the fractional row and column among the samples, clamped to them.
    fn inside(&self, x: f64, y: f64) -> [f32; 2] {
        let [rows, cols] = self.size();
        let at = |metres: f64, side: f32, n: usize| {
            (metres / f64::from(side) + (n - 1) as f64 / 2.0).clamp(0.0, (n - 1) as f64) as f32
        };
        [at(-y, self.sides[0], rows), at(x, self.sides[1], cols)]
    }

    /// Returns the height in metres of the ground, or of the water above it, between samples.
    fn top(&self, i: f32, j: f32) -> f32 {
        let ground = bilinear(&self.heights, i, j);
        let level = self.level[(i.round() as usize, j.round() as usize)];
        ground.max(level).max(self.sea.unwrap_or(DRY))
    }
}

impl Ground for Surface {
    fn top(&self, place: Vec2) -> Option<f32> {
        self.top_at(place.to_array())
    }

    fn cell(&self) -> f32 {
        self.cell
    }
}
