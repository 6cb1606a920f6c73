//! [`Camera`]: the point of view.

mod moves;
#[cfg(test)]
mod tests;

use glam::{Mat4, Vec2, Vec3, Vec4, vec2, vec3};

use crate::view::space::{Bounds, Ray};

/// The fraction of the picture that a framed terrain fills.
const FILL: f32 = 0.93;
/// The smallest and largest distance to the target in metres.
const DISTANCE: [f32; 2] = [0.1, 1e7];
/// The largest distance of anything from the centre in metres.
const WORLD: f32 = 1e7;
/// The height from which a map's rays start in metres: above any terrain, however exaggerated.
const ABOVE: f32 = 2e5;

/// The point of view: an eye at some distance from a target; or, for a map, a view from straight above without
/// perspective, with north at the top.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    /// The point in the centre of the picture.
    pub target: Vec3,
    /// The distance from the eye to the target in metres; for a map it sets the same scale as in perspective.
    pub distance: f32,
    /// The direction from the target to the camera, in degrees clockwise from north.
    pub azimuth: f32,
    /// The elevation angle of the camera above the target's level, in degrees.
    pub elevation: f32,
    /// The vertical field of view in degrees.
    pub fov: f32,
    /// True for a map.
    pub map: bool,
}

impl Default for Camera {
    /// The direction of the library's own views: from the south-south-west.
    fn default() -> Self {
        Self { target: Vec3::ZERO, distance: 1000.0, azimuth: 205.0, elevation: 34.0, fov: 30.0, map: false }
    }
}

impl Camera {
    /// Returns a perspective view of the whole terrain.
    pub fn framing(bounds: &Bounds, aspect: f32) -> Self {
        Self::default().framed(bounds, aspect)
    }

    /// Returns a map view of the whole terrain.
    pub fn map(bounds: &Bounds, aspect: f32) -> Self {
        Self { map: true, ..Self::default() }.framed(bounds, aspect)
    }

    /// Returns the same direction of view, moved so that the whole terrain is visible in the centre of the picture.
    #[must_use]
    pub fn framed(mut self, bounds: &Bounds, aspect: f32) -> Self {
        let aspect = sound_aspect(aspect);
        self.target = (bounds.low + bounds.high) / 2.0;
        self.settle();
        let half = self.half();
        if self.map {
            let span = (bounds.high - bounds.low).max(Vec3::splat(1e-3)) / 2.0;
            self.distance = (span.y.max(span.x / aspect) / (FILL * half)).clamp(DISTANCE[0], DISTANCE[1]);
            return self;
        }
        // Move the target iteratively towards the centre of the projected corners; each iteration leaves a small
        // fraction of the offset.
        for _ in 0..6 {
            let [right, up, forward] = self.axes();
            let corners = bounds.corners().map(|corner| corner - self.target);
            let need = corners.map(|c| {
                let across = (c.dot(right).abs() / aspect).max(c.dot(up).abs()) / (FILL * half);
                across - c.dot(forward)
            });
            self.distance = need.into_iter().fold(DISTANCE[0], f32::max).min(DISTANCE[1]);
            let seen = corners.map(|c| {
                let scale = self.distance / (self.distance + c.dot(forward)).max(1e-3);
                vec2(c.dot(right), c.dot(up)) * scale
            });
            let low = seen.into_iter().fold(Vec2::MAX, Vec2::min);
            let high = seen.into_iter().fold(Vec2::MIN, Vec2::max);
            let middle = (low + high) / 2.0;
            self.target += middle.x * right + middle.y * up;
        }
        self.settle();
        self
    }

    /// The position of the eye.
    pub fn eye(&self) -> Vec3 {
        let [_, _, forward] = self.axes();
        self.target - self.distance * forward
    }

    /// Returns the ray through a position in the picture, −1 to 1 rightward and upward.
    pub fn ray(&self, [x, y]: [f32; 2], aspect: f32) -> Ray {
        let [right, up, forward] = self.axes();
        let (half, aspect) = (self.half(), sound_aspect(aspect));
        let (x, y) = (sound(x, 0.0) * half * aspect, sound(y, 0.0) * half);
        if self.map {
            let off = vec2(x, y) * self.distance;
            return Ray { origin: (self.target.truncate() + off).extend(ABOVE), direction: forward };
        }
        let ray = forward + x * right + y * up;
        Ray { origin: self.eye(), direction: ray / ray.length() }
    }

    /// Returns a point's position in the picture, rightward and upward, −1 to 1 inside; `None` behind the eye.
    pub fn project(&self, point: Vec3, aspect: f32) -> Option<[f32; 2]> {
        let [right, up, forward] = self.axes();
        let from = point - self.eye();
        let depth = if self.map { self.distance } else { from.dot(forward) };
        let scale = 1.0 / (depth * self.half());
        let seen = [from.dot(right) * scale / sound_aspect(aspect), from.dot(up) * scale];
        (depth > 0.0 && seen.iter().all(|x| x.is_finite())).then_some(seen)
    }

    /// The unit vectors rightward, upward and forward.
    pub fn axes(&self) -> [Vec3; 3] {
        if self.map {
            return [Vec3::X, Vec3::Y, Vec3::NEG_Z];
        }
        let (sin, cos) = self.azimuth.to_radians().sin_cos();
        let (rise, flat) = self.elevation.to_radians().sin_cos();
        [vec3(-cos, sin, 0.0), vec3(-sin * rise, -cos * rise, flat), vec3(-sin * flat, -cos * flat, -rise)]
    }

    /// The tangent of half the vertical field of view.
    pub fn half(&self) -> f32 {
        (sound(self.fov, 30.0).clamp(1.0, 150.0).to_radians() / 2.0).tan()
    }

    /// Returns the matrix from metres relative to the eye to clip space. Depth falls from 1 near to 0 far, because
    /// floats then keep their precision far away (reversed z).
    pub fn matrix(&self, aspect: f32) -> Mat4 {
        let [right, up, forward] = self.axes();
        let (half, aspect) = (self.half(), sound_aspect(aspect));
        // The rows compute x, y, z and w.
        let rows = if self.map {
            let scale = 1.0 / (self.distance * half);
            let deep = 0.25 / WORLD;
            [(right * scale / aspect).extend(0.0), (up * scale).extend(0.0), (-forward * deep).extend(0.5), Vec4::W]
        } else {
            let near = Vec4::W * self.near();
            [(right / (half * aspect)).extend(0.0), (up / half).extend(0.0), near, forward.extend(0.0)]
        };
        Mat4::from_cols(rows[0], rows[1], rows[2], rows[3]).transpose()
    }

    /// The distance of the near plane in metres.
    fn near(&self) -> f32 {
        (self.distance * 1e-3).clamp(0.05, 5.0)
    }

    /// Clamps every number to the range that can be drawn, and replaces those that are not finite.
    fn settle(&mut self) {
        let plain = Self::default();
        self.target = Vec3::from(self.target.to_array().map(|x| sound(x, 0.0).clamp(-WORLD, WORLD)));
        self.distance = sound(self.distance, plain.distance).clamp(DISTANCE[0], DISTANCE[1]);
        self.azimuth = sound(self.azimuth, plain.azimuth).rem_euclid(360.0);
        self.elevation = sound(self.elevation, plain.elevation).clamp(-90.0, 90.0);
        self.fov = sound(self.fov, plain.fov).clamp(1.0, 150.0);
    }
}

fn sound(x: f32, otherwise: f32) -> f32 {
    if x.is_finite() { x } else { otherwise }
}

fn sound_aspect(aspect: f32) -> f32 {
    sound(aspect, 1.0).clamp(1e-3, 1e3)
}
