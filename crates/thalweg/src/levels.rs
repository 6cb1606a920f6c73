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
use crate::model::{Blend, Family};
use crate::params::ParamType;
use crate::recipe::{Recipe, Stage, number};

/// How a recipe names its first level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Coarsest {
    /// There is one level.
    #[default]
    None,
    /// Cells are halved while at least [`FEWEST`] are left, and the short side comes out by [`OFF`].
    Auto,
    /// So many cells on the long side.
    Cells(usize),
}

/// Fewest cells on the long side of a first level that is chosen: the largest valleys are some cells wide there, and a
/// thousand steps take a second or two.
pub const FEWEST: usize = 128;

/// The largest share by which whole cells of the first of several levels may miss the short side of the extent.
pub const OFF: f64 = 0.01;

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
    /// short side has a whole number of the coarsest cells, at least one.
    ///
    /// # Errors
    /// When there is no extent, the cells are too many, the coarsest level's doubled never come to them, or its cells are too
    /// wide for the short side.
    pub fn grids(&self) -> Result<Vec<Grid>> {
        let Some([width, height]) = self.extent else {
            return Err(Error::Recipe("has no `extent`; its grid comes from a file".into()));
        };
        let halvings = self.halvings()?;
        let cell = width.max(height) / (self.cells >> halvings) as f64;
        let size = [height, width].map(|side| whole(side, cell));
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
        let halvings = self.halvings()?;
        let levels = (0..=halvings).rev().map(|k| self.cells >> k);
        Ok(levels.into_iter().find(|cells| *cells > PREVIEW).unwrap_or(self.cells))
    }

    /// The level with about so many cells on the long side: its number of them. Without levels, just so many.
    ///
    /// # Errors
    /// As [`Recipe::grids`].
    pub fn level_near(&self, cells: usize) -> Result<usize> {
        if self.coarsest == Coarsest::None {
            return Ok(cells);
        }
        let levels = (0..=self.halvings()?).map(|k| self.cells >> k);
        let times = |level: &usize| (*level).max(cells) as f64 / (*level).min(cells) as f64;
        Ok(levels.min_by(|a, b| times(a).total_cmp(&times(b))).unwrap_or(cells))
    }

    /// How often the first level's cells are halved until there are `cells` on the long side.
    ///
    /// # Errors
    /// When `cells` is no such number, or the first level that the recipe names does not fit the short side.
    fn halvings(&self) -> Result<u32> {
        let cells = self.cells;
        let first = match self.coarsest {
            Coarsest::None => return Ok(0),
            Coarsest::Cells(first) => first,
            Coarsest::Auto => {
                let enough = (0..).take_while(|k| cells >> k >= 2 * FEWEST).count() as u32;
                let fits = |k: &u32| self.off(cells as f64 / f64::from(1u32 << k)) <= OFF;
                let halvings = (1..=enough).rev().find(fits).unwrap_or(0);
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
        if first << halvings != cells {
            let allowed =
                format!("the coarsest level's {first} doubled: {} or {}", first << halvings, first << (halvings + 1));
            return Err(Error::value("cells", cells, allowed));
        }
        if halvings == 0 || self.off(first as f64) <= OFF {
            return Ok(halvings);
        }
        let fitting = (1..halvings).map(|k| first << k).find(|first| self.off(*first as f64) <= OFF);
        let fitting = fitting.map_or("none, for one level".into(), |first| format!("{first} and more"));
        let allowed =
            format!("{fitting}: whole cells of the first level miss the extent's short side by more than 1 %");
        Err(Error::value("coarsest", first, allowed))
    }

    /// The share by which whole cells miss the short side of the extent, where so many lie along the long side. The finer
    /// they are, the less.
    fn off(&self, cells: f64) -> f64 {
        let Some([width, height]) = self.extent else { return 0.0 };
        let (short, cell) = (width.min(height), width.max(height) / cells);
        (whole(short, cell) as f64 * cell / short - 1.0).abs()
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

    /// Base stages that have more to add on level `level`: blocks of those between which nothing has worn the ground yet.
    ///
    /// # Errors
    /// When one of them stands after erosion and does not add to the ground, for what it would lay on finer ground is not
    /// known then.
    pub(crate) fn octaves(&self, widths: &[f64], level: usize) -> Result<Vec<Vec<usize>>> {
        let levels = widths.len();
        let runs = |stage: &Stage, level: usize| stage.runs_on(level, levels, widths[level]);
        let has_run = |stage: &Stage| (0..level).any(|before| runs(stage, before));
        let mut blocks: Vec<Vec<usize>> = Vec::new();
        let (mut first, mut open) = (true, false);
        for (number, stage) in self.stages.iter().enumerate().filter(|(_, stage)| !stage.muted && has_run(stage)) {
            match stage.model.about().family {
                Family::Analysis => continue,
                // A stage that comes on this level or later has changed nothing yet, and so parts nothing.
                Family::Erosion => {
                    (first, open) = (false, false);
                    continue;
                }
                Family::Base if !runs(stage, level) => continue,
                Family::Base => {}
            }
            let blend = stage.model.blend();
            if !first && blend != Blend::Add {
                let allowed = "add after erosion, which it would undo on finer levels; or give it levels = \"first\"";
                return Err(Error::value(format!("{}.blend", stage.label), blend.value(), allowed));
            }
            match blocks.last_mut().filter(|_| open) {
                Some(block) => block.push(number),
                None => blocks.push(vec![number]),
            }
            open = true;
        }
        Ok(blocks)
    }

    /// Stages that are not muted and have no turn on levels with cells of these widths, by number.
    pub(crate) fn idle(&self, turns: &[Turn]) -> impl Iterator<Item = usize> {
        let has_turn = |number: usize| turns.iter().any(|turn| turn.stage == Some(number));
        let stages = self.stages.iter().enumerate();
        stages.filter(move |(number, stage)| !stage.muted && !has_turn(*number)).map(|(number, _)| number)
    }
}

/// Whole cells along a side, at least one.
fn whole(side: f64, cell: f64) -> usize {
    ((side / cell).round() as usize).max(1)
}
