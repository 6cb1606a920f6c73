//! The steepest slope, independent of direction, in sweeps: Godunov's scheme on two stencils (as in
//! `slopes::limit_slopes`).

use multiversion::multiversion;

use crate::active::Active;
use crate::paths::{MOUTH, RIVER, SEA, bank};
use crate::plane::{LANES, Part, Plane, WALL, put, take};
use thalweg_core::base::cast;
use thalweg_flow::OUT;

/// Runs one sweep: each cell sinks to where its lower neighbours, as they were before the sweep, support it, but not
/// below the banks of rivers and lakes. `drop` is the limit in units from cell to cell, 1 or more: a cell that sinks
/// therefore stays above the one that limited it, and can still drain. Rivers stay above their receivers. `least`
/// contains the lowest elevation above the sea, and the clearance of land above a lake. Only runs in which something
/// may still move are processed; whole rows are written, and values outside the part are meaningless.
pub(super) fn sweep(
    from: &Plane<i32>,
    (flags, drop): (&Plane<u8>, &Plane<f32>),
    (codes, least): (&Plane<u8>, [i32; 2]),
    part: &Part,
    active: &mut Active,
    to: &mut Plane<i32>,
) {
    let cols = 1..from.size()[1] + 1;
    let mut todo = vec![0; active.runs()];
    for i in part.rows.clone() {
        let changed = active.row(i, &mut todo);
        let known = (flags.span(i, &cols), drop.span(i, &cols), codes.span(i, &cols));
        let near = (from.around(i, &cols), flags.around(i, &cols));
        slide(from.span(i, &cols), near, known, least, (&todo, changed), to.span_mut(i, &cols));
    }
    active.turn(part);
}

/// Returns how far a cell may be above the lower of two neighbours that differ by `apart`: the solution u of u² + (u
/// − apart)² = drop², or `drop` if only the lower neighbour limits it.
#[inline(always)]
fn over(apart: f32, drop: f32) -> f32 {
    let square = (2.0 * drop * drop - apart * apart).max(0.0);
    let both = 0.5 * (apart + square.sqrt());
    if apart < drop { both } else { drop }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn slide(
    here: &[i32],
    (near, beside): ([&[i32]; 8], [&[u8]; 8]),
    (flags, drop, codes): (&[u8], &[f32], &[u8]),
    [least, clear]: [i32; 2],
    (todo, changed): (&[u8], &mut [u8]),
    out: &mut [i32],
) {
    for (run, (_, changed)) in todo.iter().zip(changed).enumerate().filter(|(_, (todo, _))| **todo != 0) {
        let x = run * LANES;
        let (here, codes) = (take::<_, LANES>(here, x), take::<_, LANES>(codes, x));
        let (flags, drop) = (take::<_, LANES>(flags, x), take::<_, LANES>(drop, x));
        let (mut receivers, mut banks) = (here, [least; LANES]);
        let mut heights = [WALL; LANES];
        for odd in 0..2 {
            // The lower of the two neighbours along each axis.
            let mut lower = [[WALL; LANES]; 2];
            for side in 0..4 {
                let k = 2 * side + odd;
                let (near, beside) = (take::<_, LANES>(near[k], x), take::<_, LANES>(beside[k], x));
                for l in 0..LANES {
                    // Cells next to a guarded river or a lake stay above it.
                    banks[l] = banks[l].max(bank(near[l], beside[l], clear, least));
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
                let bears = a.min(b).wrapping_add(cast::floor(over(apart, drop[l] * wide).max(1.0)));
                heights[l] = heights[l].min(bears);
            }
        }
        // Apply the limit, but keep cells above banks and receivers, and cells without a receiver as they are.
        let mut moved = 0;
        for l in 0..LANES {
            // A river keeps its receiver, so it stays above it.
            let river = flags[l] & RIVER != 0;
            let least = if river { receivers[l].wrapping_add(1).max(least) } else { banks[l] };
            let held = flags[l] & (SEA | MOUTH) != 0 || codes[l] == OUT;
            let height = heights[l].max(least).min(here[l]);
            heights[l] = if held { here[l] } else { height };
            moved |= heights[l] ^ here[l];
        }
        *changed = u8::from(moved != 0);
        put(out, x, &heights);
    }
}
