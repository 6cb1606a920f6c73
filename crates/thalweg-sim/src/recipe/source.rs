//! [`LayerSource`]: the source of a stage's input layer.

use std::path::PathBuf;

use serde_json::{Value as Json, json};

use thalweg_core::declare::keys::{self, File, Form, Key, Maybe, Pair, Text, key, schema_of};
use thalweg_core::{Error, Result};

/// The source of a stage's input layer.
///
/// # Examples
/// Rock that is harder the higher it is, from 0 at sea level to 1 at 900 m:
///
/// ```
/// use thalweg_sim::recipe::{LayerOrigin, LayerSource, Recipe};
///
/// let recipe = Recipe::parse(
///     r#"
///     extent = [640.0, 640.0]
///
///     [[stage]]
///     model = "thermal"
///     layers = { hardness = { layer = "ground", scale = [0.0, 900.0] } }
///     "#,
/// )?;
/// let source = LayerSource { from: LayerOrigin::Layer("ground".into()), scale: Some([0.0, 900.0]) };
/// assert_eq!(recipe.stages[0].layers["hardness"], source);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LayerSource {
    /// A file (relative to the recipe), or a layer that an earlier stage left.
    pub from: LayerOrigin,
    /// The value that becomes 0 and the one that becomes 1, which differ; values beyond are clamped. `None`: values
    /// are unchanged.
    pub scale: Option<[f64; 2]>,
}

/// A file or a layer.
#[derive(Debug, Clone, PartialEq)]
pub enum LayerOrigin {
    /// A file's path as written.
    File(PathBuf),
    /// A layer's name.
    Layer(String),
}

const SCALE: Maybe<Pair> = Maybe(Pair {
    takes: |[a, b]| a != b,
    allowed: "two different numbers: the values that become 0 and 1",
    number: || json!({"type": "number"}),
});

const FILE: &str = "Path of a file, relative to the recipe.";

const KEYS: [Key<LayerSource>; 3] = [
    Key {
        name: "file",
        is_rare: false,
        read: |source, name, value| File.read(name, value).map(|path| source.from = LayerOrigin::File(path)),
        write: |source| if let LayerOrigin::File(path) = &source.from { File.write(path) } else { None },
        schema: |_| Some(schema_of(&File, &PathBuf::new(), FILE)),
    },
    Key {
        name: "layer",
        is_rare: false,
        read: |source, name, value| Text.read(name, value).map(|layer| source.from = LayerOrigin::Layer(layer)),
        write: |source| if let LayerOrigin::Layer(layer) = &source.from { Text.write(layer) } else { None },
        schema: |_| Some(schema_of(&Text, &String::new(), "A layer that an earlier stage wrote.")),
    },
    key!(LayerSource, scale, SCALE, "The values that become 0 and 1."),
];

/// The form of a source in a recipe: a path, or `{ file | layer = …, scale = [from, to] }`.
pub(super) struct LayerSourceForm;

impl Form<LayerSource> for LayerSourceForm {
    fn read(&self, name: &str, value: &toml::Value) -> Result<LayerSource> {
        let mut source = LayerSource { from: LayerOrigin::Layer(String::new()), scale: None };
        if value.is_str() {
            source.from = LayerOrigin::File(File.read(name, value)?);
            return Ok(source);
        }
        let allowed = "a file's path, or { file = …, scale = [a, b] }, or { layer = …, scale = [a, b] }";
        let table = value.as_table().ok_or_else(|| Error::invalid_value(name, value, allowed))?;
        keys::check_known_keys("key", table, KEYS.iter().map(|key| key.name))?;
        // A layer has one origin, so both keys together are as wrong as none.
        if table.contains_key("file") == table.contains_key("layer") {
            return Err(Error::conflict(format!("{name} = {value}"), "needs exactly one of `file` and `layer`"));
        }
        keys::read_keys(&mut source, name, table, &KEYS).map(|()| source)
    }

    fn write(&self, source: &LayerSource) -> Option<String> {
        Some(keys::format_inline_table(keys::write_keys(source, source, &KEYS)))
    }

    fn schema(&self) -> Json {
        let none = LayerSource { from: LayerOrigin::Layer(String::new()), scale: None };
        let mut table = keys::table_schema(keys::keys_schema(&none, &KEYS));
        table["oneOf"] = json!([{"required": ["file"]}, {"required": ["layer"]}]);
        json!({"anyOf": [schema_of(&File, &PathBuf::new(), FILE), table]})
    }
}
