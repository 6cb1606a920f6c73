//! The library's declarations as objects: presets and models.

use serde_json::{Value as Json, json};
use thalweg_core::declare::params::{Param, ParamKind, Value};
use thalweg_core::terrain::LayerSpec;
use thalweg_models::model::{Family, Model};
use thalweg_sim::presets::PRESETS;
use wasm_bindgen::prelude::*;

use crate::error::Result;
use crate::options::json_to_js;

fn value_to_json(value: Value) -> Json {
    match value {
        Value::Number(x) => json!(x),
        Value::Count(n) => json!(n),
        Value::Switch(b) => json!(b),
        Value::Choice(word) => json!(word),
    }
}

fn describe_parameter(param: &Param) -> Json {
    let (kind, words) = match param.kind {
        ParamKind::Number { .. } | ParamKind::Count { .. } => ("number", Vec::new()),
        ParamKind::Switch => ("boolean", Vec::new()),
        ParamKind::Choice(words) => ("string", words.iter().map(|(word, _)| *word).collect()),
    };
    json!({
        "name": param.name, "meaning": param.meaning, "unit": param.unit, "allowed": param.kind.to_string(), "type": kind,
        "default": value_to_json(param.default), "words": words, "source": param.source,
    })
}

fn describe_model(model: &dyn Model) -> Json {
    let about = model.about();
    let layers = |specs: &'static [LayerSpec]| -> Json {
        let one = |spec: &LayerSpec| json!({ "name": spec.name, "unit": spec.unit, "meaning": spec.meaning });
        specs.iter().map(one).collect()
    };
    json!({
        "name": about.name,
        "summary": about.summary,
        "page": model.page(),
        "source": about.source,
        "family": match about.family {
            Family::Base => "base",
            Family::Erosion => "erosion",
            Family::Analysis => "analysis",
        },
        "parameters": model.declared().iter().map(describe_parameter).collect::<Vec<_>>(),
        "needs": layers(about.needs),
        "uses": layers(about.uses),
        "writes": layers(about.writes),
    })
}

/// Returns the declarations of all models.
#[wasm_bindgen(skip_typescript)]
pub fn models() -> Result<JsValue> {
    json_to_js(&thalweg_models::models::all_models().map(|model| describe_model(&*model)).collect())
}

/// Returns the presets: name, a paragraph about each, its number of cells, and the recipe's text.
#[wasm_bindgen(skip_typescript)]
pub fn presets() -> Result<JsValue> {
    let one = |preset: &thalweg_sim::presets::Preset| -> thalweg_core::base::error::Result<Json> {
        // The text alone does not tell the number of cells if the preset leaves it to the default.
        let recipe = preset.recipe()?;
        let about = recipe.about.trim();
        Ok(json!({ "name": preset.name, "about": about, "cells": recipe.cells, "recipe": preset.text }))
    };
    json_to_js(&PRESETS.iter().map(one).collect::<thalweg_core::base::error::Result<Json>>()?)
}
