//! [`Drop`]: a particle of water under way, and the table that stores drops between batches.

use crate::process::particles::Particle;
use thalweg_core::declare::codec::{Row, columns};
use thalweg_core::{Cell, Grid, Height};

/// Name of the table of drops.
pub const TABLE: &str = "drops";

/// Maximum load of a drop, in units of height × cells.
pub const MAX_CARRIED: i32 = 1 << 30;

/// Maximum water of a drop, in units of height × cells.
pub const MAX_WATER: i32 = 1 << 30;

/// Bit that marks the numbers of drops from springs. Drops of rain are numbered from 0, so the ranges never overlap.
pub const SPRING: u64 = 1 << 61;
/// Bit that marks the numbers of drops that come over a sill.
pub const OVERFLOW: u64 = 1 << 62;

/// Bits that number the drops of one batch from springs or over sills. The bits above hold the step.
pub const COUNT_BITS: u32 = 32;

/// Maximum value of [`Drop::turns`].
const MAX_TURNS: u32 = 1000;

/// A particle of water. Its position is a world cell and a fraction of a cell from that cell's north-western corner.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Drop {
    pub number: u64,
    pub cell: Cell<i64>,
    /// Position within the cell, southward and eastward, 0 to 1.
    pub part: Cell<f32>,
    /// Speed southward and eastward, in strides per unit of time.
    pub speed: [f32; 2],
    /// Water that the drop stands for, in units of height × cells. The water balance does not use it: rain, lakes and
    /// drainage are computed as fields, see [`weather`](super::weather).
    pub water: i32,
    /// Sediment load, in units of height × cells.
    pub carried: i32,
    /// Part of the erosion or deposition that is below a whole unit and has not yet been applied, in units.
    pub remainder: f32,
    /// Lowest ground that the drop has reached, in units.
    pub lowest: i32,
    /// Steps since it reached [`Self::lowest`].
    pub since: u32,
    /// Times that it may still start again from the place where it came to rest.
    pub turns: u32,
    /// Steps under the level of a lake or the sea; 0 on land.
    pub sunk: u32,
    /// True if it is on a lake's sill: its first step follows its speed, whatever the slope.
    pub spilled: bool,
    /// True if it has come to rest: it has ended, or starts again at the sill if the lake there overflows.
    pub rests: bool,
}

impl Particle for Drop {
    fn number(&self) -> u64 {
        self.number
    }
    fn cell(&self) -> Cell<i64> {
        self.cell
    }
}

impl Drop {
    /// Creates a drop that starts from the middle of a cell, without speed or load.
    pub fn new(number: u64, cell: Cell<i64>, ground: Height, water: i32, turns: u32) -> Self {
        Self {
            number,
            cell,
            part: Cell::new(0.5, 0.5),
            speed: [0.0; 2],
            water,
            carried: 0,
            remainder: 0.0,
            lowest: ground.0,
            since: 0,
            turns,
            sunk: 0,
            spilled: false,
            rests: false,
        }
    }
}

impl Row for Drop {
    const ITEM_NAME: &'static str = "drop";

    columns! {
        Drop {
            number: i64, "1" = number;
            row: i64, "cell" = cell[0];
            column: i64, "cell" = cell[1];
            size: i64, "m/65536" = water;
            carried: i64, "m/65536" = carried;
            lowest: i64, "m/65536" = lowest;
            since: i64, "1" = since;
            turns: i64, "1" = turns;
            sunk: i64, "1" = sunk;
            spilled: i64, "1" = spilled;
            part_south: f32, "cell" = part[0];
            part_east: f32, "cell" = part[1];
            south: f32, "1" = speed[0];
            east: f32, "1" = speed[1];
            remainder: f32, "m/65536" = remainder;
        }
    }
}

impl Drop {
    /// Returns the drop if its values are valid in the window of `grid`, and `None` otherwise. Tables may come from
    /// files.
    pub fn validate_in_window(self, grid: &Grid) -> Option<Self> {
        // A spilled drop follows its speed, so that the speed must not be zero: the neighbour at the sill is one cell
        // away.
        let possible = grid.local_cell(self.cell).is_some()
            && [self.part.row, self.part.col].iter().all(|part| (0.0..1.0).contains(part))
            && self.speed.iter().all(|s| s.abs() <= 1e4)
            && (1..=MAX_WATER).contains(&self.water)
            && (0..=MAX_CARRIED).contains(&self.carried)
            && self.remainder.abs() <= 1.0
            && self.turns <= MAX_TURNS
            && (!self.spilled || self.speed.iter().any(|s| s.abs() >= 0.5));
        possible.then_some(self)
    }
}

/// Divides a multiple of a drop's water among drops that hold whole multiples each: at most `max_drops` drops, or more
/// if the largest possible drops require it.
pub fn divide_water(water: i64, drop_water: i32, max_drops: u64) -> impl Iterator<Item = i32> {
    // `largest` is the number of whole drops that one particle can stand for; the count is rounded up to whole
    // particles of at most that size.
    let whole = water / i64::from(drop_water);
    let largest = i64::from((MAX_WATER / drop_water).max(1));
    let count = whole.min(max_drops.clamp(1, i64::MAX as u64) as i64).max((whole + largest - 1) / largest).max(1);
    // The first `more` particles get one whole drop more than the others, so that the portions add up exactly.
    let (each, more) = (whole / count, whole % count);
    (0..if whole > 0 { count } else { 0 }).map(move |n| (each + i64::from(n < more)) as i32 * drop_water)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portions_are_whole_drops_and_add_up() {
        for (water, drop, most, count) in [
            (70, 7, 100, 10),
            (70, 7, 3, 3),
            (0, 7, 3, 0),
            (i64::from(MAX_WATER) * 10, MAX_WATER, 2, 10),
            (5 << 32, 1 << 20, 1, 20),
        ] {
            let parts: Vec<i32> = divide_water(water, drop, most).collect();
            assert_eq!(parts.len(), count);
            assert_eq!(parts.iter().map(|x| i64::from(*x)).sum::<i64>(), water);
            assert!(parts.iter().all(|part| part % drop == 0 && (1..=MAX_WATER).contains(part)));
        }
    }
}
