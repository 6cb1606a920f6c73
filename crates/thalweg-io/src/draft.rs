//! [`Draft`]: a set of files, in one or several folders, that are written completely before any of them gets its name;
//! and the report that lists them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::atomic::{parent_folder, write_text};
use super::staging::{self, Staging};
use super::store::FilePath;
use thalweg_core::Result;
use thalweg_core::base::names::to_text;

/// The result of a writer of several files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Saved {
    /// The files, in the order in which they were added.
    pub files: Vec<PathBuf>,
    /// Warnings: what could not be stored in the files, in words.
    pub said: Vec<String>,
}

impl Saved {
    /// Adds a file.
    pub fn add_file(&mut self, file: impl Into<PathBuf>) {
        self.files.push(file.into());
    }

    /// Adds the result of another writer.
    pub fn extend(&mut self, more: Self) {
        self.files.extend(more.files);
        self.said.extend(more.said);
    }
}

/// Files that are written but do not have their names yet. If it is dropped before [`Draft::commit`], all folders stay
/// as they were.
///
/// # Examples
/// A file gets its name by [`Draft::commit`].
///
/// ```
/// use thalweg_io::{Draft, MemoryFiles, Saved, write_text};
///
/// let files = MemoryFiles::default();
/// let draft = Draft::new(|draft| {
///     let place = draft.temporary_path(files.path("out/notes.txt"))?;
///     write_text(&place, "done")?;
///     draft.add_saved(Saved { files: vec![place.into()], said: Vec::new() });
///     Ok(())
/// })?;
/// assert!(files.get("out/notes.txt").is_none());
/// draft.commit(&[])?;
/// assert_eq!(files.get("out/notes.txt").as_deref(), Some(b"done".as_slice()));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Draft {
    staging: Staging,
    saved: Saved,
    lists: Vec<FilePath>,
    reports: Vec<FilePath>,
    whole: Vec<FilePath>,
    is_sealed: bool,
    /// The content of the reports, an object. Its member `files`, with paths relative to the folder of each report, is
    /// added when the reports are written.
    pub report: Value,
}

impl Draft {
    /// Calls `write` to write the files. The paths in its errors and warnings are replaced by the final paths.
    ///
    /// # Errors
    /// Returns the errors of `write`.
    pub fn new(write: impl FnOnce(&mut Self) -> Result<()>) -> Result<Self> {
        let (lists, reports, whole) = (Vec::new(), Vec::new(), Vec::new());
        let (staging, saved, is_sealed) = (Staging::new(), Saved::default(), false);
        let mut draft = Self { staging, saved, lists, reports, whole, is_sealed, report: json!({}) };
        write(&mut draft).map_err(|error| draft.staging.restore_error_path(error))?;
        draft.saved.said = draft.staging.restore_warning_paths(std::mem::take(&mut draft.saved.said));
        Ok(draft)
    }

    /// Returns a temporary folder for the files that will be in `target`.
    ///
    /// # Errors
    /// Returns an error if `target` does not exist or no folder can be created in it.
    pub fn temporary_folder(&mut self, target: impl Into<FilePath>) -> Result<FilePath> {
        self.staging.temporary_folder(target)
    }

    /// Returns the temporary path of the file that will be `target`.
    ///
    /// # Errors
    /// Returns the errors of [`Draft::temporary_folder`]; an error if the path has no file name.
    pub fn temporary_path(&mut self, target: impl Into<FilePath>) -> Result<FilePath> {
        self.staging.temporary_path(target)
    }

    /// Adds written files by their temporary paths.
    pub fn add_saved(&mut self, saved: Saved) {
        self.saved.extend(saved);
    }

    /// Adds a list of files in `folder`: a hidden file `name` that claims these files for this run. `recipe` is the
    /// hash of the run's recipe. See [`staging::format_file_list`].
    ///
    /// # Errors
    /// Returns the errors of [`Draft::temporary_path`] and [`write_text`].
    pub fn add_file_list(
        &mut self,
        folder: impl Into<FilePath>,
        name: &str,
        recipe: &str,
        files: &[PathBuf],
    ) -> Result<()> {
        let names = files.iter().filter_map(|file| Some(file.file_name()?.to_str()?.to_string()));
        let list = folder.into().join(name);
        write_text(self.temporary_path(&list)?, &staging::format_file_list(name, recipe, names))?;
        self.lists.push(list.clone());
        self.whole.push(list);
        Ok(())
    }

    /// Adds a path to which the report is written. A report that is `whole` claims all files that a run has left in its
    /// folder: files that the previous report of that name lists and that are not written again are removed on commit.
    pub fn add_report_path(&mut self, path: impl Into<FilePath>, whole: bool) {
        let path = path.into();
        if whole {
            self.whole.push(path.clone());
        }
        self.reports.push(path);
    }

    /// Returns the files by their final paths, the reports last; lists are not included.
    pub fn final_paths(&self) -> Vec<PathBuf> {
        let files = self.saved.files.iter().map(|file| self.staging.final_path(file));
        files.chain(self.reports.iter().map(|report| report.to_path_buf())).collect()
    }

    /// Returns the warnings: what could not be stored in the files, in words.
    pub fn warnings(&self) -> &[String] {
        &self.saved.said
    }

    /// Writes the reports next to the other files, still under temporary names, so that only renaming remains to be
    /// done. [`Draft::commit`] calls this if it was not called before. Later changes of the report are not written.
    ///
    /// # Errors
    /// Returns an error if a report cannot be written: the errors of [`Draft::temporary_path`] and [`write_text`].
    pub fn write_reports(&mut self) -> Result<()> {
        // The reports are written once, even if the caller has done so before the commit.
        if std::mem::replace(&mut self.is_sealed, true) {
            return Ok(());
        }
        let files = self.final_paths();
        let list_files = |from: &Path| {
            let path = |file: &PathBuf| to_text(file.strip_prefix(from).unwrap_or(file));
            json!(files.iter().map(path).collect::<Vec<_>>())
        };
        self.report["files"] = list_files(Path::new(""));
        for path in &self.reports {
            // A folder may be moved, so a report names the files in or below its folder relative to it.
            self.report["files"] = list_files(parent_folder(path));
            let place = self.staging.temporary_path(path)?;
            write_text(&place, &format!("{:#}\n", self.report))
                .map_err(|error| self.staging.restore_error_path(error))?;
        }
        Ok(())
    }

    /// Renames all files to their final names, the reports last; see [`Staging::commit`]. Files in `keep` stay, even if
    /// a previous report lists them. Returns the last report as it was written.
    ///
    /// # Errors
    /// Returns the errors of [`Draft::write_reports`] and [`Staging::commit`]. Some files may then have their final
    /// names already, but no report lists them.
    pub fn commit(mut self, keep: &[PathBuf]) -> Result<Value> {
        self.write_reports()?;
        let files = self.final_paths();
        self.staging.commit(&[self.lists, self.reports].concat(), &self.whole, &[keep, &files].concat())?;
        Ok(self.report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Error;

    #[test]
    fn a_draft_is_there_as_a_whole_or_not_at_all() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        let draft = |content: &str, fails: bool| {
            Draft::new(|draft| {
                let file = draft.temporary_folder(dir)?.join("a.txt");
                write_text(&file, content)?;
                draft.add_saved(Saved {
                    files: vec![file.to_path_buf()],
                    said: vec![format!("{}: doubtful", file.display())],
                });
                draft.add_report_path(dir.join("drain.json"), true);
                if fails { Err(Error::invalid_file(&file, "is no good")) } else { Ok(()) }
            })
        };
        let names = || std::fs::read_dir(dir).unwrap().count();
        let error = draft("x", true).unwrap_err().to_string();
        assert_eq!(error, format!("{}: is no good", dir.join("a.txt").display()));
        drop(draft("x", false).unwrap());
        assert_eq!(names(), 0);
        let mut good = draft("x", false).unwrap();
        assert_eq!(good.final_paths(), [dir.join("a.txt"), dir.join("drain.json")]);
        assert_eq!(good.warnings(), [format!("{}: doubtful", dir.join("a.txt").display())]);
        good.report["answer"] = 42.into();
        good.commit(&[]).unwrap();
        let report: Value = serde_json::from_slice(&std::fs::read(dir.join("drain.json")).unwrap()).unwrap();
        assert_eq!((&report["answer"], report["files"].as_array().unwrap().len()), (&json!(42), 2));
        assert_eq!((names(), std::fs::read_to_string(dir.join("a.txt")).unwrap()), (2, "x".to_string()));
    }
}
