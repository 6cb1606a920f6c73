//! [`Job`]: what a run is for. It travels in the checkpoint, so that `resume` ends as the first command would have.

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

/// A run's ending, report and checkpoint. All paths are absolute, so that it may be resumed from any folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// What becomes of the terrain.
    pub ending: Ending,
    /// Where the report goes (a world has one of its own besides).
    #[serde(with = "names::path_option")]
    pub report: Option<PathBuf>,
    /// Where the run is saved.
    #[serde(with = "names::path")]
    pub checkpoint: PathBuf,
    /// Whether the user named the checkpoint; if not, it goes when the run is done.
    pub keep: bool,
    /// Seconds between two checkpoints, if there are any but the one after Ctrl-C.
    pub every: Option<f64>,
    /// Pictures drawn under way.
    pub frames: Option<Frames>,
    /// Heights kept under way.
    pub states: Option<States>,
    /// What the elevation model says of its units that was overridden.
    pub units_overridden: Vec<String>,
    /// What the command has read besides what the recipe names, as text: it stays, wherever it lies.
    pub reads: Vec<String>,
}

impl Job {
    /// The job of a command, which reads `reads` besides what its recipe names; refused here, before the work, if something
    /// cannot be written, is read or written otherwise, or if a run was interrupted whose checkpoint this one would replace.
    ///
    /// # Errors
    /// When a folder is missing or may not be written, an ending names no format, or frames are wanted of no stage.
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
        pending(&job.checkpoint, args.fresh, job.ending.world().is_some())?;
        Ok(job)
    }

    /// Whether all that will be written can be.
    ///
    /// # Errors
    /// As [`Job::new`].
    pub fn check(&self, recipe: &Recipe) -> Result<()> {
        self.ending.check(recipe).map_err(as_typed)?;
        self.frames.as_ref().map_or(Ok(()), |frames| frames.check(recipe))?;
        self.states.as_ref().map_or(Ok(()), |states| states.check(recipe))?;
        self.report.as_deref().map_or(Ok(()), output::check)?;
        output::check(&self.checkpoint)
    }

    /// Whether nothing is written that is read, by the recipe or besides, or written otherwise.
    ///
    /// # Errors
    /// When something is.
    pub fn check_apart(&self, recipe: &Recipe, reads: &[PathBuf]) -> Result<()> {
        let mut reads = [reads, &recipe.reads()].concat();
        // A preset's elevation model is not read from there, but laid there.
        reads.retain(|path| Some(path) != self.ending.lays().as_ref());
        if let Some(frames) = &self.frames
            && let Some(frame) = reads.iter().find(|path| frames.may_be(path))
        {
            let problem = "is read, and a frame of that name would replace it; name another --frames";
            return Err(Error::file(frame, problem));
        }
        if let Some(states) = &self.states
            && let Some(state) = reads.iter().find(|path| states.may_be(path))
        {
            let problem = "is read, and a state of that name would replace it; name another --states";
            return Err(Error::file(state, problem));
        }
        let mut writes = self.ending.writes(recipe)?;
        writes.extend(self.frames.as_ref().and_then(|frames| frames.animation().map(Path::to_path_buf)));
        writes.extend(self.report.clone());
        writes.push(self.checkpoint.clone());
        apart(&reads, &writes)
    }

    /// As it stands in a checkpoint.
    pub fn note(&self) -> Value {
        json!(self)
    }

    /// Writes what the run was for, and the report: all together, or nothing.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(&self, run: &Run, seconds: f64, voice: Voice) -> Result<()> {
        let mut draft = self.ending.draft(run, self.frames.as_ref(), self.report.as_deref())?;
        voice.warn_all(draft.warnings());
        if !self.units_overridden.is_empty() {
            draft.report["units_overridden"] = json!(self.units_overridden);
        }
        draft.report["seconds"] = seconds.into();
        draft.report["threads"] = rayon::current_num_threads().into();
        draft.seal()?;
        // From here on the run is done, whoever calls, and however often.
        let _ending = ending();
        let mut naming = naming();
        let files = draft.files();
        let reads = self.reads.iter().map(|text| names::from_text(text));
        let report = draft.commit(&run.recipe().reads().into_iter().chain(reads).collect::<Vec<_>>())?;
        *naming = true;
        if self.keep {
            // It holds the finished run: nobody takes it for one that waits.
            if let Err(error) = run.save(&self.checkpoint, &self.note()) {
                voice.warn(&format!("the checkpoint is of an earlier step: {error}"));
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

/// Refuses to begin where an interrupted run has left its checkpoint; a `fresh` run gives it up. One that a finished run was asked
/// to leave is no hindrance.
fn pending(path: &Path, fresh: bool, is_world: bool) -> Result<()> {
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    if !is_checkpoint(path) {
        return Err(Error::file(path, "is no checkpoint, and will not be made one; name another --checkpoint"));
    }
    let far = match glance(path) {
        Ok(Glance { steps: [done, all], .. }) if done >= all => return Ok(()),
        _ if fresh => return std::fs::remove_file(path).map_err(Error::io(path, "remove")),
        Ok(Glance { name, seed, steps: [done, all] }) => {
            format!("the checkpoint of a run of {name}, seed {seed}, that stopped after {done} of {all} steps")
        }
        Err(_) => "a checkpoint, but a damaged one".to_string(),
    };
    let other = if is_world { "--out" } else { "-o" };
    let resume = names::quoted(path);
    let ways =
        format!("go on with `thalweg resume {resume}`, give it up with --fresh, or write elsewhere with {other}");
    Err(Error::file(path, format!("is {far}; {ways}")))
}

/// Takes a world's folder for this process, until the lock is dropped.
///
/// # Errors
/// When another process builds there.
pub fn locked(folder: &Path, voice: Voice) -> Result<Lock> {
    let lock = Lock::take(folder)?;
    lock.warning.iter().for_each(|warning| voice.warn(warning));
    Ok(lock)
}

/// An error of the library in the words that are typed: its `sample type` is `--type` here, its `states` are `--save-every`.
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

/// The library's name of a type.
pub fn sample_type(sample: Sample) -> SampleType {
    match sample {
        Sample::F32 => SampleType::F32,
        Sample::F64 => SampleType::F64,
    }
}
