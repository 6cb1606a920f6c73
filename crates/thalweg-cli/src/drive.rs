//! The one loop that steps a run: progress, Ctrl-C, checkpoints.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use thalweg::Result;
use thalweg::run::{Progress, Run};

use crate::job::Job;
use crate::voice::Voice;

/// Set by the first Ctrl-C (or SIGTERM); the second ends the process.
static STOP: AtomicBool = AtomicBool::new(false);

/// What a process ended by Ctrl-C returns, by custom (128 + SIGINT).
const INTERRUPTED: u8 = 130;

/// The shortest time between two lines of progress.
const THROTTLE: Duration = Duration::from_millis(250);

/// Steps `run` to its end and has the job write what it is for; or, after Ctrl-C, saves it and says how to go on.
///
/// # Errors
/// As the run's steps; when a file cannot be written.
pub fn drive(mut run: Run, mut job: Job, voice: Voice) -> Result<ExitCode> {
    let start = Instant::now();
    listen(voice);
    if !steps(&mut run, &mut job, voice)? {
        run.save(&job.checkpoint, &job.note())?;
        let resume = format!("thalweg resume {}", quoted(&job.checkpoint));
        let [done, all] = run.steps();
        voice.say(&format!("stopped after {done} of {all} steps; go on with: {resume}"));
        voice.event(&json!({"event": "interrupted", "checkpoint": job.checkpoint, "resume": resume}));
        return Ok(ExitCode::from(INTERRUPTED));
    }
    job.finish(&run, start.elapsed().as_secs_f64(), voice)?;
    Ok(ExitCode::SUCCESS)
}

/// Whether all steps were taken; if not, Ctrl-C came.
fn steps(run: &mut Run, job: &mut Job, voice: Voice) -> Result<bool> {
    let mut show = Show::new(voice);
    let mut saved = Instant::now();
    while let Some(progress) = run.step()? {
        show.step(&progress, run);
        if let Some(Err(error)) = job.frames.as_mut().map(|frames| frames.step(run, &progress)) {
            voice.warn(&format!("no frame: {error}"));
        }
        if run.is_done() {
            break;
        }
        if STOP.load(Ordering::Relaxed) {
            return Ok(false);
        }
        if job.every.is_some_and(|every| saved.elapsed().as_secs_f64() >= every) {
            if let Err(error) = run.save(&job.checkpoint, &job.note()) {
                // The run itself is well; better to go on without than to lose it.
                voice.warn(&format!("no checkpoint: {error}"));
            }
            saved = Instant::now();
        }
    }
    Ok(true)
}

/// Catches Ctrl-C and SIGTERM.
fn listen(voice: Voice) {
    let heard = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED.into());
        }
    });
    if let Err(error) = heard {
        voice.warn(&format!("Ctrl-C will end the run without a checkpoint ({error})"));
    }
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = text.chars().all(|c| c.is_alphanumeric() || "/\\._-:".contains(c));
    if plain { text.into_owned() } else { format!("\"{text}\"") }
}

/// Progress as it is shown.
enum Show {
    /// On a terminal: one bar a stage.
    Bar(ProgressBar, Option<usize>),
    /// Lines of JSON; when the last one was written.
    Lines(Voice, Instant, Option<Instant>),
    /// Not at all.
    Nothing,
}

impl Show {
    fn new(voice: Voice) -> Self {
        if voice.json {
            return Self::Lines(voice, Instant::now(), None);
        }
        if voice.quiet || !std::io::stderr().is_terminal() {
            return Self::Nothing;
        }
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{prefix} {msg:20} {wide_bar} {pos}/{len} {eta_precise} left");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self::Bar(bar, None)
    }

    fn step(&mut self, progress: &Progress, run: &Run) {
        match self {
            Self::Nothing => {}
            Self::Bar(bar, stage) => {
                // Stages differ too much for one estimate over all of them.
                if *stage != Some(progress.stage) {
                    *stage = Some(progress.stage);
                    bar.reset();
                    bar.set_length(progress.steps.into());
                    bar.set_prefix(format!("[{}/{}]", progress.stage + 1, progress.stages));
                    bar.set_message(progress.label.clone());
                }
                bar.set_position(progress.step.into());
                if run.is_done() {
                    bar.finish_and_clear();
                }
            }
            Self::Lines(voice, start, last) => {
                let stage_ends = progress.step >= progress.steps;
                if !stage_ends && last.is_some_and(|last| last.elapsed() < THROTTLE) {
                    return;
                }
                *last = Some(Instant::now());
                let [done, all] = run.steps();
                voice.event(&json!({
                    "event": "progress",
                    "stage": progress.stage + 1,
                    "stages": progress.stages,
                    "label": progress.label,
                    "step": progress.step,
                    "steps": progress.steps,
                    "done": done,
                    "all": all,
                    "seconds": start.elapsed().as_secs_f64(),
                }));
            }
        }
    }
}

impl Drop for Show {
    fn drop(&mut self) {
        // Whatever is said next must not stand behind a bar.
        if let Self::Bar(bar, _) = self {
            bar.finish_and_clear();
        }
    }
}
