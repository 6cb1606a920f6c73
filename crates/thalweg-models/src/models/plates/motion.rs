//! The plates: their crust, and their relative motion at the boundaries.

use thalweg_core::base::power::exp2;
use thalweg_core::base::rng::RandomKey;

/// A tectonic plate.
#[derive(Debug, Clone, Copy)]
struct Plate {
    /// The centre of the plate, in spacings.
    middle: [f32; 2],
    /// The drift velocity.
    drift: [f32; 2],
    /// The crust; above 0 the plate is land.
    crust: f32,
    /// The binary logarithm of the erodibility of the plate's rock.
    weakness: f32,
}

/// The plates of a square lattice.
pub struct PlateMotion {
    plates: Vec<Plate>,
    /// The number of lattice squares along a side.
    side: usize,
    /// The sharpness of the boundaries: log₂ e divided by `belt`, so that a plate's weight is 2^(−sharp·d²).
    sharp: f32,
}

/// The blended properties of the plates at a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlendedPlates {
    /// The crust, blended between the surrounding plates.
    pub crust: f32,
    /// The rate at which the plates converge (above 0) or diverge, in drifts per spacing.
    pub closing: f32,
    /// The distance to the boundary between the two nearest plates, in spacings (exact if their centres are one
    /// spacing apart).
    pub across: f32,
    /// The binary logarithm of the erodibility of the rock.
    pub weakness: f32,
}

/// The lattice squares beyond the map on each side, whose plates reach into the map.
const MARGIN_SQUARES: i64 = 4;

/// The binary logarithm of the least relative weight: plates with less than 2⁻²⁰ of the greatest weight are skipped.
const MIN_LOG2_WEIGHT: f32 = -20.0;

impl PlateMotion {
    /// Creates the plates of `squares` × `squares` squares from the origin on. `belt` is the square of the distance,
    /// in spacings, over which plates blend. `is_far` returns, from 0 to 1, how far a plate's centre lies outside the
    /// continent; its arguments are in spacings eastward and southward.
    pub fn new(squares: usize, belt: f64, key: RandomKey, is_far: impl Fn(f64, f64) -> f64) -> Self {
        let side = squares + 2 * MARGIN_SQUARES as usize;
        let plate = |k: usize| {
            let at = [(k / side) as i64 - MARGIN_SQUARES, (k % side) as i64 - MARGIN_SQUARES];
            let key = key.for_cell(at);
            // A centre is up to 0.42 squares from the middle of its square and therefore never on the border; a smaller
            // number gives more regular plates.
            let [x, y] = [1, 0].map(|axis| at[axis] as f64 + 0.5 + 0.42 * key.derive_key(axis as u64).uniform_signed());
            let (sin, cos) = libm::sincos(std::f64::consts::TAU * key.derive_key(2).uniform_unit());
            // In the middle of the continent 4 % of the plates are oceanic, and outside it 94 %.
            let is_land = key.derive_key(4).uniform_unit() > 0.04 + 0.9 * is_far(x, y);
            // The plates of one land have drifted together, so their speeds are lower.
            let speed = (0.3 + 0.7 * key.derive_key(3).uniform_unit()) * if is_land { 0.55 } else { 1.0 };
            let crust = key.derive_key(5).uniform_unit();
            // Land and sea have crusts apart from 0, so that blending places the coast between plates.
            let crust = if is_land { 0.35 + 0.45 * crust } else { -0.3 - 0.6 * crust };
            Plate {
                middle: [x as f32, y as f32],
                drift: [speed * cos, speed * sin].map(|x| x as f32),
                crust: crust as f32,
                weakness: key.derive_key(6).standard_normal() as f32,
            }
        };
        let plates = (0..side * side).map(plate).collect();
        Self { plates, side, sharp: (std::f64::consts::LOG2_E / belt) as f32 }
    }

    /// Returns the blended plates at a place, in spacings eastward and southward.
    ///
    /// Each plate has the weight e^(−d²/belt), where d is the distance to its centre; drift, crust and rock are
    /// weighted means. The drift is therefore a smooth field, and its divergence gives mountain belts that follow the
    /// boundaries without sharp edges.
    pub fn blend_plates(&self, x: f32, y: f32) -> BlendedPlates {
        // The 5 × 5 plates around a place contain all that matter. Warp can carry a place beyond the margin, where the
        // outermost full neighbourhood is used.
        let square = |x: f32| (x.floor() as i64 + MARGIN_SQUARES).clamp(2, self.side as i64 - 3) as usize;
        let (row, col) = (square(y), square(x));
        let near = || (row - 2..=row + 2).flat_map(|i| &self.plates[i * self.side + col - 2..=i * self.side + col + 2]);
        let mut away = [0.0f32; 25];
        let (mut least, mut second) = (f32::MAX, f32::MAX);
        for (plate, away) in near().zip(&mut away) {
            let [dx, dy] = [plate.middle[0] - x, plate.middle[1] - y];
            *away = dx * dx + dy * dy;
            (least, second) = (least.min(*away), second.min(away.max(least)));
        }
        let mut total = 0.0f32;
        let (mut crust, mut weakness, mut drift) = (0.0, 0.0, [0.0f32; 2]);
        // The sums of the weights' gradients, without the common factor 2·sharp·ln 2.
        let mut pull = [0.0f32; 2];
        let mut change = [[0.0f32; 2]; 2];
        for (plate, away) in near().zip(away) {
            // Weights are relative to the nearest plate's, which is 1, so that they cannot all underflow.
            let power = self.sharp * (least - away);
            if power < MIN_LOG2_WEIGHT {
                continue;
            }
            let weight = exp2(power);
            let toward = [plate.middle[0] - x, plate.middle[1] - y];
            total += weight;
            crust += weight * plate.crust;
            weakness += weight * plate.weakness;
            for a in 0..2 {
                drift[a] += weight * plate.drift[a];
                pull[a] += weight * toward[a];
                for b in 0..2 {
                    change[a][b] += weight * toward[a] * plate.drift[b];
                }
            }
        }
        let rate = 2.0 * self.sharp * std::f32::consts::LN_2;
        // The derivative of the drift's component b along axis a.
        let slope = |a: usize, b: usize| rate * (change[a][b] - pull[a] * drift[b] / total) / total;
        BlendedPlates {
            crust: crust / total,
            closing: -(slope(0, 0) + slope(1, 1)),
            across: 0.5 * (second - least),
            weakness: weakness / total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_is_the_divergence_of_the_drift() {
        let motion = PlateMotion::new(4, 0.15, RandomKey::new(1, "plates"), |_, _| 0.3);
        let drift = |x: f64, y: f64| {
            let (mut sum, mut total) = ([0.0; 2], 0.0);
            for plate in &motion.plates {
                let [dx, dy] = [f64::from(plate.middle[0]) - x, f64::from(plate.middle[1]) - y];
                let weight = (-(dx * dx + dy * dy) / 0.15).exp();
                total += weight;
                (0..2).for_each(|a| sum[a] += weight * f64::from(plate.drift[a]));
            }
            sum.map(|x| x / total)
        };
        let mut most: f64 = 0.0;
        for k in 0..400 {
            let [x, y] = RandomKey::new(2, "place").derive_key(k).uniform_pair().map(|x| 4.0 * x);
            let step = 1e-4;
            let expected = -(drift(x + step, y)[0] - drift(x - step, y)[0] + drift(x, y + step)[1]
                - drift(x, y - step)[1])
                / (2.0 * step);
            let got = f64::from(motion.blend_plates(x as f32, y as f32).closing);
            most = most.max(expected.abs());
            // Plates with weights under 2⁻²⁰ are skipped.
            assert!((got - expected).abs() < 2e-3 * expected.abs().max(1.0), "{x}, {y}: {got}, {expected}");
        }
        assert!(most > 1.0, "plates meet");
    }
}
