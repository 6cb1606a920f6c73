//! Options of operations are declared once: no face lists them a second time.

use std::fs;
use std::path::Path;

use thalweg_core::declare::operation::OptionSpec;
use thalweg_export::{browser_operations, export_operations};

/// The sources of the faces, from the repository's root.
const FACES: [&str; 6] = [
    "crates/thalweg-cli/src/commands",
    "crates/thalweg-cli/src/commands/measure",
    "crates/thalweg-cli/src/commands/render",
    "crates/thalweg-py/src",
    "crates/thalweg-py/python/thalweg",
    "crates/thalweg-web/src",
];

/// Returns the names in the declaration that begins with `start`: the fields of a struct, or the parameters of a
/// function.
fn names_declared_by<'a>(source: &'a str, start: &str) -> Vec<&'a str> {
    let Some(at) = source.find(start) else { return Vec::new() };
    let declaration = &source[at + start.len()..];
    // A declaration over several lines ends at a bracket in the first column, a shorter one at the end of its line.
    let end = match declaration.find('\n') {
        Some(line) if !declaration[..line].trim_end().ends_with(['(', '{']) && !declaration[..line].is_empty() => line,
        _ => ["\n)", "\n}"].iter().filter_map(|end| declaration.find(end)).min().unwrap_or(declaration.len()),
    };
    let parts = declaration[..end].split([',', '\n', '(', ';']);
    let named = parts.filter_map(|part| part.split_once(':').map(|(name, _)| name));
    named.map(|name| name.trim().trim_start_matches("pub ").trim_end_matches('?')).collect()
}

/// Returns the declared options of an operation that a source lists itself, in the arguments of the command or in a
/// function of the same name; methods have no such list.
fn options_listed_again(source: &str, operation: &str, options: &[&str]) -> Vec<String> {
    let capital = operation[..1].to_uppercase() + &operation[1..];
    let starts = [
        format!("pub struct {capital}Args {{"),
        format!("\npub fn {operation}("),
        format!("\npub fn {operation}<'py>("),
        format!("\ndef {operation}("),
    ];
    let found = starts.iter().flat_map(|start| names_declared_by(source, start));
    found.filter(|name| options.contains(name)).map(String::from).collect()
}

/// The folders with the sources of the npm package, from the repository's root; the types in them are those that are
/// not generated.
const NPM_SOURCES: [&str; 3] = ["crates/thalweg-web/src", "crates/thalweg-web/npm", "xtask/web"];

/// Returns the texts between each `open` and the next `close` behind it.
fn texts_between<'a>(source: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    source.split(open).skip(1).filter_map(|rest| rest.split_once(close).map(|(text, _)| text)).collect()
}

/// Returns the names that the function of an operation reads from an object of JavaScript itself: strings in a list of
/// keys, and the argument of a method that reads a value.
fn keys_read_by<'a>(source: &'a str, start: &str) -> Vec<&'a str> {
    let Some(at) = source.find(start) else { return Vec::new() };
    // A function ends at a brace in its own column, which for a method is the fifth.
    let body = &source[at + start.len()..];
    let end = ["\n}", "\n    }"].iter().filter_map(|end| body.find(end)).min().unwrap_or(body.len());
    let body = &body[..end];
    let lists = texts_between(body, "&[", "]").into_iter().flat_map(texts_between_quotes);
    let reads = [".read_number(", ".read_count(", ".read_cell_count(", ".read_string(", ".value(", ".inner_object("];
    let reads = reads.iter().flat_map(|read| texts_between(body, read, ")")).flat_map(texts_between_quotes);
    lists.chain(reads).collect()
}

/// Returns the texts in double quotes.
fn texts_between_quotes(source: &str) -> impl Iterator<Item = &str> {
    source.split('"').skip(1).step_by(2)
}

/// Returns the names of the members that TypeScript declares in the interface of an operation's options, or within the
/// braces of the parameters of its function.
fn members_declared_by<'a>(source: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    let Some(at) = source.find(start) else { return Vec::new() };
    let declaration = &source[at + start.len() - 1..];
    // A declaration on one line ends there.
    let line = declaration.lines().next().unwrap_or_default();
    let end = if line.ends_with(';') { Some(line.len()) } else { declaration.find(end) };
    let declaration = &declaration[..end.unwrap_or(declaration.len())];
    // Outside of braces are the parameters of the function, such as the model of `apply`.
    let braces = declaration.split_once('{').map_or("", |(_, inner)| inner);
    let members = braces.split(['\n', ';', ',', '{']).filter_map(|member| member.split_once(':'));
    members.map(|(name, _)| name.trim().trim_end_matches('?')).collect()
}

/// Returns the options of an operation that a source of the npm package lists itself. `options` are the names in Rust
/// and in JavaScript.
fn options_listed_in_npm(source: &str, operation: &str, options: &[String]) -> Vec<String> {
    let capital = operation[..1].to_uppercase() + &operation[1..];
    let functions = [format!("pub fn {operation}("), format!("impl {capital} {{\n")];
    let mut found: Vec<&str> = functions.iter().flat_map(|start| keys_read_by(source, start)).collect();
    for (start, end) in [
        (format!("interface {capital}Options {{"), "\n}"),
        (format!("\nexport function {operation}("), "\n)"),
        (format!("\nexport function {operation}<"), "\n)"),
    ] {
        found.extend(members_declared_by(source, &start, end));
    }
    for class in texts_between(source, &format!("\nexport class {capital} {{"), "\n}") {
        found.extend(members_declared_by(class, "  constructor(", "\n  );"));
    }
    found.into_iter().filter(|name| options.iter().any(|option| option == name)).map(String::from).collect()
}

#[test]
fn a_planted_list_in_the_npm_package_is_found() {
    let options = ["until", "cell_size", "cellSize"].map(String::from);
    for (planted, found) in [
        (
            "pub fn build(recipe: &str, options: JsValue) -> Result<Terrain> {\n    let options = \
             JsOptions::with_known_keys(\"build option\", options, &[\"cellSize\", \"progress\"])?;\n}\n",
            vec!["cellSize"],
        ),
        ("pub fn build(options: JsValue) -> X {\n    let label = given.read_string(\"until\")?;\n}\n", vec!["until"]),
        (
            "#[wasm_bindgen]\nimpl Build {\n    pub fn new(options: JsValue) -> X {\n        \
             given.read_number(\"cellSize\")\n    }\n}\n",
            vec!["cellSize"],
        ),
        (
            "pub fn build(options: JsValue) -> X {\n    read_operation::<BuildOptions>(\"build option\", options, \
             &[\"progress\"])\n}\npub fn other() {\n    given.read_string(\"until\");\n}\n",
            vec![],
        ),
        (
            "/** Options. */\nexport interface BuildOptions {\n  /** A label: the last. */\n  until?: string;\n  \
             progress?: X;\n}\n",
            vec!["until"],
        ),
        (
            "\nexport function build(\n  until: X,\n  options?: { cellSize?: number; seed?: number },\n): T;\n",
            vec!["cellSize"],
        ),
        ("\nexport function build<M>(\n  options?: O & {\n    until?: string;\n  },\n): T;\n", vec!["until"]),
        (
            "\nexport class Build {\n  constructor(\n    recipe: X,\n    options?: {\n      until?: X;\n    },\n  );\n}\n",
            vec!["until"],
        ),
        ("\nexport function build(options?: BuildOptions): T;\nexport interface Other {\n  until: X;\n}\n", vec![]),
        ("\nexport function build(options?: { until?: X }): T;\n", vec!["until"]),
        ("\nexport function build(\n  options?: BuildOptions & { progress?: X },\n): T;\nuntil: X\n", vec![]),
    ] {
        assert_eq!(options_listed_in_npm(planted, "build", &options), found, "{planted}");
    }
}

#[test]
fn the_npm_package_lists_no_options_that_are_declared() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = 0;
    for folder in NPM_SOURCES {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_source = ["rs", "ts", "js"].iter().any(|end| path.extension().is_some_and(|found| found == *end));
            // These types are generated.
            if !is_source || name == "thalweg.d.ts" {
                continue;
            }
            files += 1;
            let source = fs::read_to_string(&path).unwrap();
            for operation in browser_operations() {
                let names = |option: &OptionSpec| {
                    [vec![option.name.to_string(), option.camel_name()], option.earlier_camel_names()].concat()
                };
                let options: Vec<String> = operation.declared().iter().flat_map(names).collect();
                let again = options_listed_in_npm(&source, operation.name(), &options);
                assert!(again.is_empty(), "{folder}/{name} lists options of `{}`: {again:?}", operation.name());
            }
        }
    }
    assert!(files > 12, "{files} files");
}

#[test]
fn a_planted_list_is_found() {
    let options = ["threshold", "method"];
    for (planted, found) in [
        (
            "pub struct DrainArgs {\n    /// The input.\n    pub input: PathBuf,\n    pub threshold: f64,\n}\n",
            vec!["threshold"],
        ),
        ("#[pyfunction]\npub fn drain<'py>(\n    py: Python<'py>,\n    method: &str,\n) -> X {\n", vec!["method"]),
        (
            "\ndef drain(\n    dem: Any,\n    *,\n    threshold: float | None = None,\n    method: str = \"d8\",\n) -> X:\n",
            vec!["threshold", "method"],
        ),
        ("\ndef drain(dem: Any, threshold: float = 1.0) -> X: ...\n    method: str\n", vec!["threshold"]),
        ("impl X {\n    pub fn drain(&self, threshold: f64) {}\n}\n", vec![]),
        ("\ndef drain(\n    dem: Any,\n    **options: Unpack[DrainOptions],\n) -> X:\n    method: str = 1\n", vec![]),
    ] {
        assert_eq!(options_listed_again(planted, "drain", &options), found, "{planted}");
    }
}

#[test]
fn no_face_lists_options_that_are_declared() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = 0;
    for folder in FACES {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            // Types for type checkers are generated.
            if path.is_dir() || name == "_options.pyi" {
                continue;
            }
            files += 1;
            let source = fs::read_to_string(&path).unwrap();
            for operation in export_operations() {
                let declared = operation.declared();
                let options: Vec<&str> = declared.iter().map(|option| option.name).collect();
                let again = options_listed_again(&source, operation.name(), &options);
                assert!(again.is_empty(), "{folder}/{name} lists options of `{}`: {again:?}", operation.name());
            }
        }
    }
    assert!(files > 40, "{files} files");
}
