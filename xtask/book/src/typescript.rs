//! `cargo xtask book`: generates the types of the npm package. The fixed part comes from `head.d.ts`, the rest from
//! the models' declarations.

use std::fmt::Write as _;

use thalweg_core::declare::params::{Param, ParamKind, Value};
use thalweg_models::model::Model;
use thalweg_models::models;
use thalweg_render::products::textures::MATERIALS;
use thalweg_sim::presets::PRESETS;

use crate::operations;

const HEAD: &str = include_str!("../../web/head.d.ts");

/// The file of the types.
pub const FILE: &str = "crates/thalweg-web/npm/thalweg.d.ts";

/// Returns the types.
pub fn build_types() -> String {
    let mut text = format!("// Generated from the declarations by `cargo xtask book`.\n\n{HEAD}");
    text.push_str(&operations::build_interfaces());
    let union = |name: &str, about: &str, words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| format!("  | {word:?}")).collect();
        format!("\n/** {about} */\nexport type {name} =\n{};\n", words.join("\n"))
    };
    text.push_str(&union(
        "PresetName",
        "A recipe that comes with the library.",
        &PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>(),
    ));
    text.push_str(&union("Material", "What covers ground.", &MATERIALS.iter().map(|of| of.name).collect::<Vec<_>>()));
    let names: Vec<&str> = models::all_models().map(|model| model.about().name).collect();
    text.push_str("\n/** Parameters by model; what is left out has its default. */\nexport interface Parameters {\n");
    for name in names {
        let _ = writeln!(text, "  {name}: {};", type_name(name));
    }
    text.push_str("}\n");
    models::all_models().for_each(|model| text.push_str(&format_parameters(&*model)));
    text
}

/// Converts a model's name to that of a type, for example `StreamPowerParameters`.
fn type_name(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').map(capital).collect::<String>() + "Parameters"
}

fn format_parameters(model: &dyn Model) -> String {
    let about = model.about();
    let mut text =
        format!("\n/** {} */\nexport interface {} {{\n", to_single_line(about.summary), type_name(about.name));
    for param in model.declared() {
        // The unit 1 means a number without dimension, which is not shown.
        let unit = if param.unit == "1" { String::new() } else { format!(" {}", param.unit) };
        let meaning = to_single_line(param.meaning);
        let _ = writeln!(
            text,
            "  /**\n   * {meaning}\n   *\n   * Allowed: {}{unit}.\n   * @default {}\n   */",
            to_single_line(&param.kind.to_string()),
            format_default(&param)
        );
        let kind = match param.kind {
            ParamKind::Number { .. } | ParamKind::Count { .. } => "number".to_string(),
            ParamKind::Switch => "boolean".to_string(),
            ParamKind::Choice(words) => {
                words.iter().map(|(word, _)| format!("{word:?}")).collect::<Vec<_>>().join(" | ")
            }
        };
        let _ = writeln!(text, "  {}?: {kind};", param.name);
    }
    text + "}\n"
}

fn format_default(param: &Param) -> String {
    match param.default {
        Value::Number(x) => x.to_string(),
        Value::Count(n) => n.to_string(),
        Value::Switch(b) => b.to_string(),
        Value::Choice(word) => format!("{word:?}"),
    }
}

/// Formats text on one line, so that it does not end the comment.
fn to_single_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ").replace("*/", "* /")
}
