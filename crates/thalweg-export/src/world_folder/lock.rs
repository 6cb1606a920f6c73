//! [`FolderLock`]: allows one run at a time in a folder.

use std::fs::{File, TryLockError};
use std::path::Path;

use thalweg_core::base::names::format_path;
use thalweg_core::{Error, Result};

/// The file that is locked.
pub(super) const NAME: &str = ".lock";

/// A folder that is locked by this process. The lock file is not removed: removing it would allow two other processes
/// in at the same time.
#[derive(Debug)]
#[must_use]
pub struct FolderLock {
    _open: Option<File>,
    /// A warning if the system cannot lock files, so that a second run is not kept out; `None` if the folder is locked.
    pub warning: Option<String>,
}

impl FolderLock {
    /// Locks the folder until the lock is dropped.
    ///
    /// # Errors
    /// Returns an error if another process uses the folder, or if the file cannot be created.
    pub fn acquire(folder: &Path) -> Result<Self> {
        let path = folder.join(NAME);
        // A link could lead to a file outside the folder, and a pipe would block.
        if std::fs::symlink_metadata(&path).is_ok_and(|about| !about.is_file()) {
            let problem = "is not a regular file, so it cannot be the lock file of this folder; remove it, or choose \
                           another folder";
            return Err(Error::invalid_file(&path, problem));
        }
        // The file is never truncated, because another process may have it open.
        let file = File::options().create(true).append(true).open(&path).map_err(Error::io(&path, "write"))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _open: Some(file), warning: None }),
            Err(TryLockError::WouldBlock) => Err(Error::invalid_file(
                folder,
                "is in use by another run; wait until it ends, or choose another folder with -o",
            )),
            Err(TryLockError::Error(error)) => {
                let warning = format!("{}: cannot be locked against a second run ({error})", format_path(&path));
                Ok(Self { _open: None, warning: Some(warning) })
            }
        }
    }
}
