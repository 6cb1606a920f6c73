//! Every change that is made to the disk goes through here, so that a test can make any of them fail, or be the last. A path in
//! memory ([`FilePath`]) changes there.
//!
//! In a release the watcher is not there, and these functions are those of [`std::fs`].

use std::ffi::OsString;
use std::fs;
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::store::FilePath;

/// A change to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// A new file.
    Create,
    /// A new folder.
    Folder,
    /// Bytes into a file.
    Write,
    /// A file's, or a folder's, content made lasting.
    Sync,
    /// A file under its own name.
    Rename,
    /// A file taken away.
    Remove,
}

/// What is asked before each change; its error is that of the change, which is then not made.
#[cfg(debug_assertions)]
pub type Watcher = Box<dyn Fn(Act, &Path) -> io::Result<()> + Send + Sync>;

#[cfg(debug_assertions)]
static WATCHER: std::sync::OnceLock<Watcher> = std::sync::OnceLock::new();

/// Has `watcher` asked before every change from now on, for tests; the first one stays. It is there in debug builds alone.
#[cfg(debug_assertions)]
pub fn watch(watcher: Watcher) {
    let _ = WATCHER.set(watcher);
}

/// Asks the watcher, if there is one.
#[inline]
fn may(act: Act, path: &Path) -> io::Result<()> {
    #[cfg(debug_assertions)]
    if let Some(watcher) = WATCHER.get() {
        return watcher(act, path);
    }
    let _ = (act, path);
    Ok(())
}

/// A file that is being written.
#[derive(Debug)]
pub struct File {
    place: Place,
    path: PathBuf,
}

/// Where its bytes go.
#[derive(Debug)]
enum Place {
    Disk(fs::File),
    Memory(Cursor<Vec<u8>>),
}

impl File {
    /// Makes a file that was not there. What stands at `path` already, a link too, is an error, and is left as it is.
    ///
    /// # Errors
    /// Something at `path`, no folder for it, no right, no space.
    pub fn create_new(path: &Path) -> io::Result<Self> {
        may(Act::Create, path)?;
        Ok(Self { place: Place::Disk(fs::File::create_new(path)?), path: path.to_path_buf() })
    }

    /// A file in memory; [`File::into_bytes`] has what was written.
    pub(super) fn in_memory(path: &Path) -> Self {
        Self { place: Place::Memory(Cursor::default()), path: path.to_path_buf() }
    }

    /// The bytes of a file in memory; none of one on the disk.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        match self.place {
            Place::Disk(_) => Vec::new(),
            Place::Memory(bytes) => bytes.into_inner(),
        }
    }

    /// Makes what was written lasting.
    ///
    /// # Errors
    /// What writing to the disk meets, as no space.
    pub fn sync(&self) -> io::Result<()> {
        match &self.place {
            Place::Memory(_) => Ok(()),
            Place::Disk(file) => {
                may(Act::Sync, &self.path)?;
                file.sync_all()
            }
        }
    }

    /// Locks it for as long as it is open, where that can be done.
    pub(super) fn lock(&self) {
        if let Place::Disk(file) = &self.place {
            let _ = file.try_lock();
        }
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.place {
            Place::Memory(memory) => memory.write(bytes),
            Place::Disk(file) => {
                may(Act::Write, &self.path)?;
                file.write(bytes)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.place {
            Place::Memory(memory) => memory.flush(),
            Place::Disk(file) => file.flush(),
        }
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.place {
            Place::Memory(memory) => memory.seek(to),
            Place::Disk(file) => file.seek(to),
        }
    }
}

/// Makes a folder that was not there, for this user alone.
///
/// # Errors
/// Something at `path`, no folder above it, no right, no space.
pub fn make_folder(path: &Path) -> io::Result<()> {
    may(Act::Folder, path)?;
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only there it has a mode"))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes a folder, with those above it; that it is there is no error.
///
/// # Errors
/// Something else at `path` or above it, no right, no space.
pub fn make_folders(path: impl Into<FilePath>) -> io::Result<()> {
    let path = path.into();
    if path.is_in_memory() { Ok(()) } else { fs::create_dir_all(path) }
}

/// The names in a folder, in no order.
///
/// # Errors
/// No such folder, no right to read it.
pub fn names_in(path: impl Into<FilePath>) -> io::Result<Vec<OsString>> {
    let path = path.into();
    if let Some(files) = path.memory() {
        return Ok(files.names_in(&path).into_iter().collect());
    }
    fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect()
}

/// Gives a file another name in the same store; what had that name is gone.
///
/// # Errors
/// No file `from`; a folder at `to`, or a place on another disk; no right.
pub fn rename(from: impl Into<FilePath>, to: impl AsRef<Path>) -> io::Result<()> {
    let (from, to) = (from.into(), to.as_ref());
    if let Some(files) = from.memory() {
        return if files.rename(&from, to) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) };
    }
    may(Act::Rename, to)?;
    fs::rename(from, to)
}

/// Takes a file away; that there is none is no error.
///
/// # Errors
/// A folder at `path`; no right.
pub fn remove(path: impl Into<FilePath>) -> io::Result<()> {
    let path = path.into();
    if let Some(files) = path.memory() {
        files.remove(&path);
        return Ok(());
    }
    may(Act::Remove, &path)?;
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes the names in a folder lasting. Where folders cannot be synced that is no error.
///
/// # Errors
/// A folder that is not there or may not be read; what writing to the disk meets.
pub fn sync_folder(path: impl Into<FilePath>) -> io::Result<()> {
    let path = path.into();
    if path.is_in_memory() {
        return Ok(());
    }
    may(Act::Sync, &path)?;
    #[cfg(unix)]
    match fs::File::open(path).and_then(|folder| folder.sync_all()) {
        Err(error) if !matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            return Err(error);
        }
        _ => {}
    }
    Ok(())
}
