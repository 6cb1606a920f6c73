//! Options of operations are declared once: no face lists them a second time.

use std::fs;
use std::path::Path;

use thalweg_core::declare::operation::{OptionSpec, WorkForm, options_for};
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

/// The sources of the npm package: its Rust code, the files next to the module, and the fixed part of its types with
/// the pages that use it.
const NPM_SOURCES: [&str; 6] = [
    "crates/thalweg-web/src",
    "crates/thalweg-web/npm",
    "xtask/web",
    "xtask/web/book",
    "xtask/web/examples/maplibre",
    "xtask/web/examples/three",
];

/// Returns the names in the declaration that begins with `start`: the fields of a struct, or the parameters of a
/// function.
fn names_declared_by<'a>(source: &'a str, start: &str, separators: &[char]) -> Vec<&'a str> {
    let Some(at) = source.find(start) else { return Vec::new() };
    let declaration = &source[at + start.len()..];
    // A declaration over several lines ends at a bracket in the first column, a shorter one at the end of its line.
    let end = match declaration.find('\n') {
        Some(line) if !declaration[..line].trim_end().ends_with(['(', '{']) && !declaration[..line].is_empty() => line,
        _ => ["\n)", "\n}"].iter().filter_map(|end| declaration.find(end)).min().unwrap_or(declaration.len()),
    };
    let parts = declaration[..end].split(separators);
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
    let found = starts.iter().flat_map(|start| names_declared_by(source, start, &[',', '\n', '(', ';']));
    found.filter(|name| options.contains(name)).map(String::from).collect()
}

/// Returns the declared options of an operation that types of TypeScript list themselves: in the interface of the
/// options, in a type within the parameters of the function, or in the constructor of the class.
fn options_typed_again(source: &str, operation: &str, options: &[String]) -> Vec<String> {
    let capital = operation[..1].to_uppercase() + &operation[1..];
    let mut starts = vec![
        format!("\nexport interface {capital}Options {{"),
        format!("\nexport interface {capital}Options extends "),
        format!("\nexport type {capital}Options = "),
        format!("\nexport function {operation}("),
        format!("\nexport function {operation}<"),
        format!("\nexport class {capital} {{"),
    ];
    if operation == "terrain" {
        starts.extend(["\nexport interface Land {", "\nexport type Land = "].map(String::from));
    }
    // The brace separates the members of a type within the parameters.
    let found = starts.iter().flat_map(|start| names_declared_by(source, start, &[',', '\n', '(', ';', '{']));
    found.map(String::from).filter(|name| options.contains(name)).collect()
}

/// Returns the declared options that code of the npm package reads from an object of JavaScript by their names: keys in
/// a list of texts, and keys of single values.
fn options_read_by_name(source: &str, options: &[String]) -> Vec<String> {
    let lists = source.match_indices("&[\"").map(|(at, _)| source[at + 2..].split(']').next().unwrap_or_default());
    let listed = lists.flat_map(|list| list.split(',').map(|name| name.trim().trim_matches('"')));
    let calls = [".read_", ".value(", ".inner_object("].into_iter().flat_map(|call| source.match_indices(call));
    let single = calls.filter_map(|(at, _)| {
        let (_, arguments) = source[at..].split_once('(')?;
        arguments.strip_prefix('"')?.split('"').next()
    });
    listed.chain(single).map(String::from).filter(|name| options.contains(name)).collect()
}

/// Returns the names in JavaScript of the options of an operation that apply on a web page.
fn browser_names(operation: &dyn thalweg_core::declare::operation::Operation) -> Vec<String> {
    options_for(operation, WorkForm::Browser).iter().map(OptionSpec::camel_name).collect()
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

#[test]
fn a_list_planted_in_the_npm_package_is_found() {
    let options = ["seed", "tile", "cellSize"].map(String::from);
    for (planted, found) in [
        ("\nexport interface WorldOptions {\n  /** Seed. */\n  seed?: number;\n}\n", vec!["seed"]),
        ("\nexport interface WorldOptions extends Other {\n  tile?: number;\n}\n", vec!["tile"]),
        (
            "\nexport function world<M>(\n  model: M,\n  options?: { seed?: number | bigint; tell?: (x: X) => void },\n): X;\n",
            vec!["seed"],
        ),
        ("\nexport function world(name: string, options?: { cellSize?: number }): X;\n", vec!["cellSize"]),
        (
            "\nexport class World {\n  constructor(\n    name: string,\n    options?: {\n      tile?: number;\n    },\n  );\n}\n",
            vec!["tile"],
        ),
        // Results and parameters of methods are no options.
        ("\nexport class World {\n  readonly seed: bigint;\n  tile(\n    level: number,\n  ): Terrain;\n}\n", vec![]),
        ("\nexport function world(options?: WorldOptions & { progress?: () => void }): X;\n", vec![]),
    ] {
        assert_eq!(options_typed_again(planted, "world", &options), found, "{planted}");
    }
    assert_eq!(
        options_typed_again("\nexport interface Land {\n  cellSize: number;\n}", "terrain", &options),
        ["cellSize"]
    );
    for (planted, found) in [
        ("with_known_keys(\"World option\", options, &[\"seed\", \"tile\", \"progress\"])", vec!["seed", "tile"]),
        ("const KEYS: &[&str] = &[\"heights\", \"cellSize\"];", vec!["cellSize"]),
        ("let seed = given.read_count(\"seed\")?;", vec!["seed"]),
        ("let seed = given.value(\"tile\");", vec!["tile"]),
        ("put(\"cellSize\", cell)?; read_operation::<T>(\"World option\", options, &[\"progress\"])", vec![]),
    ] {
        assert_eq!(options_read_by_name(planted, &options), found, "{planted}");
    }
}

#[test]
fn the_npm_package_lists_no_options_that_are_declared() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in NPM_SOURCES {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_source = [".rs", ".ts", ".js", ".mjs", ".html", ".md"].iter().any(|end| name.ends_with(end));
            // The generated types contain the declared options.
            if path.is_dir() || !is_source || name == "thalweg.d.ts" {
                continue;
            }
            let source = fs::read_to_string(&path).unwrap();
            for operation in browser_operations() {
                let options = browser_names(&*operation);
                let again = [
                    options_typed_again(&source, operation.name(), &options),
                    if name.ends_with(".rs") { options_read_by_name(&source, &options) } else { Vec::new() },
                ];
                let again = again.concat();
                assert!(again.is_empty(), "{folder}/{name} lists options of `{}`: {again:?}", operation.name());
            }
            files.push(name);
        }
    }
    assert!(
        files.len() > 15
            && ["head.d.ts", "options.rs", "threads.d.ts"].iter().all(|name| files.contains(&(*name).into()))
    );
}
