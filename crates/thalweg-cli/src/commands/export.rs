//! `export`: writes a terrain as files for another program.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use thalweg_core::Result;
use thalweg_export::export::{Export, ExportOptions, ExportTarget};

use crate::args::LoadArgs;
use crate::args::declared::OperationArgs;
use crate::args::values::target_parser;
use crate::console::{Reporter, list_paths, paths_to_text};
use crate::progress::Counting;
use crate::signals::{INTERRUPTED, install_signal_handler, is_stop_requested};
use crate::verb::{Group, Verb};

/// The arguments of `export`.
#[derive(Args)]
pub struct ExportArgs {
    /// The terrain: a file, or a folder that `build` wrote.
    input: PathBuf,
    /// The program that is to read the files.
    #[arg(long = "for", value_name = "TARGET", value_parser = target_parser())]
    target: String,
    /// The folder to write into.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    options: OperationArgs<ExportOptions>,
    #[command(flatten)]
    load: LoadArgs,
}

impl Verb for ExportArgs {
    const NAME: &'static str = "export";
    const GROUP: Group = Group::Export;
    const ABOUT: &'static str =
        "Writes a terrain as files that a given program can import, and prints the steps of the import";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        let start = Instant::now();
        let (target, options) = (ExportTarget::find(&self.target)?, self.options.clone());
        let job = Export::open(&self.input, &self.load, &self.output, target, options);
        let mut job = job.map_err(|error| self.options.as_typed(error))?;
        voice.warn_all(job.warnings());
        install_signal_handler(voice);
        let mut show = Counting::new(voice);
        while let Some(progress) = job.advance().map_err(|error| self.options.as_typed(error))? {
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
}
