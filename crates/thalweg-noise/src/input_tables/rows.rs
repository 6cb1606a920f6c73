//! Tables of bounded numbers, with one item per row: parsing from a recipe's list, the JSON Schema, and conversion to
//! and from a terrain's table.

use serde_json::{Map, json};

use thalweg_core::terrain::{Column, Table};
use thalweg_core::{Cell, Error, Grid, Result};

/// The description of one number of a row: a key in a recipe and a column in a terrain.
#[derive(Debug, Clone, Copy)]
pub struct ColumnSpec {
    /// The key in a recipe and name of the column.
    pub name: &'static str,
    /// The unit of the value, `1` if it has none.
    pub unit: &'static str,
    /// The smallest allowed value.
    pub min: f64,
    /// The largest allowed value.
    pub max: f64,
    /// The description, a sentence.
    pub about: &'static str,
}

/// The largest distance of a position from the map's corner in metres, in either direction: ten times as far as in
/// the widest world. The grid decides which positions belong to a world, because a margin may extend beyond the map
/// on all sides.
const MAX_DISTANCE_M: f64 = 1e9;

/// The position of a row's item from west to east.
pub const X: ColumnSpec = ColumnSpec {
    name: "x",
    unit: "m",
    min: -MAX_DISTANCE_M,
    max: MAX_DISTANCE_M,
    about: "Eastward from the map's north-western corner.",
};

/// The position of a row's item from north to south.
pub const Y: ColumnSpec =
    ColumnSpec { name: "y", unit: "m", min: -MAX_DISTANCE_M, max: MAX_DISTANCE_M, about: "Southward from there." };

impl ColumnSpec {
    fn with_unit(&self, text: String) -> String {
        match self.unit {
            "1" => text,
            "°" => text + "°",
            unit => format!("{text} {unit}"),
        }
    }

    /// Returns the number if it is in range; error messages name `owner`.
    ///
    /// # Errors
    /// Returns an error if the number is out of range; the message gives the range.
    pub fn check(&self, owner: &str, x: f64) -> Result<f64> {
        if (self.min..=self.max).contains(&x) {
            return Ok(x);
        }
        let allowed = self.with_unit(format!("{} to {}", self.min, self.max));
        Err(Error::invalid_value(format!("{owner}.{}", self.name), self.with_unit(x.to_string()), allowed))
    }
}

/// Returns the name of the row with index `number` in messages, counted from 1.
pub fn row_name(table: &str, number: usize) -> String {
    format!("{table}[{}]", number + 1)
}

/// Parses a recipe's list of at most `most` rows, each with `read`; `written` shows in messages how a row is written.
///
/// # Errors
/// Returns an error if the value is not such a list, and the errors of `read`.
pub fn parse_rows<T>(
    table: &str,
    value: &toml::Value,
    most: usize,
    written: &str,
    read: impl Fn(&str, &toml::Table) -> Result<T>,
) -> Result<Vec<T>> {
    let rows = value.as_array().filter(|rows| rows.len() <= most);
    let allowed = || format!("a list of up to {most} of {written}");
    let rows = rows.ok_or_else(|| Error::invalid_value(table, value.type_str(), allowed()))?;
    let row = |(number, row): (usize, &toml::Value)| {
        let name = row_name(table, number);
        let keys = row.as_table().ok_or_else(|| Error::invalid_value(name.as_str(), row, written))?;
        read(&name, keys)
    };
    rows.iter().enumerate().map(row).collect()
}

/// Reads the numbers of one row of a recipe's list, all of which are required; `others` names its further allowed
/// keys.
///
/// # Errors
/// Returns an error if a key is missing or unknown, or a number is out of range.
pub fn parse_numbers<const N: usize>(
    owner: &str,
    row: &toml::Table,
    entries: &[ColumnSpec; N],
    others: &[&'static str],
) -> Result<[f64; N]> {
    let known = || others.iter().copied().chain(entries.iter().map(|entry| entry.name));
    if let Some(key) = row.keys().find(|key| !known().any(|known| known == *key)) {
        return Err(Error::unknown_name("key", key, known()));
    }
    let mut numbers = [0.0; N];
    for (number, entry) in numbers.iter_mut().zip(entries) {
        let named = || format!("{owner}.{}", entry.name);
        let value = row.get(entry.name).ok_or_else(|| Error::missing_input(named(), "give a number"))?;
        let read = value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
        *number = entry.check(owner, read.ok_or_else(|| Error::invalid_value(named(), value, "a number"))?)?;
    }
    Ok(numbers)
}

/// Returns a row's numbers as they are written in a recipe.
pub fn to_toml<T: std::fmt::Debug, const N: usize>(numbers: [T; N], entries: &[ColumnSpec; N]) -> String {
    let pairs: Vec<_> = entries.iter().zip(numbers).map(|(entry, x)| format!("{} = {x:?}", entry.name)).collect();
    pairs.join(", ")
}

/// Returns the JSON Schema of a recipe's list of at most `most` rows with these numbers and the further keys in
/// `others`.
pub fn build_schema(most: usize, entries: &[ColumnSpec], others: Map<String, serde_json::Value>) -> serde_json::Value {
    let mut properties = others;
    for entry in entries {
        let about = format!("{} [{}]", entry.about, entry.unit);
        let number = json!({"type": "number", "minimum": entry.min, "maximum": entry.max, "description": about});
        properties.insert(entry.name.into(), number);
    }
    let required: Vec<String> = properties.keys().cloned().collect();
    let row = json!({"type": "object", "additionalProperties": false, "required": required, "properties": properties});
    json!({"type": "array", "maxItems": most, "items": row})
}

/// Converts the numbers to a terrain's table.
pub fn build_table<const N: usize>(rows: &[[f32; N]], entries: &[ColumnSpec; N]) -> Table {
    let column = |(c, entry): (usize, &ColumnSpec)| {
        let values = rows.iter().map(|row| row[c]).collect();
        (entry.name.to_string(), entry.unit.to_string(), Column::Float(values))
    };
    Table { columns: entries.iter().enumerate().map(column).collect() }
}

/// Reads the numbers of a terrain's table, which may come from an untrusted source.
///
/// # Errors
/// Returns an error if a column is missing or shorter than another, a number is out of range, or there are more than
/// `most` rows.
pub fn read_numbers<const N: usize>(
    name: &str,
    table: &Table,
    entries: &[ColumnSpec; N],
    most: usize,
) -> Result<Vec<[f32; N]>> {
    let names = || entries.map(|entry| entry.name).join(", ");
    if !table.is_even() || entries.iter().any(|entry| table.float_column(entry.name).is_none()) {
        return Err(Error::invalid_layer(
            name,
            format!("must be a table with the columns {}, all of the same length", names()),
        ));
    }
    if table.len() > most {
        return Err(Error::invalid_layer(
            name,
            format!("is a table of {} rows; it may have up to {most}", table.len()),
        ));
    }
    let row = |r: usize| {
        let mut row = [0.0; N];
        for (number, entry) in row.iter_mut().zip(entries) {
            // NaN is outside every range, so a missing value fails the check below.
            let value = table.float_column(entry.name).and_then(|values| values.get(r)).copied().unwrap_or(f32::NAN);
            *number = entry.check(&self::row_name(name, r), f64::from(value))? as f32;
        }
        Ok(row)
    };
    (0..table.len()).map(row).collect()
}

/// Returns the cells, in the window of a grid, that a table's columns `row` and `column` specify as world cells.
///
/// # Errors
/// Returns an error if a column is missing, of another type or another length, or if a cell is outside the window.
pub fn read_cells(table_name: &str, table: &Table, grid: &Grid) -> Result<Vec<Cell>> {
    let (Some(rows), Some(cols), true) = (table.int_column("row"), table.int_column("column"), table.is_even()) else {
        return Err(Error::invalid_layer(
            table_name,
            "must be a table with the columns row and column (whole numbers), all of the same length",
        ));
    };
    let local = |number: usize, world: i64, axis: usize| {
        let [first, size] = [grid.origin[axis], grid.size[axis] as i64];
        // A forged table may contain i64::MIN, for which a plain difference overflows.
        let inside = world.checked_sub(first).filter(|at| (0..size).contains(at));
        let named = || format!("{}.{}", row_name(table_name, number), ["row", "column"][axis]);
        let allowed = || format!("{first} to {} (cells of the terrain)", first + size - 1);
        inside.map(|at| at as usize).ok_or_else(|| Error::invalid_value(named(), world, allowed()))
    };
    let cell =
        |(number, (row, col)): (usize, (&i64, &i64))| Ok(Cell::new(local(number, *row, 0)?, local(number, *col, 1)?));
    rows.iter().zip(cols).enumerate().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use crate::input_tables::springs::{Spring, build_spring_table};
    use thalweg_core::{Cell, Grid};

    #[test]
    fn a_margin_has_places_on_all_sides() {
        // A map of 6 × 8 cells with a margin of two.
        let grid = Grid { first: Cell::new(-2, -2), origin: Cell::new(-2, -2), ..Grid::new([10, 12], 10.0).unwrap() };
        let placed = |x: f64, y: f64| build_spring_table(&[Spring { x, y, rate: 1.0 }], &grid);
        for (x, y, cell) in [(-20.0, -11.0, [-2, -2]), (-0.5, 30.0, [3, -1]), (99.0, 79.0, [7, 9])] {
            let table = placed(x, y).unwrap();
            assert_eq!(
                (table.int_column("row").unwrap(), table.int_column("column").unwrap()),
                (&cell[..1], &cell[1..])
            );
        }
        let said = placed(-21.0, 0.0).unwrap_err().to_string();
        assert_eq!(said, "springs[1].x = -21 m: must be -20 to 100 m (the world's width)");
    }
}
