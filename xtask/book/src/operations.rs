//! `cargo xtask book`: the types of operations' options, for TypeScript and for Python.

use std::fmt::Write as _;

use thalweg_core::declare::operation::{Arity, OptionKind, OptionSpec, WorkForm, options_for};
use thalweg_export::{browser_operations, export_operations};

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

/// The number up to which a number of JavaScript represents every whole number exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Returns the TypeScript interfaces of the options of the operations that the npm package offers.
pub fn build_interfaces() -> String {
    let mut text = String::new();
    for operation in browser_operations() {
        let name = operation.name();
        let _ = writeln!(text, "\n/** Options of `{name}`. */\nexport interface {} {{", type_name(name));
        for option in options_for(&*operation, WorkForm::Browser) {
            let kind = typescript_type(&option);
            let _ = writeln!(text, "{}  {}?: {kind};", format_comment(&option), option.camel_name());
            for earlier in option.earlier_camel_names() {
                let _ = writeln!(text, "  /** @deprecated The earlier name of `{}`. */", option.camel_name());
                // Earlier versions had an object of objects, by the parts of a name around its dot.
                let kind = if option.is_named() { format!("Record<string, {kind}>") } else { kind.clone() };
                let _ = writeln!(text, "  {earlier}?: {kind};");
            }
        }
        text.push_str("}\n");
    }
    text
}

/// Returns the comment above an option: the meaning, the range, the unit and the default.
fn format_comment(option: &OptionSpec) -> String {
    let mut lines = vec![option.meaning.split_whitespace().collect::<Vec<_>>().join(" ")];
    let mut notes = Vec::new();
    match option.kind {
        OptionKind::Number { .. } | OptionKind::NumberOr { .. } | OptionKind::Count { .. } | OptionKind::Size => {
            notes.push(format!("Allowed: {}.", option.describe_allowed()));
        }
        _ if option.unit != "1" => notes.push(format!("Unit: {}.", option.unit)),
        _ => {}
    }
    if matches!(option.kind, OptionKind::Numbers(_)) {
        notes.push(format!("Allowed: {}.", option.describe_allowed()));
    }
    if let OptionKind::Count { max, .. } = option.kind
        && max > MAX_SAFE_INTEGER
    {
        notes.push("A BigInt beyond 2^53.".to_string());
    }
    if let OptionKind::Choice(words) = option.kind {
        notes.extend(words.iter().map(|(word, meaning)| format!("- `{word}`: {}", meaning.trim())));
    }
    if !notes.is_empty() {
        lines.push(String::new());
        lines.extend(notes);
    }
    if !option.default.is_null() && option.arity != Arity::List {
        lines.push(format!("@default {}", option.default));
    }
    let lines = lines.iter().map(|line| format!("   * {}", line.replace("*/", "* /")).trim_end().to_string() + "\n");
    format!("  /**\n{}   */\n", lines.collect::<String>())
}

fn join_words(words: &[(&str, &str)], separator: &str) -> String {
    words.iter().map(|(word, _)| format!("{word:?}")).collect::<Vec<_>>().join(separator)
}

fn typescript_type(option: &OptionSpec) -> String {
    let one = match option.kind {
        OptionKind::Switch => "boolean".to_string(),
        OptionKind::Count { max, .. } if max > MAX_SAFE_INTEGER => "number | bigint".to_string(),
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
    fn every_function_of_the_package_takes_the_generated_options() {
        let head = include_str!("../../web/head.d.ts");
        let words: Vec<&str> = head.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        for operation in browser_operations() {
            let name = type_name(operation.name());
            assert!(words.contains(&name.as_str()), "no function takes {name}");
            assert!(!words.windows(2).any(|pair| pair == ["interface", &name]), "{name} is declared by hand");
        }
    }

    #[test]
    fn interfaces_have_meanings_ranges_units_and_defaults() {
        let text = build_interfaces();
        for expected in [
            "export interface BuildOptions {\n",
            "   * Factor on the rain.\n   *\n   * Allowed: 0.1 to 10.\n   * @default 1.0\n   */\n  rain?: number;\n",
            "   * Allowed: 0 to 1e15 m².\n   */\n  threshold?: number;\n",
            "   * A BigInt beyond 2^53.\n   */\n  seed?: number | bigint;\n",
            "  parameters?: Record<string, number | boolean | string>;\n  /** @deprecated The earlier name of \
             `parameters`. */\n  set?: Record<string, Record<string, number | boolean | string>>;\n",
            "   * Allowed: a whole number from 16 to 4096.\n   * @default 512\n   */\n  tile?: number;\n",
            "  fromAir?: boolean;\n",
        ] {
            assert!(text.contains(expected), "{expected}\nis not in\n{text}");
        }
        // Options that need files are not offered.
        assert!(["fromFile", "layersFolder", "skipLakeOutlines", "runoff"].iter().all(|name| !text.contains(name)));
    }
}
