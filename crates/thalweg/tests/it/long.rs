//! Tests that have a long form: `cargo xtask test --long` runs them with larger counts, and prints which ran.

use std::fmt::Debug;
use std::io::Write as _;
use std::panic::Location;

/// Returns `large` in the long run and `small` in every other. The long run records which test used it.
#[must_use]
#[track_caller]
pub fn or<T: Debug>(small: T, large: T) -> T {
    if std::env::var_os("THALWEG_LONG").is_none() {
        return small;
    }
    note(&format!("{large:?} instead of {small:?}"));
    large
}

/// Appends a line with file, test and counts to the list of long tests, if `THALWEG_LONG_LIST` is set.
#[track_caller]
fn note(counts: &str) {
    let Some(list) = std::env::var_os("THALWEG_LONG_LIST") else { return };
    let (file, thread) = (Location::caller().file().replace('\\', "/"), std::thread::current());
    let line = format!("{file}\t{}\t{counts}\n", thread.name().unwrap_or("main"));
    let list = std::fs::File::options().create(true).append(true).open(list);
    // The line is written in one call because tests run in parallel.
    list.and_then(|mut list| list.write_all(line.as_bytes())).expect("the list of long tests takes a line");
}
