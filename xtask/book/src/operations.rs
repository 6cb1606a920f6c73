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

/// Returns the TypeScript interfaces of the options of the npm package's operations.
pub fn build_interfaces() -> String {
    let mut text = String::new();
    for operation in browser_operations() {
        let name = type_name(operation.name());
        let about = operation.page().split("\n\n").next().unwrap_or_default();
        // The summary of an operation has no subject, so it continues a sentence.
        let about = format!("Options of the operation `{}`, which {}", operation.name(), start_lower(about.trim()));
        let _ = writeln!(text, "\n{}\nexport interface {name} {{", format_comment("", &[about]));
        let options = options_for(&*operation, WorkForm::Browser);
        for option in &options {
            let mark = if option.is_required { "" } else { "?" };
            let _ = writeln!(text, "{}", format_comment("  ", &describe_option(option, &options)));
            let _ = writeln!(text, "  {}{mark}: {};", option.camel_name(), typescript_type(option));
        }
        text.push_str("}\n");
    }
    text
}

/// Returns the paragraphs of an option's comment: its meaning, its words with their meanings, the allowed values, the
/// other `options` that it needs or excludes, and the default.
fn describe_option(option: &OptionSpec, options: &[OptionSpec]) -> Vec<String> {
    let mut paragraphs = vec![option.meaning.to_string()];
    let words = match option.kind {
        OptionKind::Choice(words) => words,
        OptionKind::Form(form) => form.words,
        _ => &[],
    };
    // A word without a meaning, such as the name of a rock, is in the type.
    let explained = words.iter().filter(|(_, meaning)| !meaning.is_empty());
    paragraphs.extend(explained.map(|(word, meaning)| format!("- `{word:?}`: {meaning}")));
    let allowed = match option.kind {
        OptionKind::Switch | OptionKind::Choice(_) | OptionKind::Text | OptionKind::Path => String::new(),
        _ if option.arity == Arity::List && option.is_named() => "Allowed: an object of names and values.".to_string(),
        _ if option.arity == Arity::List => format!("Allowed: a list whose items are {}.", option.describe_allowed()),
        _ => format!("Allowed: {}.", option.describe_allowed()),
    };
    let exact = if is_beyond_numbers(option) { " Beyond 2^53, only a BigInt is exact." } else { "" };
    if !allowed.is_empty() {
        paragraphs.push(allowed + exact);
    }
    let name_of = |name: &str| {
        let found = options.iter().find(|option| option.name == name);
        found.map(|option| format!("`{}`", option.camel_name()))
    };
    if let Some(needed) = option.needs.and_then(name_of) {
        paragraphs.push(format!("Only applies together with {needed}."));
    }
    let excluded: Vec<String> = option.excludes.iter().filter_map(|name| name_of(name)).collect();
    if !excluded.is_empty() {
        paragraphs.push(format!("Does not apply together with {}.", excluded.join(" or ")));
    }
    if !option.default.is_null() && option.arity != Arity::List {
        paragraphs.push(format!("@default {}", option.default));
    }
    paragraphs
}

/// Returns true if a number of JavaScript cannot represent all values of an option.
fn is_beyond_numbers(option: &OptionSpec) -> bool {
    matches!(option.kind, OptionKind::Count { max, .. } if max > 1 << 53)
}

/// Returns a sentence with a small first letter, as the rest of another sentence.
fn start_lower(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// Formats paragraphs as a comment of lines of at most 120 characters; items of a list follow one another without an
/// empty line.
fn format_comment(indent: &str, paragraphs: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (number, paragraph) in paragraphs.iter().enumerate() {
        let is_item = paragraph.starts_with("- ");
        if number > 0 && !(is_item && paragraphs[number - 1].starts_with("- ")) {
            lines.push(String::new());
        }
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if indent.len() + " * ".len() + line.chars().count() + 1 + word.chars().count() > 120 {
                lines.push(std::mem::take(&mut line));
                line.push_str(if is_item { "  " } else { "" });
            }
            let gap = if line.trim().is_empty() { "" } else { " " };
            line.push_str(gap);
            line.push_str(word);
        }
        lines.push(line);
    }
    // The text must not end the comment.
    let lines: Vec<String> = lines.iter().map(|line| line.replace("*/", "* /")).collect();
    match lines.as_slice() {
        [line] if indent.len() + "/**  */".len() + line.chars().count() <= 120 => format!("{indent}/** {line} */"),
        lines => {
            let lines: String =
                lines.iter().map(|line| format!("{indent} * {line}").trim_end().to_string() + "\n").collect();
            format!("{indent}/**\n{lines}{indent} */")
        }
    }
}

fn join_words(words: &[(&str, &str)], separator: &str) -> String {
    words.iter().map(|(word, _)| format!("{word:?}")).collect::<Vec<_>>().join(separator)
}

fn typescript_type(option: &OptionSpec) -> String {
    let one = match option.kind {
        OptionKind::Switch => "boolean".to_string(),
        OptionKind::Count { .. } if is_beyond_numbers(option) => "number | bigint".to_string(),
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
        let [arrays, stores] = [WorkForm::Arrays, WorkForm::Store].map(|form| options_for(&*operation, form));
        let differs = arrays != stores;
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
    fn every_operation_of_the_npm_package_has_an_interface_that_the_fixed_types_use() {
        let head = include_str!("../../web/head.d.ts");
        let text = build_interfaces();
        for operation in browser_operations() {
            let name = type_name(operation.name());
            assert!(head.contains(&name) && text.contains(&format!("export interface {name} {{")), "{name}");
            assert!(!head.contains(&format!("interface {name} ")), "{name}");
            for option in options_for(&*operation, WorkForm::Browser) {
                let mark = if option.is_required { ":" } else { "?:" };
                assert!(text.contains(&format!("\n  {}{mark} ", option.camel_name())), "{name}.{}", option.name);
            }
        }
        assert!(text.lines().filter(|line| line.contains(" * ")).all(|line| line.chars().count() <= 120));
        // Options of files and of stores have no effect on a web page.
        assert!(
            ["fromFile", "outletsAt", "level", "layersFolder"].iter().all(|name| !text.contains(&format!(" {name}?:")))
        );
    }

    #[test]
    fn a_comment_has_the_range_the_unit_the_words_and_the_default() {
        let text = build_interfaces();
        let comment_of = |option: &str| {
            let before = text.split(&format!("  {option}")).next().unwrap();
            before[before.rfind("/**").unwrap()..].to_string()
        };
        let method = comment_of("method?:");
        assert!(
            method.contains("* - `\"mfd\"`: Each cell drains to all") && method.contains("@default \"d8\""),
            "{method}"
        );
        assert!(comment_of("threshold?:").contains("Allowed: 0 to 1e15 m²."));
        assert!(comment_of("cellSize:").contains("Allowed: 0.001 to 100000 m."));
        assert!(comment_of("seed?:").contains("a whole number of 0 or more. Beyond 2^53, only a BigInt is exact."));
        assert!(comment_of("outlets?:").contains("Allowed: a list whose items are [row, column]"));
        assert!(text.contains("  seed?: number | bigint;"));
        // Options of files are not mentioned.
        assert!(comment_of("target?:").contains("* Does not apply together with `preview`."));
    }

    #[test]
    fn a_long_comment_is_broken_into_lines() {
        let long = "word ".repeat(60);
        let comment = format_comment("  ", &[long, "- `a`: b".into(), "- `c`: d".into(), "an end */".into()]);
        assert!(comment.lines().all(|line| line.chars().count() <= 120), "{comment}");
        assert!(comment.ends_with("   *\n   * - `a`: b\n   * - `c`: d\n   *\n   * an end * /\n   */"), "{comment}");
        assert_eq!(format_comment("", &["Short.".into()]), "/** Short. */");
    }
}
