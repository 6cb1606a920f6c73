//! Checks of output paths before any work is done.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::atomic::try_folder;
use super::disk;
use super::staging::check_unclaimed;
use super::{FilePath, Format, SampleType};
use thalweg_core::base::names::format_path;
use thalweg_core::{Error, Result};

/// Checks that a file can be written at `path`: its folder accepts new files, and nothing other than a plain file is in
/// its place.
///
/// # Errors
/// Returns the errors of [`check_plain`]; an error if the path has no file name, if the name is too long, or if the
/// folder does not exist or does not accept files.
pub fn check_writable(path: impl Into<FilePath>) -> Result<()> {
    let path = &path.into();
    check_plain(path)?;
    if path.file_name().is_none() {
        return Err(Error::invalid_file(path, "is not a file name"));
    }
    // For example, the name may be too long.
    if !path.is_in_memory()
        && let Err(error) = fs::symlink_metadata(path)
        && error.kind() != ErrorKind::NotFound
    {
        return Err(Error::io(path, "write")(error));
    }
    try_folder(&path.folder()).map_err(Error::io(path, "write"))
}

/// Checks that nothing other than a plain file is at `path`.
///
/// # Errors
/// Returns an error if a folder, pipe, socket or device is at `path`.
pub fn check_plain(path: impl Into<FilePath>) -> Result<()> {
    let path = &path.into();
    // Writing renames a finished file over the old one, which would replace a device or a pipe.
    if !path.is_in_memory() && fs::metadata(path).is_ok_and(|old| !old.is_file()) {
        return Err(Error::invalid_file(path, "is not a regular file; choose another file name"));
    }
    Ok(())
}

/// Creates a folder and the folders above it, and checks that it accepts files.
///
/// # Errors
/// Returns an error if the folder cannot be created or does not accept files, and the errors of [`check_writable`] for
/// a `height.tif` in it.
pub fn make_folder(folder: impl Into<FilePath>) -> Result<()> {
    let folder = &folder.into();
    disk::make_folders(folder).map_err(Error::io(folder, "create the folder"))?;
    check_writable(folder.join("height.tif"))
}

/// Checks that files of these names may be written to a folder where `report` will list them: nothing other than plain
/// files is in their place, and no other report lists them.
///
/// # Errors
/// Returns the errors of [`check_unclaimed`], and those of [`check_plain`] for each file.
pub fn check_names(folder: impl Into<FilePath>, report: &str, names: &[String]) -> Result<()> {
    let folder = &folder.into();
    check_unclaimed(folder, report, names)?;
    names.iter().try_for_each(|name| check_plain(folder.join(name)))
}

/// Checks that a terrain can be written to `path` with samples of this type, or of the format's default type.
///
/// # Errors
/// Returns an error if the extension is unknown, if the format is read only or cannot store such samples; and the
/// errors of [`check_writable`].
pub fn check_terrain(path: &Path, sample: Option<SampleType>) -> Result<()> {
    let format = Format::from_path(path)?;
    let known = format.writable_types();
    if known.is_empty() {
        let problem = format!("cannot be written, because {format} files can only be read; write .tif");
        return Err(Error::unsupported(format_path(path), problem));
    }
    if let Some(sample) = sample.filter(|sample| !known.contains(sample)) {
        return Err(Error::unsupported(
            format!("sample type = {sample}"),
            format!("is not supported by {format}; write .tif or .npy, or leave the type out"),
        ));
    }
    check_writable(path)
}

/// Checks that `path` has one of the extensions `endings` (lower case, without dots) and can be written; returns the
/// extension.
///
/// # Errors
/// Returns an error for another extension, and the errors of [`check_writable`].
pub fn check_ending(path: &Path, endings: &'static [&'static str]) -> Result<&'static str> {
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let Some(known) = endings.iter().find(|known| **known == ending) else {
        return Err(Error::invalid_file(path, format!("must have the extension .{}", endings.join(" or ."))));
    };
    check_writable(path)?;
    Ok(known)
}

/// Returns the absolute path.
///
/// # Errors
/// Returns an error if the path is empty or there is no current folder.
pub fn absolute_path(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(Error::io(path, "find"))
}
