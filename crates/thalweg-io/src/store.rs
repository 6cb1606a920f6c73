//! [`FileStore`]: the place of files, on the disk or in memory.
//!
//! Readers and writers take a [`FilePath`], which is a path in a store. A plain path is on the disk, so most callers
//! never name a store. A page in a browser has no disk: it keeps its own [`MemoryFiles`] and passes paths in it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::ops::Deref;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thalweg_core::{Error, Result};

/// The place of files.
#[derive(Debug, Clone, Default)]
pub enum FileStore {
    /// On the disk.
    #[default]
    Disk,
    /// In memory.
    Memory(MemoryFiles),
}

/// Files in memory. Clones share them; they are freed with the last clone.
///
/// A written file appears complete or not at all, as on the disk. Folders exist only as parts of the paths of files,
/// and all paths are relative to one root.
///
/// ```
/// use thalweg_io::{LoadOptions, MemoryFiles, SaveOptions, load_terrain, save_terrain};
/// use thalweg_core::terrain::grid::Grid;
/// use thalweg_core::terrain::Terrain;
///
/// let files = MemoryFiles::default();
/// let terrain = Terrain::from_metres(Grid::new([2, 3], 30.0)?, &[5.0; 6])?;
/// save_terrain(files.path("land/height.tif"), &terrain, &SaveOptions::default())?;
/// assert_eq!(load_terrain(files.path("land/height.tif"), &LoadOptions::default())?.terrain.ground, terrain.ground);
/// assert!(files.get("land/height.tif").is_some_and(|bytes| bytes.starts_with(b"II*\0")));
/// # Ok::<(), thalweg_core::base::error::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct MemoryFiles(Arc<Mutex<BTreeMap<PathBuf, Arc<[u8]>>>>);

impl MemoryFiles {
    /// Returns a path in this store; an empty path is its root.
    pub fn path(&self, path: impl Into<PathBuf>) -> FilePath {
        FilePath { store: FileStore::Memory(self.clone()), path: normalize_path(&path.into()) }
    }

    /// Stores a file and replaces an existing one at this path.
    pub fn insert(&self, path: impl AsRef<Path>, bytes: impl Into<Arc<[u8]>>) {
        self.lock_files().insert(normalize_path(path.as_ref()), bytes.into());
    }

    /// Returns the bytes of a file; `None` if there is no such file.
    pub fn get(&self, path: impl AsRef<Path>) -> Option<Arc<[u8]>> {
        self.lock_files().get(&normalize_path(path.as_ref())).cloned()
    }

    /// Removes a file and returns its bytes; `None` if there is no such file.
    pub fn remove(&self, path: impl AsRef<Path>) -> Option<Arc<[u8]>> {
        self.lock_files().remove(&normalize_path(path.as_ref()))
    }

    /// Removes all files of a folder and of its subfolders. Returns their paths, relative to the folder and in order,
    /// and their bytes. For example, a web page offers the files of an export as a download and frees their memory.
    pub fn remove_folder(&self, folder: impl AsRef<Path>) -> Vec<(PathBuf, Arc<[u8]>)> {
        let (folder, mut files) = (normalize_path(folder.as_ref()), self.lock_files());
        let inside =
            files.keys().filter_map(|path| Some((path.clone(), path.strip_prefix(&folder).ok()?.to_path_buf())));
        let inside: Vec<_> = inside.collect();
        inside.into_iter().filter_map(|(path, name)| Some((name, files.remove(&path)?))).collect()
    }

    /// Returns the names in a folder.
    pub(super) fn list_names(&self, folder: &Path) -> BTreeSet<OsString> {
        let (folder, files) = (normalize_path(folder), self.lock_files());
        let inside = files.keys().filter_map(|path| path.strip_prefix(&folder).ok()?.components().next());
        inside.map(|first| first.as_os_str().to_os_string()).collect()
    }

    /// Renames a file and replaces an existing one of the new name. Returns true if there was a file to rename.
    pub(super) fn rename(&self, from: &Path, to: &Path) -> bool {
        let mut files = self.lock_files();
        // Both changes are made under one lock, so no reader finds the file under neither name.
        let Some(bytes) = files.remove(&normalize_path(from)) else { return false };
        files.insert(normalize_path(to), bytes);
        true
    }

    fn lock_files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Arc<[u8]>>> {
        // Every change of the map is a single insertion or removal, so it is valid even after a panic elsewhere.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.lock_files().keys()).finish()
    }
}

/// Normalizes a path, so that a file has one key however its path is written.
fn normalize_path(path: &Path) -> PathBuf {
    path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir)).collect()
}

/// Returns the folder of a file.
pub(super) fn parent_folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A path in a [`FileStore`]. A plain path converts to one on the disk; the value dereferences to its [`Path`].
///
/// # Examples
/// ```
/// use thalweg_io::{FilePath, MemoryFiles};
///
/// assert!(!FilePath::from("worlds/alps").is_in_memory());
///
/// let files = MemoryFiles::default();
/// let file = files.path("alps").join("height.tif");
/// assert!(file.is_in_memory() && !file.exists());
/// files.insert(&file, vec![0_u8; 4]);
/// assert!(file.exists() && file.with_suffix(".json").ends_with("alps/height.tif.json"));
/// ```
#[derive(Clone, Default)]
pub struct FilePath {
    store: FileStore,
    path: PathBuf,
}

impl FilePath {
    /// Returns another path in the same store.
    pub fn with_path(&self, path: impl Into<PathBuf>) -> Self {
        match &self.store {
            FileStore::Memory(files) => files.path(path),
            FileStore::Disk => path.into().into(),
        }
    }

    /// Returns the path of a file in this folder, as [`Path::join`] does.
    pub fn join(&self, name: impl AsRef<Path>) -> Self {
        self.with_path(self.path.join(name))
    }

    /// Replaces the extension, as [`Path::with_extension`] does.
    pub fn with_extension(&self, extension: impl AsRef<OsStr>) -> Self {
        self.with_path(self.path.with_extension(extension))
    }

    /// Appends to the whole file name, for example `.json` for a sidecar.
    pub fn with_suffix(&self, suffix: &str) -> Self {
        let mut name = self.path.clone().into_os_string();
        name.push(suffix);
        self.with_path(name)
    }

    /// Returns the folder of the path.
    pub fn folder(&self) -> Self {
        self.with_path(parent_folder(&self.path))
    }

    /// Returns the absolute path; a path in memory is always relative to the one root and stays as it is.
    ///
    /// # Errors
    /// Returns an error if a path on the disk is empty or there is no current folder.
    pub fn to_absolute(&self) -> Result<Self> {
        if self.is_in_memory() {
            return Ok(self.clone());
        }
        std::path::absolute(&self.path).map(Self::from).map_err(Error::io(&self.path, "find"))
    }

    /// Returns the store in memory to which the path belongs; `None` for a path on the disk.
    pub fn memory_store(&self) -> Option<&MemoryFiles> {
        match &self.store {
            FileStore::Memory(files) => Some(files),
            FileStore::Disk => None,
        }
    }

    /// Returns true if it is a path in memory.
    pub fn is_in_memory(&self) -> bool {
        self.memory_store().is_some()
    }

    /// Returns true if a file, or a folder on the disk, exists at this path.
    pub fn exists(&self) -> bool {
        self.memory_store().map_or_else(|| self.path.exists(), |files| files.get(&self.path).is_some())
    }
}

impl fmt::Debug for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.is_in_memory() { "memory:" } else { "" };
        write!(f, "{place}{:?}", self.path)
    }
}

impl Deref for FilePath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for FilePath {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl From<PathBuf> for FilePath {
    fn from(path: PathBuf) -> Self {
        Self { store: FileStore::Disk, path }
    }
}

impl From<&FilePath> for FilePath {
    fn from(path: &FilePath) -> Self {
        path.clone()
    }
}

impl From<FilePath> for PathBuf {
    fn from(path: FilePath) -> Self {
        path.path
    }
}

macro_rules! from_paths {
    ($($path:ty),+) => { $(
        impl From<$path> for FilePath {
            fn from(path: $path) -> Self {
                PathBuf::from(path).into()
            }
        }
    )+ };
}

from_paths!(&Path, &PathBuf, &str, String, &String, OsString, &OsStr);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadOptions, SaveOptions, load_terrain, save_terrain, write_atomically};
    use thalweg_core::{Grid, Terrain};

    #[test]
    fn a_terrain_is_written_into_memory_as_onto_the_disk_and_read_from_there() {
        let (folder, files) = (tempfile::tempdir().unwrap(), MemoryFiles::default());
        let metres: Vec<f32> = (0..64 * 40).map(|k| (k % 17) as f32 + 0.25).collect();
        let terrain = Terrain::from_metres(Grid::new([40, 64], 12.5).unwrap(), &metres).unwrap();
        for name in ["a.tif", "a.png", "a.npy"] {
            let (here, there) = (FilePath::from(folder.path().join(name)), files.path(name));
            for path in [&here, &there] {
                save_terrain(path, &terrain, &SaveOptions::default()).unwrap();
            }
            let bytes = files.get(name).unwrap();
            assert!(std::fs::read(&here).unwrap() == *bytes, "{name}");
            let [from_disk, from_memory] =
                [&here, &there].map(|path| load_terrain(path, &LoadOptions::default()).unwrap());
            assert_eq!(from_disk.terrain, from_memory.terrain, "{name}");
            assert!(files.remove(name).is_some() && files.get(name).is_none());
            assert!(load_terrain(&there, &LoadOptions::default()).unwrap_err().to_string().contains(name));
        }
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let files = MemoryFiles::default();
        files.insert("some/where/b.txt", *b"old");
        let path = files.path("./some").join("where/b.txt");
        assert!(write_atomically(&path, |_| Err(Error::invalid_file("b", "no more"))).is_err());
        assert_eq!(&*files.get("some/where/b.txt").unwrap(), b"old");
        // Another store has its own files.
        assert!(path.exists() && !MemoryFiles::default().path("some/where/b.txt").exists());
        assert_eq!(files.remove_folder("some").len(), 1);
    }
}
