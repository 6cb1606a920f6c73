//! Mouths and passes as tables of a terrain, and as a recipe gives them.

use serde_json::json;

use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::rivers::Pass;
use crate::springs::world_cell;
use crate::terrain::{Column, Table, Terrain, within};

/// The table of places where rivers end. Its columns are `row` and `column` (world cell).
pub const MOUTHS: &str = "mouths";

/// The table of places that rivers pass through. Its columns are `row`, `column` (world cell) and `reach` (m).
pub const PASSES: &str = "passes";

/// The largest number of either in a stage.
const MAX_WISHES: usize = 100_000;

/// Farthest that water is drawn to a place, in metres.
pub const MAX_REACH: f64 = 1e6;

/// A place in the world, whatever its cells, that is wished to be a mouth or to be passed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wish {
    /// Metres eastward from the world's north-western corner.
    pub x: f64,
    /// Metres southward from there.
    pub y: f64,
    /// Metres from which water is drawn to it; of mouths none.
    pub reach: Option<f64>,
}

impl Wish {
    /// As it stands in a recipe.
    pub fn to_toml(&self) -> String {
        let reach = self.reach.map_or(String::new(), |reach| format!(", reach = {reach:?}"));
        format!("{{ x = {:?}, y = {:?}{reach} }}", self.x, self.y)
    }
}

/// The mouths or passes (`name`) of a recipe's list; places are checked against a grid later.
///
/// # Errors
/// When it is no list of them.
pub fn parse(name: &str, value: &toml::Value) -> Result<Vec<Wish>> {
    let keys: &[&str] = if name == PASSES { &["x", "y", "reach"] } else { &["x", "y"] };
    let written = format!("{{ {} }}", keys.iter().map(|key| format!("{key} = metres")).collect::<Vec<_>>().join(", "));
    let rows = value.as_array().filter(|rows| rows.len() <= MAX_WISHES);
    let rows =
        rows.ok_or_else(|| Error::value(name, value.type_str(), format!("a list of up to {MAX_WISHES} of {written}")))?;
    let wish = |(number, row): (usize, &toml::Value)| {
        let name = format!("{name}[{}]", number + 1);
        let table = row.as_table().ok_or_else(|| Error::value(name.as_str(), row, &written))?;
        if let Some(key) = table.keys().find(|key| !keys.contains(&key.as_str())) {
            return Err(Error::unknown("key", key, keys.iter().copied()));
        }
        let read = |key: &str| {
            let value = table.get(key).ok_or_else(|| Error::value(name.as_str(), row, &written))?;
            let most = if key == "reach" { MAX_REACH } else { 1e9 };
            let number = value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
            let number = number.filter(|number| (0.0..=most).contains(number));
            number.ok_or_else(|| Error::value(format!("{name}.{key}"), value, format!("0 to {most} m")))
        };
        let reach = if keys.contains(&"reach") { Some(read("reach")?) } else { None };
        Ok(Wish { x: read("x")?, y: read("y")?, reach })
    };
    rows.iter().enumerate().map(wish).collect()
}

/// The JSON Schema of a recipe's list of mouths.
pub fn mouths_schema() -> serde_json::Value {
    schema(&[("x", "Metres eastward from the world's north-western corner."), ("y", "Metres southward from there.")])
}

/// The JSON Schema of a recipe's list of passes.
pub fn passes_schema() -> serde_json::Value {
    schema(&[
        ("x", "Metres eastward from the world's north-western corner."),
        ("y", "Metres southward from there."),
        ("reach", "Metres from which water is drawn to the place."),
    ])
}

fn schema(keys: &[(&str, &str)]) -> serde_json::Value {
    let number = |about: &str| json!({"type": "number", "minimum": 0, "description": about});
    let properties: serde_json::Map<_, _> = keys.iter().map(|(key, about)| (key.to_string(), number(about))).collect();
    let required: Vec<&str> = keys.iter().map(|(key, _)| *key).collect();
    let row = json!({"type": "object", "additionalProperties": false, "required": required, "properties": properties});
    json!({"type": "array", "maxItems": MAX_WISHES, "items": row})
}

/// The table of wishes on `grid`.
///
/// # Errors
/// A place outside the world; `name` is said.
pub fn table(name: &str, wishes: &[Wish], grid: &Grid) -> Result<Table> {
    let cell = |(number, wish): (usize, &Wish)| {
        world_cell(grid, [wish.y, wish.x]).map_err(|axis| {
            let (key, value, side) = [("y", wish.y, "height"), ("x", wish.x, "width")][axis];
            let allowed = format!("0 to {} m (the world's {side})", grid.extent()[axis]);
            Error::value(format!("{name}[{}].{key}", number + 1), format!("{value} m"), allowed)
        })
    };
    let cells = wishes.iter().enumerate().map(cell).collect::<Result<Vec<_>>>()?;
    let column = |name: &str, unit: &str, values| (name.to_string(), unit.to_string(), values);
    let ints = |axis: usize| Column::Int(cells.iter().map(|cell| cell[axis]).collect());
    let mut columns = vec![column("row", "cell", ints(0)), column("column", "cell", ints(1))];
    if name == PASSES {
        let reaches = wishes.iter().map(|wish| wish.reach.unwrap_or(0.0) as f32).collect();
        columns.push(column("reach", "m", Column::Float(reaches)));
    }
    Ok(Table { columns })
}

/// Puts wishes into a terrain, in place of those that it has.
///
/// # Errors
/// As [`table`].
pub fn set(terrain: &mut Terrain, name: &str, wishes: &[Wish]) -> Result<()> {
    let table = table(name, wishes, &terrain.grid)?;
    terrain.tables.insert(name.to_string(), within(&table, &terrain.grid));
    Ok(())
}

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
