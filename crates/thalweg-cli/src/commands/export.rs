//! `export`: writes a terrain as files for another program.

use std::process::ExitCode;
use std::time::Instant;

use serde_json::json;
use thalweg_core::Result;
use thalweg_export::export::{Export, ExportTarget};

use crate::args;
use crate::console::{Reporter, list_paths, paths_to_text};
use crate::job::rename_options;
use crate::progress::Counting;
use crate::signals::{INTERRUPTED, install_signal_handler, is_stop_requested};

/// The names of values in the messages of the library, and the options that set them.
const OPTIONS: [(&str, &str); 7] = [
    ("tiles", "--tiles"),
    ("edges", "--edges"),
    ("range", "--range"),
    ("layers", "--layers"),
    ("format", "--format"),
    ("origin", "--origin"),
    ("zoom", "--zoom"),
];

/// Writes a terrain for a program, and prints how to import it there.
///
/// # Errors
/// Returns an error if the input is unusable or the program does not support it, or if the folder holds another export
/// or cannot be written.
pub fn export_terrain(args: &args::ExportArgs, voice: Reporter) -> Result<ExitCode> {
    let start = Instant::now();
    let (target, options) = (ExportTarget::find(&args.target)?, args.options.clone());
    let job = Export::open(&args.input, &args.load, &args.output, target, options);
    let mut job = job.map_err(|error| rename_options(error, &OPTIONS))?;
    voice.warn_all(job.warnings());
    install_signal_handler(voice);
    let mut show = Counting::new(voice);
    while let Some(progress) = job.advance()? {
        show.report_count(progress.doing, progress.tiles);
        let [done, all] = progress.tiles;
        // After the last part the export is finished, even if a signal has come.
        if is_stop_requested() && done < all {
            drop(show);
            voice.print_line(&format!("stopped after {done} of {all} parts; the same command continues the work"));
            voice.print_event(&json!({"event": "interrupted", "done": done, "all": all}));
            return Ok(ExitCode::from(INTERRUPTED));
        }
    }
    drop(show);
    let done = job.finish()?;
    voice.warn_all(&done.warnings);
    let [first, .., last] = &done.files[..] else { return Ok(ExitCode::SUCCESS) };
    let some = [first.clone(), last.clone()];
    voice.print_line(&format!(
        "wrote {} files in {:.1} s, among them\n  {}",
        done.files.len(),
        start.elapsed().as_secs_f64(),
        list_paths(&some)
    ));
    voice.print_line(&format!("\n{}", done.how));
    voice.print_event(&json!({"event": "result", "files": paths_to_text(&done.files), "export": done.manifest}));
    Ok(ExitCode::SUCCESS)
}
