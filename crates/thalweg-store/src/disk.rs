//! Files of a store: written atomically, and checked for free disk space.

use std::fs;
use std::io::Write;
use std::path::Path;

use thalweg_core::{Error, Result};
use thalweg_io::write_atomically;

/// Writes a temporary file next to `path`, flushes it to the disk and renames it into place; creates the folder if it
/// is missing.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    write_file_with(path, |file| file.write_all(bytes))
}

/// Does the same with a function that writes the content.
pub fn write_file_with(path: &Path, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Error::io(folder, "create the folder"))?;
    }
    let written = write_atomically(path, |file| write(file).map_err(Error::io(path, "write")));
    written.map_err(|error| match error {
        Error::Io { path, action: "replace", source } => {
            let problem = format!(
                "cannot be replaced by renaming ({source}); a store needs a file system that can do this, so choose \
                 another folder"
            );
            Error::invalid_file(path, problem)
        }
        error => error,
    })
}

/// Formats a number of bytes for people.
pub fn format_bytes(bytes: u64) -> String {
    format!("{bytes} bytes ({:.2} GiB)", bytes as f64 / f64::from(1 << 30))
}

/// Returns the number of bytes that are free for this user on the file system where `path` is or will be; `None` if
/// the system does not report it.
pub fn free_bytes(path: &Path) -> Option<u64> {
    // The folder itself may not exist yet, so the nearest existing one is examined.
    let there = path.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
    #[cfg(unix)]
    {
        let about = rustix::fs::statvfs(there).ok()?;
        Some(about.f_bavail.saturating_mul(about.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = there;
        None
    }
}

/// Refuses work that may write `need` bytes ([`StoreSpec::bytes_needed`](crate::StoreSpec::bytes_needed)) if less is
/// free.
///
/// # Errors
/// Returns [`Error::TooLarge`] with both numbers if less is free.
pub fn check_room(path: &Path, need: u64) -> Result<()> {
    let describe = |bytes: u64| format!("{} of disk space", format_bytes(bytes));
    match free_bytes(path) {
        Some(have) if have < need => {
            Err(Error::TooLarge { what: path.display().to_string(), need: describe(need), have: describe(have) })
        }
        _ => Ok(()),
    }
}
