//! [`Fourier`]: the discrete Fourier transform of a line of numbers, with the same bits on every machine.
//!
//! Existing FFT crates take their twiddle factors from the platform's `sin` and `cos`, or choose an instruction set
//! with fused multiply-add. Here the factors come from `libm`, and everything else is sums and products in a fixed
//! order.

use std::f64::consts::FRAC_PI_2;
use std::ops::{Add, Mul, Sub};

/// A complex number.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Wave {
    /// The real part.
    pub re: f64,
    /// The imaginary part.
    pub im: f64,
}

impl Wave {
    /// Makes re + i·im.
    #[must_use]
    pub const fn new(re: f64, im: f64) -> Self {
        Self { re, im }
    }

    /// Returns exp(2πi·k/n), accurate to the last bit or two, and exact at multiples of a quarter turn.
    fn root_of_unity(k: u64, n: u64) -> Self {
        // The angle is measured from the nearest axis, at most an eighth of a turn: small angles have the smallest
        // rounding errors.
        let (quarter, rest) = (4 * k / n, 4 * k % n);
        let near = 2 * rest > n;
        let (sin, cos) = libm::sincos(FRAC_PI_2 * (if near { n - rest } else { rest } as f64 / n as f64));
        let (sin, cos) = if near { (cos, sin) } else { (sin, cos) };
        match quarter % 4 {
            0 => Self::new(cos, sin),
            1 => Self::new(-sin, cos),
            2 => Self::new(-cos, -sin),
            _ => Self::new(sin, -cos),
        }
    }

    /// Returns the complex conjugate.
    #[must_use]
    pub fn conjugate(self) -> Self {
        Self::new(self.re, -self.im)
    }

    /// Multiplies by i.
    #[must_use]
    pub fn times_i(self) -> Self {
        Self::new(-self.im, self.re)
    }

    /// Returns the squared magnitude.
    #[must_use]
    pub fn squared_magnitude(self) -> f64 {
        self.re * self.re + self.im * self.im
    }
}

impl Add for Wave {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.re + other.re, self.im + other.im)
    }
}

impl Sub for Wave {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::new(self.re - other.re, self.im - other.im)
    }
}

impl Mul for Wave {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self::new(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)
    }
}

impl Mul<f64> for Wave {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self::new(self.re * factor, self.im * factor)
    }
}

/// The largest prime factor that is computed by its definition, whose cost grows with the square of the factor. A
/// length with a larger prime factor uses Bluestein's algorithm.
const LARGEST: usize = 13;

/// A plan for the transform of lines of one length: Xₖ = Σⱼ xⱼ·exp(∓2πi·jk/n), without a scale factor.
pub struct Fourier {
    len: usize,
    way: FftMethod,
}

enum FftMethod {
    /// Stockham's algorithm: one pass for each factor of the length. The factors are 4, 2 and odd primes up to
    /// [`LARGEST`].
    Passes { passes: Vec<FftPass>, sign: f64 },
    /// Bluestein's algorithm: a convolution with a chirp, computed by transforms whose length is a power of two.
    Chirp { chirp: Vec<Wave>, spectrum: Vec<Wave>, there: Box<Fourier>, back: Box<Fourier> },
}

/// One pass: butterflies over `radix` parts of each of `stride` interleaved lines, followed by the twiddle factors.
struct FftPass {
    radix: usize,
    stride: usize,
    /// The twiddle factors exp(±2πi·pk/n) for p in 0..n/radix and k in 1..radix, where n is the length of the lines in
    /// this pass.
    turns: Vec<Wave>,
    /// exp(±2πi·k/radix) for k in 0..radix.
    roots: Vec<Wave>,
}

impl Fourier {
    /// Plans the forward transform of lines of length `len`: Xₖ = Σⱼ xⱼ·exp(−2πi·jk/n).
    #[must_use]
    pub fn plan_forward(len: usize) -> Self {
        Self::new(len, -1.0)
    }

    /// Plans the inverse transform of lines of length `len`, without the factor 1/n: xⱼ = Σₖ Xₖ·exp(+2πi·jk/n).
    #[must_use]
    pub fn plan_inverse(len: usize) -> Self {
        Self::new(len, 1.0)
    }

    fn new(len: usize, sign: f64) -> Self {
        let turned = |k: usize, n: usize| {
            let wave = Wave::root_of_unity(k as u64, n.max(1) as u64);
            if sign < 0.0 { wave.conjugate() } else { wave }
        };
        // By its definition, a large prime factor would cost as much as its square; such a length takes the second
        // branch.
        let factors = factorize_length(len);
        let way = if factors.iter().all(|factor| *factor <= LARGEST) {
            let mut passes = Vec::new();
            // Decimation in frequency: each pass divides the length of the lines by its radix and multiplies their
            // number.
            let (mut rest, mut stride) = (len, 1);
            for radix in factors {
                let parts = rest / radix;
                let turns = (0..parts).flat_map(|p| (1..radix).map(move |k| (p * k, rest)));
                passes.push(FftPass {
                    radix,
                    stride,
                    turns: turns.map(|(k, n)| turned(k, n)).collect(),
                    roots: (0..radix).map(|k| turned(k, radix)).collect(),
                });
                (rest, stride) = (parts, stride * radix);
            }
            FftMethod::Passes { passes, sign }
        } else {
            // The linear convolution of two sequences of `len` has 2·len − 1 terms, which must not wrap around.
            let wide = (2 * len - 1).next_power_of_two();
            // jk = (j² + k² − (k − j)²)/2 makes the transform a convolution. The chirp's exponent k² matters modulo 2n
            // only.
            let chirp: Vec<Wave> = (0..len).map(|k| turned(k * k % (2 * len), 2 * len)).collect();
            let (there, back) = (Self::plan_forward(wide), Self::plan_inverse(wide));
            // The transform of the conjugate chirp, symmetric about 0, with the factor 1/n of the inverse transform.
            let mut spectrum = vec![Wave::default(); wide];
            for (k, wave) in chirp.iter().enumerate() {
                spectrum[k] = wave.conjugate() * (1.0 / wide as f64);
                spectrum[(wide - k) % wide] = spectrum[k];
            }
            there.transform_line(&mut spectrum, &mut vec![Wave::default(); there.scratch_len()]);
            FftMethod::Chirp { chirp, spectrum, there: there.into(), back: back.into() }
        };
        Self { len, way }
    }

    /// Returns the length of the scratch buffer that [`Fourier::transform_line`] needs.
    #[must_use]
    pub fn scratch_len(&self) -> usize {
        match &self.way {
            FftMethod::Passes { .. } => self.len,
            FftMethod::Chirp { spectrum, .. } => 2 * spectrum.len(),
        }
    }

    /// Transforms a line in place. `scratch` has [`Fourier::scratch_len`] numbers; their values do not matter.
    ///
    /// # Panics
    /// Panics if the line or the scratch has another length.
    pub fn transform_line(&self, line: &mut [Wave], scratch: &mut [Wave]) {
        assert_eq!([line.len(), scratch.len()], [self.len, self.scratch_len()], "a plan is for lines of one length");
        match &self.way {
            FftMethod::Passes { passes, sign } => {
                // The passes alternate between the two buffers; after an odd number of passes the result is in the
                // scratch buffer.
                let (mut from, mut to) = (&mut *line, &mut *scratch);
                for pass in passes {
                    pass.run(from, to, *sign);
                    (from, to) = (to, from);
                }
                if passes.len() % 2 == 1 {
                    to.copy_from_slice(from);
                }
            }
            FftMethod::Chirp { chirp, spectrum, there, back } => {
                // The line times the chirp is padded with zeros, convolved with the conjugate chirp in the frequency
                // domain, and multiplied by the chirp again.
                let (wide, rest) = scratch.split_at_mut(spectrum.len());
                wide.fill(Wave::default());
                wide.iter_mut().zip(&*line).zip(chirp).for_each(|((w, x), c)| *w = *x * *c);
                there.transform_line(wide, rest);
                wide.iter_mut().zip(spectrum).for_each(|(w, s)| *w = *w * *s);
                back.transform_line(wide, rest);
                line.iter_mut().zip(&*wide).zip(chirp).for_each(|((x, w), c)| *x = *w * *c);
            }
        }
    }
}

/// Returns the factors of the passes: fours first, which are the cheapest, then primes in ascending order.
fn factorize_length(len: usize) -> Vec<usize> {
    let mut factors = Vec::new();
    let mut rest = len.max(1);
    for factor in [4, 2].into_iter().chain((3..).step_by(2)) {
        if factor * factor > rest && factor > 4 {
            break;
        }
        while rest.is_multiple_of(factor) {
            factors.push(factor);
            rest /= factor;
        }
    }
    factors.extend((rest > 1).then_some(rest));
    factors
}

impl FftPass {
    fn run(&self, from: &[Wave], to: &mut [Wave], sign: f64) {
        match self.radix {
            2 => self.run_butterflies(from, to, |[a, b]| [a + b, a - b]),
            3 => self.run_butterflies(from, to, |[a, b, c]| {
                // The two roots other than 1 have the real part −½ and opposite imaginary parts.
                let (sum, turned) = (b + c, ((b - c) * self.roots[1].im).times_i());
                let middle = a - sum * 0.5;
                [a + sum, middle + turned, middle - turned]
            }),
            4 => self.run_butterflies(from, to, |[a, b, c, d]| {
                // The roots are ±1 and ±i, so no multiplication is rounded.
                let (even, odd) = ([a + c, a - c], [b + d, ((b - d) * sign).times_i()]);
                [even[0] + odd[0], even[1] + odd[1], even[0] - odd[0], even[1] - odd[1]]
            }),
            5 => self.run_butterflies(from, to, |[a, b, c, d, e]| {
                // Roots 1 and 4 are conjugate, and so are 2 and 3: sums and differences of pairs halve the
                // multiplications.
                let [one, two] = [self.roots[1], self.roots[2]];
                let (outer, inner) = ([b + e, b - e], [c + d, c - d]);
                let near = a + outer[0] * one.re + inner[0] * two.re;
                let far = a + outer[0] * two.re + inner[0] * one.re;
                let turned_near = (outer[1] * one.im + inner[1] * two.im).times_i();
                let turned_far = (outer[1] * two.im - inner[1] * one.im).times_i();
                [a + outer[0] + inner[0], near + turned_near, far + turned_far, far - turned_far, near - turned_near]
            }),
            _ => self.run_direct_sums(from, to),
        }
    }

    /// Runs all butterflies of the pass; each maps R numbers to R numbers.
    fn run_butterflies<const R: usize>(
        &self,
        from: &[Wave],
        to: &mut [Wave],
        butterfly: impl Fn([Wave; R]) -> [Wave; R],
    ) {
        let (part, stride) = (from.len() / R, self.stride);
        let lines = to.chunks_exact_mut(R * stride).zip(self.turns.chunks_exact(R - 1));
        // The first pass has lines of one number each; a loop of its own saves the inner one.
        if stride == 1 {
            for (p, (out, turns)) in lines.enumerate() {
                let made = butterfly(std::array::from_fn(|j| from[p + j * part]));
                out[0] = made[0];
                (1..R).for_each(|k| out[k] = made[k] * turns[k - 1]);
            }
            return;
        }
        for (p, (out, turns)) in lines.enumerate() {
            let parts: [&[Wave]; R] = std::array::from_fn(|j| &from[p * stride + j * part..][..stride]);
            for q in 0..stride {
                let made = butterfly(std::array::from_fn(|j| parts[j][q]));
                out[q] = made[0];
                (1..R).for_each(|k| out[q + k * stride] = made[k] * turns[k - 1]);
            }
        }
    }

    /// Runs a pass for a prime without a butterfly of its own, by the definition of the transform.
    fn run_direct_sums(&self, from: &[Wave], to: &mut [Wave]) {
        let (radix, stride) = (self.radix, self.stride);
        let part = from.len() / radix;
        for (p, out) in to.chunks_exact_mut(radix * stride).enumerate() {
            for k in 0..radix {
                // The twiddle factor of k = 0 is 1 and is not stored.
                let turn = if k == 0 { Wave::new(1.0, 0.0) } else { self.turns[p * (radix - 1) + k - 1] };
                for q in 0..stride {
                    let at = |j: usize| from[p * stride + j * part + q];
                    // The terms are added in ascending order, which fixes the rounding.
                    let sum = (1..radix).fold(at(0), |sum, j| sum + at(j) * self.roots[j * k % radix]);
                    out[k * stride + q] = sum * turn;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::RandomKey;

    fn noise(len: usize, seed: u64) -> Vec<Wave> {
        let key = RandomKey::new(seed, "noise");
        let number = |k: usize, part: u64| 2.0 * key.for_cell([k as i64, part as i64]).uniform_unit() - 1.0;
        (0..len).map(|k| Wave::new(number(k, 0), number(k, 1))).collect()
    }

    /// The definition of the transform, with factors from `libm` one by one and sums in order.
    fn plain(line: &[Wave], sign: f64) -> Vec<Wave> {
        let n = line.len();
        let factor = |jk: usize| {
            let (sin, cos) = libm::sincos(std::f64::consts::TAU * (jk % n) as f64 / n as f64);
            Wave::new(cos, sign * sin)
        };
        let sum = |k: usize| line.iter().enumerate().fold(Wave::default(), |s, (j, x)| s + *x * factor(j * k));
        (0..n).map(sum).collect()
    }

    fn run(plan: &Fourier, line: &[Wave]) -> Vec<Wave> {
        let mut line = line.to_vec();
        plan.transform_line(&mut line, &mut vec![Wave::new(7.0, -7.0); plan.scratch_len()]);
        line
    }

    fn largest(a: &[Wave], b: &[Wave]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (*a - *b).squared_magnitude().sqrt()).fold(0.0, f64::max)
    }

    #[test]
    fn it_is_the_definition_for_every_length() {
        // The error bound: n terms of up to √2, whose factors the definition rounds by up to 2π·2⁻⁵³ each, give at most
        // n·√2·10⁻¹⁵. Rounding of the sums adds n·2⁻⁵³ of sums up to about √n. The bound is twice that.
        for len in (1..=260).chain([343, 505, 512, 625, 729, 1009, 1024, 1155]) {
            let line = noise(len, len as u64);
            let bound = 4e-15 * len as f64;
            for (plan, sign) in [(Fourier::plan_forward(len), -1.0), (Fourier::plan_inverse(len), 1.0)] {
                let difference = largest(&run(&plan, &line), &plain(&line, sign));
                assert!(difference <= bound, "{len}: {difference} over {bound}");
            }
        }
    }

    #[test]
    fn there_and_back_is_the_line() {
        // The error of a transform of n numbers of size 1 grows as log n, relative to √n: about 10⁻¹⁵ in each
        // direction.
        for len in [4096, 4093, 2017, 8129, 6000, 10007] {
            let line = noise(len, 3);
            let back = run(&Fourier::plan_inverse(len), &run(&Fourier::plan_forward(len), &line));
            let scaled: Vec<Wave> = back.iter().map(|wave| *wave * (1.0 / len as f64)).collect();
            assert!(largest(&scaled, &line) < 2e-14, "{len}: {}", largest(&scaled, &line));
        }
    }

    #[test]
    fn its_bits_are_known() {
        // A change of a factor or of the order of a sum changes the generated worlds.
        let print = |len: usize| {
            let made = run(&Fourier::plan_inverse(len), &noise(len, 1));
            let bytes: Vec<u8> =
                made.iter().flat_map(|w| [w.re, w.im]).flat_map(|x| x.to_bits().to_le_bytes()).collect();
            xxhash_rust::xxh3::xxh3_64(&bytes)
        };
        let found = [64, 60, 77, 37].map(print);
        assert_eq!(found, [0x65a32a8caba15a3b, 0xecea5ed6504e8ad6, 0x7eaa371acc34e322, 0x05a5b68c3bbf170b]);
    }
}
