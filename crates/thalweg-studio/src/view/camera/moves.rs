//! Movements of a camera: by the mouse, by keys, and out of the ground.

use glam::{Vec2, Vec3, vec2};

use crate::view::camera::{DISTANCE_RANGE_M, ViewCamera, finite_or};
use crate::view::space::GroundSurface;

/// The rotation of the camera in degrees per pixel of dragging.
const DEGREES_PER_PIXEL: f32 = 0.3;
/// The smallest height above the ground: as a fraction of a cell, and in metres; the larger one applies.
const CLEARANCE: [f32; 2] = [0.5, 1.0];

impl ViewCamera {
    /// Orbits around the target, for a drag in pixels to the right and down.
    pub fn orbit(&mut self, [dx, dy]: [f32; 2]) {
        if self.map {
            return;
        }
        self.azimuth += finite_or(dx, 0.0) * DEGREES_PER_PIXEL;
        // Orbiting stops 2° above the horizon. A camera that flying has brought lower keeps its angle and is only
        // prevented from going lower still.
        let low = self.elevation.min(2.0);
        self.elevation = (self.elevation + finite_or(dy, 0.0) * DEGREES_PER_PIXEL).clamp(low, 90.0);
        self.clamp_fields();
    }

    /// Moves along the ground as if it were dragged, by pixels to the right and down in a picture of the given width
    /// and height in pixels.
    pub fn pan(&mut self, [dx, dy]: [f32; 2], [_, height]: [f32; 2]) {
        let metres = 2.0 * self.distance * self.tan_half_fov() / finite_or(height, 1.0).max(1.0);
        let (sin, cos) = self.azimuth.to_radians().sin_cos();
        // A pixel covers more ground along the view the flatter the view is; 0.3 limits the speed near the horizon to
        // 3.3 times that of a vertical view.
        let rise = self.elevation.to_radians().sin().max(0.3);
        let (right, away) = if self.map { (Vec2::X, Vec2::Y) } else { (vec2(-cos, sin), vec2(-sin, -cos)) };
        let (x, y) = (finite_or(dx, 0.0) * metres, finite_or(dy, 0.0) * metres / if self.map { 1.0 } else { rise });
        self.target += (y * away - x * right).extend(0.0);
        self.clamp_fields();
    }

    /// Zooms in by a factor (above 1: nearer), while the point `toward` keeps its position in the picture.
    pub fn zoom(&mut self, factor: f32, toward: Option<Vec3>) {
        self.clamp_fields();
        let factor = finite_or(factor, 1.0).clamp(1e-3, 1e3);
        let before = self.distance;
        self.distance = (before / factor).clamp(DISTANCE_RANGE_M[0], DISTANCE_RANGE_M[1]);
        // The target approaches the point by the same ratio as the eye approaches the target, which keeps the point's
        // projection constant.
        let share = self.distance / before;
        if let Some(point) = toward.filter(|point| point.is_finite()) {
            self.target = point + (self.target - point) * share;
        }
        self.clamp_fields();
    }

    /// Flies by metres to the right, forward and up.
    pub fn fly(&mut self, metres: Vec3) {
        let [across, _, ahead] = self.axes();
        let ahead = if self.map { Vec3::Y } else { ahead };
        let [right, forward, up] = metres.to_array().map(|x| finite_or(x, 0.0));
        self.target += right * across + forward * ahead + up * Vec3::Z;
        self.clamp_fields();
    }

    /// Looks around from the position of the eye, for a drag in pixels to the right and down.
    pub fn look_around(&mut self, [dx, dy]: [f32; 2]) {
        if self.map {
            return;
        }
        self.clamp_fields();
        let eye = self.eye();
        self.azimuth += finite_or(dx, 0.0) * DEGREES_PER_PIXEL;
        // The limits stop short of looking straight up and straight down.
        self.elevation = (self.elevation + finite_or(dy, 0.0) * DEGREES_PER_PIXEL).clamp(-85.0, 89.0);
        self.clamp_fields();
        // The eye keeps its position; only the target moves around it.
        let [_, _, forward] = self.axes();
        self.target = eye + self.distance * forward;
        self.clamp_fields();
    }

    /// Keeps the eye above the ground and the water: first by orbiting upwards around the target, then, if that is not
    /// enough, by lifting both.
    pub fn keep_above<G: GroundSurface>(&mut self, ground: &G, exaggeration: f32) {
        if self.map {
            return;
        }
        // Each change of the elevation moves the eye over other ground, so the required angle is computed again; a few
        // iterations suffice because lift_above removes the remainder.
        for _ in 0..4 {
            let lacking = self.missing_clearance(ground, exaggeration);
            let rise = (self.eye().z + lacking - self.target.z) / self.distance;
            // A ratio near 1 means that only a vertical view would be high enough; lifting handles that case.
            if lacking <= 0.0 || !(-1.0..0.999).contains(&rise) {
                break;
            }
            self.elevation = self.elevation.max(rise.asin().to_degrees());
        }
        self.lift_above(ground, exaggeration);
    }

    /// Keeps the eye above the ground and the water by lifting eye and target together, for flying.
    pub fn lift_above<G: GroundSurface>(&mut self, ground: &G, exaggeration: f32) {
        if !self.map {
            self.target.z += self.missing_clearance(ground, exaggeration).max(0.0);
            self.clamp_fields();
        }
    }

    /// Returns how far the eye is too low in metres; negative if it is high enough.
    fn missing_clearance<G: GroundSurface>(&self, ground: &G, exaggeration: f32) -> f32 {
        let eye = self.eye();
        let clear = (CLEARANCE[0] * ground.cell_size()).max(CLEARANCE[1]);
        // Outside the terrain there is nothing to stay above.
        ground.top_height(eye.truncate()).map_or(f32::MIN, |top| finite_or(top * exaggeration, 0.0) + clear - eye.z)
    }
}
