//! [`RunProgress`]: the progress of a run in turns, steps and simulated years.

use crate::plan::Turn;
use crate::run::Run;
use thalweg_models::model::MassBalance;

/// The progress of a run after a step.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RunProgress {
    /// Index of the turn, from 0, among [`Run::turns`]: if there is one level, that of the stage.
    pub turn: usize,
    /// Number of all turns.
    pub turns: usize,
    /// Index of the stage in the recipe, from 0; `None` if the terrain is refined, the whole level is a local one, or
    /// the margin is cut away.
    pub stage: Option<usize>,
    /// The level, from 0, the coarsest, and the number of levels.
    pub level: [usize; 2],
    /// The name of the turn ([`Run::label`]).
    pub label: String,
    /// Number of steps done in this turn.
    pub step: u32,
    /// Number of all steps of this turn.
    pub steps: u32,
    /// The mass balance of the step, including the strokes before it and, for the last step, those after it.
    pub mass_balance: MassBalance,
}

impl Run {
    /// Returns the index of the current turn, from 0, and the steps taken in it; when everything is done, the number
    /// of all turns, and 0. If there is one level, turns are the recipe's stages.
    pub fn position(&self) -> (usize, u32) {
        (self.turn, self.step)
    }

    /// Returns true if all turns are done.
    pub fn is_done(&self) -> bool {
        self.turn >= self.turns.len()
    }

    /// Returns the numbers of steps done and of all steps, over all turns.
    pub fn steps(&self) -> [u64; 2] {
        let of = |turn: &Turn| u64::from(self.steps_in_turn(*turn));
        let done: u64 = self.turns.iter().take(self.turn).map(of).sum();
        let all = self.turns.iter().map(of).sum();
        [done + u64::from(self.step), all]
    }

    /// Returns the simulated years so far, over all turns of models with a time scale; `None` before the first of
    /// them.
    pub fn years(&self) -> Option<f64> {
        let begun = self.turns.iter().take(self.reports.len()).enumerate();
        let years = begun.filter_map(|(number, turn)| {
            let stage = self.recipe.stages.get(turn.stage?).filter(|stage| !stage.muted)?;
            let (model, grid) = (stage.model_for_pass(turn.pass).ok()?, self.grids.get(turn.level)?);
            model.simulated_years(grid, if number < self.turn { model.steps(grid) } else { self.step })
        });
        // `None` means that no such turn has begun; at the beginning of the first one the sum is 0.
        years.fold(None, |sum, years| Some(sum.unwrap_or(0.0) + years))
    }
}
