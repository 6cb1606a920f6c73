//! Console output: results go to standard output, everything else to standard error.

use std::io::{ErrorKind, Write, stdout};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use thalweg_core::base::names::{format_lines, format_path, to_text};
use thalweg_core::{Error, Result};

/// The amount and the form of the output.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reporter {
    /// True for no progress and no summary.
    pub quiet: bool,
    /// True for lines of JSON on standard output.
    pub json: bool,
}

impl Reporter {
    /// Prints a line for a person, unless quiet or JSON is set.
    pub fn print_line(self, line: &str) {
        if !self.quiet && !self.json {
            // A failure to print is ignored: a closed output is no reason to end the work.
            let _ = print_to_stdout(&format!("{}\n", format_lines(line)));
        }
    }

    /// Prints a warning, even if quiet is set.
    pub fn warn(self, message: &str) {
        print_to_stderr(&format!("warning: {}\n", format_lines(message)));
        self.print_event(&json!({"event": "warning", "message": message}));
    }

    /// Prints all warnings of a reader or writer.
    pub fn warn_all(self, messages: &[String]) {
        messages.iter().for_each(|message| self.warn(message));
    }

    /// Prints the message of a failure.
    pub fn report_failure(self, message: &str) {
        print_to_stderr(&format!("error: {}\n", format_lines(message)));
        self.print_event(&json!({"event": "error", "message": message}));
    }

    /// Prints the message of a failure after which the run can be resumed.
    pub fn report_saved_run(self, message: &str, checkpoint: &Path, resume: &str) {
        print_to_stderr(&format!("error: {}\n", format_lines(message)));
        let checkpoint = to_text(checkpoint);
        self.print_event(&json!({"event": "error", "message": message, "checkpoint": checkpoint, "resume": resume}));
    }

    /// Prints the result of a command that wrote files and has no report, if JSON is requested.
    pub fn report_files(self, files: &[PathBuf]) {
        self.print_event(&json!({"event": "result", "files": paths_to_text(files)}));
    }

    /// Prints a line of JSON, if requested (its schema is docs/report.schema.json).
    pub fn print_event(self, event: &Value) {
        if self.json {
            let _ = print_to_stdout(&format!("{event}\n"));
        }
    }
}

/// Writes to standard output; a closed pipe (as with `| head`) is not an error.
///
/// # Errors
/// Returns an error if the system refuses to write.
pub fn print_to_stdout(text: &str) -> Result<()> {
    // The lock keeps a line in one piece if several threads print.
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Error::io("standard output", "write")(error)),
        _ => Ok(()),
    }
}

/// Writes to standard error.
pub fn print_to_stderr(text: &str) {
    // If this fails, there is no other place to report it.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Converts paths to text for JSON.
pub fn paths_to_text(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| to_text(path)).collect()
}

/// Formats paths for a person, one per line, relative to the current folder.
pub fn list_paths(paths: &[PathBuf]) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let names: Vec<String> = paths.iter().map(|path| format_path(path.strip_prefix(&here).unwrap_or(path))).collect();
    names.join("\n  ")
}
