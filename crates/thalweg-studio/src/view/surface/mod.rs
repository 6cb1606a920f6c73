//! [`Surface`]: a terrain that is prepared for the GPU, on the CPU and outside the window's thread.

mod intersection;
mod make;
#[cfg(test)]
mod tests;

use glam::vec3;
use serde::{Deserialize, Serialize};
use thalweg_core::{Field, Size, Terrain};
use thalweg_models::rocks::Rock;
use thalweg_render::pictures::light::Sun;
use thalweg_render::products::overlay::{Overlay, OverlayLegend};
use thalweg_render::products::textures::TextureRules;
use thalweg_sim::recipe::Recipe;

use crate::raw;
use crate::view::patches::Pyramid;
use crate::view::space::BoundingBox;
use crate::view::woods::PlantInstance;

/// The water level of cells without standing water.
// The two markers differ by a factor of two, so that thresholds between them separate them exactly in 32 bits.
pub const NO_WATER_LEVEL: f32 = -1e30;
/// The water level of cells without data.
pub const NODATA_LEVEL: f32 = -2e30;
/// The depth of the block below its lowest terrain, as a fraction of its longer side.
pub(super) const BLOCK_DEPTH_FRACTION: f32 = 0.045;

/// The settings that determine natural colours.
#[derive(Debug, Clone, PartialEq)]
pub struct Natural {
    /// Climate and colours.
    pub rules: TextureRules,
    /// The rock of cliffs and scree.
    pub rock: &'static Rock,
}

impl Natural {
    /// Returns the settings of a recipe.
    pub fn from_recipe(recipe: &Recipe) -> Self {
        Self { rules: recipe.textures.clone(), rock: recipe.rock }
    }
}

thalweg_core::with_defaults! {
    /// The options with which a surface is made.
    #[derive(Debug, Clone)]
    pub struct SurfaceOptions<'a> {
        /// Greatest number of samples on a side; larger terrains are averaged down. It must not exceed the largest
        /// texture of the adapter.
        pub most: usize = 4096,
        /// Least number of samples on the longer side: smaller terrains are smoothed between their cells. 0 leaves them
        /// as they are.
        pub least: usize = 0,
        /// The sun, which casts the shadows.
        pub sun: Sun = Sun::default(),
        /// Factor on heights; if it is not above 0,
        /// [`exaggeration_for_distance`](thalweg_render::pictures::perspective::exaggeration) chooses one that suits the terrain.
        pub exaggeration: f32 = 0.0,
        /// Data drawn over the land.
        pub overlay: Option<Overlay> = None,
        /// What natural colours depend on; `None` gives colours by height. An overlay takes precedence.
        pub natural: Option<Natural> = None,
        /// The terrain at the start, for overlays that compare with it.
        pub start: Option<&'a Terrain> = None,
        /// Heights in metres of the land's first and last colour; `None` takes them from the ground.
        pub range: Option<[f32; 2]> = None,
        /// Factor on heights for the shading at an exaggeration of 1; `None` takes it from the ground. With
        /// [`Surface::relief_light`] of an earlier surface the shading stays constant while the land changes.
        pub light: Option<f32> = None,
        /// Depth in metres at which the sea has its darkest blue; `None` takes it from the sea floor. Surfaces that are
        /// parts of one larger land use the same value.
        pub deepest: Option<f32> = None,
    }
}

/// A terrain that is ready to be drawn: samples over its whole extent, row-major from the north.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Surface {
    #[serde(with = "raw::field")]
    pub(super) heights: Field<f32>,
    /// The level of standing water in metres, or [`NO_WATER_LEVEL`] or [`NODATA_LEVEL`].
    #[serde(with = "raw::field")]
    pub(super) level: Field<f32>,
    /// Visible sky, cast shadow, sediment and film of flowing water, each 0 to 255.
    #[serde(with = "raw::field")]
    pub(super) light: Field<[u8; 4]>,
    /// Cover of streams, light under tree crowns and cover of ice; the fourth byte is unused.
    #[serde(with = "raw::field")]
    pub(super) lines: Field<[u8; 4]>,
    /// Colour (sRGB) and opacity of the overlay, or of the natural colours.
    #[serde(with = "raw::maybe")]
    pub(super) data: Option<Field<[u8; 4]>>,
    /// True if `data` are natural colours.
    pub(super) natural: bool,
    /// Not serialized, because its colours are not plain bytes; it is sent separately.
    #[serde(skip)]
    pub(super) legend: Option<OverlayLegend>,
    pub(super) range: [f32; 2],
    pub(super) sea: Option<f32>,
    /// The depth at which the sea has its darkest blue, in metres.
    pub(super) deepest: f32,
    /// The size of a sample to the south and to the east, in metres.
    pub(super) sides: [f32; 2],
    pub(super) exaggeration: f32,
    pub(super) relief_light: f32,
    #[serde(with = "raw::list")]
    pub(super) plants: Vec<PlantInstance>,
    pub(super) pyramid: Pyramid,
    pub(super) holes: bool,
    suggested: f32,
    /// The lowest terrain and the highest surface in metres.
    extremes: [f32; 2],
    cells: Size,
    cell: f32,
}

impl Surface {
    /// The numbers of rows and columns of samples.
    pub fn size(&self) -> Size {
        self.heights.size()
    }

    /// The cell size of the terrain in metres.
    pub fn cell_size(&self) -> f32 {
        self.cell
    }

    /// The bounding box of the block, at the surface's exaggeration.
    pub fn bounds(&self) -> BoundingBox {
        self.bounds_at(self.exaggeration)
    }

    /// The bounding box of the block at another exaggeration.
    pub fn bounds_at(&self, exaggeration: f32) -> BoundingBox {
        let [y, x] = self.half_extent();
        BoundingBox {
            low: vec3(-x, -y, self.base_height(exaggeration)),
            high: vec3(x, y, self.extremes[1] * exaggeration),
        }
    }

    /// The height of the bottom of the block, exaggerated.
    pub(super) fn base_height(&self, exaggeration: f32) -> f32 {
        let [y, x] = self.half_extent();
        // The depth is not exaggerated: the block keeps its thickness while the user changes the relief.
        self.extremes[0] * exaggeration - BLOCK_DEPTH_FRACTION * 2.0 * x.max(y)
    }

    /// The lowest terrain and the highest surface in metres.
    pub fn extremes(&self) -> [f32; 2] {
        self.extremes
    }

    /// Half the extent, north and east, in metres.
    pub(super) fn half_extent(&self) -> [f32; 2] {
        [0, 1].map(|k| self.sides[k] * (self.size()[k] - 1) as f32 / 2.0)
    }

    /// The exaggeration for which the surface was made.
    pub fn exaggeration(&self) -> f32 {
        self.exaggeration
    }

    /// The exaggeration at which relief and extent are in good proportion.
    pub fn suggested_exaggeration(&self) -> f32 {
        self.suggested
    }

    /// The factor on heights for the light at an exaggeration of 1.
    pub fn relief_light(&self) -> f32 {
        self.relief_light
    }

    /// The heights of the first and the last land colour, in metres.
    pub fn colour_range(&self) -> [f32; 2] {
        self.range
    }

    /// The depth at which the sea has its darkest blue, in metres.
    pub fn darkest_sea_depth(&self) -> f32 {
        self.deepest
    }

    /// The legend of the requested overlay.
    pub fn legend(&self) -> Option<&OverlayLegend> {
        self.legend.as_ref()
    }

    /// Replaces the surface's legend.
    pub(crate) fn set_legend(&mut self, legend: OverlayLegend) {
        self.legend = Some(legend);
    }
}
