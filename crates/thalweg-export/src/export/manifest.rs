//! The folder of an export: which export it belongs to, which files exist already, and the manifest, which is written
//! last.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Component, Path};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use thalweg_core::{Error, Result};
use thalweg_io::{FilePath, disk, plain, write_text};

/// The file name of an export's manifest. It is written last, so that it lists the files only once all of them exist.
pub const MANIFEST: &str = "manifest.json";

/// The list of the files that are being written. A file that exists under its name is complete.
const LIST: &str = ".thalweg-export.json";

/// The record of completed files, a line each: length, CRC-32, name. A file that differs from its line has been changed
/// since.
const DONE: &str = ".thalweg-export.done";

/// The greatest size of a manifest that is read, in bytes.
const MAX_MANIFEST_BYTES: u64 = 64 << 20;

/// A folder that has been taken for the files of one export.
pub(super) struct Claimed {
    folder: FilePath,
    /// The hash of the export's plan: the same plan makes the same files.
    pub plan: String,
    /// The length and checksum of the files of this export that a previous run has written.
    there: BTreeMap<String, (u64, u32)>,
    /// The record of completed files; `None` in memory, where nothing outlives a run.
    done: Option<Mutex<fs::File>>,
}

/// The content of a folder from a previous export: its plan, its target, and the names of its files.
struct PreviousExport {
    plan: String,
    target: String,
    files: Vec<String>,
    /// The length and checksum of the files for which they are recorded.
    sums: BTreeMap<String, (u64, u32)>,
}

impl PreviousExport {
    /// Reads a manifest or a list, if there is one.
    fn read(path: &FilePath) -> Result<Option<Self>> {
        let Some(bytes) = plain::read_if_exists(path, MAX_MANIFEST_BYTES)? else { return Ok(None) };
        let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let word = |key: &str| value[key].as_str().map(String::from);
        let (Some(plan), Some(target)) = (word("plan"), word("target")) else {
            return Err(Error::invalid_file(
                path,
                "is not the manifest of a thalweg export and would be overwritten; choose another folder",
            ));
        };
        let files = value["files"].as_array().into_iter().flatten();
        // Only names in this folder are accepted, not paths out of it.
        let files = files.filter_map(|file| file.as_str().or(file["file"].as_str())).filter(|name| is_inside(name));
        let files = files.map(String::from).collect();
        let sum = |file: &Value| {
            let crc = u32::from_str_radix(file["crc32"].as_str()?, 16).ok()?;
            Some((file["file"].as_str()?.to_string(), (file["bytes"].as_u64()?, crc)))
        };
        let sums = value["files"].as_array().into_iter().flatten().filter_map(sum).collect();
        Ok(Some(Self { plan, target, files, sums }))
    }
}

/// Returns true if a name is a path inside a folder: it has only plain components, without `..`.
fn is_inside(name: &str) -> bool {
    let path = Path::new(name);
    path.file_name().is_some() && path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Returns true if a file is in the folder itself, not behind a link.
fn is_file_in_folder(folder: &FilePath, name: &str) -> bool {
    if folder.is_in_memory() {
        return folder.join(name).exists();
    }
    let path = folder.join(name);
    // Every folder on the path must be a folder and not a link, so that nothing outside is read or removed.
    let above = path.ancestors().skip(1).take_while(|above| *above != &**folder);
    let mut about = above.map(|above| fs::symlink_metadata(above).is_ok_and(|about| about.is_dir()));
    about.all(|is_folder| is_folder) && fs::symlink_metadata(&path).is_ok_and(|about| about.is_file())
}

/// Rejects, before any work, a folder that contains an export for another program. With `fresh` the export is removed
/// later instead.
///
/// # Errors
/// Returns an error in that case, or if there is another program's manifest.
pub(super) fn check_folder(folder: &FilePath, target: &str, fresh: bool) -> Result<()> {
    for name in [MANIFEST, LIST] {
        if let Some(former) = PreviousExport::read(&folder.join(name))?
            && former.target != target
            && !fresh
        {
            return Err(other_export_error(folder, &former));
        }
    }
    Ok(())
}

fn other_export_error(folder: &Path, former: &PreviousExport) -> Error {
    let problem = format!(
        "contains another export, for {} ({} files); choose another folder, or replace it (--fresh, or fresh in \
         Python)",
        former.target,
        former.files.len()
    );
    Error::invalid_file(folder, problem)
}

impl Claimed {
    /// Takes a folder for the files of one plan. Files that a previous run of the same plan has written stay; with
    /// `fresh`, those of any previous export are removed.
    ///
    /// # Errors
    /// Returns an error if the folder contains another export, or other files of these names; or an error of the
    /// operating system.
    pub fn claim_folder(folder: &FilePath, plan: &str, target: &str, files: &[String], fresh: bool) -> Result<Self> {
        let (mut goes_on, mut there) = (false, BTreeMap::new());
        for name in [MANIFEST, LIST] {
            let Some(former) = PreviousExport::read(&folder.join(name))? else { continue };
            if former.plan == plan && !fresh {
                goes_on = true;
                there.extend(former.sums);
            } else if fresh {
                let gone = former.files.iter().map(String::as_str).chain([name, DONE]);
                let gone = gone.filter(|file| is_file_in_folder(folder, file)).map(|file| folder.join(file));
                gone.into_iter().try_for_each(|path| disk::remove_file(&path).map_err(Error::io(&path, "remove")))?;
            } else {
                return Err(other_export_error(folder, &former));
            }
        }
        // Files that no export of ours lists may be the user's own, so they are never overwritten.
        if !goes_on && let Some(name) = files.iter().find(|name| folder.join(name).exists()) {
            let problem = "exists already, and no manifest lists it for this export; choose another folder";
            return Err(Error::invalid_file(folder.join(name), problem));
        }
        // The list is written before the first file, so the folder belongs to this export even if the run is killed.
        let text = json!({"thalweg": env!("CARGO_PKG_VERSION"), "target": target, "plan": plan, "files": files});
        write_text(folder.join(LIST), &format!("{text}\n"))?;
        let (folder, plan) = (folder.clone(), plan.to_string());
        if folder.is_in_memory() {
            return Ok(Self { folder, plan, there, done: None });
        }
        let path = folder.join(DONE);
        // The record of an interrupted run is continued; any other record is obsolete.
        if goes_on && let Some(bytes) = plain::read_if_exists(&path, MAX_MANIFEST_BYTES)? {
            there.extend(String::from_utf8_lossy(&bytes).lines().filter_map(parse_record));
        } else {
            disk::remove_file(&path).map_err(Error::io(&path, "remove"))?;
        }
        let done = fs::File::options().create(true).append(true).open(&path).map_err(Error::io(&path, "write"))?;
        Ok(Self { folder, plan, there, done: Some(Mutex::new(done)) })
    }

    /// Returns true if a file exists and is unchanged since it was written.
    pub fn has_file(&self, name: &str) -> bool {
        // A file is complete if its length and checksum are still those that were recorded.
        let was = self.there.get(name).filter(|_| is_file_in_folder(&self.folder, name));
        was.is_some_and(|was| checksum_file(&self.folder.join(name)).is_ok_and(|is| is == *was))
    }

    /// Records that a file is complete.
    ///
    /// # Errors
    /// Returns an error of the operating system.
    pub fn record_file(&self, name: &str) -> Result<()> {
        let Some(done) = &self.done else { return Ok(()) };
        let (bytes, crc) = checksum_file(&self.folder.join(name))?;
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        // A line is written by a single call, because tiles are written in parallel.
        done.write_all(format!("{bytes} {crc:08x} {name}\n").as_bytes())
            .map_err(Error::io(&self.folder.join(DONE), "write"))
    }

    /// Writes the manifest, when all files exist.
    ///
    /// # Errors
    /// Returns an error of the operating system.
    pub fn finish(self, manifest: &Value) -> Result<FilePath> {
        let path = self.folder.join(MANIFEST);
        // The manifest is written before the list is removed, so that one of them claims the folder at any moment.
        write_text(&path, &format!("{manifest:#}\n"))?;
        for name in [LIST, DONE] {
            let list = self.folder.join(name);
            disk::remove_file(&list).map_err(Error::io(&list, "remove"))?;
        }
        Ok(path)
    }
}

/// Parses a line of [`DONE`]; `None` if it is incomplete.
fn parse_record(line: &str) -> Option<(String, (u64, u32))> {
    let mut parts = line.splitn(3, ' ');
    let (bytes, crc, name) = (parts.next()?, parts.next()?, parts.next()?);
    Some((name.to_string(), (bytes.parse().ok()?, u32::from_str_radix(crc, 16).ok()?)))
}

/// Returns the length and the CRC-32 (as used by ZIP) of a file.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub(super) fn checksum_file(path: &FilePath) -> Result<(u64, u32)> {
    if path.is_in_memory() {
        let bytes = plain::read_plain_file(path, u64::MAX)?;
        return Ok((bytes.len() as u64, crc32fast::hash(&bytes)));
    }
    let (mut file, _) = plain::open_plain_file(path)?;
    let (mut length, mut crc, mut buffer) = (0, crc32fast::Hasher::new(), vec![0; 1 << 18]);
    loop {
        let count = file.read(&mut buffer).map_err(Error::io(path, "read"))?;
        if count == 0 {
            return Ok((length, crc.finalize()));
        }
        length += count as u64;
        crc.update(&buffer[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_holds_one_export() {
        let place = tempfile::tempdir().unwrap();
        let dir = &FilePath::from(place.path());
        let files = ["a.png", "b.png"].map(String::from);
        let claimed = Claimed::claim_folder(dir, "1", "unity", &files, false).unwrap();
        assert!(!claimed.has_file("a.png"));
        fs::write(dir.join("a.png"), "first").unwrap();
        claimed.record_file("a.png").unwrap();
        // After an interruption, the same export is resumed; another one is rejected.
        let claimed = Claimed::claim_folder(dir, "1", "unity", &files, false).unwrap();
        assert!(claimed.has_file("a.png") && !claimed.has_file("b.png"));
        // A file that was changed since, or that was not recorded, counts as missing.
        for (file, harm) in [("a.png", "worst"), ("a.png", ""), ("b.png", "x")] {
            fs::write(dir.join(file), harm).unwrap();
            assert!(!Claimed::claim_folder(dir, "1", "unity", &files, false).unwrap().has_file(file), "{file} {harm}");
        }
        fs::write(dir.join("a.png"), "first").unwrap();
        fs::remove_file(dir.join("b.png")).unwrap();
        assert!(
            Claimed::claim_folder(dir, "2", "unity", &files, false).is_err()
                && check_folder(dir, "unreal", false).is_err()
        );
        claimed
            .finish(&json!({"plan": "1", "target": "unity", "files": [{"file": "a.png"}, {"file": "../x"}]}))
            .unwrap();
        assert!(!dir.join(DONE).exists());
        assert!(!dir.join(LIST).exists() && check_folder(dir, "unity", false).is_ok());
        assert!(Claimed::claim_folder(dir, "2", "unity", &files, false).is_err());
        assert!(!Claimed::claim_folder(dir, "2", "unity", &files, true).unwrap().has_file("a.png"));
        assert!(!dir.join("a.png").exists() && !dir.join(MANIFEST).exists());
    }

    #[test]
    fn what_is_not_ours_stays() {
        let place = tempfile::tempdir().unwrap();
        let dir = &FilePath::from(place.path());
        fs::write(dir.join("a.png"), "mine").unwrap();
        assert!(Claimed::claim_folder(dir, "1", "unity", &["a.png".to_string()], false).is_err());
        fs::write(dir.join(MANIFEST), "{\"name\": \"app\"}").unwrap();
        assert!(
            check_folder(dir, "unity", true)
                .unwrap_err()
                .to_string()
                .contains("is not the manifest of a thalweg export")
        );
        assert_eq!(fs::read_to_string(dir.join("a.png")).unwrap(), "mine");
    }
}
