//! [`CellularNoise`]: blocks, bowls and crests around scattered points.

use std::ops::Range;

use crate::model::{About, Blend, Family, Model};
use crate::process::base::{AMOUNT, Base, STEP_CELLS, laid_in_bands};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Grid, params};
use thalweg_noise::cellular::{Cellular, Distance};
use thalweg_noise::fractal::Warp;

params! {
    /// Adds bowls, crests or blocks to the ground, shaped by the distance to scattered feature points.
    ///
    /// The plane is divided into squares of `wavelength` metres. Each square has one point, moved from its centre by
    /// the share `jitter` of the way to a random place in the square. F1 and F2 are the distances, in squares, to the
    /// nearest and the second nearest point; z = offset + amplitude · Σ gᵒ·Fₒ / Σ gᵒ, where g is `gain`, F is one of
    /// F1, F2 and F2 − F1, and each octave o has half the wavelength of the one before. F1 lies within 0..√2 (mean
    /// 0.43), F2 within 0..1.81 (mean 0.70), F2 − F1 within 0..1.5 (mean 0.27). With `warp`, the function is evaluated
    /// at points displaced by gradient noise.
    ///
    /// Source: Worley (1996, "A cellular texture basis function", doi:10.1145/237170.237267). Deviations: each square
    /// has one point, where Worley draws a Poisson number; the octaves are rotated relative to each other.
    ///
    /// Layers: it needs none, uses `amount`, and changes only the ground. The result is a function of world metres:
    /// windows of one world agree bit for bit, and finer grids of one world add detail (an octave fades in as its
    /// squares grow from two to four cells wide). The blend `multiply` maps values from offset to offset + amplitude to
    /// factors from 0 to 1.
    ///
    /// Limits: without warp the crests are straight lines; `jitter` 0 gives a chessboard.
    pub struct CellularNoise {
        /// Distance that shapes the ground: bowls between crests (f1), wider bowls (f2), or blocks between valleys
        /// (f2_minus_f1).
        distance: Distance = Distance::F1, within .., unit "1", source "Worley 1996";
        /// Rise of the ground from a feature point to a distance of one wavelength; negative values turn bowls into
        /// peaks.
        amplitude: f64 = -1300.0, within -16000.0..=16000.0, unit "m", scales Relief, source "ours";
        /// Mean distance between feature points, and so between bowls or peaks.
        wavelength: f64 = 4500.0, within 0.01..=1e8, unit "m", scales Size, source "ours";
        /// Irregularity of the points: 0 places them at the centres of their squares, 1 anywhere in them.
        jitter: f64 = 1.0, within 0.0..=1.0, unit "1", source "Worley 1996";
        /// Number of octaves; each one adds cells of half the size.
        octaves: u32 = 7, within 1..=24, unit "1", source "ours";
        /// Height of an octave relative to the next coarser one.
        gain: f64 = 0.4, within 0.0..=1.0, unit "1", source "ours";
        /// Displacement of points by domain warp, as three standard deviations: it curves the straight crests.
        warp: f64 = 700.0, within 0.0..=1e6, unit "m", scales Size, source "ours";
        /// Wavelength of the domain warp.
        warp_wavelength: f64 = 5000.0, within 0.01..=1e8, unit "m", scales Size, source "ours";
        /// Elevation added everywhere: with f1, the elevation at the feature points.
        offset: f64 = 900.0, within -16000.0..=16000.0, unit "m", scales Relief, source "ours";
        /// How the values are combined with the ground.
        blend: Blend = Blend::Add, within .., unit "1", source "ours";
    }
}

impl Model for CellularNoise {
    fn about(&self) -> About {
        About {
            name: "cellular_noise",
            title: "Cellular noise",
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
    fn value_range(&self) -> [f64; 2] {
        [self.offset, self.offset + self.amplitude]
    }

    fn step_cells(&self) -> u64 {
        // The time per cell grows with the number of octaves, so a step covers fewer cells.
        STEP_CELLS / u64::from(self.octaves.max(1))
    }

    fn prepare_row_values(&self, grid: &Grid, key: RandomKey, _: Range<usize>) -> impl Fn(usize, &mut [f32]) + Sync {
        // Noise and warp have keys of their own, so that a warp does not change the points.
        let octaves = Cellular::octaves(self.octaves, self.wavelength, self.gain, key.derive_key(0), grid);
        let warp = Warp::new(self.warp, self.warp_wavelength, key.derive_key(1), grid);
        let noise = Cellular::new(self.distance, self.jitter, octaves, warp);
        let [amplitude, offset] = [self.amplitude as f32, self.offset as f32];
        move |i, row| {
            noise.fill_row(grid, i, row);
            for value in row {
                *value = offset + amplitude * *value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::base::testing::{
        assert_windows_agree, average_blocks, make_square_grid, relative_difference, run_to_metres,
    };

    #[test]
    fn one_octave_without_jitter_is_the_distance_to_a_lattice() {
        // F1 of points in the centres of squares: 0 to √½. F2 − F1: from 0 (on an edge) to 1 (in a centre, at distance
        // 0).
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
        let grid = make_square_grid(200, 10_000.0);
        let [f1, f2, between] =
            [Distance::F1, Distance::F2, Distance::Difference].map(|d| run_to_metres(&model(d), &grid, 1));
        for ((a, b), c) in f1.as_slice().iter().zip(f2.as_slice()).zip(between.as_slice()) {
            assert!((0.0..=707.2).contains(a) && (500.0 - 1e-2..=1000.01).contains(b), "{a}, {b}");
            assert!((b - a - c).abs() < 1e-3); // three roundings of f32 under 1000
        }
        // The nearest cell centre is at most 25 m from a point along each axis, so 35 m in all: 18 m in height.
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
        // Octaves of 70 and 140 m, which 60 m cells show in part or not at all, weigh 0.4⁵ = 1 % and 2.6 % of the
        // first.
        let [coarse, fine] =
            [256, 512].map(|n| run_to_metres(&CellularNoise::default(), &make_square_grid(n, 15_360.0), 9));
        let difference = relative_difference(&average_blocks(&coarse, 2), &average_blocks(&fine, 4));
        assert!(difference < 0.03, "{difference}");
    }
}
