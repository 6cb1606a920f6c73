//! The forms of a recipe's own values in its text: the seed, the edges, and the columns and rows that are cut away.

use serde_json::{Value as Json, json};

use crate::recipe::MapTrim;
use thalweg_core::declare::keys::{self, Form};
use thalweg_core::terrain::grid::{self, Edges, SIDES};
use thalweg_core::{Edge, Error, Result};

/// The most columns and rows that can be cut away.
const MAX_TRIMMED_CELLS: usize = 1 << 20;

/// The form of a seed in a recipe. TOML's numbers are signed: the upper half of the seeds is written as negative
/// numbers.
pub(super) struct SeedForm;

impl Form<u64> for SeedForm {
    fn read(&self, name: &str, value: &toml::Value) -> Result<u64> {
        let allowed = || format!("a whole number from {} to {}", i64::MIN, i64::MAX);
        // The cast keeps the 64 bits; `write` reverses it.
        value.as_integer().map(|seed| seed as u64).ok_or_else(|| Error::invalid_value(name, value, allowed()))
    }

    fn write(&self, seed: &u64) -> Option<String> {
        Some((*seed as i64).to_string())
    }

    fn schema(&self) -> Json {
        json!({"type": "integer"})
    }
}

/// The form of the columns and rows that are cut away in a recipe.
pub(super) struct ColumnsAndRows;

impl Form<MapTrim> for ColumnsAndRows {
    fn read(&self, name: &str, value: &toml::Value) -> Result<MapTrim> {
        let count = |value: &toml::Value| usize::try_from(value.as_integer()?).ok().filter(|n| *n <= MAX_TRIMMED_CELLS);
        let found = match value.as_array().map(Vec::as_slice) {
            Some([cols, rows]) => count(cols).zip(count(rows)).map(|(cols, rows)| MapTrim { cols, rows }),
            _ => None,
        };
        let allowed = || format!("[columns, rows], each a whole number from 0 to {MAX_TRIMMED_CELLS}");
        found.ok_or_else(|| Error::invalid_value(name, value, allowed()))
    }

    fn write(&self, cut: &MapTrim) -> Option<String> {
        Some(format!("{:?}", <[usize; 2]>::from(*cut)))
    }

    fn schema(&self) -> Json {
        let count = json!({"type": "integer", "minimum": 0, "maximum": MAX_TRIMMED_CELLS});
        json!({"type": "array", "items": count, "minItems": 2, "maxItems": 2})
    }
}

/// The form of the edges in a recipe: one word for all, or a table of sides.
pub(super) struct EdgesForm;

const EDGES: [(&str, Edge); 3] = [("open", Edge::Open), ("closed", Edge::Closed), ("looped", Edge::Looped)];

impl Form<Edges> for EdgesForm {
    fn read(&self, name: &str, value: &toml::Value) -> Result<Edges> {
        let edge = |value: &toml::Value| {
            let found = EDGES.iter().find(|(word, _)| value.as_str() == Some(word));
            let allowed = "\"open\", \"closed\", \"looped\", or a table of north, east, south, west";
            found.map(|(_, edge)| *edge).ok_or_else(|| Error::invalid_value(name, value, allowed))
        };
        // A single word applies to all four sides.
        let Some(table) = value.as_table() else { return Ok([edge(value)?; 4]) };
        keys::check_known_keys("side", table, SIDES.into_iter())?;
        let mut edges = Edges::default();
        for (side, slot) in SIDES.iter().zip(&mut edges) {
            if let Some(value) = table.get(*side) {
                *slot = edge(value)?;
            }
        }
        grid::check_edges(name, edges)?;
        Ok(edges)
    }

    fn write(&self, edges: &Edges) -> Option<String> {
        let word = |edge: &Edge| EDGES.iter().find(|(_, of)| of == edge).map(|(word, _)| keys::quote_toml(word));
        Some(keys::format_inline_table(SIDES.iter().zip(edges).filter_map(|(side, edge)| Some((side, word(edge)?)))))
    }

    fn schema(&self) -> Json {
        let edge = json!({"enum": EDGES.map(|(word, _)| word)});
        let sides = SIDES.iter().map(|side| (side.to_string(), edge.clone())).collect();
        json!({"anyOf": [edge, keys::table_schema(sides)]})
    }
}
