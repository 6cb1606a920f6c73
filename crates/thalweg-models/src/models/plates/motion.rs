//! Plates: their crust, and what they do to one another where they meet.

use thalweg_core::base::power::exp2;
use thalweg_core::base::rng::Key;

/// A plate.
#[derive(Debug, Clone, Copy)]
struct Plate {
    /// Its middle, in spacings.
    middle: [f32; 2],
    /// Where it drifts to.
    drift: [f32; 2],
    /// Over 0 it is land.
    crust: f32,
    /// Logarithm of how readily its rock erodes, to the base 2.
    weakness: f32,
}

/// The plates of a square of a lattice.
pub struct Motion {
    plates: Vec<Plate>,
    /// Lattice squares along a side.
    side: usize,
    /// One over how sharply plates are told apart, times log₂ e.
    sharp: f32,
}

/// What plates are and do at a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Here {
    /// Crust between the plates around.
    pub crust: f32,
    /// How fast they close up (over 0) or part, in drifts a spacing.
    pub closing: f32,
    /// How far off the boundary between the two nearest lies, in spacings.
    pub across: f32,
    /// Logarithm of how readily rock erodes, to the base 2.
    pub weakness: f32,
}

/// Lattice squares beyond the map on each side: plates that reach into it.
const MARGIN: i64 = 4;

/// Weights under 2⁻²⁰ of the greatest count for nothing.
const LEAST: f32 = -20.0;

impl Motion {
    /// Plates over `squares` × `squares` squares from the origin. `belt` is the square of the distance, in spacings, over which
    /// plates blend; `is_far` says from 0 to 1 how far off the continent a middle is, by spacings east and south.
    pub fn new(squares: usize, belt: f64, key: Key, is_far: impl Fn(f64, f64) -> f64) -> Self {
        let side = squares + 2 * MARGIN as usize;
        let plate = |k: usize| {
            let at = [(k / side) as i64 - MARGIN, (k % side) as i64 - MARGIN];
            let key = key.cell(at);
            let [x, y] = [1, 0].map(|axis| at[axis] as f64 + 0.5 + 0.42 * key.and(axis as u64).signed());
            let (sin, cos) = libm::sincos(std::f64::consts::TAU * key.and(2).unit());
            let is_land = key.and(4).unit() > 0.04 + 0.9 * is_far(x, y);
            // Plates of one land have drifted together.
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

    /// At a place, in spacings east and south.
    ///
    /// Each plate weighs e^(−d²/belt), d the distance to its middle; drift, crust and rock are weighted means. The drift's divergence is then
    /// that of a smooth field: belts follow the boundaries, and no place has an edge.
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
        // Sums of weights times their own gradients, over sharp·2, which is the same for all.
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
        // d(drift b)/d(axis a).
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
            // Weights under 2⁻²⁰ are left out.
            assert!((got - expected).abs() < 2e-3 * expected.abs().max(1.0), "{x}, {y}: {got}, {expected}");
        }
        assert!(most > 1.0, "plates meet");
    }
}
