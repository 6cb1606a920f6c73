//! The plates: their crust, and their relative motion at the boundaries.

use thalweg_core::base::power::exp2;
use thalweg_core::base::rng::Key;

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
pub struct Motion {
    plates: Vec<Plate>,
    /// The number of lattice squares along a side.
    side: usize,
    /// The sharpness of the boundaries: log₂ e divided by `belt`, so that a plate's weight is 2^(−sharp·d²).
    sharp: f32,
}

/// The blended properties of the plates at a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Here {
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
const MARGIN: i64 = 4;

/// The binary logarithm of the least relative weight: plates with less than 2⁻²⁰ of the greatest weight are skipped.
const LEAST: f32 = -20.0;

impl Motion {
    /// Creates the plates of `squares` × `squares` squares from the origin on. `belt` is the square of the distance,
    /// in spacings, over which plates blend. `is_far` returns, from 0 to 1, how far a plate's centre lies outside the
    /// continent; its arguments are in spacings eastward and southward.
    pub fn new(squares: usize, belt: f64, key: Key, is_far: impl Fn(f64, f64) -> f64) -> Self {
        let side = squares + 2 * MARGIN as usize;
        let plate = |k: usize| {
            let at = [(k / side) as i64 - MARGIN, (k % side) as i64 - MARGIN];
            let key = key.cell(at);
            let [x, y] = [1, 0].map(|axis| at[axis] as f64 + 0.5 + 0.42 * key.and(axis as u64).signed());
            let (sin, cos) = libm::sincos(std::f64::consts::TAU * key.and(2).unit());
            let is_land = key.and(4).unit() > 0.04 + 0.9 * is_far(x, y);
            // The plates of one land have drifted together, so their speeds are lower.
            let speed = (0.3 + 0.7 * key.and(3).unit()) * if is_land { 0.55 } else { 1.0 };
            let crust = key.and(5).unit();
            let crust = if is_land { 0.35 + 0.45 * crust } else { -0.3 - 0.6 * crust };
            Plate {
                middle: [x as f32, y as f32],
                drift: [speed * cos, speed * sin].map(|x| x as f32),
                crust: crust as f32,
                weakness: key.and(6).normal() as f32,
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
    pub fn at(&self, x: f32, y: f32) -> Here {
        let square = |x: f32| (x.floor() as i64 + MARGIN).clamp(2, self.side as i64 - 3) as usize;
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
            let power = self.sharp * (least - away);
            if power < LEAST {
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
        Here {
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
        let motion = Motion::new(4, 0.15, Key::new(1, "plates"), |_, _| 0.3);
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
            let [x, y] = Key::new(2, "place").and(k).pair().map(|x| 4.0 * x);
            let step = 1e-4;
            let expected = -(drift(x + step, y)[0] - drift(x - step, y)[0] + drift(x, y + step)[1]
                - drift(x, y - step)[1])
                / (2.0 * step);
            let got = f64::from(motion.at(x as f32, y as f32).closing);
            most = most.max(expected.abs());
            // Plates with weights under 2⁻²⁰ are skipped.
            assert!((got - expected).abs() < 2e-3 * expected.abs().max(1.0), "{x}, {y}: {got}, {expected}");
        }
        assert!(most > 1.0, "plates meet");
    }
}
