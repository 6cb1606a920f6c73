//! Mouths and passes as tables of a terrain.

use crate::error::{Error, Result};
use crate::rivers::Pass;
use crate::terrain::Terrain;

/// The table of places where rivers end. Its columns are `row` and `column` (world cell).
pub const MOUTHS: &str = "mouths";

/// The table of places that rivers pass through. Its columns are `row`, `column` (world cell) and `reach` (m).
pub const PASSES: &str = "passes";

/// The mouths of a terrain's table; none without one.
///
/// # Errors
/// When the table is none of places in this terrain.
pub fn mouths(terrain: &Terrain) -> Result<Vec<[usize; 2]>> {
    cells(terrain, MOUTHS)
}

/// The passes of a terrain's table; none without one.
///
/// # Errors
/// As [`mouths`].
pub fn passes(terrain: &Terrain) -> Result<Vec<Pass>> {
    let cells = cells(terrain, PASSES)?;
    let Some(table) = terrain.tables.get(PASSES) else { return Ok(Vec::new()) };
    let reaches = table.floats("reach").ok_or_else(|| Error::layer(PASSES, "is a table without the column reach"))?;
    Ok(cells.into_iter().zip(reaches).map(|(cell, reach)| Pass { cell, reach: f64::from(*reach) }).collect())
}

fn cells(terrain: &Terrain, name: &str) -> Result<Vec<[usize; 2]>> {
    let Some(table) = terrain.tables.get(name) else { return Ok(Vec::new()) };
    let (Some(rows), Some(cols), true) = (table.ints("row"), table.ints("column"), table.is_even()) else {
        return Err(Error::layer(name, "is a table without the columns row and column (whole), of one length"));
    };
    let local = |world: i64, axis: usize| {
        let [first, size] = [terrain.grid.origin[axis], terrain.grid.size[axis] as i64];
        let inside = world.checked_sub(first).filter(|at| (0..size).contains(at));
        let allowed = || format!("{first} to {} (cells of the terrain)", first + size - 1);
        inside.map(|at| at as usize).ok_or_else(|| Error::value(name, world, allowed()))
    };
    rows.iter().zip(cols).map(|(row, col)| Ok([local(*row, 0)?, local(*col, 1)?])).collect()
}
