//! Estimates of the duration of steps and of the remaining time of the run.

use std::collections::HashMap;

use thalweg_sim::plan::Turn;
use thalweg_sim::run::Run;

/// The key for the cost of refining the terrain between levels.
const REFINEMENT_KEY: &str = "";

/// The recent time per step and cell of each model, in seconds.
#[derive(Default)]
pub(super) struct Costs(HashMap<&'static str, f64>);

/// Returns the name of a turn's model.
fn find_model_name(run: &Run, turn: usize) -> &'static str {
    let stage = run.turns().get(turn).and_then(|turn| run.recipe().stages.get(turn.stage?));
    stage.map_or(REFINEMENT_KEY, |stage| stage.model.about().name)
}

impl Costs {
    /// Records how long a step of turn number `turn` took, as an exponential moving average with weight 0.2.
    pub fn record_step(&mut self, run: &Run, turn: usize, seconds: f64) {
        // The cost per cell carries over to the finer levels of the same model.
        let seconds = seconds / run.terrain().grid.len() as f64;
        let known = self.0.entry(find_model_name(run, turn)).or_insert(seconds);
        *known += 0.2 * (seconds - *known);
    }

    /// Returns the recent number of steps per second, at most `most`; 0 if the running model has not been measured or
    /// the run is done.
    pub fn steps_per_second(&self, run: &Run, most: Option<f64>) -> f64 {
        let (turn, _) = run.position();
        let cost = self
            .0
            .get(find_model_name(run, turn))
            // Refinement between levels is a turn without a stage and has no pace of its own.
            .filter(|_| run.turns().get(turn).is_some_and(|turn| turn.stage.is_some()));
        cost.map_or(0.0, |seconds| {
            (1.0 / (seconds * run.terrain().grid.len() as f64).max(1e-6)).min(most.unwrap_or(f64::INFINITY))
        })
    }

    /// Returns the estimated seconds to the end from the recent cost of each model; `None` if a model that is still to
    /// come has not been measured.
    pub fn seconds_left(&self, run: &Run, pace: Option<f64>) -> Option<f64> {
        let (at, step) = run.position();
        let cost = |(number, turn): (usize, &Turn)| {
            let steps = run.steps_in_turn(*turn).saturating_sub(if number == at { step } else { 0 });
            if steps == 0 {
                return Some(0.0);
            }
            // A limit of the pace makes each step take at least that long.
            let least = pace.map_or(0.0, |pace| 1.0 / pace);
            let cells = run.grids().get(turn.level)?.len() as f64;
            self.0.get(find_model_name(run, number)).map(|seconds| (seconds * cells).max(least) * f64::from(steps))
        };
        // The sum of options is `None` as soon as one of them is.
        run.turns().iter().enumerate().skip(at).map(cost).sum()
    }
}
