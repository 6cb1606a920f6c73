//! The loop that steps a run, with progress, Ctrl-C and checkpoints.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::json;
use thalweg_core::base::names::{quote_for_shell, to_text};
use thalweg_core::{Error, Result};
use thalweg_sim::run::checkpoint::{CheckpointSummary, read_summary};
use thalweg_sim::run::{Run, RunProgress};

use crate::console::Reporter;
use crate::job::RunJob;
use crate::progress::ProgressDisplay;
use crate::signals::{INTERRUPTED, Rescue, claim_ending, install_signal_handler, is_stop_requested, set_rescue};

/// If a step took longer than this, the next one may too; a copy of the run is then kept during it. The value is well
/// below the grace period of a signal, after which that copy is saved.
const LONG_STEP: Duration = Duration::from_millis(250);

/// Steps `run` to its end and writes the results of the job. After Ctrl-C, or if something fails after the first step,
/// it saves the run instead and prints how to resume it.
///
/// # Errors
/// Returns the errors of the run's steps; also if a file cannot be written.
pub fn complete_run(mut run: Run, mut job: RunJob, voice: Reporter) -> Result<ExitCode> {
    let start = Instant::now();
    install_signal_handler(voice);
    let mut saved = Instant::now();
    let after = |run: &Run, job: &mut RunJob, progress: &RunProgress| after_step(job, &mut saved, run, progress, voice);
    match step_to_end(
        &mut run,
        &mut job,
        &mut ProgressDisplay::new(voice, None),
        |run, job| create_rescue(run, job, voice),
        after,
    ) {
        Ok(true) => {}
        Ok(false) => {
            let _ending = claim_ending();
            let checkpoint = save_checkpoint(&job, |path| run.save(path, &job.to_json()))?;
            report_interruption(&checkpoint, run.steps(), voice);
            return Ok(ExitCode::from(INTERRUPTED));
        }
        Err(error) => return save_after_failure(&run, &job, error, voice),
    }
    // Writing the files may take long, so Ctrl-C saves a copy of the finished run meanwhile.
    set_rescue(if has_room(&run) { create_rescue(&run, &job, voice) } else { None });
    match job.finish(&run, start.elapsed().as_secs_f64(), voice) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => save_after_failure(&run, &job, error, voice),
    }
}

/// Reports that the run was stopped, and how to resume it.
fn report_interruption(checkpoint: &Path, [done, all]: [u64; 2], voice: Reporter) {
    let resume = resume_line(checkpoint);
    voice.print_line(&format!("stopped after {done} of {all} steps; continue with: {resume}"));
    voice.print_event(&json!({"event": "interrupted", "checkpoint": to_text(checkpoint), "resume": resume}));
}

/// Returns a function that saves the run in its current state, later and from another thread; `None` if there is no
/// memory for a copy.
fn create_rescue(run: &Run, job: &RunJob, voice: Reporter) -> Option<Rescue> {
    let (snapshot, job) = (run.snapshot()?, job.clone());
    Some(Box::new(move || match save_checkpoint(&job, |path| snapshot.save(path, &job.to_json())) {
        Ok(checkpoint) => {
            report_interruption(&checkpoint, snapshot.steps(), voice);
            true
        }
        Err(error) => {
            // The step continues; perhaps the run can be saved after it.
            voice.warn(&format!("the checkpoint could not be written, so the current step is continued: {error}"));
            false
        }
    }))
}

/// After a failure, saves the run, unless no step has been taken, and reports how to resume it.
fn save_after_failure(run: &Run, job: &RunJob, error: Error, voice: Reporter) -> Result<ExitCode> {
    let [done, all] = run.steps();
    if done == 0 {
        return Err(error);
    }
    let _ending = claim_ending();
    let (checkpoint, far) = match save_checkpoint(job, |path| run.save(path, &job.to_json())) {
        Ok(checkpoint) => (checkpoint, format!("{done} of {all} steps")),
        // An earlier checkpoint of this run may still exist, with fewer steps done.
        Err(also) => match read_summary(&job.checkpoint) {
            Ok(CheckpointSummary { steps: [done, all], .. }) => {
                (job.checkpoint.clone(), format!("{done} of {all} steps"))
            }
            _ => {
                voice.report_failure(&format!(
                    "{error}; the run is lost, because no checkpoint could be written: {also}"
                ));
                return Ok(ExitCode::FAILURE);
            }
        },
    };
    let resume = resume_line(&checkpoint);
    let message = format!("{error}; the run was saved after {far}: solve the problem, then continue with: {resume}");
    voice.report_saved_run(&message, &checkpoint, &resume);
    Ok(ExitCode::FAILURE)
}

/// Saves a run to its checkpoint; if that fails, to the system's temporary folder or the current folder. Returns the
/// path.
fn save_checkpoint(job: &RunJob, save: impl Fn(&Path) -> Result<()>) -> Result<PathBuf> {
    save(&job.checkpoint).map(|()| job.checkpoint.clone()).or_else(|error| {
        // The disk of the checkpoint may be full or gone, while that of another folder is not.
        let folders = [Some(std::env::temp_dir()), std::env::current_dir().ok()].into_iter().flatten();
        let name = |n: u32| format!("thalweg-{}-{n}.checkpoint", std::process::id());
        let free = |folder: PathBuf| (0..100).map(|n| folder.join(name(n))).find(|path| !path.exists());
        let mut others = folders.filter_map(free);
        others.find(|path| save(path).is_ok()).ok_or(error)
    })
}

fn resume_line(checkpoint: &Path) -> String {
    format!("thalweg resume {}", quote_for_shell(checkpoint))
}

/// Returns true if a copy of the run fits into memory next to it, with space to spare.
fn has_room(run: &Run) -> bool {
    let need = run.recipe().estimate_memory(&run.terrain().grid).saturating_add(run.bytes());
    thalweg_core::base::memory::check_memory("a copy of the run", need).is_ok()
}

/// Steps `run` to its end, and calls `after` after each step. Returns true if all steps were taken, false after
/// Ctrl-C. Before a step that may take long, `rescue` makes the function that is called if Ctrl-C comes during the
/// step.
///
/// # Errors
/// Returns the errors of the run's steps.
pub fn step_to_end<T>(
    run: &mut Run,
    with: &mut T,
    show: &mut ProgressDisplay,
    rescue: impl Fn(&Run, &T) -> Option<Rescue>,
    mut after: impl FnMut(&Run, &mut T, &RunProgress),
) -> Result<bool> {
    let mut last: Option<(usize, Duration)> = None;
    loop {
        // The duration of a stage's first step is unknown.
        let may_last = last.is_none_or(|(turn, time)| turn != run.position().0 || time > LONG_STEP);
        set_rescue(if may_last && has_room(run) { rescue(run, with) } else { None });
        let start = Instant::now();
        let Some(progress) = run.take_step()? else { break };
        last = Some((progress.turn, start.elapsed()));
        show.update(&progress, run);
        after(run, with, &progress);
        // A run whose last step is done writes its results, even if a signal has come meanwhile.
        if run.is_done() {
            break;
        }
        if is_stop_requested() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Draws the frame, saves the state and writes the checkpoint that are due after a step. If one of them fails, the run
/// continues.
fn after_step(job: &mut RunJob, saved: &mut Instant, run: &Run, progress: &RunProgress, voice: Reporter) {
    if let Some(Err(error)) = job.frames.as_mut().map(|frames| frames.draw_due_frame(run, progress)) {
        voice.warn(&format!("the frame could not be written, and the run continues without it: {error}"));
    }
    if let Some(Err(error)) = job.states.as_mut().map(|states| states.save_due_state(run, progress)) {
        voice.warn(&format!("the state could not be written, and the run continues without it: {error}"));
    }
    let is_due = job.every.is_some_and(|every| saved.elapsed().as_secs_f64() >= every);
    if is_due && !run.is_done() {
        if let Err(error) = run.save(&job.checkpoint, &job.to_json()) {
            // The run itself is intact, so it is better to continue without a checkpoint than to lose it.
            voice.warn(&format!("the checkpoint could not be written, and the run continues: {error}"));
        }
        *saved = Instant::now();
    }
}
