//! A file that is generated: written, and held against what would be written.

use xtask::files;
use xtask::shell::{Outcome, root};

/// Writes the text into a file of the repository.
pub fn write(file: &str, text: &str) -> Outcome {
    files::write(&root().join(file), text)
}

/// Whether the file holds the text.
pub fn check(file: &str, text: &str) -> Outcome {
    let path = root().join(file);
    let present = files::read(&path)?;
    // Git on Windows may have turned the line ends.
    let is_current = present.replace("\r\n", "\n") == text;
    if is_current { Ok(()) } else { Err(format!("{} is stale: run `cargo xtask book`", path.display())) }
}
