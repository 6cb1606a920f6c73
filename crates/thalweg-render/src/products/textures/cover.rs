//! [`GroundCover`]: the share of each material in each cell.

use super::materials::{COUNT, MATERIALS, ORDER};
use super::rules::TextureRules;
use super::site::CoverSite;
use thalweg_core::terrain::filter::{AxisFilter, Kernel, resample_values};
use thalweg_core::{Error, Field, Grid, Result, Size, Terrain};
use thalweg_models::rocks::Rock;

/// The shares of the materials, in the order of [`MATERIALS`], which sum to 1; zeros where there is no data.
pub type Shares = [f32; COUNT];

/// The materials that cover a terrain.
///
/// # Examples
/// Each cell with data has a dominant material, and weights that sum to 255.
///
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_models::rocks::Rock;
/// use thalweg_render::products::textures::{GroundCover, MATERIALS, TextureRules};
///
/// let terrain = Terrain::from_metres(Grid::new([1, 3], 10.0)?, &[5.0, 6.0, f32::NAN])?;
/// let cover = GroundCover::from_terrain(&terrain, &TextureRules::default(), Rock::usual())?;
/// assert!(cover.dominant_materials()[0].is_some_and(|material| usize::from(material) < MATERIALS.len()));
/// assert_eq!(cover.integer_weights(255)[0].iter().sum::<u16>(), 255);
/// assert_eq!((cover.dominant_materials()[2], cover.integer_weights(255)[2].iter().sum::<u16>()), (None, 0));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct GroundCover {
    /// The shares of each cell.
    pub shares: Field<Shares>,
    /// The wetness of each cell, 0 to 1; wet terrain is smoother.
    pub wet: Field<f32>,
    /// The elevations in metres, for rock beds.
    pub(super) heights: Field<f32>,
    /// The grid of the samples.
    pub(super) grid: Grid,
    pub(super) rules: TextureRules,
    pub(super) rock: &'static Rock,
}

impl GroundCover {
    /// Computes the cover of a terrain of the given rock, from its slopes, sediment, water, ice, trees, elevations
    /// and aspects.
    ///
    /// Materials are applied from the highest priority down: each takes its share of what those above have left, and
    /// the last one takes the rest. Shares therefore sum to 1 apart from rounding.
    ///
    /// # Errors
    /// Returns the errors of [`TextureRules::check`].
    pub fn from_terrain(terrain: &Terrain, rules: &TextureRules, rock: &'static Rock) -> Result<Self> {
        rules.check()?;
        let site = CoverSite::from_terrain(terrain, rules)?;
        let shares = Field::from_fn(terrain.grid.size, |i, j| {
            // The shares of cells without data are all zero, which the other methods recognise.
            if terrain.is_nodata(i, j) {
                return [0.0; COUNT];
            }
            let factors = site.cell_factors(i, j);
            compute_shares(|number| MATERIALS[number].potential_cover(&factors))
        });
        let (grid, rules) = (terrain.grid.clone(), rules.clone());
        Ok(Self { shares, wet: site.wet, heights: terrain.ground_metres(), grid, rules, rock })
    }

    /// Returns the cover resampled to `size` rows and columns, with the outermost samples in the same positions. A
    /// sample that would be computed from any cell without data copies the nearest cell instead.
    ///
    /// # Errors
    /// Returns an error if a side is zero or has over 65 536 samples.
    pub fn resized(&self, size: Size) -> Result<Self> {
        if size == self.shares.size() {
            return Ok(self.clone());
        }
        if !size.iter().all(|n| (1..=1 << 16).contains(n)) {
            let allowed = "1 to 65536 samples along each side";
            return Err(Error::invalid_value("size of textures", format!("{} × {}", size[1], size[0]), allowed));
        }
        let old = self.shares.size();
        let [rows, cols] = [0, 1].map(|k| AxisFilter::new(old[k], size[k], Kernel::Convex));
        let resize =
            |value: &(dyn Fn(usize, usize) -> f64 + Sync)| resample_values(old, value, &rows, &cols).map(|x| *x as f32);
        // Each material is resampled on its own. Away from holes the sum remains 1, because the filter's weights sum to
        // 1.
        let planes: Vec<Field<f32>> = (0..COUNT).map(|k| resize(&|i, j| f64::from(self.shares[(i, j)][k]))).collect();
        let shares = Field::from_fn(size, |i, j| {
            let shares: Shares = std::array::from_fn(|k| planes[k][(i, j)]);
            let nearest = self.shares[(rows.nearest[i], cols.nearest[j])];
            // Next to a hole the sum is below 1.
            if shares.iter().sum::<f32>() > 0.999 { shares } else { nearest }
        });
        let wet = resize(&|i, j| f64::from(self.wet[(i, j)]));
        let heights = resize(&|i, j| f64::from(self.heights[(i, j)]));
        let long = usize::from(old[1] >= old[0]);
        let step =
            if size[long] > 1 { (old[long].max(2) - 1) as f64 / (size[long] - 1) as f64 } else { old[long] as f64 };
        let grid = Grid { edges: self.grid.edges, ..Grid::new(size, self.grid.cell * step)? };
        Ok(Self { shares, wet, heights, grid, rules: self.rules.clone(), rock: self.rock })
    }

    /// Returns the index in [`MATERIALS`] of the material with the largest share of each cell; `None` without data.
    /// Of equal shares, the first.
    pub fn dominant_materials(&self) -> Field<Option<u8>> {
        self.shares.map(|shares| {
            // `max_by` returns the last of equal elements, so the reversed order gives the first.
            let most = (0..COUNT).rev().max_by(|a, b| shares[*a].total_cmp(&shares[*b]))?;
            (shares[most] > 0.0).then_some(most as u8)
        })
    }

    /// Returns integer weights, in the order of [`MATERIALS`], that sum to exactly `full` in each cell with data, and
    /// to 0 in the others. Shares are rounded down; the remainder is distributed, one each, to the weights that lost
    /// most by rounding, the first of equals (largest remainder method).
    pub fn integer_weights(&self, full: u16) -> Field<[u16; COUNT]> {
        self.shares.map(|shares| {
            let sum: f64 = shares.iter().map(|share| f64::from(*share)).sum();
            if sum <= 0.0 {
                return [0; COUNT];
            }
            let exact = shares.map(|share| f64::from(share) / sum * f64::from(full));
            let mut weights = exact.map(|x| x.floor() as u16);
            let mut order: [usize; COUNT] = std::array::from_fn(|k| k);
            // The sort is stable, so the first of equal remainders comes first.
            order.sort_by(|a, b| exact[*b].fract().total_cmp(&exact[*a].fract()));
            let given: u32 = weights.iter().map(|w| u32::from(*w)).sum();
            let left = u32::from(full).saturating_sub(given) as usize;
            order.iter().take(left).for_each(|k| weights[*k] += 1);
            weights
        })
    }
}

/// Computes shares from the cover that each material would have alone.
fn compute_shares(cover: impl Fn(usize) -> f32) -> Shares {
    let mut shares = [0.0; COUNT];
    let mut left = 1.0;
    for number in ORDER {
        // Each material takes its share of what the materials above it have left.
        shares[number] = left * cover(number);
        left -= shares[number];
    }
    shares
}
