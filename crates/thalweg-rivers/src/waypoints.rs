//! Mouths and waypoints as tables of a terrain, and as a recipe gives them.

use serde_json::Map;

use crate::Pass;
use thalweg_core::terrain::{Column, Table, within};
use thalweg_core::{Cell, Error, Grid, Point, Result, Terrain};
use thalweg_noise::given::Given;
use thalweg_noise::given::rows::{self, Entry, X, Y};
use thalweg_noise::given::springs::cell_of;

/// Name of the table of places where rivers end. Its columns are `row` and `column` (world cell).
pub const MOUTHS: &str = "mouths";

/// Name of the table of places that rivers pass through. Its columns are `row`, `column` (world cell) and `reach` (m).
pub const PASSES: &str = "passes";

/// The largest number of either in a stage.
const MOST: usize = 100_000;

/// Farthest that water is drawn to a place, in metres.
pub const MAX_REACH: f64 = 1e6;

const REACH: Entry =
    Entry { name: "reach", unit: "m", min: 0.0, max: MAX_REACH, about: "From how far water is drawn to the place." };

/// A place in the world, whatever its cells, that is to be the mouth of a river.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MouthPlace {
    /// Metres eastward from the map's north-western corner.
    pub x: f64,
    /// Metres southward from there.
    pub y: f64,
}

/// A place in the world, whatever its cells, that a river is to pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waypoint {
    /// Metres eastward from the map's north-western corner.
    pub x: f64,
    /// Metres southward from there.
    pub y: f64,
    /// Metres from which water is drawn to it, 0 to [`MAX_REACH`].
    pub reach: f64,
}

impl Given for MouthPlace {
    const TABLE: &'static str = MOUTHS;
    const PASSING: bool = true;

    fn parse(list: &toml::Value) -> Result<Vec<Self>> {
        rows::list(MOUTHS, list, MOST, "{ x = metres, y = metres }", |owner, row| {
            let [x, y] = rows::numbers(owner, row, &[X, Y], &[])?;
            Ok(Self { x, y })
        })
    }

    fn to_toml(&self) -> String {
        format!("{{ {} }}", rows::to_toml([self.x, self.y], &[X, Y]))
    }

    fn schema() -> serde_json::Value {
        rows::schema(MOST, &[X, Y], Map::new())
    }

    fn widen(&mut self, times: f64) {
        self.x *= times;
        self.y *= times;
    }

    fn check(rows: &[Self], grid: &Grid) -> Result<()> {
        table(MOUTHS, rows.iter().map(|mouth| Point { x: mouth.x, y: mouth.y }), grid).map(drop)
    }

    /// They stand in place of those that the terrain has.
    fn put(rows: &[Self], terrain: &mut Terrain) -> Result<()> {
        let table = table(MOUTHS, rows.iter().map(|mouth| Point { x: mouth.x, y: mouth.y }), &terrain.grid)?;
        terrain.tables.insert(MOUTHS.into(), within(&table, &terrain.grid));
        Ok(())
    }
}

impl Given for Waypoint {
    const TABLE: &'static str = PASSES;
    const PASSING: bool = true;

    fn parse(list: &toml::Value) -> Result<Vec<Self>> {
        rows::list(PASSES, list, MOST, "{ x = metres, y = metres, reach = metres }", |owner, row| {
            let [x, y, reach] = rows::numbers(owner, row, &[X, Y, REACH], &[])?;
            Ok(Self { x, y, reach })
        })
    }

    fn to_toml(&self) -> String {
        format!("{{ {} }}", rows::to_toml([self.x, self.y, self.reach], &[X, Y, REACH]))
    }

    fn schema() -> serde_json::Value {
        rows::schema(MOST, &[X, Y, REACH], Map::new())
    }

    fn widen(&mut self, times: f64) {
        self.x *= times;
        self.y *= times;
        self.reach = (self.reach * times).min(MAX_REACH);
    }

    fn check(rows: &[Self], grid: &Grid) -> Result<()> {
        table(PASSES, rows.iter().map(|pass| Point { x: pass.x, y: pass.y }), grid).map(drop)
    }

    /// They stand in place of those that the terrain has.
    fn put(rows: &[Self], terrain: &mut Terrain) -> Result<()> {
        let reaches = rows.iter().map(|point| point.reach as f32).collect();
        let table = table(PASSES, rows.iter().map(|pass| Point { x: pass.x, y: pass.y }), &terrain.grid)?;
        let table = table.with(REACH.name, REACH.unit, Column::Float(reaches));
        terrain.tables.insert(PASSES.into(), within(&table, &terrain.grid));
        Ok(())
    }
}

/// The table of these positions on `grid`.
///
/// # Errors
/// If a position is outside the world; the message calls it by `name`.
fn table(name: &str, points: impl Iterator<Item = Point>, grid: &Grid) -> Result<Table> {
    let named = points.enumerate().map(|(number, point)| cell_of(&rows::name(name, number), point, grid));
    let cells = named.collect::<Result<Vec<_>>>()?;
    Ok(Table::at(cells))
}

/// The mouths of a terrain's table, as cells (row, column) of its window; empty without a table.
///
/// # Errors
/// A table without the columns `row` and `column` of whole numbers and one length; a cell outside of the terrain, by row and column.
pub fn mouths(terrain: &Terrain) -> Result<Vec<Cell>> {
    cells(terrain, MOUTHS)
}

/// The passes of a terrain's table, in its order; empty without a table.
///
/// # Errors
/// As [`mouths`]; a table without the column `reach`.
pub fn passes(terrain: &Terrain) -> Result<Vec<Pass>> {
    let cells = cells(terrain, PASSES)?;
    let Some(table) = terrain.tables.get(PASSES) else { return Ok(Vec::new()) };
    let reaches = table.floats("reach").ok_or_else(|| Error::layer(PASSES, "is a table without the column reach"))?;
    Ok(cells.into_iter().zip(reaches).map(|(cell, reach)| Pass { cell, reach: f64::from(*reach) }).collect())
}

fn cells(terrain: &Terrain, name: &str) -> Result<Vec<Cell>> {
    let Some(table) = terrain.tables.get(name) else { return Ok(Vec::new()) };
    rows::cells(name, table, &terrain.grid)
}
