//! How long steps take, and how long the run has still to go.

use std::collections::HashMap;

use thalweg_sim::plan::Turn;
use thalweg_sim::run::Run;

/// By this name the cost of making ground finer is kept.
const FINER: &str = "";

/// Seconds a cell that a step of each model took lately.
#[derive(Default)]
pub(super) struct Costs(HashMap<&'static str, f64>);

/// The model of a turn.
fn model(run: &Run, turn: usize) -> &'static str {
    let stage = run.turns().get(turn).and_then(|turn| run.recipe().stages.get(turn.stage?));
    stage.map_or(FINER, |stage| stage.model.about().name)
}

impl Costs {
    /// Takes into account how long a step of turn number `turn` took.
    pub fn add(&mut self, run: &Run, turn: usize, seconds: f64) {
        let seconds = seconds / run.terrain().grid.len() as f64;
        let known = self.0.entry(model(run, turn)).or_insert(seconds);
        *known += 0.2 * (seconds - *known);
    }

    /// Steps a second of late, `most` of them at most; 0 where the running model has not been seen or all is done.
    pub fn pace(&self, run: &Run, most: Option<f64>) -> f64 {
        let (turn, _) = run.position();
        let cost =
            self.0.get(model(run, turn)).filter(|_| run.turns().get(turn).is_some_and(|turn| turn.stage.is_some()));
        cost.map_or(0.0, |seconds| {
            (1.0 / (seconds * run.terrain().grid.len() as f64).max(1e-6)).min(most.unwrap_or(f64::INFINITY))
        })
    }

    /// Seconds to the end, by what a step of each model took lately; none while a model to come has not been seen.
    pub fn seconds_left(&self, run: &Run, pace: Option<f64>) -> Option<f64> {
        let (at, step) = run.position();
        let cost = |(number, turn): (usize, &Turn)| {
            let steps = run.steps_of(*turn).saturating_sub(if number == at { step } else { 0 });
            if steps == 0 {
                return Some(0.0);
            }
            let least = pace.map_or(0.0, |pace| 1.0 / pace);
            let cells = run.grids().get(turn.level)?.len() as f64;
            self.0.get(model(run, number)).map(|seconds| (seconds * cells).max(least) * f64::from(steps))
        };
        run.turns().iter().enumerate().skip(at).map(cost).sum()
    }
}
