//! Depths of rivers' beds, and what land must stand over a lake so that they never come to lie under its level.

use crate::{Frame, NARROWEST};
use thalweg_core::base::power::{exp2, log2};
use thalweg_core::terrain::height::UNITS_F32;

/// Width of a river in metres: 3·A^0.45 m, A in km² (Leopold & Maddock 1953).
pub(super) fn width(area: f32) -> f32 {
    3.0 * exp2(0.45 * log2((area * 1e-6).max(1e-30)))
}

/// Depth of a river's bed that a level digs, in units. It grows with the river, so that the order of beds is kept.
///
/// A bed of depth 0.3·A^0.3 m and width 3·A^0.45 m (A in km²; Leopold & Maddock 1953, "The hydraulic geometry of stream channels"), spread
/// over a cell: half of it, for the level before dug the other half; and never more than a thirtieth of the cell's width.
pub(super) fn depth(area: f32, width: f32) -> i32 {
    let log = log2((area * 1e-6).max(1e-30));
    let bed = 0.9 * exp2(0.75 * log) / (2.0 * width);
    (bed.min(width / 30.0) * UNITS_F32) as i32
}

/// The most that [`clearance`] may be, in units: 256 m.
const MOST: i64 = 1 << 24;

/// What all levels finer than `level` dig of a bed with this catchment, and a unit: land that drains into a lake stands so much over it.
/// Then no level digs under the lake's, and nobody needs to know how far down the river the next lake lies.
pub(super) fn clearance(frame: &Frame, level: u32, area: f32) -> i32 {
    let finer = (level + 1..=level.saturating_add(63)).map(|level| frame.width(level));
    let dug = finer.take_while(|width| *width >= NARROWEST).map(|width| i64::from(depth(area, width as f32)));
    dug.sum::<i64>().min(MOST) as i32 + 1
}
