//! [`SurfaceFacts`] of a surface: what drawing needs to know in addition to its textures.

use crate::view::patches::Pyramid;
use crate::view::surface::Surface;

/// The properties of a surface that drawing needs.
pub(super) struct SurfaceFacts {
    pub pyramid: Pyramid,
    pub sides: [f32; 2],
    pub half: [f32; 2],
    pub extremes: [f32; 2],
    pub sea: Option<f32>,
    pub deepest: f32,
    pub range: [f32; 2],
    pub relief_light: f32,
    pub holes: bool,
    /// True if there is an overlay.
    pub has_data: bool,
    /// True if the ground has natural colours.
    pub natural: bool,
}

impl SurfaceFacts {
    pub fn from_surface(surface: &Surface) -> Self {
        Self {
            pyramid: surface.pyramid.clone(),
            sides: surface.sides,
            half: surface.half_extent(),
            extremes: surface.extremes(),
            sea: surface.sea,
            deepest: surface.deepest,
            range: surface.range,
            relief_light: surface.relief_light,
            holes: surface.holes,
            // Natural colours use the texture of the overlay too, but replace the ground's colour instead of covering
            // it.
            has_data: surface.data.is_some() && !surface.natural,
            natural: surface.natural,
        }
    }
}
