//! The forest as it stands in a terrain: the table `trees` and the layer of density.

use super::kinds::KINDS;
use super::roots::{MAX_CELLS, Roots};
use super::{Forest, MAX_TREES, Tree};
use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::terrain::{Cells, Column, TREE_DENSITY, Table, Terrain};

/// The table's name. Its columns are `number`, `row` and `column` (world cell), `kind` (number in the list of kinds),
/// `age` (steps), `part_south` and `part_east` (of a cell), `size` (of a grown one's) and `patch` (m).
pub const TREES: &str = "trees";

/// Numbers stay below this, so that neither the next one nor a key of its own runs out of bits.
const MAX_NUMBER: i64 = 1 << 62;

impl Forest {
    /// A forest without plants.
    pub fn new(grid: &Grid) -> Self {
        Self { trees: Vec::new(), roots: Roots::new(grid.size), cell: grid.cell }
    }

    /// The forest of these plants, which are put in the order of their numbers.
    ///
    /// # Errors
    /// When one is not inside the grid, or is no plant that can be.
    pub fn of(mut trees: Vec<Tree>, grid: &Grid) -> Result<Self> {
        if trees.len() as f64 > 2.0 * MAX_TREES || !trees.iter().all(|tree| is_possible(tree, grid)) {
            return Err(Error::layer(TREES, "is no table of plants inside this terrain"));
        }
        trees.sort_by_key(|tree| tree.number);
        if trees.windows(2).any(|pair| pair[0].number == pair[1].number) {
            return Err(Error::layer(TREES, "has a number twice; each plant needs its own"));
        }
        let mut forest = Self::new(grid);
        for tree in &trees {
            forest.roots.add(tree.at(), f64::from(tree.patch) / grid.cell, tree.kind().roots);
        }
        Ok(Self { trees, ..forest })
    }

    /// The forest of a terrain's table; without one there is none yet.
    ///
    /// # Errors
    /// When the table, which may come from anywhere, is none of plants in this terrain.
    pub fn read(terrain: &Terrain) -> Result<Self> {
        let Some(table) = terrain.tables.get(TREES) else { return Ok(Self::new(&terrain.grid)) };
        Self::of(trees(table, &terrain.grid)?, &terrain.grid)
    }

    /// Leaves the forest in a terrain: the table `trees`, if there are any, and the layer of density.
    ///
    /// # Errors
    /// When the terrain is not of the forest's size.
    pub fn write(self, terrain: &mut Terrain) -> Result<()> {
        if self.trees.is_empty() {
            terrain.tables.remove(TREES);
        } else {
            terrain.tables.insert(TREES.to_string(), table(&self.trees, &terrain.grid));
        }
        terrain.insert(&TREE_DENSITY, Cells::Float(self.roots.into_density()))
    }
}

fn is_possible(tree: &Tree, grid: &Grid) -> bool {
    let inside = |a: usize| (tree.cell[a] as usize) < grid.size[a];
    inside(0)
        && inside(1)
        && usize::from(tree.kind) < KINDS.len()
        && tree.size > 0.0
        && tree.size <= 1.0
        && tree.patch > 0.0
        && f64::from(tree.patch) <= MAX_CELLS * grid.cell
        && tree.number < MAX_NUMBER as u64
}

/// The plants of a table.
fn trees(table: &Table, grid: &Grid) -> Result<Vec<Tree>> {
    let read = || {
        let ints = ["number", "row", "column", "kind", "age"].map(|name| table.ints(name));
        let [number, row, column, kind, age] = ints;
        let floats = ["part_south", "part_east", "size", "patch"].map(|name| table.floats(name));
        let [south, east, size, patch] = floats;
        let (number, row, column, kind, age) = (number?, row?, column?, kind?, age?);
        let (south, east, size, patch) = (south?, east?, size?, patch?);
        let local = |world: i64, axis: usize| u32::try_from(world.checked_sub(grid.origin[axis])?).ok();
        let part = |x: f32| (0.0..1.0).contains(&x).then_some((x * 65_536.0) as u16);
        let tree = |r: usize| {
            Some(Tree {
                number: u64::try_from(number[r]).ok()?,
                cell: [local(row[r], 0)?, local(column[r], 1)?],
                part: [part(south[r])?, part(east[r])?],
                kind: u8::try_from(kind[r]).ok()?,
                size: size[r],
                age: u32::try_from(age[r]).ok()?,
                patch: patch[r],
            })
        };
        (0..table.len()).map(tree).collect()
    };
    let trees = if table.is_even() { read() } else { None };
    trees.ok_or_else(|| Error::layer(TREES, "is no table of plants inside this terrain"))
}

/// Plants as a table.
fn table(trees: &[Tree], grid: &Grid) -> Table {
    let column = |name: &str, unit: &str, values| (name.to_string(), unit.to_string(), values);
    let ints = |value: &dyn Fn(&Tree) -> i64| Column::Int(trees.iter().map(value).collect());
    let floats = |value: &dyn Fn(&Tree) -> f32| Column::Float(trees.iter().map(value).collect());
    let part = |axis: usize| move |tree: &Tree| f32::from(tree.part[axis]) / 65_536.0;
    Table {
        columns: vec![
            column("number", "1", ints(&|tree| tree.number as i64)),
            column("row", "cell", ints(&|tree| grid.origin[0] + i64::from(tree.cell[0]))),
            column("column", "cell", ints(&|tree| grid.origin[1] + i64::from(tree.cell[1]))),
            column("kind", "1", ints(&|tree| i64::from(tree.kind))),
            column("age", "step", ints(&|tree| i64::from(tree.age))),
            column("part_south", "cell", floats(&part(0))),
            column("part_east", "cell", floats(&part(1))),
            column("size", "1", floats(&|tree| tree.size)),
            column("patch", "m", floats(&|tree| tree.patch)),
        ],
    }
}
