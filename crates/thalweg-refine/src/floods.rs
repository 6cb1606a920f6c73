//! Overbank deposits: sediment that floods leave on rivers' floors, within the order of the tree.
//!
//! A flood is as high as the banks at the river, and deposits less with distance. It is traced up the tree from a
//! river's cells, over the cells that drain there and into the ends of small streams. It therefore raises only this
//! river's own floor, and nothing on the other side of a ridge. Each cell rises at most to below the lowest cell that
//! drains into it, a stream's cell also to below all adjacent cells: a floor fills until it is nearly level, and a
//! cell into which nothing drains becomes a levee. Each level deposits on floors of the sizes that the levels before
//! it made, and on no others.

use crate::deposit::{Known, Want, raise, rivers};
use crate::paths::{MOUTH, RIVER, SEA};
use crate::plane::{Part, Plane};
use crate::{Rules, beds};
use thalweg_core::base::power::{exp2, log2};
use thalweg_core::terrain::height::UNITS_F32;
use thalweg_flow::D8;

/// Range of the half widths of the floors on which a level's floods deposit, in cells.
const WIDTHS: [f32; 2] = [3.2, 6.4];

/// The most cells that a flood is traced up the tree.
const FARTHEST: usize = 6;

/// The greatest distance between a cell that a flood raises and its river.
pub(super) const REACH: i64 = FARTHEST as i64;

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
const SPARE: f32 = 1.2;

/// Returns true if a river with this drainage area in m² has a floor on which this level's floods deposit.
pub(super) fn lie(rules: &Rules, width: f32, area: f32) -> bool {
    (WIDTHS[0]..WIDTHS[1]).contains(&half(rules, width, area))
}

/// Returns half the width of a river's floor, in cells.
fn half(rules: &Rules, width: f32, area: f32) -> f32 {
    rules.floor * area.sqrt() / width
}

/// A river that floods its floor.
struct River {
    at: [usize; 2],
    area: f32,
    bed: f32,
    /// Height of the banks above the bed, in units.
    bank: f32,
    /// Half the width of the floor, in cells.
    half: f32,
}

/// Deposits floods on the cells of `parts`: the first is the whole, and each other one is that of a sweep. Raises
/// `drop` to the slopes that banks have. Rivers are searched for in `beyond`, [`REACH`] cells around the first part.
pub(super) fn floods(
    rules: &Rules,
    width: f32,
    known: &Known<'_>,
    codes: &Plane<u8>,
    (parts, beyond): (&[Part], &Part),
    (ground, drop): (&mut Plane<i32>, &mut Plane<f32>),
) {
    let Some(part) = parts.first() else { return };
    let mut wants = Vec::new();
    let mut stack = Vec::new();
    for at in rivers(known, beyond) {
        let area = known.area.at(at[0], at[1]);
        if lie(rules, width, area) {
            let half = half(rules, width, area);
            let bank = DEPTH * exp2(GROWTH * log2((area * 1e-6).max(1e-30))) * UNITS_F32;
            let river = River { at, area, bed: known.beds.at(at[0], at[1]) as f32, bank, half };
            river.climb(width, known, codes, beyond, &mut stack, |[i, j], height, distance| {
                let inside = part.rows.contains(&i) && part.cols.contains(&j);
                if inside && height as i32 > ground.at(i, j) {
                    wants.push(Want { cell: [i, j], height: height as i32 });
                    drop.set(i, j, drop.at(i, j).max(SPARE * (height - river.bed) / distance.max(1.0)));
                }
            });
        }
    }
    let fall = (SLOPE * width * UNITS_F32).max(1.0) as i32;
    raise(wants, fall, parts, known, codes, ground);
}

impl River {
    /// Traces the flood up the tree, and calls `lay` for each cell with the elevation that floods build up there, and
    /// the distance from the river in cells.
    fn climb(
        &self,
        width: f32,
        known: &Known<'_>,
        codes: &Plane<u8>,
        beyond: &Part,
        stack: &mut Vec<([usize; 2], usize)>,
        mut lay: impl FnMut([usize; 2], f32, f32),
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
                if !inside || codes.at(r, c) != direction.opposite().code() {
                    continue;
                }
                let (flags, area) = (known.flags.at(r, c), known.area.at(r, c));
                let is_stream = flags & RIVER != 0;
                let [down, across] = [r.abs_diff(self.at[0]) as f32, c.abs_diff(self.at[1]) as f32];
                let distance = (down * down + across * across).sqrt();
                let is_dry = flags & (SEA | MOUTH) != 0 || distance > self.half;
                if is_dry || is_stream && area > STREAMS * self.area {
                    continue;
                }
                let own = if is_stream { beds::depth(area, width) as f32 } else { 0.0 };
                lay([r, c], self.bed + self.bank * exp2(-thinning * distance) - own, distance);
                if steps + 1 < FARTHEST {
                    stack.push(([r, c], steps + 1));
                }
            }
        }
    }
}
