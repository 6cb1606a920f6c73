//! What a geomorphologist would print of a terrain: slopes, hypsometry, drainage, its network and its roughness.
//!
//! [`measure`] takes a terrain and gives a list of [`Measure`]s, each with its unit, what is usual in nature and by whom that
//! was found, and the [`Curve`]s behind them. What cannot be had (of one cell, of a plain, of too small a land) is missing
//! with a reason, never a number that means nothing. Each file here holds one idea: how it is estimated, and its
//! declarations. Sums run in the order of rows, so the figures are the same bits for any number of threads.

mod chart;
mod concavity;
mod curvature;
mod drainage;
mod fit;
mod geomorphons;
mod ground;
mod hack;
mod horton;
mod hypsometry;
mod list;
mod network;
mod plan_form;
mod rim;
mod sheet;
mod slope;
mod spec;
mod spectrum;
mod svg;
mod tree;
mod trunk;

#[cfg(test)]
mod testing;

pub use list::specs;
pub use sheet::sheet;
pub use spec::{Curve, Difference, Group, Measure, MeasureSettings, Measures, PowerLaw, Scale, Spec};

use crate::base::error::Result;
use crate::flow::Land;
use crate::products::measure::drainage::Catchments;
use crate::products::measure::ground::Ground;
use crate::products::measure::network::Network;
use crate::terrain::Terrain;

/// Measures a terrain.
///
/// Land is what has data and lies above the sea. Takes about 70 bytes a cell while it works.
///
/// # Errors
/// When a setting is out of range, or the terrain's parts are not of one size.
pub fn measure(terrain: &Terrain, settings: &MeasureSettings) -> Result<Measures> {
    settings.check()?;
    Land::of(terrain).check()?;
    let mut all = Measures::new(terrain, settings);
    let ground = Ground::of(terrain);
    slope::measure(&ground, &mut all);
    hypsometry::measure(&ground, &mut all);
    curvature::measure(&ground, &mut all);
    geomorphons::measure(&ground, settings, &mut all);
    spectrum::measure(&ground, &mut all);
    let catchments = Catchments::of(&ground);
    catchments.measure(&ground, &mut all);
    let network = Network::of(&ground, &catchments, settings);
    network.measure(&ground, &mut all);
    concavity::measure(&ground, &catchments.drainage, &network, &mut all);
    hack::measure(&ground, &catchments, &network, &mut all);
    horton::measure(&network, &mut all);
    plan_form::measure(&ground, &network, &mut all);
    trunk::measure(&ground, &catchments.drainage, &network, &mut all);
    rim::measure(&ground, &mut all);
    Ok(all)
}
