//! Floods: what rivers lay on their floors when they leave their banks, in the order of the tree.
//!
//! A flood stands at the river as high as its banks, and lays the less the farther it comes. It goes up the tree from a river's cells, over what
//! drains there and into the ends of small streams. So all that it raises is of this river's own floor, and of the other side of a ridge
//! nothing. Each cell rises to under the lowest that drains into it, a stream's also under all beside it: a floor fills up to where it is nearly
//! level, and where nothing drains into a cell it stands as a levee. Each level lays what belongs on the floors that the levels before it
//! made, and on no others.

use crate::deposit::{Known, Want, raise, rivers};
use crate::paths::{MOUTH, RIVER, SEA};
use crate::plane::{Part, Plane};
use crate::{Rules, beds};
use thalweg_core::base::power::{exp2, log2};
use thalweg_core::terrain::height::UNITS_F32;
use thalweg_flow::D8;

/// Half widths of the floors that a level's floods lie on, in cells.
const WIDTHS: [f32; 2] = [3.2, 6.4];

/// Most cells that a flood goes up the tree.
const FARTHEST: usize = 6;

/// How far from what a flood raises its river may lie.
pub(super) const REACH: i64 = FARTHEST as i64;

/// Sweeps by which floors rise, from their rims inward.
pub(super) const SWEEPS: i64 = 5;

/// Depth of a river with a catchment of a km² in metres, and how it grows (Leopold & Maddock 1953, "The hydraulic geometry of stream
/// channels"): so high do its banks come to stand.
const DEPTH: f32 = 0.3;
const GROWTH: f32 = 0.3;

/// Streams with a smaller share of the river's catchment are flooded, larger ones have floods of their own.
const STREAMS: f32 = 0.25;

/// The least slope towards the river of what is laid, rise over run: finer levels must find units between its cells.
const SLOPE: f32 = 3e-4;

/// A bank may be steeper than it is laid by so much before it slides.
const SPARE: f32 = 1.2;

/// Whether a river of a catchment in m² has a floor on which a level's floods lie.
pub(super) fn lie(rules: &Rules, width: f32, area: f32) -> bool {
    (WIDTHS[0]..WIDTHS[1]).contains(&half(rules, width, area))
}

/// Half the width of a river's floor, in cells.
fn half(rules: &Rules, width: f32, area: f32) -> f32 {
    rules.floor * area.sqrt() / width
}

/// A river that floods its floor.
struct River {
    at: [usize; 2],
    area: f32,
    bed: f32,
    /// In units over the bed.
    bank: f32,
    /// Half width of the floor in cells.
    half: f32,
}

/// Floods on the cells of `parts`, the first of which is whole, each other a sweep's; `drop` becomes what banks bear. Rivers are looked for in
/// `beyond`, [`REACH`] cells around the first part.
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
    /// Goes up the tree, and says of each cell how high floods lay it, and how far it is from the river in cells.
    fn climb(
        &self,
        width: f32,
        known: &Known<'_>,
        codes: &Plane<u8>,
        beyond: &Part,
        stack: &mut Vec<([usize; 2], usize)>,
        mut lay: impl FnMut([usize; 2], f32, f32),
    ) {
        // An exponential (Pizzuto 1987, "Sediment diffusion during overbank flows"), a third of it left at the floor's rim.
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
