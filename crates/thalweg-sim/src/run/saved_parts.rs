//! Restores a run from the parts of a checkpoint or a mark.

use crate::plan::Turn;
use crate::recipe::Recipe;
use crate::run::{Run, StageReport};
use thalweg_core::{Error, Result, Terrain};

impl Run {
    /// Restores a run from the parts of a checkpoint or a mark, which are checked.
    ///
    /// # Errors
    /// Returns an error if the turn does not exist, does not have the step, fewer strokes are due there than were made,
    /// or the terrain is one of another level; also returns the errors of [`Run::new`].
    pub(crate) fn from_saved_parts(
        recipe: Recipe,
        terrain: Terrain,
        [turn, strokes]: [usize; 2],
        step: u32,
        reports: Vec<StageReport>,
    ) -> Result<Self> {
        let grids = if recipe.has_levels() { recipe.grids()? } else { vec![terrain.grid.clone()] };
        let run = Self { turn, step, strokes, reports, ..Self::with_levels(recipe, terrain, grids)? };
        let turns = run.turns.len();
        if turn > turns {
            return Err(Error::invalid_value(
                "turn",
                turn,
                format!("0 to {turns} (the recipe's turns, and their end)"),
            ));
        }
        // A turn has its report from its beginning on.
        let begun = run.reports.len();
        if begun < turn || begun > turns.min(turn + 1) || (begun == turn && (step > 0 || strokes > 0)) {
            return Err(Error::invalid_value("reports", begun, "one report per stage and level that has begun"));
        }
        let here = run.turns.get(turn).copied();
        let steps = here.map_or(0, |here| run.steps_in_turn(here));
        if step > steps {
            return Err(Error::invalid_value("step", step, format!("0 to {steps} (the turn's steps)")));
        }
        let made =
            run.stage_for_turn(turn).zip(here).map_or(0, |(stage, here)| stage.strokes_after(here.pass, step).count());
        if strokes > made {
            return Err(Error::invalid_value("strokes", strokes, format!("0 to {made} (those of the step)")));
        }
        let level = match here {
            // The terrain is that of the level before until the finer one is complete.
            Some(Turn { level, trims: true, .. }) if step == 0 => level,
            Some(Turn { level, stage: None, .. }) if step == 0 || level >= run.count_global_levels() => {
                level.saturating_sub(1)
            }
            Some(Turn { level, .. }) => level,
            None => run.grids.len() - 1,
        };
        // After trimming, the terrain is the map of its level.
        let is_trimmed = run.turns.iter().take(turn).any(|turn| turn.trims);
        let want = run.grids.get(level).map(|grid| if is_trimmed { run.recipe.map_grid(grid).size } else { grid.size });
        let have = Some(run.terrain.grid.size);
        if want != have {
            let [rows, cols] = run.terrain.grid.size;
            return Err(Error::invalid_value(
                "terrain",
                format!("{cols} × {rows} cells"),
                format!("the size of level {level}"),
            ));
        }
        Ok(run)
    }
}
