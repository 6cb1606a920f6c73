//! On which levels a recipe's stages run, and which is the first: [`When`] and [`Coarsest`].

use serde_json::json;

use crate::error::{Error, Result};
use crate::recipe::number;

/// How a recipe names its first level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Coarsest {
    /// There is one level.
    #[default]
    None,
    /// Cells are halved while at least [`FEWEST`](crate::plan::FEWEST) are left, and the short side comes out by [`OFF`](crate::plan::OFF).
    Auto,
    /// So many cells on the long side.
    Cells(usize),
}

/// On which levels a stage runs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum When {
    /// On all. Base models lay their whole ground on the first, and on each finer one what it adds to that; models that
    /// only read the ground run on the last.
    #[default]
    All,
    /// On the coarsest.
    First,
    /// On the last.
    Last,
    /// On those with cells of such a width in metres, finest and coarsest, both included.
    Widths([f64; 2]),
}

impl Coarsest {
    /// From a recipe's value.
    pub(crate) fn parse(value: &toml::Value) -> Result<Self> {
        let allowed = || Error::value("coarsest", value, "\"auto\", or cells on the long side, 1 to 1048576");
        match value {
            toml::Value::String(word) if word == "auto" => Ok(Self::Auto),
            toml::Value::Integer(cells @ 1..=0x10_0000) => Ok(Self::Cells(*cells as usize)),
            _ => Err(allowed()),
        }
    }

    /// As it stands in a recipe.
    pub(crate) fn to_toml(self) -> Option<toml::Value> {
        match self {
            Self::None => None,
            Self::Auto => Some("auto".into()),
            Self::Cells(cells) => Some(toml::Value::Integer(cells as i64)),
        }
    }
}

impl When {
    /// From a recipe's value.
    pub(crate) fn parse(value: &toml::Value) -> Result<Self> {
        let allowed = "\"all\", \"first\", \"last\", or { finest = m, coarsest = m }: widths of cells, one or both";
        let wrong = || Error::value("levels", value, allowed);
        match value {
            toml::Value::String(word) => match word.as_str() {
                "all" => Ok(Self::All),
                "first" => Ok(Self::First),
                "last" => Ok(Self::Last),
                _ => Err(wrong()),
            },
            toml::Value::Table(table)
                if !table.is_empty() && table.keys().all(|k| k == "finest" || k == "coarsest") =>
            {
                let width = |key: &str, otherwise: f64| match table.get(key) {
                    None => Ok(otherwise),
                    Some(value) => number(value).filter(|m| (0.0..=1e8).contains(m)).ok_or_else(wrong),
                };
                let widths = [width("finest", 0.0)?, width("coarsest", 1e8)?];
                if widths[0] <= widths[1] { Ok(Self::Widths(widths)) } else { Err(wrong()) }
            }
            _ => Err(wrong()),
        }
    }

    /// As it stands in a recipe, unless it is the usual.
    pub(crate) fn to_toml(self) -> Option<String> {
        match self {
            Self::All => None,
            Self::First => Some("\"first\"".into()),
            Self::Last => Some("\"last\"".into()),
            Self::Widths([finest, coarsest]) => Some(format!("{{ finest = {finest:?}, coarsest = {coarsest:?} }}")),
        }
    }

    /// JSON Schema.
    pub(crate) fn schema() -> serde_json::Value {
        let width = json!({"type": "number", "minimum": 0, "maximum": 1e8});
        json!({"description": "On which levels of the world it runs; widths are of cells, in metres.", "default": "all",
               "anyOf": [{"enum": ["all", "first", "last"]},
                         {"type": "object", "additionalProperties": false, "minProperties": 1,
                          "properties": {"finest": width, "coarsest": width}}]})
    }
}
