//! Mouths and waypoints of rivers, as tables of a terrain and as given in a recipe.

use serde_json::Map;

use crate::Pass;
use thalweg_core::terrain::{Column, Table, select_rows_inside};
use thalweg_core::{Cell, Error, Grid, Point, Result, Terrain};
use thalweg_noise::input_tables::Given;
use thalweg_noise::input_tables::rows::{self, ColumnSpec, X, Y};
use thalweg_noise::input_tables::springs::find_world_cell;

/// The name of the table of river mouths. Its columns are `row` and `column` (world cell).
pub const MOUTHS: &str = "mouths";

/// The name of the table of places that rivers pass through. Its columns are `row`, `column` (world cell) and `reach`
/// (m).
pub const PASSES: &str = "passes";

/// The largest number of mouths, or of waypoints, in one stage.
const MAX_PLACES: usize = 100_000;

/// The largest distance from which water is drawn to a place, in metres.
pub const MAX_REACH: f64 = 1e6;

const REACH: ColumnSpec = ColumnSpec {
    name: "reach",
    unit: "m",
    min: 0.0,
    max: MAX_REACH,
    about: "From how far water is drawn to the place.",
};

/// The place of a river mouth in world coordinates, independent of the cell size. For example, a mouth may mark the bay
/// into which the main river flows.
///
/// # Examples
/// ```
/// use thalweg_core::{Cell, Grid, Terrain};
/// use thalweg_noise::input_tables::Given;
/// use thalweg_rivers::waypoints::{MouthPlace, read_mouths};
///
/// let mut terrain = Terrain::new(Grid::new([4, 4], 100.0)?);
/// MouthPlace::put(&[MouthPlace { x: 350.0, y: 50.0 }], &mut terrain)?;
/// assert_eq!(read_mouths(&terrain)?, [Cell::new(0, 3)]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MouthPlace {
    /// Distance eastward from the map's north-western corner, in metres.
    pub x: f64,
    /// Distance southward from the map's north-western corner, in metres.
    pub y: f64,
}

/// A place that a river passes through, in world coordinates, independent of the cell size. For example, a waypoint
/// leads a river through the place where a town is planned.
///
/// # Examples
/// ```
/// use thalweg_core::{Cell, Grid, Terrain};
/// use thalweg_noise::input_tables::Given;
/// use thalweg_rivers::Pass;
/// use thalweg_rivers::waypoints::{Waypoint, read_passes};
///
/// // A recipe puts its waypoints into the terrain, where they become cells.
/// let mut terrain = Terrain::new(Grid::new([4, 4], 100.0)?);
/// Waypoint::put(&[Waypoint { x: 250.0, y: 130.0, reach: 500.0 }], &mut terrain)?;
/// assert_eq!(read_passes(&terrain)?, [Pass { cell: Cell::new(1, 2), reach: 500.0 }]);
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
        rows::parse_rows(MOUTHS, list, MAX_PLACES, "{ x = metres, y = metres }", |owner, row| {
            let [x, y] = rows::parse_numbers(owner, row, &[X, Y], &[])?;
            Ok(Self { x, y })
        })
    }

    fn to_toml(&self) -> String {
        format!("{{ {} }}", rows::to_toml([self.x, self.y], &[X, Y]))
    }

    fn schema() -> serde_json::Value {
        rows::build_schema(MAX_PLACES, &[X, Y], Map::new())
    }

    fn widen(&mut self, times: f64) {
        self.x *= times;
        self.y *= times;
    }

    fn check(rows: &[Self], grid: &Grid) -> Result<()> {
        build_table(MOUTHS, rows.iter().map(|mouth| Point { x: mouth.x, y: mouth.y }), grid).map(drop)
    }

    /// Replaces the mouths in the terrain's table.
    fn put(rows: &[Self], terrain: &mut Terrain) -> Result<()> {
        let table = build_table(MOUTHS, rows.iter().map(|mouth| Point { x: mouth.x, y: mouth.y }), &terrain.grid)?;
        terrain.tables.insert(MOUTHS.into(), select_rows_inside(&table, &terrain.grid));
        Ok(())
    }
}

impl Given for Waypoint {
    const TABLE: &'static str = PASSES;
    const PASSING: bool = true;

    fn parse(list: &toml::Value) -> Result<Vec<Self>> {
        rows::parse_rows(PASSES, list, MAX_PLACES, "{ x = metres, y = metres, reach = metres }", |owner, row| {
            let [x, y, reach] = rows::parse_numbers(owner, row, &[X, Y, REACH], &[])?;
            Ok(Self { x, y, reach })
        })
    }

    fn to_toml(&self) -> String {
        format!("{{ {} }}", rows::to_toml([self.x, self.y, self.reach], &[X, Y, REACH]))
    }

    fn schema() -> serde_json::Value {
        rows::build_schema(MAX_PLACES, &[X, Y, REACH], Map::new())
    }

    fn widen(&mut self, times: f64) {
        self.x *= times;
        self.y *= times;
        self.reach = (self.reach * times).min(MAX_REACH);
    }

    fn check(rows: &[Self], grid: &Grid) -> Result<()> {
        build_table(PASSES, rows.iter().map(|pass| Point { x: pass.x, y: pass.y }), grid).map(drop)
    }

    /// Replaces the passes in the terrain's table.
    fn put(rows: &[Self], terrain: &mut Terrain) -> Result<()> {
        let reaches = rows.iter().map(|point| point.reach as f32).collect();
        let table = build_table(PASSES, rows.iter().map(|pass| Point { x: pass.x, y: pass.y }), &terrain.grid)?;
        let table = table.with_column(REACH.name, REACH.unit, Column::Float(reaches));
        // A window of the world contains only its own places.
        terrain.tables.insert(PASSES.into(), select_rows_inside(&table, &terrain.grid));
        Ok(())
    }
}

/// Builds the table of these positions on `grid`.
///
/// # Errors
/// Returns an error that names the row of table `name` if a position is outside the world.
fn build_table(name: &str, points: impl Iterator<Item = Point>, grid: &Grid) -> Result<Table> {
    let named = points.enumerate().map(|(number, point)| find_world_cell(&rows::row_name(name, number), point, grid));
    let cells = named.collect::<Result<Vec<_>>>()?;
    Ok(Table::from_cells(cells))
}

/// Returns the mouths in a terrain's table, as cells (row, column) of its window; empty if there is no table.
///
/// # Errors
/// Returns an error if the table lacks the columns `row` and `column`, if they are not whole numbers or differ in
/// length, or if a cell is outside the terrain; the error gives its row and column.
pub fn read_mouths(terrain: &Terrain) -> Result<Vec<Cell>> {
    read_cells(terrain, MOUTHS)
}

/// Returns the passes in a terrain's table, in its order; empty if there is no table.
///
/// # Errors
/// Returns the errors of [`read_mouths`], and an error if the table has no column `reach`.
pub fn read_passes(terrain: &Terrain) -> Result<Vec<Pass>> {
    let cells = read_cells(terrain, PASSES)?;
    let Some(table) = terrain.tables.get(PASSES) else { return Ok(Vec::new()) };
    let reaches = table
        .float_column("reach")
        .ok_or_else(|| Error::invalid_layer(PASSES, "must be a table with the column reach"))?;
    Ok(cells.into_iter().zip(reaches).map(|(cell, reach)| Pass { cell, reach: f64::from(*reach) }).collect())
}

fn read_cells(terrain: &Terrain, name: &str) -> Result<Vec<Cell>> {
    let Some(table) = terrain.tables.get(name) else { return Ok(Vec::new()) };
    rows::read_cells(name, table, &terrain.grid)
}
