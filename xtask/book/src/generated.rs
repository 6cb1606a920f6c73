//! A file that is generated: written, and held against what would be written.

use std::fs;
use std::path::PathBuf;

use xtask::shell::{Outcome, root};

/// Writes the text into a file of the repository.
pub fn write(file: &str, text: &str) -> Outcome {
    let path = path(file);
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Whether the file holds the text.
pub fn check(file: &str, text: &str) -> Outcome {
    let path = path(file);
    let present = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    // Git on Windows may have turned the line ends.
    let is_current = present.replace("\r\n", "\n") == text;
    if is_current { Ok(()) } else { Err(format!("{} is stale: run `cargo xtask book`", path.display())) }
}

fn path(file: &str) -> PathBuf {
    root().join(file)
}
