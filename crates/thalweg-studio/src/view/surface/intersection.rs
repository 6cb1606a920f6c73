//! Intersections of a surface with places, cells and rays.

use glam::{DVec3, Vec2, Vec3};
use thalweg_core::Cell;
use thalweg_render::pictures::sample::interpolate_bilinear;

use crate::view::space::{GroundSurface, Ray};
use crate::view::surface::{NO_WATER_LEVEL, NODATA_LEVEL, Surface};

impl Surface {
    /// Returns the height of the ground in metres at a place; `None` outside the terrain and where there is no data.
    pub fn height_at(&self, place: [f32; 2]) -> Option<f32> {
        let [i, j] = self.locate_sample(place)?;
        Some(interpolate_bilinear(&self.heights, i, j))
    }

    /// Returns the height in metres of the ground or of the water above it; `None` outside the terrain and where there
    /// is no data.
    pub fn top_at(&self, place: [f32; 2]) -> Option<f32> {
        let [i, j] = self.locate_sample(place)?;
        Some(self.interpolate_top(i, j))
    }

    /// Returns the terrain's cell at a place of the scene; `None` outside the terrain.
    pub fn cell_at(&self, [x, y]: [f32; 2]) -> Option<Cell> {
        let [rows, cols] = self.cells;
        let at = |metres: f32, n: usize| {
            // The origin is the centre of the terrain, which for an even number of cells is between two of them.
            let k = f64::from(metres) / f64::from(self.cell) + (n - 1) as f64 / 2.0;
            (k.round() >= 0.0 && k.round() < n as f64).then_some(k.round() as usize)
        };
        Some(Cell::new(at(-y, rows)?, at(x, cols)?))
    }

    /// Returns where a ray first meets the ground or the water above it; `None` if it meets nothing, or a side of the
    /// block.
    pub fn intersect_ray(&self, ray: &Ray, exaggeration: f32) -> Option<Vec3> {
        let [y, x] = self.half_extent().map(f64::from);
        // The intersection is computed in doubles: at 200 km, where the rays of a map start, 32-bit floats have steps
        // of 16 mm.
        let exaggeration = f64::from(exaggeration);
        let [low, high] = self.extremes.map(|metres| f64::from(metres) * exaggeration);
        // Clip the ray to the bounding box of the surface (slab method).
        // Without slack, flat terrain would have a box of no height, which rounding could miss.
        let slack = 1e-3 * (high - low).abs() + 1e-3;
        let low_end = DVec3::new(-x, -y, low.min(high) - slack);
        let high_end = DVec3::new(x, y, low.max(high) + slack);
        let (origin, along) = (ray.origin.as_dvec3(), ray.direction.as_dvec3());
        let (mut from, mut to) = (0f64, f64::MAX);
        for k in 0..3 {
            // A ray parallel to a slab is either inside it everywhere or misses the box.
            if along[k].abs() < 1e-9 {
                if origin[k] < low_end[k] || origin[k] > high_end[k] {
                    return None;
                }
                continue;
            }
            let (a, b) = ((low_end[k] - origin[k]) / along[k], (high_end[k] - origin[k]) / along[k]);
            (from, to) = (from.max(a.min(b)), to.min(a.max(b)));
        }
        // The ray misses the box, or its origin is not finite.
        if from > to || !to.is_finite() {
            return None;
        }
        let point = |t: f64| origin + t * along;
        let above = |t: f64| {
            let at = point(t);
            let [i, j] = self.clamp_to_samples(at.x, at.y);
            let there = self.level[(i.round() as usize, j.round() as usize)] > NODATA_LEVEL;
            there.then(|| at.z - f64::from(self.interpolate_top(i, j)) * exaggeration)
        };
        // March in steps of half a sample along the ground, with a limit on the number of steps; then find the
        // crossing by bisection.
        let flat = along.truncate().length();
        let span = to - from;
        // The limit of 60 000 steps bounds the time of flat rays over very large terrains; thin ridges can then be
        // missed.
        let steps = (span * flat / (0.5 * f64::from(self.sides[0].min(self.sides[1])))).ceil().clamp(8.0, 60_000.0);
        let step = span / steps;
        let mut before = from;
        for n in 0..=steps as usize {
            let t = from + n as f64 * step;
            if above(t).is_some_and(|over| over <= 0.0) {
                // The ray enters the box below the surface, that is, through a side of the block.
                if n == 0 && from > 0.0 {
                    return None;
                }
                let (mut over, mut under) = (before, t);
                // 40 halvings reduce a step by a factor of 10¹², below the precision of the returned floats.
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
    fn locate_sample(&self, [x, y]: [f32; 2]) -> Option<[f32; 2]> {
        let [half_y, half_x] = self.half_extent();
        // The tolerance covers the rounding of a place exactly on the edge.
        let inside = x.abs() <= half_x * 1.000_01 && y.abs() <= half_y * 1.000_01;
        let [i, j] = if inside { self.clamp_to_samples(x.into(), y.into()) } else { return None };
        (self.level[(i.round() as usize, j.round() as usize)] > NODATA_LEVEL).then_some([i, j])
    }

    /// Returns the fractional row and column among the samples, clamped to them.
    fn clamp_to_samples(&self, x: f64, y: f64) -> [f32; 2] {
        let [rows, cols] = self.size();
        let at = |metres: f64, side: f32, n: usize| {
            (metres / f64::from(side) + (n - 1) as f64 / 2.0).clamp(0.0, (n - 1) as f64) as f32
        };
        [at(-y, self.sides[0], rows), at(x, self.sides[1], cols)]
    }

    /// Returns the height in metres of the ground, or of the water above it, between samples.
    fn interpolate_top(&self, i: f32, j: f32) -> f32 {
        let ground = interpolate_bilinear(&self.heights, i, j);
        // The level is not interpolated: between water and dry ground a mean would be meaningless.
        let level = self.level[(i.round() as usize, j.round() as usize)];
        ground.max(level).max(self.sea.unwrap_or(NO_WATER_LEVEL))
    }
}

impl GroundSurface for Surface {
    fn top_height(&self, place: Vec2) -> Option<f32> {
        self.top_at(place.to_array())
    }

    fn cell_size(&self) -> f32 {
        self.cell
    }
}
