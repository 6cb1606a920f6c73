//! The JSON Schema of recipes, from which editors complete and check them.

use serde_json::{Value as Json, json};

use crate::recipe::settings::{KEYS, STAGE, USUAL_CELLS};
use crate::recipe::{MAX_STAGES, Recipe, Stage, strokes};
use thalweg_core::declare::keys;
use thalweg_models::model::Model;
use thalweg_models::models::Models;

/// Returns the JSON Schema of recipes (draft 2020-12) with these models, from their declarations; editors use it for
/// completion and checks.
///
/// # Examples
/// ```
/// use thalweg_models::models::Models;
/// use thalweg_sim::recipe::recipe_schema;
///
/// let models = Models::default();
/// let schema = recipe_schema(&models);
/// assert_eq!(schema["title"], "thalweg recipe");
/// // A stage has one form for each model.
/// let forms = schema["properties"]["stage"]["items"]["oneOf"].as_array().unwrap();
/// assert_eq!(forms.len(), models.all().count());
/// ```
pub fn recipe_schema(models: &Models) -> Json {
    build_recipe_schema(models.all())
}

pub(super) fn build_recipe_schema(models: impl Iterator<Item = Box<dyn Model>>) -> Json {
    let mut properties = keys::keys_schema(&Recipe { cells: USUAL_CELLS, ..Recipe::blank() }, &KEYS);
    let stages: Vec<_> = models.map(Stage::schema).collect();
    properties.insert(STAGE.into(), json!({"type": "array", "maxItems": MAX_STAGES, "items": {"oneOf": stages}}));
    let mut schema = keys::table_schema(properties);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "thalweg recipe".into();
    schema["oneOf"] = json!([{"required": ["extent"]}, {"required": ["from"]}]);
    schema["dependentRequired"] = json!({
        "coarsest": ["extent"], "margin": ["extent"], "cut": ["extent"], "beyond": ["extent"], "local_from": ["beyond"], "continents": ["extent", "sea_level"]
    });
    schema["$defs"] = json!({"strokes": strokes::build_strokes_schema()});
    schema
}
