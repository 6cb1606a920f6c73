//! From `f32` to `i32` in inner loops, and to shares.
//!
//! Rust's own cast saturates, which keeps loops from being compiled to vectors (a thermal step took 19 ns a cell with
//! it, a third of that without). These say the same for the numbers that occur, with additions alone.

/// Adding it leaves a number's whole part in the low bits (1.5 · 2²³).
const MAGIC: f32 = 12_582_912.0;

/// The nearest whole number to `x`, |x| < 2²²; halves to even.
#[inline(always)]
pub fn nearest(x: f32) -> i32 {
    ((x + MAGIC).to_bits() as i32).wrapping_sub(MAGIC.to_bits() as i32)
}

/// The greatest whole number not above `x`, |x| < 2³¹. For other `x` the result means nothing, but is the same everywhere.
#[inline(always)]
pub fn floor(x: f32) -> i32 {
    let high = nearest(x * (1.0 / 65_536.0));
    // Exact: both are multiples of x's last bit and the difference is small.
    let low = x - high as f32 * 65_536.0;
    let near = nearest(low);
    high.wrapping_mul(65_536).wrapping_add(near - i32::from(near as f32 > low))
}

/// A factor held to 0..1; what is not a number is 0.
#[inline]
pub fn share_of(factor: f32) -> f32 {
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
                assert_eq!(floor(x), x.floor() as i32, "{x}");
            }
            let fine = (bits as f32 / 4_294_967_296.0 - 0.5) * 70_000.0;
            assert_eq!(floor(fine), fine.floor() as i32, "{fine}");
        }
        for x in [0.0, -0.0, 0.5, -0.5, 1.0, 65_535.996, 65_536.0, 32_768.0, 32_768.5, 2_147_483_520.0, -1e-20] {
            assert_eq!(floor(x), x.floor() as i32, "{x}");
        }
    }
}
