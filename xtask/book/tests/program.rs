//! Tests of the program `thalweg-book`, which cargo builds for them.

use std::process::Command;

#[test]
fn the_tables_of_the_pages_are_current() {
    let output = Command::new(env!("CARGO_BIN_EXE_thalweg-book")).args(["book", "--check"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
