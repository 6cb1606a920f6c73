//! The sketch in a run: read and checked at the beginning, applied to flat terrain, and restored after stages and
//! between their steps.

use crate::plan::Turn;
use crate::recipe::{Recipe, Stage};
use crate::run::Run;
use crate::sketch::{FACTORS, Sketch};
use thalweg_core::terrain::{Cells, ERODIBILITY, Lifetime, UPLIFT};
use thalweg_core::{Grid, Result, Terrain};
use thalweg_models::model::{Family, MassBalance, Role};

/// How often in a turn the terrain is restored to the sketch: a stage can deviate from it only for a part of its
/// steps.
const HOLDS: u64 = 8;

/// Returns the sketch of a recipe, checked against the world.
pub fn read_sketch(recipe: &Recipe, grids: &[Grid]) -> Result<Option<Sketch>> {
    let Some((drawn, grid)) = recipe.sketch.as_ref().zip(grids.first()) else { return Ok(None) };
    let mut sketch = drawn.read(&recipe.folder, &recipe.sketch_world(grid))?;
    sketch.go_on(grid);
    Ok(Some(sketch))
}

/// Gives a stage that reads them factors of uplift and erodibility, multiplied by those that the stage was given
/// itself. Factors left by earlier stages are not changed: they describe the land in more detail.
pub fn put_factors(sketch: Option<&Sketch>, stage: &Stage, terrain: &mut Terrain, grids: &[Grid]) -> Result<()> {
    let uses = stage.model.about().uses;
    let Some((sketch, first)) =
        sketch.zip(grids.first()).filter(|_| uses.contains(&UPLIFT) || uses.contains(&ERODIBILITY))
    else {
        return Ok(());
    };
    let Some(factors) = sketch.factors(terrain, first.cell) else { return Ok(()) };
    let specs = [ERODIBILITY, UPLIFT].into_iter().zip(FACTORS);
    for ((spec, own), mut field) in specs.zip(factors).filter(|((spec, _), _)| uses.contains(spec)) {
        let is_given = stage.layers.contains_key(spec.name);
        if let Some(given) = terrain.float(&spec) {
            if !is_given {
                continue;
            }
            field.as_mut_slice().iter_mut().zip(given.as_slice()).for_each(|(factor, given)| *factor *= given);
        }
        terrain.insert(if is_given { &spec } else { &own }, Cells::Float(field))?;
    }
    Ok(())
}

/// Removes them again.
pub fn take_factors(terrain: &mut Terrain) {
    terrain.layers.retain(|_, layer| layer.traits.lifetime != Lifetime::Stage);
}

impl Run {
    /// Creates the first terrain from the sketch, if the run starts from flat terrain.
    pub(super) fn lay_sketch(&mut self) -> MassBalance {
        let Some(sketch) = self.sketch.as_ref().filter(|_| self.turn == 0) else { return MassBalance::default() };
        let coarse = self.grids.first().map_or(1.0, |grid| grid.cell);
        let laid = sketch.lay(&mut self.terrain, coarse);
        self.book(laid)
    }

    /// Restores the terrain to the sketch, several times in a turn and at its end.
    pub(super) fn hold_sketch(&mut self, turn: Turn, steps: u32) -> MassBalance {
        let [globals, _] = self.recipe.counts(self.grids.len());
        let shapes = |stage: &Stage| {
            stage.model.about().family != Family::Analysis && !stage.muted && !stage.model.plays(Role::Strokes)
        };
        let later = self.turns.iter().skip(self.turn + 1).take_while(|later| later.level == turn.level);
        let is_last = !later.filter_map(|later| self.recipe.stages.get(later.stage?)).any(shapes);
        let is_ended = self.step >= steps;
        let is_shaping = |stage: &Stage| {
            // The water layers that the last of these stages leaves must remain consistent with the terrain.
            let follows_water = stage.model.about().writes.iter().any(|spec| spec.traits.follows_water);
            shapes(stage) && (!follows_water || (is_ended && !is_last))
        };
        let stage = turn.stage.and_then(|stage| self.recipe.stages.get(stage));
        let part = |step: u32| u64::from(step) * HOLDS / u64::from(steps.max(1));
        let is_due = part(self.step) != part(self.step - 1);
        let Some(sketch) = self
            .sketch
            .as_ref()
            .filter(|_| is_due && !turn.trims && turn.level < globals && stage.is_none_or(is_shaping))
        else {
            return MassBalance::default();
        };
        let coarse = self.grids.first().map_or(1.0, |grid| grid.cell);
        let held = sketch.hold(&mut self.terrain, coarse, is_ended);
        // A stepper may have stored the elevations of cells.
        self.stepper = None;
        held
    }

    /// Adds to the current turn's mass balance.
    fn book(&mut self, budget: MassBalance) -> MassBalance {
        if let Some(report) = self.reports.last_mut() {
            report.budget += budget;
        }
        budget
    }
}
