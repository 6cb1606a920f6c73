//! Logarithms and powers for inner loops.
//!
//! A portable `powf` costs 49 ns. These functions are a few additions and multiplications, which compilers vectorize,
//! and have the same bits everywhere. Their relative error is about 10⁻⁷, for `log2` of the result or of 1, whichever
//! is larger.

use crate::base::cast;

/// Returns the base-2 logarithm of `x`, which must be positive and normal; the error is 10⁻⁷ of the result or of 1,
/// whichever is more.
#[inline(always)]
pub fn log2(x: f32) -> f32 {
    // x = m·2ᵉ with m from √½ to √2, and ln m = 2·artanh((m − 1)/(m + 1)). The series ends before the term 2s⁹/9, which
    // is below 4·10⁻⁸. Subtracting the bits of √½ before the shift rounds the exponent so that m falls in this range.
    const ROOT_HALF: i32 = 0x3f35_04f3;
    const SCALE: f32 = 2.0 * std::f32::consts::LOG2_E;
    let e = (x.to_bits() as i32).wrapping_sub(ROOT_HALF) >> 23;
    let m = f32::from_bits((x.to_bits() as i32).wrapping_sub(e << 23) as u32);
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    let series = 1.0 + s2 * (1.0 / 3.0 + s2 * (1.0 / 5.0 + s2 * (1.0 / 7.0)));
    e as f32 + SCALE * s * series
}

/// Returns 2 to the power of `t`, which is clamped to −126..127.
#[inline(always)]
pub fn exp2(t: f32) -> f32 {
    // Comparisons with NaN are false, so NaN becomes −126. The limits keep the exponent field of the result normal.
    let t = if t > -126.0 { t } else { -126.0 };
    let t = if t < 127.0 { t } else { 127.0 };
    let whole = cast::round_half_even(t);
    // The power series of exp for |x| ≤ ½·ln 2. The first omitted term, x⁷/5040, is below 2·10⁻⁷.
    let x = (t - whole as f32) * std::f32::consts::LN_2;
    let high = 1.0 / 24.0 + x * (1.0 / 120.0 + x * (1.0 / 720.0));
    let p = 1.0 + x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x * high)));
    // Adding to the exponent field multiplies by 2 to the power of `whole`, exactly.
    f32::from_bits((p.to_bits() as i32).wrapping_add(whole << 23) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_logarithm_and_power() {
        let mut bits = 1u32;
        for _ in 0..200_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let x = f32::from_bits(bits & 0x7fff_ffff);
            if x.is_normal() {
                let exact = libm::log2(f64::from(x));
                assert!((f64::from(log2(x)) - exact).abs() <= 2e-7 * exact.abs().max(1.0), "{x}");
            }
            let t = (f64::from(bits) / 4_294_967_296.0 * 252.0 - 126.0) as f32;
            // The error of the series, 2·10⁻⁷, and three roundings of 6·10⁻⁸.
            assert!((f64::from(exp2(t)) / libm::exp2(f64::from(t)) - 1.0).abs() < 4e-7, "{t}");
        }
        assert_eq!((exp2(-1e9), exp2(1e9)), (exp2(-126.0), exp2(127.0)));
        assert_eq!((log2(1.0), exp2(0.0), exp2(10.0)), (0.0, 1.0, 1024.0));
    }
}
