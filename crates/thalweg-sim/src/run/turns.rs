//! The turns of a run: their plan, which is checked before anything is computed, their names and numbers of steps.

use crate::plan::Turn;
use crate::recipe::{Recipe, Stage, strokes};
use crate::run::{Run, local};
use thalweg_core::{Error, Grid, Result};
use thalweg_refine::Frame;

impl Run {
    /// Returns all turns, in order.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// Returns the grid of each level, from the coarsest.
    pub fn grids(&self) -> &[Grid] {
        &self.grids
    }

    /// Returns the labels of the stages that never run, because no level has cells of the widths on which they run;
    /// muted ones are not included. A build of fewer cells may end before the levels of a stage. For example, a stage
    /// for cells of up to 5 m never runs in a build whose cells are 10 m wide.
    pub fn idle_stages(&self) -> Vec<&str> {
        let stages = self.recipe.find_idle_stages(&self.turns).filter_map(|number| self.recipe.stages.get(number));
        stages.map(|stage| stage.label.as_str()).collect()
    }

    /// Returns the name of a turn: its stage's label; without a stage `finer ground`, `local level` or `margin`.
    pub fn label(&self, turn: Turn) -> &str {
        let stage = turn.stage.and_then(|stage| self.recipe.stages.get(stage));
        stage.map_or_else(|| self.name_unstaged_turn(turn).0, |stage| &stage.label)
    }

    /// Returns the title of a turn in user interfaces: that of its stage ([`Stage::title`]); without a stage `Refine`,
    /// `Local level` or `Cut the margin`.
    pub fn title(&self, turn: Turn) -> String {
        match (turn.stage.and_then(|stage| self.recipe.stages.get(stage)), turn) {
            (Some(stage), _) => stage.title(),
            (None, Turn { trims: true, .. }) => "Cut the margin".to_string(),
            (None, Turn { level, .. }) if level < self.count_global_levels() => "Refine".to_string(),
            (None, _) => "Local level".to_string(),
        }
    }

    /// Returns the number of steps of a turn; 0 if the turn is on no level of this run.
    pub fn steps_in_turn(&self, turn: Turn) -> u32 {
        let Some(grid) = self.grids.get(turn.level) else { return 0 };
        match turn.stage.and_then(|stage| self.recipe.stages.get(stage)) {
            // The plan has been checked for errors of this call.
            Some(stage) => stage.steps(grid, turn.pass).unwrap_or(0),
            None if turn.level >= self.count_global_levels() && !turn.trims => local::count_local_steps(grid),
            None => 1,
        }
    }

    /// Returns the stage of a turn, if it has one.
    pub(super) fn stage_for_turn(&self, turn: usize) -> Option<&Stage> {
        self.recipe.stages.get(self.turns.get(turn)?.stage?)
    }

    /// Returns the name of a turn without a stage, and the name that takes the place of its model in a report.
    pub(super) fn name_unstaged_turn(&self, turn: Turn) -> (&'static str, &'static str) {
        match turn {
            Turn { trims: true, .. } => ("margin", "trim"),
            Turn { level, .. } if level < self.count_global_levels() => ("finer ground", "finer"),
            _ => ("local level", "local"),
        }
    }
}

/// Returns the turns of a recipe on these grids, checked.
pub(super) fn plan_checked_turns(recipe: &Recipe, grids: &[Grid]) -> Result<Vec<Turn>> {
    let widths: Vec<f64> = grids.iter().map(|grid| grid.cell).collect();
    let turns = recipe.turns(&widths);
    recipe.check_local(&widths)?;
    let [global, _] = recipe.count_global_and_all(widths.len());
    for turn in &turns {
        match turn.stage.and_then(|stage| recipe.stages.get(stage)) {
            Some(stage) => stage.check(&grids[turn.level], turn.pass)?,
            None if turn.trims => {}
            None if turn.level >= global => {
                // A global level from which no finer level can be computed is refused before anything is solved.
                Frame::from_grid(&recipe.map_grid(&grids[global - 1]))?;
                recipe.combine_local_forms(grids[global - 1].cell).rules.check()?;
            }
            None => drop(recipe.group_detail_stages(&widths, turn.level)?),
        }
    }
    for (number, stage) in recipe.stages.iter().enumerate().filter(|(_, stage)| !stage.muted) {
        let passes = turns.iter().filter(|turn| turn.stage == Some(number)).count() as u32;
        // A stage that never runs makes none of its strokes, and `Run::idle_stages` names it.
        let late = stage.strokes.iter().position(|stroke| passes > 0 && stroke.pass >= passes);
        if let Some((stroke, late)) = late.and_then(|late| Some((stage.strokes.get(late)?, late))) {
            let name = format!("{}.{}.pass", stage.label, strokes::stroke_name(late));
            let allowed = format!("0 to {} (the stage's levels in this build, from the coarsest)", passes - 1);
            return Err(Error::invalid_value(name, stroke.pass, allowed));
        }
    }
    Ok(turns)
}
