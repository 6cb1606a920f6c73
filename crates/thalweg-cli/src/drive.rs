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
pub const INTERRUPTED: u8 = 130;

/// The shortest time between two lines of progress.
const THROTTLE: Duration = Duration::from_millis(250);

/// Steps `run` to its end and has the job write what it is for; or, after Ctrl-C, saves it and says how to go on.
///
/// # Errors
/// As the run's steps; when a file cannot be written.
pub fn drive(mut run: Run, mut job: Job, voice: Voice) -> Result<ExitCode> {
    let start = Instant::now();
    listen(voice);
    let mut saved = Instant::now();
    let after = |run: &Run, progress: &Progress| after_step(&mut job, &mut saved, run, progress, voice);
    if !steps(&mut run, &mut Show::new(voice, None), after)? {
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

/// Steps `run` to its end, and calls `after` each step. Whether all were taken; if not, Ctrl-C came.
///
/// # Errors
/// As the run's steps.
pub fn steps(run: &mut Run, show: &mut Show, mut after: impl FnMut(&Run, &Progress)) -> Result<bool> {
    while let Some(progress) = run.step()? {
        show.step(&progress, run);
        after(run, &progress);
        if run.is_done() {
            break;
        }
        if STOP.load(Ordering::Relaxed) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Draws the frame and saves the checkpoint that are due after a step; without either the run goes on.
fn after_step(job: &mut Job, saved: &mut Instant, run: &Run, progress: &Progress, voice: Voice) {
    if let Some(Err(error)) = job.frames.as_mut().map(|frames| frames.step(run, progress)) {
        voice.warn(&format!("no frame: {error}"));
    }
    let is_due = job.every.is_some_and(|every| saved.elapsed().as_secs_f64() >= every);
    if is_due && !run.is_done() {
        if let Err(error) = run.save(&job.checkpoint, &job.note()) {
            // The run itself is well; better to go on without than to lose it.
            voice.warn(&format!("no checkpoint: {error}"));
        }
        *saved = Instant::now();
    }
}

/// Catches Ctrl-C and SIGTERM.
pub fn listen(voice: Voice) {
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

/// One of several worlds.
#[derive(Debug, Clone)]
pub struct World {
    /// What it is called.
    pub name: String,
    /// Its number, from 1, and how many there are.
    pub number: [usize; 2],
}

/// Progress as it is shown, of that world where there are several.
pub enum Show {
    /// On a terminal: one bar a stage.
    Bar(ProgressBar, Option<usize>, Option<World>),
    /// Lines of JSON; when the last one was written.
    Lines(Voice, Instant, Option<Instant>, Option<World>),
    /// Not at all.
    Nothing,
}

impl Show {
    /// Nothing shown yet.
    pub fn new(voice: Voice, world: Option<World>) -> Self {
        if voice.json {
            return Self::Lines(voice, Instant::now(), None, world);
        }
        if voice.quiet || !std::io::stderr().is_terminal() {
            return Self::Nothing;
        }
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{prefix} {msg:20} {wide_bar} {pos}/{len} {eta_precise} left");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self::Bar(bar, None, world)
    }

    fn step(&mut self, progress: &Progress, run: &Run) {
        match self {
            Self::Nothing => {}
            Self::Bar(bar, stage, world) => {
                // Stages differ too much for one estimate over all of them.
                if *stage != Some(progress.turn) {
                    *stage = Some(progress.turn);
                    bar.reset();
                    bar.set_length(progress.steps.into());
                    let world = world
                        .as_ref()
                        .map_or(String::new(), |World { name, number: [n, all] }| format!("[{n}/{all}] {name} "));
                    bar.set_prefix(format!("{world}[{}/{}]", progress.turn + 1, progress.turns));
                    let [rows, cols] = run.terrain().grid.size;
                    let on = if progress.level[1] > 1 { format!(" · {}", rows.max(cols)) } else { String::new() };
                    bar.set_message(format!("{}{on}", progress.label));
                }
                bar.set_position(progress.step.into());
                if run.is_done() {
                    bar.finish_and_clear();
                }
            }
            Self::Lines(voice, start, last, world) => {
                let stage_ends = progress.step >= progress.steps;
                if !stage_ends && last.is_some_and(|last| last.elapsed() < THROTTLE) {
                    return;
                }
                *last = Some(Instant::now());
                let [done, all] = run.steps();
                let mut line = json!({
                    "event": "progress",
                    "stage": progress.turn + 1,
                    "stages": progress.turns,
                    "level": progress.level[0] + 1,
                    "levels": progress.level[1],
                    "cells": run.terrain().grid.size.iter().max(),
                    "label": progress.label,
                    "step": progress.step,
                    "steps": progress.steps,
                    "done": done,
                    "all": all,
                    "seconds": start.elapsed().as_secs_f64(),
                });
                if let Some(world) = world {
                    line["world"] = world.name.as_str().into();
                    line["number"] = world.number[0].into();
                    line["worlds"] = world.number[1].into();
                }
                voice.event(&line);
            }
        }
    }
}

impl Drop for Show {
    fn drop(&mut self) {
        // Whatever is said next must not stand behind a bar.
        if let Self::Bar(bar, ..) = self {
            bar.finish_and_clear();
        }
    }
}
