//! [`Facts`] of a surface: what drawing needs to know in addition to its textures.

use crate::view::patches::Pyramid;
use crate::view::surface::Surface;

/// The properties of a surface that drawing needs.
pub(super) struct Facts {
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

impl Facts {
    pub fn of(surface: &Surface) -> Self {
        Self {
            pyramid: surface.pyramid.clone(),
            sides: surface.sides,
            half: surface.half(),
            extremes: surface.extremes(),
            sea: surface.sea,
            deepest: surface.deepest,
            range: surface.range,
            relief_light: surface.relief_light,
            holes: surface.holes,
            has_data: surface.data.is_some() && !surface.natural,
            natural: surface.natural,
        }
    }
}
