//! The forest as it stands in a terrain: the table `trees` and the layer of density.

use super::kinds::KINDS;
use super::roots::{MAX_CELLS, Roots};
use super::{Forest, MAX_TREES, Tree};
use thalweg_core::declare::codec::{Row, columns};
use thalweg_core::terrain::{Cells, TREE_DENSITY, Table};
use thalweg_core::{Cell, Error, Grid, Result, Terrain};

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
    /// When one is not inside the grid, is of no known kind, has a size that is not above 0 to 1, or a patch that is
    /// not above 0 or is over 64 cells wide; when two have one number, or there are more than twice [`MAX_TREES`].
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
    /// When the table, which may come from anywhere, lacks a column or has one of another kind; when a row of it is no
    /// plant inside this terrain, as for [`Forest::of`].
    pub fn read(terrain: &Terrain) -> Result<Self> {
        let Some(table) = terrain.tables.get(TREES) else { return Ok(Self::new(&terrain.grid)) };
        Self::of(trees(table, &terrain.grid)?, &terrain.grid)
    }

    /// Its plants as a table, by the cells of the grid that it stands on.
    pub fn table(&self, grid: &Grid) -> Table {
        table(&self.trees, grid)
    }

    /// Leaves the forest in a terrain: the table `trees`, if there are any, and the layer of density.
    ///
    /// # Errors
    /// When the terrain is not of the forest's size.
    pub fn write(self, terrain: &mut Terrain) -> Result<()> {
        if self.trees.is_empty() {
            terrain.tables.remove(TREES);
        } else {
            terrain.tables.insert(TREES.to_string(), self.table(&terrain.grid));
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

/// A plant as its row holds it.
#[derive(Clone, Copy, Default)]
struct Plant {
    number: u64,
    /// World cell.
    cell: Cell<i64>,
    kind: u8,
    age: u32,
    /// Part of the cell's row and column, 0 to 1.
    part: Cell<f32>,
    size: f32,
    patch: f32,
}

impl Row for Plant {
    const THING: &'static str = "plant";

    columns! {
        Plant {
            number: i64, "1" = number;
            row: i64, "cell" = cell[0];
            column: i64, "cell" = cell[1];
            kind: i64, "1" = kind;
            age: i64, "step" = age;
            part_south: f32, "cell" = part[0];
            part_east: f32, "cell" = part[1];
            size: f32, "1" = size;
            patch: f32, "m" = patch;
        }
    }
}

impl Plant {
    fn of(tree: &Tree, grid: &Grid) -> Self {
        let Tree { number, kind, size, age, patch, .. } = *tree;
        let cell = Cell::from_axes(|axis| grid.origin[axis] + i64::from(tree.cell[axis]));
        Self { number, cell, kind, age, part: tree.part.map(|part| f32::from(part) / 65_536.0), size, patch }
    }

    fn tree(self, grid: &Grid) -> Option<Tree> {
        let Self { number, kind, age, size, patch, .. } = self;
        let cell = grid.local(self.cell)?.map(|at| at as u32);
        let inside = [self.part.row, self.part.col].iter().all(|part| (0.0..1.0).contains(part));
        let part = self.part.map(|part| (part * 65_536.0) as u16);
        inside.then_some(Tree { number, cell, part, kind, size, age, patch })
    }
}

/// The plants of a table.
fn trees(table: &Table, grid: &Grid) -> Result<Vec<Tree>> {
    Plant::read(TREES, table, |plant| plant.tree(grid))
}

/// Plants as a table.
fn table(trees: &[Tree], grid: &Grid) -> Table {
    Plant::pack(trees.iter().map(|tree| Plant::of(tree, grid)))
}
