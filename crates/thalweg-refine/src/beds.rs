//! Depths of river beds, and the clearance of land above a lake that keeps beds from being incised below the lake's
//! level.

use crate::{Frame, NARROWEST};
use thalweg_core::base::power::{exp2, log2};
use thalweg_core::terrain::height::UNITS_F32;

/// Returns the width of a river in metres: 3·A^0.45 m, A in km² (Leopold & Maddock 1953).
pub(super) fn width(area: f32) -> f32 {
    3.0 * exp2(0.45 * log2((area * 1e-6).max(1e-30)))
}

/// Returns the depth, in units, by which a level incises a river's bed. It increases with the river, so that the
/// order of beds is preserved.
///
/// A bed of depth 0.3·A^0.3 m and width 3·A^0.45 m (A in km²; Leopold & Maddock 1953, "The hydraulic geometry of
/// stream channels") is spread over the width of a cell. Half of this is incised here, because the level before
/// incised the other half; and never more than a thirtieth of the cell's width.
pub(super) fn depth(area: f32, width: f32) -> i32 {
    let log = log2((area * 1e-6).max(1e-30));
    let bed = 0.9 * exp2(0.75 * log) / (2.0 * width);
    (bed.min(width / 30.0) * UNITS_F32) as i32
}

/// The upper limit of [`clearance`], in units: 256 m.
const MOST: i64 = 1 << 24;

/// Returns the depth that all levels finer than `level` together incise of a bed with this drainage area, plus one
/// unit. Land that drains into a lake is kept this far above it. No level then incises below the lake's level, and no
/// level needs to know how far down the river the next lake is.
pub(super) fn clearance(frame: &Frame, level: u32, area: f32) -> i32 {
    let finer = (level + 1..=level.saturating_add(63)).map(|level| frame.width(level));
    let dug = finer.take_while(|width| *width >= NARROWEST).map(|width| i64::from(depth(area, width as f32)));
    dug.sum::<i64>().min(MOST) as i32 + 1
}
