//! [`DiamondSquare`] and [`MidpointDisplacement`]: rough ground by repeated subdivision of squares, and of edges.

use std::ops::Range;

use crate::model::{About, Blend, Family, Model};
use crate::process::base::{AMOUNT, Base, STEP_CELLS, laid_in_bands};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Grid, params};
use thalweg_noise::lattice::{self, Lattice, LatticeRule};

params! {
    /// Adds rough ground built by repeated subdivision of the world: first the centres of squares, then the midpoints
    /// of edges.
    ///
    /// The four corners are random within ±corners. On each level l = 1, 2, … the interval halves: the centre of each
    /// square becomes the mean of its four corners, then the midpoint of each edge becomes the mean of the three or
    /// four points around it, each plus a random number within ±amplitude · 2^(−roughness·(l − 1)). `roughness` is
    /// Hurst's H: 1 halves the displacement with the interval (the plain method), 0 keeps it. Cells sample the surface
    /// at their centres by bilinear interpolation.
    ///
    /// Source: Fournier, Fussell & Carpenter (1982, "Computer rendering of stochastic models",
    /// doi:10.1145/358523.358553); Miller (1986, "The definition and rendering of terrain maps",
    /// doi:10.1145/15886.15890) on its creases. Deviations: random numbers are hashed from (level, position), so that
    /// any window can be computed on its own; the lattice has 2ⁿ intervals along the world's longer side, the first
    /// power that makes an interval no wider than a cell.
    ///
    /// Layers: it needs none, uses `amount`, and changes only the ground. Windows of one grid agree bit for bit. The
    /// result is a function of the relative position in the extent, not of metres: another extent gives a stretched
    /// world. Twice as many cells add a level. The blend `multiply` maps values within ±(corners + amplitude) to
    /// factors from 0 to 1.
    ///
    /// Limits: creases appear along the lattice and its diagonals, above all from the first levels; H above 1 makes
    /// them most visible.
    pub struct DiamondSquare {
        /// Largest displacement on the first level, which sets the height of the land.
        amplitude: f64 = 800.0, within 0.0..=16000.0, unit "m", scales Relief, source "Pineau 2018: half the side";
        /// Largest elevation or depth of the four corners of the world.
        corners: f64 = 700.0, within 0.0..=16000.0, unit "m", scales Relief, source "Pineau 2018: the side";
        /// Hurst's H, the rate at which displacements fall with each level: low values give rough ground, high values
        /// smooth ground.
        roughness: f64 = 1.0, within 0.0..=2.0, unit "1", source "Pineau 2018: 1";
        /// Elevation added everywhere.
        offset: f64 = 0.0, within -16000.0..=16000.0, unit "m", scales Relief, source "ours";
        /// How the values are combined with the ground.
        blend: Blend = Blend::Add, within .., unit "1", source "ours";
    }
}

params! {
    /// Adds rough ground built by repeated subdivision of the world: midpoints of edges from their two ends.
    ///
    /// The four corners are random within ±corners. On each level l = 1, 2, … the interval halves: the midpoint of each
    /// edge becomes the mean of its two ends, and the centre of each square the mean of its four corners, each plus a
    /// random number within ±amplitude · 2^(−roughness·(l − 1)), with Hurst's H as `roughness`. Cells sample the
    /// surface at their centres by bilinear interpolation.
    ///
    /// Source: Fournier, Fussell & Carpenter (1982, "Computer rendering of stochastic models",
    /// doi:10.1145/358523.358553), their subdivision of a quadrilateral. Deviations: as in `diamond_square`, whose
    /// lattice it shares, random numbers are hashed from (level, position); they are uniform rather than normal.
    ///
    /// Layers: it needs none, uses `amount`, and changes only the ground. Windows of one grid agree bit for bit. The
    /// result is a function of the relative position in the extent, not of metres: another extent gives a stretched
    /// world. Twice as many cells add a level. The blend `multiply` maps values within ±(corners + amplitude) to
    /// factors from 0 to 1.
    ///
    /// Limits: the points of an edge do not depend on the ground to either side of it, so creases along the lattice are
    /// more visible than in `diamond_square`; roughness under 0.9 hides them among smaller ones.
    pub struct MidpointDisplacement {
        /// Largest displacement on the first level, which sets the height of the land.
        amplitude: f64 = 650.0, within 0.0..=16000.0, unit "m", scales Relief, source "ours";
        /// Largest elevation or depth of the four corners of the world.
        corners: f64 = 700.0, within 0.0..=16000.0, unit "m", scales Relief, source "ours";
        /// Hurst's H, the rate at which displacements fall with each level: low values give rough ground, high values
        /// smooth ground.
        roughness: f64 = 0.85, within 0.0..=2.0, unit "1", source "Fournier et al. 1982, 2^-H";
        /// Elevation added everywhere.
        offset: f64 = 0.0, within -16000.0..=16000.0, unit "m", scales Relief, source "ours";
        /// How the values are combined with the ground.
        blend: Blend = Blend::Add, within .., unit "1", source "ours";
    }
}

/// Implements the model of one kind of subdivided lattice, from its name, its title, its summary and the rule for the
/// means of new points.
macro_rules! subdivided {
    ($type:ident, $rule:ident, $name:literal, $title:literal, $summary:literal) => {
        impl Model for $type {
            fn about(&self) -> About {
                About {
                    name: $name,
                    title: $title,
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
            fn value_range(&self) -> [f64; 2] {
                let most = self.corners + self.amplitude;
                [self.offset - most, self.offset + most]
            }

            fn prepare_row_values(
                &self,
                grid: &Grid,
                key: RandomKey,
                rows: Range<usize>,
            ) -> impl Fn(usize, &mut [f32]) + Sync {
                let lattice = Lattice {
                    rule: LatticeRule::$rule,
                    corners: self.corners,
                    amplitude: self.amplitude,
                    // Displacements shrink by this factor with each halving of the lattice.
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
    "Diamond-square",
    "Rough ground by repeated subdivision of squares, with a roughness."
);
subdivided!(
    MidpointDisplacement,
    Midpoint,
    "midpoint_displacement",
    "Midpoint displacement",
    "Rough ground by repeated subdivision: edges from their ends, squares from their corners."
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::base::testing::{
        assert_windows_agree, average_blocks, make_square_grid, relative_difference, run_to_metres,
    };
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
        // 4 × 4 cells: level 2, where every cell's centre is the middle of an interval. Errors of `f32` and units:
        // below 10⁻³.
        let model =
            DiamondSquare { corners: 300.0, amplitude: 100.0, roughness: 0.5, offset: 7.0, ..Default::default() };
        let ground = run_to_metres(&model, &make_square_grid(4, 120.0), 2);
        let lattice = Lattice {
            rule: LatticeRule::DiamondSquare,
            corners: 300.0,
            amplitude: 100.0,
            falling: 0.5f64.sqrt(),
            key: RandomKey::new(2, "base"),
        };
        let points = lattice.patch(2, CellRect::new([0, 0], [5, 5]));
        for i in 0..4 {
            for j in 0..4 {
                let around =
                    [(i, j), (i, j + 1), (i + 1, j), (i + 1, j + 1)].map(|(a, b)| f64::from(points.value_at(a, b)));
                let mean = around.iter().sum::<f64>() / 4.0 + 7.0;
                assert!((ground[(i as usize, j as usize)] - mean).abs() < 1e-3);
            }
        }
    }

    #[test]
    fn a_finer_grid_only_adds_a_level() {
        // The added level displaces by ±0.3 m (800 · 2⁻⁹ · …), and linear interpolation is within the last level's ±6
        // m over 1 m cells, in a relief with a standard deviation of about 300 m: 2 %.
        let grids = [128, 256].map(|n| make_square_grid(n, 15_360.0));
        for model in [&DiamondSquare::default() as &dyn Model, &MidpointDisplacement::default()] {
            let [coarse, fine] = grids.each_ref().map(|grid| run_to_metres(model, grid, 4));
            let difference = relative_difference(&average_blocks(&coarse, 2), &average_blocks(&fine, 4));
            assert!(difference < 0.02, "{difference}");
        }
    }
}
