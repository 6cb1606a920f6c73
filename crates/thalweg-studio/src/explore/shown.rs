//! [`Shown`]: the rings that the view holds; rays and the eye meet them as one ground.

use glam::{Vec2, Vec3, vec3};
use thalweg_refine::Frame;

use crate::explore::rings::Ring;
use crate::explore::stand::Stand;
use crate::explore::streamer::Made;
use crate::view::camera::Camera;
use crate::view::renderer::TERRAINS;
use crate::view::space::{Ground, Ray};
use crate::view::surface::Surface;

/// A ring that is loaded in the renderer.
pub struct Held {
    /// The ring.
    pub ring: Ring,
    /// Its number among the renderer's terrains.
    pub terrain: usize,
    /// Its surface.
    pub surface: Surface,
}

/// The rings that the view holds, finest first; at most one per level.
#[derive(Default)]
pub struct Shown {
    held: Vec<Held>,
}

impl Shown {
    /// The rings, finest first.
    pub fn rings(&self) -> impl Iterator<Item = &Held> {
        self.held.iter()
    }

    /// Returns true if the view holds this ring.
    pub fn holds(&self, ring: &Ring) -> bool {
        self.held.iter().any(|held| held.ring == *ring)
    }

    /// Adds a ring in place of the one of its level. Returns its number among the renderer's terrains, or `None` if
    /// all are in use.
    pub fn take(&mut self, made: Made) -> Option<usize> {
        self.held.retain(|held| held.ring.level != made.ring.level);
        let terrain = (0..TERRAINS).find(|number| self.held.iter().all(|held| held.terrain != *number))?;
        self.held.push(Held { ring: made.ring, terrain, surface: made.surface });
        self.held.sort_by_key(|held| std::cmp::Reverse(held.ring.level));
        Some(terrain)
    }

    /// Removes rings that are not required any more, once all required ones are present.
    pub fn settle(&mut self, wanted: &[Ring]) {
        if wanted.iter().all(|ring| self.holds(ring)) {
            self.held.retain(|held| wanted.contains(&held.ring));
        }
    }

    /// Returns where a ray meets the ground. The ray comes from a viewpoint's camera whose target is at x = y = 0.
    pub fn hit(&self, frame: &Frame, stand: &Stand, ray: &Ray, exaggeration: f32) -> Option<Vec3> {
        self.held.iter().find_map(|held| {
            let [x, y] = offset(frame, stand, &held.ring);
            let shift = vec3(x, y, 0.0);
            let at = held.surface.hit(&Ray { origin: ray.origin + shift, ..*ray }, exaggeration)?;
            Some(at - shift)
        })
    }

    /// Returns the ground around a viewpoint, with its place at x = y = 0.
    pub fn ground<'a>(&'a self, frame: &'a Frame, stand: &'a Stand) -> Around<'a> {
        Around { shown: self, frame, stand }
    }
}

/// Returns the position of a viewpoint's place relative to a ring's centre, east and north.
fn offset(frame: &Frame, stand: &Stand, ring: &Ring) -> [f32; 2] {
    let flat = Camera { target: Vec3::ZERO, ..stand.camera };
    let target = Stand { camera: flat, ..*stand }.camera_of(ring, frame).target;
    [target.x, target.y]
}

/// The ground around a viewpoint.
pub struct Around<'a> {
    shown: &'a Shown,
    frame: &'a Frame,
    stand: &'a Stand,
}

impl Ground for Around<'_> {
    fn top(&self, place: Vec2) -> Option<f32> {
        self.shown.held.iter().find_map(|held| {
            let [x, y] = offset(self.frame, self.stand, &held.ring);
            held.surface.top_at([place.x + x, place.y + y])
        })
    }

    fn cell(&self) -> f32 {
        self.shown.held.first().map_or(1.0, |held| held.surface.cell())
    }
}
