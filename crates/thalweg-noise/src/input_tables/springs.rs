//! [`Spring`]: a constant source of water at a position; the table of springs that water models read.

use serde_json::Map;

use crate::input_tables::Given;
use crate::input_tables::rows::{self, ColumnSpec, X, Y};
use thalweg_core::terrain::{Column, Table, select_rows_inside};
use thalweg_core::{Cell, Error, Grid, Point, Result, Terrain};

/// The name of the table. Its columns are `row` and `column` (world cell) and `rate` (m³/s).
pub const SPRINGS: &str = "springs";

/// The largest number of springs in a stage.
const MAX_SPRINGS: usize = 100_000;

/// The syntax of a spring in a recipe.
const WRITTEN: &str = "{ x = metres, y = metres, rate = m³/s }";

/// The largest rate of a spring in m³/s: more than all the rivers of the Earth together.
pub const MAX_RATE: f64 = 1e7;

const RATE: ColumnSpec = ColumnSpec { name: "rate", unit: "m³/s", min: 0.0, max: MAX_RATE, about: "Water." };

const ENTRIES: [ColumnSpec; 3] = [X, Y, RATE];

/// A spring at a position in the world, independent of the cell size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spring {
    /// The distance in metres eastward from the world's north-western corner.
    pub x: f64,
    /// The distance in metres southward from that corner.
    pub y: f64,
    /// The discharge in m³/s, 0 to [`MAX_RATE`].
    pub rate: f64,
}

/// A spring's cell in a terrain and its rate in m³/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpringSource {
    /// The row and column in the terrain's own window.
    pub cell: Cell,
    /// The discharge in m³/s.
    pub rate: f64,
}

impl Spring {
    /// Checks what can be checked without a grid; messages call the spring `name`.
    ///
    /// # Errors
    /// Returns an error if the position is more than 10⁹ m away, the rate is negative or above [`MAX_RATE`], or a value
    /// is NaN.
    pub fn check(&self, name: &str) -> Result<()> {
        ENTRIES.iter().zip(self.to_numbers()).try_for_each(|(entry, x)| entry.check(name, x).map(drop))
    }

    fn to_numbers(self) -> [f64; 3] {
        [self.x, self.y, self.rate]
    }

    /// Returns the world cell (row, column) of `grid` that contains the spring; messages call the spring `name`.
    ///
    /// # Errors
    /// Returns the errors of [`Spring::check`], and an error for a position outside the world. For example, a spring at
    /// x = 7000 m is outside a world that is 6 km wide.
    pub fn cell(&self, name: &str, grid: &Grid) -> Result<Cell<i64>> {
        self.check(name)?;
        find_world_cell(name, Point { x: self.x, y: self.y }, grid)
    }
}

/// Returns the world cell (row, column) that contains a position; messages call the position `name`.
///
/// # Errors
/// Returns an error if the position is outside the world.
pub fn find_world_cell(name: &str, point: Point, grid: &Grid) -> Result<Cell<i64>> {
    world_cell(grid, point).map_err(|axis| {
        let (key, value) = [("y", point.y), ("x", point.x)][axis];
        Error::invalid_value(format!("{name}.{key}"), format!("{value} m"), grid.describe_span(axis))
    })
}

/// Returns the world cell (row, column) that contains a position. Positions on the world's southern and eastern edges
/// belong to the last row and column.
///
/// # Errors
/// Returns the axis (0 is y) along which the position is outside, if it is outside the world.
pub fn world_cell(grid: &Grid, point: Point) -> std::result::Result<Cell<i64>, usize> {
    let last = |axis: usize| grid.first[axis] + grid.world[axis] as i64 - 1;
    match grid.find_axis_outside(point) {
        Some(axis) => Err(axis),
        None => Ok(Cell::from_axes(|axis| ((point.axis_coordinate(axis) / grid.cell).floor() as i64).min(last(axis)))),
    }
}

impl Given for Spring {
    const TABLE: &'static str = SPRINGS;
    const PASSING: bool = true;

    fn parse(list: &toml::Value) -> Result<Vec<Self>> {
        rows::parse_rows(SPRINGS, list, MAX_SPRINGS, WRITTEN, |owner, row| {
            let [x, y, rate] = rows::parse_numbers(owner, row, &ENTRIES, &[])?;
            Ok(Self { x, y, rate })
        })
    }

    fn to_toml(&self) -> String {
        format!("{{ {} }}", rows::to_toml(self.to_numbers(), &ENTRIES))
    }

    fn schema() -> serde_json::Value {
        rows::build_schema(MAX_SPRINGS, &ENTRIES, Map::new())
    }

    fn widen(&mut self, times: f64) {
        self.x *= times;
        self.y *= times;
    }

    fn check(rows: &[Self], grid: &Grid) -> Result<()> {
        build_spring_table(rows, grid).map(drop)
    }

    fn fit(_: &[Self], terrain: &Terrain) -> Result<()> {
        spring_sources(terrain).map(drop)
    }

    /// Adds the springs to those that the terrain already has.
    fn put(rows: &[Self], terrain: &mut Terrain) -> Result<()> {
        add_springs(terrain, rows)
    }
}

/// Returns the table of `springs` on `grid`: one row per spring, in order, with the columns of [`SPRINGS`].
///
/// # Errors
/// Returns the errors of [`Spring::cell`].
pub fn build_spring_table(springs: &[Spring], grid: &Grid) -> Result<Table> {
    let named = springs.iter().enumerate().map(|(number, spring)| spring.cell(&spring_name(number), grid));
    let cells = named.collect::<Result<Vec<_>>>()?;
    let rates = springs.iter().map(|spring| spring.rate as f32).collect();
    Ok(Table::from_cells(cells).with_column(RATE.name, RATE.unit, Column::Float(rates)))
}

/// Adds springs to those that a terrain already has. Adding them one at a time or all at once gives the same result.
/// Springs of the world that are outside the terrain's window are left out.
///
/// # Errors
/// Returns the errors of [`Spring::cell`], and those of [`spring_sources`] for the terrain's existing table.
pub fn add_springs(terrain: &mut Terrain, springs: &[Spring]) -> Result<()> {
    let more = build_spring_table(springs, &terrain.grid)?;
    // A tile keeps only the springs inside its window.
    let more = select_rows_inside(&more, &terrain.grid);
    // An invalid table of the terrain is rejected before rows are appended to it.
    spring_sources(terrain)?;
    match terrain.tables.get_mut(SPRINGS) {
        Some(table) => table.append_rows(&more)?,
        None => drop(terrain.tables.insert(SPRINGS.to_string(), more)),
    }
    Ok(())
}

/// Returns the springs of a terrain's table, in order; empty if there is no table.
///
/// # Errors
/// Returns an error if the table, which may come from an untrusted source, has columns other than those of [`SPRINGS`]
/// or columns of different lengths, if a cell is outside the terrain, or if a rate is not within 0 to [`MAX_RATE`].
pub fn spring_sources(terrain: &Terrain) -> Result<Vec<SpringSource>> {
    let Some(table) = terrain.tables.get(SPRINGS) else { return Ok(Vec::new()) };
    let without = || {
        Error::invalid_layer(SPRINGS, "must be a table with the columns row and column (whole numbers) and rate (m³/s)")
    };
    let rates = table.float_column(RATE.name).ok_or_else(without)?;
    if table.columns.len() != 3 {
        return Err(Error::invalid_layer(SPRINGS, "must be a table with no columns other than row, column and rate"));
    }
    let source = |(number, (cell, rate)): (usize, (Cell, &f32))| {
        Ok(SpringSource { cell, rate: RATE.check(&spring_name(number), f64::from(*rate))? })
    };
    rows::read_cells(SPRINGS, table, &terrain.grid)?.into_iter().zip(rates).enumerate().map(source).collect()
}

/// Returns the name in messages of the spring at index `number` of a list, counted from 1: `springs[1]` for 0.
pub fn spring_name(number: usize) -> String {
    rows::row_name(SPRINGS, number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::CellRect;

    #[test]
    fn places_become_cells_and_come_back() {
        let grid = Grid::new([30, 40], 10.0).unwrap();
        let spring = |x, y| Spring { x, y, rate: 2.0 };
        for (x, y, want) in [(0.0, 0.0, [0, 0]), (9.99, 10.0, [1, 0]), (400.0, 300.0, [29, 39]), (155.0, 5.0, [0, 15])]
        {
            assert_eq!(spring(x, y).cell("s", &grid).unwrap(), want.into());
        }
        let mut terrain = Terrain::new(grid);
        add_springs(&mut terrain, &[spring(155.0, 5.0)]).unwrap();
        add_springs(&mut terrain, &[spring(0.0, 299.0)]).unwrap();
        let want =
            [SpringSource { cell: Cell::new(0, 15), rate: 2.0 }, SpringSource { cell: Cell::new(29, 0), rate: 2.0 }];
        assert_eq!(spring_sources(&terrain).unwrap(), want);
        let tile = terrain.copy_window(CellRect::new([20, 0], [10, 10]));
        assert_eq!(spring_sources(&tile).unwrap(), [SpringSource { cell: Cell::new(9, 0), rate: 2.0 }]);
    }

    #[test]
    fn what_is_no_spring_is_named() {
        let grid = Grid::new([30, 40], 10.0).unwrap();
        for (x, y, rate, words) in [
            (400.5, 0.0, 1.0, "springs[1].x = 400.5 m: must be 0 to 400 m (the world's width)"),
            (0.0, 300.5, 1.0, "springs[1].y = 300.5 m: must be 0 to 300 m (the world's height)"),
            (-1.0, 0.0, 1.0, "springs[1].x = -1 m"),
            (0.0, f64::NAN, 1.0, "springs[1].y = NaN m"),
            (0.0, 0.0, -0.5, "springs[1].rate = -0.5 m³/s"),
            (0.0, 0.0, f64::INFINITY, "springs[1].rate = inf m³/s"),
        ] {
            let message = build_spring_table(&[Spring { x, y, rate }], &grid).unwrap_err().to_string();
            assert!(message.starts_with(words), "{message}");
        }
        let mut terrain = Terrain::new(grid.clone());
        terrain
            .tables
            .insert(SPRINGS.into(), build_spring_table(&[Spring { x: 0.0, y: 0.0, rate: 1.0 }], &grid).unwrap());
        let forge = |column: usize, values: Column| {
            let mut other = terrain.clone();
            other.tables.get_mut(SPRINGS).unwrap().columns[column].2 = values;
            spring_sources(&other).unwrap_err().to_string()
        };
        assert!(forge(0, Column::Int(vec![30])).contains("springs[1].row = 30: must be 0 to 29"));
        assert!(forge(1, Column::Int(vec![i64::MIN])).contains("springs[1].column"));
        assert!(forge(2, Column::Float(vec![f32::NAN])).contains("springs[1].rate = NaN"));
        assert!(forge(2, Column::Float(vec![])).contains("the same length"));
        assert!(forge(2, Column::Int(vec![1])).contains("with the columns"));
    }
}
