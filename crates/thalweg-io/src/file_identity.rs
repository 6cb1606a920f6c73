//! Checks whether two paths name the same file: through links, hard links, `./`, and on file systems that do not
//! distinguish `a` from `A`.

use std::fs;
use std::path::{Path, PathBuf};

use super::atomic::parent_folder;
use thalweg_core::base::names::format_path;
use thalweg_core::{Error, Result};

/// Rejects output files that are also input files, or that are the same file as another output.
///
/// # Errors
/// Returns an error that names both paths of the first such pair.
pub fn check_distinct_files(reads: &[PathBuf], writes: &[PathBuf]) -> Result<()> {
    // The identity of each file is determined once, because it takes a system call.
    let known =
        |paths: &[PathBuf]| paths.iter().map(|path| (path.clone(), Identity::from_path(path))).collect::<Vec<_>>();
    let (reads, writes) = (known(reads), known(writes));
    for (number, (path, file)) in writes.iter().enumerate() {
        if let Some((input, _)) = reads.iter().find(|(_, other)| file.is_same_as(other)) {
            return Err(Error::invalid_file(
                path,
                format!("is also an input{}; choose another output", as_named(input, path)),
            ));
        }
        if let Some((other, _)) = writes[..number].iter().find(|(_, other)| file.is_same_as(other)) {
            return Err(Error::invalid_file(
                path,
                format!("is written twice{}; choose another output", as_named(other, path)),
            ));
        }
    }
    Ok(())
}

/// Returns true if both paths name the same file, or will once it exists.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    Identity::from_path(a).is_same_as(&Identity::from_path(b))
}

fn as_named(other: &Path, path: &Path) -> String {
    if other == path { String::new() } else { format!(", as {}", format_path(other)) }
}

/// The identity of a file, independent of its path.
#[derive(Debug, PartialEq)]
enum Identity {
    /// The file exists: its device number and its inode number.
    #[cfg(unix)]
    Numbered(u64, u64),
    /// The file does not exist yet, or the system does not number files: its canonical folder, and its name in that
    /// folder.
    Named(Option<PathBuf>, PathBuf),
}

impl Identity {
    fn from_path(path: &Path) -> Self {
        #[cfg(unix)]
        if let Ok(about) = fs::metadata(path) {
            use std::os::unix::fs::MetadataExt as _;
            return Self::Numbered(about.dev(), about.ino());
        }
        // A link whose target does not exist yet stands for its target.
        let led = fs::read_link(path).ok().map(|led| parent_folder(path).join(led));
        let path = fs::canonicalize(path).ok().or(led).unwrap_or_else(|| path.to_path_buf());
        let name = path.file_name().map(PathBuf::from).unwrap_or_default();
        Self::Named(fs::canonicalize(parent_folder(&path)).ok(), name)
    }

    fn is_same_as(&self, other: &Self) -> bool {
        // Two names in one folder that differ only by case are the same file on some file systems.
        if let (Self::Named(Some(folder), a), Self::Named(Some(other), b)) = (self, other)
            && folder == other
            && a != b
            && a.as_os_str().to_string_lossy().to_lowercase() == b.as_os_str().to_string_lossy().to_lowercase()
        {
            return ignores_case(folder);
        }
        // Nothing is known about a folder that does not exist, so its files are taken as different from all others.
        self == other && !matches!(self, Self::Named(None, _))
    }
}

/// Returns true if a folder is on a file system that does not distinguish upper and lower case: the folder's own name
/// with the case swapped then exists too.
fn ignores_case(folder: &Path) -> bool {
    // A folder name without letters does not show the difference; the file system is then taken as one that
    // distinguishes case.
    let swapped = |c: char| if c.is_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
    let Some(name) = folder.file_name().and_then(|name| name.to_str()) else { return false };
    let other: String = name.chars().map(swapped).collect();
    other != name && folder.with_file_name(other).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_under_two_names_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("dem.tif"), "land").unwrap();
        fs::write(path("other.tif"), "land").unwrap();
        fs::create_dir(path("sub")).unwrap();
        let refused = |reads: &[&str], writes: &[&str]| {
            let all = |names: &[&str]| names.iter().map(|name| path(name)).collect::<Vec<_>>();
            check_distinct_files(&all(reads), &all(writes)).err().map(|error| error.to_string())
        };
        assert_eq!(refused(&["dem.tif", "dem.tif"], &["x.tif", "y.tif", "other.tif"]), None);
        for (reads, writes) in [
            (&["dem.tif"][..], &["dem.tif"][..]),
            (&["dem.tif"], &["./sub/../dem.tif"]),
            (&[], &["new.tif", "sub/../new.tif"]),
            (&["other.tif"], &["x.tif", "./other.tif"]),
        ] {
            let said = refused(reads, writes).unwrap();
            assert!(said.contains("is also an input") || said.contains("is written twice"), "{said}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("dem.tif", path("link.tif")).unwrap();
            std::os::unix::fs::symlink("new.tif", path("to_new.tif")).unwrap();
            std::os::unix::fs::symlink("sub", path("way")).unwrap();
            fs::hard_link(path("dem.tif"), path("hard.tif")).unwrap();
            for (reads, writes) in [
                (&["dem.tif"][..], &["link.tif"][..]),
                (&["link.tif"], &["hard.tif"]),
                (&[], &["to_new.tif", "new.tif"]),
                (&[], &["way/a.tif", "sub/a.tif"]),
                (&[], &["hard.tif", "dem.tif"]),
            ] {
                let said = refused(reads, writes).unwrap();
                assert!(said.contains(", as "), "{said}");
            }
        }
    }
}
