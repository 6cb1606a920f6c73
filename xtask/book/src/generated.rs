//! Generated files: writing them, and checking that they are current.

use xtask::files;
use xtask::shell::{Outcome, root};

/// Writes the text into a file of the repository.
pub fn write(file: &str, text: &str) -> Outcome {
    files::write(&root().join(file), text)
}

/// Checks that the file contains the text.
pub fn check(file: &str, text: &str) -> Outcome {
    let path = root().join(file);
    let present = files::read(&path)?;
    // Git on Windows may have converted the line endings.
    let is_current = present.replace("\r\n", "\n") == text;
    if is_current { Ok(()) } else { Err(format!("{} is stale: run `cargo xtask book`", path.display())) }
}
