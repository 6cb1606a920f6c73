//! [`RunJob`]: the purpose of a run. It is stored in the checkpoint, so that `resume` ends the run as the first command
//! would have.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thalweg_core::base::names;
use thalweg_core::{Error, Result};
use thalweg_export::world_folder::{Ending, FolderLock, Frames, States};
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::output::{self, absolute_path};
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;
use thalweg_sim::run::checkpoint::{CheckpointSummary, is_checkpoint, read_summary};

use crate::args::RunArgs;
use crate::args::declared::rename_setting;
use crate::console::{Reporter, list_paths, paths_to_text};
use crate::signals::{claim_ending, lock_renaming};

/// A run's results, report and checkpoint. All paths are absolute, so that the run can be resumed from any folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunJob {
    /// The files to write at the end of the run.
    pub ending: Ending,
    /// The file of the report (a world's folder has one of its own in addition).
    #[serde(with = "names::path_option")]
    pub report: Option<PathBuf>,
    /// The file of the checkpoint.
    #[serde(with = "names::path")]
    pub checkpoint: PathBuf,
    /// True if the user named the checkpoint; otherwise it is deleted when the run is done.
    pub keep: bool,
    /// The time between two checkpoints in seconds; `None` if there is only the one after Ctrl-C.
    pub every: Option<f64>,
    /// Pictures that are drawn during the run.
    pub frames: Option<Frames>,
    /// Heights that are saved during the run.
    pub states: Option<States>,
    /// The units that the elevation model states and that were overridden.
    pub units_overridden: Vec<String>,
    /// The files that the command has read in addition to those that the recipe refers to, as text; they must not be
    /// overwritten.
    pub reads: Vec<String>,
}

impl RunJob {
    /// Makes the job of a command, which reads `reads` in addition to the files of its recipe. Problems are reported
    /// here, before the work: outputs that cannot be written, that are also inputs or that are written twice, and a
    /// checkpoint of an interrupted run that this one would replace.
    ///
    /// # Errors
    /// Returns an error if a folder is missing or not writable, if an extension is not a known format, or if frames
    /// are requested of a stage that does not exist.
    pub fn new(ending: Ending, args: &RunArgs, recipe: &Recipe, reads: &[PathBuf]) -> Result<Self> {
        let states = args.states.to_states(&ending, recipe).map_err(as_typed)?;
        // Without a name, the checkpoint is next to the output: in a world's folder, or with the file's name plus
        // `.checkpoint`.
        let by_itself = match &ending {
            Ending::World { dir, .. } => dir.join("checkpoint.thalweg"),
            Ending::File { output, .. } => {
                let mut name = output.clone().into_os_string();
                name.push(".checkpoint");
                name.into()
            }
        };
        let named = args.checkpoint.is_some();
        let job = Self {
            ending: ending.with_absolute_paths()?,
            report: args.report.as_deref().map(absolute_path).transpose()?,
            checkpoint: absolute_path(args.checkpoint.as_deref().unwrap_or(&by_itself))?,
            keep: named,
            // A checkpoint with a name is also written during the run, by default every five minutes.
            every: args.every.or(named.then_some(300.0)),
            frames: args.frames.to_frames_options().map(|options| Frames::new(options, recipe)).transpose()?,
            states,
            units_overridden: Vec::new(),
            reads: reads.iter().map(|path| Ok(names::to_text(&absolute_path(path)?))).collect::<Result<_>>()?,
        };
        job.check_distinct_outputs(recipe, reads)?;
        job.check_outputs(recipe)?;
        check_pending_run(&job.checkpoint, args.fresh)?;
        Ok(job)
    }

    /// Checks that everything that will be written can be.
    ///
    /// # Errors
    /// Returns the errors of [`RunJob::new`].
    pub fn check_outputs(&self, recipe: &Recipe) -> Result<()> {
        self.ending.check(recipe).map_err(as_typed)?;
        self.frames.as_ref().map_or(Ok(()), |frames| frames.check(recipe))?;
        self.states.as_ref().map_or(Ok(()), |states| states.check(recipe))?;
        self.report.as_deref().map_or(Ok(()), output::check_writable)?;
        output::check_writable(&self.checkpoint)
    }

    /// Checks that no output is also an input, of the recipe or in addition to it, or another output.
    ///
    /// # Errors
    /// Returns an error that names the file.
    pub fn check_distinct_outputs(&self, recipe: &Recipe, reads: &[PathBuf]) -> Result<()> {
        let mut reads = [reads, &recipe.list_input_files()].concat();
        // A preset's elevation model is not read from there, but written there.
        reads.retain(|path| Some(path) != self.ending.dem_path().as_ref());
        if let Some(frames) = &self.frames
            && let Some(frame) = reads.iter().find(|path| frames.may_be(path))
        {
            let problem = "is an input, and a frame of that name would replace it; choose another folder with --frames";
            return Err(Error::invalid_file(frame, problem));
        }
        if let Some(states) = &self.states
            && let Some(state) = reads.iter().find(|path| states.may_be(path))
        {
            let problem = "is an input, and a state of that name would replace it; choose another folder with --states";
            return Err(Error::invalid_file(state, problem));
        }
        let mut writes = self.ending.output_files(recipe)?;
        writes.extend(self.frames.as_ref().and_then(|frames| frames.animation().map(Path::to_path_buf)));
        writes.extend(self.report.clone());
        writes.push(self.checkpoint.clone());
        check_distinct_files(&reads, &writes)
    }

    /// The form in which it is stored in a checkpoint.
    pub fn to_json(&self) -> Value {
        json!(self)
    }

    /// Writes the results and the report: all together, or nothing.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub fn finish(&self, run: &Run, seconds: f64, voice: Reporter) -> Result<()> {
        let mut draft = self.ending.write_draft(run, self.frames.as_ref(), self.report.as_deref())?;
        voice.warn_all(draft.warnings());
        if !self.units_overridden.is_empty() {
            draft.report["units_overridden"] = json!(self.units_overridden);
        }
        draft.report["seconds"] = seconds.into();
        draft.report["threads"] = rayon::current_num_threads().into();
        draft.write_reports()?;
        // From here on the run counts as done, regardless of signals.
        let _ending = claim_ending();
        // The report is complete and all files are written under temporary names; the rest only renames them.
        let mut naming = lock_renaming();
        let files = draft.final_paths();
        let reads = self.reads.iter().map(|text| names::from_text(text));
        let report = draft.commit(&run.recipe().list_input_files().into_iter().chain(reads).collect::<Vec<_>>())?;
        *naming = true;
        if self.keep {
            // The checkpoint contains the finished run, so that it is not taken for an interrupted one.
            if let Err(error) = run.save(&self.checkpoint, &self.to_json()) {
                let problem = "the final checkpoint could not be written, so the existing one is of an earlier step";
                voice.warn(&format!("{problem}: {error}"));
            }
        } else if is_checkpoint(&self.checkpoint)
            && let Err(error) = std::fs::remove_file(&self.checkpoint)
        {
            voice.warn(&Error::io(&self.checkpoint, "remove")(error).to_string());
        }
        voice.print_line(&format!("wrote in {seconds:.1} s:\n  {}", list_paths(&files)));
        if let Some((folder, count)) = self.states.as_ref().map(States::folder_and_count) {
            voice.print_line(&format!("kept {count} states in {}", names::format_path(folder)));
        }
        voice.print_event(&json!({"event": "result", "files": paths_to_text(&files), "report": report}));
        Ok(())
    }
}

/// Refuses to start if an interrupted run has left its checkpoint here; with `fresh` that checkpoint is deleted. The
/// checkpoint of a finished run is no obstacle.
fn check_pending_run(path: &Path, fresh: bool) -> Result<()> {
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    if !is_checkpoint(path) {
        return Err(Error::invalid_file(
            path,
            "is not a checkpoint and will not be overwritten; choose another file with --checkpoint",
        ));
    }
    // A finished run needs no protection. An unfinished one is only deleted if the user asks for it with `--fresh`.
    let resume = names::quote_for_shell(path);
    let problem = match read_summary(path) {
        Ok(CheckpointSummary { steps: [done, all], .. }) if done >= all => return Ok(()),
        _ if fresh => return std::fs::remove_file(path).map_err(Error::io(path, "remove")),
        Ok(CheckpointSummary { name, seed, steps: [done, all] }) => {
            let far = format!("a run of {name}, seed {seed}, that stopped after {done} of {all} steps");
            let ways = format!("continue it with `thalweg resume {resume}`, discard it with --fresh");
            format!("is the checkpoint of {far}; {ways}, or write elsewhere with -o")
        }
        Err(_) => "is a damaged checkpoint; discard it with --fresh, or write elsewhere with -o".to_string(),
    };
    Err(Error::invalid_file(path, problem))
}

/// Locks a world's folder for this process until the lock is dropped.
///
/// # Errors
/// Returns an error if another process is building there.
pub fn lock_folder(folder: &Path, voice: Reporter) -> Result<FolderLock> {
    let lock = FolderLock::acquire(folder)?;
    lock.warning.iter().for_each(|warning| voice.warn(warning));
    Ok(lock)
}

/// Replaces the names of settings of a run in an error by the flags: `sample type` is `--type`, `states` is
/// `--save-every`.
pub fn as_typed(error: Error) -> Error {
    rename_setting(error, |name| match name {
        "sample type" => Some("--type".to_string()),
        "states" => Some("--save-every".to_string()),
        _ => None,
    })
}
