//! Digging and laying ground with a round brush, to the unit: what particles do to the cells around them.
//!
//! [`Soil`] is a patch's ground with all that goes with it: loose upper part, hardness, protection, records of wear and
//! deposit. A cut is shared out over a [`Brush`] by cumulated integer weights, so that the shares sum to the cut exactly.

use crate::model::MassBalance;
use thalweg_core::base::cast::share_of;
use thalweg_core::terrain::height::{SPLIT_PARTS, split};
use thalweg_core::{Cell, CellRect, Height};

/// Cumulated weights of a round brush in 65 535ths, row by row, rows padded with nothing to whole vectors.
pub struct Brush {
    radius: usize,
    width: usize,
    /// Running total before and after each cell.
    before: Vec<u16>,
    after: Vec<u16>,
}

impl Brush {
    /// Weights 1 − |offset|/(radius + 1) for offsets up to `radius` cells (Beyer 2015), normalised.
    pub fn new(radius: f64) -> Self {
        let side = 2 * radius as usize + 1;
        Self::padded(radius, if side <= 8 { side.next_power_of_two().max(4) } else { side.next_multiple_of(VECTOR) })
    }

    fn padded(radius: f64, width: usize) -> Self {
        let cells = radius.floor() as i64;
        let weight = |(i, j): (i64, i64)| {
            let distance = ((i * i + j * j) as f64).sqrt();
            if distance <= radius { 1.0 - distance / (radius + 1.0) } else { 0.0 }
        };
        let offsets = || (-cells..=cells).flat_map(|i| (0..width as i64).map(move |j| (i, j - cells)));
        let sum: f64 = offsets().map(weight).sum();
        let (mut before, mut after, mut total) = (Vec::new(), Vec::new(), 0.0);
        for offset in offsets() {
            before.push((total / sum * f64::from(ALL)).round() as u16);
            total += weight(offset);
            after.push((total / sum * f64::from(ALL)).round() as u16);
        }
        Self { radius: cells as usize, width, before, after }
    }
}

/// Columns that wide brushes work on together.
const VECTOR: usize = 16;

/// The whole of a brush's weights.
const ALL: u16 = u16::MAX;

/// An amount ≥ 0 that the brush can share out: to the unit under half a metre; above, to a 16 384th of itself or better.
#[inline(always)]
pub fn grained(amount: i32) -> i32 {
    let shift = grain(amount);
    (amount >> shift) << shift
}

/// Bits of an amount that the brush cannot share out, so that what is left fits 15. (Near a power of two one more, for
/// the exponent is that of the nearest `f32`; it compiles to vectors, counting zeros does not everywhere.)
#[inline(always)]
fn grain(amount: i32) -> i32 {
    let exponent = ((amount as f32).to_bits() >> 23) as i32 - 127;
    (exponent - 14).max(0)
}

/// An amount about to be shared out.
#[derive(Clone, Copy)]
struct Cut {
    factor: u32,
    shift: i32,
}

impl Cut {
    #[inline(always)]
    fn new(amount: i32) -> Self {
        let shift = grain(amount);
        // One more than there is: its product with the whole weight, 2¹⁶ − 1, rounds down to what there is.
        Self { factor: (amount >> shift) as u32 + 1, shift }
    }

    /// What falls to a cell, before the shift: 16 bits throughout, of which a vector holds many.
    #[inline(always)]
    fn grains(self, before: u16, after: u16) -> u16 {
        let share = |weight: u16| ((self.factor * u32::from(weight)) >> 16) as u16;
        share(after) - share(before)
    }

    /// What falls to a cell, in units.
    #[inline(always)]
    fn part(self, before: u16, after: u16) -> i32 {
        i32::from(self.grains(before, after)) << self.shift
    }
}

/// What was done, in units.
#[derive(Debug, Default)]
pub struct Tally {
    /// Taken from the ground.
    pub eroded: i64,
    /// Laid on the ground.
    pub deposited: i64,
    /// Carried out of the world.
    pub exported: i64,
    /// Made or lost by storage in fewer bits.
    pub rounded: i64,
    /// Times that a floor or ceiling held a cell back.
    pub limited: u64,
    /// Steps that particles took.
    pub steps: u64,
}

impl Tally {
    /// As a ledger.
    pub fn budget(&self) -> MassBalance {
        MassBalance {
            eroded: self.eroded.into(),
            deposited: self.deposited.into(),
            exported: self.exported.into(),
            rounded: self.rounded.into(),
            limited: self.limited,
            particle_steps: self.steps,
            ..MassBalance::default()
        }
    }
}

/// A patch's planes, apart, so that all can be written at once. Optional ones are absent where nobody asked for them.
pub struct Soil<'a> {
    /// Elevation.
    pub ground: &'a mut [i32],
    /// Thickness of the loose upper part.
    pub loose: Option<&'a mut [i32]>,
    /// Record of what was dug.
    pub wear: Option<&'a mut [i32]>,
    /// Record of what was laid.
    pub deposit: Option<&'a mut [i32]>,
    /// Share of a cut that bedrock withstands.
    pub hardness: Option<&'a [f32]>,
    /// Share of a cut that is withheld.
    pub protect: Option<&'a [f32]>,
    /// Cells without data.
    pub outside: Option<&'a [bool]>,
    /// Cells from one row to the next.
    pub stride: usize,
    /// The cells that exist in the terrain.
    pub valid: CellRect<i32>,
    /// No cell is dug below this elevation.
    pub floor: i32,
    /// Units between two heights that storage can tell apart; 1 is full precision.
    pub quantum: i32,
}

impl<'a> Soil<'a> {
    /// Ground alone, which nothing holds, in rows of `stride` cells.
    pub fn bare(ground: &'a mut [i32], stride: usize, valid: CellRect<i32>, floor: i32) -> Self {
        Self {
            ground,
            loose: None,
            wear: None,
            deposit: None,
            hardness: None,
            protect: None,
            outside: None,
            stride,
            valid,
            floor,
            quantum: 1,
        }
    }
}

impl Soil<'_> {
    /// Index of row `i`, column `j`.
    #[inline(always)]
    pub fn at(&self, i: i32, j: i32) -> usize {
        (i as usize) * self.stride + j as usize
    }

    /// Whether a cell may give less than is asked, or keep something else: the careful paths are needed then.
    pub fn is_special(&self) -> bool {
        self.hardness.is_some() || self.protect.is_some() || self.outside.is_some() || self.quantum > 1
    }

    /// Whether one of the four corners of the position north-west of which (i, j) lies has no data.
    pub fn has_no_data(&self, i: i32, j: i32) -> bool {
        let at = self.at(i, j);
        self.outside.is_some_and(|out| [0, 1, self.stride, self.stride + 1].iter().any(|k| out[at + k]))
    }

    /// Digs `amount` (grained) around a cell and returns what was taken. `SPECIAL` says that a cell may give less than is
    /// asked, or keep something else; `LAYERS` that there is a loose, wear or deposit plane.
    #[inline(always)]
    pub fn dig<const SPECIAL: bool, const LAYERS: bool>(
        &mut self,
        brush: &Brush,
        Cell { row: i, col: j }: Cell<i32>,
        amount: i32,
        tally: &mut Tally,
    ) -> i32 {
        let radius = brush.radius as i32;
        if !SPECIAL && self.has_all_around(Cell::new(i, j), radius) {
            let start = self.at(i - radius, j - radius);
            let dug = match brush.radius {
                0 => self.dig_rows::<1, 4, LAYERS>(brush, start, amount),
                1 => self.dig_rows::<3, 4, LAYERS>(brush, start, amount),
                2 => self.dig_rows::<5, 8, LAYERS>(brush, start, amount),
                3 => self.dig_rows::<7, 8, LAYERS>(brush, start, amount),
                _ => self.dig_wide::<LAYERS>(brush, start, amount),
            };
            if dug {
                tally.eroded += i64::from(amount);
                return amount;
            }
        }
        self.dig_cells::<SPECIAL>(brush, Cell::new(i - radius, j - radius), amount, tally)
    }

    /// Lays `amount` on the four corners around a position, by bilinear weights, and returns what there was room for: `at`
    /// is the index of the north-western corner, from which the position is part of a row and of a column away.
    #[inline(always)]
    pub fn lay<const SPECIAL: bool, const LAYERS: bool>(
        &mut self,
        at: usize,
        Cell { row: v, col: u }: Cell<f32>,
        amount: i32,
        tally: &mut Tally,
    ) -> i32 {
        let whole = SPLIT_PARTS as f32;
        let weights = [(1.0 - v) * (1.0 - u) * whole, (1.0 - v) * whole, ((1.0 - v) + v * (1.0 - u)) * whole, whole];
        let parts = split(amount, &weights.map(|w| w as i32));
        let mut laid = 0;
        for (k, part) in [0, 1, self.stride, self.stride + 1].into_iter().zip(parts) {
            let cell = &mut self.ground[at + k];
            let part = if *cell > Height::MAX.0 - amount.max(0) {
                tally.limited += 1;
                part.min((Height::MAX.0 - *cell).max(0))
            } else {
                part
            };
            *cell += part;
            laid += part;
            if SPECIAL {
                tally.rounded += i64::from(store(self.quantum, cell));
            }
            if LAYERS && let Some(loose) = &mut self.loose {
                loose[at + k] += part;
            }
            if LAYERS && let Some(deposit) = &mut self.deposit {
                deposit[at + k] = deposit[at + k].saturating_add(part);
            }
        }
        tally.deposited += i64::from(laid);
        laid
    }

    /// Returns true if all cells up to `radius` from a cell exist.
    #[inline(always)]
    fn has_all_around(&self, Cell { row: i, col: j }: Cell<i32>, radius: i32) -> bool {
        let CellRect { start, end } = self.valid;
        i - radius >= start.row && j - radius >= start.col && i + radius < end.row && j + radius < end.col
    }

    /// A small brush where nothing holds it back: rows of a fixed width, which compile to vectors. False, and nothing
    /// done, if a cell would fall below the floor.
    #[inline(always)]
    fn dig_rows<const ROWS: usize, const WIDTH: usize, const LAYERS: bool>(
        &mut self,
        brush: &Brush,
        start: usize,
        amount: i32,
    ) -> bool {
        let weights = (brush.before.as_chunks::<WIDTH>().0.get(..ROWS), brush.after.as_chunks::<WIDTH>().0.get(..ROWS));
        let (Some(before), Some(after)) = weights else { return false };
        let cut = Cut::new(amount);
        let mut grains = [[0; WIDTH]; ROWS];
        for r in 0..ROWS {
            for k in 0..WIDTH {
                grains[r][k] = cut.grains(before[r][k], after[r][k]);
            }
        }
        let mut parts = [[0; WIDTH]; ROWS];
        let mut lowest = [i32::MAX; WIDTH];
        for r in 0..ROWS {
            let cells = row::<WIDTH>(self.ground, start + r * self.stride);
            for k in 0..WIDTH {
                parts[r][k] = i32::from(grains[r][k]) << cut.shift;
                lowest[k] = lowest[k].min(cells[k] - parts[r][k]);
            }
        }
        if lowest.iter().fold(false, |under, cell| under | (*cell < self.floor)) {
            return false;
        }
        for r in 0..ROWS {
            self.change::<LAYERS, WIDTH>(start + r * self.stride, &parts[r]);
        }
        true
    }

    /// A brush of any size where nothing holds it back. False, and nothing done, if a cell would fall below the floor.
    #[inline(always)]
    fn dig_wide<const LAYERS: bool>(&mut self, brush: &Brush, start: usize, amount: i32) -> bool {
        let cut = Cut::new(amount);
        let parts = |before: &[u16; VECTOR], after: &[u16; VECTOR]| {
            let mut parts = [0; VECTOR];
            for k in 0..VECTOR {
                parts[k] = cut.part(before[k], after[k]);
            }
            parts
        };
        let (before, after) = (brush.before.as_chunks::<VECTOR>().0, brush.after.as_chunks::<VECTOR>().0);
        let (across, stride) = (brush.width / VECTOR, self.stride);
        let place = |n: usize| start + (n / across) * stride + (n % across) * VECTOR;
        let mut lowest = [i32::MAX; VECTOR];
        for n in 0..before.len() {
            let parts = parts(&before[n], &after[n]);
            let cells = row::<VECTOR>(self.ground, place(n));
            for k in 0..VECTOR {
                lowest[k] = lowest[k].min(cells[k] - parts[k]);
            }
        }
        if lowest.iter().any(|x| *x < self.floor) {
            return false;
        }
        for n in 0..before.len() {
            self.change::<LAYERS, VECTOR>(place(n), &parts(&before[n], &after[n]));
        }
        true
    }

    /// Takes parts from the cells from `from` on, and from all planes that follow the ground.
    #[inline(always)]
    fn change<const LAYERS: bool, const WIDTH: usize>(&mut self, from: usize, parts: &[i32; WIDTH]) {
        let mut cells = row::<WIDTH>(self.ground, from);
        for k in 0..WIDTH {
            cells[k] -= parts[k];
        }
        self.ground[from..from + WIDTH].copy_from_slice(&cells);
        if LAYERS && let Some(wear) = &mut self.wear {
            let mut cells = row::<WIDTH>(wear, from);
            for k in 0..WIDTH {
                cells[k] = cells[k].min(i32::MAX - parts[k]) + parts[k];
            }
            wear[from..from + WIDTH].copy_from_slice(&cells);
        }
        if LAYERS && let Some(loose) = &mut self.loose {
            let mut cells = row::<WIDTH>(loose, from);
            for k in 0..WIDTH {
                cells[k] = (cells[k] - parts[k]).max(0);
            }
            loose[from..from + WIDTH].copy_from_slice(&cells);
        }
    }

    /// Digs cell by cell from the brush's first row and column: at edges, floors, hard, loose and protected ground. Bit
    /// for bit as the fast ways where both apply.
    #[inline(never)]
    fn dig_cells<const SPECIAL: bool>(
        &mut self,
        brush: &Brush,
        Cell { row: i, col: j }: Cell<i32>,
        amount: i32,
        tally: &mut Tally,
    ) -> i32 {
        let CellRect { start, end } = self.valid;
        let cut = Cut::new(amount);
        let mut taken = 0;
        for r in 0..=2 * brush.radius as i32 {
            for c in 0..=2 * brush.radius as i32 {
                let k = r as usize * brush.width + c as usize;
                let part = cut.part(brush.before[k], brush.after[k]);
                let [ci, cj] = [i + r, j + c];
                if part == 0 || ci < start.row || cj < start.col || ci >= end.row || cj >= end.col {
                    continue;
                }
                let at = self.at(ci, cj);
                if SPECIAL && self.outside.is_some_and(|out| out[at]) {
                    // Not even rounded.
                    continue;
                }
                let part = if SPECIAL { self.given(at, part) } else { part };
                let depth = (self.ground[at] - self.floor).max(0);
                tally.limited += u64::from(part > depth);
                let part = part.min(depth);
                self.ground[at] -= part;
                if let Some(loose) = &mut self.loose {
                    loose[at] = (loose[at] - part).max(0);
                }
                if SPECIAL {
                    tally.rounded += i64::from(store(self.quantum, &mut self.ground[at]));
                }
                if let Some(wear) = &mut self.wear {
                    wear[at] = wear[at].saturating_add(part);
                }
                taken += part;
            }
        }
        tally.eroded += i64::from(taken);
        taken
    }

    /// How much of a cut of `part` the cell gives: less under protection, loose ground first and then
    /// bedrock by its hardness.
    #[inline(always)]
    fn given(&self, at: usize, part: i32) -> i32 {
        let given = |amount: i32, share: f32| (amount as f32 * (1.0 - share_of(share))) as i32;
        let part = self.protect.map_or(part, |protect| if protect[at] > 0.0 { given(part, protect[at]) } else { part });
        let loose = self.loose.as_ref().map_or(0, |loose| loose[at].min(part));
        let rock = part - loose;
        loose + self.hardness.map_or(rock, |hard| if hard[at] > 0.0 { given(rock, hard[at]) } else { rock })
    }
}

/// A copy of the cells from `from` on, which stays in a vector register.
#[inline(always)]
fn row<const WIDTH: usize>(cells: &[i32], from: usize) -> [i32; WIDTH] {
    let mut row = [0; WIDTH];
    row.copy_from_slice(&cells[from..from + WIDTH]);
    row
}

/// Rounds a height down to what storage in fewer bits can hold; what that makes (or loses: negative) is returned.
#[inline(always)]
fn store(quantum: i32, cell: &mut i32) -> i32 {
    if quantum <= 1 {
        return 0;
    }
    let kept = (cell.div_euclid(quantum) * quantum).max(Height::MIN.0);
    let made = kept - *cell;
    *cell = kept;
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brushes_sum_to_the_whole() {
        for radius in [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.2, 7.0, 8.0, 20.5, 60.0] {
            let brush = Brush::new(radius);
            assert_eq!(brush.before[0], 0);
            assert_eq!(brush.after.last(), Some(&ALL));
            assert!(brush.before.iter().zip(&brush.after).all(|(b, a)| b <= a), "no part is negative");
        }
    }

    /// A square of flat ground of 99 × 99 cells in rows of 128.
    fn flat(ground: &mut [i32]) -> Soil<'_> {
        Soil::bare(ground, 128, CellRect::new([0, 0], [99, 99]), -1_000_000_000)
    }

    #[test]
    fn fast_and_careful_digging_are_the_same() {
        for radius in [0.0, 1.0, 2.0, 3.0, 4.0, 9.5, 20.0] {
            for amount in [0, 1, 5, 70, 65_535, 65_536, 1_000_003, 16_777_215, 500_000_000] {
                let (brush, amount) = (Brush::new(radius), grained(amount));
                let (mut fast, mut careful) = (vec![0; 128 * 128], vec![0; 128 * 128]);
                let taken =
                    flat(&mut fast).dig::<false, false>(&brush, Cell::new(50, 50), amount, &mut Tally::default());
                let slow =
                    flat(&mut careful).dig::<true, true>(&brush, Cell::new(50, 50), amount, &mut Tally::default());
                assert_eq!((taken, &fast), (slow, &careful), "radius {radius}, amount {amount}");
                assert_eq!(taken, amount);
                assert_eq!(fast.iter().map(|x| i64::from(*x)).sum::<i64>(), -i64::from(amount));
            }
        }
    }

    #[test]
    fn a_brush_over_the_edge_takes_only_what_is_there() {
        let (brush, mut ground) = (Brush::new(3.0), vec![0; 128 * 128]);
        let mut tally = Tally::default();
        let taken = flat(&mut ground).dig::<false, false>(&brush, Cell::new(0, 0), 60_000, &mut tally);
        assert!(taken > 60_000 / 4 && taken < 60_000 / 2, "the corner's quarter and its two half axes: {taken}");
        assert_eq!(ground.iter().map(|x| i64::from(*x)).sum::<i64>(), -i64::from(taken));
    }
}
