//! [`Job`]: the purpose of a run. It is stored in the checkpoint, so that `resume` ends the run as the first command
//! would have.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thalweg_core::base::names;
use thalweg_core::{Error, Result};
use thalweg_export::world_folder::{Ending, Frames, Lock, States};
use thalweg_io::SampleType;
use thalweg_io::apart::apart;
use thalweg_io::output::{self, absolute};
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;
use thalweg_sim::run::checkpoint::{Glance, glance, is_checkpoint};

use crate::args::RunArgs;
use crate::args::values::Sample;
use crate::console::{Voice, list, texts};
use crate::signals::{ending, naming};

/// A run's results, report and checkpoint. All paths are absolute, so that the run can be resumed from any folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
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

impl Job {
    /// Makes the job of a command, which reads `reads` in addition to the files of its recipe. Problems are reported
    /// here, before the work: outputs that cannot be written, that are also inputs or that are written twice, and a
    /// checkpoint of an interrupted run that this one would replace.
    ///
    /// # Errors
    /// Returns an error if a folder is missing or not writable, if an extension is not a known format, or if frames
    /// are requested of a stage that does not exist.
    pub fn new(ending: Ending, args: &RunArgs, recipe: &Recipe, reads: &[PathBuf]) -> Result<Self> {
        let states = args.states.of(&ending, recipe).map_err(as_typed)?;
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
            ending: ending.absolute()?,
            report: args.report.as_deref().map(absolute).transpose()?,
            checkpoint: absolute(args.checkpoint.as_deref().unwrap_or(&by_itself))?,
            keep: named,
            every: args.every.or(named.then_some(300.0)),
            frames: args.frames.options().map(|options| Frames::new(options, recipe)).transpose()?,
            states,
            units_overridden: Vec::new(),
            reads: reads.iter().map(|path| Ok(names::to_text(&absolute(path)?))).collect::<Result<_>>()?,
        };
        job.check_apart(recipe, reads)?;
        job.check(recipe)?;
        pending(&job.checkpoint, args.fresh)?;
        Ok(job)
    }

    /// Checks that everything that will be written can be.
    ///
    /// # Errors
    /// Returns the errors of [`Job::new`].
    pub fn check(&self, recipe: &Recipe) -> Result<()> {
        self.ending.check(recipe).map_err(as_typed)?;
        self.frames.as_ref().map_or(Ok(()), |frames| frames.check(recipe))?;
        self.states.as_ref().map_or(Ok(()), |states| states.check(recipe))?;
        self.report.as_deref().map_or(Ok(()), output::check)?;
        output::check(&self.checkpoint)
    }

    /// Checks that no output is also an input, of the recipe or in addition to it, or another output.
    ///
    /// # Errors
    /// Returns an error that names the file.
    pub fn check_apart(&self, recipe: &Recipe, reads: &[PathBuf]) -> Result<()> {
        let mut reads = [reads, &recipe.reads()].concat();
        // A preset's elevation model is not read from there, but written there.
        reads.retain(|path| Some(path) != self.ending.lays().as_ref());
        if let Some(frames) = &self.frames
            && let Some(frame) = reads.iter().find(|path| frames.may_be(path))
        {
            let problem = "is an input, and a frame of that name would replace it; choose another folder with --frames";
            return Err(Error::file(frame, problem));
        }
        if let Some(states) = &self.states
            && let Some(state) = reads.iter().find(|path| states.may_be(path))
        {
            let problem = "is an input, and a state of that name would replace it; choose another folder with --states";
            return Err(Error::file(state, problem));
        }
        let mut writes = self.ending.writes(recipe)?;
        writes.extend(self.frames.as_ref().and_then(|frames| frames.animation().map(Path::to_path_buf)));
        writes.extend(self.report.clone());
        writes.push(self.checkpoint.clone());
        apart(&reads, &writes)
    }

    /// The form in which it is stored in a checkpoint.
    pub fn note(&self) -> Value {
        json!(self)
    }

    /// Writes the results and the report: all together, or nothing.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub fn finish(&self, run: &Run, seconds: f64, voice: Voice) -> Result<()> {
        let mut draft = self.ending.draft(run, self.frames.as_ref(), self.report.as_deref())?;
        voice.warn_all(draft.warnings());
        if !self.units_overridden.is_empty() {
            draft.report["units_overridden"] = json!(self.units_overridden);
        }
        draft.report["seconds"] = seconds.into();
        draft.report["threads"] = rayon::current_num_threads().into();
        draft.seal()?;
        // From here on the run counts as done, regardless of signals.
        let _ending = ending();
        let mut naming = naming();
        let files = draft.files();
        let reads = self.reads.iter().map(|text| names::from_text(text));
        let report = draft.commit(&run.recipe().reads().into_iter().chain(reads).collect::<Vec<_>>())?;
        *naming = true;
        if self.keep {
            // The checkpoint contains the finished run, so that it is not taken for an interrupted one.
            if let Err(error) = run.save(&self.checkpoint, &self.note()) {
                voice.warn(&format!("the checkpoint is that of an earlier step: {error}"));
            }
        } else if is_checkpoint(&self.checkpoint)
            && let Err(error) = std::fs::remove_file(&self.checkpoint)
        {
            voice.warn(&Error::io(&self.checkpoint, "remove")(error).to_string());
        }
        voice.say(&format!("wrote in {seconds:.1} s:\n  {}", list(&files)));
        if let Some((folder, count)) = self.states.as_ref().map(States::kept) {
            voice.say(&format!("kept {count} states in {}", names::shown(folder)));
        }
        voice.event(&json!({"event": "result", "files": texts(&files), "report": report}));
        Ok(())
    }
}

/// Refuses to start if an interrupted run has left its checkpoint here; with `fresh` that checkpoint is deleted. The
/// checkpoint of a finished run is no obstacle.
fn pending(path: &Path, fresh: bool) -> Result<()> {
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    if !is_checkpoint(path) {
        return Err(Error::file(path, "is not a checkpoint and will not be overwritten; choose another --checkpoint"));
    }
    let far = match glance(path) {
        Ok(Glance { steps: [done, all], .. }) if done >= all => return Ok(()),
        _ if fresh => return std::fs::remove_file(path).map_err(Error::io(path, "remove")),
        Ok(Glance { name, seed, steps: [done, all] }) => {
            format!("the checkpoint of a run of {name}, seed {seed}, that stopped after {done} of {all} steps")
        }
        Err(_) => "a damaged checkpoint".to_string(),
    };
    let resume = names::quoted(path);
    let ways =
        format!("continue it with `thalweg resume {resume}`, discard it with --fresh, or write elsewhere with -o");
    Err(Error::file(path, format!("is {far}; {ways}")))
}

/// Locks a world's folder for this process until the lock is dropped.
///
/// # Errors
/// Returns an error if another process is building there.
pub fn locked(folder: &Path, voice: Voice) -> Result<Lock> {
    let lock = Lock::take(folder)?;
    lock.warning.iter().for_each(|warning| voice.warn(warning));
    Ok(lock)
}

/// Rewrites an error of the library in terms of the command's options: `sample type` is `--type`, `states` is
/// `--save-every`.
pub fn as_typed(error: Error) -> Error {
    let options = [("sample type", "--type"), ("for", "--for"), ("states", "--save-every")];
    let typed = |name: String| match name.split_once(" = ") {
        Some((name, value)) if let Some((_, option)) = options.iter().find(|(of, _)| *of == name) => {
            format!("{option} = {value}")
        }
        None if let Some((_, option)) = options.iter().find(|(of, _)| *of == name) => (*option).to_string(),
        _ => name,
    };
    match error {
        Error::Value { name, value, allowed } => Error::Value { name: typed(name), value, allowed },
        Error::Conflict { setting, problem } => Error::Conflict { setting: typed(setting), problem },
        Error::Unsupported { subject, problem } => Error::Unsupported { subject: typed(subject), problem },
        other => other,
    }
}

/// Converts a sample type of the command line to the library's.
pub fn sample_type(sample: Sample) -> SampleType {
    match sample {
        Sample::F32 => SampleType::F32,
        Sample::F64 => SampleType::F64,
    }
}
