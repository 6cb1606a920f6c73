//! [`Drop`]: a particle of water on its way, and the table that holds those underway between batches.

use crate::process::particles::Particle;
use thalweg_core::declare::codec::{Row, columns};
use thalweg_core::{Cell, Grid, Height};

/// The table's name.
pub const TABLE: &str = "drops";

/// Most that a drop can carry, in units of height × cells.
pub const MAX_CARRIED: i32 = 1 << 30;

/// Most water that a drop can be, in units of height × cells.
pub const MAX_WATER: i32 = 1 << 30;

/// Drops of rain are numbered from 0; the numbers of those from springs, and of those that come over a sill, lie apart from
/// them and from each other.
pub const SPRING: u64 = 1 << 61;
pub const OVERFLOW: u64 = 1 << 62;

/// Bits in which the numbers of drops of springs differ in a batch, and those of overflow in a round.
pub const COUNT_BITS: u32 = 32;

/// Most turns that a drop can have left.
const MAX_TURNS: u32 = 1000;

/// A particle of water. Positions are a world cell and the part of a cell beyond its north-western corner.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Drop {
    pub number: u64,
    pub cell: Cell<i64>,
    /// Part of the cell's row and column, 0 to 1.
    pub part: Cell<f32>,
    /// Southward and eastward, in strides a unit of time.
    pub speed: [f32; 2],
    /// Water that it stands for, in units of height × cells. What falls, stands and drains is summed apart from drops: see
    /// [`weather`](super::weather).
    pub water: i32,
    /// Solid, in units of height × cells.
    pub carried: i32,
    /// What of the solid's motion no whole unit shows yet.
    pub remainder: f32,
    /// Lowest ground that it has reached, and the steps since.
    pub lowest: i32,
    pub since: u32,
    /// Times that it may still set out anew from where it came to rest.
    pub turns: u32,
    /// Steps under the level of a lake or the sea; 0 on land.
    pub sunk: u32,
    /// Whether it stands on a lake's sill: its first step is along its speed, whatever the slope.
    pub spilled: bool,
    /// Whether it has come to rest: it is over, or sets out again where what lies there runs over.
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
    /// A drop that sets out from the middle of a cell, without speed or load.
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
    const THING: &'static str = "drop";

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
    /// The same, if there can be one in the window of a grid.
    pub fn possible(self, grid: &Grid) -> Option<Self> {
        let possible = grid.local(self.cell).is_some()
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

/// Shares a multiple of a drop's water out among drops, `most` of them if a drop can be as much as that then takes.
pub fn portions(water: i64, drop: i32, most: u64) -> impl Iterator<Item = i32> {
    let whole = water / i64::from(drop);
    let largest = i64::from((MAX_WATER / drop).max(1));
    let count = whole.min(most.clamp(1, i64::MAX as u64) as i64).max((whole + largest - 1) / largest).max(1);
    let (each, more) = (whole / count, whole % count);
    (0..if whole > 0 { count } else { 0 }).map(move |n| (each + i64::from(n < more)) as i32 * drop)
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
            let parts: Vec<i32> = portions(water, drop, most).collect();
            assert_eq!(parts.len(), count);
            assert_eq!(parts.iter().map(|x| i64::from(*x)).sum::<i64>(), water);
            assert!(parts.iter().all(|part| part % drop == 0 && (1..=MAX_WATER).contains(part)));
        }
    }
}
