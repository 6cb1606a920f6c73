//! The steepest slope of the terrain: the rock's limit, and a gentler one on the valley floors along rivers.

use crate::cell_flags::RIVER;
use crate::plane::{PaddedPlane, PlanePart};
use crate::rock::RockBeds;
use crate::{Rules, beds};
use thalweg_core::terrain::height::UNITS_F32;
use thalweg_flow::D8;

/// Range of the half widths, in cells, of the floors that a level makes: narrower ones would look scalloped, wider
/// ones are limited to the upper bound, since the levels before made them.
const WIDTHS: [f32; 2] = [1.6, 2.6];

/// Beyond this many half widths slopes are not limited by the floor.
const EDGE: f32 = 1.5;

/// The largest fall from cell to cell, in units: sums with walls stay below 2³¹.
const MAX_FALL_UNITS: f32 = 536_870_912.0;

/// How far floors reach, in cells.
pub(super) const REACH: i64 = 4;

/// The terrain from which the steepest slopes are computed.
pub(super) struct FloorTerrain<'a> {
    /// Elevations in units, flags that mark rivers, and receivers.
    pub ground: &'a PaddedPlane<i32>,
    pub flags: &'a PaddedPlane<u8>,
    pub receivers: &'a PaddedPlane<u8>,
    /// Drainage areas of rivers in m².
    pub area: &'a PaddedPlane<f32>,
    /// Slope of the smooth terrain, rise over run.
    pub slope: &'a PaddedPlane<f32>,
}

/// Computes the steepest slope of each cell of `part`, in units from cell to cell: the rock's, or nearly the present
/// one if that is more; less on floors. Rivers are searched for in `beyond`, [`REACH`] cells around the part.
pub(super) fn compute_steepest_slopes(
    rules: &Rules,
    width: f32,
    terrain: &FloorTerrain<'_>,
    part: &PlanePart,
    beyond: &PlanePart,
    max_falls: &mut PaddedPlane<f32>,
) {
    let FloorTerrain { ground, flags, receivers, area, slope } = *terrain;
    let unit = width * UNITS_F32;
    for i in part.rows.clone() {
        let slopes = slope.span(i, &part.cols);
        for (out, slope) in max_falls.span_mut(i, &part.cols).iter_mut().zip(slopes) {
            // Terrain that is already steeper than the rock's limit loses a twentieth of its slope on each level
            // instead of all the excess.
            *out = (unit * rules.limit.max(0.95 * slope)).min(MAX_FALL_UNITS);
        }
    }
    for i in beyond.rows.clone() {
        for j in beyond.cols.clone().filter(|j| flags.value_at(i, *j) & RIVER != 0) {
            let half = rules.floor * area.value_at(i, j).sqrt() / width;
            if half < WIDTHS[0] {
                continue;
            }
            let half = half.min(WIDTHS[1]);
            let [di, dj] = D8::from_code(receivers.value_at(i, j)).map(D8::offset).unwrap_or_default();
            let receiver = ground.value_at(i.wrapping_add_signed(di), j.wrapping_add_signed(dj));
            let fall = ground.value_at(i, j).wrapping_sub(receiver) as f32;
            // A floor is at least half as steep again as its river, so that a steep river keeps a valley.
            let floor = (unit * rules.rise).max(1.5 * fall);
            let bank = beds::incision_depth(area.value_at(i, j), width) as f32;
            limit_floor_slope(max_falls, part, [i, j], half, floor, unit * rules.limit, bank);
        }
    }
}

/// Scales the steepest slope of each cell of a part, which is `even` without beds, by the bed of rock at its elevation.
/// `limit` is the slope of rock of softness 1, in units from cell to cell; floors stay floors. Terrain that is steeper
/// slides: otherwise hard beds would rise relative to their rivers, and more so on each level.
pub(super) fn scale_by_beds(
    rock: &RockBeds<'_>,
    even: &PaddedPlane<f32>,
    limit: f32,
    ground: &PaddedPlane<i32>,
    part: &PlanePart,
    max_falls: &mut PaddedPlane<f32>,
) {
    for i in part.rows.clone() {
        let row = max_falls.span_mut(i, &part.cols);
        rock.compute_softness_row(ground, i, part, row);
        for (out, even) in row.iter_mut().zip(even.span(i, &part.cols)) {
            let bed_limit = limit / *out;
            // Where the limit is below that of rock there is a floor or sand, which soft beds may lower but hard beds
            // do not raise.
            let steep = if *even < limit { even.min(bed_limit) } else { bed_limit };
            *out = steep.min(MAX_FALL_UNITS);
        }
    }
}

/// Lowers the limit around a river cell: it is `floor` up to about the half width `half` (in cells), and then
/// increases to `limit`. Next to the bed the height of its `bank` is added: otherwise the whole floor would sink with
/// the bed, level by level, to a trench with sharp edges.
fn limit_floor_slope(
    max_falls: &mut PaddedPlane<f32>,
    part: &PlanePart,
    [i, j]: [usize; 2],
    half: f32,
    floor: f32,
    limit: f32,
    bank: f32,
) {
    let reach = (EDGE * half) as usize;
    for r in part.rows.start.max(i.saturating_sub(reach))..part.rows.end.min(i + reach + 1) {
        let from = part.cols.start.max(j.saturating_sub(reach));
        let to = part.cols.end.min(j + reach + 1);
        let down = r.abs_diff(i) as f32;
        for (c, max_fall) in (from..).zip(max_falls.row_mut(r)[from.min(to)..to].iter_mut()) {
            let across = c.abs_diff(j) as f32;
            let distance = (down * down + across * across).sqrt() / half;
            // A smoothstep from the floor's slope to the hill's makes foot slopes.
            let t = ((distance - 0.75) / (EDGE - 0.75)).clamp(0.0, 1.0);
            let ease = t * t * (3.0 - 2.0 * t);
            let bank = if down.max(across) == 1.0 { bank } else { 0.0 };
            if distance < EDGE {
                *max_fall = max_fall.min(floor + bank + (limit - floor).max(0.0) * ease);
            }
        }
    }
}
