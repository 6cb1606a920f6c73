//! Alluvial fans: deposits of streams where they leave their valleys for a wide floor, within the order of the tree.
//!
//! A stream that ends in a much larger river builds a cone from the mouth of its valley to that river: its bed rises
//! to the chord of its profile, which is concave, and adjacent cells lower than the cone are filled. A hill's cell
//! rises at most to below the lowest cell that drains into it; a stream's bed also stays below all adjacent cells, so
//! that no stream leaves its fan. Each level makes the fans that are a few cells long on it; longer ones were made by
//! the levels before.

use crate::cell_flags::{MOUTH, RIVER, SEA};
use crate::plane::{PaddedPlane, PlanePart};
use crate::{Rules, beds};
use thalweg_core::base::power::{exp2, log2};
use thalweg_core::terrain::height::UNITS_F32;
use thalweg_flow::D8;

/// The range of the lengths of the fans that a level makes, in cells.
// The upper limit is twice the lower one, so a fan is in the range on one level.
const FANS: [f32; 2] = [2.5, 5.0];

/// The most cells on the path from a fan's head to the river, with steps of at least one cell.
const MAX_FAN_PATH_CELLS: usize = 6;

/// The greatest distance of a fan's cells from its head: its length, and the last step of its path.
const MAX_FAN_REACH_CELLS: usize = FANS[1] as usize + 1;

/// The greatest distance from a fan's cells to the cells that determine it: to its head, and from there to the river.
pub(super) const REACH: i64 = MAX_FAN_REACH_CELLS as i64 + MAX_FAN_PATH_CELLS as i64;

/// Number of sweeps in which fans rise.
pub(super) const SWEEPS: i64 = 4;

/// Length in metres of a fan with a drainage area of 1 km², and the exponent of the drainage area in km². A fan's
/// area is a tenth of its drainage area to the power of 0.9 (Bull 1964, USGS Professional Paper 352-E; Harvey 1997,
/// "The role of alluvial fans in arid zone fluvial systems"), in a sector of a third of a circle.
const LENGTH: f32 = 310.0;
const GROWTH: f32 = 0.45;

/// A stream ends at the first cell of its path whose drainage area is at least this many times that of the cell
/// before.
const CONFLUENCE_AREA_RATIO: f32 = 4.0;

/// The greatest length of a fan, in half widths of its river's floor: its head is in the mouth of its valley, a
/// little beyond the floor.
const MAX_FAN_LENGTH_HALF_WIDTHS: f32 = 1.4;

/// Range of the slopes of fans, rise over run (Blair & McPherson 1994, "Alluvial fans and their natural distinction
/// from rivers"): gentler slopes are those of the floor itself, and on steeper ones no sediment stays.
const SLOPES: [f32; 2] = [0.01, 0.35];

/// The factor by which a fan's surface may be steeper than the cone before it slides.
const SLIDE_STEEPNESS_FACTOR: f32 = 1.2;

/// The terrain on which fans are deposited.
pub(super) struct DepositionTerrain<'a> {
    /// Elevations of rivers' beds, flags that mark rivers, their receivers and their drainage areas in m².
    pub beds: &'a PaddedPlane<i32>,
    pub flags: &'a PaddedPlane<u8>,
    pub receivers: &'a PaddedPlane<u8>,
    pub area: &'a PaddedPlane<f32>,
    /// Receivers of all cells: the tree whose order deposits preserve.
    pub codes: &'a PaddedPlane<u8>,
}

/// The target elevation of a cell that should be higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CellTarget {
    pub cell: [usize; 2],
    pub height: i32,
}

/// A fan's cone.
struct FanCone {
    head: [usize; 2],
    top: f32,
    /// Fall in units from cell to cell, and the length in cells.
    fall: f32,
    length: f32,
    /// Depth of the stream's bed in units.
    bank: f32,
}

/// Builds fans on the cells of the first of `parts`, in sweeps on the other parts, each one cell smaller; raises
/// `max_falls` to the slopes that the fans have. Streams are searched for in `beyond`, [`REACH`] cells around the first
/// part.
pub(super) fn deposit_fans(
    rules: &Rules,
    width: f32,
    known: &DepositionTerrain<'_>,
    parts: &[PlanePart],
    beyond: &PlanePart,
    ground: &mut PaddedPlane<i32>,
    max_falls: &mut PaddedPlane<f32>,
) {
    let Some(part) = parts.first() else { return };
    let mut targets = Vec::new();
    for at in list_river_cells(known, beyond) {
        if let Some((cone, path)) = find_fan(rules, width, known, at) {
            cone.add_targets(known.flags, part, &path, ground, max_falls, &mut targets);
        }
    }
    raise_target_cells(targets, 1, parts, known, ground);
}

/// Returns the river cells of a part, except those where rivers end.
pub(super) fn list_river_cells(known: &DepositionTerrain<'_>, part: &PlanePart) -> impl Iterator<Item = [usize; 2]> {
    part.rows.clone().flat_map(move |i| {
        let cells = part.cols.clone().zip(known.flags.span(i, &part.cols));
        cells.filter(|(_, flags)| **flags & (RIVER | MOUTH) == RIVER).map(move |(j, _)| [i, j])
    })
}

/// Raises cells to their targets, in one sweep for each of `parts` but the first. A hill's cell rises at most to
/// `fall` units (1 or more) below the lowest cell that drains into it, and a stream's to that far below all adjacent
/// cells except its receiver, as they were before the sweep.
pub(super) fn raise_target_cells(
    mut targets: Vec<CellTarget>,
    fall: i32,
    parts: &[PlanePart],
    known: &DepositionTerrain<'_>,
    ground: &mut PaddedPlane<i32>,
) {
    // Among several targets for a cell the highest counts.
    targets.sort_unstable_by(|a: &CellTarget, b| a.cell.cmp(&b.cell).then(b.height.cmp(&a.height)));
    targets.dedup_by_key(|target| target.cell);
    let mut risen = Vec::with_capacity(targets.len());
    for part in &parts[1..] {
        risen.clear();
        let inside = |target: &&CellTarget| part.rows.contains(&target.cell[0]) && part.cols.contains(&target.cell[1]);
        for CellTarget { cell: [i, j], height } in targets.iter().filter(inside) {
            let is_river = known.flags.value_at(*i, *j) & RIVER != 0;
            let mut upper_bound = *height;
            for direction in D8::ALL {
                let [di, dj] = direction.offset();
                let (r, c) = (i.wrapping_add_signed(di), j.wrapping_add_signed(dj));
                let drains_here = known.codes.value_at(r, c) == direction.opposite().code();
                if drains_here || is_river && known.codes.value_at(*i, *j) != direction.code() {
                    upper_bound = upper_bound.min(ground.value_at(r, c).wrapping_sub(fall));
                }
            }
            // All cells are raised after the sweep, so none reads what another one has written.
            risen.push(([*i, *j], upper_bound.max(ground.value_at(*i, *j))));
        }
        risen.iter().for_each(|([i, j], height)| ground.set(*i, *j, *height));
    }
}

/// Returns the fan whose head is this river cell, and the cells of the stream's path over it; `None` if the cell is
/// not a fan's head.
fn find_fan(
    rules: &Rules,
    width: f32,
    known: &DepositionTerrain<'_>,
    head: [usize; 2],
) -> Option<(FanCone, Vec<[usize; 2]>)> {
    let area = known.area.value_at(head[0], head[1]);
    let longest = LENGTH / width * exp2(GROWTH * log2((area * 1e-6).max(1e-30)));
    if longest < FANS[0] {
        return None;
    }
    let (mut at, mut run) = (head, 0.0f32);
    let mut path = Vec::new();
    for _ in 0..MAX_FAN_PATH_CELLS {
        let direction = D8::from_code(known.receivers.value_at(at[0], at[1]))?;
        let [di, dj] = direction.offset();
        let own = known.area.value_at(at[0], at[1]);
        let next = [at[0].wrapping_add_signed(di), at[1].wrapping_add_signed(dj)];
        let flags = known.flags.value_at(next[0], next[1]);
        if flags & (RIVER | SEA | MOUTH) != RIVER {
            return None;
        }
        run += direction.distance_f32();
        let river = known.area.value_at(next[0], next[1]);
        if river >= CONFLUENCE_AREA_RATIO * own {
            // The path must be as long as the fan, and the path from the next cell downstream must be shorter, so
            // that only one cell is the head.
            let half = rules.floor * river.sqrt() / width;
            let fan_length = longest.min(MAX_FAN_LENGTH_HALF_WIDTHS * half);
            let first = first_step(known, head);
            let fits = (FANS[0]..FANS[1]).contains(&fan_length) && run >= fan_length && run - first < fan_length;
            let [down, across] = [0, 1].map(|axis| head[axis].abs_diff(next[axis]) as f32);
            let length = (down * down + across * across).sqrt();
            if !fits || length < 2.0 {
                return None;
            }
            let depth = |area: f32| beds::incision_depth(area, width) as f32;
            let (top, foot) =
                (known.beds.value_at(head[0], head[1]) as f32, known.beds.value_at(next[0], next[1]) as f32);
            let fall = (top - foot - depth(river)) / length;
            let slope = fall / (width * UNITS_F32);
            let cone = FanCone { head, top, fall, length, bank: depth(area) };
            return (SLOPES[0]..SLOPES[1]).contains(&slope).then_some((cone, path));
        }
        if run > FANS[1] + 1.0 {
            return None;
        }
        path.push(next);
        at = next;
    }
    None
}

/// Returns the length of the step from a river cell to its receiver, in cells.
fn first_step(known: &DepositionTerrain<'_>, [i, j]: [usize; 2]) -> f32 {
    D8::DISTANCES_F32[usize::from(known.receivers.value_at(i, j) % 2)]
}

impl FanCone {
    /// Adds the targets of the cone's cells in a part, and raises their steepest slope.
    fn add_targets(
        &self,
        flags: &PaddedPlane<u8>,
        part: &PlanePart,
        path: &[[usize; 2]],
        ground: &PaddedPlane<i32>,
        max_falls: &mut PaddedPlane<f32>,
        targets: &mut Vec<CellTarget>,
    ) {
        let [i, j] = self.head;
        for r in
            part.rows.start.max(i.saturating_sub(MAX_FAN_REACH_CELLS))..part.rows.end.min(i + MAX_FAN_REACH_CELLS + 1)
        {
            for c in part.cols.start.max(j.saturating_sub(MAX_FAN_REACH_CELLS))
                ..part.cols.end.min(j + MAX_FAN_REACH_CELLS + 1)
            {
                let (down, across) = (r.abs_diff(i) as f32, c.abs_diff(j) as f32);
                let distance = (down * down + across * across).sqrt();
                // The path has at most six cells, so a linear search is enough.
                let is_on_path = path.contains(&[r, c]);
                if distance > self.length
                    || (r, c) == (i, j)
                    || flags.value_at(r, c) & (RIVER | SEA) != 0 && !is_on_path
                {
                    continue;
                }
                // The stream's bed stays below the surface of its fan by the depth of its channel.
                let bank = if is_on_path { 0.0 } else { self.bank };
                let height = (self.top - self.fall * distance + bank) as i32;
                if height > ground.value_at(r, c) {
                    targets.push(CellTarget { cell: [r, c], height });
                    max_falls.set(r, c, max_falls.value_at(r, c).max(SLIDE_STEEPNESS_FACTOR * self.fall + self.bank));
                }
            }
        }
    }
}
