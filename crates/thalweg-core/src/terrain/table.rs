//! [`Table`]: things rather than cells, a row each.

use serde::{Deserialize, Serialize};

use crate::terrain::Cell;
use crate::{Error, Grid, Result};

/// The column of a table of things that holds the solid which each carries, in units of height (1/65 536 m) × a cell: the law of mass
/// counts it.
pub const CARRIED: &str = "carried";

/// The values of a table's column.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Whole numbers.
    Int(Vec<i64>),
    /// Real numbers.
    Float(Vec<f32>),
}

/// What a column's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnType {
    /// `i64`: whole numbers.
    Int,
    /// `f32`: real numbers.
    Float,
}

impl ColumnType {
    /// Bytes of a value.
    pub fn width(self) -> usize {
        match self {
            Self::Int => size_of::<i64>(),
            Self::Float => size_of::<f32>(),
        }
    }
}

impl Column {
    /// Their type.
    pub fn column_type(&self) -> ColumnType {
        match self {
            Self::Int(_) => ColumnType::Int,
            Self::Float(_) => ColumnType::Float,
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Int(values) => values.len(),
            Self::Float(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Things rather than cells: live particles, trees, springs, mouths. Columns of equal length, a row a thing.
///
/// Three column names are understood everywhere: `row` and `column` (world cell of the thing; tiles cut by them) and
/// `carried` (solid it carries, in units of height times a cell; it counts in the ledger).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Name, unit (`1` for pure numbers), and values of each column.
    pub columns: Vec<(String, String, Column)>,
}

impl Table {
    /// Cells (row, column of the world) as a table with these two columns.
    pub fn at(cells: impl IntoIterator<Item = impl Into<Cell<i64>>>) -> Self {
        let pair = |cell: Cell<i64>| (cell.row, cell.col);
        let (rows, columns): (Vec<i64>, Vec<i64>) = cells.into_iter().map(|cell| pair(cell.into())).unzip();
        let named = [("row", rows), ("column", columns)];
        Self { columns: named.map(|(name, values)| (name.into(), "cell".into(), Column::Int(values))).into() }
    }

    /// The same with one more column, as long as the others.
    ///
    /// # Panics
    /// When the columns are not of one length.
    #[must_use]
    pub fn with(mut self, name: &str, unit: &str, values: Column) -> Self {
        self.columns.push((name.into(), unit.into(), values));
        assert!(self.is_even(), "columns of a table are of one length: {}", self.listed());
        self
    }

    /// Number of rows: those of the first column.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |(_, _, column)| column.len())
    }

    /// Whether all columns are of one length.
    pub fn is_even(&self) -> bool {
        self.columns.iter().all(|(_, _, column)| column.len() == self.len())
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The solid that its things carry, each its own, in units of height (1/65 536 m) × a cell; `None` where no column says so.
    pub fn carried(&self) -> Option<&[i64]> {
        self.ints(CARRIED)
    }

    /// The values of a column of whole numbers; `None` where there is no such column, or one of real numbers.
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        self.columns.iter().find_map(|(n, _, c)| match c {
            Column::Int(v) if n == name => Some(v.as_slice()),
            _ => None,
        })
    }

    /// The values of a column of real numbers; `None` where there is no such column, or one of whole numbers.
    pub fn floats(&self, name: &str) -> Option<&[f32]> {
        self.columns.iter().find_map(|(n, _, c)| match c {
            Column::Float(v) if n == name => Some(v.as_slice()),
            _ => None,
        })
    }

    /// Whether its things lie in cells: it has columns `row` and `column` of whole numbers.
    pub fn has_places(&self) -> bool {
        self.ints("row").is_some() && self.ints("column").is_some()
    }

    /// The rows of these numbers, from 0, in the given order.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let columns = self.columns.iter().map(|(name, unit, column)| {
            let column = match column {
                Column::Int(v) => Column::Int(rows.iter().map(|r| v[*r]).collect()),
                Column::Float(v) => Column::Float(rows.iter().map(|r| v[*r]).collect()),
            };
            (name.clone(), unit.clone(), column)
        });
        Self { columns: columns.collect() }
    }

    /// The same things elsewhere, or with another load: `place(axis, cell)` gives the new row (axis 0)
    /// or column (1), `load(carried)` the new load.
    #[must_use]
    pub fn moved(&self, place: impl Fn(usize, i64) -> i64, load: impl Fn(i64) -> i64) -> Self {
        let mut moved = self.clone();
        for (name, _, column) in &mut moved.columns {
            let Column::Int(values) = column else { continue };
            match name.as_str() {
                "row" => values.iter_mut().for_each(|row| *row = place(0, *row)),
                "column" => values.iter_mut().for_each(|column| *column = place(1, *column)),
                CARRIED => values.iter_mut().for_each(|carried| *carried = load(*carried)),
                _ => {}
            }
        }
        moved
    }

    /// Adds the rows of a table with the same columns, in whatever order those stand.
    ///
    /// # Errors
    /// When the columns differ in name or kind, or those of either table are not of one length. Nothing is changed then.
    pub fn append(&mut self, other: &Self) -> Result<()> {
        let is_even = self.is_even() && other.is_even() && self.columns.len() == other.columns.len();
        let theirs = self.columns.iter().map(|(name, _, mine)| {
            let theirs = other.columns.iter().find(|(theirs, ..)| theirs == name).map(|(_, _, theirs)| theirs);
            theirs.filter(|theirs| matches!(theirs, Column::Int(_)) == matches!(mine, Column::Int(_)))
        });
        let Some(theirs) = theirs.collect::<Option<Vec<_>>>().filter(|_| is_even) else {
            let allowed = format!("{}, and each column as long as the others", self.listed());
            return Err(Error::value("columns of a table", other.listed(), allowed));
        };
        for ((_, _, mine), theirs) in self.columns.iter_mut().zip(theirs) {
            match (mine, theirs) {
                (Column::Int(a), Column::Int(b)) => a.extend(b),
                (Column::Float(a), Column::Float(b)) => a.extend(b),
                _ => {}
            }
        }
        Ok(())
    }

    /// Its columns, as said in messages.
    fn listed(&self) -> String {
        let columns = self.columns.iter().map(|(name, _, values)| match values {
            Column::Int(values) => format!("{name} ({} whole)", values.len()),
            Column::Float(values) => format!("{name} ({} real)", values.len()),
        });
        columns.collect::<Vec<_>>().join(", ")
    }
}

/// The rows of `table` that lie inside `grid`'s window; all of a table without positions.
pub fn within(table: &Table, grid: &Grid) -> Table {
    let (Some(rows), Some(cols)) = (table.ints("row"), table.ints("column")) else {
        return table.clone();
    };
    let inside = |value: i64, axis: usize| {
        let from = value - grid.origin[axis];
        from >= 0 && from < grid.size[axis] as i64
    };
    let kept: Vec<usize> = (0..table.len()).filter(|r| inside(rows[*r], 0) && inside(cols[*r], 1)).collect();
    table.select(&kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(count: i64) -> Table {
        Table::at((0..count).map(|k| [k, 2 * k])).with("rate", "m³/s", Column::Float(vec![0.5; count as usize]))
    }

    #[test]
    fn rows_are_added_by_name_and_uneven_ones_refused() {
        let mut all = table(2);
        let mut turned = table(3);
        turned.columns.reverse();
        all.append(&turned).unwrap();
        assert_eq!((all.ints("row"), all.floats("rate")), (Some(&[0, 1, 0, 1, 2][..]), Some(&[0.5; 5][..])));
        let mut short = table(3);
        short.columns[2].2 = Column::Float(vec![0.5]);
        let mut other = table(3);
        other.columns[2].2 = Column::Int(vec![1; 3]);
        for wrong in [short, other, Table::at([[0, 0]]), Table::default()] {
            let before = all.clone();
            let message = all.append(&wrong).unwrap_err().to_string();
            assert!(message.contains("rate (5 real)") && all == before, "{message}");
        }
    }

    #[test]
    #[should_panic(expected = "of one length: row (2 whole), column (2 whole), rate (1 real)")]
    fn a_column_of_another_length_is_refused() {
        let _ = Table::at([[0, 0], [1, 1]]).with("rate", "m³/s", Column::Float(vec![0.5]));
    }
}
