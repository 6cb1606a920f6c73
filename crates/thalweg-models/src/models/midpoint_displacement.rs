//! [`MidpointDisplacement`]: rough ground by repeated subdivision of edges and squares.

use std::ops::Range;

use crate::model::{About, Blend, Family, Model};
use crate::process::base::{AMOUNT, Base, STEP_CELLS, laid_in_bands};
use thalweg_core::base::rng::Key;
use thalweg_core::params;
use thalweg_core::terrain::grid::Grid;
use thalweg_noise::lattice::{self, Lattice, LatticeRule};

params! {
    /// Lays ground on the world that grew rough by repeated subdivision: middles of edges from their two ends.
    ///
    /// Four corners are random in ±corners. On level l = 1, 2, … the interval halves; the middle of each edge becomes the
    /// mean of its two ends, the middle of each square the mean of its four corners, each plus a random number in
    /// ± amplitude · 2^(−roughness·(l − 1)), with Hurst's H as roughness. Cells take the surface at their middles,
    /// bilinearly.
    ///
    /// Source: Fournier, Fussell & Carpenter (1982, "Computer rendering of stochastic models", doi:10.1145/358523.358553),
    /// their subdivision of a quadrilateral. We differ as in `diamond_square`, whose lattice this shares: random numbers
    /// hashed from (level, position), uniform rather than normal.
    ///
    /// Needs nothing; heeds `amount`; changes the ground alone. Windows of one grid agree bit for bit. A function of the
    /// place in the extent, not of metres: another extent is another world, stretched. Twice the cells adds a level.
    /// `multiply` takes ±(corners + amplitude) as factors 0 to 1.
    ///
    /// Breaks: an edge's points know nothing of the ground beside it, so creases along the lattice show more than in
    /// `diamond_square`; roughness under 0.9 hides them in smaller ones.
    pub struct MidpointDisplacement {
        /// Largest displacement on the first level: the height of the land.
        amplitude: f64 = 650.0, within 0.0..=16000.0, unit "m", scales Relief, source "ours";
        /// Largest elevation or depth of the four corners of the world.
        corners: f64 = 700.0, within 0.0..=16000.0, unit "m", scales Relief, source "ours";
        /// Hurst's H: how fast displacements fall; low is rough, high is smooth.
        roughness: f64 = 0.85, within 0.0..=2.0, unit "1", source "Fournier et al. 1982, 2^-H";
        /// Added to all.
        offset: f64 = 0.0, within -16000.0..=16000.0, unit "m", scales Relief, source "ours";
        /// How the values meet the ground.
        blend: Blend = Blend::Add, within .., unit "1", source "ours";
    }
}

impl Model for MidpointDisplacement {
    fn about(&self) -> About {
        About {
            name: "midpoint_displacement",
            summary: "Rough ground by repeated subdivision: edges from their ends, squares from their corners.",
            source: "Fournier, Fussell & Carpenter 1982, Computer rendering of stochastic models",
            family: Family::Base,
            uses: &[AMOUNT],
            ..About::default()
        }
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        lattice::bytes(grid.len() as u64, STEP_CELLS)
    }

    laid_in_bands!();
}

impl Base for MidpointDisplacement {
    fn span(&self) -> [f64; 2] {
        let most = self.corners + self.amplitude;
        [self.offset - most, self.offset + most]
    }

    fn values(&self, grid: &Grid, key: Key, rows: Range<usize>) -> impl Fn(usize, &mut [f32]) + Sync {
        let lattice = Lattice {
            rule: LatticeRule::Midpoint,
            corners: self.corners,
            amplitude: self.amplitude,
            falling: libm::exp2(-self.roughness),
            key,
        };
        lattice.sampler(grid, rows, self.offset as f32)
    }
}
