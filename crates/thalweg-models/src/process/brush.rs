//! Erosion and deposition with a round brush, exact to the height unit: the effect of particles on the cells around
//! them.
//!
//! [`GroundPlanes`] contains a patch's ground and everything that belongs to it: the sediment, hardness, protection,
//! and records of erosion and deposition. An amount of erosion is divided over an [`ErosionBrush`] by cumulative
//! integer weights, so that the shares sum to the amount exactly.

use crate::model::MassBalance;
use thalweg_core::base::cast::clamp_share;
use thalweg_core::terrain::height::{SPLIT_PARTS, split_by_weights};
use thalweg_core::{Cell, CellRect, Height};

/// The cumulative weights of a round brush in 65 535ths, row by row. Rows are padded with zero weights to whole
/// vectors.
pub struct ErosionBrush {
    radius: usize,
    width: usize,
    /// The running totals before and after each cell.
    before: Vec<u16>,
    after: Vec<u16>,
}

impl ErosionBrush {
    /// Creates a brush with weights 1 − |offset|/(radius + 1) for offsets of up to `radius` cells (Beyer 2015),
    /// normalised.
    pub fn new(radius: f64) -> Self {
        let side = 2 * radius as usize + 1;
        Self::with_width(
            radius,
            if side <= 8 { side.next_power_of_two().max(4) } else { side.next_multiple_of(VECTOR_COLUMNS) },
        )
    }

    fn with_width(radius: f64, width: usize) -> Self {
        let cells = radius.floor() as i64;
        let weight = |(i, j): (i64, i64)| {
            let distance = ((i * i + j * j) as f64).sqrt();
            if distance <= radius { 1.0 - distance / (radius + 1.0) } else { 0.0 }
        };
        let offsets = || (-cells..=cells).flat_map(|i| (0..width as i64).map(move |j| (i, j - cells)));
        let sum: f64 = offsets().map(weight).sum();
        // Running totals are rounded instead of single weights: each cell's share is a difference of two totals, so all
        // shares together are exactly the whole.
        let (mut before, mut after, mut total) = (Vec::new(), Vec::new(), 0.0);
        for offset in offsets() {
            before.push((total / sum * f64::from(WEIGHT_SUM)).round() as u16);
            total += weight(offset);
            after.push((total / sum * f64::from(WEIGHT_SUM)).round() as u16);
        }
        Self { radius: cells as usize, width, before, after }
    }
}

/// The number of columns that wide brushes process together.
const VECTOR_COLUMNS: usize = 16;

/// The sum of a brush's weights.
const WEIGHT_SUM: u16 = u16::MAX;

/// Rounds an amount ≥ 0 down to one that the brush can divide exactly: a multiple of one unit below half a metre, and
/// of 1/16 384 of the amount or less above.
#[inline(always)]
pub fn round_to_grain(amount: i32) -> i32 {
    let shift = count_grain_bits(amount);
    (amount >> shift) << shift
}

/// Returns the number of low bits of an amount that the brush cannot divide, so that the rest fits into 15 bits.
/// (Just below a power of two there can be one bit more, since the exponent is that of the nearest `f32`. This
/// compiles to vector instructions everywhere; counting leading zeros does not.)
#[inline(always)]
fn count_grain_bits(amount: i32) -> i32 {
    // The bits of an `f32` from bit 23 on are its exponent plus 127; the sign bit is 0, as the amount is not negative.
    let exponent = ((amount as f32).to_bits() >> 23) as i32 - 127;
    (exponent - 14).max(0)
}

/// An amount that is about to be divided.
#[derive(Clone, Copy)]
struct DividedAmount {
    factor: u32,
    shift: i32,
}

impl DividedAmount {
    #[inline(always)]
    fn new(amount: i32) -> Self {
        let shift = count_grain_bits(amount);
        // The factor is one more than the amount, so that its product with the total weight, 2¹⁶ − 1, rounds down to
        // the amount itself.
        Self { factor: (amount >> shift) as u32 + 1, shift }
    }

    /// Returns a cell's share before the shift. All values have 16 bits, of which a vector register holds many.
    #[inline(always)]
    fn unshifted_share(self, before: u16, after: u16) -> u16 {
        // The factor is at most 2¹⁵ and the weight below 2¹⁶, so the product fits into 32 bits and the share into 16.
        let share = |weight: u16| ((self.factor * u32::from(weight)) >> 16) as u16;
        share(after) - share(before)
    }

    /// Returns a cell's share in height units.
    #[inline(always)]
    fn cell_share(self, before: u16, after: u16) -> i32 {
        i32::from(self.unshifted_share(before, after)) << self.shift
    }
}

/// The sums of the amounts that were moved, in height units.
#[derive(Debug, Default)]
pub struct Tally {
    /// The amount eroded from the ground.
    pub eroded: i64,
    /// The amount deposited on the ground.
    pub deposited: i64,
    /// The amount carried out of the map.
    pub exported: i64,
    /// The amount created or lost by storage in fewer bits.
    pub rounded: i64,
    /// The number of times that the lowest or highest allowed elevation limited a cell.
    pub limited: u64,
    /// The number of steps that particles took.
    pub steps: u64,
}

impl Tally {
    /// Converts the sums to a mass balance.
    pub fn to_mass_balance(&self) -> MassBalance {
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

/// The planes of a patch, stored separately so that all can be written at once. Optional planes are absent if they
/// are not needed.
pub struct GroundPlanes<'a> {
    /// The elevation.
    pub ground: &'a mut [i32],
    /// The thickness of the sediment.
    pub loose: Option<&'a mut [i32]>,
    /// The record of erosion.
    pub wear: Option<&'a mut [i32]>,
    /// The record of deposition.
    pub deposit: Option<&'a mut [i32]>,
    /// The share of the erosion that bedrock resists.
    pub hardness: Option<&'a [f32]>,
    /// The share of the erosion that is suppressed.
    pub protect: Option<&'a [f32]>,
    /// True for cells without data.
    pub outside: Option<&'a [bool]>,
    /// The number of cells from one row to the next.
    pub stride: usize,
    /// The cells that exist in the terrain.
    pub valid: CellRect<i32>,
    /// The elevation below which no cell is eroded.
    pub floor: i32,
    /// The distance in units between two heights that the storage can distinguish; 1 is full precision.
    pub quantum: i32,
}

impl<'a> GroundPlanes<'a> {
    /// Creates a patch with ground alone, without any protection, in rows of `stride` cells.
    pub fn from_ground(ground: &'a mut [i32], stride: usize, valid: CellRect<i32>, floor: i32) -> Self {
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

impl GroundPlanes<'_> {
    /// Returns the index of row `i`, column `j`.
    #[inline(always)]
    pub fn cell_index(&self, i: i32, j: i32) -> usize {
        (i as usize) * self.stride + j as usize
    }

    /// Returns true if a cell may give less than requested or store a rounded height, so that the slower code paths
    /// are needed.
    pub fn is_special(&self) -> bool {
        self.hardness.is_some() || self.protect.is_some() || self.outside.is_some() || self.quantum > 1
    }

    /// Returns true if one of the four cells around a position has no data; (i, j) is the north-western one of them.
    pub fn has_no_data(&self, i: i32, j: i32) -> bool {
        let at = self.cell_index(i, j);
        self.outside.is_some_and(|out| [0, 1, self.stride, self.stride + 1].iter().any(|k| out[at + k]))
    }

    /// Erodes `amount` (see [`round_to_grain`]) around a cell and returns what was eroded. `SPECIAL` states that a cell
    /// may give less than requested or store a rounded height, `LAYERS` that there is a plane of sediment, erosion or
    /// deposition.
    #[inline(always)]
    pub fn erode_around<const SPECIAL: bool, const LAYERS: bool>(
        &mut self,
        brush: &ErosionBrush,
        Cell { row: i, col: j }: Cell<i32>,
        amount: i32,
        tally: &mut Tally,
    ) -> i32 {
        let radius = brush.radius as i32;
        if !SPECIAL && self.has_all_around(Cell::new(i, j), radius) {
            let start = self.cell_index(i - radius, j - radius);
            // Common radii have a compiled loop of fixed size; wider brushes are processed in columns of 16 cells.
            let dug = match brush.radius {
                0 => self.erode_rows::<1, 4, LAYERS>(brush, start, amount),
                1 => self.erode_rows::<3, 4, LAYERS>(brush, start, amount),
                2 => self.erode_rows::<5, 8, LAYERS>(brush, start, amount),
                3 => self.erode_rows::<7, 8, LAYERS>(brush, start, amount),
                _ => self.erode_wide::<LAYERS>(brush, start, amount),
            };
            if dug {
                tally.eroded += i64::from(amount);
                return amount;
            }
        }
        self.erode_cells::<SPECIAL>(brush, Cell::new(i - radius, j - radius), amount, tally)
    }

    /// Deposits `amount` on the four cells around a position, with bilinear weights, and returns what there was room
    /// for. `at` is the index of the north-western cell; the second argument is the position's fractional distance
    /// from it in rows and columns.
    #[inline(always)]
    pub fn deposit_at<const SPECIAL: bool, const LAYERS: bool>(
        &mut self,
        at: usize,
        Cell { row: v, col: u }: Cell<f32>,
        amount: i32,
        tally: &mut Tally,
    ) -> i32 {
        // The bilinear weights are cumulative, so that the four parts sum to the amount; the last one is the whole.
        let whole = SPLIT_PARTS as f32;
        let weights = [(1.0 - v) * (1.0 - u) * whole, (1.0 - v) * whole, ((1.0 - v) + v * (1.0 - u)) * whole, whole];
        let amounts = split_by_weights(amount, &weights.map(|w| w as i32));
        let mut deposited = 0;
        for (k, part) in [0, 1, self.stride, self.stride + 1].into_iter().zip(amounts) {
            let cell = &mut self.ground[at + k];
            // A cell near the highest elevation that can be stored takes only what it has room for.
            let part = if *cell > Height::MAX.0 - amount.max(0) {
                tally.limited += 1;
                part.min((Height::MAX.0 - *cell).max(0))
            } else {
                part
            };
            *cell += part;
            deposited += part;
            if SPECIAL {
                tally.rounded += i64::from(quantize_height(self.quantum, cell));
            }
            if LAYERS && let Some(loose) = &mut self.loose {
                loose[at + k] += part;
            }
            if LAYERS && let Some(deposit) = &mut self.deposit {
                deposit[at + k] = deposit[at + k].saturating_add(part);
            }
        }
        tally.deposited += i64::from(deposited);
        deposited
    }

    /// Returns true if all cells up to `radius` from a cell exist.
    #[inline(always)]
    fn has_all_around(&self, Cell { row: i, col: j }: Cell<i32>, radius: i32) -> bool {
        let CellRect { start, end } = self.valid;
        i - radius >= start.row && j - radius >= start.col && i + radius < end.row && j + radius < end.col
    }

    /// Erodes with a small brush where nothing protects the cells. The rows have a fixed width, so that they compile
    /// to vectors. Returns false, and changes nothing, if a cell would fall below the floor.
    #[inline(always)]
    fn erode_rows<const ROWS: usize, const WIDTH: usize, const LAYERS: bool>(
        &mut self,
        brush: &ErosionBrush,
        start: usize,
        amount: i32,
    ) -> bool {
        let weights = (brush.before.as_chunks::<WIDTH>().0.get(..ROWS), brush.after.as_chunks::<WIDTH>().0.get(..ROWS));
        let (Some(before), Some(after)) = weights else { return false };
        let cut = DividedAmount::new(amount);
        let mut grains = [[0; WIDTH]; ROWS];
        for r in 0..ROWS {
            for k in 0..WIDTH {
                grains[r][k] = cut.unshifted_share(before[r][k], after[r][k]);
            }
        }
        let mut amounts = [[0; WIDTH]; ROWS];
        let mut lowest = [i32::MAX; WIDTH];
        for r in 0..ROWS {
            let cells = copy_cells::<WIDTH>(self.ground, start + r * self.stride);
            for k in 0..WIDTH {
                amounts[r][k] = i32::from(grains[r][k]) << cut.shift;
                lowest[k] = lowest[k].min(cells[k] - amounts[r][k]);
            }
        }
        // All cells are tested before any is changed, so that the slower path, which limits each cell, starts from the
        // same ground.
        if lowest.iter().fold(false, |under, cell| under | (*cell < self.floor)) {
            return false;
        }
        for r in 0..ROWS {
            self.subtract_parts::<LAYERS, WIDTH>(start + r * self.stride, &amounts[r]);
        }
        true
    }

    /// Erodes with a brush of any size where nothing protects the cells. Returns false, and changes nothing, if a
    /// cell would fall below the floor.
    #[inline(always)]
    fn erode_wide<const LAYERS: bool>(&mut self, brush: &ErosionBrush, start: usize, amount: i32) -> bool {
        let cut = DividedAmount::new(amount);
        let amounts = |before: &[u16; VECTOR_COLUMNS], after: &[u16; VECTOR_COLUMNS]| {
            let mut amounts = [0; VECTOR_COLUMNS];
            for k in 0..VECTOR_COLUMNS {
                amounts[k] = cut.cell_share(before[k], after[k]);
            }
            amounts
        };
        let (before, after) =
            (brush.before.as_chunks::<VECTOR_COLUMNS>().0, brush.after.as_chunks::<VECTOR_COLUMNS>().0);
        let (across, stride) = (brush.width / VECTOR_COLUMNS, self.stride);
        let place = |n: usize| start + (n / across) * stride + (n % across) * VECTOR_COLUMNS;
        let mut lowest = [i32::MAX; VECTOR_COLUMNS];
        for n in 0..before.len() {
            let amounts = amounts(&before[n], &after[n]);
            let cells = copy_cells::<VECTOR_COLUMNS>(self.ground, place(n));
            for k in 0..VECTOR_COLUMNS {
                lowest[k] = lowest[k].min(cells[k] - amounts[k]);
            }
        }
        if lowest.iter().any(|x| *x < self.floor) {
            return false;
        }
        for n in 0..before.len() {
            self.subtract_parts::<LAYERS, VECTOR_COLUMNS>(place(n), &amounts(&before[n], &after[n]));
        }
        true
    }

    /// Subtracts `amounts` from the cells from `from` on, and updates all planes that follow the ground.
    #[inline(always)]
    fn subtract_parts<const LAYERS: bool, const WIDTH: usize>(&mut self, from: usize, amounts: &[i32; WIDTH]) {
        let mut cells = copy_cells::<WIDTH>(self.ground, from);
        for k in 0..WIDTH {
            cells[k] -= amounts[k];
        }
        self.ground[from..from + WIDTH].copy_from_slice(&cells);
        if LAYERS && let Some(wear) = &mut self.wear {
            let mut cells = copy_cells::<WIDTH>(wear, from);
            for k in 0..WIDTH {
                // This is a saturating addition that compiles to vector instructions.
                cells[k] = cells[k].min(i32::MAX - amounts[k]) + amounts[k];
            }
            wear[from..from + WIDTH].copy_from_slice(&cells);
        }
        if LAYERS && let Some(loose) = &mut self.loose {
            let mut cells = copy_cells::<WIDTH>(loose, from);
            for k in 0..WIDTH {
                cells[k] = (cells[k] - amounts[k]).max(0);
            }
            loose[from..from + WIDTH].copy_from_slice(&cells);
        }
    }

    /// Erodes cell by cell from the brush's first row and column: at edges, at the floor, and in hard, loose or
    /// protected ground. It gives the same bits as the fast code paths where both apply.
    #[inline(never)]
    fn erode_cells<const SPECIAL: bool>(
        &mut self,
        brush: &ErosionBrush,
        Cell { row: i, col: j }: Cell<i32>,
        amount: i32,
        tally: &mut Tally,
    ) -> i32 {
        let CellRect { start, end } = self.valid;
        let cut = DividedAmount::new(amount);
        let mut taken = 0;
        for r in 0..=2 * brush.radius as i32 {
            for c in 0..=2 * brush.radius as i32 {
                let k = r as usize * brush.width + c as usize;
                let part = cut.cell_share(brush.before[k], brush.after[k]);
                let [ci, cj] = [i + r, j + c];
                if part == 0 || ci < start.row || cj < start.col || ci >= end.row || cj >= end.col {
                    continue;
                }
                let at = self.cell_index(ci, cj);
                if SPECIAL && self.outside.is_some_and(|out| out[at]) {
                    // A cell without data is not even rounded.
                    continue;
                }
                // Protection and hardness reduce the part first, then the floor limits it.
                let part = if SPECIAL { self.erodible_part(at, part) } else { part };
                let depth = (self.ground[at] - self.floor).max(0);
                tally.limited += u64::from(part > depth);
                let part = part.min(depth);
                self.ground[at] -= part;
                if let Some(loose) = &mut self.loose {
                    loose[at] = (loose[at] - part).max(0);
                }
                if SPECIAL {
                    tally.rounded += i64::from(quantize_height(self.quantum, &mut self.ground[at]));
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

    /// Returns how much of an erosion of `part` the cell gives: less under protection, first from the sediment, then
    /// from bedrock depending on its hardness.
    #[inline(always)]
    fn erodible_part(&self, at: usize, part: i32) -> i32 {
        let given = |amount: i32, share: f32| (amount as f32 * (1.0 - clamp_share(share))) as i32;
        let part = self.protect.map_or(part, |protect| if protect[at] > 0.0 { given(part, protect[at]) } else { part });
        let loose = self.loose.as_ref().map_or(0, |loose| loose[at].min(part));
        let rock = part - loose;
        loose + self.hardness.map_or(rock, |hard| if hard[at] > 0.0 { given(rock, hard[at]) } else { rock })
    }
}

/// Returns a copy of the cells from `from` on, which stays in a vector register.
#[inline(always)]
fn copy_cells<const WIDTH: usize>(cells: &[i32], from: usize) -> [i32; WIDTH] {
    let mut row = [0; WIDTH];
    row.copy_from_slice(&cells[from..from + WIDTH]);
    row
}

/// Rounds a height down to a value that storage in fewer bits can represent. Returns the change (negative for a
/// loss).
#[inline(always)]
fn quantize_height(quantum: i32, cell: &mut i32) -> i32 {
    if quantum <= 1 {
        return 0;
    }
    // The Euclidean division rounds down below zero as well.
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
            let brush = ErosionBrush::new(radius);
            assert_eq!(brush.before[0], 0);
            assert_eq!(brush.after.last(), Some(&WEIGHT_SUM));
            assert!(brush.before.iter().zip(&brush.after).all(|(b, a)| b <= a), "no part is negative");
        }
    }

    /// Returns a square of flat ground of 99 × 99 cells in rows of 128.
    fn flat(ground: &mut [i32]) -> GroundPlanes<'_> {
        GroundPlanes::from_ground(ground, 128, CellRect::new([0, 0], [99, 99]), -1_000_000_000)
    }

    #[test]
    fn fast_and_careful_digging_are_the_same() {
        for radius in [0.0, 1.0, 2.0, 3.0, 4.0, 9.5, 20.0] {
            for amount in [0, 1, 5, 70, 65_535, 65_536, 1_000_003, 16_777_215, 500_000_000] {
                let (brush, amount) = (ErosionBrush::new(radius), round_to_grain(amount));
                let (mut fast, mut careful) = (vec![0; 128 * 128], vec![0; 128 * 128]);
                let taken = flat(&mut fast).erode_around::<false, false>(
                    &brush,
                    Cell::new(50, 50),
                    amount,
                    &mut Tally::default(),
                );
                let slow = flat(&mut careful).erode_around::<true, true>(
                    &brush,
                    Cell::new(50, 50),
                    amount,
                    &mut Tally::default(),
                );
                assert_eq!((taken, &fast), (slow, &careful), "radius {radius}, amount {amount}");
                assert_eq!(taken, amount);
                assert_eq!(fast.iter().map(|x| i64::from(*x)).sum::<i64>(), -i64::from(amount));
            }
        }
    }

    #[test]
    fn a_brush_over_the_edge_takes_only_what_is_there() {
        let (brush, mut ground) = (ErosionBrush::new(3.0), vec![0; 128 * 128]);
        let mut tally = Tally::default();
        let taken = flat(&mut ground).erode_around::<false, false>(&brush, Cell::new(0, 0), 60_000, &mut tally);
        assert!(taken > 60_000 / 4 && taken < 60_000 / 2, "the corner's quarter and its two half axes: {taken}");
        assert_eq!(ground.iter().map(|x| i64::from(*x)).sum::<i64>(), -i64::from(taken));
    }
}
