//! On which levels a recipe's stages run, and which is the first: [`When`] and [`Coarsest`].

use serde_json::{Value as Json, json};

use thalweg_core::declare::keys::{self, Form, number};
use thalweg_core::declare::params::{ParamKind, Written};
use thalweg_core::{Error, Result};

/// How a recipe names its first level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Coarsest {
    /// There is one level.
    #[default]
    None,
    /// Cells are halved while at least [`FEWEST`](crate::plan::FEWEST) are left, and the short side comes out by
    /// [`OFF`](crate::plan::OFF).
    Auto,
    /// So many cells on the long side, 1 to 1 048 576.
    Cells(usize),
}

/// What finer levels are made by, once great valleys are found.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Beyond {
    /// By the recipe's stages over the whole terrain, up to its cells.
    #[default]
    Global,
    /// Beyond the level `from`, the last that stages run on, cell by cell of what lies around ([`local`](thalweg_refine)): any part
    /// alone, and every river arrives.
    Local {
        /// The global level.
        from: LocalFrom,
    },
}

/// How a recipe names its global level, the last that its stages run on.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum LocalFrom {
    /// The finest that has no more than [`GLOBAL`](crate::plan::GLOBAL) cells on the long side; a finer one where stages that change
    /// ground name its widths.
    #[default]
    Auto,
    /// So many cells on the long side, 1 to 1 048 576.
    Cells(usize),
    /// The finest with cells of this width or more, 0.001 to 100 000 m.
    Width(f64),
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
    /// On those with cells of such a width in metres: least and greatest, both included, each 0 to 1e8.
    Widths([f64; 2]),
}

/// Cells on the long side of a recipe's grid.
pub(super) const CELLS: ParamKind = ParamKind::Count { min: 1, max: 1 << 20 };

/// How [`Coarsest`] stands in a recipe: a word or a number; left out, there is one level.
pub(super) struct FirstLevel;

const AUTO: &str = "auto";

impl Form<Coarsest> for FirstLevel {
    fn read(&self, name: &str, value: &toml::Value) -> Result<Coarsest> {
        if value.as_str() == Some(AUTO) {
            return Ok(Coarsest::Auto);
        }
        let allowed = format!("\"{AUTO}\", or cells on the long side, {CELLS}");
        CELLS.read(name, value).map(Coarsest::Cells).map_err(|_| Error::value(name, value, allowed))
    }

    fn write(&self, coarsest: &Coarsest) -> Option<String> {
        match coarsest {
            Coarsest::None => None,
            Coarsest::Auto => Some(keys::quoted(AUTO)),
            Coarsest::Cells(cells) => CELLS.write(cells),
        }
    }

    fn schema(&self) -> Json {
        json!({"anyOf": [{"const": AUTO}, CELLS.schema()]})
    }
}

/// How [`Beyond`] stands in a recipe.
pub(super) struct BeyondGlobal;

const WAYS: [(&str, Beyond); 2] = [("global", Beyond::Global), ("local", Beyond::LOCAL)];

impl Beyond {
    /// Local levels beyond a global one that is chosen.
    pub const LOCAL: Self = Self::Local { from: LocalFrom::Auto };

    /// The global level; [`LocalFrom::Auto`] where no level is local.
    pub fn local_from(self) -> LocalFrom {
        match self {
            Self::Global => LocalFrom::Auto,
            Self::Local { from } => from,
        }
    }
}

impl Form<Beyond> for BeyondGlobal {
    fn read(&self, name: &str, value: &toml::Value) -> Result<Beyond> {
        let found = WAYS.iter().find(|(word, _)| value.as_str() == Some(word));
        found.map(|(_, beyond)| *beyond).ok_or_else(|| Error::value(name, value, "\"global\" or \"local\""))
    }

    fn write(&self, beyond: &Beyond) -> Option<String> {
        let is_same = |other: &Beyond| std::mem::discriminant(other) == std::mem::discriminant(beyond);
        WAYS.iter().find(|(_, other)| is_same(other)).map(|(word, _)| keys::quoted(word))
    }

    fn schema(&self) -> Json {
        json!({"enum": WAYS.map(|(word, _)| word)})
    }
}

/// How [`LocalFrom`] stands in a recipe: cells on the long side, or the width of one in a text.
pub(super) struct GlobalLevel;

/// Widths of cells that may be named, in metres.
const WIDTHS: [f64; 2] = [1e-3, 1e5];

impl Form<LocalFrom> for GlobalLevel {
    fn read(&self, name: &str, value: &toml::Value) -> Result<LocalFrom> {
        let width = |text: &str| text.strip_suffix('m')?.trim().parse::<f64>().ok();
        if value.as_str() == Some(AUTO) {
            return Ok(LocalFrom::Auto);
        }
        if let Some(width) = value.as_str().and_then(width).filter(|width| (WIDTHS[0]..=WIDTHS[1]).contains(width)) {
            return Ok(LocalFrom::Width(width));
        }
        let allowed = format!("cells on the long side, {CELLS}, or the width of one, as \"30 m\", or \"{AUTO}\"");
        CELLS.read(name, value).map(LocalFrom::Cells).map_err(|_| Error::value(name, value, allowed))
    }

    fn write(&self, from: &LocalFrom) -> Option<String> {
        match from {
            LocalFrom::Auto => Some(keys::quoted(AUTO)),
            LocalFrom::Cells(cells) => CELLS.write(cells),
            LocalFrom::Width(width) => Some(keys::quoted(&format!("{width} m"))),
        }
    }

    fn schema(&self) -> Json {
        json!({"anyOf": [{"const": AUTO}, CELLS.schema(), {"type": "string", "pattern": "^[0-9.eE+-]+ *m$"}]})
    }
}

/// How [`When`] stands in a recipe: a word, or widths of cells.
pub(super) struct OnLevels;

const WORDS: [(&str, When); 3] = [("all", When::All), ("first", When::First), ("last", When::Last)];

/// The ends of [`When::Widths`], and what they are where they are left out.
const ENDS: [(&str, f64); 2] = [("finest", 0.0), ("coarsest", 1e8)];

impl Form<When> for OnLevels {
    fn read(&self, name: &str, value: &toml::Value) -> Result<When> {
        let allowed = "\"all\", \"first\", \"last\", or { finest = m, coarsest = m }: widths of cells, one or both";
        let wrong = || Error::value(name, value, allowed);
        if let Some((_, when)) = WORDS.iter().find(|(word, _)| value.as_str() == Some(word)) {
            return Ok(*when);
        }
        let table = value.as_table().filter(|table| !table.is_empty()).ok_or_else(wrong)?;
        keys::known("key", table, ENDS.into_iter().map(|(key, _)| key)).map_err(|_| wrong())?;
        let width = |(key, otherwise): (&str, f64)| match table.get(key) {
            None => Some(otherwise),
            Some(value) => number(value).filter(|metres| (0.0..=1e8).contains(metres)),
        };
        match ENDS.map(width) {
            [Some(finest), Some(coarsest)] if finest <= coarsest => Ok(When::Widths([finest, coarsest])),
            _ => Err(wrong()),
        }
    }

    fn write(&self, when: &When) -> Option<String> {
        if let When::Widths(widths) = when {
            let ends = ENDS.iter().zip(widths);
            return Some(keys::inline(ends.map(|((key, _), width)| (key, Written::from(*width).to_string()))));
        }
        WORDS.iter().find(|(_, of)| of == when).map(|(word, _)| keys::quoted(word))
    }

    fn schema(&self) -> Json {
        let width = json!({"type": "number", "minimum": 0, "maximum": 1e8});
        let mut widths = keys::table_schema(ENDS.iter().map(|(key, _)| (key.to_string(), width.clone())).collect());
        widths["minProperties"] = 1.into();
        json!({"anyOf": [{"enum": WORDS.map(|(word, _)| word)}, widths]})
    }
}
