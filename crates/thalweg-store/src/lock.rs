//! [`Lock`]: who may write into a store.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::path::Path;

use thalweg_core::{Error, Result};
use thalweg_io::atomic::lives;

/// Who else may write into a store meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Nobody.
    Alone,
    /// Other workers of the same plan, each at other tiles: the queue of a cluster gives each tile to one of them.
    Shared,
}

/// The file that is locked, and the one that says by whom: where locks are kept strictly, nobody else reads a locked file.
const NAMES: [&str; 2] = [".lock", ".holders"];

/// A store held by this process until this is dropped. The lock file stays: to remove it would let two others in at once.
#[derive(Debug)]
pub struct Lock {
    _open: Option<File>,
    /// What is to be said where the system locks no files: a second run is then not kept out.
    pub warning: Option<String>,
}

impl Lock {
    /// Takes the store whose marks lie in `marks`; `store` is said in messages.
    ///
    /// # Errors
    /// When another one holds it, with his process's number; when no file can be made.
    pub fn take(store: &Path, marks: &Path, access: Access) -> Result<Self> {
        let [path, holders] = NAMES.map(|name| marks.join(name));
        for path in [&path, &holders] {
            if fs::symlink_metadata(path).is_ok_and(|about| !about.is_file()) {
                return Err(Error::file(path, "is no plain file, and no lock of ours"));
            }
        }
        let file = File::options().create(true).append(true).open(&path).map_err(Error::io(&path, "write"))?;
        let taken = match access {
            Access::Alone => file.try_lock(),
            Access::Shared => file.try_lock_shared(),
        };
        match taken {
            Ok(()) => {
                // Those who share it come and go, and none knows who is left: the dead are left out when it is read.
                let mut options = File::options();
                match access {
                    Access::Alone => options.create(true).write(true).truncate(true),
                    Access::Shared => options.create(true).append(true),
                };
                // It is told for people: without it the lock holds as well.
                let _ = options.open(&holders).and_then(|mut list| writeln!(list, "{}", std::process::id()));
                Ok(Self { _open: Some(file), warning: None })
            }
            Err(TryLockError::WouldBlock) => {
                let who = holding(&fs::read_to_string(&holders).unwrap_or_default());
                Err(Error::file(store, format!("is being written by {who}; wait for it, or choose another folder")))
            }
            Err(TryLockError::Error(error)) => {
                let warning = format!("{}: cannot be locked against a second run ({error})", path.display());
                Ok(Self { _open: None, warning: Some(warning) })
            }
        }
    }
}

/// Who holds a store, in words.
fn holding(list: &str) -> String {
    let all: BTreeSet<u32> = list.lines().filter_map(|line| line.trim().parse().ok()).collect();
    // Those of another machine or container have numbers of their own, so where none lives here all may.
    let here: Vec<_> = all.iter().filter(|process| lives(**process) == Some(true)).collect();
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
