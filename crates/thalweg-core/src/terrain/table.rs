//! [`Table`]: items that are not cells, one per row.

use serde::{Deserialize, Serialize};

use crate::terrain::Cell;
use crate::{Error, Grid, Result};

/// The name of the column with the solid that each item carries, in units of height (1/65 536 m) × a cell. The mass
/// balance counts it.
pub const CARRIED: &str = "carried";

/// The values of a table's column.
///
/// # Examples
/// ```
/// use thalweg_core::terrain::{Column, Table};
///
/// let trees = Table::from_cells([[4, 7]]).with_column("height", "m", Column::Float(vec![12.0]));
/// let (name, unit, values) = &trees.columns[2];
/// assert_eq!((name.as_str(), unit.as_str()), ("height", "m"));
/// assert_eq!(*values, Column::Float(vec![12.0]));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Whole numbers.
    Int(Vec<i64>),
    /// Real numbers.
    Float(Vec<f32>),
}

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnType {
    /// `i64`: whole numbers.
    Int,
    /// `f32`: real numbers.
    Float,
}

impl ColumnType {
    /// Returns the number of bytes of a value.
    pub fn byte_width(self) -> usize {
        match self {
            Self::Int => size_of::<i64>(),
            Self::Float => size_of::<f32>(),
        }
    }
}

impl Column {
    /// Returns the type of the values.
    pub fn column_type(&self) -> ColumnType {
        match self {
            Self::Int(_) => ColumnType::Int,
            Self::Float(_) => ColumnType::Float,
        }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Int(values) => values.len(),
            Self::Float(values) => values.len(),
        }
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A table of items that are not cells: live particles, trees, springs, mouths. Its columns have equal length, and each
/// row is an item.
///
/// Three column names have a meaning everywhere: `row` and `column` (the world cell of the item; used to cut a table to
/// a tile) and `carried` (the solid that it carries, in units of height × a cell; it counts in the mass balance).
///
/// # Examples
/// ```
/// use thalweg_core::terrain::{Column, Table};
///
/// let mut springs = Table::from_cells([[3, 5], [8, 1]]).with_column("rate", "m³/s", Column::Float(vec![0.5, 2.0]));
/// assert_eq!(springs.int_column("column"), Some(&[5, 1][..]));
///
/// springs.append_rows(&springs.select_rows(&[1]))?;
/// assert_eq!(springs.float_column("rate"), Some(&[0.5, 2.0, 2.0][..]));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// The name, the unit (`1` for pure numbers), and the values of each column.
    pub columns: Vec<(String, String, Column)>,
}

impl Table {
    /// Makes a table of cells (row, column of the world) with these two columns.
    pub fn from_cells(cells: impl IntoIterator<Item = impl Into<Cell<i64>>>) -> Self {
        let pair = |cell: Cell<i64>| (cell.row, cell.col);
        let (rows, columns): (Vec<i64>, Vec<i64>) = cells.into_iter().map(|cell| pair(cell.into())).unzip();
        let named = [("row", rows), ("column", columns)];
        Self { columns: named.map(|(name, values)| (name.into(), "cell".into(), Column::Int(values))).into() }
    }

    /// Returns the same table with one more column, which must be as long as the others.
    ///
    /// # Panics
    /// Panics if the columns are not of one length.
    #[must_use]
    pub fn with_column(mut self, name: &str, unit: &str, values: Column) -> Self {
        self.columns.push((name.into(), unit.into(), values));
        assert!(self.is_even(), "the columns of a table must have the same length: {}", self.describe_columns());
        self
    }

    /// Returns the number of rows: that of the first column.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |(_, _, column)| column.len())
    }

    /// Returns true if all columns have the same length.
    pub fn is_even(&self) -> bool {
        self.columns.iter().all(|(_, _, column)| column.len() == self.len())
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the solid that each item carries, in units of height (1/65 536 m) × a cell; `None` if there is no such
    /// column.
    pub fn carried_solid(&self) -> Option<&[i64]> {
        self.int_column(CARRIED)
    }

    /// Returns the values of a column of whole numbers; `None` if there is no such column, or if it has real numbers.
    pub fn int_column(&self, name: &str) -> Option<&[i64]> {
        self.columns.iter().find_map(|(n, _, c)| match c {
            Column::Int(v) if n == name => Some(v.as_slice()),
            _ => None,
        })
    }

    /// Returns the values of a column of real numbers; `None` if there is no such column, or if it has whole numbers.
    pub fn float_column(&self, name: &str) -> Option<&[f32]> {
        self.columns.iter().find_map(|(n, _, c)| match c {
            Column::Float(v) if n == name => Some(v.as_slice()),
            _ => None,
        })
    }

    /// Returns true if its items are in cells: if it has columns `row` and `column` of whole numbers.
    pub fn has_places(&self) -> bool {
        self.int_column("row").is_some() && self.int_column("column").is_some()
    }

    /// Returns the rows with these indices, from 0, in the given order. For example, `[2, 0]` returns the third item,
    /// followed by the first.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let columns = self.columns.iter().map(|(name, unit, column)| {
            let column = match column {
                Column::Int(v) => Column::Int(rows.iter().map(|r| v[*r]).collect()),
                Column::Float(v) => Column::Float(rows.iter().map(|r| v[*r]).collect()),
            };
            (name.clone(), unit.clone(), column)
        });
        Self { columns: columns.collect() }
    }

    /// Returns the same items at other positions or with other loads: `place(axis, cell)` returns the new row (axis 0)
    /// or column (1), `load(carried)` the new load.
    #[must_use]
    pub fn map_cells_and_loads(&self, place: impl Fn(usize, i64) -> i64, load: impl Fn(i64) -> i64) -> Self {
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

    /// Appends the rows of a table with the same columns, which may be in another order.
    ///
    /// # Errors
    /// Returns an error if the columns differ in name or kind, or if those of either table are not of one length.
    /// Nothing is changed then.
    pub fn append_rows(&mut self, other: &Self) -> Result<()> {
        let is_even = self.is_even() && other.is_even() && self.columns.len() == other.columns.len();
        let theirs = self.columns.iter().map(|(name, _, mine)| {
            // Columns are matched by name; their order may differ.
            let theirs = other.columns.iter().find(|(theirs, ..)| theirs == name).map(|(_, _, theirs)| theirs);
            theirs.filter(|theirs| matches!(theirs, Column::Int(_)) == matches!(mine, Column::Int(_)))
        });
        // All columns are matched before one is extended, so that an error leaves the table as it was.
        let Some(theirs) = theirs.collect::<Option<Vec<_>>>().filter(|_| is_even) else {
            let allowed = format!("{}, all columns of the same length", self.describe_columns());
            return Err(Error::invalid_value("columns of a table", other.describe_columns(), allowed));
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

    /// Describes the columns for messages.
    fn describe_columns(&self) -> String {
        let columns = self.columns.iter().map(|(name, _, values)| match values {
            Column::Int(values) => format!("{name} ({} whole numbers)", values.len()),
            Column::Float(values) => format!("{name} ({} real numbers)", values.len()),
        });
        columns.collect::<Vec<_>>().join(", ")
    }
}

/// Returns the rows of `table` that are inside `grid`'s window; all rows if the table has no positions.
pub fn select_rows_inside(table: &Table, grid: &Grid) -> Table {
    let (Some(rows), Some(cols)) = (table.int_column("row"), table.int_column("column")) else {
        return table.clone();
    };
    let inside = |value: i64, axis: usize| {
        let from = value - grid.origin[axis];
        from >= 0 && from < grid.size[axis] as i64
    };
    let kept: Vec<usize> = (0..table.len()).filter(|r| inside(rows[*r], 0) && inside(cols[*r], 1)).collect();
    table.select_rows(&kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(count: i64) -> Table {
        Table::from_cells((0..count).map(|k| [k, 2 * k])).with_column(
            "rate",
            "m³/s",
            Column::Float(vec![0.5; count as usize]),
        )
    }

    #[test]
    fn rows_are_added_by_name_and_uneven_ones_refused() {
        let mut all = table(2);
        let mut turned = table(3);
        turned.columns.reverse();
        all.append_rows(&turned).unwrap();
        assert_eq!(
            (all.int_column("row"), all.float_column("rate")),
            (Some(&[0, 1, 0, 1, 2][..]), Some(&[0.5; 5][..]))
        );
        let mut short = table(3);
        short.columns[2].2 = Column::Float(vec![0.5]);
        let mut other = table(3);
        other.columns[2].2 = Column::Int(vec![1; 3]);
        for wrong in [short, other, Table::from_cells([[0, 0]]), Table::default()] {
            let before = all.clone();
            let message = all.append_rows(&wrong).unwrap_err().to_string();
            assert!(message.contains("rate (5 real numbers)") && all == before, "{message}");
        }
    }

    #[test]
    #[should_panic(expected = "same length: row (2 whole numbers), column (2 whole numbers), rate (1 real numbers)")]
    fn a_column_of_another_length_is_refused() {
        let _ = Table::from_cells([[0, 0], [1, 1]]).with_column("rate", "m³/s", Column::Float(vec![0.5]));
    }
}
