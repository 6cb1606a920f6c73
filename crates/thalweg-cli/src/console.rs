//! Console output: results go to standard output, everything else to standard error.

use std::io::{ErrorKind, Write, stdout};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use thalweg_core::base::names::{lines, shown, to_text};
use thalweg_core::{Error, Result};

/// The amount and the form of the output.
#[derive(Debug, Clone, Copy, Default)]
pub struct Voice {
    /// True for no progress and no summary.
    pub quiet: bool,
    /// True for lines of JSON on standard output.
    pub json: bool,
}

impl Voice {
    /// Prints a line for a person, unless quiet or JSON is set.
    pub fn say(self, line: &str) {
        if !self.quiet && !self.json {
            // A failure to print is ignored: a closed output is no reason to end the work.
            let _ = print(&format!("{}\n", lines(line)));
        }
    }

    /// Prints a warning, even if quiet is set.
    pub fn warn(self, message: &str) {
        eprint(&format!("warning: {}\n", lines(message)));
        self.event(&json!({"event": "warning", "message": message}));
    }

    /// Prints all warnings of a reader or writer.
    pub fn warn_all(self, messages: &[String]) {
        messages.iter().for_each(|message| self.warn(message));
    }

    /// Prints the message of a failure.
    pub fn problem(self, message: &str) {
        eprint(&format!("error: {}\n", lines(message)));
        self.event(&json!({"event": "error", "message": message}));
    }

    /// Prints the message of a failure after which the run can be resumed.
    pub fn kept(self, message: &str, checkpoint: &Path, resume: &str) {
        eprint(&format!("error: {}\n", lines(message)));
        let checkpoint = to_text(checkpoint);
        self.event(&json!({"event": "error", "message": message, "checkpoint": checkpoint, "resume": resume}));
    }

    /// Prints the result of a command that wrote files and has no report, if JSON is requested.
    pub fn wrote(self, files: &[PathBuf]) {
        self.event(&json!({"event": "result", "files": texts(files)}));
    }

    /// Prints a line of JSON, if requested (its schema is docs/report.schema.json).
    pub fn event(self, event: &Value) {
        if self.json {
            let _ = print(&format!("{event}\n"));
        }
    }
}

/// Writes to standard output; a closed pipe (as with `| head`) is not an error.
///
/// # Errors
/// Returns an error if the system refuses to write.
pub fn print(text: &str) -> Result<()> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Error::io("standard output", "write")(error)),
        _ => Ok(()),
    }
}

/// Writes to standard error.
pub fn eprint(text: &str) {
    // If this fails, there is no other place to report it.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Converts paths to text for JSON.
pub fn texts(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| to_text(path)).collect()
}

/// Formats paths for a person, one per line, relative to the current folder.
pub fn list(paths: &[PathBuf]) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let names: Vec<String> = paths.iter().map(|path| shown(path.strip_prefix(&here).unwrap_or(path))).collect();
    names.join("\n  ")
}
