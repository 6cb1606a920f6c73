//! The loop that steps a run, with progress, Ctrl-C and checkpoints.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::json;
use thalweg_core::base::names::{quoted, to_text};
use thalweg_core::{Error, Result};
use thalweg_sim::run::checkpoint::{Glance, glance};
use thalweg_sim::run::{Run, RunProgress};

use crate::console::Voice;
use crate::job::Job;
use crate::progress::Show;
use crate::signals::{INTERRUPTED, Rescue, ending, hold, is_asked, listen};

/// If a step took longer than this, the next one may too; a copy of the run is then held before it.
const LONG: Duration = Duration::from_millis(250);

/// Steps `run` to its end and writes the results of the job. After Ctrl-C, or if something fails after the first step,
/// it saves the run instead and prints how to resume it.
///
/// # Errors
/// Returns the errors of the run's steps; also if a file cannot be written.
pub fn drive(mut run: Run, mut job: Job, voice: Voice) -> Result<ExitCode> {
    let start = Instant::now();
    listen(voice);
    let mut saved = Instant::now();
    let after = |run: &Run, job: &mut Job, progress: &RunProgress| after_step(job, &mut saved, run, progress, voice);
    match steps(&mut run, &mut job, &mut Show::new(voice, None), |run, job| rescue_of(run, job, voice), after) {
        Ok(true) => {}
        Ok(false) => {
            let _ending = ending();
            let checkpoint = kept(&job, |path| run.save(path, &job.note()))?;
            stopped(&checkpoint, run.steps(), voice);
            return Ok(ExitCode::from(INTERRUPTED));
        }
        Err(error) => return failed(&run, &job, error, voice),
    }
    hold(if has_room(&run) { rescue_of(&run, &job, voice) } else { None });
    match job.finish(&run, start.elapsed().as_secs_f64(), voice) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => failed(&run, &job, error, voice),
    }
}

/// Reports that the run was stopped, and how to resume it.
fn stopped(checkpoint: &Path, [done, all]: [u64; 2], voice: Voice) {
    let resume = resume_line(checkpoint);
    voice.say(&format!("stopped after {done} of {all} steps; continue with: {resume}"));
    voice.event(&json!({"event": "interrupted", "checkpoint": to_text(checkpoint), "resume": resume}));
}

/// Returns a function that saves the run in its current state, later and from another thread; `None` if there is no
/// memory for a copy.
fn rescue_of(run: &Run, job: &Job, voice: Voice) -> Option<Rescue> {
    let (snapshot, job) = (run.snapshot()?, job.clone());
    Some(Box::new(move || match kept(&job, |path| snapshot.save(path, &job.note())) {
        Ok(checkpoint) => {
            stopped(&checkpoint, snapshot.steps(), voice);
            true
        }
        Err(error) => {
            // The step continues; perhaps the run can be saved after it.
            voice.warn(&format!("no checkpoint: {error}"));
            false
        }
    }))
}

/// After a failure, saves the run, unless no step has been taken, and reports how to resume it.
fn failed(run: &Run, job: &Job, error: Error, voice: Voice) -> Result<ExitCode> {
    let [done, all] = run.steps();
    if done == 0 {
        return Err(error);
    }
    let _ending = ending();
    let (checkpoint, far) = match kept(job, |path| run.save(path, &job.note())) {
        Ok(checkpoint) => (checkpoint, format!("{done} of {all} steps")),
        Err(also) => match glance(&job.checkpoint) {
            Ok(Glance { steps: [done, all], .. }) => (job.checkpoint.clone(), format!("{done} of {all} steps")),
            _ => {
                voice.problem(&format!("{error}; the run is lost, because no checkpoint could be written: {also}"));
                return Ok(ExitCode::FAILURE);
            }
        },
    };
    let resume = resume_line(&checkpoint);
    let message = format!("{error}; the run was saved after {far}: solve the problem, and continue with: {resume}");
    voice.kept(&message, &checkpoint, &resume);
    Ok(ExitCode::FAILURE)
}

/// Saves a run to its checkpoint; if that fails, to the system's temporary folder or the current folder. Returns the
/// path.
fn kept(job: &Job, save: impl Fn(&Path) -> Result<()>) -> Result<PathBuf> {
    save(&job.checkpoint).map(|()| job.checkpoint.clone()).or_else(|error| {
        let folders = [Some(std::env::temp_dir()), std::env::current_dir().ok()].into_iter().flatten();
        let name = |n: u32| format!("thalweg-{}-{n}.checkpoint", std::process::id());
        let free = |folder: PathBuf| (0..100).map(|n| folder.join(name(n))).find(|path| !path.exists());
        let mut others = folders.filter_map(free);
        others.find(|path| save(path).is_ok()).ok_or(error)
    })
}

fn resume_line(checkpoint: &Path) -> String {
    format!("thalweg resume {}", quoted(checkpoint))
}

/// Returns true if a copy of the run fits into memory next to it, with space to spare.
fn has_room(run: &Run) -> bool {
    let need = run.recipe().memory(&run.terrain().grid).saturating_add(run.bytes());
    thalweg_core::base::memory::check_memory("a copy of the run", need).is_ok()
}

/// Steps `run` to its end, and calls `after` after each step. Returns true if all steps were taken, false after
/// Ctrl-C. Before a step that may take long, `rescue` makes the function that is called if Ctrl-C comes during the
/// step.
///
/// # Errors
/// Returns the errors of the run's steps.
pub fn steps<T>(
    run: &mut Run,
    with: &mut T,
    show: &mut Show,
    rescue: impl Fn(&Run, &T) -> Option<Rescue>,
    mut after: impl FnMut(&Run, &mut T, &RunProgress),
) -> Result<bool> {
    let mut last: Option<(usize, Duration)> = None;
    loop {
        // The duration of a stage's first step is unknown.
        let may_last = last.is_none_or(|(turn, time)| turn != run.position().0 || time > LONG);
        hold(if may_last && has_room(run) { rescue(run, with) } else { None });
        let start = Instant::now();
        let Some(progress) = run.step()? else { break };
        last = Some((progress.turn, start.elapsed()));
        show.step(&progress, run);
        after(run, with, &progress);
        if run.is_done() {
            break;
        }
        if is_asked() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Draws the frame, saves the state and writes the checkpoint that are due after a step. If one of them fails, the run
/// continues.
fn after_step(job: &mut Job, saved: &mut Instant, run: &Run, progress: &RunProgress, voice: Voice) {
    if let Some(Err(error)) = job.frames.as_mut().map(|frames| frames.step(run, progress)) {
        voice.warn(&format!("no frame: {error}"));
    }
    if let Some(Err(error)) = job.states.as_mut().map(|states| states.step(run, progress)) {
        voice.warn(&format!("no state: {error}"));
    }
    let is_due = job.every.is_some_and(|every| saved.elapsed().as_secs_f64() >= every);
    if is_due && !run.is_done() {
        if let Err(error) = run.save(&job.checkpoint, &job.note()) {
            // The run itself is intact, so it is better to continue without a checkpoint than to lose it.
            voice.warn(&format!("no checkpoint: {error}"));
        }
        *saved = Instant::now();
    }
}
