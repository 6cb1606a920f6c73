//! [`ViewCamera`]: the point of view.

mod moves;
#[cfg(test)]
mod tests;

use glam::{Mat4, Vec2, Vec3, Vec4, vec2, vec3};

use crate::view::space::{BoundingBox, Ray};

/// The fraction of the picture that a framed terrain fills.
const FRAMED_FRACTION: f32 = 0.93;
/// The smallest and largest distance to the target in metres.
const DISTANCE_RANGE_M: [f32; 2] = [0.1, 1e7];
/// The largest distance of anything from the centre in metres.
const MAX_COORDINATE_M: f32 = 1e7;
/// The height from which a map's rays start in metres: above any terrain, however exaggerated.
const MAP_RAY_HEIGHT_M: f32 = 2e5;

/// The point of view: an eye at some distance from a target; or, for a map, a view from straight above without
/// perspective, with north at the top.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ViewCamera {
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

impl Default for ViewCamera {
    /// The direction of the library's own views: from the south-south-west.
    fn default() -> Self {
        Self { target: Vec3::ZERO, distance: 1000.0, azimuth: 205.0, elevation: 34.0, fov: 30.0, map: false }
    }
}

impl ViewCamera {
    /// Returns a perspective view of the whole terrain.
    pub fn new_perspective(bounds: &BoundingBox, aspect: f32) -> Self {
        Self::default().with_framing(bounds, aspect)
    }

    /// Returns a map view of the whole terrain.
    pub fn new_map(bounds: &BoundingBox, aspect: f32) -> Self {
        Self { map: true, ..Self::default() }.with_framing(bounds, aspect)
    }

    /// Returns the same direction of view, moved so that the whole terrain is visible in the centre of the picture.
    #[must_use]
    pub fn with_framing(mut self, bounds: &BoundingBox, aspect: f32) -> Self {
        let aspect = clamp_aspect(aspect);
        self.target = (bounds.low + bounds.high) / 2.0;
        self.clamp_fields();
        let half = self.tan_half_fov();
        // A map needs no iteration: without perspective, the required distance follows from the extent alone.
        if self.map {
            let span = (bounds.high - bounds.low).max(Vec3::splat(1e-3)) / 2.0;
            self.distance = (span.y.max(span.x / aspect) / (FRAMED_FRACTION * half))
                .clamp(DISTANCE_RANGE_M[0], DISTANCE_RANGE_M[1]);
            return self;
        }
        // Move the target iteratively towards the centre of the projected corners; each iteration leaves a small
        // fraction of the offset.
        for _ in 0..6 {
            let [right, up, forward] = self.axes();
            let corners = bounds.corners().map(|corner| corner - self.target);
            // A corner is inside the frame if its offset across is at most the half width of the picture at its depth.
            let need = corners.map(|c| {
                let across = (c.dot(right).abs() / aspect).max(c.dot(up).abs()) / (FRAMED_FRACTION * half);
                across - c.dot(forward)
            });
            // The corner that needs the largest distance determines it.
            self.distance = need.into_iter().fold(DISTANCE_RANGE_M[0], f32::max).min(DISTANCE_RANGE_M[1]);
            // The offsets are scaled to the depth of the target, so that their mean is a shift of the target in metres.
            let seen = corners.map(|c| {
                let scale = self.distance / (self.distance + c.dot(forward)).max(1e-3);
                vec2(c.dot(right), c.dot(up)) * scale
            });
            let low = seen.into_iter().fold(Vec2::MAX, Vec2::min);
            let high = seen.into_iter().fold(Vec2::MIN, Vec2::max);
            let middle = (low + high) / 2.0;
            self.target += middle.x * right + middle.y * up;
        }
        self.clamp_fields();
        self
    }

    /// The position of the eye.
    pub fn eye(&self) -> Vec3 {
        let [_, _, forward] = self.axes();
        self.target - self.distance * forward
    }

    /// Returns the ray through a position in the picture, −1 to 1 rightward and upward.
    pub fn ray_through(&self, [x, y]: [f32; 2], aspect: f32) -> Ray {
        let [right, up, forward] = self.axes();
        let (half, aspect) = (self.tan_half_fov(), clamp_aspect(aspect));
        let (x, y) = (finite_or(x, 0.0) * half * aspect, finite_or(y, 0.0) * half);
        if self.map {
            // The rays of a map are parallel and start above everything, so that each meets the surface from above.
            let off = vec2(x, y) * self.distance;
            return Ray { origin: (self.target.truncate() + off).extend(MAP_RAY_HEIGHT_M), direction: forward };
        }
        let ray = forward + x * right + y * up;
        Ray { origin: self.eye(), direction: ray / ray.length() }
    }

    /// Returns a point's position in the picture, rightward and upward, −1 to 1 inside; `None` behind the eye.
    pub fn project(&self, point: Vec3, aspect: f32) -> Option<[f32; 2]> {
        let [right, up, forward] = self.axes();
        let from = point - self.eye();
        // On a map the scale is the same at every depth.
        let depth = if self.map { self.distance } else { from.dot(forward) };
        let scale = 1.0 / (depth * self.tan_half_fov());
        let seen = [from.dot(right) * scale / clamp_aspect(aspect), from.dot(up) * scale];
        (depth > 0.0 && seen.iter().all(|x| x.is_finite())).then_some(seen)
    }

    /// The unit vectors rightward, upward and forward.
    pub fn axes(&self) -> [Vec3; 3] {
        if self.map {
            return [Vec3::X, Vec3::Y, Vec3::NEG_Z];
        }
        let (sin, cos) = self.azimuth.to_radians().sin_cos();
        // Azimuth is measured clockwise from north, so its sine is the eastern part and its cosine the northern part.
        let (rise, flat) = self.elevation.to_radians().sin_cos();
        [vec3(-cos, sin, 0.0), vec3(-sin * rise, -cos * rise, flat), vec3(-sin * flat, -cos * flat, -rise)]
    }

    /// The tangent of half the vertical field of view.
    pub fn tan_half_fov(&self) -> f32 {
        (finite_or(self.fov, 30.0).clamp(1.0, 150.0).to_radians() / 2.0).tan()
    }

    /// Returns the matrix from metres relative to the eye to clip space. Depth falls from 1 near to 0 far, because
    /// floats then keep their precision far away (reversed z).
    pub fn clip_matrix(&self, aspect: f32) -> Mat4 {
        let [right, up, forward] = self.axes();
        let (half, aspect) = (self.tan_half_fov(), clamp_aspect(aspect));
        // The rows compute x, y, z and w.
        let rows = if self.map {
            let scale = 1.0 / (self.distance * half);
            // Depth on a map is linear around 0.5; a height of MAX_COORDINATE_M relative to the eye changes it by a
            // quarter.
            let deep = 0.25 / MAX_COORDINATE_M;
            [(right * scale / aspect).extend(0.0), (up * scale).extend(0.0), (-forward * deep).extend(0.5), Vec4::W]
        } else {
            // With z equal to the near distance and w to the depth, z / w is 1 at the near plane and tends to 0; there
            // is no far plane.
            let near = Vec4::W * self.near_plane_distance();
            [(right / (half * aspect)).extend(0.0), (up / half).extend(0.0), near, forward.extend(0.0)]
        };
        Mat4::from_cols(rows[0], rows[1], rows[2], rows[3]).transpose()
    }

    /// The distance of the near plane in metres.
    fn near_plane_distance(&self) -> f32 {
        // Whatever is nearer than this is cut off, so the plane approaches the eye as the eye approaches the target.
        (self.distance * 1e-3).clamp(0.05, 5.0)
    }

    /// Clamps every number to the range that can be drawn, and replaces those that are not finite.
    fn clamp_fields(&mut self) {
        let plain = Self::default();
        self.target =
            Vec3::from(self.target.to_array().map(|x| finite_or(x, 0.0).clamp(-MAX_COORDINATE_M, MAX_COORDINATE_M)));
        self.distance = finite_or(self.distance, plain.distance).clamp(DISTANCE_RANGE_M[0], DISTANCE_RANGE_M[1]);
        self.azimuth = finite_or(self.azimuth, plain.azimuth).rem_euclid(360.0);
        self.elevation = finite_or(self.elevation, plain.elevation).clamp(-90.0, 90.0);
        self.fov = finite_or(self.fov, plain.fov).clamp(1.0, 150.0);
    }
}

fn finite_or(x: f32, otherwise: f32) -> f32 {
    if x.is_finite() { x } else { otherwise }
}

fn clamp_aspect(aspect: f32) -> f32 {
    finite_or(aspect, 1.0).clamp(1e-3, 1e3)
}
