//! `resume`: continues a run from its checkpoint.

use std::process::ExitCode;

use thalweg_core::{Error, Result};
use thalweg_sim::run::Run;

use crate::args::Resume;
use crate::console::Voice;
use crate::drive::drive;
use crate::job::{Job, locked};
use thalweg_io::output::absolute;

/// Continues a run and ends it as the command that started it would have.
///
/// # Errors
/// Returns an error if the checkpoint is unusable, or if the results cannot be written.
pub fn resume(args: &Resume, voice: Voice) -> Result<ExitCode> {
    let path = &args.checkpoint;
    let (run, note) = Run::resume(path)?;
    let foreign = |_| Error::file(path, "is a checkpoint of another program: it does not state the outputs of the run");
    let mut job: Job = serde_json::from_value(note).map_err(foreign)?;
    // The checkpoint may have been moved since it was written.
    job.checkpoint = absolute(path)?;
    job.check_apart(run.recipe(), &[])?;
    job.check(run.recipe())?;
    let _lock = job.ending.world().map(|folder| locked(folder, voice)).transpose()?;
    drive(run, job, voice)
}
