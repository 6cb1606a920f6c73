//! [`Shown`]: the rings that the view holds, met by rays and by the eye as one ground.

use glam::{Vec2, Vec3, vec3};
use thalweg_refine::Frame;

use crate::explore::rings::Ring;
use crate::explore::stand::Stand;
use crate::explore::streamer::Made;
use crate::view::camera::Camera;
use crate::view::renderer::TERRAINS;
use crate::view::space::{Ground, Ray};
use crate::view::surface::Surface;

/// A ring in the renderer.
pub struct Held {
    /// Which.
    pub ring: Ring,
    /// Its number among the renderer's terrains.
    pub terrain: usize,
    /// Its surface.
    pub surface: Surface,
}

/// The rings that the view holds, from the finest; no two of one level.
#[derive(Default)]
pub struct Shown {
    held: Vec<Held>,
}

impl Shown {
    /// The rings, from the finest.
    pub fn rings(&self) -> impl Iterator<Item = &Held> {
        self.held.iter()
    }

    /// Whether a ring is among them.
    pub fn holds(&self, ring: &Ring) -> bool {
        self.held.iter().any(|held| held.ring == *ring)
    }

    /// Takes a ring in, in place of that of its level; its number among the renderer's terrains, `None` where all are taken.
    pub fn take(&mut self, made: Made) -> Option<usize> {
        self.held.retain(|held| held.ring.level != made.ring.level);
        let terrain = (0..TERRAINS).find(|number| self.held.iter().all(|held| held.terrain != *number))?;
        self.held.push(Held { ring: made.ring, terrain, surface: made.surface });
        self.held.sort_by_key(|held| std::cmp::Reverse(held.ring.level));
        Some(terrain)
    }

    /// Lets rings go that are not wanted any more, once all that are wanted are there.
    pub fn settle(&mut self, wanted: &[Ring]) {
        if wanted.iter().all(|ring| self.holds(ring)) {
            self.held.retain(|held| wanted.contains(&held.ring));
        }
    }

    /// Where a ray, from a stand's camera whose target lies at x = y = 0, meets the ground.
    pub fn hit(&self, frame: &Frame, stand: &Stand, ray: &Ray, exaggeration: f32) -> Option<Vec3> {
        self.held.iter().find_map(|held| {
            let [x, y] = offset(frame, stand, &held.ring);
            let shift = vec3(x, y, 0.0);
            let at = held.surface.hit(&Ray { origin: ray.origin + shift, ..*ray }, exaggeration)?;
            Some(at - shift)
        })
    }

    /// The ground about a stand, with its place at x = y = 0.
    pub fn ground<'a>(&'a self, frame: &'a Frame, stand: &'a Stand) -> Around<'a> {
        Around { shown: self, frame, stand }
    }
}

/// Where a stand's place lies from a ring's middle, east and north.
fn offset(frame: &Frame, stand: &Stand, ring: &Ring) -> [f32; 2] {
    let flat = Camera { target: Vec3::ZERO, ..stand.camera };
    let target = Stand { camera: flat, ..*stand }.camera_of(ring, frame).target;
    [target.x, target.y]
}

/// The ground about a stand.
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
