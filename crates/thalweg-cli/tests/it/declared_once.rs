//! Options of operations are declared once: no face lists them a second time.

use std::fs;
use std::path::Path;

use thalweg_export::export_operations;

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
