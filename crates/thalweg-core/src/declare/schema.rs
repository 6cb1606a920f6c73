//! JSON Schemas of operations, made from their declared options.

use serde_json::{Map, json};

use crate::declare::operation::{Arity, Json, Operation, OptionKind, OptionSpec};

/// The largest whole number that every JSON parser reads exactly, 2⁵³ − 1. A larger limit stands for no limit.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// Returns the JSON Schema of the options of an operation: an object with one property for each option, in the form
/// that [`Operation::set_all`] accepts. Options of earlier versions are marked as deprecated. If the command has other
/// words than the operation's name, `command` contains them; validators ignore it.
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
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("options of {}", operation.name()),
        "description": summary.split_whitespace().collect::<Vec<_>>().join(" "),
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    });
    let required: Vec<&str> =
        operation.declared().iter().filter(|option| option.is_required).map(|option| option.name).collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if operation.command() != operation.name() {
        schema["command"] = operation.command().into();
    }
    schema
}

/// Returns the schema of the values of an option, as [`Operation::set`] accepts them.
pub fn option_schema(option: &OptionSpec) -> Json {
    let one = kind_schema(option.kind);
    let mut schema = match option.arity {
        Arity::List if option.is_named() => {
            let items = json!([{"type": "string"}, one]);
            let pair = json!({"type": "array", "prefixItems": items, "items": false, "minItems": 2});
            json!({"anyOf": [{"type": "object", "additionalProperties": one}, {"type": "array", "items": pair}]})
        }
        Arity::List => json!({"type": "array", "items": one}),
        Arity::Optional if option.is_required => one,
        // Both stand for no value.
        Arity::Optional => json!({"anyOf": [one, {"enum": [null, false]}]}),
        Arity::One => one,
    };
    schema["description"] = describe_option(option).into();
    if !option.is_required {
        schema["default"] = option.default.clone();
    }
    schema
}

/// Returns the schema of the values of an option, as [`Operation::get`] returns them and as files store them: no value
/// is `null`.
///
/// # Examples
/// ```
/// use thalweg_core::declare::operation::Operation as _;
/// use thalweg_core::declare::schema::stored_option_schema;
///
/// thalweg_core::operation! {
///     /// Fills a lake.
///     pub struct FloodOptions, "flood" {
///         /// The depth of the water.
///         depth: Option<f64> = None, within 0.0..=100.0, unit "m";
///     }
/// }
/// let schema = stored_option_schema(&FloodOptions::default().declared()[0]);
/// assert_eq!(schema["type"], serde_json::json!(["number", "null"]));
/// ```
pub fn stored_option_schema(option: &OptionSpec) -> Json {
    let one = kind_schema(option.kind);
    let mut schema = match option.arity {
        Arity::One => one,
        Arity::List => json!({"type": "array", "items": one}),
        Arity::Optional => allow_null(one),
    };
    schema["description"] = describe_option(option).into();
    schema
}

/// Returns a schema that also accepts `null`.
fn allow_null(mut schema: Json) -> Json {
    if let Some(kind) = schema["type"].as_str().map(String::from) {
        schema["type"] = json!([kind, "null"]);
        return schema;
    }
    if let Some(words) = schema.get_mut("enum").and_then(Json::as_array_mut) {
        words.push(Json::Null);
        return schema;
    }
    json!({"anyOf": [schema, {"type": "null"}]})
}

/// Returns the meaning and the unit of an option, and the order of rows and columns in its value.
fn describe_option(option: &OptionSpec) -> String {
    let unit = if option.unit == "1" { String::new() } else { format!(" Unit: {}.", option.unit) };
    let allowed = option.describe_allowed();
    let order = match option.kind {
        OptionKind::Size => format!(" Value: {allowed}."),
        OptionKind::Form(_) if allowed.contains("[row") => format!(" Value: {allowed}."),
        _ => String::new(),
    };
    format!("{}{unit}{order}", option.meaning)
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
        OptionKind::Form(form) => (form.schema)(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::choice! {
        /// A way to route flow.
        pub enum Routing {
            /// To one neighbour.
            Single = "single",
        }
    }

    crate::operation! {
        /// Tries optional values.
        pub struct StoredOptions, "stored" {
            /// A point.
            point: Option<[f64; 2]> = None, within &["x", "y"], unit "m";
            /// The routing.
            routing: Option<Routing> = None, within .., unit "1";
            /// A size.
            size: Option<crate::Size> = None, within .., unit "1";
        }
    }

    crate::operation! {
        /// Has a command of two words.
        pub struct WordyOptions, "wordy", command "say much" {
            /// A number.
            number: f64 = 0.0, within 0.0..=1.0, unit "m";
        }
    }

    #[test]
    fn a_schema_names_the_command_if_it_is_not_the_operation() {
        assert_eq!(operation_schema(&WordyOptions::default())["command"], "say much");
        assert_eq!(WordyOptions::default().command(), "say much");
        assert_eq!(operation_schema(&StoredOptions::default()).get("command"), None);
        assert_eq!(StoredOptions::default().command(), "stored");
    }

    #[test]
    fn stored_values_may_be_null_but_not_false() {
        let schemas: Vec<Json> = StoredOptions::default().declared().iter().map(stored_option_schema).collect();
        assert_eq!((&schemas[0]["type"], &schemas[0]["items"]["type"]), (&json!(["array", "null"]), &json!("number")));
        assert_eq!(schemas[1], json!({"enum": ["single", null], "description": "The routing."}));
        assert_eq!(schemas[2]["anyOf"][1], json!({"type": "null"}));
        // A value that is set may be false instead.
        assert!(
            schemas[2]["description"].as_str().unwrap().starts_with("A size. Value: [rows, columns] or one number")
        );
        let accepted = option_schema(&StoredOptions::default().declared()[1]);
        assert_eq!(accepted["anyOf"][1], json!({"enum": [null, false]}));
    }
}
