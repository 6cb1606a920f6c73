//! Rivers from sampled points and shortest paths, as in the report of Eymard & Peurière (Université Claude Bernard
//! Lyon 1): points by Poisson-disc sampling, a graph of nearby points, shortest paths to the sea, elevations
//! corrected along them, rasterised paths, drainage counted in points, and carved channels.
//!
//! The method has known limits: its widths depend on the number of points, it has no lakes, and it finds a path to
//! the sea through any mountain. The network that [`plan_rivers`](crate::plan_rivers) makes does not have these
//! limits. Details that the report leaves open are chosen here: where there is no sea, rivers end at open edges, at
//! given mouths, or else in the lowest cell; and nothing is raised.

mod buckets;
mod draw;
mod forest;
mod path_lowering;
mod poisson_disc;

use crate::{Carved, Network, Site};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Error, Result};

pub use draw::SourceRule;

/// The parameters of the report's network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RiverSampling {
    /// The least distance r between two points in metres, 0 to 1e6; where points are closest, it counts as at least
    /// four cells.
    pub spacing: f64,
    /// How much closer points are on steep ground, as a share of the distance, 0 to 0.75.
    pub relief: f64,
    /// The factor C, 1 to 1000: the cost of climbing is multiplied by C², that of descending is divided by C.
    pub climb: f64,
    /// The number of points at which rivers begin; 0 takes all.
    pub sources: u32,
    /// The rule that selects these points.
    pub rule: SourceRule,
}

impl Default for RiverSampling {
    fn default() -> Self {
        Self { spacing: 500.0, relief: 0.0, climb: 2.0, sources: 0, rule: SourceRule::Any }
    }
}

impl RiverSampling {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error with the name of a spacing, relief or climb that is NaN or out of range.
    pub fn check(&self) -> Result<()> {
        let ranges = [
            ("spacing", self.spacing, 0.0..=1e6),
            ("relief", self.relief, 0.0..=0.75),
            ("climb", self.climb, 1.0..=1000.0),
        ];
        match ranges.iter().find(|(_, value, range)| !range.contains(value)) {
            Some((name, value, range)) => {
                let allowed = format!("{} to {}", range.start(), range.end());
                Err(Error::invalid_value(format!("rivers.{name}"), value, allowed))
            }
            None => Ok(()),
        }
    }
}

/// Makes and carves the report's network of a site. Discharges are its drainage D, a number of points; a river is
/// 2·√D metres wide and √D metres deep. `key` determines the positions of the points and the selection of those at
/// which rivers begin. The site's springs (rivers begin there), mouths and protected ground are respected; its other
/// constraints are ignored.
///
/// # Errors
/// Returns the errors of [`Site::check`] and [`RiverSampling::check`].
pub fn make_network(site: &Site<'_>, sampling: &RiverSampling, key: RandomKey) -> Result<(Network, Carved)> {
    site.check()?;
    sampling.check()?;
    let sampled = poisson_disc::sample_ground(site, sampling, key);
    let forest = forest::find_cheapest_paths(&sampled.points, sampling.climb);
    let sources = draw::select_sources(&sampled, &forest, sampling, key);
    let drawn = forest::trace_rivers(&sampled.points, &forest, &sources);
    let mut network = draw::build_network(site, &sampled, &forest, &drawn);
    let carved = draw::carve_profile(site, &mut network);
    Ok((network, carved))
}
