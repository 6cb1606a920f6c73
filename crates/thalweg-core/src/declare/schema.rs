//! JSON Schemas of operations, made from their declared options.

use serde_json::{Map, json};

use crate::declare::operation::{Arity, Json, Operation, OptionKind, OptionSpec};

/// The largest whole number that every JSON parser reads exactly, 2⁵³ − 1. A larger limit stands for no limit.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// Returns the JSON Schema of the options of an operation: an object with one property for each option, in the form
/// that [`Operation::set_all`] accepts. Options of earlier versions are marked as deprecated.
///
/// # Examples
/// ```
/// use thalweg_core::declare::schema::operation_schema;
///
/// thalweg_core::operation! {
///     /// Fills a lake.
///     pub struct FloodOptions, "flood" {
///         /// The depth of the water.
///         depth: f64 = 1.0, within 0.0..=100.0, unit "m";
///     }
/// }
/// let schema = operation_schema(&FloodOptions::default());
/// assert_eq!(schema["properties"]["depth"]["maximum"], 100.0);
/// assert_eq!(schema["properties"]["depth"]["description"], "The depth of the water. Unit: m.");
/// ```
pub fn operation_schema(operation: &dyn Operation) -> Json {
    let mut properties = Map::new();
    for option in operation.declared() {
        let schema = option_schema(&option);
        if let Some(alias) = option.alias {
            let mut deprecated = schema.clone();
            deprecated["deprecated"] = true.into();
            properties.insert(alias.to_string(), deprecated);
        }
        properties.insert(option.name.to_string(), schema);
    }
    let summary = operation.page().trim().split("\n\n").next().unwrap_or_default();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("options of {}", operation.name()),
        "description": summary.split_whitespace().collect::<Vec<_>>().join(" "),
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    })
}

/// Returns the schema of the values of an option.
pub fn option_schema(option: &OptionSpec) -> Json {
    let one = kind_schema(option.kind);
    let mut schema = match option.arity {
        Arity::One => one,
        Arity::List => json!({"type": "array", "items": one}),
        // Both stand for no value.
        Arity::Optional => json!({"anyOf": [one, {"enum": [null, false]}]}),
    };
    let unit = if option.unit == "1" { String::new() } else { format!(" Unit: {}.", option.unit) };
    schema["description"] = format!("{}{unit}", option.meaning).into();
    schema["default"] = option.default.clone();
    schema
}

/// Returns the schema of one value of a kind.
fn kind_schema(kind: OptionKind) -> Json {
    let two = |item: Json| json!({"type": "array", "items": item, "minItems": 2, "maxItems": 2});
    let count = |min: u64, max: u64| match max {
        max if max > MAX_EXACT => json!({"type": "integer", "minimum": min}),
        max => json!({"type": "integer", "minimum": min, "maximum": max}),
    };
    match kind {
        OptionKind::Switch => json!({"type": "boolean"}),
        OptionKind::Number { min, max } => json!({"type": "number", "minimum": min, "maximum": max}),
        OptionKind::NumberOr { min, max, word } => {
            json!({"anyOf": [{"type": "number", "minimum": min, "maximum": max}, {"const": word}]})
        }
        OptionKind::Count { min, max } => count(min, max),
        OptionKind::OneOf(numbers) => json!({"enum": numbers}),
        OptionKind::Choice(words) => json!({"enum": words.iter().map(|(word, _)| *word).collect::<Vec<_>>()}),
        OptionKind::Cell => two(count(0, u64::MAX)),
        OptionKind::Numbers(names) => {
            json!({"type": "array", "items": {"type": "number"}, "minItems": names.len(), "maxItems": names.len()})
        }
        OptionKind::Size => json!({"anyOf": [count(1, u64::MAX), two(count(1, u64::MAX))]}),
        OptionKind::Span { min, max } => {
            let number = count(min.into(), max.into());
            json!({"anyOf": [number, two(number.clone())]})
        }
        OptionKind::Tiles => {
            let text = json!({"type": "string", "pattern": "^\\s*[0-9]+\\s*(px|[xX]\\s*[0-9]+\\s*)?$"});
            json!({"anyOf": [count(1, u64::MAX), two(count(1, u64::MAX)), text]})
        }
        OptionKind::Limits(names) => {
            // JSON has no infinite number, so a text stands for it.
            let limit = json!({"anyOf": [{"type": "number", "minimum": 0.0}, {"const": "inf"}]});
            let properties: Map<String, Json> = names.iter().map(|name| (name.to_string(), limit.clone())).collect();
            let object =
                json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false});
            json!({"anyOf": [{"const": true}, two(limit), object]})
        }
        OptionKind::Path | OptionKind::Text => json!({"type": "string"}),
    }
}
