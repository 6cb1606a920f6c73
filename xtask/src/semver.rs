//! `cargo xtask semver`: whether the library's public API has been broken since it was last said to be.
//!
//! The API is compared with that of the commit which last changed `crates/thalweg/api-baseline.md`. A break that is meant is an entry of
//! that file, and of the changelog; so the next comparison starts from there.

use xtask::shell::{Outcome, cargo, cargo_command, program};

/// The file whose last change is the version to compare with.
const BASELINE: &str = "crates/thalweg/api-baseline.md";

/// Compares; `cargo-semver-checks` is installed where it is missing.
pub fn check() -> Outcome {
    if !cargo_command().args(["semver-checks", "--version"]).output().is_ok_and(|output| output.status.success()) {
        println!("xtask: cargo-semver-checks is not there; it is installed now, which takes some minutes");
        cargo(&["install", "--locked", "cargo-semver-checks"])?;
    }
    let log = program("git").args(["log", "-1", "--format=%H", "--", BASELINE]).output();
    let commit = log.map_err(|error| format!("git log: {error}"))?;
    let commit = String::from_utf8_lossy(&commit.stdout).trim().to_string();
    if commit.is_empty() {
        return Err(format!("{BASELINE} is in no commit, so there is nothing to compare with"));
    }
    cargo(&["semver-checks", "--package", "thalweg", "--baseline-rev", &commit, "--release-type", "patch"])
}
