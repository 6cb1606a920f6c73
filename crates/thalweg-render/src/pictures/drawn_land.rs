//! [`DrawnLand`]: a terrain with all that a picture shows of it.

use crate::pictures::natural::NaturalGround;
use crate::pictures::water::Water;
use thalweg_core::Terrain;
use thalweg_core::terrain::ChannelReach;
use thalweg_models::process::forest::Tree;

/// A terrain with its water, rivers and trees.
///
/// # Examples
/// A reference to a terrain converts to the terrain alone, without water.
///
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_render::pictures::drawn_land::DrawnLand;
/// use thalweg_render::pictures::water::Water;
///
/// let terrain = Terrain::new(Grid::new([16, 24], 10.0)?);
/// let land = DrawnLand { water: Water::from_terrain(&terrain), ..(&terrain).into() };
/// assert!(land.trees.is_empty() && land.rivers.is_empty());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct DrawnLand<'a> {
    /// The terrain.
    pub terrain: &'a Terrain,
    /// The terrain's water: flowing water, pools, streams and ice.
    pub water: Water<'a>,
    /// The terrain's rivers, which a map draws as lines and a view ignores.
    pub rivers: &'a [ChannelReach],
    /// The terrain's trees: crowns with their shadows.
    pub trees: &'a [Tree],
    /// The land cover, with which a view shows the land in natural colours, under a sky and through air; the colours
    /// by height then have no effect. A map ignores it.
    pub natural: Option<&'a NaturalGround>,
}

impl<'a> From<&'a Terrain> for DrawnLand<'a> {
    fn from(terrain: &'a Terrain) -> Self {
        Self { terrain, water: Water::default(), rivers: &[], trees: &[], natural: None }
    }
}
