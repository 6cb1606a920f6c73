//! All changes to the disk go through this module, so that a test can make any of them fail or be the last. Changes to
//! a path in memory ([`FilePath`]) are made in memory.
//!
//! In a release build there is no watcher, and these functions are those of [`std::fs`].

use std::ffi::OsString;
use std::fs;
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::store::FilePath;

/// A kind of change to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskChange {
    /// Creating a file.
    Create,
    /// Creating a folder.
    Folder,
    /// Writing bytes to a file.
    Write,
    /// Syncing the content of a file or folder to the disk.
    Sync,
    /// Renaming a file.
    Rename,
    /// Removing a file.
    Remove,
}

/// A function that is called before each change. If it returns an error, the change is not made and returns this error.
#[cfg(debug_assertions)]
pub type Watcher = Box<dyn Fn(DiskChange, &Path) -> io::Result<()> + Send + Sync>;

#[cfg(debug_assertions)]
static WATCHER: std::sync::OnceLock<Watcher> = std::sync::OnceLock::new();

/// Sets the function that is called before each change, for tests. Later calls have no effect. Exists in debug builds
/// only.
#[cfg(debug_assertions)]
pub fn set_watcher(watcher: Watcher) {
    let _ = WATCHER.set(watcher);
}

/// Calls the watcher, if there is one.
#[inline]
fn notify_watcher(act: DiskChange, path: &Path) -> io::Result<()> {
    #[cfg(debug_assertions)]
    if let Some(watcher) = WATCHER.get() {
        return watcher(act, path);
    }
    let _ = (act, path);
    Ok(())
}

/// A file that is being written.
#[derive(Debug)]
pub struct OutputFile {
    place: OutputTarget,
    path: PathBuf,
}

/// The destination of the bytes.
#[derive(Debug)]
enum OutputTarget {
    Disk(fs::File),
    Memory(Cursor<Vec<u8>>),
}

impl OutputFile {
    /// Creates a file that did not exist. It is an error if there is something at `path` already, also a link, which is
    /// then left unchanged.
    ///
    /// # Errors
    /// Returns an error if something exists at `path`, if its folder does not exist, if there is no permission, or no
    /// space.
    pub fn create_new(path: &Path) -> io::Result<Self> {
        notify_watcher(DiskChange::Create, path)?;
        Ok(Self { place: OutputTarget::Disk(fs::File::create_new(path)?), path: path.to_path_buf() })
    }

    /// Creates a file in memory; [`OutputFile::into_bytes`] returns what was written.
    pub(super) fn new_in_memory(path: &Path) -> Self {
        Self { place: OutputTarget::Memory(Cursor::default()), path: path.to_path_buf() }
    }

    /// Returns the bytes of a file in memory; no bytes for a file on the disk.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        match self.place {
            OutputTarget::Disk(_) => Vec::new(),
            OutputTarget::Memory(bytes) => bytes.into_inner(),
        }
    }

    /// Syncs the written bytes to the disk.
    ///
    /// # Errors
    /// Returns an error of the disk, for example if there is no space.
    pub fn sync(&self) -> io::Result<()> {
        match &self.place {
            OutputTarget::Memory(_) => Ok(()),
            OutputTarget::Disk(file) => {
                notify_watcher(DiskChange::Sync, &self.path)?;
                file.sync_all()
            }
        }
    }

    /// Locks the file for as long as it is open, where the system supports it.
    pub(super) fn lock(&self) {
        if let OutputTarget::Disk(file) = &self.place {
            let _ = file.try_lock();
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.place {
            OutputTarget::Memory(memory) => memory.write(bytes),
            OutputTarget::Disk(file) => {
                notify_watcher(DiskChange::Write, &self.path)?;
                file.write(bytes)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.place {
            OutputTarget::Memory(memory) => memory.flush(),
            OutputTarget::Disk(file) => file.flush(),
        }
    }
}

impl Seek for OutputFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.place {
            OutputTarget::Memory(memory) => memory.seek(to),
            OutputTarget::Disk(file) => file.seek(to),
        }
    }
}

/// Creates a folder that did not exist, accessible to this user only.
///
/// # Errors
/// Returns an error if something exists at `path`, if the folder above does not exist, if there is no permission, or no
/// space.
pub fn make_folder(path: &Path) -> io::Result<()> {
    notify_watcher(DiskChange::Folder, path)?;
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only there it has a mode"))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Creates a folder and the folders above it; it is no error if they exist.
///
/// # Errors
/// Returns an error if something else exists at `path` or above it, if there is no permission, or no space.
pub fn make_folders(path: impl Into<FilePath>) -> io::Result<()> {
    let path = path.into();
    if path.is_in_memory() { Ok(()) } else { fs::create_dir_all(path) }
}

/// Returns the names in a folder, in no particular order.
///
/// # Errors
/// Returns an error if the folder does not exist or may not be read.
pub fn list_names(path: impl Into<FilePath>) -> io::Result<Vec<OsString>> {
    let path = path.into();
    if let Some(files) = path.memory_store() {
        return Ok(files.list_names(&path).into_iter().collect());
    }
    fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect()
}

/// Renames a file within the same file system; replaces a file with the new name.
///
/// # Errors
/// Returns an error if `from` does not exist, if `to` is a folder or on another file system, or if there is no
/// permission.
pub fn rename(from: impl Into<FilePath>, to: impl AsRef<Path>) -> io::Result<()> {
    let (from, to) = (from.into(), to.as_ref());
    if let Some(files) = from.memory_store() {
        return if files.rename(&from, to) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) };
    }
    notify_watcher(DiskChange::Rename, to)?;
    fs::rename(from, to)
}

/// Removes a file; it is no error if it does not exist.
///
/// # Errors
/// Returns an error if `path` is a folder, or if there is no permission.
pub fn remove_file(path: impl Into<FilePath>) -> io::Result<()> {
    let path = path.into();
    if let Some(files) = path.memory_store() {
        files.remove(&path);
        return Ok(());
    }
    notify_watcher(DiskChange::Remove, &path)?;
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Syncs the entries of a folder to the disk. It is no error if the system cannot sync folders.
///
/// # Errors
/// Returns an error if the folder does not exist or may not be read, or an error of writing to the disk.
pub fn sync_folder(path: impl Into<FilePath>) -> io::Result<()> {
    let path = path.into();
    if path.is_in_memory() {
        return Ok(());
    }
    notify_watcher(DiskChange::Sync, &path)?;
    #[cfg(unix)]
    match fs::File::open(path).and_then(|folder| folder.sync_all()) {
        // Some file systems cannot sync folders.
        Err(error) if !matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            return Err(error);
        }
        _ => {}
    }
    Ok(())
}
