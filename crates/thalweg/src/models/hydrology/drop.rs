//! [`Drop`]: a particle of water on its way, and the table that holds those underway between batches.

use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::height::Height;
use crate::particles::Particle;
use crate::terrain::{Column, Table};

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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drop {
    pub number: u64,
    pub cell: [i64; 2],
    /// Southward and eastward, 0 to 1.
    pub part: [f32; 2],
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
    fn cell(&self) -> [i64; 2] {
        self.cell
    }
}

impl Drop {
    /// A drop that sets out from the middle of a cell, without speed or load.
    pub fn new(number: u64, cell: [i64; 2], ground: Height, water: i32, turns: u32) -> Self {
        Self {
            number,
            cell,
            part: [0.5; 2],
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

    /// The drops as a table.
    pub fn to_table(drops: &[Self]) -> Table {
        let ints = |f: fn(&Self) -> i64| Column::Int(drops.iter().map(f).collect());
        let floats = |f: fn(&Self) -> f32| Column::Float(drops.iter().map(f).collect());
        let column = |name: &str, unit: &str, values| (name.to_string(), unit.to_string(), values);
        Table {
            columns: vec![
                column("number", "1", ints(|d| d.number as i64)),
                column("row", "cell", ints(|d| d.cell[0])),
                column("column", "cell", ints(|d| d.cell[1])),
                column("size", "m/65536", ints(|d| d.water.into())),
                column("carried", "m/65536", ints(|d| d.carried.into())),
                column("lowest", "m/65536", ints(|d| d.lowest.into())),
                column("since", "1", ints(|d| d.since.into())),
                column("turns", "1", ints(|d| d.turns.into())),
                column("sunk", "1", ints(|d| d.sunk.into())),
                column("spilled", "1", ints(|d| d.spilled.into())),
                column("part_south", "cell", floats(|d| d.part[0])),
                column("part_east", "cell", floats(|d| d.part[1])),
                column("south", "1", floats(|d| d.speed[0])),
                column("east", "1", floats(|d| d.speed[1])),
                column("remainder", "m/65536", floats(|d| d.remainder)),
            ],
        }
    }

    /// The drops of a table, which may come from anywhere.
    ///
    /// # Errors
    /// When it is not one of drops, or holds what no drop in this window can be.
    pub fn from_table(table: &Table, grid: &Grid) -> Result<Vec<Self>> {
        let read = || {
            let names = ["number", "row", "column", "size", "carried", "lowest", "since", "turns", "sunk", "spilled"];
            let [number, row, column, water, carried, lowest, since, turns, sunk, spilled] =
                names.map(|name| table.ints(name));
            let names = ["part_south", "part_east", "south", "east", "remainder"];
            let [part_south, part_east, south, east, remainder] = names.map(|name| table.floats(name));
            let (number, row, column, water, carried) = (number?, row?, column?, water?, carried?);
            let (lowest, since, turns, sunk, spilled) = (lowest?, since?, turns?, sunk?, spilled?);
            let (part_south, part_east, south, east, remainder) = (part_south?, part_east?, south?, east?, remainder?);
            let drop = |r: usize| {
                let drop = Self {
                    number: u64::try_from(number[r]).ok()?,
                    cell: [row[r], column[r]],
                    part: [part_south[r], part_east[r]],
                    speed: [south[r], east[r]],
                    water: i32::try_from(water[r]).ok()?,
                    carried: i32::try_from(carried[r]).ok()?,
                    remainder: remainder[r],
                    lowest: i32::try_from(lowest[r]).ok()?,
                    since: u32::try_from(since[r]).ok()?,
                    turns: u32::try_from(turns[r]).ok()?,
                    sunk: u32::try_from(sunk[r]).ok()?,
                    spilled: spilled[r] != 0,
                    rests: false,
                };
                drop.is_possible(grid).then_some(drop)
            };
            (0..table.len()).map(drop).collect()
        };
        let drops = if table.is_even() { read() } else { None };
        drops.ok_or_else(|| Error::layer(TABLE, "is no table of drops inside this terrain"))
    }

    fn is_possible(&self, grid: &Grid) -> bool {
        let inside =
            |a: usize| self.cell[a].checked_sub(grid.origin[a]).is_some_and(|x| (0..grid.size[a] as i64).contains(&x));
        inside(0)
            && inside(1)
            && self.part.iter().all(|part| (0.0..1.0).contains(part))
            && self.speed.iter().all(|s| s.abs() <= 1e4)
            && (1..=MAX_WATER).contains(&self.water)
            && (0..=MAX_CARRIED).contains(&self.carried)
            && self.remainder.abs() <= 1.0
            && self.turns <= MAX_TURNS
            && (!self.spilled || self.speed.iter().any(|s| s.abs() >= 0.5))
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
