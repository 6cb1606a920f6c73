//! `cargo xtask book`: the types of operations' options, for TypeScript and for Python.

use std::fmt::Write as _;

use thalweg_core::declare::operation::{Arity, OptionKind, OptionSpec, WorkForm, options_for};
use thalweg_export::export_operations;

/// Types of keyword arguments, which the package imports for type checkers only.
pub const FILE: &str = "crates/thalweg-py/python/thalweg/_options.pyi";

const HEAD: &str = "\
# Generated from the declarations of operations by `cargo xtask book`.

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypedDict
";

/// The operations that the npm package offers.
const TYPESCRIPT: [&str; 2] = ["drain", "textures"];

/// Converts the name of an operation to that of a type, for example `DrainOptions`.
fn type_name(name: &str) -> String {
    name[..1].to_uppercase() + &name[1..] + "Options"
}

/// Returns the TypeScript interfaces.
pub fn build_interfaces() -> String {
    let mut text = String::new();
    for operation in export_operations().iter().filter(|operation| TYPESCRIPT.contains(&operation.name())) {
        let (name, form) = (operation.name(), WorkForm::Arrays);
        let _ = writeln!(text, "\n/** Options of `{name}`. */\nexport interface {} {{", type_name(name));
        for option in options_for(&**operation, form) {
            let allowed = match option.kind {
                OptionKind::Number { .. } | OptionKind::NumberOr { .. } | OptionKind::Count { .. } => {
                    format!("\n   *\n   * Allowed: {}.", option.describe_allowed())
                }
                _ => String::new(),
            };
            let default = if option.default.is_null() || option.arity == Arity::List {
                String::new()
            } else {
                format!("\n   * @default {}", option.default)
            };
            let _ = writeln!(text, "  /**\n   * {}{allowed}{default}\n   */", option.meaning);
            let _ = writeln!(text, "  {}?: {};", option.camel_name(), typescript_type(&option));
        }
        text.push_str("}\n");
    }
    text
}

fn join_words(words: &[(&str, &str)], separator: &str) -> String {
    words.iter().map(|(word, _)| format!("{word:?}")).collect::<Vec<_>>().join(separator)
}

fn typescript_type(option: &OptionSpec) -> String {
    let one = match option.kind {
        OptionKind::Switch => "boolean".to_string(),
        OptionKind::Number { .. } | OptionKind::Count { .. } => "number".to_string(),
        OptionKind::NumberOr { word, .. } => format!("number | {word:?}"),
        OptionKind::OneOf(numbers) => numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" | "),
        OptionKind::Choice(choice) => join_words(choice, " | "),
        OptionKind::Cell => "[number, number]".to_string(),
        OptionKind::Size | OptionKind::Span { .. } => "number | [number, number]".to_string(),
        OptionKind::Numbers(names) => format!("[{}]", vec!["number"; names.len()].join(", ")),
        OptionKind::Tiles => "number | string | [number, number]".to_string(),
        OptionKind::Limits([first, second]) => {
            format!("boolean | [number, number] | {{ {first}: number; {second}: number }}")
        }
        OptionKind::Path | OptionKind::Text => "string".to_string(),
    };
    if option.arity == Arity::List { format!("({one})[]") } else { one }
}

/// Returns the Python types.
pub fn build_python_types() -> String {
    let mut text = HEAD.to_string();
    for operation in export_operations() {
        let name = operation.name();
        // Functions of `thalweg.dask` have types of their own where a store takes other options.
        let differs = operation.declared().iter().any(|option| option.forms != WorkForm::ALL);
        let store = differs.then(|| (WorkForm::Store, type_name(&format!("{name}Store"))));
        for (form, name) in [(WorkForm::Arrays, type_name(name))].into_iter().chain(store) {
            let _ = writeln!(text, "\nclass {name}(TypedDict, total=False):");
            for option in options_for(&*operation, form) {
                let _ = writeln!(text, "    {}: {}", option.name, python_type(&option));
            }
        }
    }
    text
}

fn python_type(option: &OptionSpec) -> String {
    let one = match option.kind {
        OptionKind::Switch => "bool".to_string(),
        OptionKind::Number { .. } => "float".to_string(),
        OptionKind::NumberOr { word, .. } => format!("float | Literal[{word:?}]"),
        OptionKind::Count { .. } => "int".to_string(),
        OptionKind::OneOf(numbers) => {
            format!("Literal[{}]", numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
        }
        OptionKind::Choice(choice) => format!("Literal[{}]", join_words(choice, ", ")),
        OptionKind::Cell => "Sequence[int]".to_string(),
        OptionKind::Size | OptionKind::Span { .. } => "int | Sequence[int]".to_string(),
        OptionKind::Numbers(_) => "Sequence[float]".to_string(),
        OptionKind::Tiles => "int | str | Sequence[int]".to_string(),
        OptionKind::Limits(_) => "bool | Sequence[float] | Mapping[str, float]".to_string(),
        OptionKind::Path | OptionKind::Text => "str".to_string(),
    };
    // None stands for the default.
    if option.arity == Arity::List { format!("Iterable[{one}] | None") } else { format!("{one} | None") }
}
