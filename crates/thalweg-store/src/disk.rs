//! Files of a store: written atomically, and checked for free disk space.

use std::fs;
use std::io::Write;
use std::path::Path;

use thalweg_core::{Error, Result};
use thalweg_io::atomic;

/// Writes a temporary file next to `path`, flushes it to the disk and renames it into place; creates the folder if it
/// is missing.
pub fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    put_with(path, |file| file.write_all(bytes))
}

/// Does the same with a function that writes the content.
pub fn put_with(path: &Path, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Error::io(folder, "make the folder"))?;
    }
    let written = atomic(path, |file| write(file).map_err(Error::io(path, "write")));
    written.map_err(|error| match error {
        Error::Io { path, action: "replace", source } => {
            let problem = format!(
                "cannot be renamed into place ({source}); a store needs a file system that renames files over others: choose another folder"
            );
            Error::file(path, problem)
        }
        error => error,
    })
}

/// Formats a number of bytes for people.
pub fn shown(bytes: u64) -> String {
    format!("{bytes} bytes ({:.2} GiB)", bytes as f64 / f64::from(1 << 30))
}

/// Returns the number of bytes that are free for this user on the file system where `path` is or will be; `None` if
/// the system does not report it.
pub fn room(path: &Path) -> Option<u64> {
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
    let told = |bytes: u64| format!("{} on the disk", shown(bytes));
    match room(path) {
        Some(have) if have < need => {
            Err(Error::TooLarge { what: path.display().to_string(), need: told(need), have: told(have) })
        }
        _ => Ok(()),
    }
}
