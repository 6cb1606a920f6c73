//! [`CellularNoise`]: blocks, bowls and crests around scattered points.

use std::ops::Range;

use crate::model::{About, Blend, Family, Model};
use crate::process::base::{AMOUNT, Base, STEP_CELLS, laid_in_bands};
use thalweg_core::base::rng::Key;
use thalweg_core::{Grid, params};
use thalweg_noise::cellular::{Cellular, Distance};
use thalweg_noise::fractal::Warp;

params! {
    /// Lays bowls, crests or blocks on the ground, shaped by the distance to scattered feature points.
    ///
    /// One point in every square of `wavelength` metres, `jitter` of the way from its middle to anywhere in it; F1 and F2
    /// are the distances, in squares, to the nearest and the second nearest;
    /// z = offset + amplitude · Σ gᵒ·Fₒ / Σ gᵒ with F one of F1, F2, F2 − F1, and octaves of half the wavelength each.
    /// F1 lies within 0..√2 (mean 0.43), F2 within 0..1.81 (0.70), F2 − F1 within 0..1.5 (0.27).
    /// Warp reads this at points carried aside by gradient noise.
    ///
    /// Source: Worley (1996, "A cellular texture basis function", doi:10.1145/237170.237267). We differ: one point a
    /// square, where Worley draws a Poisson number; octaves are turned against each other.
    ///
    /// Needs nothing; heeds `amount`; changes the ground alone. A function of world metres: windows agree bit for bit,
    /// finer grids of one world add detail (an octave fades in from two to four cells a square).
    /// `multiply` takes offset to offset + amplitude as factors 0 to 1.
    ///
    /// Breaks: without warp its crests are straight lines; jitter 0 is a chessboard.
    pub struct CellularNoise {
        /// Which distance: bowls between crests (f1), wider ones (f2), or blocks between valleys (f2_minus_f1).
        distance: Distance = Distance::F1, within .., unit "1", source "Worley 1996";
        /// Rise of the ground over a distance of one wavelength from a point; below 0 turns bowls into peaks.
        amplitude: f64 = -1300.0, within -16000.0..=16000.0, unit "m", scales Relief, source "ours";
        /// Mean distance between points: how far apart peaks or bowls stand.
        wavelength: f64 = 4500.0, within 0.01..=1e8, unit "m", scales Size, source "ours";
        /// How irregularly points stand: at 0 in the middles of their squares, at 1 anywhere in them.
        jitter: f64 = 1.0, within 0.0..=1.0, unit "1", source "Worley 1996";
        /// Number of octaves: each adds cells of half the size.
        octaves: u32 = 7, within 1..=24, unit "1", source "ours";
        /// Share of the height that the next finer octave keeps.
        gain: f64 = 0.4, within 0.0..=1.0, unit "1", source "ours";
        /// How far points of the ground are carried aside: bends the straight crests (three standard deviations).
        warp: f64 = 700.0, within 0.0..=1e6, unit "m", scales Size, source "ours";
        /// Distance over which the warp turns.
        warp_wavelength: f64 = 5000.0, within 0.01..=1e8, unit "m", scales Size, source "ours";
        /// Added to all: the elevation at the points.
        offset: f64 = 900.0, within -16000.0..=16000.0, unit "m", scales Relief, source "ours";
        /// How the values meet the ground.
        blend: Blend = Blend::Add, within .., unit "1", source "ours";
    }
}

impl Model for CellularNoise {
    fn about(&self) -> About {
        About {
            name: "cellular_noise",
            summary: "Bowls, peaks or blocks shaped by the distance to scattered points.",
            source: "Worley 1996, A cellular texture basis function",
            family: Family::Base,
            uses: &[AMOUNT],
            loops: true,
            ..About::default()
        }
    }

    laid_in_bands!();
}

impl Base for CellularNoise {
    fn span(&self) -> [f64; 2] {
        [self.offset, self.offset + self.amplitude]
    }

    fn step_cells(&self) -> u64 {
        STEP_CELLS / u64::from(self.octaves.max(1))
    }

    fn values(&self, grid: &Grid, key: Key, _: Range<usize>) -> impl Fn(usize, &mut [f32]) + Sync {
        let octaves = Cellular::octaves(self.octaves, self.wavelength, self.gain, key.and(0), grid);
        let warp = Warp::new(self.warp, self.warp_wavelength, key.and(1), grid);
        let noise = Cellular::new(self.distance, self.jitter, octaves, warp);
        let [amplitude, offset] = [self.amplitude as f32, self.offset as f32];
        move |i, row| {
            noise.row(grid, i, row);
            for value in row {
                *value = offset + amplitude * *value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::base::testing::{assert_windows_agree, coarsen, metres, relative_difference, square};

    #[test]
    fn one_octave_without_jitter_is_the_distance_to_a_lattice() {
        // F1 of points in the middles of squares: 0 to √½; F2 − F1 from 0 (on an edge) to 1 (in a middle, at distance 0).
        let model = |distance| CellularNoise {
            distance,
            amplitude: 1000.0,
            wavelength: 2000.0,
            jitter: 0.0,
            octaves: 1,
            warp: 0.0,
            offset: 0.0,
            ..Default::default()
        };
        let grid = square(200, 10_000.0);
        let [f1, f2, between] = [Distance::F1, Distance::F2, Distance::Difference].map(|d| metres(&model(d), &grid, 1));
        for ((a, b), c) in f1.as_slice().iter().zip(f2.as_slice()).zip(between.as_slice()) {
            assert!((0.0..=707.2).contains(a) && (500.0 - 1e-2..=1000.01).contains(b), "{a}, {b}");
            assert!((b - a - c).abs() < 1e-3); // three roundings of f32 under 1000
        }
        // A cell is 25 m from a point at most by its half diagonal of 35 m: 18 m in height.
        let least = f1.as_slice().iter().copied().fold(f64::MAX, f64::min);
        assert!(least < 18.0, "{least}");
    }

    #[test]
    fn windows_are_cut_from_the_whole() {
        for distance in [Distance::F1, Distance::F2, Distance::Difference] {
            let model = CellularNoise { distance, ..Default::default() };
            assert_windows_agree(&model, &Grid::new([20, 290], 45.0).unwrap());
        }
    }

    #[test]
    fn finer_grids_of_one_world_only_add_detail() {
        // Octaves of 70 and 140 m, halfway or not at all in 60 m cells, weigh 0.4⁵ = 1 % and 2.6 % of the first.
        let [coarse, fine] = [256, 512].map(|n| metres(&CellularNoise::default(), &square(n, 15_360.0), 9));
        let difference = relative_difference(&coarsen(&coarse, 2), &coarsen(&fine, 4));
        assert!(difference < 0.03, "{difference}");
    }
}
