//! Fans: what streams lay down where they come out onto a wide floor, in the order of the tree.
//!
//! A stream of which the way ends in a much larger river builds a cone from the mouth of its valley to that river: its bed comes to lie
//! on the chord of its profile, which is concave, and what lies beside it, lower than the cone, is filled up. A cell of a hill rises to
//! under the lowest that drains into it; a stream's bed also stays under all that is beside it, so that no stream leaves its fan. Each
//! level makes the fans that are some cells long on it; longer ones were made by the levels before.

use crate::paths::{MOUTH, RIVER, SEA};
use crate::plane::{Part, Plane};
use crate::{Rules, beds};
use thalweg_core::base::power::{exp2, log2};
use thalweg_core::terrain::height::UNITS_F32;
use thalweg_flow::D8;

/// Lengths of the fans that a level makes, in cells.
const FANS: [f32; 2] = [2.5, 5.0];

/// Most cells of the way from a fan's head to the river: steps of one cell at least.
const STEPS_DOWN: usize = 6;

/// How far a fan's cells may lie from its head: its length, and the last step of its way.
const FARTHEST: usize = FANS[1] as usize + 1;

/// How far from the cells of a fan what it is made of may lie: its head, and from there the river.
pub(super) const REACH: i64 = FARTHEST as i64 + STEPS_DOWN as i64;

/// Sweeps by which fans rise.
pub(super) const SWEEPS: i64 = 4;

/// Length of a fan in metres from a catchment of a km², and how it grows: a fan's area is a tenth of its catchment's to the power of
/// 0.9 (Bull 1964, USGS Professional Paper 352-E; Harvey 1997, "The role of alluvial fans in arid zone fluvial systems"), in a sector
/// of a third of a circle.
const LENGTH: f32 = 310.0;
const GROWTH: f32 = 0.45;

/// A river is joined, and does not join, if it is so many times larger.
const LARGER: f32 = 4.0;

/// A fan reaches so far beyond its river's floor, in half widths of that: its head lies in the mouth of its valley.
const BEYOND: f32 = 1.4;

/// Slopes of fans, rise over run (Blair & McPherson 1994, "Alluvial fans and their natural distinction from rivers"): gentler ones are
/// the floor's own, on steeper ones nothing stays.
const SLOPES: [f32; 2] = [0.01, 0.35];

/// A fan's surface may be steeper than the cone by so much before it slides.
const SPARE: f32 = 1.2;

/// What is known of the ground that fans are laid on.
pub(super) struct Known<'a> {
    /// Rivers' beds, where rivers are, their receivers and their catchments in m².
    pub beds: &'a Plane<i32>,
    pub flags: &'a Plane<u8>,
    pub receivers: &'a Plane<u8>,
    pub area: &'a Plane<f32>,
}

/// A cell that wants to be higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Want {
    pub cell: [usize; 2],
    pub height: i32,
}

/// A fan's cone.
struct Cone {
    head: [usize; 2],
    top: f32,
    /// Fall in units from cell to cell, and the length in cells.
    fall: f32,
    length: f32,
    /// Depth of the stream's bed in units.
    bank: f32,
}

/// Fans on the cells of `part`, in sweeps that take a cell each off `part`; `drop` becomes what they bear. Streams are looked for in `beyond`,
/// [`REACH`] cells around the part.
pub(super) fn fans(
    rules: &Rules,
    width: f32,
    known: &Known<'_>,
    codes: &Plane<u8>,
    (parts, beyond): (&[Part], &Part),
    (ground, drop): (&mut Plane<i32>, &mut Plane<f32>),
) {
    let Some(part) = parts.first() else { return };
    let mut wants = Vec::new();
    for at in rivers(known, beyond) {
        if let Some((cone, way)) = cone(rules, width, known, at) {
            cone.lay(known.flags, (part, &way), ground, drop, &mut wants);
        }
    }
    raise(wants, 1, parts, known, codes, ground);
}

/// Cells of rivers on a part, but for those where they end.
pub(super) fn rivers(known: &Known<'_>, part: &Part) -> impl Iterator<Item = [usize; 2]> {
    part.rows.clone().flat_map(move |i| {
        let cells = part.cols.clone().zip(known.flags.span(i, &part.cols));
        cells.filter(|(_, flags)| **flags & (RIVER | MOUTH) == RIVER).map(move |(j, _)| [i, j])
    })
}

/// Raises cells to where they want to be, in a sweep for each of `parts` but the first: a hill's to `fall` units, 1 or more, under the
/// lowest that drains into it, a stream's under all that is beside it but its receiver, as they stood before the sweep.
pub(super) fn raise(
    mut wants: Vec<Want>,
    fall: i32,
    parts: &[Part],
    known: &Known<'_>,
    codes: &Plane<u8>,
    ground: &mut Plane<i32>,
) {
    // Of several the highest counts.
    wants.sort_unstable_by(|a: &Want, b| a.cell.cmp(&b.cell).then(b.height.cmp(&a.height)));
    wants.dedup_by_key(|want| want.cell);
    let mut risen = Vec::with_capacity(wants.len());
    for part in &parts[1..] {
        risen.clear();
        let inside = |want: &&Want| part.rows.contains(&want.cell[0]) && part.cols.contains(&want.cell[1]);
        for Want { cell: [i, j], height } in wants.iter().filter(inside) {
            let is_river = known.flags.at(*i, *j) & RIVER != 0;
            let mut most = *height;
            for direction in D8::ALL {
                let [di, dj] = direction.offset();
                let (r, c) = (i.wrapping_add_signed(di), j.wrapping_add_signed(dj));
                let drains_here = codes.at(r, c) == direction.opposite().code();
                if drains_here || is_river && codes.at(*i, *j) != direction.code() {
                    most = most.min(ground.at(r, c).wrapping_sub(fall));
                }
            }
            risen.push(([*i, *j], most.max(ground.at(*i, *j))));
        }
        risen.iter().for_each(|([i, j], height)| ground.set(*i, *j, *height));
    }
}

/// The fan of which a river's cell is the head, if it is one, and the cells of the stream's way over it.
fn cone(rules: &Rules, width: f32, known: &Known<'_>, head: [usize; 2]) -> Option<(Cone, Vec<[usize; 2]>)> {
    let area = known.area.at(head[0], head[1]);
    let longest = LENGTH / width * exp2(GROWTH * log2((area * 1e-6).max(1e-30)));
    if longest < FANS[0] {
        return None;
    }
    let (mut at, mut run) = (head, 0.0f32);
    let mut way = Vec::new();
    for _ in 0..STEPS_DOWN {
        let direction = D8::from_code(known.receivers.at(at[0], at[1]))?;
        let [di, dj] = direction.offset();
        let own = known.area.at(at[0], at[1]);
        let next = [at[0].wrapping_add_signed(di), at[1].wrapping_add_signed(dj)];
        let flags = known.flags.at(next[0], next[1]);
        if flags & (RIVER | SEA | MOUTH) != RIVER {
            return None;
        }
        run += direction.distance_f32();
        let river = known.area.at(next[0], next[1]);
        if river >= LARGER * own {
            // As long as the fan wants to be, and not from a cell further down, too.
            let half = rules.floor * river.sqrt() / width;
            let wanted = longest.min(BEYOND * half);
            let first = first_step(known, head);
            let fits = (FANS[0]..FANS[1]).contains(&wanted) && run >= wanted && run - first < wanted;
            let [down, across] = [0, 1].map(|axis| head[axis].abs_diff(next[axis]) as f32);
            let length = (down * down + across * across).sqrt();
            if !fits || length < 2.0 {
                return None;
            }
            let depth = |area: f32| beds::depth(area, width) as f32;
            let (top, foot) = (known.beds.at(head[0], head[1]) as f32, known.beds.at(next[0], next[1]) as f32);
            let fall = (top - foot - depth(river)) / length;
            let slope = fall / (width * UNITS_F32);
            let cone = Cone { head, top, fall, length, bank: depth(area) };
            return (SLOPES[0]..SLOPES[1]).contains(&slope).then_some((cone, way));
        }
        if run > FANS[1] + 1.0 {
            return None;
        }
        way.push(next);
        at = next;
    }
    None
}

/// Length of a river's cell's own step, in cells.
fn first_step(known: &Known<'_>, [i, j]: [usize; 2]) -> f32 {
    D8::DISTANCES_F32[usize::from(known.receivers.at(i, j) % 2)]
}

impl Cone {
    /// What the cone's cells of a part want, and how steep they may stand.
    fn lay(
        &self,
        flags: &Plane<u8>,
        (part, way): (&Part, &[[usize; 2]]),
        ground: &Plane<i32>,
        drop: &mut Plane<f32>,
        wants: &mut Vec<Want>,
    ) {
        let [i, j] = self.head;
        for r in part.rows.start.max(i.saturating_sub(FARTHEST))..part.rows.end.min(i + FARTHEST + 1) {
            for c in part.cols.start.max(j.saturating_sub(FARTHEST))..part.cols.end.min(j + FARTHEST + 1) {
                let (down, across) = (r.abs_diff(i) as f32, c.abs_diff(j) as f32);
                let distance = (down * down + across * across).sqrt();
                let is_way = way.contains(&[r, c]);
                if distance > self.length || (r, c) == (i, j) || flags.at(r, c) & (RIVER | SEA) != 0 && !is_way {
                    continue;
                }
                let bank = if is_way { 0.0 } else { self.bank };
                let height = (self.top - self.fall * distance + bank) as i32;
                if height > ground.at(r, c) {
                    wants.push(Want { cell: [r, c], height });
                    drop.set(r, c, drop.at(r, c).max(SPARE * self.fall + self.bank));
                }
            }
        }
    }
}
