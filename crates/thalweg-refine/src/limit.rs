//! The steepest slope, independent of direction, in sweeps: Godunov's scheme on two stencils (as in `limit_slopes` of
//! `thalweg-models`).

use multiversion::multiversion;

use crate::active::Active;
use crate::banks::min_bank_level;
use crate::cell_flags::{MOUTH, RIVER, SEA};
use crate::plane::{LANES, PaddedPlane, PlanePart, WALL, read_lanes, write_lanes};
use thalweg_core::base::cast;
use thalweg_flow::OUT;

/// The planes and constants that limit slides.
pub(super) struct SlideLimits<'a> {
    pub flags: &'a PaddedPlane<u8>,
    /// Receivers of the terrain.
    pub codes: &'a PaddedPlane<u8>,
    /// The steepest stable fall in units from cell to cell, 1 or more: a cell that sinks therefore stays above the one
    /// that limited it, and can still drain.
    pub max_falls: &'a PaddedPlane<f32>,
    /// The lowest elevation above the sea, in units.
    pub min_land_elevation: i32,
    /// The least height of land adjacent to a lake above its level, in units.
    pub lake_clearance: i32,
}

/// Runs one sweep: each cell sinks to where its lower neighbours, as they were before the sweep, support it, but not
/// below the banks of rivers and lakes. Rivers stay above their receivers. Only runs in which something may still move
/// are processed; whole rows are written, and values outside the part are meaningless.
pub(super) fn sweep_slides(
    from: &PaddedPlane<i32>,
    limits: &SlideLimits<'_>,
    part: &PlanePart,
    active: &mut Active,
    to: &mut PaddedPlane<i32>,
) {
    let cols = 1..from.size()[1] + 1;
    let mut todo = vec![0; active.runs_per_row()];
    for i in part.rows.clone() {
        let changed = active.prepare_row(i, &mut todo);
        let row = SlideRow {
            here: from.span(i, &cols),
            near: from.neighbour_rows(i, &cols),
            near_flags: limits.flags.neighbour_rows(i, &cols),
            flags: limits.flags.span(i, &cols),
            max_falls: limits.max_falls.span(i, &cols),
            codes: limits.codes.span(i, &cols),
            min_land_elevation: limits.min_land_elevation,
            lake_clearance: limits.lake_clearance,
        };
        slide_row(&row, &todo, changed, to.span_mut(i, &cols));
    }
    active.finish_sweep(part);
}

/// Returns how far a cell may be above the lower of two neighbours that differ by `apart`: the solution u of u² + (u
/// − apart)² = max_fall², or `max_fall` if only the lower neighbour limits it.
#[inline(always)]
fn compute_max_rise(apart: f32, max_fall: f32) -> f32 {
    // Where the neighbours differ by more than the limit, the higher one has no effect, and the root is not used.
    let square = (2.0 * max_fall * max_fall - apart * apart).max(0.0);
    let both = 0.5 * (apart + square.sqrt());
    if apart < max_fall { both } else { max_fall }
}

/// A row of [`SlideLimits`], with its elevations and its neighbours'.
struct SlideRow<'a> {
    here: &'a [i32],
    near: [&'a [i32]; 8],
    near_flags: [&'a [u8]; 8],
    flags: &'a [u8],
    max_falls: &'a [f32],
    codes: &'a [u8],
    min_land_elevation: i32,
    lake_clearance: i32,
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn slide_row(row: &SlideRow<'_>, todo: &[u8], changed: &mut [u8], out: &mut [i32]) {
    let SlideRow { here, near, near_flags, flags, max_falls, codes, min_land_elevation, lake_clearance } = *row;
    for (run, (_, changed)) in todo.iter().zip(changed).enumerate().filter(|(_, (todo, _))| **todo != 0) {
        let x = run * LANES;
        let (here, codes) = (read_lanes::<_, LANES>(here, x), read_lanes::<_, LANES>(codes, x));
        let (flags, max_falls) = (read_lanes::<_, LANES>(flags, x), read_lanes::<_, LANES>(max_falls, x));
        let (mut receivers, mut banks) = (here, [min_land_elevation; LANES]);
        let mut heights = [WALL; LANES];
        // The first stencil has the straight neighbours and the second the diagonal ones. The lower result counts.
        for odd in 0..2 {
            // The lower of the two neighbours along each axis.
            let mut lower = [[WALL; LANES]; 2];
            for side in 0..4 {
                let k = 2 * side + odd;
                let near = read_lanes::<_, LANES>(near[k], x);
                let near_flags = read_lanes::<_, LANES>(near_flags[k], x);
                for l in 0..LANES {
                    // Cells next to a guarded river or a lake stay above it.
                    banks[l] = banks[l].max(min_bank_level(near[l], near_flags[l], lake_clearance, min_land_elevation));
                    lower[side % 2][l] = lower[side % 2][l].min(near[l]);
                    receivers[l] = if codes[l] == k as u8 { near[l] } else { receivers[l] };
                }
            }
            // At the first diagonal neighbour of a lone low cell the scheme is some 2 % too high with √2 times the
            // cell's width: 1.44 instead.
            let wide = if odd == 0 { 1.0 } else { 1.44 };
            for l in 0..LANES {
                let (a, b) = (lower[0][l], lower[1][l]);
                let apart = a.max(b).wrapping_sub(a.min(b)) as f32;
                let max_rise = cast::floor_to_int(compute_max_rise(apart, max_falls[l] * wide).max(1.0));
                heights[l] = heights[l].min(a.min(b).wrapping_add(max_rise));
            }
        }
        // Apply the limit, but keep cells above banks and receivers, and cells without a receiver as they are.
        let mut moved = 0;
        for l in 0..LANES {
            // A river keeps its receiver, so it stays above it.
            let river = flags[l] & RIVER != 0;
            let lower_bound = if river { receivers[l].wrapping_add(1).max(min_land_elevation) } else { banks[l] };
            let keeps_elevation = flags[l] & (SEA | MOUTH) != 0 || codes[l] == OUT;
            let height = heights[l].max(lower_bound).min(here[l]);
            heights[l] = if keeps_elevation { here[l] } else { height };
            // An exclusive or is 0 only for equal values, so no branch is needed to see whether anything moved.
            moved |= heights[l] ^ here[l];
        }
        *changed = u8::from(moved != 0);
        write_lanes(out, x, &heights);
    }
}
