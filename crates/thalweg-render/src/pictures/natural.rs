//! Natural views: materials in their own colours under sun, sky and air, and water that reflects the sky.
//!
//! Colours here are light intensities: values above 1 are brighter than white paper until a film curve compresses
//! them into the range of a picture.

use crate::pictures::colour::{Linear, apply_light, mix_colours};
use crate::pictures::light::{Sun, cast_shadows, compute_sky_view, horn_gradient, lambert_reflectance, surface_normal};
use crate::pictures::relief::Relief;
use crate::pictures::sample::interpolate_bilinear;
use thalweg_core::Field;

/// A position in metres: east, north, up.
type Point = [f32; 3];

/// The unlit appearance of the terrain from the air: any number of samples over the terrain's extent, with the first
/// and last ones at those of the terrain.
#[derive(Debug, Clone, PartialEq)]
pub struct NaturalGround {
    /// The albedo in linear light, 0 to 1 per channel.
    pub albedo: Field<Linear>,
    /// Relief in metres that is finer than cells, such as crowns and blocks; it is lit together with the terrain.
    pub bumps: Field<f32>,
}

/// The intensity of sunlight on a surface that faces the sun, outside the atmosphere.
const SUNLIGHT: f32 = 3.6;
/// The optical depth of the atmosphere at the zenith, red to blue.
const OPTICAL_DEPTH: Linear = [0.06, 0.13, 0.27];
/// The light of the open sky on level terrain.
const SKYLIGHT: Linear = [0.34, 0.46, 0.66];
/// The light reflected by surrounding terrain, as a share of the sun's.
const BOUNCE: f32 = 0.09;
/// The colour of the sky at the horizon, and overhead.
const HORIZON: Linear = [0.56, 0.72, 0.94];
/// See [`HORIZON`].
const ZENITH: Linear = [0.07, 0.19, 0.52];
/// The extinction of red, green and blue relative to grey: distant objects lose blue first and take on the sky's
/// colour.
const EXTINCTION: Linear = [0.75, 1.0, 1.35];
/// The scale height in metres of the haze, over which it decreases to 1/e.
const HAZE_SCALE_HEIGHT_M: f32 = 4000.0;
/// The share of incoming light that deep water returns.
const DEEP: Linear = [0.008, 0.034, 0.046];
/// The absorption of water per metre.
const ABSORBS: Linear = [0.50, 0.16, 0.12];
/// The reflectance of water seen from straight above (Schlick 1994).
const MIRRORED: f32 = 0.02;
/// The exposure: the factor from light to the film curve's input.
const EXPOSURE: f32 = 0.74;
/// The width of a shadow's edge in samples.
const EDGE: f32 = 2.5;

/// The sun, the sky and the haze around a camera.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Atmosphere {
    eye: Point,
    sun: Point,
    sunlight: Linear,
    /// The extinction per metre of air at the datum.
    thick: f32,
    datum: f32,
}

impl Atmosphere {
    /// Creates air in which half of the light is lost over `haze` metres at the height `datum`.
    pub fn new(eye: Point, sun: Sun, haze: f32, datum: f32) -> Self {
        let direction = sun.direction();
        // The relative length of the light's path through the air, compared with a vertical one; finite at the
        // horizon.
        let air_mass = 1.0 / (direction[2] + 0.05);
        let sunlight = OPTICAL_DEPTH.map(|taken| SUNLIGHT * libm::expf(-taken * air_mass));
        Self { eye, sun: direction, sunlight, thick: std::f32::consts::LN_2 / haze.max(1.0), datum }
    }

    /// Returns the colour of the sky in a direction.
    pub fn sky_colour(&self, direction: Point) -> Linear {
        let up = direction[2].max(0.0);
        // At 10° above the horizon, three fifths of the change from the horizon's colour to the zenith's are complete.
        let blue = mix_colours(HORIZON, ZENITH, 1.0 - libm::expf(-5.5 * up));
        let toward = dot(direction, self.sun).max(0.0);
        // A broad glow decreases to half at 27° from the sun, a narrow one at 7°.
        let glow = 0.30 * libm::powf(toward, 6.0) + 0.8 * libm::powf(toward, 90.0);
        let low = 1.0 - 0.6 * up;
        std::array::from_fn(|c| blue[c] + glow * low * self.sunlight[c] * 0.28)
    }

    /// Returns the light from `point` as it arrives at the eye.
    pub fn add_haze(&self, colour: Linear, point: Point) -> Linear {
        let from: Point = std::array::from_fn(|k| point[k] - self.eye[k]);
        let far = dot(from, from).sqrt();
        if far <= 0.0 {
            return colour;
        }
        // The mean density of the haze between two heights, by Simpson's rule.
        let thin = |height: f32| libm::expf(-(height - self.datum).max(0.0) / HAZE_SCALE_HEIGHT_M);
        let thick = (thin(point[2]) + thin(self.eye[2]) + 4.0 * thin((point[2] + self.eye[2]) / 2.0)) / 6.0;
        let ray = from.map(|x| x / far);
        // A ray that descends ends in front of haze, which has the colour of the sky just above the horizon.
        let behind = self.sky_colour([ray[0], ray[1], ray[2].max(0.015)]);
        std::array::from_fn(|c| {
            let left = libm::expf(-far * self.thick * thick * EXTINCTION[c]);
            colour[c] * left + behind[c] * 0.92 * (1.0 - left)
        })
    }

    /// Converts light to a picture's range with the curve of a film, which compresses dark and bright parts
    /// (Narkowicz 2016, fit of the ACES curve).
    pub fn apply_film_curve(colour: Linear) -> Linear {
        colour.map(|x| {
            let x = EXPOSURE * x.max(0.0);
            (x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14)).min(1.0)
        })
    }

    /// Returns the light of level water at `point`, `depth` metres above a bed with the given albedo; `lit` is the
    /// share of it in the sun.
    pub fn water_light(&self, point: Point, depth: f32, bed: Linear, lit: f32) -> Linear {
        let to_eye: Point = std::array::from_fn(|k| self.eye[k] - point[k]);
        let far = dot(to_eye, to_eye).sqrt().max(1e-3);
        let view = to_eye.map(|x| x / far);
        let cos = view[2].clamp(0.0, 1.0);
        let grazing = 1.0 - cos;
        // The limit of 0.62 accounts for waves, which reduce reflection at grazing angles.
        let mirrored = MIRRORED + (0.62 - MIRRORED) * grazing * grazing * grazing * grazing * grazing;
        let above = self.sky_colour([-view[0], -view[1], view[2].max(0.04)]);
        // Level water receives the sun by the sine of its altitude, and the whole sky.
        let light: Linear = std::array::from_fn(|c| self.sunlight[c] * self.sun[2] * lit + SKYLIGHT[c]);
        let toward = dot([-view[0], -view[1], view[2]], self.sun).max(0.0);
        // The narrow glitter decreases to half at 4.5° from the sun's mirror image, the broad one at 18°.
        let glitter = lit * (1.1 * libm::powf(toward, 220.0) + 0.10 * libm::powf(toward, 14.0));
        std::array::from_fn(|c| {
            // Light passes the water twice, down to the bed and back.
            let through = libm::expf(-2.0 * depth.max(0.0) * ABSORBS[c]);
            let body = light[c] * (bed[c] * through + DEEP[c] * (1.0 - through));
            body * (1.0 - mirrored) + above[c] * mirrored + glitter * self.sunlight[c] * (mirrored + 0.04)
        })
    }

    /// Returns the light of the open sea where a ray meets it, up to the horizon.
    pub fn sea_light(&self, point: Point) -> Linear {
        // The bed is invisible at a depth of 200 m, so its colour does not matter.
        self.add_haze(self.water_light(point, 200.0, [0.0; 3], 1.0), point)
    }
}

/// Returns the light that leaves each sample of a relief, before the air absorbs any. Heights in the scene are the
/// relief's multiplied by `exaggeration`. `streams` is the share of each sample that rivers cover.
pub(crate) fn lit_ground(
    relief: &Relief,
    ground: &NaturalGround,
    air: &Atmosphere,
    sun: Sun,
    exaggeration: f32,
    streams: Option<&Field<f32>>,
) -> Field<Linear> {
    let size = relief.size();
    let open = compute_sky_view(&relief.heights, relief.cell, exaggeration);
    let dark = cast_shadows(&relief.heights, relief.cell, sun, exaggeration);
    let sampled = |field: &Field<f32>, i: usize, j: usize| {
        let at = |k: usize, n: usize, m: usize| k as f32 * (m.max(2) - 1) as f32 / (n.max(2) - 1) as f32;
        interpolate_bilinear(field, at(i, size[0], field.rows()), at(j, size[1], field.cols()))
    };
    // Bumps are not to be exaggerated; they are divided by the factor that the gradient is multiplied by below.
    let heights =
        Field::from_fn(size, |i, j| relief.heights[(i, j)] + sampled(&ground.bumps, i, j) / exaggeration.max(1e-3));
    let channels = [0, 1, 2].map(|c| ground.albedo.map(|colour| colour[c]));
    let direction = sun.direction();
    let middle = size.map(|n| (n - 1) as f32 / 2.0);
    Field::from_fn(size, |i, j| {
        if relief.is_hole(i, j) {
            return [0.0; 3];
        }
        let albedo: Linear = std::array::from_fn(|c| sampled(&channels[c], i, j));
        let seen = interpolate_bilinear(&open, (i as f32 - 0.5) / 2.0, (j as f32 - 0.5) / 2.0);
        // The shadow's edge is soft: it is full from a depth of EDGE samples on.
        let under = (dark[(i, j)] * exaggeration / (EDGE * relief.cell[0].max(relief.cell[1]))).min(1.0);
        let lit_share = 1.0 - under;
        let slope = horn_gradient(&heights, relief.cell, i, j).map(|g| g * exaggeration);
        let n = surface_normal(slope);
        let facing = lambert_reflectance(n, direction) * lit_share;
        // The visible share is squared, which darkens valleys and hollows more than the share itself.
        let around = SKYLIGHT.map(|c| c * (0.5 + 0.5 * n[2]) * seen * seen);
        let light: Linear = std::array::from_fn(|c| {
            // Steep surfaces face more of the surrounding terrain, so they receive up to half as much again of its
            // light.
            air.sunlight[c] * (facing + BOUNCE * direction[2] * (1.5 - 0.5 * n[2])) + around[c]
        });
        let dry = apply_light(albedo, light);
        let depth = relief.water_depth(i, j);
        let sunk = relief.sea.is_some_and(|level| relief.heights[(i, j)] < level);
        // The sea replaces dry ground over its first 0.4 m of depth, so that its shore is soft. The shore of pools is
        // within a cell.
        let share = if sunk { (depth / 0.4).min(1.0) } else { relief.flooded_share(i, j) };
        let cover = streams.map_or(0.0, |streams| streams[(i, j)]);
        if share <= 0.0 && cover <= 0.0 {
            return dry;
        }
        let top = (relief.heights[(i, j)] + depth) * exaggeration;
        let point = [(j as f32 - middle[1]) * relief.cell[1], (middle[0] - i as f32) * relief.cell[0], top];
        // Still water reflects the sky fully; a river is treated as shallow (1.2 m) and its surface as broken.
        let still = mix_colours(dry, air.water_light(point, depth, albedo, lit_share), share);
        mix_colours(still, air.water_light(point, 1.2, albedo, lit_share), 0.8 * cover)
    })
}

fn dot(a: Point, b: Point) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn air() -> Atmosphere {
        Atmosphere::new([0.0, 0.0, 500.0], Sun { azimuth: 180.0, altitude: 30.0 }, 10_000.0, 0.0)
    }

    #[test]
    fn haze_takes_half_at_its_distance_and_far_things_turn_to_sky() {
        let low = Atmosphere::new([0.0; 3], Sun { azimuth: 180.0, altitude: 30.0 }, 10_000.0, 0.0);
        // The green channel of black, level terrain: at the haze distance half of the horizon's light is added, far
        // beyond it all of it.
        let veil = |far: f32| low.add_haze([0.0; 3], [0.0, far, 0.0])[1];
        assert!((veil(10_000.0) / veil(1e7) - 0.5).abs() < 1e-3);
        let [r, _, b] = low.add_haze([0.0; 3], [0.0, 5000.0, 0.0]);
        assert!(b > 1.3 * r, "distance is blue");
        assert_eq!(low.add_haze([0.3; 3], [0.0; 3]), [0.3; 3]);
    }

    #[test]
    fn water_mirrors_more_the_flatter_it_is_seen() {
        let air = air();
        let blue = |far: f32| air.water_light([far, 0.0, 0.0], 50.0, [0.2; 3], 1.0)[2];
        assert!(blue(10.0) < blue(2000.0) && blue(2000.0) < blue(20_000.0));
        // The bed is only visible in shallow water.
        let red = |depth: f32| air.water_light([10.0, 0.0, 0.0], depth, [0.5, 0.4, 0.3], 1.0)[0];
        assert!(red(0.1) > 3.0 * red(4.0) && (red(30.0) - red(60.0)).abs() < 1e-4);
    }

    #[test]
    fn development_keeps_order_and_bounds() {
        let shades: Vec<f32> = (0..200).map(|k| Atmosphere::apply_film_curve([k as f32 * 0.05; 3])[0]).collect();
        assert!(shades.windows(2).all(|pair| pair[0] <= pair[1]) && shades[0] == 0.0 && shades[199] <= 1.0);
        assert!(Atmosphere::apply_film_curve([f32::NAN; 3])[0] == 0.0);
    }
}
