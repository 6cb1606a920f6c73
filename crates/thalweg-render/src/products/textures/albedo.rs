//! Albedo and roughness of the ground cover, without lighting: within a material they vary only by noise, and by rock
//! beds.

use rayon::prelude::*;

use super::cover::{GroundCover, Shares};
use super::materials::{COUNT, MATERIALS, Material};
use super::site::generate_noise;
use crate::pictures::colour::{Linear, mix_colours, to_linear};
use crate::pictures::natural::NaturalGround;
use thalweg_core::Field;
use thalweg_core::base::rng::RandomKey;
use thalweg_noise::fractal::{Fractal, FractalSettings};

/// The number of octaves of a material's variation.
const OCTAVES: u32 = 5;
/// The strength of the variation: the part of the way from dark to light per unit of noise, which has a standard
/// deviation of a third.
const STRENGTH: f32 = 0.75;
/// The wavelength in metres of the variation that all materials share, and its strength.
const BROAD: (f64, f32) = (1100.0, 0.16);
/// The thicknesses in metres of rock beds, and their weights.
const BEDS: [(f32, f32); 3] = [(70.0, 0.5), (19.0, 0.32), (6.0, 0.18)];
/// The vertical displacement of beds in metres per unit of noise.
const BED_DISPLACEMENT_M: f32 = 14.0;
/// The wetness above which terrain becomes smoother, and the largest reduction of its roughness.
const SMOOTHED: (f32, f32) = (0.8, 0.5);
/// The longest wave in metres of the noise at boundaries between materials.
const RIM: f64 = 80.0;
/// The strength of that noise: how far a material stands out from the others per unit of noise (see [`RIM`]).
const MATERIAL_CONTRAST: f32 = 5.0;
/// The longest wave in metres of relief that is finer than cells.
const ROUGH: f64 = 60.0;
/// The first number of the keys of the noises.
const KEYS: u64 = 200;

/// The viewpoint for the albedo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlbedoView {
    /// From near by: a forest shows its floor, because a game engine places its own trees on it.
    #[default]
    Ground,
    /// From the air: a forest shows its crowns.
    Air,
}

impl GroundCover {
    /// Returns the albedo of each cell in linear light, and its roughness, 0 to 1. Without data they are black and 1.
    pub fn compute_albedo(&self, seen: AlbedoView) -> (Field<Linear>, Field<f32>) {
        let size = self.shares.size();
        let from_air = seen == AlbedoView::Air;
        let palettes: [[Linear; 2]; COUNT] =
            std::array::from_fn(|k| self.rules.material_colours(k, self.rock, from_air).map(to_linear));
        // The key depends on the material's number, so that the noise of each material is independent.
        let made = |number: usize, material: &Material| {
            let settings = FractalSettings::fbm(OCTAVES, material.grain, 0.7);
            Fractal::new(&settings, None, RandomKey::ZERO.derive_key(KEYS + number as u64), &self.grid)
        };
        let noises: Vec<Fractal> =
            MATERIALS.iter().enumerate().map(|(number, material)| made(number, material)).collect();
        let broad = Fractal::new(
            &FractalSettings::fbm(2, BROAD.0, 0.5),
            None,
            RandomKey::ZERO.derive_key(KEYS - 1),
            &self.grid,
        );
        let mut both = Field::new(size, ([0.0; 3], 1.0));
        // Rows are independent; materials are added in the same order in every row, so that sums have the same bits.
        both.par_rows_mut().for_each(|(i, row)| {
            let mut far = vec![0.0; size[1]];
            broad.fill_row(&self.grid, i, &mut far);
            let mut near = vec![0.0; size[1]];
            let mut sums = vec![0.0f32; size[1]];
            for (number, material) in MATERIALS.iter().enumerate() {
                let shares = self.shares.row(i);
                // The noise of a material is computed only for rows in which it occurs.
                if shares.iter().all(|shares| shares[number] <= 0.0) {
                    continue;
                }
                noises[number].fill_row(&self.grid, i, &mut near);
                let bedded = self.bedding_share(material);
                for (j, (colour, roughness)) in row.iter_mut().enumerate() {
                    let share = shares[j][number];
                    if share <= 0.0 {
                        continue;
                    }
                    // The initial value of 1 is that of cells without data; the first material replaces it.
                    if sums[j] == 0.0 {
                        *roughness = 0.0;
                    }
                    sums[j] += share;
                    let bed = if bedded > 0.0 {
                        bedded * bed_lightness(self.heights[(i, j)] + BED_DISPLACEMENT_M * far[j])
                    } else {
                        0.0
                    };
                    // Bedded rock varies by its beds instead of by noise; the broad noise applies to all materials.
                    let light = 0.5 + (1.0 - bedded) * STRENGTH * near[j] + BROAD.1 * far[j] + bed;
                    let light = light.clamp(0.0, 1.0);
                    let own = mix_colours(palettes[number][0], palettes[number][1], light);
                    *colour = std::array::from_fn(|c| colour[c] + share * own[c]);
                    let [smooth, rough] = material.roughness;
                    *roughness += share * (smooth + (rough - smooth) * light);
                }
            }
            for (j, (_, roughness)) in row.iter_mut().enumerate() {
                // Wet ground becomes smoother, linearly from SMOOTHED.0 to saturation.
                let soaked = ((self.wet[(i, j)] - SMOOTHED.0) / (1.0 - SMOOTHED.0)).clamp(0.0, 1.0);
                *roughness = (*roughness * (1.0 - SMOOTHED.1 * soaked)).clamp(0.0, 1.0);
                if sums[j] <= 0.0 {
                    *roughness = 1.0;
                }
            }
        });
        (both.map(|(colour, _)| *colour), both.map(|(_, roughness)| *roughness))
    }

    /// Returns the same cover with boundaries between materials as sharp as in nature: noise per material strengthens
    /// it in some places and weakens it in others, and the stronger material takes more than its share.
    fn sharpen_boundaries(&self) -> Self {
        let rims: Vec<Fractal> = (0..COUNT as u64)
            .map(|k| {
                let settings = FractalSettings::fbm(4, RIM, 0.7);
                Fractal::new(&settings, None, RandomKey::ZERO.derive_key(KEYS + 70 + k), &self.grid)
            })
            .collect();
        let mut shares = self.shares.clone();
        shares.par_rows_mut().for_each(|(i, row)| {
            let mut near = vec![0.0; row.len()];
            let mut powers = vec![[0f32; COUNT]; row.len()];
            for (k, rim) in rims.iter().enumerate().filter(|(k, _)| row.iter().any(|shares| shares[*k] > 0.0)) {
                rim.fill_row(&self.grid, i, &mut near);
                for ((power, shares), near) in powers.iter_mut().zip(&*row).zip(&near) {
                    // The third power makes the larger share much larger, and the noise shifts the boundary from place
                    // to place.
                    power[k] = shares[k] * shares[k] * shares[k] * libm::expf(MATERIAL_CONTRAST * near);
                }
            }
            // Shares are normalised again; cells without data remain zero.
            for (shares, power) in row.iter_mut().zip(powers) {
                let sum: f32 = power.iter().sum();
                if sum > 0.0 {
                    *shares = power.map(|power| power / sum);
                }
            }
        });
        Self { shares, ..self.clone() }
    }

    /// Returns the appearance from the air: albedo, and relief in metres that is finer than the terrain's cells.
    pub fn from_air(&self) -> NaturalGround {
        let crisp = self.sharpen_boundaries();
        let fine = generate_noise(&self.grid, KEYS + 90, 4, ROUGH);
        let rough =
            |shares: &Shares| MATERIALS.iter().zip(shares).map(|(material, share)| share * material.bump).sum::<f32>();
        let bumps = Field::from_fn(self.shares.size(), |i, j| rough(&crisp.shares[(i, j)]) * fine[(i, j)]);
        NaturalGround { albedo: crisp.compute_albedo(AlbedoView::Air).0, bumps }
    }

    /// Returns the share of a material's variation that follows rock beds: the rock's share if the material has the
    /// rock's colours, else 0.
    fn bedding_share(&self, material: &Material) -> f32 {
        if material.shows_rock() { self.rock.bedded } else { 0.0 }
    }
}

/// Returns the lightness of the rock bed at an elevation in metres, −0.5 to 0.5. It is keyed by the bed's number
/// alone, so beds are the same everywhere.
fn bed_lightness(height: f32) -> f32 {
    let value = |layer: usize, number: i64| {
        RandomKey::ZERO.derive_key(KEYS + 50 + layer as u64).derive_key(number as u64).uniform_unit() as f32
    };
    let one = |(layer, (thick, weight)): (usize, &(f32, f32))| {
        let at = height / thick;
        let (number, part) = (at.floor(), at - at.floor());
        // Mostly of one colour, with a narrow transition to the next.
        let t = ((part - 0.7) / 0.3).clamp(0.0, 1.0);
        let [here, next] = [0, 1].map(|k| value(layer, number as i64 + k));
        weight * (here + (next - here) * t * t * (3.0 - 2.0 * t) - 0.5)
    };
    // Scaled so that the sum covers the full range from dark to light.
    1.4 * BEDS.iter().enumerate().map(one).sum::<f32>()
}
