//! Conversions from `f32` to `i32` for inner loops, and a clamp to shares.
//!
//! Rust's own cast saturates, which prevents vectorization of loops (a thermal step took 19 ns per cell with it, a
//! third of that without). These functions return the same for the numbers that occur, with additions alone.

/// Adding this number leaves the whole part of an `f32` in its low mantissa bits (1.5 · 2²³).
// Numbers from 2²³ to 2²⁴ are spaced by 1 in f32, so the addition rounds. The factor 1.5 leaves room for negative
// numbers.
const MAGIC: f32 = 12_582_912.0;

/// Returns the nearest integer to `x`, |x| < 2²²; halves are rounded to even.
#[inline(always)]
pub fn round_half_even(x: f32) -> i32 {
    ((x + MAGIC).to_bits() as i32).wrapping_sub(MAGIC.to_bits() as i32)
}

/// Returns the greatest integer not above `x`, |x| < 2³¹. For other `x` the result is meaningless, but the same on
/// every machine.
#[inline(always)]
pub fn floor_to_int(x: f32) -> i32 {
    // The number is split into a multiple of 65,536 and a rest, because `nearest` is exact below 2²² only.
    let high = round_half_even(x * (1.0 / 65_536.0));
    // The difference is exact: both numbers are multiples of x's last bit, and the difference is small.
    let low = x - high as f32 * 65_536.0;
    let near = round_half_even(low);
    // The nearest integer may be above the number; one is subtracted then.
    high.wrapping_mul(65_536).wrapping_add(near - i32::from(near as f32 > low))
}

/// Clamps a factor to 0..1; NaN becomes 0.
#[inline]
pub fn clamp_share(factor: f32) -> f32 {
    // A comparison with NaN is false, so NaN takes the second branch.
    if factor > 0.0 { factor.min(1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floor_is_floor() {
        let mut bits = 1u32;
        for _ in 0..200_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let x = f32::from_bits(bits);
            if x.abs() < 2_147_483_000.0 {
                assert_eq!(floor_to_int(x), x.floor() as i32, "{x}");
            }
            let fine = (bits as f32 / 4_294_967_296.0 - 0.5) * 70_000.0;
            assert_eq!(floor_to_int(fine), fine.floor() as i32, "{fine}");
        }
        for x in [0.0, -0.0, 0.5, -0.5, 1.0, 65_535.996, 65_536.0, 32_768.0, 32_768.5, 2_147_483_520.0, -1e-20] {
            assert_eq!(floor_to_int(x), x.floor() as i32, "{x}");
        }
    }
}
