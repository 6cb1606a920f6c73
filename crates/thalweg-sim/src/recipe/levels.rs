//! The levels on which a recipe's stages run, and the first of them: [`When`] and [`Coarsest`].

use serde_json::{Value as Json, json};

use thalweg_core::declare::keys::{self, Form, read_finite_number};
use thalweg_core::declare::params::{ParamKind, Written};
use thalweg_core::{Error, Result};

/// How a recipe specifies its first level.
///
/// # Examples
/// ```
/// use thalweg_sim::recipe::{Coarsest, Recipe};
///
/// let recipe = Recipe::parse("extent = [6400.0, 6400.0]\ncells = 512\ncoarsest = \"auto\"\n")?;
/// assert_eq!(recipe.levels().coarsest, Coarsest::Auto);
/// let columns: Vec<usize> = recipe.grids()?.iter().map(|grid| grid.cols()).collect();
/// assert_eq!(columns, [128, 256, 512]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Coarsest {
    /// There is one level.
    #[default]
    None,
    /// Cells are halved while at least [`MIN_FIRST_LEVEL_CELLS`](crate::plan::MIN_FIRST_LEVEL_CELLS) are left, and the
    /// short side deviates by no more than [`MAX_SHORT_SIDE_MISFIT`](crate::plan::MAX_SHORT_SIDE_MISFIT).
    Auto,
    /// A number of cells on the long side, 1 to 1 048 576. For example, 256 makes three levels of a recipe with 1024
    /// cells.
    Cells(usize),
}

/// How finer levels are computed, once the large valleys exist.
///
/// # Examples
/// ```
/// use thalweg_sim::recipe::{RefinementMethod, LocalFrom, Recipe};
///
/// let recipe =
///     Recipe::parse("extent = [6400.0, 6400.0]\ncells = 64\nbeyond = \"local\"\nlocal_from = 16\n")?;
/// assert_eq!(recipe.levels().beyond, RefinementMethod::Local { from: LocalFrom::Cells(16) });
/// // The levels with 32 and with 64 cells are local.
/// assert_eq!(recipe.local_levels()?, 2);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum RefinementMethod {
    /// By the recipe's stages over the whole terrain, up to its cells.
    #[default]
    Global,
    /// Beyond the level `from`, the last on which stages run, each cell from its neighbourhood
    /// ([`local`](thalweg_refine)): any part can be computed alone, and drainage stays complete.
    Local {
        /// The global level.
        from: LocalFrom,
    },
}

/// How a recipe specifies its global level, the last on which its stages run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum LocalFrom {
    /// The finest level that has no more than [`MAX_AUTO_GLOBAL_CELLS`](crate::plan::MAX_AUTO_GLOBAL_CELLS) cells on
    /// the long side; a finer one if stages that change the terrain name its widths.
    #[default]
    Auto,
    /// A number of cells on the long side, 1 to 1 048 576.
    Cells(usize),
    /// The finest level with cells of this width or more, 0.001 to 100 000 m. For example, of levels with cells of 60,
    /// 30 and 15 m, the width 30 m chooses the second.
    Width(f64),
}

/// The levels on which a stage runs.
///
/// # Examples
/// ```
/// use thalweg_sim::recipe::{Recipe, When};
///
/// let recipe = Recipe::parse(
///     r#"
///     extent = [6400.0, 6400.0]
///     cells = 64
///     coarsest = 16
///
///     [[stage]]
///     model = "thermal"
///     levels = "last"
///     "#,
/// )?;
/// assert_eq!(recipe.stages[0].when, When::Last);
/// // The cells of the three levels are 400, 200 and 100 m wide.
/// let turns = recipe.turns(&[400.0, 200.0, 100.0]);
/// let levels: Vec<usize> = turns.iter().filter(|turn| turn.stage.is_some()).map(|turn| turn.level).collect();
/// assert_eq!(levels, [2]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum When {
    /// All levels. Base models create their whole terrain on the first, and on each finer one the detail that it
    /// adds; models that only read the terrain run on the last.
    #[default]
    All,
    /// The coarsest level.
    First,
    /// The last level.
    Last,
    /// Levels whose cells have a width in metres in this range: least and greatest, both included, each 0 to 1e8. For
    /// example, `[50.0, 200.0]` means the levels whose cells are 50 to 200 m wide.
    Widths([f64; 2]),
}

/// Number of cells on the long side of a recipe's grid.
pub(super) const CELLS: ParamKind = ParamKind::Count { min: 1, max: 1 << 20 };

/// The form of [`Coarsest`] in a recipe: a word or a number; without it, there is one level.
pub(super) struct FirstLevel;

const AUTO: &str = "auto";

impl Form<Coarsest> for FirstLevel {
    fn read(&self, name: &str, value: &toml::Value) -> Result<Coarsest> {
        if value.as_str() == Some(AUTO) {
            return Ok(Coarsest::Auto);
        }
        let allowed = format!("\"{AUTO}\", or the number of cells on the long side, {CELLS}");
        CELLS.read(name, value).map(Coarsest::Cells).map_err(|_| Error::invalid_value(name, value, allowed))
    }

    fn write(&self, coarsest: &Coarsest) -> Option<String> {
        match coarsest {
            Coarsest::None => None,
            Coarsest::Auto => Some(keys::quote_toml(AUTO)),
            Coarsest::Cells(cells) => CELLS.write(cells),
        }
    }

    fn schema(&self) -> Json {
        json!({"anyOf": [{"const": AUTO}, CELLS.json_schema()]})
    }
}

/// The form of [`RefinementMethod`] in a recipe.
pub(super) struct RefinementMethodForm;

const METHODS: [(&str, RefinementMethod); 2] =
    [("global", RefinementMethod::Global), ("local", RefinementMethod::LOCAL)];

impl RefinementMethod {
    /// Local levels beyond an automatically chosen global one.
    pub const LOCAL: Self = Self::Local { from: LocalFrom::Auto };

    /// Returns the global level; [`LocalFrom::Auto`] if no level is local.
    pub fn local_from(self) -> LocalFrom {
        match self {
            Self::Global => LocalFrom::Auto,
            Self::Local { from } => from,
        }
    }
}

impl Form<RefinementMethod> for RefinementMethodForm {
    fn read(&self, name: &str, value: &toml::Value) -> Result<RefinementMethod> {
        let found = METHODS.iter().find(|(word, _)| value.as_str() == Some(word));
        found.map(|(_, beyond)| *beyond).ok_or_else(|| Error::invalid_value(name, value, "\"global\" or \"local\""))
    }

    fn write(&self, beyond: &RefinementMethod) -> Option<String> {
        // Only the variant is compared, because the global level has a key of its own, `local_from`.
        let is_same = |other: &RefinementMethod| std::mem::discriminant(other) == std::mem::discriminant(beyond);
        METHODS.iter().find(|(_, other)| is_same(other)).map(|(word, _)| keys::quote_toml(word))
    }

    fn schema(&self) -> Json {
        json!({"enum": METHODS.map(|(word, _)| word)})
    }
}

/// The form of [`LocalFrom`] in a recipe: cells on the long side, or the width of one as text.
pub(super) struct GlobalLevel;

/// Range of the widths of cells that may be given, in metres.
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
        let allowed = format!(
            "the number of cells on the long side, {CELLS}, or the width of a cell, such as \"30 m\", or \"{AUTO}\""
        );
        CELLS.read(name, value).map(LocalFrom::Cells).map_err(|_| Error::invalid_value(name, value, allowed))
    }

    fn write(&self, from: &LocalFrom) -> Option<String> {
        match from {
            LocalFrom::Auto => Some(keys::quote_toml(AUTO)),
            LocalFrom::Cells(cells) => CELLS.write(cells),
            LocalFrom::Width(width) => Some(keys::quote_toml(&format!("{width} m"))),
        }
    }

    fn schema(&self) -> Json {
        json!({"anyOf": [{"const": AUTO}, CELLS.json_schema(), {"type": "string", "pattern": "^[0-9.eE+-]+ *m$"}]})
    }
}

/// The form of [`When`] in a recipe: a word, or widths of cells.
pub(super) struct OnLevels;

const WORDS: [(&str, When); 3] = [("all", When::All), ("first", When::First), ("last", When::Last)];

/// The keys of [`When::Widths`], and their values if they are left out.
const ENDS: [(&str, f64); 2] = [("finest", 0.0), ("coarsest", 1e8)];

impl Form<When> for OnLevels {
    fn read(&self, name: &str, value: &toml::Value) -> Result<When> {
        let allowed = "\"all\", \"first\", \"last\", or { finest = m, coarsest = m } with one or both widths of cells";
        let wrong = || Error::invalid_value(name, value, allowed);
        if let Some((_, when)) = WORDS.iter().find(|(word, _)| value.as_str() == Some(word)) {
            return Ok(*when);
        }
        let table = value.as_table().filter(|table| !table.is_empty()).ok_or_else(wrong)?;
        keys::check_known_keys("key", table, ENDS.into_iter().map(|(key, _)| key)).map_err(|_| wrong())?;
        let width = |(key, otherwise): (&str, f64)| match table.get(key) {
            None => Some(otherwise),
            Some(value) => read_finite_number(value).filter(|metres| (0.0..=1e8).contains(metres)),
        };
        match ENDS.map(width) {
            // A missing key stands for no limit on its side (see ENDS).
            [Some(finest), Some(coarsest)] if finest <= coarsest => Ok(When::Widths([finest, coarsest])),
            _ => Err(wrong()),
        }
    }

    fn write(&self, when: &When) -> Option<String> {
        if let When::Widths(widths) = when {
            let ends = ENDS.iter().zip(widths);
            return Some(keys::format_inline_table(
                ends.map(|((key, _), width)| (key, Written::from(*width).to_string())),
            ));
        }
        WORDS.iter().find(|(_, of)| of == when).map(|(word, _)| keys::quote_toml(word))
    }

    fn schema(&self) -> Json {
        let width = json!({"type": "number", "minimum": 0, "maximum": 1e8});
        let mut widths = keys::table_schema(ENDS.iter().map(|(key, _)| (key.to_string(), width.clone())).collect());
        widths["minProperties"] = 1.into();
        json!({"anyOf": [{"enum": WORDS.map(|(word, _)| word)}, widths]})
    }
}
