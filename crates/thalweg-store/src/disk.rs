//! Files of a store: put in place whole; room for them.

use std::fs;
use std::io::Write;
use std::path::Path;

use thalweg_core::{Error, Result};
use thalweg_io::atomic;

/// Writes a file beside its place, makes it lasting and renames it; its folder is made if it is missing.
pub fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    put_with(path, |file| file.write_all(bytes))
}

/// The same of what `write` writes.
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

/// Bytes for people.
pub fn shown(bytes: u64) -> String {
    format!("{bytes} bytes ({:.2} GiB)", bytes as f64 / f64::from(1 << 30))
}

/// Bytes that are free for this user where `path` lies, or will lie; `None` where the system does not say.
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

/// Refuses work that may write `need` bytes ([`StoreSpec::bytes_needed`](crate::StoreSpec::bytes_needed)) where less is free.
///
/// # Errors
/// When there is less; with both numbers.
pub fn check_room(path: &Path, need: u64) -> Result<()> {
    let told = |bytes: u64| format!("{} on the disk", shown(bytes));
    match room(path) {
        Some(have) if have < need => {
            Err(Error::TooLarge { what: path.display().to_string(), need: told(need), have: told(have) })
        }
        _ => Ok(()),
    }
}
