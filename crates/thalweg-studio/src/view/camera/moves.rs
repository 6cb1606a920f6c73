//! Movements of a camera: by the mouse, by keys, and out of the ground.

use glam::{Vec2, Vec3, vec2};

use crate::view::camera::{Camera, DISTANCE, sound};
use crate::view::space::Ground;

/// The rotation of the camera in degrees per pixel of dragging.
const TURN: f32 = 0.3;
/// The smallest height above the ground: as a fraction of a cell, and in metres; the larger one applies.
const CLEARANCE: [f32; 2] = [0.5, 1.0];

impl Camera {
    /// Orbits around the target, for a drag in pixels to the right and down.
    pub fn orbit(&mut self, [dx, dy]: [f32; 2]) {
        if self.map {
            return;
        }
        self.azimuth += sound(dx, 0.0) * TURN;
        let low = self.elevation.min(2.0);
        self.elevation = (self.elevation + sound(dy, 0.0) * TURN).clamp(low, 90.0);
        self.settle();
    }

    /// Moves along the ground as if it were dragged, by pixels to the right and down in a picture of the given width
    /// and height in pixels.
    pub fn pan(&mut self, [dx, dy]: [f32; 2], [_, height]: [f32; 2]) {
        let metres = 2.0 * self.distance * self.half() / sound(height, 1.0).max(1.0);
        let (sin, cos) = self.azimuth.to_radians().sin_cos();
        let rise = self.elevation.to_radians().sin().max(0.3);
        let (right, away) = if self.map { (Vec2::X, Vec2::Y) } else { (vec2(-cos, sin), vec2(-sin, -cos)) };
        let (x, y) = (sound(dx, 0.0) * metres, sound(dy, 0.0) * metres / if self.map { 1.0 } else { rise });
        self.target += (y * away - x * right).extend(0.0);
        self.settle();
    }

    /// Zooms in by a factor (above 1: nearer), while the point `toward` keeps its position in the picture.
    pub fn zoom(&mut self, factor: f32, toward: Option<Vec3>) {
        self.settle();
        let factor = sound(factor, 1.0).clamp(1e-3, 1e3);
        let before = self.distance;
        self.distance = (before / factor).clamp(DISTANCE[0], DISTANCE[1]);
        let share = self.distance / before;
        if let Some(point) = toward.filter(|point| point.is_finite()) {
            self.target = point + (self.target - point) * share;
        }
        self.settle();
    }

    /// Flies by metres to the right, forward and up.
    pub fn fly(&mut self, metres: Vec3) {
        let [across, _, ahead] = self.axes();
        let ahead = if self.map { Vec3::Y } else { ahead };
        let [right, forward, up] = metres.to_array().map(|x| sound(x, 0.0));
        self.target += right * across + forward * ahead + up * Vec3::Z;
        self.settle();
    }

    /// Looks around from the position of the eye, for a drag in pixels to the right and down.
    pub fn turn(&mut self, [dx, dy]: [f32; 2]) {
        if self.map {
            return;
        }
        self.settle();
        let eye = self.eye();
        self.azimuth += sound(dx, 0.0) * TURN;
        self.elevation = (self.elevation + sound(dy, 0.0) * TURN).clamp(-85.0, 89.0);
        self.settle();
        let [_, _, forward] = self.axes();
        self.target = eye + self.distance * forward;
        self.settle();
    }

    /// Keeps the eye above the ground and the water: first by orbiting upwards around the target, then, if that is not
    /// enough, by lifting both.
    pub fn keep_above<G: Ground>(&mut self, ground: &G, exaggeration: f32) {
        if self.map {
            return;
        }
        for _ in 0..4 {
            let lacking = self.lacking(ground, exaggeration);
            let rise = (self.eye().z + lacking - self.target.z) / self.distance;
            if lacking <= 0.0 || !(-1.0..0.999).contains(&rise) {
                break;
            }
            self.elevation = self.elevation.max(rise.asin().to_degrees());
        }
        self.lift_above(ground, exaggeration);
    }

    /// Keeps the eye above the ground and the water by lifting eye and target together, for flying.
    pub fn lift_above<G: Ground>(&mut self, ground: &G, exaggeration: f32) {
        if !self.map {
            self.target.z += self.lacking(ground, exaggeration).max(0.0);
            self.settle();
        }
    }

    /// Returns how far the eye is too low in metres; negative if it is high enough.
    fn lacking<G: Ground>(&self, ground: &G, exaggeration: f32) -> f32 {
        let eye = self.eye();
        let clear = (CLEARANCE[0] * ground.cell()).max(CLEARANCE[1]);
        ground.top(eye.truncate()).map_or(f32::MIN, |top| sound(top * exaggeration, 0.0) + clear - eye.z)
    }
}
