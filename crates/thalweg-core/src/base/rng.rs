//! Random numbers without state: each is a pure function of its key.
//!
//! A number is keyed by the world's seed, the label of the stage that draws it, and then by step, world cell or
//! particle number. Nothing depends on the order of drawing, so the number of threads, the tiling and inserted stages
//! do not change any number.

use crate::Cell;

/// A key from which numbers are drawn or further keys are derived. A key always gives the same number: another number
/// needs another key.
///
/// # Examples
/// ```
/// use thalweg_core::base::rng::RandomKey;
///
/// // The place of drop number 12.
/// let drops = RandomKey::new(7, "drops");
/// let place = drops.derive_key(12).uniform_pair();
/// assert!(place.iter().all(|share| (0.0..1.0).contains(share)));
/// // It is the same whatever was drawn before; another drop has another key.
/// assert_eq!(RandomKey::new(7, "drops").derive_key(12).uniform_pair(), place);
/// assert_ne!(drops.derive_key(13), drops.derive_key(12));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RandomKey(u64);

impl std::fmt::Debug for RandomKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The identity of a world is a hash of such text, so it keeps the name that the type once had.
        f.debug_tuple("Key").field(&self.0).finish()
    }
}

/// Mixes 64 bits (avalanche; Stafford's variant 13 of the MurmurHash3 finaliser, as in Steele et al. 2014, SplitMix).
#[inline]
fn mix_bits(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl RandomKey {
    /// The key for models that draw no numbers.
    pub const ZERO: Self = Self(0);

    /// Makes the key of a stage from the world's seed and the stage's own label, not its position in the recipe. For
    /// example, a stage that is inserted before another one does not change the random numbers of the other.
    pub fn new(seed: u64, label: &str) -> Self {
        // `mix_bits` maps 0 to 0. The constant, 2⁶⁴ divided by the golden ratio, keeps the seed 0 from that.
        Self(mix_bits(seed ^ 0x9e37_79b9_7f4a_7c15)).derive_key(xxhash_rust::xxh3::xxh3_64(label.as_bytes()))
    }

    /// Derives a key within this one, for example for a step, a particle number or a purpose.
    #[inline]
    #[must_use]
    pub fn derive_key(self, part: u64) -> Self {
        // The key and the part enter in different ways, so exchanging them gives another key.
        Self(mix_bits(self.0.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ mix_bits(part.wrapping_add(0x632b_e59b_d9b4_e019))))
    }

    /// Derives the key of a world cell (row, column).
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::base::rng::RandomKey;
    ///
    /// // A tree grows in a cell with a probability of 0.3.
    /// let key = RandomKey::new(1, "trees");
    /// let trees = (0..1000_i64).filter(|col| key.for_cell([0, *col]).uniform_unit() < 0.3).count();
    /// assert!((200..400).contains(&trees));
    /// ```
    #[must_use]
    pub fn for_cell(self, cell: impl Into<Cell<i64>>) -> Self {
        let cell = cell.into();
        self.derive_key(cell[0] as u64).derive_key(cell[1] as u64)
    }

    /// Returns 64 random bits.
    pub fn random_bits(self) -> u64 {
        self.0
    }

    /// Returns a uniform number in [0, 1), 53 bits.
    #[inline]
    pub fn uniform_unit(self) -> f64 {
        // An f64 has 53 bits of mantissa, so the conversion is exact and 1 is never reached.
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a uniform number in [−1, 1), 53 bits.
    pub fn uniform_signed(self) -> f64 {
        2.0 * self.uniform_unit() - 1.0
    }

    /// Returns two independent uniform numbers in [0, 1), 32 bits each.
    #[inline]
    pub fn uniform_pair(self) -> [f64; 2] {
        let scale = 1.0 / 4_294_967_296.0;
        [(self.0 >> 32) as f64 * scale, (self.0 & 0xffff_ffff) as f64 * scale]
    }

    /// Returns a normally distributed number of mean 0 and standard deviation 1 (Box–Muller). Logarithm and cosine are
    /// those of the crate `libm`, which gives the same bits everywhere.
    pub fn standard_normal(self) -> f64 {
        // The argument of the logarithm is in (0, 1], so the radius is finite.
        let radius = (-2.0 * libm::log(1.0 - self.uniform_unit())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.derive_key(1).uniform_unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_keys_are_uncorrelated() {
        // Correlation of n uniform pairs has a standard error of 1/√n = 0.004 here; five of those are allowed.
        let key = RandomKey::new(7, "stage");
        let n = 62_500;
        let (mut sum, mut lag) = (0.0, 0.0);
        for c in 0..n {
            let here = key.for_cell([c / 250, c % 250]).uniform_signed();
            let east = key.for_cell([c / 250, c % 250 + 1]).uniform_signed();
            sum += here;
            lag += here * east * 3.0;
        }
        assert!((sum / n as f64).abs() < 5.0 * 0.577 / 250.0);
        assert!((lag / n as f64).abs() < 5.0 / 250.0);
    }

    #[test]
    fn keys_depend_on_every_part() {
        let base = RandomKey::new(1, "a");
        assert_ne!(base, RandomKey::new(2, "a"));
        assert_ne!(base, RandomKey::new(1, "b"));
        assert_ne!(base.derive_key(1).derive_key(2), base.derive_key(2).derive_key(1));
        assert_ne!(base.for_cell([0, 1]), base.for_cell([1, 0]));
    }

    #[test]
    fn normal_has_unit_variance() {
        let key = RandomKey::new(3, "n");
        let n = 40_000;
        let sum: f64 = (0..n).map(|k| key.derive_key(k).standard_normal().powi(2)).sum();
        assert!((sum / n as f64 - 1.0).abs() < 5.0 * 1.414 / 200.0);
    }
}
