//! Sets of files that appear together: all are written to temporary folders next to their final paths, and renamed when
//! the last one is complete.
//!
//! A folder that contains a world contains one world. Its report lists the other files: the old report is removed
//! before the first new file is renamed, and the new one is renamed after the last. A reader that finds a report
//! therefore finds all files that it lists, and none of a previous world. In between, a list, [`JOURNAL`], keeps the
//! names of both worlds' files, so that a run after a crash knows which files to remove.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::atomic::{Temporary, parent_folder, remove_stale_temporaries, write_text};
use super::disk;
use super::store::FilePath;
use thalweg_core::base::names::{format_path, from_text, to_text};
use thalweg_core::{Error, Result};

/// The name of the list of a folder's files while they are being replaced.
pub const JOURNAL: &str = ".thalweg-journal.json";

/// The report of a folder that contains only the layers of a run; [`format_file_list`] makes its text.
pub const LAYERS: &str = ".thalweg-layers.json";

/// The reports that list the files of a folder, each with files that it always lists, also in earlier versions.
const REPORTS: [(&str, &[&str]); 5] = [
    ("report.json", &["height.tif", "recipe.toml"]),
    ("drain.json", &["filled.tif", "streams.geojson"]),
    ("rivers.json", &["height.tif", "network.json"]),
    ("textures.json", &["weights_0.png", "albedo.png"]),
    (LAYERS, &[]),
];

/// A set of files that is being written. If it is dropped before [`Staging::commit`], nothing remains of it.
#[derive(Debug, Default)]
pub struct Staging {
    /// The target folders, each with the temporary folder of its files.
    parts: Vec<(FilePath, Temporary)>,
}

impl Staging {
    /// Makes an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a temporary folder for the files that will be in `target`.
    ///
    /// # Errors
    /// Returns an error if `target` does not exist or no folder can be created in it.
    pub fn temporary_folder(&mut self, target: impl Into<FilePath>) -> Result<FilePath> {
        let target = target.into();
        if let Some((_, part)) = self.parts.iter().find(|(known, _)| **known == *target) {
            return Ok(part.path().clone());
        }
        if !target.is_in_memory() {
            remove_stale_temporaries(&target);
        }
        let part = Temporary::create_folder(&target).map_err(Error::io(&target, "write into"))?;
        let path = part.path().clone();
        self.parts.push((target, part));
        Ok(path)
    }

    /// Returns the temporary path of the file that will be `target`. A sidecar of that path becomes the sidecar of
    /// `target`.
    ///
    /// # Errors
    /// Returns the errors of [`Staging::temporary_folder`]; an error if the path has no file name.
    pub fn temporary_path(&mut self, target: impl Into<FilePath>) -> Result<FilePath> {
        let target = target.into();
        let name = target.file_name().ok_or_else(|| Error::invalid_file(&target, "is not a file name"))?;
        Ok(self.temporary_folder(target.folder())?.join(name))
    }

    /// Returns the final path of a temporary path of this set; other paths stay.
    pub fn final_path(&self, path: &Path) -> PathBuf {
        let rest =
            |(folder, part): &(FilePath, Temporary)| Some(folder.join(path.strip_prefix(&**part.path()).ok()?).into());
        self.parts.iter().find_map(rest).unwrap_or_else(|| path.to_path_buf())
    }

    /// Replaces a temporary path in a writer's error by the final path.
    pub fn restore_error_path(&self, error: Error) -> Error {
        match error {
            Error::File { path, problem } => Error::File { path: self.final_path(&path), problem },
            Error::Io { path, action, source } => Error::Io { path: self.final_path(&path), action, source },
            other => other,
        }
    }

    /// Replaces temporary folders in a writer's warnings by the final ones.
    pub fn restore_warning_paths(&self, words: Vec<String>) -> Vec<String> {
        let named = |text: String| {
            self.parts
                .iter()
                .fold(text, |text, (folder, part)| text.replace(&format_path(part.path()), &format_path(folder)))
        };
        words.into_iter().map(named).collect()
    }

    /// Renames all files to their final names. `reports` are those files that list the others: old reports of these
    /// names are removed first, and the new ones are renamed last, in their order. `whole` are those reports whose
    /// folder contains the files of one run: files that the previous report of that name lists are removed, except for
    /// those in `keep`.
    ///
    /// # Errors
    /// Returns an error of the operating system: a folder no longer exists, a folder has the name of a file, there is
    /// no permission, or no space. Some files may then have their final names already, but no report lists them.
    pub fn commit(self, reports: &[FilePath], whole: &[FilePath], keep: &[PathBuf]) -> Result<()> {
        let mut moves = Vec::new();
        for (folder, part) in &self.parts {
            for name in disk::list_names(part.path()).map_err(Error::io(folder, "read"))? {
                moves.push((folder.join(&name), part.path().join(&name)));
            }
        }
        // Files are renamed in the order of their paths, and reports last, in the given order. The second sort is
        // stable, so it keeps the order of the first.
        moves.sort_by(|(a, _), (b, _)| a.cmp(&**b));
        let order = |target: &FilePath| reports.iter().position(|report| **report == **target).map_or(0, |n| n + 1);
        moves.sort_by_key(|(target, _)| order(target));
        // In memory no crash can leave files of two worlds in one folder, so no journal is needed.
        let folders: BTreeSet<&Path> =
            whole.iter().filter(|report| !report.is_in_memory()).map(|report| parent_folder(report)).collect();
        let formers: Vec<FormerFiles> =
            folders.iter().map(|dir| FormerFiles::from_moves(dir, &moves, whole, keep)).collect();
        // The order matters for a crash at any point: the journal is written, old reports are removed, new files are
        // renamed, old files are removed, and the new reports are renamed. Syncing the folders in between keeps this
        // order on the disk.
        formers.iter().try_for_each(FormerFiles::write_journal)?;
        reports.iter().try_for_each(|report| disk::remove_file(report).map_err(Error::io(report, "remove")))?;
        let sync = || {
            let mut folders = self.parts.iter().map(|(folder, _)| folder);
            folders.try_for_each(|folder| disk::sync_folder(folder).map_err(Error::io(folder, "write into")))
        };
        sync()?;
        let (last, first): (Vec<_>, Vec<_>) = moves.iter().partition(|(target, _)| order(target) > 0);
        let rename =
            |(target, path): &&(FilePath, FilePath)| disk::rename(path, target).map_err(Error::io(target, "replace"));
        first.iter().try_for_each(rename)?;
        let mut old = formers.iter().flat_map(|former| &former.files);
        old.try_for_each(|file| disk::remove_file(file).map_err(Error::io(file, "remove")))?;
        sync()?;
        last.iter().try_for_each(rename)?;
        sync()?;
        // A journal that remains does no harm: the files that it names are in place or removed.
        formers.iter().for_each(|former| drop(disk::remove_file(former.dir.join(JOURNAL))));
        Ok(())
    }
}

/// Returns the text of a list called `name`, which lists the files of these names in its folder for a run whose recipe
/// has the hash `recipe`.
pub fn format_file_list(name: &str, recipe: &str, files: impl IntoIterator<Item = String>) -> String {
    let files: Vec<String> = files.into_iter().chain([name.to_string()]).collect();
    format!("{}\n", json!({"thalweg": env!("CARGO_PKG_VERSION"), "recipe_hash": recipe, "files": files}))
}

/// Returns the hash of the recipe of the run to which a list in `dir` belongs; `None` if there is no such list.
pub fn read_list_hash(dir: &Path, name: &str) -> Option<String> {
    Some(read_json(&dir.join(name))?["recipe_hash"].as_str()?.to_string())
}

/// Writes a list of files that a run is about to write to `dir` one by one; see [`format_file_list`]. If `begins` is
/// true, the run begins with these files, and the files of the existing list are removed first.
///
/// # Errors
/// Returns an error if a file cannot be removed or the list cannot be written. The previous list is unchanged then.
pub fn write_file_list(
    dir: &Path,
    name: &str,
    recipe: &str,
    files: impl IntoIterator<Item = String>,
    begins: bool,
) -> Result<()> {
    let path = dir.join(name);
    let old = if begins { list_world_files(&path, &[]) } else { BTreeSet::new() };
    // The list itself is replaced below, so it is not removed before.
    let old = old.iter().filter(|old| *old != name).map(|old| dir.join(old)).filter(|file| is_file(file));
    old.into_iter().try_for_each(|file| disk::remove_file(&file).map_err(Error::io(&file, "remove")))?;
    write_text(&path, &format_file_list(name, recipe, files))
}

/// Rejects files of these names in `dir`, which `report` will list, if another report there lists one of them. A folder
/// may contain the files of `build` and those of `drain`, but no file may belong to both.
///
/// # Errors
/// Returns an error that names the first such file and the report that lists it.
pub fn check_unclaimed(dir: impl Into<FilePath>, report: &str, names: &[String]) -> Result<()> {
    let dir = &dir.into();
    if dir.is_in_memory() {
        return Ok(());
    }
    for (other, always) in REPORTS.iter().filter(|(other, _)| *other != report) {
        let named = list_world_files(&dir.join(other), always);
        if let Some(name) = names.iter().find(|name| named.contains(*name)) {
            // A file that two reports list would be removed by the run that replaces either of them.
            let problem = format!(
                "already contains {name}, which belongs to another result (see {other}); choose another folder"
            );
            return Err(Error::invalid_file(dir, problem));
        }
    }
    Ok(())
}

/// The files of a previous world in a folder, or of one that was not completed.
#[derive(Debug)]
struct FormerFiles {
    dir: PathBuf,
    /// The files to remove.
    files: Vec<PathBuf>,
    /// The names of the new files according to the new reports. Other new files in this folder do not belong to the
    /// world.
    comes: BTreeSet<String>,
}

impl FormerFiles {
    /// Determines which files have to be removed from `dir` when `moves` are made.
    fn from_moves(dir: &Path, moves: &[(FilePath, FilePath)], whole: &[FilePath], keep: &[PathBuf]) -> Self {
        let mut files: BTreeSet<String> =
            // A journal was left by a run that did not finish. The files of both of its worlds are removed, unless they
            // are written again.
            read_json(&dir.join(JOURNAL)).map_or(BTreeSet::new(), |list| plain_file_names(&list["files"]));
        let mut comes = BTreeSet::new();
        // The files of a finished run are listed by its report, which counts only if it lists the files that its kind
        // always has.
        for report in whole.iter().filter(|report| parent_folder(report) == dir) {
            let always = REPORTS.iter().find(|(name, _)| report.ends_with(name)).map(|(_, always)| *always);
            files.extend(always.map_or(BTreeSet::new(), |always| list_world_files(report, always)));
            let new = moves.iter().find(|(target, _)| **target == **report);
            comes.extend(new.map_or(BTreeSet::new(), |(_, path)| list_world_files(path, &[])));
        }
        let is_new = |file: &PathBuf| moves.iter().any(|(target, _)| **target == **file);
        let is_kept = |file: &PathBuf| keep.iter().any(|kept| super::file_identity::is_same_file(kept, file));
        let files = files.into_iter().map(|name| dir.join(name));
        let files = files.filter(|file| is_file(file) && !is_new(file) && !is_kept(file)).collect();
        Self { dir: dir.to_path_buf(), files, comes }
    }

    /// Writes the journal with all old and new names before anything is changed in the folder.
    fn write_journal(&self) -> Result<()> {
        let old = self.files.iter().filter_map(|file| Some(to_text(Path::new(file.file_name()?))));
        let names: BTreeSet<String> = old.chain(self.comes.iter().cloned()).collect();
        let path = self.dir.join(JOURNAL);
        write_text(&path, &format!("{}\n", json!({"files": names})))
    }
}

/// Returns true if the path is a plain file, which may be one of a run's: not a link or a folder.
fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_file())
}

/// The greatest size of a report or list that is read.
const MAX_REPORT_BYTES: u64 = 64 << 20;

fn read_json(path: &Path) -> Option<Value> {
    // A link, a pipe, or a file of arbitrary length is not a report.
    fs::symlink_metadata(path).ok().filter(|about| about.is_file() && about.len() <= MAX_REPORT_BYTES)?;
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Returns the names of the files in the report's folder that a report lists; none if it is not a report of a world in
/// this folder.
fn list_world_files(report: &Path, always: &[&str]) -> BTreeSet<String> {
    let names = || {
        let text = read_json(report)?;
        text["thalweg"].as_str()?;
        let files = text["files"].as_array()?.iter().map(|file| file.as_str().map(from_text));
        let files: Vec<PathBuf> = files.collect::<Option<_>>()?;
        // The folder may have been moved since. The world's folder is the one in which the report lists itself.
        let own = files.iter().find(|file| file.file_name() == report.file_name())?.parent()?;
        let here = files.iter().filter(|file| file.parent() == Some(own)).filter_map(|file| file.file_name());
        let names: BTreeSet<String> = here.filter_map(OsStr::to_str).map(String::from).collect();
        always.iter().all(|name| names.contains(*name)).then_some(names)
    };
    names().unwrap_or_default()
}

/// Returns the entries of a list that are plain file names, without a folder.
fn plain_file_names(list: &Value) -> BTreeSet<String> {
    let names = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    names.filter(|name| Path::new(name).file_name() == Some(OsStr::new(name))).map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a world of these files into `dir`.
    fn world(dir: &Path, files: &[&str], content: &str) -> Result<()> {
        let mut staging = Staging::new();
        let at = staging.temporary_folder(dir)?;
        for name in files.iter().chain(&["height.tif", "recipe.toml"]) {
            write_text(at.join(name), content)?;
        }
        let all = files.iter().chain(&["height.tif", "recipe.toml", "report.json"]);
        let all: Vec<String> = all.map(|name| to_text(&dir.join(name))).collect();
        let report = json!({"thalweg": "0", "files": all}).to_string();
        write_text(at.join("report.json"), &report)?;
        let report = [dir.join("report.json").into()];
        staging.commit(&report, &report, &[])
    }

    fn names(folder: &Path) -> BTreeSet<String> {
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_files_of_a_former_world_go_and_a_users_own_stay() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        fs::write(dir.join("notes.txt"), "mine").unwrap();
        fs::write(dir.join("loose.tif"), "mine").unwrap();
        world(dir, &["water.tif"], "first").unwrap();
        world(dir, &["pool.tif"], "second").unwrap();
        let own = ["notes.txt", "loose.tif", "height.tif", "recipe.toml", "report.json"];
        assert_eq!(names(dir), set(&[&own[..], &["pool.tif"]].concat()));
        assert_eq!(fs::read_to_string(dir.join("height.tif")).unwrap(), "second");
        // After the folder is moved, its report still lists its files.
        let moved = place.path().with_extension("moved");
        fs::rename(dir, &moved).unwrap();
        world(&moved, &[], "third").unwrap();
        assert_eq!(names(&moved), set(&own));
        fs::rename(moved, dir).unwrap();
    }

    #[test]
    fn no_file_has_two_reports() {
        let place = tempfile::tempdir().unwrap();
        world(place.path(), &["lakes.csv"], "first").unwrap();
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(check_unclaimed(place.path(), "drain.json", &names(&["filled.tif"])).is_ok());
        assert!(check_unclaimed(place.path(), "report.json", &names(&["lakes.csv"])).is_ok());
        let said =
            check_unclaimed(place.path(), "drain.json", &names(&["filled.tif", "lakes.csv"])).unwrap_err().to_string();
        assert!(said.contains("lakes.csv") && said.contains("report.json"), "{said}");
    }

    /// Layers next to other files of the run: the list covers the layers alone, and only listed files are removed.
    #[test]
    fn a_list_speaks_for_what_it_names() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        let layers = |output: &str, names: &[&str]| {
            let mut staging = Staging::new();
            let at = staging.temporary_folder(dir).unwrap();
            names.iter().chain(&[output]).for_each(|name| fs::write(at.join(name), "new").unwrap());
            fs::write(at.join(LAYERS), format_file_list(LAYERS, "1f", names.iter().map(ToString::to_string))).unwrap();
            let reports = [dir.join(LAYERS).into()];
            staging.commit(&reports, &reports, &[dir.join("kept.tif")]).unwrap();
        };
        layers("a.tif", &["water.tif", "loose.tif", "kept.tif"]);
        layers("b.tif", &["loose.tif"]);
        assert_eq!(names(dir), set(&["a.tif", "b.tif", "loose.tif", "kept.tif", LAYERS]));
        assert_eq!(read_list_hash(dir, LAYERS).as_deref(), Some("1f"));
        // A world in the same folder neither overwrites the layers nor is removed with them.
        let said = check_unclaimed(dir, "report.json", &["loose.tif".to_string()]).unwrap_err().to_string();
        assert!(said.contains("loose.tif") && said.contains(LAYERS), "{said}");
    }

    #[test]
    fn files_that_come_one_by_one_replace_those_of_a_former_run() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        let named = |files: &[&str]| files.iter().map(ToString::to_string).collect::<Vec<_>>();
        for file in ["1.png", "2.png", "own.png"] {
            fs::write(dir.join(file), "old").unwrap();
        }
        write_file_list(dir, "list.json", "1f", named(&["1.png", "2.png", "3.png"]), true).unwrap();
        assert_eq!(names(dir), set(&["1.png", "2.png", "own.png", "list.json"]), "there was no list");
        write_file_list(dir, "list.json", "1f", named(&["1.png", "2.png", "3.png", "4.png"]), false).unwrap();
        assert_eq!(names(dir), set(&["1.png", "2.png", "own.png", "list.json"]), "it goes on");
        write_file_list(dir, "list.json", "2e", named(&["1.png"]), true).unwrap();
        assert_eq!(names(dir), set(&["own.png", "list.json"]));
        assert_eq!(read_list_hash(dir, "list.json").as_deref(), Some("2e"));
    }

    #[test]
    fn a_report_that_is_none_of_this_folder_takes_nothing_away() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        let other = dir.join("other");
        fs::create_dir(&other).unwrap();
        for file in ["mine.tif", "other/far.tif"] {
            fs::write(dir.join(file), "mine").unwrap();
        }
        for files in [
            vec!["mine.tif", "report.json"],
            vec!["../mine.tif", "height.tif", "recipe.toml"],
            vec!["other/far.tif", "report.json", "height.tif", "recipe.toml"],
        ] {
            fs::write(dir.join("report.json"), json!({"thalweg": "0", "files": files}).to_string()).unwrap();
            world(dir, &[], "new").unwrap();
            assert!(dir.join("mine.tif").exists() && other.join("far.tif").exists(), "{files:?}");
        }
    }

    #[test]
    fn after_a_crash_in_the_middle_the_next_world_is_whole() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        // The state after a crash between renames: no report, files of two worlds, and the journal of both.
        for file in ["height.tif", "water.tif", "pool.tif"] {
            fs::write(dir.join(file), "half").unwrap();
        }
        let list = ["water.tif", "pool.tif", "height.tif", "../../x", "/etc/passwd", "a/b"];
        fs::write(dir.join(JOURNAL), json!({"files": list}).to_string()).unwrap();
        world(dir, &["pool.tif"], "new").unwrap();
        assert_eq!(names(dir), set(&["height.tif", "pool.tif", "recipe.toml", "report.json"]));
    }
}
