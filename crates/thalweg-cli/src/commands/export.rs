//! `export`: writes a terrain as files for another program.

use std::process::ExitCode;
use std::time::Instant;

use serde_json::json;
use thalweg_core::Result;
use thalweg_export::export::{Export, ExportTarget};

use crate::args;
use crate::console::{Voice, list, texts};
use crate::progress::Counting;
use crate::signals::{INTERRUPTED, is_asked, listen};

/// Writes a terrain for a program, and prints how to import it there.
///
/// # Errors
/// Returns an error if the input is unusable or the program does not support it, or if the folder holds another export
/// or cannot be written.
pub fn export(args: &args::Export, voice: Voice) -> Result<ExitCode> {
    let start = Instant::now();
    let (target, options) = (ExportTarget::find(&args.target)?, args.options.clone());
    let mut job = Export::open(&args.input, &args.load.options(), &args.output, target, options)?;
    voice.warn_all(job.warnings());
    listen(voice);
    let mut show = Counting::new(voice);
    while let Some(progress) = job.step()? {
        show.step(progress.doing, progress.tiles);
        let [done, all] = progress.tiles;
        if is_asked() && done < all {
            drop(show);
            voice.say(&format!("stopped after {done} of {all} parts; the same command continues the work"));
            voice.event(&json!({"event": "interrupted", "done": done, "all": all}));
            return Ok(ExitCode::from(INTERRUPTED));
        }
    }
    drop(show);
    let done = job.finish()?;
    voice.warn_all(&done.warnings);
    let [first, .., last] = &done.files[..] else { return Ok(ExitCode::SUCCESS) };
    let some = [first.clone(), last.clone()];
    voice.say(&format!(
        "wrote {} files in {:.1} s, among them\n  {}",
        done.files.len(),
        start.elapsed().as_secs_f64(),
        list(&some)
    ));
    voice.say(&format!("\n{}", done.how));
    voice.event(&json!({"event": "result", "files": texts(&done.files), "export": done.manifest}));
    Ok(ExitCode::SUCCESS)
}
