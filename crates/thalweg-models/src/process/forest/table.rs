//! The forest's representation in a terrain: the table `trees` and the layer of density.

use super::kinds::KINDS;
use super::roots::{MAX_CELLS, Roots};
use super::{Forest, MAX_TREES, Tree};
use thalweg_core::declare::codec::{Row, columns};
use thalweg_core::terrain::{Cells, TREE_DENSITY, Table};
use thalweg_core::{Cell, Error, Grid, Result, Terrain};

/// The name of the table of plants. Its columns are `number`, `row` and `column` (world cell), `kind` (index in the
/// list of kinds), `age` (steps), `part_south` and `part_east` (fractions of a cell), `size` (relative to a
/// full-grown plant) and `patch` (m).
pub const TREES: &str = "trees";

/// The upper bound of plants' numbers, so that neither the next number nor the key derived from one overflows.
const MAX_NUMBER: i64 = 1 << 62;

impl Forest {
    /// Creates a forest without plants.
    pub fn new(grid: &Grid) -> Self {
        Self { trees: Vec::new(), roots: Roots::new(grid.size), cell: grid.cell }
    }

    /// Creates a forest of these plants, which are sorted by their numbers.
    ///
    /// # Errors
    /// Returns an error if a plant is outside the grid, is of an unknown kind, has a size that is not above 0 and at
    /// most 1, or a patch that is not above 0 or is more than 64 cells wide; if two plants have the same number; or
    /// if there are more than twice [`MAX_TREES`].
    pub fn from_trees(mut trees: Vec<Tree>, grid: &Grid) -> Result<Self> {
        if trees.len() as f64 > 2.0 * MAX_TREES || !trees.iter().all(|tree| is_possible(tree, grid)) {
            return Err(Error::invalid_layer(
                TREES,
                "contains too many plants, or one that is outside the terrain, of an unknown kind or of an invalid size",
            ));
        }
        // A new plant takes the number after that of the last one, which this order makes the highest.
        trees.sort_by_key(|tree| tree.number);
        if trees.windows(2).any(|pair| pair[0].number == pair[1].number) {
            return Err(Error::invalid_layer(
                TREES,
                "contains two plants with the same number; each plant needs its own",
            ));
        }
        let mut forest = Self::new(grid);
        for tree in &trees {
            forest.roots.add(tree.position(), f64::from(tree.patch) / grid.cell, tree.kind().roots);
        }
        Ok(Self { trees, ..forest })
    }

    /// Reads the forest from a terrain's table, or creates an empty one if there is no table.
    ///
    /// # Errors
    /// Returns an error if the table, which may come from anywhere, lacks a column or has one of another type, or if
    /// a row is no valid plant inside this terrain, as for [`Forest::from_trees`].
    pub fn read(terrain: &Terrain) -> Result<Self> {
        let Some(table) = terrain.tables.get(TREES) else { return Ok(Self::new(&terrain.grid)) };
        Self::from_trees(read_trees(table, &terrain.grid)?, &terrain.grid)
    }

    /// Returns the plants as a table; `grid` is the grid that they stand on.
    pub fn to_table(&self, grid: &Grid) -> Table {
        pack_trees(&self.trees, grid)
    }

    /// Writes the forest to a terrain: the table `trees`, if there are any plants, and the layer of density.
    ///
    /// # Errors
    /// Returns an error if the terrain does not have the forest's size.
    pub fn write(self, terrain: &mut Terrain) -> Result<()> {
        if self.trees.is_empty() {
            terrain.tables.remove(TREES);
        } else {
            terrain.tables.insert(TREES.to_string(), self.to_table(&terrain.grid));
        }
        terrain.insert_layer(&TREE_DENSITY, Cells::Float(self.roots.into_density()))
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

/// A plant as stored in a row of the table.
#[derive(Clone, Copy, Default)]
struct PlantRow {
    number: u64,
    /// The cell in the world.
    cell: Cell<i64>,
    kind: u8,
    age: u32,
    /// The position within the cell, southward and eastward, 0 to 1.
    part: Cell<f32>,
    size: f32,
    patch: f32,
}

impl Row for PlantRow {
    const ITEM_NAME: &'static str = "plant";

    columns! {
        PlantRow {
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

impl PlantRow {
    fn from_tree(tree: &Tree, grid: &Grid) -> Self {
        let Tree { number, kind, size, age, patch, .. } = *tree;
        let cell = Cell::from_axes(|axis| grid.origin[axis] + i64::from(tree.cell[axis]));
        Self { number, cell, kind, age, part: tree.part.map(|part| f32::from(part) / 65_536.0), size, patch }
    }

    fn into_tree(self, grid: &Grid) -> Option<Tree> {
        let Self { number, kind, age, size, patch, .. } = self;
        let cell = grid.local_cell(self.cell)?.map(|at| at as u32);
        let inside = [self.part.row, self.part.col].iter().all(|part| (0.0..1.0).contains(part));
        // The fraction is stored in 1/65 536 of a cell; the product is below 65 536 where `inside` is true.
        let part = self.part.map(|part| (part * 65_536.0) as u16);
        inside.then_some(Tree { number, cell, part, kind, size, age, patch })
    }
}

/// Reads the plants of a table.
fn read_trees(table: &Table, grid: &Grid) -> Result<Vec<Tree>> {
    PlantRow::read_accepted(TREES, table, |plant| plant.into_tree(grid))
}

/// Converts plants to a table.
fn pack_trees(trees: &[Tree], grid: &Grid) -> Table {
    PlantRow::pack(trees.iter().map(|tree| PlantRow::from_tree(tree, grid)))
}
