//! The two stencils of the slope limit: how far a cell may rise above its lower neighbours along two perpendicular
//! axes, and the width of a cell along the diagonals.

/// The distance from one cell to the next along a diagonal, in widths of a cell. It is slightly greater than √2, so
/// that sides facing along axes and sides facing along diagonals have equal weight where funnels fill a plain.
const DIAGONAL: f64 = 1.44;

/// Returns the limit from a cell to the next along a diagonal.
#[inline(always)]
pub(super) fn diagonal_limit(max_fall: i32) -> i32 {
    (f64::from(max_fall) * DIAGONAL) as i32
}

/// Returns how far a cell may rise above the lower of its neighbours along the two axes, which differ by `apart`, where
/// `max_fall` is the limit from cell to cell. It solves u² + (u − apart)² = max_fall², or u = max_fall where the other
/// neighbour is too high to matter.
#[inline(always)]
pub(super) fn max_rise(apart: u32, max_fall: i32) -> i32 {
    let (apart, max_fall) = (i64::from(apart), i64::from(max_fall));
    if apart >= max_fall {
        return max_fall as i32;
    }
    // Both numbers are at most 2³⁰, so the squares fit into 64 bits.
    let square = 2 * max_fall * max_fall - apart * apart;
    let root = (square as f64).sqrt() as i64;
    // The exact root is rounded down. The sum then never decreases when `apart` grows, which the uniqueness of the
    // fixed point relies on.
    ((apart + root - i64::from(root * root > square)) / 2) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_exact_and_never_falls() {
        for max_fall in [1, 2, 3, 7, 1000, 65_537, 94_906_266, 1 << 29] {
            for apart in (0..300).chain((max_fall as u32).saturating_sub(300)..max_fall as u32 + 3) {
                let u = max_rise(apart, max_fall);
                assert!(max_rise(apart + 1, max_fall) >= u, "{max_fall} {apart}");
                if i64::from(apart) < i64::from(max_fall) {
                    // 2u ≤ apart + √(2·drop² − apart²) < 2u + 2, squared.
                    let square = 2 * i128::from(max_fall).pow(2) - i128::from(apart).pow(2);
                    let twice = 2 * i128::from(u) - i128::from(apart);
                    assert!(twice.max(0).pow(2) <= square && (twice + 2).pow(2) > square, "{max_fall} {apart}");
                }
            }
        }
    }
}
