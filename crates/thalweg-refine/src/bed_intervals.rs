//! Intervals of beds: the lowest bed that a node may have, and the place of a river's bed in its interval.

use thalweg_core::base::cast;

/// The lowest position of a bed on the way up from the receiver, for a hill and for a river, in 256ths of the fall.
/// It is near the receiver, for a bed in the middle would leave a step at the foot of a steep slope.
const BED_POSITION: [i64; 2] = [13, 26];

/// The same where the receiver falls as steeply as the cell, in 256ths: beds are then on the slope instead of in
/// trenches in it.
const STEEP_BED_POSITION: i64 = 115;

/// On gentle terrain the bed is in the middle, so that both cells have room: up to this slope, in 256ths.
const GENTLE_SLOPE: i64 = 2;

/// Returns the lowest bed of a cell at `z` that drains to one at `receiver`, which in turn falls by `on` to its own
/// receiver. `width` is the width of a cell in units.
#[inline]
pub(super) fn compute_lowest_bed(z: i32, [receiver, on]: [i32; 2], is_river: bool, width: i64) -> i32 {
    let fall = (i64::from(z) - i64::from(receiver)).max(0);
    // Shares are in 256ths, so a shift by 8 returns to units. Products of a fall and a share fit 64 bits.
    let share =
        (fall * BED_POSITION[usize::from(is_river)]).max((fall * STEEP_BED_POSITION).min(i64::from(on) * 128)) >> 8;
    receiver.saturating_add(share.max((fall >> 1).min((width * GENTLE_SLOPE) >> 8)) as i32)
}

/// Returns a river's bed in rock of this softness: lower in soft rock and higher in hard rock, within its interval.
/// The river has a step (a knickpoint) where the rock changes.
pub(super) fn compute_knickpoint_bed(bed: i32, [lowest, highest]: [i32; 2], softness: f32) -> i32 {
    let (end, share) = if softness > 1.0 { (lowest, 1.0 - 1.0 / softness) } else { (highest.max(bed), 1.0 - softness) };
    bed.wrapping_add(cast::floor_to_int(end.wrapping_sub(bed) as f32 * (0.5 * share))).clamp(lowest, highest.max(bed))
}
