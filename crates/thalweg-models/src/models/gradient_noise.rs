//! [`GradientNoise`]: hills and ridges from octaves of gradient noise.

use std::ops::Range;

use crate::model::{About, Blend, Family, Local, Model};
use crate::process::base::{AMOUNT, Base, STEP_CELLS, laid_in_bands};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Grid, params};
use thalweg_noise::fractal::{Fractal, FractalKind, FractalSettings, Warp};

params! {
    /// Adds a sum of octaves of gradient noise to the ground: rolling hills (fBm), rounded hills (billow) or ridges.
    ///
    /// With nₒ the noise of octave o at the point p (in metres), scaled so that three standard deviations are 1,
    /// wavelength L·l^−o, weight g^o, and L, l and g the parameters `wavelength`, `lacunarity` and `gain`:
    ///
    /// - fbm: z = offset + amplitude · Σ gᵒ·nₒ / √Σ g²ᵒ, with a standard deviation of amplitude/3;
    /// - billow: z = offset + amplitude · Σ gᵒ·|nₒ| / Σ gᵒ, from 0 to amplitude above the offset;
    /// - ridged: sₒ = wₒ·(ridge_offset − |nₒ|)², wₒ₊₁ = sₒ·ridge_gain clamped to 0..1, w₀ = 1,
    ///   z = offset + amplitude · Σ gᵒ·sₒ / (ridge_offset² · Σ gᵒ), from 0 to amplitude above the offset.
    ///
    /// With `warp`, all this is evaluated at p + warp·(n′, n″), where n′ and n″ are fBm of three octaves. Damping
    /// divides an octave by 1 + damping·|Σ∇|², where Σ∇ is the slope of the octaves up to it, in units of the first
    /// one's weight over wavelength.
    ///
    /// Source: Perlin (1985, doi:10.1145/325334.325247; 2002, doi:10.1145/566570.566636) for the noise; Musgrave, Kolb
    /// & Mace (1989, doi:10.1145/74333.74337) and Musgrave (in Ebert et al., Texturing and Modeling, 2003, ch. 16) for
    /// the sums; Quilez (2008, "Value noise derivatives") for damping. Deviations: gradients fill a square; each octave
    /// is rotated by its own multiple of the golden angle and shifted, so that no lattice line is visible; weights are
    /// normalised.
    ///
    /// Layers: it needs none, uses `amount`, and changes only the ground. The result is a function of world metres:
    /// windows agree bit for bit, and finer grids of one world add detail (an octave fades in as its waves grow from
    /// two to four cells long). The blend `multiply` maps ±amplitude for fbm, and 0 to amplitude for the others, to
    /// factors from 0 to 1.
    ///
    /// Limits: noise has no drainage, and every hollow is a pit; it repeats after 2³² waves; strong warp folds the
    /// ground, and compresses waves below the grid's resolution.
    pub struct GradientNoise {
        /// Shape of the octaves: rolling, rounded or ridged ground.
        kind: FractalKind = FractalKind::Fbm, within .., unit "1", source "Musgrave 2003";
        /// Height of hills: three standard deviations for fbm, the whole range for the others; negative values turn the
        /// ground upside down.
        amplitude: f64 = 1200.0, within -16000.0..=16000.0, unit "m", scales Relief, source "ours";
        /// Distance from one large hill to the next.
        wavelength: f64 = 9000.0, within 0.01..=1e8, unit "m", scales Size, source "ours";
        /// Number of octaves: each one adds finer hills, as far as the grid can resolve them.
        octaves: u32 = 12, within 1..=24, unit "1", source "ours";
        /// Height of an octave relative to the next coarser one (persistence): higher values are rougher.
        gain: f64 = 0.47, within 0.0..=1.0, unit "1", source "Musgrave 2003, 2^-H";
        /// Factor by which hills become smaller from one octave to the next.
        lacunarity: f64 = 2.0, within 1.1..=8.0, unit "1", source "Musgrave 2003";
        /// For ridged: the size of the noise, about 0 to 1, at which the ground is lowest; lower values make narrow
        /// ridges with secondary crests between.
        ridge_offset: f64 = 1.0, within 0.1..=4.0, unit "1", source "Musgrave 2003";
        /// For ridged: how strongly the height of an octave admits the next one; low values leave valleys and flanks
        /// smooth.
        ridge_gain: f64 = 2.0, within 0.0..=100.0, unit "1", source "Musgrave 2003";
        /// Reduction of finer octaves on steep slopes, which makes flanks smooth, as if eroded.
        damping: f64 = 0.1, within 0.0..=1000.0, unit "1", source "Quilez 2008 (his is 1)";
        /// Displacement of points by domain warp, which curves ridges and hills (three standard deviations; at most
        /// 262144 cells).
        warp: f64 = 500.0, within 0.0..=1e6, unit "m", scales Size, source "ours";
        /// Wavelength of the domain warp.
        warp_wavelength: f64 = 8000.0, within 0.01..=1e8, unit "m", scales Size, source "ours";
        /// Elevation added everywhere: the mean elevation of fbm, the lowest elevation of the others.
        offset: f64 = 0.0, within -16000.0..=16000.0, unit "m", scales Relief, source "ours";
        /// How the values are combined with the ground.
        blend: Blend = Blend::Add, within .., unit "1", source "ours";
    }
}

impl Model for GradientNoise {
    fn about(&self) -> About {
        About {
            name: "gradient_noise",
            title: "Gradient noise",
            summary: "Hills and ridges from octaves of gradient noise: fBm, billow, ridged, with warp and damping.",
            source: "Perlin 1985, An image synthesizer; Musgrave 2003, Procedural fractal terrains",
            family: Family::Base,
            uses: &[AMOUNT],
            loops: true,
            ..About::default()
        }
    }

    fn define_refinement(&self, local: &mut Local) -> Option<&'static str> {
        // Other blend modes shape ground that is already there.
        (self.blend == Blend::Add).then(|| {
            // The model's own octaves are too rough on land that rivers have eroded: with them two levels of `hills`
            // have a median slope of 9.9°, where a global build has 7.5°.
            local.rules.roughness = (0.4 * self.gain).min(1.0) as f32;
            "further octaves, as high as the ground is steep"
        })
    }

    laid_in_bands!();
}

impl Base for GradientNoise {
    fn value_range(&self) -> [f64; 2] {
        let low = if self.kind == FractalKind::Fbm { -self.amplitude } else { 0.0 };
        [self.offset + low, self.offset + self.amplitude]
    }

    fn step_cells(&self) -> u64 {
        // The time per cell grows with the number of octaves; from nine octaves on a step covers fewer cells.
        STEP_CELLS * 8 / u64::from(self.octaves.max(8))
    }

    fn prepare_row_values(&self, grid: &Grid, key: RandomKey, _: Range<usize>) -> impl Fn(usize, &mut [f32]) + Sync {
        let settings = FractalSettings {
            kind: self.kind,
            octaves: self.octaves,
            wavelength: self.wavelength,
            lacunarity: self.lacunarity,
            gain: self.gain,
            ridge_offset: self.ridge_offset,
            ridge_gain: self.ridge_gain,
            damping: self.damping,
        };
        // Noise and warp have keys of their own, so that a warp does not change the noise itself.
        let warp = Warp::new(self.warp, self.warp_wavelength, key.derive_key(1), grid);
        let noise = Fractal::new(&settings, warp, key.derive_key(0), grid);
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
        assert_windows_agree, average_blocks, make_square_grid, measure_moments, relative_difference, run_to_metres,
    };

    #[test]
    fn fbm_has_the_stated_deviation() {
        // Waves of 600 m over 15 km: about 600 independent squares for the first octave, which has 3/4 of the
        // variance. The standard deviation is known to 1/√1200 = 3 %; the tolerance is four of those.
        let model = GradientNoise {
            amplitude: 300.0,
            wavelength: 600.0,
            gain: 0.5,
            damping: 0.0,
            warp: 0.0,
            offset: 70.0,
            ..Default::default()
        };
        let ground = run_to_metres(&model, &make_square_grid(512, 15_360.0), 3);
        let [mean, deviation] = measure_moments(ground.as_slice());
        // Standard error of the mean: 100 m/√600 = 4 m, and less since gradient noise has almost no power in long
        // waves.
        assert!((mean - 70.0).abs() < 12.0, "{mean}");
        assert!((deviation / 100.0 - 1.0).abs() < 0.12, "{deviation}");
    }

    #[test]
    fn billow_and_ridged_lie_within_their_range() {
        for kind in [FractalKind::Billow, FractalKind::Ridged] {
            let model = GradientNoise { kind, amplitude: 1000.0, ..Default::default() };
            let ground = run_to_metres(&model, &make_square_grid(256, 15_360.0), 3);
            let [low, high] = ground.as_slice().iter().fold([f64::MAX, f64::MIN], |[a, b], z| [a.min(*z), b.max(*z)]);
            assert!(low >= 0.0 && high > 500.0 && high < 1250.0, "{kind:?}: {low} to {high}");
        }
    }

    #[test]
    fn windows_are_cut_from_the_whole() {
        for kind in [FractalKind::Fbm, FractalKind::Billow, FractalKind::Ridged] {
            let model = GradientNoise { kind, damping: 0.5, ..Default::default() };
            assert_windows_agree(&model, &Grid::new([30, 320], 45.0).unwrap());
        }
    }

    #[test]
    fn finer_grids_of_one_world_only_add_detail() {
        // Waves of 60 to 240 m are on 30 m cells and not on 60 m cells; block means over 60 m keep a part of them.
        // Their weights are below 0.47⁵ of the first octave's: 2.3 % in all for fbm, more where ridges make edges.
        for (kind, most) in [(FractalKind::Fbm, 0.02), (FractalKind::Billow, 0.03), (FractalKind::Ridged, 0.05)] {
            let model = GradientNoise { kind, ..Default::default() };
            let [coarse, fine] = [256, 512].map(|n| run_to_metres(&model, &make_square_grid(n, 15_360.0), 9));
            let difference = relative_difference(&average_blocks(&coarse, 2), &average_blocks(&fine, 4));
            assert!(difference < most, "{kind:?}: {difference}");
        }
    }
}
