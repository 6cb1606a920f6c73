//! Generated files: writing them, and checking that they are current.

use xtask::files;
use xtask::shell::{Outcome, repository_root};

/// Writes the text into a file of the repository.
pub fn write_generated(file: &str, text: &str) -> Outcome {
    files::write_file(&repository_root().join(file), text)
}

/// Checks that the file contains the text.
pub fn check_generated(file: &str, text: &str) -> Outcome {
    let path = repository_root().join(file);
    let present = files::read_text(&path)?;
    // Git on Windows may have converted the line endings.
    let is_current = present.replace("\r\n", "\n") == text;
    if is_current { Ok(()) } else { Err(format!("{} is stale: run `cargo xtask book`", path.display())) }
}
