//! Helpers that run the built command in a folder of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

use crate::messages::check_message;

/// A temporary folder in which the command runs.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Creates a folder in memory where possible: syncing many files is slow on a disk.
    pub fn quick() -> Self {
        let memory = Path::new("/dev/shm");
        Self(tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap())
    }

    /// Creates a folder with `dem.tif`, 40 columns by 30 rows of noise.
    pub fn with_dem() -> Self {
        let place = Self::new();
        place.works("generate gradient_noise -o dem.tif --cells 40x30 --cell-size 30 --seed 3 --quiet");
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_slice(&self.read(name)).unwrap()
    }

    /// Returns the command, set to run in this folder; `line` is split at whitespace.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
        command.current_dir(self.0.path()).args(line.split_whitespace());
        command
    }

    /// Returns the command, set to run in this folder on two threads with `mebibytes` of address space.
    #[cfg(target_os = "linux")]
    pub fn limited_command(&self, line: &str, mebibytes: u64) -> Command {
        let script = format!("ulimit -v {}; exec \"$0\" \"$@\"", mebibytes * 1024);
        let mut command = Command::new("bash");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_thalweg")]).args(line.split_whitespace());
        command.env("RAYON_NUM_THREADS", "2").current_dir(self.0.path());
        command
    }

    /// Runs a command line with `mebibytes` of address space.
    #[cfg(target_os = "linux")]
    pub fn run_limited(&self, line: &str, mebibytes: u64) -> Output {
        self.limited_command(line, mebibytes).output().unwrap()
    }

    pub fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Runs a command line that must succeed; returns its standard output.
    pub fn works(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Runs a command line that must be refused with one message that contains all `words` and must leave every file
    /// unchanged.
    #[track_caller]
    pub fn refuses(&self, line: &str, words: &[&str]) {
        self.ends(line, 1, words);
    }

    /// The same for arguments that are wrong in themselves, which are refused before the command begins.
    #[track_caller]
    pub fn rejects(&self, line: &str, words: &[&str]) {
        self.ends(line, 2, words);
    }

    #[track_caller]
    fn ends(&self, line: &str, code: i32, words: &[&str]) {
        let before = self.files();
        let output = self.run(line);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{line}: {message}");
        assert!(message.starts_with("error: ") && message.matches("error: ").count() == 1, "{line}: {message}");
        assert!(!message.contains("panicked"), "{line}: {message}");
        check_message(line, &message, self.0.path());
        assert!(output.stdout.is_empty(), "{line}: {}", text(&output.stdout));
        for word in words {
            assert!(message.contains(word), "{line}: `{word}` is missing in: {message}");
        }
        assert_eq!(self.files().keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "{line}");
        assert!(self.files() == before, "{line}: a file was changed");
    }

    /// Returns every file with its bytes.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn walk(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(&path, files)
                } else {
                    drop(files.insert(path.clone(), fs::read(path).unwrap()))
                }
            }
        }
        let mut files = BTreeMap::new();
        walk(self.0.path(), &mut files);
        files
    }
}

/// Sends a signal, such as `-INT`, to a child process.
pub fn signal(child: &Child, signal: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
