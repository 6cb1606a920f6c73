//! Rivers by sampled points and shortest paths, as the report of Eymard & Peurière (Université Claude Bernard Lyon 1) has them: points
//! by Poisson-disc sampling, a graph of near points, shortest paths to the sea, heights corrected along them, paths rasterised,
//! drainage counted in points, channels carved.
//!
//! Its widths depend on the number of points, it knows no lakes, and it finds a way to the sea through any mountain; the
//! network that [`plan_rivers`](crate::plan_rivers) makes is free of that. What the report leaves open is chosen here: where there is
//! no sea, rivers end at open edges, at given mouths, or else in the lowest place; and nothing is raised.

mod buckets;
mod draw;
mod forest;
mod sample;
mod settle;

use crate::{Carved, Network, Site};
use thalweg_core::base::rng::Key;
use thalweg_core::{Error, Result};

pub use draw::Rule;

/// How the report's network is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Least distance r of two points in metres, 0 to 1e6; where points lie closest it counts as four cells at least.
    pub spacing: f64,
    /// By how much closer points lie where the ground is steep, as a share of the distance, 0 to 0.75.
    pub relief: f64,
    /// The factor C, 1 to 1000: the cost of a climb is multiplied by C², that of a fall divided by C.
    pub climb: f64,
    /// How many points rivers begin at; 0 takes all.
    pub sources: u32,
    /// Which these are.
    pub rule: Rule,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { spacing: 500.0, relief: 0.0, climb: 2.0, sources: 0, rule: Rule::Any }
    }
}

impl Sampling {
    /// Checks its numbers.
    ///
    /// # Errors
    /// A spacing, a relief or a climb that is NaN or out of its range, by name.
    pub fn check(&self) -> Result<()> {
        let ranges = [
            ("spacing", self.spacing, 0.0..=1e6),
            ("relief", self.relief, 0.0..=0.75),
            ("climb", self.climb, 1.0..=1000.0),
        ];
        match ranges.iter().find(|(_, value, range)| !range.contains(value)) {
            Some((name, value, range)) => {
                let allowed = format!("{} to {}", range.start(), range.end());
                Err(Error::value(format!("sampled rivers: {name}"), value, allowed))
            }
            None => Ok(()),
        }
    }
}

/// Makes and carves the report's network of a site. Discharges are its drainage D, a number of points; a river is 2·√D metres
/// wide and √D metres deep. `key` places the points, and draws those that rivers begin at. Of what is given it heeds springs (rivers
/// begin at them), mouths and ground to keep off.
///
/// # Errors
/// As [`Site::check`] and [`Sampling::check`].
pub fn make(site: &Site<'_>, sampling: &Sampling, key: Key) -> Result<(Network, Carved)> {
    site.check()?;
    sampling.check()?;
    let sampled = sample::points(site, sampling, key);
    let forest = forest::grow(&sampled.points, sampling.climb);
    let sources = draw::sources(&sampled, &forest, sampling, key);
    let drawn = forest::draw(&sampled.points, &forest, &sources);
    let mut network = draw::network(site, &sampled, &forest, &drawn);
    let carved = draw::carve(site, &mut network);
    Ok((network, carved))
}
