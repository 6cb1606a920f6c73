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
    let folders = [root(), root().join("docs"), root().join("docs/models"), root().join("crates/thalweg/presets")];
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

/// The module that a source file belongs to, if it is of the library: `io/tiff/mod.rs` is of `io`.
fn module(path: &str) -> Option<&str> {
    let path = path.strip_prefix("crates/thalweg/src/")?;
    Some(path.split('/').next()?.trim_end_matches(".rs"))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() { sources(&path, found) } else { found.push(path) }
    }
}

#[test]
fn modules_use_only_earlier_ones() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split('`').filter_map(module).collect())
        .collect();
    let rank = |module: &str| rows.iter().position(|row| row.contains(&module));
    let mut files = Vec::new();
    sources(&root().join("crates/thalweg/src"), &mut files);
    let mut seen = 0;
    for file in files.iter().filter(|file| !file.ends_with("lib.rs")) {
        let name = file.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        let own =
            module(&name).and_then(rank).unwrap_or_else(|| panic!("{name} is missing in ARCHITECTURE.md's table"));
        let code = fs::read_to_string(file).unwrap();
        // What tests use, and what comments name, is no dependence.
        let code = code.split("#[cfg(test)]").next().unwrap_or_default();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for used in line.split("crate::").skip(1) {
                let end = used.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(used.len());
                if let Some(other) = rank(&used[..end]) {
                    assert!(other <= own, "{name} uses `{}`, which comes later: {line}", &used[..end]);
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 100, "only {seen} uses found: is the pattern wrong?");
}

/// A source file's module as a path, `view/camera` for `view/camera/mod.rs`.
fn module_path(file: &str) -> &str {
    file.trim_end_matches(".rs").trim_end_matches("/mod")
}

#[test]
fn modules_of_the_studio_use_only_those_of_earlier_rows() {
    const FOLDER: &str = "crates/thalweg-studio/src/";
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let paths = |line: &'static str| line.split('`').filter_map(|path| path.strip_prefix(FOLDER)).map(module_path);
    let text: &'static str = text.leak();
    let rows = text.lines().filter(|line| line.starts_with("| `")).map(paths);
    let ranks: Vec<(&str, usize)> =
        rows.enumerate().flat_map(|(rank, row)| row.map(move |path| (path, rank)).collect::<Vec<_>>()).collect();
    let within = |path: &str, folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    // The row of a path, or of the folder that stands there for all that it holds.
    let row = |path: &str| {
        let fits = |(own, _): &&(&str, usize)| path == *own || within(path, own);
        ranks.iter().filter(fits).max_by_key(|(own, _)| own.len()).copied()
    };
    let mut files = Vec::new();
    sources(&root().join(FOLDER), &mut files);
    let mut seen = 0;
    for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "rs")) {
        let name = file.strip_prefix(root().join(FOLDER)).unwrap().to_string_lossy().replace('\\', "/");
        let path = module_path(&name);
        let own = row(path).filter(|(own, _)| path == *own || !ranks.iter().any(|(other, _)| within(other, own)));
        let (own, rank) = own.unwrap_or_else(|| panic!("{name} is missing in ARCHITECTURE.md's table"));
        if path.ends_with("/tests") {
            continue;
        }
        let code = fs::read_to_string(file).unwrap();
        let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            assert!(
                !line.contains("super::") && !line.contains("crate::{"),
                "{name}: name what is used from `crate::` on: {line}"
            );
            for used in line.split("crate::").skip(1) {
                let end = used.find(|c: char| !c.is_alphanumeric() && !"_:".contains(c)).unwrap_or(used.len());
                let used = used[..end].replace("::", "/");
                let (other, earlier) = row(used.trim_end_matches('/')).unwrap_or((own, rank));
                assert!(
                    other == own || earlier < rank,
                    "{name} uses `{other}`, which is not of an earlier row: {line}"
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "only {seen} uses found: is the pattern wrong?");
}

/// A user's crate that declares a model needs no `toml` of its own, of the very version that we read recipes with.
#[test]
fn no_type_of_toml_shows() {
    let mut files = Vec::new();
    sources(&root().join("crates/thalweg/src"), &mut files);
    let mut seen = 0;
    for file in files {
        let code = fs::read_to_string(&file).unwrap();
        let code = code.split("#[cfg(test)]").next().unwrap_or_default();
        let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let code = code.join("\n");
        // Signatures, up to their bodies; traits and macros that others use, as a whole.
        let signatures = ["pub fn ", "pub type ", "pub const ", "impl From<"].map(|start| (start, "{"));
        let wholes = ["pub trait ", "pub enum ", "#[macro_export]"].map(|start| (start, "\n}"));
        for (start, end) in signatures.into_iter().chain(wholes) {
            for item in code.split(start).skip(1).filter_map(|rest| rest.split(end).next()) {
                assert!(!item.contains("toml::"), "{}: {start}{item}", file.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 800, "only {seen} items found: is the pattern wrong?");
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

#[test]
fn the_tables_of_rocks_and_knobs_are_current() {
    let path = root().join("docs/knobs.md");
    let page = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    for table in [thalweg::rocks::table(), thalweg::knobs::table()] {
        assert!(page.contains(&table), "{} is stale; its table is now\n{table}", path.display());
    }
}
