//! Mouths and waypoints as tables of a terrain, and as a recipe gives them.

use serde_json::json;

use crate::base::error::{Error, Result};
use crate::given::Given;
use crate::given::springs::cell_of;
use crate::rivers::Pass;
use crate::terrain::grid::Grid;
use crate::terrain::{Column, Table, Terrain, within};

/// The table of places where rivers end. Its columns are `row` and `column` (world cell).
pub const MOUTHS: &str = "mouths";

/// The table of places that rivers pass through. Its columns are `row`, `column` (world cell) and `reach` (m).
pub const PASSES: &str = "passes";

/// The largest number of either in a stage.
const MAX_WISHES: usize = 100_000;

/// Farthest that water is drawn to a place, in metres.
pub const MAX_REACH: f64 = 1e6;

/// A key of a place's in a recipe, and what it says; all are metres.
type Key = (&'static str, &'static str);

const PLACE: [Key; 2] =
    [("x", "Metres eastward from the world's north-western corner."), ("y", "Metres southward from there.")];
const REACH: Key = ("reach", "Metres from which water is drawn to the place.");

/// A place in the world, whatever its cells, that is wished to be the mouth of a river.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MouthPlace {
    /// Metres eastward from the world's north-western corner.
    pub x: f64,
    /// Metres southward from there.
    pub y: f64,
}

/// A place in the world, whatever its cells, that is wished to be passed by a river.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waypoint {
    /// Metres eastward from the world's north-western corner.
    pub x: f64,
    /// Metres southward from there.
    pub y: f64,
    /// Metres from which water is drawn to it.
    pub reach: f64,
}

impl Given for MouthPlace {
    const TABLE: &'static str = MOUTHS;
    const PASSING: bool = true;

    fn parse(list: &toml::Value) -> Result<Vec<Self>> {
        Ok(rows(MOUTHS, list, PLACE)?.into_iter().map(|[x, y]| Self { x, y }).collect())
    }

    fn to_toml(&self) -> String {
        format!("{{ x = {:?}, y = {:?} }}", self.x, self.y)
    }

    fn schema() -> serde_json::Value {
        schema(&PLACE)
    }

    fn widen(&mut self, times: f64) {
        self.x *= times;
        self.y *= times;
    }

    fn check(rows: &[Self], grid: &Grid) -> Result<()> {
        table(MOUTHS, rows.iter().map(|mouth| [mouth.x, mouth.y]), grid).map(drop)
    }

    /// They stand in place of those that the terrain has.
    fn put(rows: &[Self], terrain: &mut Terrain) -> Result<()> {
        let table = table(MOUTHS, rows.iter().map(|mouth| [mouth.x, mouth.y]), &terrain.grid)?;
        terrain.tables.insert(MOUTHS.into(), within(&table, &terrain.grid));
        Ok(())
    }
}

impl Given for Waypoint {
    const TABLE: &'static str = PASSES;
    const PASSING: bool = true;

    fn parse(list: &toml::Value) -> Result<Vec<Self>> {
        let [x, y] = PLACE;
        Ok(rows(PASSES, list, [x, y, REACH])?.into_iter().map(|[x, y, reach]| Self { x, y, reach }).collect())
    }

    fn to_toml(&self) -> String {
        format!("{{ x = {:?}, y = {:?}, reach = {:?} }}", self.x, self.y, self.reach)
    }

    fn schema() -> serde_json::Value {
        let [x, y] = PLACE;
        schema(&[x, y, REACH])
    }

    fn widen(&mut self, times: f64) {
        self.x *= times;
        self.y *= times;
        self.reach = (self.reach * times).min(MAX_REACH);
    }

    fn check(rows: &[Self], grid: &Grid) -> Result<()> {
        table(PASSES, rows.iter().map(|point| [point.x, point.y]), grid).map(drop)
    }

    /// They stand in place of those that the terrain has.
    fn put(rows: &[Self], terrain: &mut Terrain) -> Result<()> {
        let mut table = table(PASSES, rows.iter().map(|point| [point.x, point.y]), &terrain.grid)?;
        let reaches = rows.iter().map(|point| point.reach as f32).collect();
        table.columns.push((REACH.0.into(), "m".into(), Column::Float(reaches)));
        terrain.tables.insert(PASSES.into(), within(&table, &terrain.grid));
        Ok(())
    }
}

/// The numbers of a recipe's list of places, of each key one; places are checked against a grid later.
fn rows<const N: usize>(name: &str, value: &toml::Value, keys: [Key; N]) -> Result<Vec<[f64; N]>> {
    let names = keys.map(|(key, _)| key);
    let written = format!("{{ {} }}", names.map(|key| format!("{key} = metres")).join(", "));
    let rows = value.as_array().filter(|rows| rows.len() <= MAX_WISHES);
    let rows =
        rows.ok_or_else(|| Error::value(name, value.type_str(), format!("a list of up to {MAX_WISHES} of {written}")))?;
    let row = |(number, row): (usize, &toml::Value)| {
        let name = format!("{name}[{}]", number + 1);
        let table = row.as_table().ok_or_else(|| Error::value(name.as_str(), row, &written))?;
        if let Some(key) = table.keys().find(|key| !names.contains(&key.as_str())) {
            return Err(Error::unknown("key", key, names));
        }
        let mut numbers = [0.0; N];
        for (read, key) in numbers.iter_mut().zip(names) {
            let value = table.get(key).ok_or_else(|| Error::value(name.as_str(), row, &written))?;
            let most = if key == REACH.0 { MAX_REACH } else { 1e9 };
            let number = value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
            let number = number.filter(|number| (0.0..=most).contains(number));
            *read = number.ok_or_else(|| Error::value(format!("{name}.{key}"), value, format!("0 to {most} m")))?;
        }
        Ok(numbers)
    };
    rows.iter().enumerate().map(row).collect()
}

fn schema(keys: &[Key]) -> serde_json::Value {
    let number = |about: &str| json!({"type": "number", "minimum": 0, "description": about});
    let properties: serde_json::Map<_, _> = keys.iter().map(|(key, about)| (key.to_string(), number(about))).collect();
    let required: Vec<&str> = keys.iter().map(|(key, _)| *key).collect();
    let row = json!({"type": "object", "additionalProperties": false, "required": required, "properties": properties});
    json!({"type": "array", "maxItems": MAX_WISHES, "items": row})
}

/// The table of places, x and y in metres, on `grid`.
///
/// # Errors
/// A place outside the world; `name` is said.
fn table(name: &str, places: impl Iterator<Item = [f64; 2]>, grid: &Grid) -> Result<Table> {
    let named = places.enumerate().map(|(number, place)| cell_of(&format!("{name}[{}]", number + 1), place, grid));
    let cells = named.collect::<Result<Vec<_>>>()?;
    let column = |axis: usize| Column::Int(cells.iter().map(|cell| cell[axis]).collect());
    let named = [("row", 0), ("column", 1)].map(|(name, axis)| (name.into(), "cell".into(), column(axis)));
    Ok(Table { columns: named.into() })
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
