//! [`Camera`]: where the view is seen from.

mod moves;
#[cfg(test)]
mod tests;

use glam::{Mat4, Vec2, Vec3, Vec4, vec2, vec3};

use crate::view::space::{Bounds, Ray};

/// Share of the picture that a framed terrain fills.
const FILL: f32 = 0.93;
/// Least and greatest distance to the target in metres.
const DISTANCE: [f32; 2] = [0.1, 1e7];
/// Farthest that anything may be from the middle, in metres.
const WORLD: f32 = 1e7;
/// Height from which a map's rays fall, in metres: above any terrain, however exaggerated.
const ABOVE: f32 = 2e5;

/// Where the view is seen from: an eye at some distance from a target; or, as a map, from straight above without
/// perspective, north up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    /// The point in the middle of the picture.
    pub target: Vec3,
    /// From the eye to the target in metres; of a map, it sets the scale as it would in perspective.
    pub distance: f32,
    /// Where the camera stands from the target, degrees clockwise from north.
    pub azimuth: f32,
    /// Degrees that it stands above the target's level.
    pub elevation: f32,
    /// Degrees that the picture's height takes in.
    pub fov: f32,
    /// Whether it is a map.
    pub map: bool,
}

impl Default for Camera {
    /// As the library's own views are seen: from the south-south-west.
    fn default() -> Self {
        Self { target: Vec3::ZERO, distance: 1000.0, azimuth: 205.0, elevation: 34.0, fov: 30.0, map: false }
    }
}

impl Camera {
    /// The whole terrain in perspective.
    pub fn framing(bounds: &Bounds, aspect: f32) -> Self {
        Self::default().framed(bounds, aspect)
    }

    /// The whole terrain as a map.
    pub fn map(bounds: &Bounds, aspect: f32) -> Self {
        Self { map: true, ..Self::default() }.framed(bounds, aspect)
    }

    /// The same look from as far as lets the whole terrain be seen, in the picture's middle.
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
        // Towards the middle of what is seen; each step leaves a small part of the offset.
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

    /// Where the eye is.
    pub fn eye(&self) -> Vec3 {
        let [_, _, forward] = self.axes();
        self.target - self.distance * forward
    }

    /// The ray through a place in the picture, −1 to 1 rightward and upward.
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

    /// Where in the picture a point is seen, rightward and upward, −1 to 1 inside; `None` behind the eye.
    pub fn project(&self, point: Vec3, aspect: f32) -> Option<[f32; 2]> {
        let [right, up, forward] = self.axes();
        let from = point - self.eye();
        let depth = if self.map { self.distance } else { from.dot(forward) };
        let scale = 1.0 / (depth * self.half());
        let seen = [from.dot(right) * scale / sound_aspect(aspect), from.dot(up) * scale];
        (depth > 0.0 && seen.iter().all(|x| x.is_finite())).then_some(seen)
    }

    /// Rightward, upward and forward, of unit length.
    pub fn axes(&self) -> [Vec3; 3] {
        if self.map {
            return [Vec3::X, Vec3::Y, Vec3::NEG_Z];
        }
        let (sin, cos) = self.azimuth.to_radians().sin_cos();
        let (rise, flat) = self.elevation.to_radians().sin_cos();
        [vec3(-cos, sin, 0.0), vec3(-sin * rise, -cos * rise, flat), vec3(-sin * flat, -cos * flat, -rise)]
    }

    /// Tangent of half the picture's height.
    pub fn half(&self) -> f32 {
        (sound(self.fov, 30.0).clamp(1.0, 150.0).to_radians() / 2.0).tan()
    }

    /// From metres as seen from the eye to the picture's clip space. Depth falls from 1 near to 0 far, which keeps floats as
    /// exact far away as near.
    pub fn matrix(&self, aspect: f32) -> Mat4 {
        let [right, up, forward] = self.axes();
        let (half, aspect) = (self.half(), sound_aspect(aspect));
        // Rows are what x, y, z and w are made of.
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

    /// Nothing nearer than this is drawn, in metres.
    fn near(&self) -> f32 {
        (self.distance * 1e-3).clamp(0.05, 5.0)
    }

    /// Puts every number within what can be drawn.
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
