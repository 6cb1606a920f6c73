//! Files that appear whole or not at all.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufWriter, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::disk::{self, File};
use super::store::FilePath;
pub(super) use super::store::folder_of;
use thalweg_core::{Error, Result};

/// Writes a file through a temporary one beside it, which takes its name once all is on the disk.
///
/// `write` gets a buffered file that can seek. After any error the temporary file is gone and an older file of that
/// name is as it was.
///
/// # Errors
/// Whatever `write` returns; a path that is a folder or no file's name; what the system refuses (no folder, no right, no space).
pub fn atomic(path: impl Into<FilePath>, write: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
    let path = &path.into();
    if let Some(files) = path.memory() {
        let mut buffer = BufWriter::new(File::in_memory(path));
        write(&mut buffer)?;
        let file = buffer.into_inner().map_err(|error| Error::io(path, "write")(error.into_error()))?;
        files.insert(path, file.into_bytes());
        return Ok(());
    }
    if path.is_dir() {
        return Err(Error::file(path, "is a folder; a file name is needed"));
    }
    if path.file_name().is_none() {
        return Err(Error::file(path, "is no file name"));
    }
    let (temporary, file) = Temporary::file(folder_of(path)).map_err(Error::io(path, "write"))?;
    let mut buffer = BufWriter::with_capacity(1 << 18, file);
    write(&mut buffer)?;
    let file = buffer.into_inner().map_err(|error| Error::io(path, "write")(error.into_error()))?;
    file.sync().map_err(Error::io(path, "write"))?;
    // Open it stays locked, and nobody takes it for a dead run's; but Windows renames no open file.
    let open = (!cfg!(windows)).then_some(file);
    disk::rename(&temporary.path, path).map_err(Error::io(path, "replace"))?;
    drop(open);
    // The new name is in the folder: best made lasting too, but the file is there already.
    let _ = disk::sync_folder(folder_of(path));
    Ok(())
}

/// Writes a text file whole or not at all; see [`atomic`].
///
/// # Errors
/// As [`atomic`].
pub fn write_text(path: impl Into<FilePath>, text: &str) -> Result<()> {
    let path = &path.into();
    atomic(path, |file| file.write_all(text.as_bytes()).map_err(Error::io(path, "write")))
}

/// Whether a folder takes new files; and clears it of what runs that are dead have left there, see [`sweep`].
///
/// # Errors
/// No such folder, no right to write there, no space.
pub fn try_folder(folder: &FilePath) -> std::io::Result<()> {
    if folder.is_in_memory() {
        return Ok(());
    }
    sweep(folder);
    Temporary::file(folder).map(drop)
}

/// Removes the temporary files and folders in `folder` that no process holds any more. Whoever makes one keeps it locked
/// while he lives; where files cannot be locked, his number tells whether he does. Nothing is followed that is a link.
pub fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Some(process) = process_of(&entry.file_name()) else { continue };
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        // A pipe of that name would hold up whoever opens it.
        if !(kind.is_file() || kind.is_dir()) || held().contains(&path) || !is_dead(&path, process) {
            continue;
        }
        // Another one may be at it just now.
        let _ = if kind.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
    }
}

/// Removes the temporary files and folders of this process, which is about to end without more ado.
pub fn abandon() {
    for path in std::mem::take(&mut *held()) {
        let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
    }
}

/// A file or folder under a name of this process's own; it goes when this is dropped (after a rename there is none left).
#[derive(Debug)]
pub struct Temporary {
    path: FilePath,
    /// A folder is held open, and so locked.
    _open: Option<fs::File>,
}

/// All of this process's that there are.
static HELD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn held() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // A set of paths is whole whoever failed while he held it.
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Temporary {
    /// A new file in `folder`; its name is short however long its later one is.
    fn file(folder: &Path) -> std::io::Result<(Self, File)> {
        let (path, file) = named(folder, File::create_new)?;
        file.lock();
        Ok((Self { path: path.into(), _open: None }, file))
    }

    /// A new folder in `folder`, for this user alone.
    ///
    /// # Errors
    /// What the system refuses: no such `folder`, no right to write there, no space.
    pub fn folder(folder: impl Into<FilePath>) -> std::io::Result<Self> {
        let folder = folder.into();
        if folder.is_in_memory() {
            return Ok(Self { path: folder.join(next_name(0)), _open: None });
        }
        let (path, ()) = named(&folder, disk::make_folder)?;
        let open = fs::File::open(&path).ok();
        let _ = open.as_ref().map(fs::File::try_lock);
        Ok(Self { path: path.into(), _open: open })
    }

    /// Where it is.
    pub fn path(&self) -> &FilePath {
        &self.path
    }
}

/// Makes something new in `folder` under the first name that is free.
fn named<T>(folder: &Path, make: impl Fn(&Path) -> std::io::Result<T>) -> std::io::Result<(PathBuf, T)> {
    loop {
        let path = folder.join(next_name(std::process::id()));
        held().insert(path.clone());
        match make(&path) {
            Ok(made) => return Ok((path, made)),
            Err(error) => {
                held().remove(&path);
                // left by a killed process that had our number, or put there by another
                if error.kind() != ErrorKind::AlreadyExists {
                    return Err(error);
                }
            }
        }
    }
}

/// A temporary name that this process has not used yet. In memory the process is 0: no other one sees the name, and in a browser
/// none has a number.
fn next_name(process: u32) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{HEAD}{process}-{}{TAIL}", COUNT.fetch_add(1, Ordering::Relaxed))
}

const HEAD: &str = ".thalweg-";
const TAIL: &str = ".tmp";

/// The process that a temporary name speaks of, if it is one.
fn process_of(name: &std::ffi::OsStr) -> Option<u32> {
    let (process, number) = name.to_str()?.strip_prefix(HEAD)?.strip_suffix(TAIL)?.split_once('-')?;
    number.bytes().all(|digit| digit.is_ascii_digit()).then(|| process.parse().ok())?
}

/// Whether a path bears the name of a temporary file or folder.
pub fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| process_of(name).is_some())
}

/// Whether the process that made this temporary file or folder has ended.
fn is_dead(path: &Path, process: u32) -> bool {
    // A lock tells across machines and containers, whose processes have numbers of their own; between making and locking
    // there is a moment, in which the number tells.
    let Ok(file) = fs::File::open(path) else { return false };
    match file.try_lock() {
        Ok(()) => process == std::process::id() || !may_live(process),
        Err(fs::TryLockError::WouldBlock) => false,
        Err(fs::TryLockError::Error(_)) => process != std::process::id() && !may_live(process),
    }
}

/// Where processes cannot be asked about, locks alone tell; Windows renames no locked file, so there nothing does.
fn may_live(process: u32) -> bool {
    lives(process).unwrap_or(cfg!(windows))
}

/// Whether a process of this number lives on this machine and in this container; `None` where that cannot be asked.
///
/// One that has ended is dead, though its parent never asked how and its number is still taken: a container's first
/// process often asks after no one.
pub fn lives(process: u32) -> Option<bool> {
    let all = Path::new("/proc");
    if !all.join("self").exists() {
        return None;
    }
    let Ok(text) = fs::read_to_string(all.join(process.to_string()).join("stat")) else { return Some(false) };
    // "number (name) state …", and a name may hold brackets of its own.
    let state = text.rsplit_once(')').map(|(_, after)| after.trim_start());
    Some(!state.is_some_and(|state| state.starts_with(['Z', 'X'])))
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(files) = self.path.memory() {
            files.remove_folder(&self.path);
            return;
        }
        if !held().remove(&*self.path) {
            return;
        }
        let _ = match self._open.take() {
            Some(_) => fs::remove_dir_all(&self.path),
            None if self.path.is_dir() => fs::remove_dir_all(&self.path),
            None => fs::remove_file(&self.path),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        fs::write(&path, "old").unwrap();
        let failed = atomic(&path, |file| {
            file.write_all(b"half").map_err(Error::io("a.txt", "write"))?;
            Err(Error::file("a.txt", "no more"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["a.txt"]);
        atomic(&path, |file| file.write_all(b"new").map_err(Error::io("a.txt", "write"))).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["a.txt"]);
    }

    #[test]
    fn folders_that_are_missing_or_in_the_way_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(atomic(folder.path(), |_| Ok(())).is_err());
        assert!(atomic(folder.path().join("none/a.txt"), |_| Ok(())).is_err());
        assert!(atomic("", |_| Ok(())).is_err());
    }

    #[test]
    #[cfg(unix)]
    fn names_may_be_as_long_as_the_system_lets_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x".repeat(255));
        atomic(&path, |file| file.write_all(b"all").map_err(Error::io("x", "write"))).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"all");
    }

    /// Links stand where the next temporary files would: they are stepped over, and what they lead to is left alone.
    #[test]
    #[cfg(unix)]
    fn nothing_is_written_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own.txt");
        fs::write(&own, "own").unwrap();
        let link = |n: u64| folder.path().join(format!("{HEAD}{}-{n}{TAIL}", std::process::id()));
        (0..300).for_each(|n| std::os::unix::fs::symlink(&own, link(n)).unwrap());
        let path = folder.path().join("a.txt");
        atomic(&path, |file| file.write_all(b"new").map_err(Error::io("a.txt", "write"))).unwrap();
        assert_eq!((fs::read(&path).unwrap(), fs::read(&own).unwrap()), (b"new".to_vec(), b"own".to_vec()));
        assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
        sweep(folder.path());
        assert!(own.exists() && link(0).exists());
    }

    /// Ended, and nobody has asked how: its number is taken until somebody does.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_that_has_ended_is_dead_though_its_parent_has_not_asked() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let left = folder.path().join(format!("{HEAD}{}-0{TAIL}", child.id()));
        fs::write(&left, "half").unwrap();
        sweep(folder.path());
        assert!(left.exists() && lives(child.id()) == Some(true));
        child.kill().unwrap();
        while lives(child.id()) != Some(false) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        sweep(folder.path());
        assert!(!left.exists() && Path::new("/proc").join(child.id().to_string()).exists());
        child.wait().unwrap();
    }

    #[test]
    fn what_dead_runs_left_goes_and_what_the_living_hold_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        // Numbers of processes end long before.
        let dead = [".thalweg-4294967294-0.tmp", ".thalweg-4294967294-77.tmp"];
        fs::write(path(dead[0]), "half").unwrap();
        fs::create_dir(path(dead[1])).unwrap();
        fs::write(path(dead[1]).join("height.tif"), "half").unwrap();
        let others = [".thalweg-1x-0.tmp", "thalweg-1-0.tmp", ".thalweg-4294967294-0.tmp.tif", ".a.4294967294-0.tmp"];
        others.iter().for_each(|name| fs::write(path(name), "own").unwrap());
        let (held, _file) = Temporary::file(folder.path()).unwrap();
        let held_folder = Temporary::folder(folder.path()).unwrap();
        // One that bears a dead number but is locked: its maker lives, maybe on another machine.
        let far = path(".thalweg-4294967294-5.tmp");
        let lock = fs::File::create(&far).unwrap();
        lock.lock().unwrap();
        try_folder(&folder.path().into()).unwrap();
        assert!(dead.iter().all(|name| !path(name).exists()));
        assert!(others.iter().all(|name| path(name).exists()));
        assert!(held.path().exists() && held_folder.path().exists() && far.exists());
        drop((held, held_folder, lock));
        sweep(folder.path());
        assert_eq!(names(folder.path()).len(), others.len());
    }
}
