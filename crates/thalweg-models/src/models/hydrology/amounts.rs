//! Amounts of water at cells, converted to and from tables.

use thalweg_core::declare::codec::read_column;
use thalweg_core::terrain::{Column, Table};
use thalweg_core::{Cell, Error, Grid, Result};
use thalweg_flow::pools::Arrival;

/// Returns amounts at cells as a table with the columns `row`, `column` and `amount` (units × cells).
pub fn amounts_to_table(arrivals: &[Arrival], amount: &str, grid: &Grid) -> Table {
    let cols = grid.cols() as u32;
    let cell = |k: u32| grid.world_cell((k / cols) as usize, (k % cols) as usize);
    let ints = |f: &dyn Fn(&Arrival) -> i64| Column::Int(arrivals.iter().map(f).collect());
    let column = |name: &str, unit: &str, values| (name.to_string(), unit.to_string(), values);
    Table {
        columns: vec![
            column("row", "cell", ints(&|arrival| cell(arrival.cell)[0])),
            column("column", "cell", ints(&|arrival| cell(arrival.cell)[1])),
            column(amount, "m/65536", ints(&|arrival| arrival.water)),
        ],
    }
}

/// Reads amounts from a table called `name`. The table may come from a file, so its cells and amounts are checked.
///
/// # Errors
/// Returns an error if a column is missing, or a row is outside the terrain or has an amount that is not valid.
pub fn read_amounts(table: &Table, name: &str, amount: &str, grid: &Grid) -> Result<Vec<Arrival>> {
    let [rows, cols, water] = ["row", "column", amount].map(|key| read_column::<i64>(name, table, key));
    let (rows, cols, water) = (rows?, cols?, water?);
    let one = |r: usize| {
        let Cell { row: i, col: j } = grid.local_cell([rows[r], cols[r]])?;
        let cell = (i * grid.cols() + j) as u32;
        (0..1 << 60).contains(&water[r]).then_some(Arrival { cell, water: water[r] })
    };
    let amounts: Option<_> = (0..table.len()).map(one).collect();
    amounts.ok_or_else(|| {
        let problem = format!("must have cells inside the terrain and values of 0 or more in the column `{amount}`");
        Error::invalid_layer(name, problem)
    })
}
