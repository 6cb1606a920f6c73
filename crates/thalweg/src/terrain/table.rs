//! [`Table`]: things rather than cells, a row each.

use crate::terrain::grid::Grid;

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

impl Column {
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
    pub fn at(cells: impl IntoIterator<Item = [i64; 2]>) -> Self {
        let (rows, columns): (Vec<i64>, Vec<i64>) = cells.into_iter().map(|[row, column]| (row, column)).unzip();
        let named = [("row", rows), ("column", columns)];
        Self { columns: named.map(|(name, values)| (name.into(), "cell".into(), Column::Int(values))).into() }
    }

    /// The same with one more column, as long as the others.
    #[must_use]
    pub fn with(mut self, name: &str, unit: &str, values: Column) -> Self {
        self.columns.push((name.into(), unit.into(), values));
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

    /// Adds the rows of a table with the same columns in the same order.
    pub fn append(&mut self, other: &Self) {
        for ((_, _, mine), (_, _, theirs)) in self.columns.iter_mut().zip(&other.columns) {
            match (mine, theirs) {
                (Column::Int(a), Column::Int(b)) => a.extend(b),
                (Column::Float(a), Column::Float(b)) => a.extend(b),
                _ => {}
            }
        }
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
