//! `resume`: continues a run from its checkpoint.

use std::process::ExitCode;

use thalweg_core::{Error, Result};
use thalweg_sim::run::Run;

use crate::args::ResumeArgs;
use crate::console::Reporter;
use crate::drive::complete_run;
use crate::job::{RunJob, lock_folder};
use thalweg_io::output::absolute_path;

/// Continues a run and ends it as the command that started it would have.
///
/// # Errors
/// Returns an error if the checkpoint is unusable, or if the results cannot be written.
pub fn resume_run(args: &ResumeArgs, voice: Reporter) -> Result<ExitCode> {
    let path = &args.checkpoint;
    let (run, note) = Run::resume(path)?;
    let problem = "is a checkpoint of another program: it does not name the outputs of the run; continue it there";
    let foreign = |_| Error::invalid_file(path, problem);
    let mut job: RunJob = serde_json::from_value(note).map_err(foreign)?;
    // The checkpoint may have been moved since it was written.
    job.checkpoint = absolute_path(path)?;
    // Files and folders may have changed since the run was stopped, so all checks are repeated.
    job.check_distinct_outputs(run.recipe(), &[])?;
    job.check_outputs(run.recipe())?;
    let _lock = job.ending.world_folder().map(|folder| lock_folder(folder, voice)).transpose()?;
    complete_run(run, job, voice)
}
