//! [`Quantiles`]: exact quantiles of values that are visited several times and never stored.

/// The number of passes over the values: each determines 16 further bits of the quantiles (radix selection).
pub(super) const PASSES: usize = 4;

const BITS: usize = 16;

/// Quantiles of a stream of values, equal to those that sorting the values would give.
pub(super) struct Quantiles<const N: usize> {
    shares: [f64; N],
    /// For each quantile: its rank among the values that share its leading bits, and these leading bits.
    ranks: [u64; N],
    begins: [u64; N],
    /// For each quantile: the number of values that share its leading bits, by their next 16 bits.
    counts: Vec<Vec<u64>>,
    pass: usize,
    /// The number of values.
    pub count: u64,
}

impl<const N: usize> Quantiles<N> {
    pub fn new(shares: [f64; N]) -> Self {
        Self { shares, ranks: [0; N], begins: [0; N], counts: vec![vec![0; 1 << BITS]; N], pass: 0, count: 0 }
    }

    /// Adds a value; every pass must add the same values.
    pub fn add_value(&mut self, value: f64) {
        // A pass looks at the next 16 bits below those that are known already.
        let key = to_sort_key(value);
        let shift = 64 - BITS * (self.pass + 1);
        let next = (key >> shift) as usize & ((1 << BITS) - 1);
        // In the first pass all quantiles share one table, because no bits are known yet.
        if self.pass == 0 {
            self.count += 1;
            self.counts[0][next] += 1;
            return;
        }
        let begin = key >> (shift + BITS);
        // Only values that begin with the known bits of a quantile can be that quantile.
        for (n, counts) in self.counts.iter_mut().enumerate() {
            if self.begins[n] == begin {
                counts[next] += 1;
            }
        }
    }

    /// Ends a pass.
    pub fn end_pass(&mut self) {
        let Some(last) = self.count.checked_sub(1) else { return };
        for n in 0..N {
            if self.pass == 0 {
                // The rank is rounded to the nearest value, so that a quantile is always one of the values.
                self.ranks[n] = (self.shares[n] * last as f64).round() as u64;
            }
            let counts = &self.counts[if self.pass == 0 { 0 } else { n }];
            let mut below = 0;
            // The bits of the quantile are those of the first class at which the count exceeds the rank.
            let next = counts.iter().position(|count| {
                below += count;
                below > self.ranks[n]
            });
            let next = next.unwrap_or_default();
            // The rank continues within that class.
            self.ranks[n] -= below - counts[next];
            self.begins[n] = self.begins[n] << BITS | next as u64;
        }
        self.counts.iter_mut().for_each(|counts| counts.fill(0));
        self.pass += 1;
    }

    /// Returns the quantiles, in the order of the shares, once all passes have ended; `None` if there were no values.
    pub fn final_values(&self) -> Option<[f64; N]> {
        (self.count > 0 && self.pass == PASSES).then(|| self.begins.map(from_sort_key))
    }
}

/// Returns an integer whose order equals that of `f64::total_cmp`. Flipping all bits of negative numbers and the sign
/// bit of others makes the bits increase with the value.
fn to_sort_key(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn from_sort_key(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;

    #[test]
    fn as_sorting_would_find_them() {
        const SHARES: [f64; 6] = [0.0, 0.05, 0.25, 0.5, 0.95, 1.0];
        for seed in 0..30u64 {
            let count = [0, 1, 2, 3, 10, 997, 5000][seed as usize % 7];
            let number = |k: u64| RandomKey::new(seed, "quantiles").derive_key(k);
            let mut values: Vec<f64> = (0..count)
                .map(|k| match seed % 3 {
                    // Arbitrary numbers, some close to one another, and many that are equal, including zeros of both
                    // signs.
                    0 => number(k).uniform_signed() * libm::exp(60.0 * number(k + 1_000_000).uniform_signed()),
                    1 => 1.0 + 1e-15 * (number(k).random_bits() % 50) as f64,
                    _ => (number(k).random_bits() % 5) as f64 * -0.0,
                })
                .collect();
            let mut found = Quantiles::new(SHARES);
            for _ in 0..PASSES {
                values.iter().for_each(|value| found.add_value(*value));
                found.end_pass();
            }
            values.sort_by(f64::total_cmp);
            let expected = |share: f64| values[(share * (count as f64 - 1.0)).round() as usize].to_bits();
            let found = found.final_values().map(|all| all.map(f64::to_bits));
            assert_eq!(found, (count > 0).then(|| SHARES.map(expected)), "{seed}");
        }
    }
}
