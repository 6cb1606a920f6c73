//! The coordinates of the view: metres east, north and up, with the centre of the terrain at x = y = 0 and z =
//! exaggeration × height.

use glam::{Vec2, Vec3};

/// The bounding box of a terrain, with exaggerated heights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundingBox {
    /// The western, southern and lowest end.
    pub low: Vec3,
    /// The eastern, northern and highest end.
    pub high: Vec3,
}

impl BoundingBox {
    /// The eight corners.
    pub fn corners(&self) -> [Vec3; 8] {
        let Self { low, high } = *self;
        std::array::from_fn(|n| Vec3::select(glam::BVec3::new(n & 1 > 0, n & 2 > 0, n & 4 > 0), high, low))
    }
}

/// A half-line from a point; the direction has unit length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ray {
    /// The start.
    pub origin: Vec3,
    /// The direction.
    pub direction: Vec3,
}

impl Ray {
    /// The point at this distance along the ray, in metres.
    pub fn point_at(&self, metres: f32) -> Vec3 {
        self.origin + metres * self.direction
    }
}

/// A ground surface that an eye must not sink into.
pub trait GroundSurface {
    /// The height in metres of the ground, or of the water above it, at a place east and north of the centre; `None`
    /// outside.
    fn top_height(&self, place: Vec2) -> Option<f32>;

    /// The cell size in metres.
    fn cell_size(&self) -> f32;
}
