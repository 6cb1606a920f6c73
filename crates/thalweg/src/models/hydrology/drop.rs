//! [`Drop`]: a particle of water on its way, and the table that holds those underway between batches.

use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::particles::Particle;
use crate::terrain::{Column, Table};

/// The table's name.
pub const TABLE: &str = "drops";

/// Most that a drop can carry, in units of height × cells.
pub const MAX_CARRIED: i32 = 1 << 30;

/// Most water that a drop can be, in units of height × cells.
pub const MAX_WATER: i32 = 1 << 30;

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
    /// Water, in units of height × cells.
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
    /// Whether it has come to rest: its water is to be handed to what lies there.
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
                column("water", "m/65536", ints(|d| d.water.into())),
                column("carried", "m/65536", ints(|d| d.carried.into())),
                column("lowest", "m/65536", ints(|d| d.lowest.into())),
                column("since", "1", ints(|d| d.since.into())),
                column("turns", "1", ints(|d| d.turns.into())),
                column("sunk", "1", ints(|d| d.sunk.into())),
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
            let names = ["number", "row", "column", "water", "carried", "lowest", "since", "turns", "sunk"];
            let [number, row, column, water, carried, lowest, since, turns, sunk] = names.map(|name| table.ints(name));
            let names = ["part_south", "part_east", "south", "east", "remainder"];
            let [part_south, part_east, south, east, remainder] = names.map(|name| table.floats(name));
            let (number, row, column, water, carried) = (number?, row?, column?, water?, carried?);
            let (lowest, since, turns, sunk) = (lowest?, since?, turns?, sunk?);
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
    }
}
