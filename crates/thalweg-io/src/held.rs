//! Files that lie in memory: where a program has no disk, as in a browser, or has bytes and no file.
//!
//! A path whose first part is [`HELD`] names one. Readers and writers of files take such paths as they take others, and what is
//! written appears whole or not at all, as on the disk. Folders are there by the names of their files alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The first part of the path of a file in memory.
pub const HELD: &str = "held:";

static FILES: Mutex<BTreeMap<PathBuf, Arc<[u8]>>> = Mutex::new(BTreeMap::new());

fn files() -> MutexGuard<'static, BTreeMap<PathBuf, Arc<[u8]>>> {
    // A map of whole files is whole whoever failed while he held it.
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The path in memory of a file of that name; of a path the last part counts, and `file` stands for one that has none.
pub fn path(name: impl AsRef<Path>) -> PathBuf {
    let name = name.as_ref().file_name().unwrap_or_else(|| OsStr::new("file"));
    Path::new(HELD).join(name)
}

/// Whether a path is that of a file in memory, there or not.
pub fn is_held(path: &Path) -> bool {
    path.components().next().is_some_and(|first| first.as_os_str() == HELD)
}

/// Puts a file into memory; what had that path is gone.
pub fn hold(path: impl Into<PathBuf>, bytes: impl Into<Arc<[u8]>>) {
    files().insert(path.into(), bytes.into());
}

/// The bytes of a file in memory; `None` where there is no such file.
pub fn held(path: &Path) -> Option<Arc<[u8]>> {
    files().get(path).cloned()
}

/// Takes a file out of memory again and returns its bytes; `None` where there is no such file.
pub fn let_go(path: &Path) -> Option<Arc<[u8]>> {
    files().remove(path)
}

/// Takes all files of a folder in memory, and of folders in it, out of memory again: their paths from the folder on, in order, and their
/// bytes.
pub fn empty(folder: &Path) -> Vec<(PathBuf, Arc<[u8]>)> {
    let mut files = files();
    let inside = files.keys().filter_map(|path| Some((path.clone(), path.strip_prefix(folder).ok()?.to_path_buf())));
    let inside: Vec<_> = inside.collect();
    inside.into_iter().filter_map(|(path, name)| Some((name, files.remove(&path)?))).collect()
}

/// The names in a folder in memory.
pub(super) fn names_in(folder: &Path) -> BTreeSet<OsString> {
    let files = files();
    let inside = files.keys().filter_map(|path| path.strip_prefix(folder).ok()?.components().next());
    inside.map(|first| first.as_os_str().to_os_string()).collect()
}

/// Gives a file in memory another name; what had that name is gone. Whether there was such a file.
pub(super) fn rename(from: &Path, to: &Path) -> bool {
    let mut files = files();
    let Some(bytes) = files.remove(from) else { return false };
    files.insert(to.to_path_buf(), bytes);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadOptions, SaveOptions, atomic, load, save};
    use thalweg_core::base::error::Error;
    use thalweg_core::terrain::Terrain;
    use thalweg_core::terrain::grid::Grid;

    #[test]
    fn a_terrain_is_written_into_memory_as_onto_the_disk_and_read_from_there() {
        let folder = tempfile::tempdir().unwrap();
        let metres: Vec<f32> = (0..64 * 40).map(|k| (k % 17) as f32 + 0.25).collect();
        let terrain = Terrain::from_metres(Grid::new([40, 64], 12.5).unwrap(), &metres).unwrap();
        for name in ["memory-a.tif", "memory-a.png", "memory-a.npy"] {
            let (here, there) = (folder.path().join(name), path(name));
            for path in [&here, &there] {
                save(path, &terrain, &SaveOptions::default()).unwrap();
            }
            let bytes = held(&there).unwrap();
            assert!(std::fs::read(&here).unwrap() == *bytes, "{name}");
            let [from_disk, from_memory] = [&here, &there].map(|path| load(path, &LoadOptions::default()).unwrap());
            assert_eq!(from_disk.terrain, from_memory.terrain, "{name}");
            assert!(let_go(&there).is_some() && held(&there).is_none());
            assert!(load(&there, &LoadOptions::default()).unwrap_err().to_string().contains(name));
        }
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let path = path("some/where/memory-b.txt");
        assert!(is_held(&path) && path.ends_with("memory-b.txt") && !is_held(Path::new("memory-b.txt")));
        hold(&path, *b"old");
        assert!(atomic(&path, |_| Err(Error::file("b", "no more"))).is_err());
        assert_eq!(&*held(&path).unwrap(), b"old");
        let_go(&path);
    }
}
