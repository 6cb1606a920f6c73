//! Atomic writing: a file appears under its name complete or not at all.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufWriter, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::disk::{self, OutputFile};
use super::store::FilePath;
pub(super) use super::store::parent_folder;
use thalweg_core::{Error, Result};

/// Writes a file through a temporary file in the same folder, which is renamed when all its data is on the disk.
///
/// `write` receives a buffered file that can seek. After any error the temporary file is removed and an older file of
/// the same name is unchanged.
///
/// # Errors
/// Returns any error of `write`; an error if the path is a folder or has no file name; an error of the operating system
/// (no such folder, no permission, no space).
pub fn write_atomically(
    path: impl Into<FilePath>,
    write: impl FnOnce(&mut BufWriter<OutputFile>) -> Result<()>,
) -> Result<()> {
    let path = &path.into();
    if let Some(files) = path.memory_store() {
        let mut buffer = BufWriter::new(OutputFile::new_in_memory(path));
        write(&mut buffer)?;
        let file = buffer.into_inner().map_err(|error| Error::io(path, "write")(error.into_error()))?;
        files.insert(path, file.into_bytes());
        return Ok(());
    }
    if path.is_dir() {
        return Err(Error::invalid_file(path, "is a folder; a file name is required"));
    }
    if path.file_name().is_none() {
        return Err(Error::invalid_file(path, "is not a file name"));
    }
    let (temporary, file) = Temporary::create_file(parent_folder(path)).map_err(Error::io(path, "write"))?;
    // Large writes need fewer system calls; a buffer of 256 KiB is enough for that.
    let mut buffer = BufWriter::with_capacity(1 << 18, file);
    write(&mut buffer)?;
    let file = buffer.into_inner().map_err(|error| Error::io(path, "write")(error.into_error()))?;
    // The data must be on the disk before the name, otherwise a crash could leave an incomplete file under its name.
    file.sync().map_err(Error::io(path, "write"))?;
    // The file is kept open, and therefore locked, until after the renaming, so that no other process takes it for the
    // file of a dead run. Windows cannot rename an open file.
    let open = (!cfg!(windows)).then_some(file);
    disk::rename(&temporary.path, path).map_err(Error::io(path, "replace"))?;
    drop(open);
    // The folder is synced so that the new name survives a crash. A failure is ignored, because the file exists
    // already.
    let _ = disk::sync_folder(parent_folder(path));
    Ok(())
}

/// Writes a text file completely or not at all; see [`write_atomically`].
///
/// # Errors
/// Returns the errors of [`write_atomically`].
pub fn write_text(path: impl Into<FilePath>, text: &str) -> Result<()> {
    let path = &path.into();
    write_atomically(path, |file| file.write_all(text.as_bytes()).map_err(Error::io(path, "write")))
}

/// Checks that files can be created in a folder, and removes temporary files that dead runs have left there; see
/// [`remove_stale_temporaries`].
///
/// # Errors
/// Returns an error if the folder does not exist, if there is no permission to write in it, or no space.
pub fn try_folder(folder: &FilePath) -> std::io::Result<()> {
    if folder.is_in_memory() {
        return Ok(());
    }
    remove_stale_temporaries(folder);
    Temporary::create_file(folder).map(drop)
}

/// Removes the temporary files and folders in `folder` that no running process uses. A process keeps its temporary
/// files locked as long as it runs; where files cannot be locked, the process number in the name is checked instead.
/// Links are not followed.
pub fn remove_stale_temporaries(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Some(process) = parse_process_number(&entry.file_name()) else { continue };
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        // Opening a pipe of that name would block.
        if !(kind.is_file() || kind.is_dir()) || lock_temporaries().contains(&path) || !is_dead(&path, process) {
            continue;
        }
        // Another process may be removing it at the same time, so errors are ignored.
        let _ = if kind.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
    }
}

/// Removes the temporary files and folders of this process. Called before the process ends abruptly.
pub fn remove_own_temporaries() {
    for path in std::mem::take(&mut *lock_temporaries()) {
        let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
    }
}

/// A temporary file or folder with a name that is unique to this process. It is removed when this value is dropped;
/// after a rename there is nothing left to remove.
#[derive(Debug)]
pub struct Temporary {
    path: FilePath,
    /// A folder is kept open, and therefore locked.
    _open: Option<fs::File>,
}

/// All temporary files and folders of this process.
static TEMPORARIES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn lock_temporaries() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // The set is valid even if a thread panicked while it held the lock.
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Temporary {
    /// Creates a new file in `folder`. Its name is short, however long the final name is.
    fn create_file(folder: &Path) -> std::io::Result<(Self, OutputFile)> {
        let (path, file) = create_with_unused_name(folder, OutputFile::create_new)?;
        file.lock();
        Ok((Self { path: path.into(), _open: None }, file))
    }

    /// Creates a new folder in `folder`, accessible to this user only.
    ///
    /// # Errors
    /// Returns an error of the operating system: `folder` does not exist, there is no permission to write in it, or no
    /// space.
    pub fn create_folder(folder: impl Into<FilePath>) -> std::io::Result<Self> {
        let folder = folder.into();
        if folder.is_in_memory() {
            return Ok(Self { path: folder.join(next_name(0)), _open: None });
        }
        let (path, ()) = create_with_unused_name(&folder, disk::make_folder)?;
        let open = fs::File::open(&path).ok();
        let _ = open.as_ref().map(fs::File::try_lock);
        Ok(Self { path: path.into(), _open: open })
    }

    /// Returns the path.
    pub fn path(&self) -> &FilePath {
        &self.path
    }
}

/// Creates something new in `folder` under the first unused name.
fn create_with_unused_name<T>(
    folder: &Path,
    make: impl Fn(&Path) -> std::io::Result<T>,
) -> std::io::Result<(PathBuf, T)> {
    loop {
        let path = folder.join(next_name(std::process::id()));
        // The name is recorded before anything is created, so that `remove_own_temporaries` knows it at any moment.
        lock_temporaries().insert(path.clone());
        match make(&path) {
            Ok(made) => return Ok((path, made)),
            Err(error) => {
                lock_temporaries().remove(&path);
                // left by a killed process with the same number, or created by another process
                if error.kind() != ErrorKind::AlreadyExists {
                    return Err(error);
                }
            }
        }
    }
}

/// Returns a temporary name that this process has not used yet. In memory the process number is 0: no other process
/// sees the name, and in a browser there are no process numbers.
fn next_name(process: u32) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{HEAD}{process}-{}{TAIL}", COUNT.fetch_add(1, Ordering::Relaxed))
}

const HEAD: &str = ".thalweg-";
const TAIL: &str = ".tmp";

/// Returns the process number in a temporary name; `None` if it is not a temporary name.
fn parse_process_number(name: &std::ffi::OsStr) -> Option<u32> {
    let (process, number) = name.to_str()?.strip_prefix(HEAD)?.strip_suffix(TAIL)?.split_once('-')?;
    number.bytes().all(|digit| digit.is_ascii_digit()).then(|| process.parse().ok())?
}

/// Returns true if a path has the name of a temporary file or folder.
pub fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| parse_process_number(name).is_some())
}

/// Returns true if the process that made this temporary file or folder has ended.
fn is_dead(path: &Path, process: u32) -> bool {
    // A lock works across machines and containers, whose process numbers differ. Between creation and locking there is
    // a moment in which only the process number tells.
    let Ok(file) = fs::File::open(path) else { return false };
    match file.try_lock() {
        Ok(()) => process == std::process::id() || !may_live(process),
        Err(fs::TryLockError::WouldBlock) => false,
        Err(fs::TryLockError::Error(_)) => process != std::process::id() && !may_live(process),
    }
}

/// Returns true if the process may be running. Where processes cannot be queried, the lock decides alone; on Windows,
/// where a locked file cannot be renamed, the process is assumed to be running.
fn may_live(process: u32) -> bool {
    is_process_running(process).unwrap_or(cfg!(windows))
}

/// Returns true if a process with this number is running on this machine and in this container; `None` if that cannot
/// be queried.
///
/// A zombie, whose parent has not collected its exit status, counts as ended although its number is still in use: the
/// first process of a container often does not collect the status of orphans.
pub fn is_process_running(process: u32) -> Option<bool> {
    let all = Path::new("/proc");
    if !all.join("self").exists() {
        return None;
    }
    let Ok(text) = fs::read_to_string(all.join(process.to_string()).join("stat")) else { return Some(false) };
    // The format is "number (name) state …"; the name may contain parentheses.
    let state = text.rsplit_once(')').map(|(_, after)| after.trim_start());
    Some(!state.is_some_and(|state| state.starts_with(['Z', 'X'])))
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(files) = self.path.memory_store() {
            files.remove_folder(&self.path);
            return;
        }
        // `remove_own_temporaries` may have removed it already.
        if !lock_temporaries().remove(&*self.path) {
            return;
        }
        // After a rename nothing exists at the path, and the error is ignored.
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
        let failed = write_atomically(&path, |file| {
            file.write_all(b"half").map_err(Error::io("a.txt", "write"))?;
            Err(Error::invalid_file("a.txt", "no more"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["a.txt"]);
        write_atomically(&path, |file| file.write_all(b"new").map_err(Error::io("a.txt", "write"))).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["a.txt"]);
    }

    #[test]
    fn folders_that_are_missing_or_in_the_way_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(write_atomically(folder.path(), |_| Ok(())).is_err());
        assert!(write_atomically(folder.path().join("none/a.txt"), |_| Ok(())).is_err());
        assert!(write_atomically("", |_| Ok(())).is_err());
    }

    #[test]
    #[cfg(unix)]
    fn names_may_be_as_long_as_the_system_lets_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x".repeat(255));
        write_atomically(&path, |file| file.write_all(b"all").map_err(Error::io("x", "write"))).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"all");
    }

    /// Links with the names of the next temporary files are skipped, and their targets are left alone.
    #[test]
    #[cfg(unix)]
    fn nothing_is_written_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own.txt");
        fs::write(&own, "own").unwrap();
        let link = |n: u64| folder.path().join(format!("{HEAD}{}-{n}{TAIL}", std::process::id()));
        (0..300).for_each(|n| std::os::unix::fs::symlink(&own, link(n)).unwrap());
        let path = folder.path().join("a.txt");
        write_atomically(&path, |file| file.write_all(b"new").map_err(Error::io("a.txt", "write"))).unwrap();
        assert_eq!((fs::read(&path).unwrap(), fs::read(&own).unwrap()), (b"new".to_vec(), b"own".to_vec()));
        assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
        remove_stale_temporaries(folder.path());
        assert!(own.exists() && link(0).exists());
    }

    /// A zombie: the process has ended, but its number stays in use until its parent collects the exit status.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_that_has_ended_is_dead_though_its_parent_has_not_asked() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let left = folder.path().join(format!("{HEAD}{}-0{TAIL}", child.id()));
        fs::write(&left, "half").unwrap();
        remove_stale_temporaries(folder.path());
        assert!(left.exists() && is_process_running(child.id()) == Some(true));
        child.kill().unwrap();
        while is_process_running(child.id()) != Some(false) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        remove_stale_temporaries(folder.path());
        assert!(!left.exists() && Path::new("/proc").join(child.id().to_string()).exists());
        child.wait().unwrap();
    }

    #[test]
    fn what_dead_runs_left_goes_and_what_the_living_hold_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        // Real process numbers are smaller.
        let dead = [".thalweg-4294967294-0.tmp", ".thalweg-4294967294-77.tmp"];
        fs::write(path(dead[0]), "half").unwrap();
        fs::create_dir(path(dead[1])).unwrap();
        fs::write(path(dead[1]).join("height.tif"), "half").unwrap();
        let others = [".thalweg-1x-0.tmp", "thalweg-1-0.tmp", ".thalweg-4294967294-0.tmp.tif", ".a.4294967294-0.tmp"];
        others.iter().for_each(|name| fs::write(path(name), "own").unwrap());
        let (held, _file) = Temporary::create_file(folder.path()).unwrap();
        let held_folder = Temporary::create_folder(folder.path()).unwrap();
        // A name with a dead process number that is locked: its process is running, possibly on another machine.
        let far = path(".thalweg-4294967294-5.tmp");
        let lock = fs::File::create(&far).unwrap();
        lock.lock().unwrap();
        try_folder(&folder.path().into()).unwrap();
        assert!(dead.iter().all(|name| !path(name).exists()));
        assert!(others.iter().all(|name| path(name).exists()));
        assert!(held.path().exists() && held_folder.path().exists() && far.exists());
        drop((held, held_folder, lock));
        remove_stale_temporaries(folder.path());
        assert_eq!(names(folder.path()).len(), others.len());
    }
}
