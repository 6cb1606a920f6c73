//! `cargo xtask book`: the types of operations' options, for TypeScript and for Python.

use std::fmt::Write as _;

use thalweg_core::declare::operation::{Arity, OptionKind, OptionSpec, WorkForm, options_for};
use thalweg_export::export_operations;

/// Types of keyword arguments, which the package imports for type checkers only.
pub const FILE: &str = "crates/thalweg-py/python/thalweg/_options.pyi";

const HEAD: &str = "\
# Generated from the declarations of operations by `cargo xtask book`.

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Literal, Required, TypedDict
";

/// Converts the name of an operation to that of a type, for example `DrainOptions`.
fn type_name(name: &str) -> String {
    name[..1].to_uppercase() + &name[1..] + "Options"
}

/// Returns true if a text with TypeScript declarations uses the type of an operation's options and does not declare it.
fn needs_interface(declarations: &str, operation: &str) -> bool {
    let name = type_name(operation);
    let words: Vec<&str> = declarations.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.contains(&name.as_str()) && !words.windows(2).any(|pair| pair[0] == "interface" && pair[1] == name)
}

/// Returns the TypeScript interfaces of the operations whose options `declarations` uses: those that the npm package
/// offers.
pub fn build_interfaces(declarations: &str) -> String {
    let mut text = String::new();
    for operation in export_operations().iter().filter(|operation| needs_interface(declarations, operation.name())) {
        let (name, form) = (operation.name(), WorkForm::Arrays);
        let _ = writeln!(text, "\n/** Options of `{name}`. */\nexport interface {} {{", type_name(name));
        for option in options_for(&**operation, form) {
            let allowed = match option.kind {
                OptionKind::Number { .. }
                | OptionKind::NumberOr { .. }
                | OptionKind::Count { .. }
                | OptionKind::Size => {
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
        OptionKind::Form(form) => form.typescript.to_string(),
    };
    match option.arity {
        Arity::List if option.is_named() => format!("Record<string, {one}>"),
        Arity::List => format!("({one})[]"),
        _ => one,
    }
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
            let options = options_for(&*operation, form);
            if options.is_empty() {
                continue;
            }
            let _ = writeln!(text, "\nclass {name}(TypedDict, total=False):");
            for option in options {
                let _ = writeln!(text, "    {}: {}", option.python_name(), python_type(&option));
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
        OptionKind::Path => "str | PathLike[str]".to_string(),
        OptionKind::Text => "str".to_string(),
        OptionKind::Form(form) => form.python.to_string(),
    };
    // None stands for the default.
    match option.arity {
        Arity::List if option.is_named() => format!("Mapping[str, {one}] | None"),
        Arity::List => format!("Iterable[{one}] | None"),
        _ if option.is_required => format!("Required[{one}]"),
        _ => format!("{one} | None"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_generated_if_a_function_takes_it() {
        let head = "export interface BuildOptions {\n}\nexport function build(options?: BuildOptions): Terrain;\n\
                    export function drain(options?: DrainOptions & { progress?: Function }): Drainage;\n";
        let needed = ["build", "drain", "textures"].map(|operation| needs_interface(head, operation));
        assert_eq!(needed, [false, true, false]);
        let text = build_interfaces(head);
        assert!(text.contains("export interface DrainOptions {") && !text.contains("BuildOptions"));
    }
}
