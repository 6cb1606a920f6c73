//! What the documents point at is there.

use std::fs;
use std::path::{Path, PathBuf};

/// Tops of the repository that a path in backticks may begin with.
const TOPS: [&str; 7] = ["crates/", "docs/", "recipes/", "tests/", "xtask/", ".ci/", ".cargo/"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every document with its text.
fn documents() -> Vec<(PathBuf, String)> {
    let folders = [root(), root().join("docs"), root().join("docs/models"), root().join("crates/thalweg/tests/data")];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "md"));
    paths.map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// Whether text in backticks is a path of the repository, and not a pattern or a command.
fn is_path(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let at_root =
        ["md", "toml"].iter().any(|e| text.ends_with(&format!(".{e}"))) && text.starts_with(char::is_uppercase);
    text.chars().all(plain) && (at_root || TOPS.iter().any(|top| text.starts_with(top)))
}

#[test]
fn paths_in_backticks_exist() {
    let mut seen = 0;
    for (document, text) in documents() {
        for path in text.split('`').skip(1).step_by(2).filter(|text| is_path(text)) {
            assert!(root().join(path).exists(), "{}: `{path}` does not exist", document.display());
            seen += 1;
        }
    }
    assert!(seen > 40, "only {seen} paths found: is the pattern wrong?");
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut seen = 0;
    for (document, text) in documents() {
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap_or_default();
            if !path.is_empty() && !link.contains("://") {
                assert!(document.parent().unwrap().join(path).exists(), "{}: ({link})", document.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "only {seen} links found: is the pattern wrong?");
}
