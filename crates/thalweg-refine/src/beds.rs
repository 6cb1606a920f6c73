//! Depths of river beds, and the clearance of land above a lake that keeps beds from being incised below the lake's
//! level.

use crate::{Frame, MIN_CELL_WIDTH_M};
use thalweg_core::base::power::{exp2, log2};
use thalweg_core::terrain::height::UNITS_F32;

/// Returns the width of a river in metres: 3·A^0.45 m, A in km² (Leopold & Maddock 1953).
pub(super) fn river_width(area: f32) -> f32 {
    3.0 * exp2(0.45 * log2((area * 1e-6).max(1e-30)))
}

/// Returns the depth, in units, by which a level incises a river's bed. It increases with the river, so that the
/// order of beds is preserved.
///
/// A bed of depth 0.3·A^0.3 m and width 3·A^0.45 m (A in km²; Leopold & Maddock 1953, "The hydraulic geometry of
/// stream channels") is spread over the width of a cell. Half of this is incised here, because the level before
/// incised the other half; and never more than a thirtieth of the cell's width.
pub(super) fn incision_depth(area: f32, width: f32) -> i32 {
    let log = log2((area * 1e-6).max(1e-30));
    // The product of depth and width is 0.9·A^0.75 m². The lower limit of the logarithm's argument excludes an area of
    // 0.
    let bed = 0.9 * exp2(0.75 * log) / (2.0 * width);
    (bed.min(width / 30.0) * UNITS_F32) as i32
}

/// The upper limit of [`incision_clearance`], in units: 256 m.
const MAX_CLEARANCE_UNITS: i64 = 1 << 24;

/// Returns the depth that all levels finer than `level` together incise of a bed with this drainage area, plus one
/// unit. Land that drains into a lake is kept this far above it. No level then incises below the lake's level, and no
/// level needs to know how far down the river the next lake is.
pub(super) fn incision_clearance(frame: &Frame, level: u32, area: f32) -> i32 {
    let finer = (level + 1..=level.saturating_add(63)).map(|level| frame.cell_width(level));
    let dug =
        finer.take_while(|width| *width >= MIN_CELL_WIDTH_M).map(|width| i64::from(incision_depth(area, width as f32)));
    // The sum of all levels is finite, because the depth is at most a thirtieth of a width that halves from level to
    // level.
    dug.sum::<i64>().min(MAX_CLEARANCE_UNITS) as i32 + 1
}
