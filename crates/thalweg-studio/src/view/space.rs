//! The space of the view: metres east, north and up; the middle of the terrain at x = y = 0, z = exaggeration × height.

use glam::{Vec2, Vec3};

/// The box that a terrain fills, heights exaggerated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Western, southern and lowest end.
    pub low: Vec3,
    /// Eastern, northern and highest end.
    pub high: Vec3,
}

impl Bounds {
    /// Its eight corners.
    pub fn corners(&self) -> [Vec3; 8] {
        let Self { low, high } = *self;
        std::array::from_fn(|n| Vec3::select(glam::BVec3::new(n & 1 > 0, n & 2 > 0, n & 4 > 0), high, low))
    }
}

/// A half line from a point; the direction is of unit length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ray {
    /// Where it begins.
    pub origin: Vec3,
    /// Where it points.
    pub direction: Vec3,
}

impl Ray {
    /// The point so many metres along the ray.
    pub fn at(&self, metres: f32) -> Vec3 {
        self.origin + metres * self.direction
    }
}

/// Ground that an eye must not sink into.
pub trait Ground {
    /// Height in metres of the ground, or of the water over it, at a place east and north of the middle; `None` where there is
    /// none.
    fn top(&self, place: Vec2) -> Option<f32>;

    /// Side of a cell in metres.
    fn cell(&self) -> f32;
}
