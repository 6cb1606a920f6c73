//! The messages of all command lines that the tests expect to be refused, recorded in `tests/messages.txt`, so that
//! they can be read and reviewed as a whole.
//!
//! `THALWEG_BLESS=1 cargo test -p thalweg-cli --test it` adds the current messages to the file. To remove messages that
//! no longer occur, delete the file first.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

/// A command line and the message with which it is refused.
type Refusal = (String, String);

/// The recorded refusals, in alphabetical order.
static RECORDED: LazyLock<Mutex<BTreeSet<Refusal>>> = LazyLock::new(|| Mutex::new(read_recorded()));

/// The file, relative to the crate.
const FILE: &str = "tests/messages.txt";

/// Checks that the message of a refused command line is the recorded one. With `THALWEG_BLESS`, records it instead.
#[track_caller]
pub fn check_message(line: &str, message: &str, folder: &Path) {
    // Other systems have other error texts and separators in paths.
    if !cfg!(target_os = "linux") {
        return;
    }
    let refusal = (clip_line(line), normalize_message(message, folder));
    let mut recorded = RECORDED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if std::env::var_os("THALWEG_BLESS").is_some() {
        if recorded.insert(refusal) {
            std::fs::write(FILE, format_refusals(&recorded)).unwrap();
        }
        return;
    }
    let is_recorded = recorded.contains(&refusal);
    // The lock is released before the assertion, so that a failure does not affect other tests.
    drop(recorded);
    assert!(
        is_recorded,
        "thalweg {}\n    {}\nis not in {FILE}: read the message, then record it with THALWEG_BLESS=1",
        refusal.0, refusal.1
    );
}

/// Shortens very long command lines.
fn clip_line(line: &str) -> String {
    let clipped: String = line.chars().take(160).collect();
    if clipped == line { clipped } else { clipped + "…" }
}

/// Returns the message without the parts that depend on the machine or the run: the temporary folder, amounts of memory
/// and numbers of steps.
fn normalize_message(message: &str, folder: &Path) -> String {
    let message = message.replace(&*folder.to_string_lossy(), "FOLDER");
    let mut words: Vec<String> = message.trim().split(' ').map(String::from).collect();
    for k in 1..words.len() {
        let is_memory = ["KiB", "MiB", "GiB", "TiB"].iter().any(|unit| words[k].starts_with(unit));
        // A run that is stopped by a signal has done some number of steps.
        let is_progress = words[k] == "of" && k > 1 && words[k - 2] == "after";
        if (is_memory || is_progress) && words[k - 1].parse::<f64>().is_ok() {
            words[k - 1] = "N".to_string();
        }
    }
    let text = words.join(" ");
    // Empty lines stay empty, because editors remove spaces at the end of a line.
    let lines = text.lines().map(|line| if line.is_empty() { String::new() } else { format!("    {line}") });
    lines.collect::<Vec<_>>().join("\n").trim_start().to_string()
}

fn format_refusals(refusals: &BTreeSet<Refusal>) -> String {
    let mut text = String::new();
    for (line, message) in refusals {
        let _ = writeln!(text, "thalweg {line}\n    {message}");
    }
    text
}

fn read_recorded() -> BTreeSet<Refusal> {
    let text = std::fs::read_to_string(FILE).unwrap_or_default();
    let mut refusals = BTreeSet::new();
    // A command line begins in the first column; its message is indented.
    for entry in format!("\n{text}").split("\nthalweg ").skip(1) {
        let (line, message) = entry.split_once("\n    ").unwrap_or((entry, ""));
        refusals.insert((line.to_string(), message.trim_end().to_string()));
    }
    refusals
}
