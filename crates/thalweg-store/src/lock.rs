//! [`StoreLock`]: access control for writing to a store.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::path::Path;

use thalweg_core::{Error, Result};
use thalweg_io::atomic::is_process_running;

/// The other processes that may write to a store at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// No other process.
    Alone,
    /// Other workers of the same plan, each on different tiles: a cluster's queue gives each tile to one of them.
    Shared,
}

/// The file that is locked, and the one that lists its holders. They are separate because on systems with mandatory
/// locks other processes cannot read a locked file.
const NAMES: [&str; 2] = [".lock", ".holders"];

/// A lock on a store, which this process holds until the value is dropped. The lock file is never deleted: with a new
/// file, two other processes could get the lock at once.
#[derive(Debug)]
pub struct StoreLock {
    _open: Option<File>,
    /// The warning for a system that does not lock files, where a second run cannot be kept out.
    pub warning: Option<String>,
}

impl StoreLock {
    /// Locks the store whose marks are in `marks`; `store` is named in messages.
    ///
    /// # Errors
    /// Returns an error with the number of the holding process if the store is locked, or an error if no lock file can
    /// be created.
    pub fn acquire(store: &Path, marks: &Path, access: Access) -> Result<Self> {
        let [path, holders] = NAMES.map(|name| marks.join(name));
        for path in [&path, &holders] {
            // A link could lead to a file elsewhere, which would be truncated or extended.
            if fs::symlink_metadata(path).is_ok_and(|about| !about.is_file()) {
                return Err(Error::invalid_file(
                    path,
                    "is not a regular file, so it is not a lock file of thalweg; remove it, or choose another folder",
                ));
            }
        }
        // The file is opened for appending, so that its content is never truncated, whoever has the lock.
        let file = File::options().create(true).append(true).open(&path).map_err(Error::io(&path, "write"))?;
        let taken = match access {
            Access::Alone => file.try_lock(),
            Access::Shared => file.try_lock_shared(),
        };
        match taken {
            Ok(()) => {
                // Processes that share the lock come and go without removing their entries; dead ones are ignored when
                // the list is read.
                let mut options = File::options();
                match access {
                    // A holder that is alone replaces the entries of earlier runs.
                    Access::Alone => options.create(true).write(true).truncate(true),
                    Access::Shared => options.create(true).append(true),
                };
                // The list only serves error messages; the lock works without it.
                let _ = options.open(&holders).and_then(|mut list| writeln!(list, "{}", std::process::id()));
                Ok(Self { _open: Some(file), warning: None })
            }
            Err(TryLockError::WouldBlock) => {
                let who = describe_holders(&fs::read_to_string(&holders).unwrap_or_default());
                Err(Error::invalid_file(
                    store,
                    format!("is being written by {who}; wait until it ends, or choose another folder"),
                ))
            }
            // Some network file systems have no locks. The work is allowed with a warning.
            Err(TryLockError::Error(error)) => {
                let warning = format!(
                    "{}: cannot be locked ({error}), so make sure that no second run writes to the same store",
                    path.display()
                );
                Ok(Self { _open: None, warning: Some(warning) })
            }
        }
    }
}

/// Describes the holders of a store in words.
fn describe_holders(list: &str) -> String {
    let all: BTreeSet<u32> = list.lines().filter_map(|line| line.trim().parse().ok()).collect();
    // Processes of another machine or container have their own numbering, so if none of the listed ones lives here,
    // any of them may be the holder.
    let here: Vec<_> = all.iter().filter(|process| is_process_running(**process) == Some(true)).collect();
    let shown = |list: &[&u32]| list.iter().take(8).map(|process| process.to_string()).collect::<Vec<_>>().join(", ");
    let elsewhere: Vec<_> = all.iter().collect();
    match (here.as_slice(), elsewhere.as_slice()) {
        ([], []) => "another process".to_string(),
        ([], [one]) => format!("process {one}"),
        ([], many) => format!("some of the processes {}", shown(many)),
        ([one], _) if **one == std::process::id() => format!("this process ({one})"),
        ([one], _) => format!("process {one}"),
        (many, _) => format!("the processes {}", shown(many)),
    }
}
