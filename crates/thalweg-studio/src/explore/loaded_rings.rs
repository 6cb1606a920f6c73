//! [`LoadedRings`]: the rings that the view holds; rays and the eye meet them as one ground.

use glam::{Vec2, Vec3, vec3};
use thalweg_refine::Frame;

use crate::explore::rings::LevelRing;
use crate::explore::streamer::PreparedRing;
use crate::explore::viewpoint::Viewpoint;
use crate::view::camera::ViewCamera;
use crate::view::renderer::MAX_TERRAINS;
use crate::view::space::{GroundSurface, Ray};
use crate::view::surface::Surface;

/// A ring that is loaded in the renderer.
pub struct LoadedRing {
    /// The ring.
    pub ring: LevelRing,
    /// Its number among the renderer's terrains.
    pub terrain: usize,
    /// Its surface.
    pub surface: Surface,
}

/// The rings that the view holds, finest first; at most one per level.
#[derive(Default)]
pub struct LoadedRings {
    rings: Vec<LoadedRing>,
}

impl LoadedRings {
    /// The rings, finest first.
    pub fn rings(&self) -> impl Iterator<Item = &LoadedRing> {
        self.rings.iter()
    }

    /// Returns true if the view holds this ring.
    pub fn contains(&self, ring: &LevelRing) -> bool {
        self.rings.iter().any(|loaded| loaded.ring == *ring)
    }

    /// Adds a ring in place of the one of its level. Returns its number among the renderer's terrains, or `None` if
    /// all are in use.
    pub fn insert(&mut self, made: PreparedRing) -> Option<usize> {
        // The old ring of the level is removed first, so its slot in the renderer is free for the new one.
        self.rings.retain(|loaded| loaded.ring.level != made.ring.level);
        let terrain = (0..MAX_TERRAINS).find(|number| self.rings.iter().all(|loaded| loaded.terrain != *number))?;
        self.rings.push(LoadedRing { ring: made.ring, terrain, surface: made.surface });
        self.rings.sort_by_key(|loaded| std::cmp::Reverse(loaded.ring.level));
        Some(terrain)
    }

    /// Removes rings that are not required any more, once all required ones are present.
    pub fn remove_stale(&mut self, visible_rings: &[LevelRing]) {
        if visible_rings.iter().all(|ring| self.contains(ring)) {
            self.rings.retain(|loaded| visible_rings.contains(&loaded.ring));
        }
    }

    /// Returns where a ray meets the ground. The ray comes from a viewpoint's camera whose target is at x = y = 0.
    pub fn intersect_ray(&self, frame: &Frame, stand: &Viewpoint, ray: &Ray, exaggeration: f32) -> Option<Vec3> {
        // The finest ring with a hit decides, because the coarser ones are not drawn where it is.
        self.rings.iter().find_map(|loaded| {
            let [x, y] = compute_ring_offset(frame, stand, &loaded.ring);
            let shift = vec3(x, y, 0.0);
            let at = loaded.surface.intersect_ray(&Ray { origin: ray.origin + shift, ..*ray }, exaggeration)?;
            Some(at - shift)
        })
    }

    /// Returns the ground around a viewpoint, with its place at x = y = 0.
    pub fn ground_around<'a>(&'a self, frame: &'a Frame, stand: &'a Viewpoint) -> RingGround<'a> {
        RingGround { shown: self, frame, stand }
    }
}

/// Returns the position of a viewpoint's place relative to a ring's centre, east and north.
fn compute_ring_offset(frame: &Frame, stand: &Viewpoint, ring: &LevelRing) -> [f32; 2] {
    // The offset comes from the conversion that drawing uses too, so that the cursor meets the ring where it is drawn.
    let flat = ViewCamera { target: Vec3::ZERO, ..stand.camera };
    let target = Viewpoint { camera: flat, ..*stand }.relative_camera(ring, frame).target;
    [target.x, target.y]
}

/// The ground around a viewpoint.
pub struct RingGround<'a> {
    shown: &'a LoadedRings,
    frame: &'a Frame,
    stand: &'a Viewpoint,
}

impl GroundSurface for RingGround<'_> {
    fn top_height(&self, place: Vec2) -> Option<f32> {
        self.shown.rings.iter().find_map(|loaded| {
            let [x, y] = compute_ring_offset(self.frame, self.stand, &loaded.ring);
            loaded.surface.top_at([place.x + x, place.y + y])
        })
    }

    fn cell_size(&self) -> f32 {
        self.shown.rings.first().map_or(1.0, |loaded| loaded.surface.cell_size())
    }
}
