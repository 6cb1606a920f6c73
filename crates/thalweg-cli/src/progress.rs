//! The display of progress: a bar on a terminal, lines of JSON, or nothing.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use thalweg_sim::run::{Run, RunProgress};

use crate::console::Reporter;

/// The shortest time between two lines of progress. Without it, a run of many short steps would print one for each of
/// them.
const THROTTLE: Duration = Duration::from_millis(250);

/// A progress bar, if standard error is a terminal and the user requested neither silence nor JSON. Dropping it clears
/// the bar, so that the next message starts on a line of its own.
struct Bar(Option<ProgressBar>);

impl Bar {
    fn new(voice: Reporter, template: &str, length: u64) -> Self {
        let is_shown = !voice.json && !voice.quiet && std::io::stderr().is_terminal();
        Self(is_shown.then(|| {
            let style = ProgressStyle::with_template(template);
            ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        }))
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// The progress of work in phases that follow one another.
pub struct Phases {
    voice: Reporter,
    start: Instant,
    done: u64,
    all: u64,
    label: String,
    bar: Bar,
}

impl Phases {
    /// Starts with none of `all` phases done.
    pub fn new(voice: Reporter, all: u64) -> Self {
        Self {
            voice,
            start: Instant::now(),
            done: 0,
            all,
            label: String::new(),
            bar: Bar::new(voice, "{msg:20} {wide_bar} {pos}/{len}", all),
        }
    }

    /// Ends the previous phase, if there is one, and begins another.
    pub fn begin(&mut self, label: &str) {
        self.end_phase();
        self.label = label.to_string();
        if let Some(bar) = &self.bar.0 {
            bar.set_message(label.to_string());
            bar.set_position(self.done);
        }
    }

    /// Ends the last phase.
    pub fn end(mut self) {
        self.end_phase();
    }

    fn end_phase(&mut self) {
        let label = std::mem::take(&mut self.label);
        if label.is_empty() {
            return;
        }
        self.done += 1;
        self.voice.print_event(&json!({
            "event": "progress",
            "stage": self.done,
            "stages": self.all,
            "label": label,
            "step": 1,
            "steps": 1,
            "done": self.done,
            "all": self.all,
            "seconds": self.start.elapsed().as_secs_f64(),
        }));
    }
}

/// The progress of counted items.
pub struct Counting {
    voice: Reporter,
    start: Instant,
    last: Option<Instant>,
    bar: Bar,
}

impl Counting {
    /// Starts with nothing counted.
    pub fn new(voice: Reporter) -> Self {
        Self { voice, start: Instant::now(), last: None, bar: Bar::new(voice, "{msg:36} {wide_bar} {pos}/{len}", 0) }
    }

    /// Reports that `done` of `all` items are done.
    pub fn report_count(&mut self, label: &str, [done, all]: [u64; 2]) {
        if let Some(bar) = &self.bar.0 {
            bar.set_message(label.to_string());
            bar.set_length(all);
            bar.set_position(done);
        }
        // The last item is always reported, so readers see the end.
        if done < all && self.last.is_some_and(|last| last.elapsed() < THROTTLE) {
            return;
        }
        self.last = Some(Instant::now());
        let seconds = self.start.elapsed().as_secs_f64();
        self.voice.print_event(&json!({
            "event": "progress",
            "stage": 1,
            "stages": 1,
            "label": label,
            "step": done,
            "steps": all,
            "done": done,
            "all": all,
            "seconds": seconds,
        }));
    }
}

/// One of several worlds.
#[derive(Debug, Clone)]
pub struct NumberedWorld {
    /// The name of the world.
    pub name: String,
    /// The number of the world, from 1, and the number of all worlds.
    pub number: [usize; 2],
}

/// The display of a run's progress; if there are several worlds, of the current one.
pub enum ProgressDisplay {
    /// On a terminal: one bar per stage.
    Bar(ProgressBar, Option<usize>, Option<NumberedWorld>),
    /// Lines of JSON, with the time of the last one.
    Lines(Reporter, Instant, Option<Instant>, Option<NumberedWorld>),
    /// No display.
    Nothing,
}

impl ProgressDisplay {
    /// Starts with nothing displayed.
    pub fn new(voice: Reporter, world: Option<NumberedWorld>) -> Self {
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

    /// Updates the display after a step.
    pub fn update(&mut self, progress: &RunProgress, run: &Run) {
        match self {
            Self::Nothing => {}
            Self::Bar(bar, stage, world) => {
                // Stages differ too much for one estimate over all of them.
                if *stage != Some(progress.turn) {
                    *stage = Some(progress.turn);
                    bar.reset();
                    bar.set_length(progress.steps.into());
                    let world = world.as_ref().map_or(String::new(), |NumberedWorld { name, number: [n, all] }| {
                        format!("[{n}/{all}] {name} ")
                    });
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
                // The end of a stage is always reported, however short the time since the last line.
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
                voice.print_event(&line);
            }
        }
    }
}

impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        // The next message must not be printed behind a bar.
        if let Self::Bar(bar, ..) = self {
            bar.finish_and_clear();
        }
    }
}
