//! Tests that have a long form: `cargo xtask test --long` runs them with larger counts, and prints which ran.

use std::fmt::Debug;
use std::io::Write as _;
use std::panic::Location;

/// `large` in the long run, `small` in every other. The long run is told which test took it.
#[must_use]
#[track_caller]
pub fn or<T: Debug>(small: T, large: T) -> T {
    if std::env::var_os("THALWEG_LONG").is_none() {
        return small;
    }
    note(&format!("{large:?} instead of {small:?}"));
    large
}

/// Adds a line to the list of what ran long, if somebody keeps one: file, test, counts.
#[track_caller]
fn note(counts: &str) {
    let Some(list) = std::env::var_os("THALWEG_LONG_LIST") else { return };
    let (file, thread) = (Location::caller().file().replace('\\', "/"), std::thread::current());
    let line = format!("{file}\t{}\t{counts}\n", thread.name().unwrap_or("main"));
    let list = std::fs::File::options().create(true).append(true).open(list);
    // Whole in one write: tests run side by side.
    list.and_then(|mut list| list.write_all(line.as_bytes())).expect("the list of long tests takes a line");
}
