//! Tests that the targets of references in the documents exist.

use std::fs;
use std::path::{Component, Path, PathBuf};

use thalweg_models::model::page::model_page;
use thalweg_models::models::all_models;

use crate::support::repository_root;

/// Top-level folders of the repository with which a path in backticks may begin.
const TOPS: [&str; 7] = ["crates/", "docs/", "recipes/", "tests/", "xtask/", ".ci/", ".cargo/"];

/// The folders of documents. The pages of the models are not among them, because git ignores them.
const FOLDERS: [&str; 4] = ["", "docs", "docs/python", "crates/thalweg-sim/presets"];

/// Returns every document with its path from the repository's root.
fn documents() -> Vec<(PathBuf, String)> {
    let mut documents: Vec<(PathBuf, String)> =
        all_models().map(|model| (model_path(model.about().name), model_page(&*model))).collect();
    for folder in FOLDERS.map(Path::new) {
        for path in fs::read_dir(repository_root().join(folder)).unwrap().map(|entry| entry.unwrap().path()) {
            if path.extension().is_some_and(|e| e == "md") {
                documents.push((folder.join(path.file_name().unwrap()), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    documents
}

fn model_path(name: &str) -> PathBuf {
    PathBuf::from(format!("docs/models/{name}.md"))
}

/// Returns the paths of the pages that `cargo xtask book` writes: an index, a table, and one for each model.
fn generated_pages() -> Vec<PathBuf> {
    ["README", "local_forms"].into_iter().chain(all_models().map(|model| model.about().name)).map(model_path).collect()
}

/// Returns true if a path from the repository's root exists, or is that of a generated page.
fn is_there(path: &Path) -> bool {
    repository_root().join(path).exists() || generated_pages().iter().any(|page| page == path)
}

/// Returns the path from the repository's root to which a link of a document leads, unless it leads out of the
/// repository.
fn resolve_link(document: &Path, link: &str) -> Option<PathBuf> {
    let mut target = PathBuf::new();
    for part in document.parent()?.join(link).components() {
        match part {
            Component::ParentDir if !target.pop() => return None,
            Component::Normal(name) => target.push(name),
            _ => {}
        }
    }
    Some(target)
}

/// Returns true if text in backticks is a path of the repository, and not a pattern or a command.
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
            assert!(is_there(Path::new(path)), "{}: `{path}` does not exist", document.display());
            seen += 1;
        }
    }
    assert!(seen > 40, "only {seen} paths found: is the pattern wrong?");
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() { sources(&path, found) } else { found.push(path) }
    }
}

/// A user's crate that declares a model must not need a `toml` dependency of its own, in the very version with which
/// recipes are read.
#[test]
fn no_type_of_toml_shows() {
    let shown_to_models =
        ["core/src/terrain", "core/src/base", "models/src/model", "models/src/process", "noise/src/strata", "flow/src"];
    let mut files = vec![repository_root().join("crates/thalweg-core/src/declare/params.rs")];
    for folder in shown_to_models {
        sources(&repository_root().join(format!("crates/thalweg-{folder}")), &mut files);
    }
    let mut seen = 0;
    for file in files {
        let code = fs::read_to_string(&file).unwrap();
        let code = code.split("#[cfg(test)]").next().unwrap_or_default();
        // Hidden functions are meant for the library's own crates.
        let code = code.replace("#[doc(hidden)]\n    pub fn ", "fn ");
        let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let code = code.join("\n");
        // Signatures up to their bodies; public traits and macros as a whole.
        let signatures = ["pub fn ", "pub type ", "pub const ", "impl From<"].map(|start| (start, "{"));
        let wholes = ["pub trait ", "pub enum ", "#[macro_export]"].map(|start| (start, "\n}"));
        for (start, end) in signatures.into_iter().chain(wholes) {
            for item in code.split(start).skip(1).filter_map(|rest| rest.split(end).next()) {
                assert!(!item.contains("toml::"), "{}: {start}{item}", file.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 400, "only {seen} items found: is the pattern wrong?");
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut seen = 0;
    for (document, text) in documents() {
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap_or_default();
            if !path.is_empty() && !link.contains("://") {
                let target = resolve_link(&document, path);
                assert!(target.is_some_and(|target| is_there(&target)), "{}: ({link})", document.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "only {seen} links found: is the pattern wrong?");
}

/// mdBook makes no page of a file that its table of contents lacks.
#[test]
fn the_table_of_contents_has_every_page_of_the_book() {
    let book = repository_root().join("docs");
    let contents = fs::read_to_string(book.join("SUMMARY.md")).unwrap();
    let mut files = Vec::new();
    sources(&book, &mut files);
    files.retain(|file| file.extension().is_some_and(|e| e == "md") && !file.ends_with("SUMMARY.md"));
    // Of the generated pages, which need not exist here, only the current ones count.
    files.retain(|file| !file.starts_with(book.join("models")));
    files.extend(generated_pages().iter().map(|page| repository_root().join(page)));
    let mut seen = 0;
    for page in files.iter().map(|file| file.strip_prefix(&book).unwrap()) {
        let link = format!("]({})", page.to_str().unwrap().replace('\\', "/"));
        assert!(contents.contains(&link), "docs/SUMMARY.md has no link to {}", page.display());
        seen += 1;
    }
    assert!(seen > 60, "only {seen} pages found: is the pattern wrong?");
}
