//! [`Draft`]: files of a folder, or of several, written whole before any of them has its name; and the report that speaks for them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::atomic::{folder_of, write_text};
use super::staging::{self, Staging};
use super::store::FilePath;
use thalweg_core::Result;
use thalweg_core::base::names::to_text;

/// What a writer of several files left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Saved {
    /// The files, in the order in which they were added.
    pub files: Vec<PathBuf>,
    /// What could not be kept in them, in words.
    pub said: Vec<String>,
}

impl Saved {
    /// Adds a file.
    pub fn add(&mut self, file: impl Into<PathBuf>) {
        self.files.push(file.into());
    }

    /// Adds what another writer left.
    pub fn extend(&mut self, more: Self) {
        self.files.extend(more.files);
        self.said.extend(more.said);
    }
}

/// Files that are written and have not their names yet. Dropped before [`Draft::commit`] it leaves every folder as it was.
#[derive(Debug)]
pub struct Draft {
    staging: Staging,
    saved: Saved,
    lists: Vec<FilePath>,
    reports: Vec<FilePath>,
    whole: Vec<FilePath>,
    is_sealed: bool,
    /// What the reports say, an object; their member `files` is added when they are written, relative to each one's folder.
    pub report: Value,
}

impl Draft {
    /// Has `write` write. Its errors, and what it says, name the files that are to be, not those that are written for the time being.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn new(write: impl FnOnce(&mut Self) -> Result<()>) -> Result<Self> {
        let (lists, reports, whole) = (Vec::new(), Vec::new(), Vec::new());
        let (staging, saved, is_sealed) = (Staging::new(), Saved::default(), false);
        let mut draft = Self { staging, saved, lists, reports, whole, is_sealed, report: json!({}) };
        write(&mut draft).map_err(|error| draft.staging.error(error))?;
        draft.saved.said = draft.staging.said(std::mem::take(&mut draft.saved.said));
        Ok(draft)
    }

    /// A temporary folder, into which goes what is to lie in `target`.
    ///
    /// # Errors
    /// A `target` that is not there or in which no folder can be made.
    pub fn folder(&mut self, target: impl Into<FilePath>) -> Result<FilePath> {
        self.staging.folder(target)
    }

    /// The temporary path of the file that is to be `target`.
    ///
    /// # Errors
    /// As [`Draft::folder`]; a path without a name.
    pub fn place(&mut self, target: impl Into<FilePath>) -> Result<FilePath> {
        self.staging.place(target)
    }

    /// Takes up what was written, by the paths that it was written to.
    pub fn take(&mut self, saved: Saved) {
        self.saved.extend(saved);
    }

    /// Adds a list of files in `folder`, a hidden file called `name` that speaks for them and for nothing else there; `recipe` is the hash
    /// of the run's recipe. See [`staging::list`].
    ///
    /// # Errors
    /// As [`Draft::place`], and as [`write_text`].
    pub fn list(&mut self, folder: impl Into<FilePath>, name: &str, recipe: &str, files: &[PathBuf]) -> Result<()> {
        let names = files.iter().filter_map(|file| Some(file.file_name()?.to_str()?.to_string()));
        let list = folder.into().join(name);
        write_text(self.place(&list)?, &staging::list(name, recipe, names))?;
        self.lists.push(list.clone());
        self.whole.push(list);
        Ok(())
    }

    /// Has the report be written to `path` too. One that is `whole` speaks for all that a run has left in its folder: files that the
    /// former report of that name speaks for are taken away.
    pub fn report_to(&mut self, path: impl Into<FilePath>, whole: bool) {
        let path = path.into();
        if whole {
            self.whole.push(path.clone());
        }
        self.reports.push(path);
    }

    /// The files by the names that they are to have, the reports last; lists are not among them.
    pub fn files(&self) -> Vec<PathBuf> {
        let files = self.saved.files.iter().map(|file| self.staging.target(file));
        files.chain(self.reports.iter().map(|report| report.to_path_buf())).collect()
    }

    /// What could not be kept in the files, in words.
    pub fn warnings(&self) -> &[String] {
        &self.saved.said
    }

    /// Writes the reports beside the other files, still without names: what follows is renaming alone. [`Draft::commit`] does it where
    /// nobody has; what the report is told later is not written.
    ///
    /// # Errors
    /// A report that cannot be written: as [`Draft::place`], and as [`write_text`].
    pub fn seal(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_sealed, true) {
            return Ok(());
        }
        let files = self.files();
        let told = |from: &Path| {
            let path = |file: &PathBuf| to_text(file.strip_prefix(from).unwrap_or(file));
            json!(files.iter().map(path).collect::<Vec<_>>())
        };
        self.report["files"] = told(Path::new(""));
        for path in &self.reports {
            // A folder may be moved: a report names what lies in its folder, or below, from there on.
            self.report["files"] = told(folder_of(path));
            let place = self.staging.place(path)?;
            write_text(&place, &format!("{:#}\n", self.report)).map_err(|error| self.staging.error(error))?;
        }
        Ok(())
    }

    /// Gives all files their names, the reports last; see [`Staging::commit`]. Files in `keep` stay, whoever speaks for them. Gives
    /// the last report as it was written.
    ///
    /// # Errors
    /// As [`Draft::seal`] and [`Staging::commit`]. Files may then have their names already, but no report speaks for them.
    pub fn commit(mut self, keep: &[PathBuf]) -> Result<Value> {
        self.seal()?;
        let files = self.files();
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
                let file = draft.folder(dir)?.join("a.txt");
                write_text(&file, content)?;
                draft.take(Saved {
                    files: vec![file.to_path_buf()],
                    said: vec![format!("{}: doubtful", file.display())],
                });
                draft.report_to(dir.join("drain.json"), true);
                if fails { Err(Error::file(&file, "is no good")) } else { Ok(()) }
            })
        };
        let names = || std::fs::read_dir(dir).unwrap().count();
        let error = draft("x", true).unwrap_err().to_string();
        assert_eq!(error, format!("{}: is no good", dir.join("a.txt").display()));
        drop(draft("x", false).unwrap());
        assert_eq!(names(), 0);
        let mut good = draft("x", false).unwrap();
        assert_eq!(good.files(), [dir.join("a.txt"), dir.join("drain.json")]);
        assert_eq!(good.warnings(), [format!("{}: doubtful", dir.join("a.txt").display())]);
        good.report["answer"] = 42.into();
        good.commit(&[]).unwrap();
        let report: Value = serde_json::from_slice(&std::fs::read(dir.join("drain.json")).unwrap()).unwrap();
        assert_eq!((&report["answer"], report["files"].as_array().unwrap().len()), (&json!(42), 2));
        assert_eq!((names(), std::fs::read_to_string(dir.join("a.txt")).unwrap()), (2, "x".to_string()));
    }
}
