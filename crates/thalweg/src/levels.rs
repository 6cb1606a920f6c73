//! Coarse to fine: the grids that a recipe is built on, and what is done on each.
//!
//! ```toml
//! coarsest = 128              # cells on the long side of the first level; "auto" chooses; left out, there is one level
//!
//! [[stage]]
//! model = "stream_power"
//! finer = { years = 0.2 }     # on each finer level a fifth of the time of the level before
//!
//! [[stage]]
//! model = "hydrology"
//! levels = "last"             # or "all", or "first", or { coarsest = 240.0, finest = 30.0 }: by the width of cells in metres
//! ```
//!
//! Levels double until the recipe's `cells`. So a smaller build is the first part of a larger one.

use serde_json::json;

use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::model::Family;
use crate::params::Value;
use crate::recipe::{Recipe, Stage, number};

/// How a recipe names its first level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Coarsest {
    /// There is one level.
    #[default]
    None,
    /// Cells are halved while at least [`FEWEST`] are left.
    Auto,
    /// So many cells on the long side.
    Cells(usize),
}

/// Fewest cells on the long side of a first level that is chosen: the largest valleys are some cells wide there, and a
/// thousand steps take a second or two.
pub const FEWEST: usize = 128;

/// A preview is the first level with more cells than this on the long side.
pub const PREVIEW: usize = 256;

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

/// One thing after the other: what is done on which level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The level, from 0, the coarsest.
    pub level: usize,
    /// Number of the stage in the recipe; `None` where the ground is made finer.
    pub stage: Option<usize>,
    /// On how many coarser levels the stage has run.
    pub pass: u32,
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

    /// How often the first level's cells are halved until there are `cells` on the long side.
    ///
    /// # Errors
    /// When `cells` is no such number.
    fn halvings(self, cells: usize) -> Result<u32> {
        let first = match self {
            Self::None => return Ok(0),
            Self::Cells(first) => first,
            Self::Auto => {
                let halvings = (0..).take_while(|k| cells >> k >= 2 * FEWEST).count() as u32;
                let part = 1usize << halvings;
                if cells.is_multiple_of(part) {
                    return Ok(halvings);
                }
                let [less, more] = [cells / part, cells / part + 1].map(|n| n * part);
                let allowed =
                    format!("a multiple of {part}, for it is built in {} levels: {less} or {more}", halvings + 1);
                return Err(Error::value("cells", cells, allowed));
            }
        };
        if cells < first {
            return Err(Error::value("cells", cells, format!("{first} (the coarsest level) and more")));
        }
        let halvings = (cells / first).ilog2();
        if first << halvings == cells {
            return Ok(halvings);
        }
        let allowed =
            format!("the coarsest level's {first} doubled: {} or {}", first << halvings, first << (halvings + 1));
        Err(Error::value("cells", cells, allowed))
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

impl Stage {
    /// Whether it makes ground.
    pub fn is_base(&self) -> bool {
        self.model.about().family == Family::Base
    }

    /// Whether it runs on level `level` of `levels`, on cells `cell` metres wide. Where there is one level, all do.
    fn runs_on(&self, level: usize, levels: usize, cell: f64) -> bool {
        match self.when {
            _ if levels == 1 => true,
            When::All => self.model.about().family != Family::Analysis || level + 1 == levels,
            When::First => level == 0,
            When::Last => level + 1 == levels,
            // Widths are quotients: half a thousandth either way.
            When::Widths([finest, coarsest]) => (finest * 0.9995..=coarsest * 1.0005).contains(&cell),
        }
    }
}

impl Recipe {
    /// The grids of a recipe that fixes its extent, from the coarsest level to the last, of `cells` on the long side. The
    /// short side has a whole number of the coarsest cells.
    ///
    /// # Errors
    /// When there is no extent, the cells are too many, or the coarsest level's doubled never come to them.
    pub fn grids(&self) -> Result<Vec<Grid>> {
        let Some([width, height]) = self.extent else {
            return Err(Error::Recipe("has no `extent`; its grid comes from a file".into()));
        };
        let halvings = self.coarsest.halvings(self.cells)?;
        let cell = width.max(height) / (self.cells >> halvings) as f64;
        let count = |side: f64| ((side / cell).round() as usize).max(1);
        let size = [count(height), count(width)];
        let level = |k: u32| self.framed(Grid::new(size.map(|n| n << k), cell / f64::from(1u32 << k))?);
        // The last first: if it is too large, that is the size that was asked for.
        let last = level(halvings)?;
        (0..halvings).map(level).chain([Ok(last)]).collect()
    }

    /// Cells on the long side of a preview: of the first level with more than [`PREVIEW`], or of the last.
    ///
    /// # Errors
    /// As [`Recipe::grids`].
    pub fn preview(&self) -> Result<usize> {
        let halvings = self.coarsest.halvings(self.cells)?;
        let levels = (0..=halvings).rev().map(|k| self.cells >> k);
        Ok(levels.into_iter().find(|cells| *cells > PREVIEW).unwrap_or(self.cells))
    }

    /// What is done, in order, on levels with cells of these widths: on each level its stages, and between two levels the
    /// ground is made finer. Muted stages have their turns.
    pub fn turns(&self, widths: &[f64]) -> Vec<Turn> {
        let mut passes = vec![0; self.stages.len()];
        let mut turns = Vec::new();
        for (level, cell) in widths.iter().enumerate() {
            if level > 0 {
                turns.push(Turn { level, stage: None, pass: 0 });
            }
            for (number, stage) in self.stages.iter().enumerate() {
                if stage.runs_on(level, widths.len(), *cell) {
                    // Base ground is laid once; what it adds on finer levels comes with those.
                    if passes[number] == 0 || !stage.is_base() {
                        turns.push(Turn { level, stage: Some(number), pass: passes[number] });
                    }
                    passes[number] += 1;
                }
            }
        }
        turns
    }

    /// Base stages that have more to add on level `level`: blocks of those that follow one another.
    ///
    /// # Errors
    /// When one of them stands after erosion and does not add to the ground, for what it would lay on finer ground is not
    /// known then.
    pub(crate) fn octaves(&self, widths: &[f64], level: usize) -> Result<Vec<Vec<usize>>> {
        let levels = widths.len();
        let runs = |stage: &Stage, level: usize| stage.runs_on(level, levels, widths[level]);
        let goes_on = |stage: &Stage| runs(stage, level) && (0..level).any(|before| runs(stage, before));
        let mut blocks: Vec<Vec<usize>> = Vec::new();
        let (mut first, mut open) = (true, false);
        for (number, stage) in self.stages.iter().enumerate().filter(|(_, stage)| !stage.muted) {
            if !stage.is_base() {
                (first, open) = (false, false);
                continue;
            }
            if !goes_on(stage) {
                continue;
            }
            if let Some(blend) = stage.model.get("blend").filter(|blend| !first && *blend != Value::Choice("add")) {
                let allowed = "add after erosion, which it would undo on finer levels; or give it levels = \"first\"";
                return Err(Error::value(format!("{}.blend", stage.label), blend, allowed));
            }
            match blocks.last_mut().filter(|_| open) {
                Some(block) => block.push(number),
                None => blocks.push(vec![number]),
            }
            open = true;
        }
        Ok(blocks)
    }
}
