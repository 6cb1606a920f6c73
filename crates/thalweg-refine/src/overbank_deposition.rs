//! Overbank deposits: sediment that floods leave on rivers' floors, within the order of the tree.
//!
//! A flood is as high as the banks at the river, and deposits less with distance. It is traced up the tree from a
//! river's cells, over the cells that drain there and into the ends of small streams. It therefore raises only this
//! river's own floor, and nothing on the other side of a ridge. Each cell rises at most to below the lowest cell that
//! drains into it, a stream's cell also to below all adjacent cells: a floor fills until it is nearly level, and a
//! cell into which nothing drains becomes a levee. Each level deposits on floors of the sizes that the levels before
//! it made, and on no others.

use crate::alluvial_fans::{CellTarget, DepositionTerrain, list_river_cells, raise_target_cells};
use crate::cell_flags::{MOUTH, RIVER, SEA};
use crate::plane::{PaddedPlane, PlanePart};
use crate::{Rules, beds};
use thalweg_core::base::power::{exp2, log2};
use thalweg_core::terrain::height::UNITS_F32;
use thalweg_flow::D8;

/// Range of the half widths of the floors on which a level's floods deposit, in cells.
// The upper limit is twice the lower one and a floor has twice as many cells on each level, so every floor is flooded
// on one level.
const WIDTHS: [f32; 2] = [3.2, 6.4];

/// The most cells that a flood is traced up the tree.
const MAX_FLOOD_STEPS: usize = 6;

/// The greatest distance between a cell that a flood raises and its river.
pub(super) const REACH: i64 = MAX_FLOOD_STEPS as i64;

/// Number of sweeps in which floors rise, from their rims inwards.
pub(super) const SWEEPS: i64 = 5;

/// Depth in metres of a river with a drainage area of 1 km², and the exponent of the drainage area (Leopold & Maddock
/// 1953, "The hydraulic geometry of stream channels"): its banks become this high.
const DEPTH: f32 = 0.3;
const GROWTH: f32 = 0.3;

/// Streams with a smaller share of the river's drainage area are flooded by it; larger ones have floods of their own.
const STREAMS: f32 = 0.25;

/// The least slope of the deposits towards the river, rise over run: finer levels need whole units between their
/// cells.
const SLOPE: f32 = 3e-4;

/// The factor by which a bank may be steeper than deposited before it slides.
const BANK_STEEPNESS_FACTOR: f32 = 1.2;

/// Returns true if a river with this drainage area in m² has a floor on which this level's floods deposit.
pub(super) fn has_flooded_floor(rules: &Rules, width: f32, area: f32) -> bool {
    (WIDTHS[0]..WIDTHS[1]).contains(&floor_half_width(rules, width, area))
}

/// Returns half the width of a river's floor, in cells.
fn floor_half_width(rules: &Rules, width: f32, area: f32) -> f32 {
    rules.floor * area.sqrt() / width
}

/// A river that floods its floor.
struct FloodingRiver {
    at: [usize; 2],
    area: f32,
    bed: f32,
    /// Height of the banks above the bed, in units.
    bank: f32,
    /// Half the width of the floor, in cells.
    half: f32,
}

/// Deposits floods on the cells of `parts`: the first is the whole, and each other one is that of a sweep. Raises
/// `max_falls` to the slopes that banks have. Rivers are searched for in `beyond`, [`REACH`] cells around the first
/// part.
pub(super) fn deposit_floods(
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
    let mut stack = Vec::new();
    // The order of the rivers does not matter: for each cell, the highest target and the steepest limit count.
    for at in list_river_cells(known, beyond) {
        let area = known.area.value_at(at[0], at[1]);
        if has_flooded_floor(rules, width, area) {
            let half = floor_half_width(rules, width, area);
            let bank = DEPTH * exp2(GROWTH * log2((area * 1e-6).max(1e-30))) * UNITS_F32;
            let river = FloodingRiver { at, area, bed: known.beds.value_at(at[0], at[1]) as f32, bank, half };
            river.trace_flood(width, known, beyond, &mut stack, |[i, j], height, distance| {
                let inside = part.rows.contains(&i) && part.cols.contains(&j);
                if inside && height as i32 > ground.value_at(i, j) {
                    targets.push(CellTarget { cell: [i, j], height: height as i32 });
                    max_falls.set(
                        i,
                        j,
                        max_falls.value_at(i, j).max(BANK_STEEPNESS_FACTOR * (height - river.bed) / distance.max(1.0)),
                    );
                }
            });
        }
    }
    let fall = (SLOPE * width * UNITS_F32).max(1.0) as i32;
    raise_target_cells(targets, fall, parts, known, ground);
}

impl FloodingRiver {
    /// Traces the flood up the tree, and calls `deposit` for each cell with the elevation that floods build up there,
    /// and the distance from the river in cells.
    fn trace_flood(
        &self,
        width: f32,
        known: &DepositionTerrain<'_>,
        beyond: &PlanePart,
        stack: &mut Vec<([usize; 2], usize)>,
        mut deposit: impl FnMut([usize; 2], f32, f32),
    ) {
        // The decrease is exponential (Pizzuto 1987, "Sediment diffusion during overbank flows"): a third (1/e) is
        // left at the floor's rim.
        let thinning = std::f32::consts::LOG2_E / self.half;
        stack.push((self.at, 0));
        while let Some(([i, j], steps)) = stack.pop() {
            for direction in D8::ALL {
                let [di, dj] = direction.offset();
                let [r, c] = [i.wrapping_add_signed(di), j.wrapping_add_signed(dj)];
                let inside = beyond.rows.contains(&r) && beyond.cols.contains(&c);
                if !inside || known.codes.value_at(r, c) != direction.opposite().code() {
                    continue;
                }
                let (flags, area) = (known.flags.value_at(r, c), known.area.value_at(r, c));
                let is_stream = flags & RIVER != 0;
                let [down, across] = [r.abs_diff(self.at[0]) as f32, c.abs_diff(self.at[1]) as f32];
                let distance = (down * down + across * across).sqrt();
                // A cell that stays dry is not followed further, so the cells upstream of it stay dry as well.
                let is_dry = flags & (SEA | MOUTH) != 0 || distance > self.half;
                if is_dry || is_stream && area > STREAMS * self.area {
                    continue;
                }
                // A stream's bed remains as deep as the level has incised it.
                let own = if is_stream { beds::incision_depth(area, width) as f32 } else { 0.0 };
                deposit([r, c], self.bed + self.bank * exp2(-thinning * distance) - own, distance);
                if steps + 1 < MAX_FLOOD_STEPS {
                    stack.push(([r, c], steps + 1));
                }
            }
        }
    }
}
