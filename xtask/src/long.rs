//! [`LongRun`]: the parts of `cargo xtask test --long` that have passed, and the tests that ran in their long form, as
//! they report it themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use xtask::shell::{Outcome, format_duration, prepare_program, programs_folder, repository_root};

/// The calls in a test's file that show that it has a long form.
const CALLS: [&str; 2] = ["long::or(", "long_or("];

/// The folders of tests.
const FOLDERS: [&str; 5] =
    ["crates/thalweg/tests", "crates/thalweg-cli/tests", "crates/thalweg-studio/tests", "tests/interop", "xtask/src"];

/// A long run. It takes hours, so a run that is interrupted continues with the parts that have not passed yet, as long
/// as the working tree is the same commit without changes.
pub struct LongRun {
    /// A file to which each test adds a line: file, test and counts.
    list: PathBuf,
    /// The file of the passed parts; none if the working tree has changes, which no commit names.
    state: Option<PathBuf>,
    /// The passed parts, with their durations in seconds.
    passed: Vec<(String, u64)>,
    /// The parts that failed in this call, each with its reason.
    problems: Vec<String>,
}

impl LongRun {
    /// Continues the run of the present commit, or begins one.
    pub fn begin_or_continue() -> Outcome<Self> {
        let folder = programs_folder()?;
        let list = folder.join("long_tests.txt");
        let state = read_clean_commit().map(|commit| folder.join(format!("long_run_{commit}.txt")));
        let text = state.as_ref().and_then(|state| fs::read_to_string(state).ok()).unwrap_or_default();
        let passed = parse_passed_parts(&text);
        if passed.is_empty() {
            fs::write(&list, "").map_err(|error| format!("{}: {error}", list.display()))?;
        }
        for (part, seconds) in &passed {
            println!("xtask: {part} passed on this commit in {}; not repeated", format_duration(*seconds));
        }
        Ok(Self { list, state, passed, problems: Vec::new() })
    }

    /// Runs a part that has not passed yet. A part that fails does not keep the following parts from running.
    pub fn run_part(&mut self, part: &str, run: impl FnOnce(&Self) -> Outcome) -> Outcome {
        if self.passed.iter().any(|(passed, _)| passed == part) {
            return Ok(());
        }
        let start = Instant::now();
        let outcome = run(self);
        let seconds = start.elapsed().as_secs();
        println!("xtask: {part} took {}", format_duration(seconds));
        match outcome {
            Ok(()) => self.passed.push((part.to_string(), seconds)),
            Err(problem) => self.problems.push(format!("{part}: {problem}")),
        }
        let Some(state) = &self.state else { return Ok(()) };
        let lines: String = self.passed.iter().map(|(part, seconds)| format!("{part}\t{seconds}\n")).collect();
        fs::write(state, lines).map_err(|error| format!("{}: {error}", state.display()))
    }

    /// Enables the long form of the tests that a command runs, and their reports.
    pub fn enable_long_tests<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("THALWEG_LONG", "1").env("THALWEG_LONG_LIST", &self.list)
    }

    /// Prints the durations of the parts and the tests that ran in their long form. Returns the problems: the parts that
    /// failed, and each file that has a long form and reported nothing. A run without problems is complete, so the next
    /// call begins another.
    pub fn finish(mut self) -> Outcome<Vec<String>> {
        let text = fs::read_to_string(&self.list).map_err(|error| format!("{}: {error}", self.list.display()))?;
        println!("\nparts that passed:");
        for (part, seconds) in &self.passed {
            println!("  {part}: {}", format_duration(*seconds));
        }
        println!("  together: {}", format_duration(self.passed.iter().map(|(_, seconds)| seconds).sum()));
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
        self.problems.extend(silent.map(|file| format!("{file} has a long form, but none of its tests ran in it")));
        if let (true, Some(state)) = (self.problems.is_empty(), &self.state) {
            fs::remove_file(state).map_err(|error| format!("{}: {error}", state.display()))?;
        }
        Ok(self.problems)
    }
}

/// Returns the commit of the working tree; `None` if the tree has changes or is no git repository.
fn read_clean_commit() -> Option<String> {
    let read = |words: &[&str]| {
        let output = prepare_program("git").args(words).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    read(&["status", "--porcelain"]).filter(String::is_empty)?;
    read(&["rev-parse", "HEAD"])
}

/// Parses the passed parts with their durations. Lines that were not written to their end are ignored.
fn parse_passed_parts(text: &str) -> Vec<(String, u64)> {
    let lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')?.split_once('\t'));
    lines.filter_map(|(part, seconds)| Some((part.to_string(), seconds.parse().ok()?))).collect()
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
    fn only_whole_lines_are_passed_parts() {
        let passed = parse_passed_parts("the tests in Rust\t3315\nthe npm package\tsoon\na release\t36");
        assert_eq!(passed, [("the tests in Rust".to_string(), 3315)]);
    }

    #[test]
    fn lines_are_gathered_by_test() {
        let text = "a.rs\tone\t5 instead of 1\na.rs\tone\t9 instead of 2\nhalf a line\nb.py\ttwo\t3\na.rs\tone\t5 instead of 1\n";
        let ran = parse_counts(text);
        assert_eq!(ran.len(), 2);
        assert_eq!(ran[&("a.rs".to_string(), "one".to_string())].len(), 2);
    }
}
