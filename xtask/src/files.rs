//! Reading, writing, copying and listing files, with error messages that name the path.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::shell::Outcome;

/// Adds the path to an error.
pub fn add_path(path: &Path) -> impl Fn(io::Error) -> String + use<> {
    let path = path.to_path_buf();
    move |error| format!("{}: {error}", path.display())
}

/// Reads the text of a file; bytes that are not valid UTF-8 are replaced.
pub fn read_text(path: &Path) -> Outcome<String> {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).map_err(add_path(path))
}

/// Writes a file.
pub fn write_file(path: &Path, bytes: impl AsRef<[u8]>) -> Outcome {
    fs::write(path, bytes).map_err(add_path(path))
}

/// Creates a folder and its parents.
pub fn create_folder(folder: &Path) -> Outcome {
    fs::create_dir_all(folder).map_err(add_path(folder))
}

/// Copies a file, or a folder with all its contents.
pub fn copy_recursively(from: &Path, to: &Path) -> Outcome {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop).map_err(add_path(from));
    }
    create_folder(to)?;
    list_files(from)?.iter().try_for_each(|file| {
        let target = to.join(file);
        target.parent().map_or(Ok(()), create_folder)?;
        copy_recursively(&from.join(file), &target)
    })
}

/// Lists all files below a folder as sorted paths relative to it.
pub fn list_files(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(next) = folders.pop() {
        for path in fs::read_dir(&next).map_err(add_path(&next))?.filter_map(Result::ok).map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path.strip_prefix(folder).unwrap_or(&path).to_path_buf());
            }
        }
    }
    // The system lists files in any order; sorted, generated files and checksums are the same everywhere.
    files.sort();
    Ok(files)
}
