//! `Given`: a row of a table that a recipe gives to a stage. Springs, kinds of soil, beds of rock, mouths and waypoints are such
//! rows; `tables` has the one list of them.

pub mod rows;
pub mod soils;
pub mod springs;

use thalweg_core::{Grid, Result, Terrain};

/// A row of a table that a recipe may give to a stage whose model keeps a table of that name.
pub trait Given: Sized {
    /// The table's name, in recipes and in terrains.
    const TABLE: &'static str;

    /// Whether the table goes from the terrain when its stage ends; else it stays for the stages after.
    const PASSING: bool;

    /// The rows of a recipe's list; what a grid decides is checked later.
    ///
    /// # Errors
    /// When it is no list of such rows.
    fn parse(list: &toml::Value) -> Result<Vec<Self>>;

    /// The row as it stands in a recipe.
    fn to_toml(&self) -> String;

    /// The JSON Schema of a recipe's list of rows.
    fn schema() -> serde_json::Value;

    /// Moves what has a place in the world to where it lies in one so many times as wide.
    fn widen(&mut self, _times: f64) {}

    /// Checks what a grid decides.
    ///
    /// # Errors
    /// A place outside the world.
    fn check(_rows: &[Self], _grid: &Grid) -> Result<()> {
        Ok(())
    }

    /// Checks that a terrain, and the table that it may have, can take the rows; there may be none.
    ///
    /// # Errors
    /// When the terrain's own table is not what it should be, or would hold too much.
    fn fit(_rows: &[Self], _terrain: &Terrain) -> Result<()> {
        Ok(())
    }

    /// Puts rows, at least one, into a terrain.
    ///
    /// # Errors
    /// As [`Given::check`] and [`Given::fit`].
    fn put(rows: &[Self], terrain: &mut Terrain) -> Result<()>;
}
