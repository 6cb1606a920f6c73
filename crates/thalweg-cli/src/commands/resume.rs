//! `resume`: continues a run from its checkpoint.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use thalweg_core::{Error, Result};
use thalweg_io::output::absolute_path;
use thalweg_sim::run::Run;

use crate::console::Reporter;
use crate::drive::complete_run;
use crate::job::{RunJob, lock_folder};
use crate::verb::{Group, Verb};

/// The arguments of `resume`.
#[derive(Args)]
pub struct ResumeArgs {
    /// The checkpoint file that an interrupted run wrote.
    checkpoint: PathBuf,
}

impl Verb for ResumeArgs {
    const NAME: &'static str = "resume";
    const GROUP: Group = Group::Make;
    const ABOUT: &'static str = "Continues an interrupted run from its checkpoint file";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        let path = &self.checkpoint;
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
}
