//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Writes a file through a temporary one beside it, which takes its name once all is on the disk.
///
/// `write` gets a buffered file that can seek. After any error the temporary file is gone and an older file of that
/// name is as it was.
///
/// # Errors
/// Whatever `write` returns, and what the system refuses (no folder, no right, no space).
pub fn atomic(path: impl AsRef<Path>, write: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
    let path = path.as_ref();
    if path.is_dir() {
        return Err(Error::file(path, "is a folder; a file name is needed"));
    }
    let (temporary, file) = Temporary::create(path)?;
    let mut file = BufWriter::with_capacity(1 << 18, file);
    write(&mut file)?;
    file.flush().map_err(Error::io(path, "write"))?;
    file.get_ref().sync_all().map_err(Error::io(path, "write"))?;
    drop(file); // Windows renames no open file
    fs::rename(&temporary.0, path).map_err(Error::io(path, "replace"))?;
    // The new name is in the folder: best made lasting too, where folders can be synced.
    #[cfg(unix)]
    if let Ok(folder) = File::open(folder_of(path)) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// A temporary file's path; the file is removed when this is dropped (after the rename there is none left).
struct Temporary(PathBuf);

impl Temporary {
    fn create(target: &Path) -> Result<(Self, File)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let Some(name) = target.file_name() else {
            return Err(Error::file(target, "is no file name"));
        };
        loop {
            let n = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".{}.{}-{n}.tmp", name.to_string_lossy(), std::process::id());
            let path = folder_of(target).join(name);
            match File::create_new(&path) {
                Ok(file) => return Ok((Self(path), file)),
                // left by a killed process that had our number
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(Error::io(target, "write")(error)),
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
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
}
