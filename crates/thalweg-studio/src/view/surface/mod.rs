//! [`Surface`]: a terrain made ready for the GPU, on the CPU and off the window's thread.

mod make;
mod meet;
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
use crate::view::space::Bounds;
use crate::view::woods::Plant;

/// A level where no water stands.
pub const DRY: f32 = -1e30;
/// A level where there is no data.
pub const HOLE: f32 = -2e30;
/// Depth of the block under its lowest ground, as a share of its longer side.
pub(super) const FOOT: f32 = 0.045;

/// Of what natural colours depend.
#[derive(Debug, Clone, PartialEq)]
pub struct Natural {
    /// Climate and colours.
    pub rules: TextureRules,
    /// The rock that walls and scree show.
    pub rock: &'static Rock,
}

impl Natural {
    /// As a recipe says.
    pub fn of(recipe: &Recipe) -> Self {
        Self { rules: recipe.textures.clone(), rock: recipe.rock }
    }
}

thalweg_core::with_defaults! {
    /// What a surface is made for.
    #[derive(Debug, Clone)]
    pub struct Wanted<'a> {
        /// Most samples on a side; larger terrains are averaged down. An adapter's largest texture is a limit that must be met.
        pub most: usize = 4096,
        /// Least samples on the longer side: smaller terrains are made smooth between their cells. 0 leaves them as they are.
        pub least: usize = 0,
        /// Where the shadows fall from.
        pub sun: Sun = Sun::default(),
        /// Factor on heights; what is not above 0 takes the one that fits:
        /// [`exaggeration`](thalweg_render::pictures::perspective::exaggeration).
        pub exaggeration: f32 = 0.0,
        /// Data to be laid over the land.
        pub overlay: Option<Overlay> = None,
        /// What the land's natural colours depend on, where it is to have these and no overlay: in place of colours by height.
        pub natural: Option<Natural> = None,
        /// The terrain at the start, for what compares with it.
        pub start: Option<&'a Terrain> = None,
        /// Heights in metres of the land's first and last colour; `None` takes them from the ground.
        pub range: Option<[f32; 2]> = None,
        /// Factor on heights for the light at an exaggeration of 1; `None` takes it from the ground. [`Surface::relief_light`]
        /// of an earlier surface keeps the light steady while the land changes.
        pub light: Option<f32> = None,
        /// Depth in metres of the sea's darkest blue; `None` takes it from the sea's bed. Surfaces of one larger land share one.
        pub deepest: Option<f32> = None,
    }
}

/// A terrain ready to be drawn: samples from end to end of it, by rows from the north.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Surface {
    #[serde(with = "raw::field")]
    pub(super) heights: Field<f32>,
    /// Level of standing water, [`DRY`] or [`HOLE`].
    #[serde(with = "raw::field")]
    pub(super) level: Field<f32>,
    /// Sky that is seen, cast shadow, loose ground, film of flowing water; each 0 to 255.
    #[serde(with = "raw::field")]
    pub(super) light: Field<[u8; 4]>,
    /// Cover of streams, light under crowns, cover of ice; the fourth is free.
    #[serde(with = "raw::field")]
    pub(super) lines: Field<[u8; 4]>,
    /// Colour (sRGB) and cover of the overlay, or of the ground itself.
    #[serde(with = "raw::maybe")]
    pub(super) data: Option<Field<[u8; 4]>>,
    /// Whether the data are the ground's own colours.
    pub(super) natural: bool,
    /// Its colours are no bytes: who sends a surface elsewhere sends the legend in its own way.
    #[serde(skip)]
    pub(super) legend: Option<OverlayLegend>,
    pub(super) range: [f32; 2],
    pub(super) sea: Option<f32>,
    /// Depth of the sea's darkest blue in metres.
    pub(super) deepest: f32,
    /// Side of a sample, south and east, in metres.
    pub(super) sides: [f32; 2],
    pub(super) exaggeration: f32,
    pub(super) relief_light: f32,
    #[serde(with = "raw::list")]
    pub(super) plants: Vec<Plant>,
    pub(super) pyramid: Pyramid,
    pub(super) holes: bool,
    suggested: f32,
    /// Lowest ground and highest surface in metres.
    extremes: [f32; 2],
    cells: Size,
    cell: f32,
}

impl Surface {
    /// Rows and columns of samples.
    pub fn size(&self) -> Size {
        self.heights.size()
    }

    /// Side of a cell of the terrain in metres.
    pub fn cell(&self) -> f32 {
        self.cell
    }

    /// The box that the block fills, at the surface's exaggeration.
    pub fn bounds(&self) -> Bounds {
        self.bounds_at(self.exaggeration)
    }

    /// The box that the block fills at another exaggeration.
    pub fn bounds_at(&self, exaggeration: f32) -> Bounds {
        let [y, x] = self.half();
        Bounds { low: vec3(-x, -y, self.base(exaggeration)), high: vec3(x, y, self.extremes[1] * exaggeration) }
    }

    /// Height of the block's foot, exaggerated.
    pub(super) fn base(&self, exaggeration: f32) -> f32 {
        let [y, x] = self.half();
        self.extremes[0] * exaggeration - FOOT * 2.0 * x.max(y)
    }

    /// Lowest ground and highest surface in metres.
    pub fn extremes(&self) -> [f32; 2] {
        self.extremes
    }

    /// Half the extent, north and east, in metres.
    pub(super) fn half(&self) -> [f32; 2] {
        [0, 1].map(|k| self.sides[k] * (self.size()[k] - 1) as f32 / 2.0)
    }

    /// The exaggeration that it was made for.
    pub fn exaggeration(&self) -> f32 {
        self.exaggeration
    }

    /// The exaggeration at which relief and extent are in good proportion.
    pub fn suggested_exaggeration(&self) -> f32 {
        self.suggested
    }

    /// Factor on heights for the light at an exaggeration of 1.
    pub fn relief_light(&self) -> f32 {
        self.relief_light
    }

    /// Heights in metres of the land's first and last colour.
    pub fn range(&self) -> [f32; 2] {
        self.range
    }

    /// Depth in metres of the sea's darkest blue.
    pub fn deepest(&self) -> f32 {
        self.deepest
    }

    /// How to read the overlay that was asked for.
    pub fn legend(&self) -> Option<&OverlayLegend> {
        self.legend.as_ref()
    }

    /// Puts another legend in the place of the surface's own.
    pub(crate) fn set_legend(&mut self, legend: OverlayLegend) {
        self.legend = Some(legend);
    }
}
