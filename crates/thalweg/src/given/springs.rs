//! [`Spring`]: water that keeps running out of the ground at a place; the table of springs that models of water read.

use serde_json::json;

use crate::base::error::{Error, Result};
use crate::given::Given;
use crate::terrain::grid::Grid;
use crate::terrain::{Column, Table, Terrain, within};

/// The table's name. Its columns are `row` and `column` (world cell) and `rate` (m³/s).
pub const SPRINGS: &str = "springs";

/// The largest number of springs in a stage.
const MAX_SPRINGS: usize = 100_000;

/// How a spring is written in a recipe.
const WRITTEN: &str = "{ x = metres, y = metres, rate = m³/s }";

/// Greatest rate of a spring in m³/s: more than all rivers of the Earth together.
pub const MAX_RATE: f64 = 1e7;

/// A spring at a place in the world, whatever its cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spring {
    /// Metres eastward from the world's north-western corner.
    pub x: f64,
    /// Metres southward from there.
    pub y: f64,
    /// Water in m³/s.
    pub rate: f64,
}

/// A spring's cell in a terrain and its rate in m³/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpringSource {
    /// Row and column.
    pub cell: [usize; 2],
    /// Water in m³/s.
    pub rate: f64,
}

impl Spring {
    /// Checks what can be checked without a grid; `name` is said in messages.
    ///
    /// # Errors
    /// A place north or west of the world, a rate that is negative or too great, anything that is no number.
    pub fn check(&self, name: &str) -> Result<()> {
        for (key, value) in [("x", self.x), ("y", self.y)] {
            if !(0.0..f64::INFINITY).contains(&value) {
                return Err(Error::value(format!("{name}.{key}"), format!("{value} m"), "0 m and more"));
            }
        }
        rate(name, self.rate).map(|_| ())
    }

    /// The world cell (row, column) of `grid` that the spring rises in; `name` is said in messages.
    ///
    /// # Errors
    /// As [`Spring::check`], and a place outside the world.
    pub fn cell(&self, name: &str, grid: &Grid) -> Result<[i64; 2]> {
        self.check(name)?;
        cell_of(name, [self.x, self.y], grid)
    }
}

/// The world cell (row, column) round a place in metres; `name` is said of it in messages.
///
/// # Errors
/// A place outside the world.
pub(crate) fn cell_of(name: &str, [x, y]: [f64; 2], grid: &Grid) -> Result<[i64; 2]> {
    world_cell(grid, [y, x]).map_err(|axis| {
        let (key, value, side) = [("y", y, "height"), ("x", x, "width")][axis];
        let allowed = format!("0 to {} m (the world's {side})", grid.extent()[axis]);
        Error::value(format!("{name}.{key}"), format!("{value} m"), allowed)
    })
}

/// The world cell (row, column) round a place `[y, x]` in metres; its far sides belong to the world.
///
/// # Errors
/// The axis (0 is y) along which the place lies outside.
pub fn world_cell(grid: &Grid, place: [f64; 2]) -> std::result::Result<[i64; 2], usize> {
    let extent = grid.extent();
    match (0..2).find(|axis| !(0.0..=extent[*axis]).contains(&place[*axis])) {
        Some(axis) => Err(axis),
        None => Ok([0, 1].map(|a| ((place[a] / grid.cell) as i64).min(grid.world[a] as i64 - 1))),
    }
}

impl Given for Spring {
    const TABLE: &'static str = SPRINGS;
    const PASSING: bool = true;

    fn parse(list: &toml::Value) -> Result<Vec<Self>> {
        let rows = list.as_array().filter(|rows| rows.len() <= MAX_SPRINGS);
        let allowed = || format!("a list of up to {MAX_SPRINGS} of {WRITTEN}");
        let rows = rows.ok_or_else(|| Error::value(SPRINGS, list.type_str(), allowed()))?;
        let spring = |(number, row): (usize, &toml::Value)| {
            let name = name(number);
            let table = row.as_table().ok_or_else(|| Error::value(name.as_str(), row, WRITTEN))?;
            let keys = ["x", "y", "rate"];
            if let Some(key) = table.keys().find(|key| !keys.contains(&key.as_str())) {
                return Err(Error::unknown("key", key, keys));
            }
            let read = |key: &str| {
                let value = table.get(key).ok_or_else(|| Error::value(name.as_str(), row, WRITTEN))?;
                let number = value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
                number.ok_or_else(|| Error::value(format!("{name}.{key}"), value, "a number"))
            };
            let spring = Self { x: read("x")?, y: read("y")?, rate: read("rate")? };
            spring.check(&name).map(|()| spring)
        };
        rows.iter().enumerate().map(spring).collect()
    }

    fn to_toml(&self) -> String {
        format!("{{ x = {:?}, y = {:?}, rate = {:?} }}", self.x, self.y, self.rate)
    }

    fn schema() -> serde_json::Value {
        let metres = |about: &str| json!({"type": "number", "minimum": 0, "description": about});
        let properties = json!({
            "x": metres("Metres eastward from the world's north-western corner."),
            "y": metres("Metres southward from there."),
            "rate": {"type": "number", "minimum": 0, "maximum": MAX_RATE, "description": "Water in m³/s."},
        });
        let spring = json!({"type": "object", "additionalProperties": false, "required": ["x", "y", "rate"],
                            "properties": properties});
        json!({"type": "array", "maxItems": MAX_SPRINGS, "items": spring})
    }

    fn widen(&mut self, times: f64) {
        self.x *= times;
        self.y *= times;
    }

    fn check(rows: &[Self], grid: &Grid) -> Result<()> {
        table(rows, grid).map(drop)
    }

    fn fit(_: &[Self], terrain: &Terrain) -> Result<()> {
        sources(terrain).map(drop)
    }

    /// They are added to those that the terrain has.
    fn put(rows: &[Self], terrain: &mut Terrain) -> Result<()> {
        add(terrain, rows)
    }
}

/// The springs' table on `grid`.
///
/// # Errors
/// As [`Spring::cell`].
pub fn table(springs: &[Spring], grid: &Grid) -> Result<Table> {
    let named = springs.iter().enumerate().map(|(number, spring)| spring.cell(&name(number), grid));
    let cells = named.collect::<Result<Vec<_>>>()?;
    let column = |name: &str, unit: &str, values| (name.to_string(), unit.to_string(), values);
    Ok(Table {
        columns: vec![
            column("row", "cell", Column::Int(cells.iter().map(|cell| cell[0]).collect())),
            column("column", "cell", Column::Int(cells.iter().map(|cell| cell[1]).collect())),
            column("rate", "m³/s", Column::Float(springs.iter().map(|spring| spring.rate as f32).collect())),
        ],
    })
}

/// Adds springs to those that a terrain has; one at a time or all at once makes no difference.
///
/// # Errors
/// As [`Spring::cell`], and when the terrain has a table of that name with other columns.
pub fn add(terrain: &mut Terrain, springs: &[Spring]) -> Result<()> {
    let more = table(springs, &terrain.grid)?;
    // A tile has the springs that lie in it.
    let more = within(&more, &terrain.grid);
    sources(terrain)?;
    match terrain.tables.get_mut(SPRINGS) {
        Some(table) => table.append(&more),
        None => drop(terrain.tables.insert(SPRINGS.to_string(), more)),
    }
    Ok(())
}

/// The springs of a terrain's table, in its order; none without a table.
///
/// # Errors
/// When the table, which may come from anywhere, is none of springs in this terrain.
pub fn sources(terrain: &Terrain) -> Result<Vec<SpringSource>> {
    let Some(table) = terrain.tables.get(SPRINGS) else { return Ok(Vec::new()) };
    let columns = (table.ints("row"), table.ints("column"), table.floats("rate"));
    let (Some(rows), Some(cols), Some(rates)) = columns else {
        return Err(Error::layer(SPRINGS, "is a table without the columns row, column (whole) and rate"));
    };
    if !table.is_even() || table.columns.len() != 3 {
        return Err(Error::layer(SPRINGS, "is a table of other columns than row, column and rate, of one length"));
    }
    let grid = &terrain.grid;
    let source = |r: usize| {
        let local = |world: i64, axis: usize, key: &str| {
            let [first, size] = [grid.origin[axis], grid.size[axis] as i64];
            let inside = world.checked_sub(first).filter(|at| (0..size).contains(at));
            let allowed = || format!("{first} to {} (cells of the terrain)", first + size - 1);
            inside.ok_or_else(|| Error::value(format!("{}.{key}", name(r)), world, allowed()))
        };
        let cell = [local(rows[r], 0, "row")? as usize, local(cols[r], 1, "column")? as usize];
        Ok(SpringSource { cell, rate: rate(&name(r), f64::from(rates[r]))? })
    };
    (0..table.len()).map(source).collect()
}

/// How messages call the spring of that number, counted from 1.
pub fn name(number: usize) -> String {
    format!("{SPRINGS}[{}]", number + 1)
}

fn rate(name: &str, rate: f64) -> Result<f64> {
    if (0.0..=MAX_RATE).contains(&rate) {
        return Ok(rate);
    }
    Err(Error::value(format!("{name}.rate"), format!("{rate} m³/s"), format!("0 to {MAX_RATE} m³/s")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terrain::field::Window;

    #[test]
    fn places_become_cells_and_come_back() {
        let grid = Grid::new([30, 40], 10.0).unwrap();
        let spring = |x, y| Spring { x, y, rate: 2.0 };
        for (x, y, want) in [(0.0, 0.0, [0, 0]), (9.99, 10.0, [1, 0]), (400.0, 300.0, [29, 39]), (155.0, 5.0, [0, 15])]
        {
            assert_eq!(spring(x, y).cell("s", &grid).unwrap(), want);
        }
        let mut terrain = Terrain::new(grid);
        add(&mut terrain, &[spring(155.0, 5.0)]).unwrap();
        add(&mut terrain, &[spring(0.0, 299.0)]).unwrap();
        let want = [SpringSource { cell: [0, 15], rate: 2.0 }, SpringSource { cell: [29, 0], rate: 2.0 }];
        assert_eq!(sources(&terrain).unwrap(), want);
        let tile = terrain.window(Window { start: [20, 0], size: [10, 10] });
        assert_eq!(sources(&tile).unwrap(), [SpringSource { cell: [9, 0], rate: 2.0 }]);
    }

    #[test]
    fn what_is_no_spring_is_named() {
        let grid = Grid::new([30, 40], 10.0).unwrap();
        for (x, y, rate, words) in [
            (400.5, 0.0, 1.0, "springs[1].x = 400.5 m: allowed is 0 to 400 m (the world's width)"),
            (0.0, 300.5, 1.0, "springs[1].y = 300.5 m: allowed is 0 to 300 m (the world's height)"),
            (-1.0, 0.0, 1.0, "springs[1].x = -1 m"),
            (0.0, f64::NAN, 1.0, "springs[1].y = NaN m"),
            (0.0, 0.0, -0.5, "springs[1].rate = -0.5 m³/s"),
            (0.0, 0.0, f64::INFINITY, "springs[1].rate = inf m³/s"),
        ] {
            let message = table(&[Spring { x, y, rate }], &grid).unwrap_err().to_string();
            assert!(message.starts_with(words), "{message}");
        }
        let mut terrain = Terrain::new(grid.clone());
        terrain.tables.insert(SPRINGS.into(), table(&[Spring { x: 0.0, y: 0.0, rate: 1.0 }], &grid).unwrap());
        let forge = |column: usize, values: Column| {
            let mut other = terrain.clone();
            other.tables.get_mut(SPRINGS).unwrap().columns[column].2 = values;
            sources(&other).unwrap_err().to_string()
        };
        assert!(forge(0, Column::Int(vec![30])).contains("springs[1].row = 30: allowed is 0 to 29"));
        assert!(forge(1, Column::Int(vec![i64::MIN])).contains("springs[1].column"));
        assert!(forge(2, Column::Float(vec![f32::NAN])).contains("springs[1].rate = NaN"));
        assert!(forge(2, Column::Float(vec![])).contains("one length"));
        assert!(forge(2, Column::Int(vec![1])).contains("without the columns"));
    }
}
