//! [`DiamondSquare`] and [`MidpointDisplacement`]: rough ground by repeated subdivision of squares, and of edges.

use std::ops::Range;

use crate::model::{About, Blend, Family, Model};
use crate::process::base::{AMOUNT, Base, STEP_CELLS, laid_in_bands};
use thalweg_core::base::rng::Key;
use thalweg_core::{Grid, params};
use thalweg_noise::lattice::{self, Lattice, LatticeRule};

params! {
    /// Lays ground on the world that grew rough by repeated subdivision: middles of squares, then middles of edges.
    ///
    /// Four corners are random in ±corners. On level l = 1, 2, … the interval halves; the middle of each square becomes
    /// the mean of its four corners, then the middle of each edge the mean of the three or four points around it, each
    /// plus a random number in ± amplitude · 2^(−roughness·(l − 1)). Roughness here is Hurst's H: 1 halves the
    /// displacement with the interval (the plain method), 0 keeps it. Cells take the surface at their middles, bilinearly.
    ///
    /// Source: Fournier, Fussell & Carpenter (1982, "Computer rendering of stochastic models", doi:10.1145/358523.358553);
    /// Miller (1986, "The definition and rendering of terrain maps", doi:10.1145/15886.15890) on its creases. We differ:
    /// random numbers are hashed from (level, position), so that any window can be computed on its own; the lattice is
    /// 2ⁿ intervals over the world's longer side, the first that is no wider than a cell.
    ///
    /// Needs nothing; heeds `amount`; changes the ground alone. Windows of one grid agree bit for bit. A function of the
    /// place in the extent, not of metres: another extent is another world, stretched. Twice the cells adds a level.
    /// `multiply` takes ±(corners + amplitude) as factors 0 to 1.
    ///
    /// Breaks: creases along the lattice and its diagonals, from the first levels above all; H above 1 shows them bare.
    pub struct DiamondSquare {
        /// Largest displacement on the first level: the height of the land.
        amplitude: f64 = 800.0, within 0.0..=16000.0, unit "m", scales Relief, source "Pineau 2018: half the side";
        /// Largest elevation or depth of the four corners of the world.
        corners: f64 = 700.0, within 0.0..=16000.0, unit "m", scales Relief, source "Pineau 2018: the side";
        /// Hurst's H: how fast displacements fall; low is rough, high is smooth.
        roughness: f64 = 1.0, within 0.0..=2.0, unit "1", source "Pineau 2018: 1";
        /// Added to all.
        offset: f64 = 0.0, within -16000.0..=16000.0, unit "m", scales Relief, source "ours";
        /// How the values meet the ground.
        blend: Blend = Blend::Add, within .., unit "1", source "ours";
    }
}

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

/// Implements a model of one subdivided lattice: its name and summary, and where new points take their means from.
macro_rules! subdivided {
    ($type:ident, $rule:ident, $name:literal, $summary:literal) => {
        impl Model for $type {
            fn about(&self) -> About {
                About {
                    name: $name,
                    summary: $summary,
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

        impl Base for $type {
            fn span(&self) -> [f64; 2] {
                let most = self.corners + self.amplitude;
                [self.offset - most, self.offset + most]
            }

            fn values(&self, grid: &Grid, key: Key, rows: Range<usize>) -> impl Fn(usize, &mut [f32]) + Sync {
                let lattice = Lattice {
                    rule: LatticeRule::$rule,
                    corners: self.corners,
                    amplitude: self.amplitude,
                    falling: libm::exp2(-self.roughness),
                    key,
                };
                lattice.sampler(grid, rows, self.offset as f32)
            }
        }
    };
}

subdivided!(
    DiamondSquare,
    DiamondSquare,
    "diamond_square",
    "Rough ground by repeated subdivision of squares, with a roughness."
);
subdivided!(
    MidpointDisplacement,
    Midpoint,
    "midpoint_displacement",
    "Rough ground by repeated subdivision: edges from their ends, squares from their corners."
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::base::testing::{assert_windows_agree, coarsen, metres, relative_difference, square};
    use thalweg_core::CellRect;

    #[test]
    fn windows_are_cut_from_the_whole() {
        for size in [[64, 64], [37, 90], [1, 17], [2, 3], [1, 1]] {
            let grid = Grid::new(size, 30.0).unwrap();
            assert_windows_agree(&DiamondSquare::default(), &grid);
            assert_windows_agree(&MidpointDisplacement::default(), &grid);
        }
    }

    #[test]
    fn cells_are_means_of_their_lattice_square() {
        // 4 × 4 cells: level 2, every middle in the middle of an interval. f32 and units: under 10⁻³.
        let model =
            DiamondSquare { corners: 300.0, amplitude: 100.0, roughness: 0.5, offset: 7.0, ..Default::default() };
        let ground = metres(&model, &square(4, 120.0), 2);
        let lattice = Lattice {
            rule: LatticeRule::DiamondSquare,
            corners: 300.0,
            amplitude: 100.0,
            falling: 0.5f64.sqrt(),
            key: Key::new(2, "base"),
        };
        let points = lattice.patch(2, CellRect::new([0, 0], [5, 5]));
        for i in 0..4 {
            for j in 0..4 {
                let around = [(i, j), (i, j + 1), (i + 1, j), (i + 1, j + 1)].map(|(a, b)| f64::from(points.at(a, b)));
                let mean = around.iter().sum::<f64>() / 4.0 + 7.0;
                assert!((ground[(i as usize, j as usize)] - mean).abs() < 1e-3);
            }
        }
    }

    #[test]
    fn a_finer_grid_only_adds_a_level() {
        // The level added displaces by ±0.3 m (800 · 2⁻⁹ · …) and linear interpolation lies within the last one's ±6 m over
        // 1 m cells of relief about 300 m deviation: 2 %.
        let grids = [128, 256].map(|n| square(n, 15_360.0));
        for model in [&DiamondSquare::default() as &dyn Model, &MidpointDisplacement::default()] {
            let [coarse, fine] = grids.each_ref().map(|grid| metres(model, grid, 4));
            let difference = relative_difference(&coarsen(&coarse, 2), &coarsen(&fine, 4));
            assert!(difference < 0.02, "{difference}");
        }
    }
}
