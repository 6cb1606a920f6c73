//! Textures of a terrain: the share of each material in each cell, unlit albedo, roughness, occlusion, curvature and
//! flow.
//!
//! The ground cover follows from the processes that formed the land: steep walls are bare; scree below them lies at
//! its angle of repose; gentle slopes have soil and grass; forests end at a tree line; snow lies above a line that is
//! lower on shaded sides, and leaves steep slopes bare; the beds of rivers and lakes are wet. [`MATERIALS`] declares
//! each material; [`TextureRules`] are a recipe's parameters of climate and colours.
//!
//! ```
//! use thalweg_render::products::textures::{TextureOptions, TextureRules, Textures};
//! use thalweg_models::rocks::Rock;
//! use thalweg_core::terrain::grid::Grid;
//! use thalweg_core::terrain::Terrain;
//!
//! let mut terrain = Terrain::new(Grid::new([16, 16], 10.0)?);
//! let options = TextureOptions::default();
//! let textures = Textures::from_terrain(&terrain, &TextureRules::default(), Rock::usual(), &options, None)?;
//! assert!(textures.weights.as_slice().iter().all(|cell| cell.iter().map(|w| u32::from(*w)).sum::<u32>() == 255));
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

mod albedo;
mod cover;
pub mod maps;
mod materials;
mod rules;
mod site;

pub use albedo::AlbedoView;
pub use cover::{GroundCover, Shares};
pub use materials::{COUNT, CoverCondition, Factor, MATERIALS, Material, Palette};
pub use rules::TextureRules;
pub use rules::Textured;
pub use site::min_river_discharge;

use crate::pictures::colour::Linear;
use crate::products::normals::PngDepth;
use thalweg_core::declare::operation::Operation as _;
use thalweg_core::terrain::filter::{AxisFilter, Kernel, resample_values};
use thalweg_core::{Field, Result, Size, Terrain, operation};
use thalweg_models::rocks::Rock;

operation! {
    /// Computes the ground cover of a terrain as textures: weights of materials, unlit albedo, roughness, occlusion,
    /// curvature, flow, erosion and deposition.
    pub struct TextureOptions, "textures", derive(Copy) {
        /// The number of samples on the longer side. The default is one sample per cell. The outermost samples lie at
        /// the centres of the outermost cells.
        size: Option<usize> = None, within 1..=65_536, unit "1";
        /// The number of bits of each weight.
        bits: PngDepth = PngDepth::Eight, within .., unit "1";
        /// Shows forests from above in the albedo: the crowns of the trees instead of the forest floor.
        from_air: bool = false, within .., unit "1";
    }
}

/// The textures of a terrain, all of one size, rows from the north.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Textures {
    /// The weights of [`MATERIALS`], in order, which sum to exactly [`Textures::full`], or to 0 without data.
    pub weights: Field<[u16; COUNT]>,
    /// The sum of the weights: 255 or 65 535.
    pub full: u16,
    /// The unlit albedo, linear, 0 to 1 per channel; black without data.
    pub albedo: Field<Linear>,
    /// The roughness, 0 smooth to 1 rough.
    pub roughness: Field<f32>,
    /// The visible share of the sky, 0 to 1.
    pub occlusion: Field<f32>,
    /// The mean curvature in 1/m, positive on crests.
    pub curvature: Field<f32>,
    /// The flow direction as a unit vector east and south, and the flow speed in m/s. The vector is zero where there
    /// is no direction, for example where a sample averages cells whose directions cancel.
    pub flow: Field<[f32; 3]>,
    /// The erosion in metres, 0 or more; `None` if the start is unknown.
    pub wear: Option<Field<f32>>,
    /// The deposition in metres, 0 or more; if the start is unknown, the sediment thickness in metres, or `None` if
    /// the terrain has none.
    pub deposit: Option<Field<f32>>,
    /// The distance between two samples in metres.
    pub cell: f64,
}

impl Textures {
    /// Creates the textures of a terrain of the given rock. Erosion and deposition are computed from `start`, the
    /// terrain before erosion, which has the same size.
    ///
    /// Weights and maps are computed on the terrain's cells and then resampled to the requested size. Albedo and
    /// roughness are computed on the samples themselves, so that more samples show finer grain.
    ///
    /// # Errors
    /// Returns an error if a rule is out of range ([`TextureRules::check`]), if an option is out of range, or if the
    /// start has another size.
    ///
    /// # Examples
    /// Twice as many intervals as the terrain has, and weights of 16 bits.
    ///
    /// ```
    /// use thalweg_core::{Grid, Terrain};
    /// use thalweg_models::rocks::Rock;
    /// use thalweg_render::products::normals::PngDepth;
    /// use thalweg_render::products::textures::{TextureOptions, TextureRules, Textures};
    ///
    /// let terrain = Terrain::new(Grid::new([16, 16], 10.0)?);
    /// let options = TextureOptions { size: Some(31), bits: PngDepth::Sixteen, ..TextureOptions::default() };
    /// let textures = Textures::from_terrain(&terrain, &TextureRules::default(), Rock::usual(), &options, None)?;
    /// assert_eq!((textures.size(), textures.cell, textures.full), ([31, 31], 5.0, 65_535));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn from_terrain(
        terrain: &Terrain,
        rules: &TextureRules,
        rock: &'static Rock,
        options: &TextureOptions,
        start: Option<&Terrain>,
    ) -> Result<Self> {
        options.check_ranges()?;
        // Wear is checked before the expensive parts, because a start of another size is an error.
        let worn = start.map(|start| maps::measure_ground_change(terrain, start)).transpose()?;
        let size = size_with_long_side(terrain.grid.size, options.size);
        let cover = GroundCover::from_terrain(terrain, rules, rock)?.resized(size)?;
        let full = match options.bits {
            PngDepth::Eight => u16::from(u8::MAX),
            PngDepth::Sixteen => u16::MAX,
        };
        let (albedo, roughness) =
            cover.compute_albedo(if options.from_air { AlbedoView::Air } else { AlbedoView::Ground });
        let axes = [0, 1].map(|k| AxisFilter::new(terrain.grid.size[k], size[k], Kernel::Convex));
        let resize = |field: &Field<f32>| {
            if field.size() == size {
                return field.clone();
            }
            resample_values(field.size(), |i, j| f64::from(field[(i, j)]), &axes[0], &axes[1]).map(|x| *x as f32)
        };
        let [wear, deposit] = match worn {
            Some([wear, deposit]) => [Some(wear), Some(deposit)],
            None => [None, terrain.loose.as_ref().map(|loose| loose.map(|thickness| thickness.metres_f32().max(0.0)))],
        };
        let flow = maps::flow_map(terrain, rules.runoff);
        let [east, south, speed] = [0, 1, 2].map(|k| resize(&flow.map(|flow| flow[k])));
        Ok(Self {
            weights: cover.integer_weights(full),
            full,
            albedo,
            roughness,
            occlusion: resize(&maps::compute_occlusion(terrain)),
            curvature: resize(&maps::compute_curvature(terrain)),
            // Means of unit vectors are shorter than 1, so they are normalised after resampling; those of cells are
            // unit vectors already.
            flow: Field::from_fn(size, |i, j| {
                let [east, south] = match flow.size() == size {
                    true => [east[(i, j)], south[(i, j)]],
                    false => normalise_vector([east[(i, j)], south[(i, j)]]),
                };
                [east, south, speed[(i, j)]]
            }),
            wear: wear.as_ref().map(resize),
            deposit: deposit.as_ref().map(resize),
            cell: cover.grid.cell,
        })
    }

    /// Returns the numbers of rows and columns.
    pub fn size(&self) -> Size {
        self.weights.size()
    }
}

/// The length below which a mean of unit vectors is regarded as the rounding error of vectors that cancel.
const CANCELLED: f32 = 1e-5;

/// Returns the vector scaled to length 1; zeros if it has no direction.
fn normalise_vector([east, south]: [f32; 2]) -> [f32; 2] {
    let length = (east * east + south * south).sqrt();
    if length > CANCELLED { [east / length, south / length] } else { [0.0; 2] }
}

/// Returns the rows and columns for `long` samples on the longer side, in the proportions of `old`.
fn size_with_long_side(old: Size, long: Option<usize>) -> Size {
    let Some(long) = long else { return old };
    let most = old[0].max(old[1]);
    // The scale refers to intervals, because the outermost samples keep their positions.
    let scale = (long.max(1) - 1) as f64 / (most.max(2) - 1) as f64;
    old.map(|n| if n == most { long } else { ((n - 1) as f64 * scale).round() as usize + 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::{Grid, Height};

    #[test]
    fn directions_of_water_are_of_length_1_at_any_size() {
        // A valley whose sides fall towards its middle; its lower end is level along its length.
        let ground =
            Field::from_fn([24, 24], |i, j| Height::from_metres_clamped((3 * i.max(8) + j.abs_diff(12)) as f64));
        let terrain = Terrain::from_ground(Grid::new([24, 24], 10.0).unwrap(), ground).unwrap();
        for size in [None, Some(9), Some(50)] {
            let options = TextureOptions { size, ..TextureOptions::default() };
            let textures =
                Textures::from_terrain(&terrain, &TextureRules::default(), Rock::usual(), &options, None).unwrap();
            let mut known = 0;
            for [east, south, _] in textures.flow.as_slice() {
                let length = (east * east + south * south).sqrt();
                assert!(length == 0.0 || (length - 1.0).abs() < 1e-6, "{size:?}: {length}");
                known += usize::from(length > 0.0);
            }
            assert!(2 * known > textures.flow.len(), "{size:?}: {known}");
        }
        assert_eq!(normalise_vector([0.0, 0.0]), [0.0, 0.0]);
        assert_eq!(normalise_vector([1e-8, 0.0]), [0.0, 0.0]);
        assert_eq!(normalise_vector([0.0, -0.25]), [0.0, -1.0]);
    }
}
