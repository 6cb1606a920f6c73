//! Random numbers without state: each is a pure function of what it is for.
//!
//! A number is keyed by the world's seed, the label of the stage that draws it, and then by step, world cell or
//! particle number. Nothing depends on the order of drawing, so threads, tiles and inserted stages change nothing.

use crate::Cell;

/// A key from which numbers are drawn or further keys are made. One key always gives the same number: another needs another key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(u64);

/// Avalanche of 64 bits (Stafford's variant 13 of the MurmurHash3 finaliser, as in Steele et al. 2014, SplitMix).
#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Key {
    /// A key for models that draw nothing.
    pub const ZERO: Self = Self(0);

    /// The key of a stage: the world's seed and the stage's own label, not its position in the recipe.
    pub fn new(seed: u64, label: &str) -> Self {
        Self(mix(seed ^ 0x9e37_79b9_7f4a_7c15)).and(xxhash_rust::xxh3::xxh3_64(label.as_bytes()))
    }

    /// A key for something within this one: a step, a particle number, a purpose.
    #[inline]
    #[must_use]
    pub fn and(self, part: u64) -> Self {
        Self(mix(self.0.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ mix(part.wrapping_add(0x632b_e59b_d9b4_e019))))
    }

    /// A key for a world cell (row, column).
    #[must_use]
    pub fn cell(self, cell: impl Into<Cell<i64>>) -> Self {
        let cell = cell.into();
        self.and(cell[0] as u64).and(cell[1] as u64)
    }

    /// 64 random bits.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// A uniform number in [0, 1), 53 bits.
    #[inline]
    pub fn unit(self) -> f64 {
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A uniform number in [−1, 1), 53 bits.
    pub fn signed(self) -> f64 {
        2.0 * self.unit() - 1.0
    }

    /// Two independent uniforms in [0, 1), 32 bits each.
    #[inline]
    pub fn pair(self) -> [f64; 2] {
        let scale = 1.0 / 4_294_967_296.0;
        [(self.0 >> 32) as f64 * scale, (self.0 & 0xffff_ffff) as f64 * scale]
    }

    /// A normal number of mean 0 and standard deviation 1 (Box–Muller; the logarithm and cosine are the pure Rust ones, the
    /// same bits everywhere).
    pub fn normal(self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.unit())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.and(1).unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_keys_are_uncorrelated() {
        // Correlation of n uniform pairs has a standard error of 1/√n = 0.004 here; five of those are allowed.
        let key = Key::new(7, "stage");
        let n = 62_500;
        let (mut sum, mut lag) = (0.0, 0.0);
        for c in 0..n {
            let here = key.cell([c / 250, c % 250]).signed();
            let east = key.cell([c / 250, c % 250 + 1]).signed();
            sum += here;
            lag += here * east * 3.0;
        }
        assert!((sum / n as f64).abs() < 5.0 * 0.577 / 250.0);
        assert!((lag / n as f64).abs() < 5.0 / 250.0);
    }

    #[test]
    fn keys_depend_on_every_part() {
        let base = Key::new(1, "a");
        assert_ne!(base, Key::new(2, "a"));
        assert_ne!(base, Key::new(1, "b"));
        assert_ne!(base.and(1).and(2), base.and(2).and(1));
        assert_ne!(base.cell([0, 1]), base.cell([1, 0]));
    }

    #[test]
    fn normal_has_unit_variance() {
        let key = Key::new(3, "n");
        let n = 40_000;
        let sum: f64 = (0..n).map(|k| key.and(k).normal().powi(2)).sum();
        assert!((sum / n as f64 - 1.0).abs() < 5.0 * 1.414 / 200.0);
    }
}
