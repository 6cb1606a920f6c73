//! [`Scatter`]: the distribution of continents, which are worlds of one recipe, over an unbounded plane.

use serde_json::Value as Json;

use thalweg_core::declare::keys::{self, Form, Key, key};
use thalweg_core::declare::params::ParamKind;
use thalweg_core::{Error, Result};

/// The distribution of continents: one, or none, in each square of a lattice.
///
/// # Examples
/// ```
/// use thalweg_sim::recipe::{Recipe, Scatter};
///
/// let text = "extent = [8000.0, 8000.0]\nsea_level = 0.0\ncontinents = { spacing = 20000.0, depth = 500.0 }\n";
/// let recipe = Recipe::parse(text)?;
/// assert_eq!(recipe.continents(), Some(Scatter { spacing: 20_000.0, depth: 500.0, empty: 0.15 }));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scatter {
    /// Side of the lattice's squares, 0.01 to 1e9 m: at least the longer side of the recipe's extent.
    pub spacing: f64,
    /// Depth of the sea between them, 1 to 12 000 m.
    pub depth: f64,
    /// Share of the squares that contain only sea, 0 to 1. For example, 0.15 leaves about one square in seven without a
    /// continent.
    pub empty: f64,
}

impl Scatter {
    /// The defaults, with squares of a million metres.
    const DEFAULTS: Self = Self { spacing: 1e6, depth: 3800.0, empty: 0.15 };
}

const SPACING: (ParamKind, &str) = (ParamKind::Number { min: 0.01, max: 1e9 }, "m");
const DEPTH: (ParamKind, &str) = (ParamKind::Number { min: 1.0, max: 12_000.0 }, "m");
const EMPTY: (ParamKind, &str) = (ParamKind::Number { min: 0.0, max: 1.0 }, "1");

const KEYS: [Key<Scatter>; 3] = [
    key!(Scatter, spacing, SPACING, "Side of the squares of the plane, each of which contains one continent or none."),
    key!(Scatter, depth, DEPTH, "Depth of the sea between continents."),
    key!(Scatter, empty, EMPTY, "Share of the squares that contain only sea."),
];

/// The form of [`Scatter`] in a recipe: `{ spacing = m, depth = m, empty = share }`.
pub(super) struct Scattered;

impl Form<Scatter> for Scattered {
    fn read(&self, name: &str, value: &toml::Value) -> Result<Scatter> {
        let allowed = "{ spacing = m, depth = m, empty = share }; spacing is required";
        let table = value.as_table().filter(|table| table.contains_key(KEYS[0].name));
        let table = table.ok_or_else(|| Error::invalid_value(name, value, allowed))?;
        keys::check_known_keys("key", table, KEYS.iter().map(|key| key.name))?;
        let mut scatter = Scatter::DEFAULTS;
        keys::read_keys(&mut scatter, name, table, &KEYS).map(|()| scatter)
    }

    fn write(&self, scatter: &Scatter) -> Option<String> {
        Some(keys::format_inline_table(keys::write_keys(scatter, scatter, &KEYS)))
    }

    fn schema(&self) -> Json {
        let mut schema = keys::table_schema(keys::keys_schema(&Scatter::DEFAULTS, &KEYS));
        schema["required"] = serde_json::json!([KEYS[0].name]);
        schema
    }
}
