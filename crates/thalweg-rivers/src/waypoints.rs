//! Mouths and waypoints of rivers, as tables of a terrain and as given in a recipe.

use serde_json::Map;

use crate::Pass;
use thalweg_core::terrain::{Column, Table, within};
use thalweg_core::{Cell, Error, Grid, Point, Result, Terrain};
use thalweg_noise::given::Given;
use thalweg_noise::given::rows::{self, Entry, X, Y};
use thalweg_noise::given::springs::cell_of;

/// The name of the table of river mouths. Its columns are `row` and `column` (world cell).
pub const MOUTHS: &str = "mouths";

/// The name of the table of places that rivers pass through. Its columns are `row`, `column` (world cell) and `reach`
/// (m).
pub const PASSES: &str = "passes";

/// The largest number of mouths, or of waypoints, in one stage.
const MOST: usize = 100_000;

/// The largest distance from which water is drawn to a place, in metres.
pub const MAX_REACH: f64 = 1e6;

const REACH: Entry =
    Entry { name: "reach", unit: "m", min: 0.0, max: MAX_REACH, about: "From how far water is drawn to the place." };

/// The place of a river mouth in world coordinates, independent of the cell size.
///
/// # Examples
/// ```
/// use thalweg_core::{Cell, Grid, Terrain};
/// use thalweg_noise::given::Given;
/// use thalweg_rivers::waypoints::{MouthPlace, mouths};
///
/// let mut terrain = Terrain::new(Grid::new([4, 4], 100.0)?);
/// MouthPlace::put(&[MouthPlace { x: 350.0, y: 50.0 }], &mut terrain)?;
/// assert_eq!(mouths(&terrain)?, [Cell::new(0, 3)]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MouthPlace {
    /// Distance eastward from the map's north-western corner, in metres.
    pub x: f64,
    /// Distance southward from the map's north-western corner, in metres.
    pub y: f64,
}

/// A place that a river passes through, in world coordinates, independent of the cell size.
///
/// # Examples
/// ```
/// use thalweg_core::{Cell, Grid, Terrain};
/// use thalweg_noise::given::Given;
/// use thalweg_rivers::Pass;
/// use thalweg_rivers::waypoints::{Waypoint, passes};
///
/// // A recipe puts its waypoints into the terrain, where they become cells.
/// let mut terrain = Terrain::new(Grid::new([4, 4], 100.0)?);
/// Waypoint::put(&[Waypoint { x: 250.0, y: 130.0, reach: 500.0 }], &mut terrain)?;
/// assert_eq!(passes(&terrain)?, [Pass { cell: Cell::new(1, 2), reach: 500.0 }]);
/// // A place outside the world is refused.
/// assert!(Waypoint::put(&[Waypoint { x: 401.0, y: 0.0, reach: 0.0 }], &mut terrain).is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waypoint {
    /// Distance eastward from the map's north-western corner, in metres.
    pub x: f64,
    /// Distance southward from the map's north-western corner, in metres.
    pub y: f64,
    /// The distance from which water is drawn to the place, in metres, 0 to [`MAX_REACH`].
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

    /// Replaces the mouths in the terrain's table.
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

    /// Replaces the passes in the terrain's table.
    fn put(rows: &[Self], terrain: &mut Terrain) -> Result<()> {
        let reaches = rows.iter().map(|point| point.reach as f32).collect();
        let table = table(PASSES, rows.iter().map(|pass| Point { x: pass.x, y: pass.y }), &terrain.grid)?;
        let table = table.with(REACH.name, REACH.unit, Column::Float(reaches));
        terrain.tables.insert(PASSES.into(), within(&table, &terrain.grid));
        Ok(())
    }
}

/// Builds the table of these positions on `grid`.
///
/// # Errors
/// Returns an error that names the row of table `name` if a position is outside the world.
fn table(name: &str, points: impl Iterator<Item = Point>, grid: &Grid) -> Result<Table> {
    let named = points.enumerate().map(|(number, point)| cell_of(&rows::name(name, number), point, grid));
    let cells = named.collect::<Result<Vec<_>>>()?;
    Ok(Table::at(cells))
}

/// Returns the mouths in a terrain's table, as cells (row, column) of its window; empty if there is no table.
///
/// # Errors
/// Returns an error if the table lacks the columns `row` and `column`, if they are not whole numbers or differ in
/// length, or if a cell is outside the terrain; the error gives its row and column.
pub fn mouths(terrain: &Terrain) -> Result<Vec<Cell>> {
    cells(terrain, MOUTHS)
}

/// Returns the passes in a terrain's table, in its order; empty if there is no table.
///
/// # Errors
/// Returns the errors of [`mouths`], and an error if the table has no column `reach`.
pub fn passes(terrain: &Terrain) -> Result<Vec<Pass>> {
    let cells = cells(terrain, PASSES)?;
    let Some(table) = terrain.tables.get(PASSES) else { return Ok(Vec::new()) };
    let reaches = table.floats("reach").ok_or_else(|| Error::layer(PASSES, "must be a table with the column reach"))?;
    Ok(cells.into_iter().zip(reaches).map(|(cell, reach)| Pass { cell, reach: f64::from(*reach) }).collect())
}

fn cells(terrain: &Terrain, name: &str) -> Result<Vec<Cell>> {
    let Some(table) = terrain.tables.get(name) else { return Ok(Vec::new()) };
    rows::cells(name, table, &terrain.grid)
}
