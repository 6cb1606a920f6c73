//! [`Given`]: a row of a table that a recipe passes to a stage. Springs, kinds of soil, rock beds, river mouths and
//! waypoints are such rows; `tables` lists all of them.

pub mod rows;
pub mod soils;
pub mod springs;

use thalweg_core::{Grid, Result, Terrain};

/// A row of a table that a recipe may pass to a stage whose model uses a table of that name.
pub trait Given: Sized {
    /// The name of the table, in recipes and in terrains.
    const TABLE: &'static str;

    /// True if the table is removed from the terrain when its stage ends; otherwise it remains for later stages.
    const PASSING: bool;

    /// Parses a recipe's list into rows. Checks that depend on a grid are left to [`Given::check`].
    ///
    /// # Errors
    /// Returns an error if the value is not a list of such rows.
    fn parse(list: &toml::Value) -> Result<Vec<Self>>;

    /// Returns the row as it is written in a recipe.
    fn to_toml(&self) -> String;

    /// Returns the JSON Schema of a recipe's list of rows.
    fn schema() -> serde_json::Value;

    /// Scales the positions in the row to a world that is `times` as wide.
    fn widen(&mut self, _times: f64) {}

    /// Checks everything that depends on the grid.
    ///
    /// # Errors
    /// Returns an error if a position is outside the world.
    fn check(_rows: &[Self], _grid: &Grid) -> Result<()> {
        Ok(())
    }

    /// Checks that a terrain, and the table that it may already have, can take `rows`, which may be empty.
    ///
    /// # Errors
    /// Returns an error if the terrain's own table is invalid, or if it would exceed its maximum size.
    fn fit(_rows: &[Self], _terrain: &Terrain) -> Result<()> {
        Ok(())
    }

    /// Puts at least one row into a terrain.
    ///
    /// # Errors
    /// Returns the errors of [`Given::check`] and [`Given::fit`].
    fn put(rows: &[Self], terrain: &mut Terrain) -> Result<()>;
}
