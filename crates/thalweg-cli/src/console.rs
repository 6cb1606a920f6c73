//! What the command says, and where: results on standard output, everything else on standard error.

use std::io::{ErrorKind, Write, stdout};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use thalweg_core::base::names::{lines, shown, to_text};
use thalweg_core::{Error, Result};

/// How much is said, and whether as JSON.
#[derive(Debug, Clone, Copy, Default)]
pub struct Voice {
    /// No progress and no summary.
    pub quiet: bool,
    /// Lines of JSON on standard output.
    pub json: bool,
}

impl Voice {
    /// A line for a person.
    pub fn say(self, line: &str) {
        if !self.quiet && !self.json {
            // Nobody may be listening; that is no reason to end.
            let _ = print(&format!("{}\n", lines(line)));
        }
    }

    /// A warning; said even when quiet.
    pub fn warn(self, message: &str) {
        eprint(&format!("warning: {}\n", lines(message)));
        self.event(&json!({"event": "warning", "message": message}));
    }

    /// All that a reader or a writer had to say.
    pub fn warn_all(self, messages: &[String]) {
        messages.iter().for_each(|message| self.warn(message));
    }

    /// The one message of a failure.
    pub fn problem(self, message: &str) {
        eprint(&format!("error: {}\n", lines(message)));
        self.event(&json!({"event": "error", "message": message}));
    }

    /// The one message of a failure after which a run can go on.
    pub fn kept(self, message: &str, checkpoint: &Path, resume: &str) {
        eprint(&format!("error: {}\n", lines(message)));
        let checkpoint = to_text(checkpoint);
        self.event(&json!({"event": "error", "message": message, "checkpoint": checkpoint, "resume": resume}));
    }

    /// A line of JSON, if that is wanted (its schema is docs/report.schema.json).
    pub fn event(self, event: &Value) {
        if self.json {
            let _ = print(&format!("{event}\n"));
        }
    }
}

/// Writes to standard output; a reader that has gone (`| head`) is no error.
///
/// # Errors
/// When the system does not take it.
pub fn print(text: &str) -> Result<()> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Error::io("standard output", "write")(error)),
        _ => Ok(()),
    }
}

/// Writes to standard error.
pub fn eprint(text: &str) {
    // There is nowhere left to complain to.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Paths as JSON holds them.
pub fn texts(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| to_text(path)).collect()
}

/// Paths for a person, a line each, as seen from the current folder.
pub fn list(paths: &[PathBuf]) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let names: Vec<String> = paths.iter().map(|path| shown(path.strip_prefix(&here).unwrap_or(path))).collect();
    names.join("\n  ")
}
