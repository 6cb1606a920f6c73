//! Progress as it is shown: a bar on a terminal, lines of JSON, or nothing.

use std::io::IsTerminal;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::console::Voice;

/// The parts of a work, one after the other.
pub struct Phases {
    voice: Voice,
    start: Instant,
    done: u64,
    all: u64,
    label: &'static str,
    bar: Option<ProgressBar>,
}

impl Phases {
    /// Of `all` parts none yet.
    pub fn new(voice: Voice, all: u64) -> Self {
        let shown = !voice.json && !voice.quiet && std::io::stderr().is_terminal();
        let bar = shown.then(|| {
            let style = ProgressStyle::with_template("{msg:20} {wide_bar} {pos}/{len}");
            ProgressBar::new(all).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Self { voice, start: Instant::now(), done: 0, all, label: "", bar }
    }

    /// Ends the part before, if there is one, and begins another.
    pub fn begin(&mut self, label: &'static str) {
        self.step();
        self.label = label;
        if let Some(bar) = &self.bar {
            bar.set_message(label);
            bar.set_position(self.done);
        }
    }

    /// Ends the last part.
    pub fn end(mut self) {
        self.step();
    }

    fn step(&mut self) {
        let label = std::mem::take(&mut self.label);
        if label.is_empty() {
            return;
        }
        self.done += 1;
        self.voice.event(&json!({
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

impl Drop for Phases {
    fn drop(&mut self) {
        // Whatever is said next must not stand behind a bar.
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
