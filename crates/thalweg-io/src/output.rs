//! Files to be written, checked before any work.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::atomic::try_folder;
use super::disk;
use super::staging::unclaimed;
use super::{FilePath, Format, SampleType};
use thalweg_core::base::names::shown;
use thalweg_core::{Error, Result};

/// Whether a file can be written at `path`: its folder takes new files, and no other thing stands in its place.
///
/// # Errors
/// As [`check_plain`]; a path that is no file's name, or too long a one; a folder that is not there or takes no files.
pub fn check(path: impl Into<FilePath>) -> Result<()> {
    let path = &path.into();
    check_plain(path)?;
    if path.file_name().is_none() {
        return Err(Error::file(path, "is no file's name"));
    }
    // A name may be too long, for one.
    if !path.is_in_memory()
        && let Err(error) = fs::symlink_metadata(path)
        && error.kind() != ErrorKind::NotFound
    {
        return Err(Error::io(path, "write")(error));
    }
    try_folder(&path.folder()).map_err(Error::io(path, "write"))
}

/// Whether no other thing than a plain file stands at `path`.
///
/// # Errors
/// A folder, pipe, socket or device at `path`.
pub fn check_plain(path: impl Into<FilePath>) -> Result<()> {
    let path = &path.into();
    // Writing renames a finished file over the old one, which would do away with a device or a pipe.
    if !path.is_in_memory() && fs::metadata(path).is_ok_and(|old| !old.is_file()) {
        return Err(Error::file(path, "is no plain file; the name of one is needed"));
    }
    Ok(())
}

/// Makes a folder, with those above it, and checks that it takes files.
///
/// # Errors
/// A folder that cannot be made or takes no files; as [`check`] of a `height.tif` in it.
pub fn make_folder(folder: impl Into<FilePath>) -> Result<()> {
    let folder = &folder.into();
    disk::make_folders(folder).map_err(Error::io(folder, "make the folder"))?;
    check(folder.join("height.tif"))
}

/// Whether files of these names may come into a folder, where `report` will speak for them: nothing else than plain files stands in
/// their place, and none that another report speaks for.
///
/// # Errors
/// As [`unclaimed`], and as [`check_plain`] of each of them.
pub fn check_names(folder: impl Into<FilePath>, report: &str, names: &[String]) -> Result<()> {
    let folder = &folder.into();
    unclaimed(folder, report, names)?;
    names.iter().try_for_each(|name| check_plain(folder.join(name)))
}

/// Whether a terrain can be written to `path` with samples of that type, or of the format's usual one.
///
/// # Errors
/// An ending that names no format, a format that is only read or does not hold such samples, and as [`check`].
pub fn check_terrain(path: &Path, sample: Option<SampleType>) -> Result<()> {
    let format = Format::of(path)?;
    let known = format.writes();
    if known.is_empty() {
        return Err(Error::unsupported(shown(path), format!("cannot be written: {format} is only read")));
    }
    if let Some(sample) = sample.filter(|sample| !known.contains(sample)) {
        return Err(Error::unsupported(
            format!("sample type = {sample}"),
            format!("is not supported by {format}; write .tif or .npy, or leave the type out"),
        ));
    }
    check(path)
}

/// Whether `path` ends in one of `endings`, small letters without dots, and can be written; gives the ending.
///
/// # Errors
/// Another ending, and as [`check`].
pub fn check_ending(path: &Path, endings: &'static [&'static str]) -> Result<&'static str> {
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let Some(known) = endings.iter().find(|known| **known == ending) else {
        return Err(Error::file(path, format!("its ending must be .{}", endings.join(" or ."))));
    };
    check(path)?;
    Ok(known)
}

/// The path from the root on.
///
/// # Errors
/// An empty path; no current folder.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(Error::io(path, "find"))
}
