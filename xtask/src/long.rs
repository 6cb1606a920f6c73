//! [`List`]: the tests that ran in their long form, as they report it themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::shell::{Outcome, programs_folder, repository_root};

/// The calls in a test's file that show that it has a long form.
const CALLS: [&str; 2] = ["long::or(", "long_or("];

/// The folders of tests.
const FOLDERS: [&str; 5] =
    ["crates/thalweg/tests", "crates/thalweg-cli/tests", "crates/thalweg-studio/tests", "tests/interop", "xtask/src"];

/// A file to which each test adds a line: file, test and counts.
pub struct List(PathBuf);

impl List {
    /// Creates an empty list.
    pub fn create() -> Outcome<Self> {
        let path = programs_folder()?.join("long_tests.txt");
        fs::write(&path, "").map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }

    /// Enables the long form of the tests that a command runs, and their reports.
    pub fn enable_long_tests<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("THALWEG_LONG", "1").env("THALWEG_LONG_LIST", &self.0)
    }

    /// Prints which tests ran; returns an error message for each file that has a long form and reported nothing.
    pub fn report_results(self) -> Outcome<Vec<String>> {
        let text = fs::read_to_string(&self.0).map_err(|error| format!("{}: {error}", self.0.display()))?;
        let ran = parse_counts(&text);
        println!("\nthese tests ran in their long form:");
        for ((file, test), counts) in &ran {
            println!("  {file} {test}: {}", counts.iter().cloned().collect::<Vec<_>>().join(", "));
        }
        // These tests read the variable themselves and do not write to the list.
        for file in find_test_files("\"THALWEG_LONG\"")? {
            println!("  {file}: reads the variable itself");
        }
        // Tests report paths relative to their crate or to the repository, so either may be the end of the other.
        let heard = |file: &str| ran.keys().any(|(known, _)| known.ends_with(file) || file.ends_with(known.as_str()));
        let mut called = Vec::new();
        for call in CALLS {
            called.extend(find_test_files(call)?);
        }
        called.dedup();
        let silent = called.into_iter().filter(|file| !heard(file));
        Ok(silent.map(|file| format!("{file} has a long form, but none of its tests ran in it")).collect())
    }
}

/// Parses the list into counts by file and test.
fn parse_counts(text: &str) -> BTreeMap<(String, String), BTreeSet<String>> {
    let mut ran: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for line in text.lines() {
        // Half-written lines of tests that were killed are ignored.
        if let [file, test, counts] = line.split('\t').collect::<Vec<_>>()[..] {
            ran.entry((file.to_string(), test.to_string())).or_default().insert(counts.to_string());
        }
    }
    ran
}

/// Returns the test files that contain these words, relative to the root.
fn find_test_files(words: &str) -> Outcome<Vec<String>> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        search_folder(&repository_root().join(folder), words, &mut found)?;
    }
    found.retain(|file| !is_helper(file));
    found.sort();
    Ok(found)
}

/// Returns true if a file is not a test but a helper of tests, or this file.
fn is_helper(file: &str) -> bool {
    ["/tests/it/long.rs", "/helpers.py", "/src/long.rs"].iter().any(|end| file.ends_with(end))
}

fn search_folder(folder: &Path, words: &str, found: &mut Vec<String>) -> Outcome {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        if path.is_dir() {
            search_folder(&path, words, found)?;
        } else if path.extension().is_some_and(|ending| ending == "rs" || ending == "py") {
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            if text.contains(words) {
                let path = path.strip_prefix(repository_root()).unwrap_or(&path);
                found.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_gathered_by_test() {
        let text = "a.rs\tone\t5 instead of 1\na.rs\tone\t9 instead of 2\nhalf a line\nb.py\ttwo\t3\na.rs\tone\t5 instead of 1\n";
        let ran = parse_counts(text);
        assert_eq!(ran.len(), 2);
        assert_eq!(ran[&("a.rs".to_string(), "one".to_string())].len(), 2);
    }
}
