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
const RESTORES_PER_TURN: u64 = 8;

/// Returns the sketch of a recipe, checked against the world.
pub fn read_sketch(recipe: &Recipe, grids: &[Grid]) -> Result<Option<Sketch>> {
    let Some((drawn, grid)) = recipe.sketch.as_ref().zip(grids.first()) else { return Ok(None) };
    let mut sketch = drawn.read(&recipe.folder, &recipe.sketch_world(grid))?;
    sketch.extend_over_margin(grid);
    Ok(Some(sketch))
}

/// Gives a stage that reads them factors of uplift and erodibility, multiplied by those that the stage was given
/// itself. Factors left by earlier stages are not changed: they describe the land in more detail.
pub fn insert_sketch_factors(
    sketch: Option<&Sketch>,
    stage: &Stage,
    terrain: &mut Terrain,
    grids: &[Grid],
) -> Result<()> {
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
        if let Some(given) = terrain.float_layer(&spec) {
            if !is_given {
                continue;
            }
            field.as_mut_slice().iter_mut().zip(given.as_slice()).for_each(|(factor, given)| *factor *= given);
        }
        terrain.insert_layer(if is_given { &spec } else { &own }, Cells::Float(field))?;
    }
    Ok(())
}

/// Removes the layers of [`insert_sketch_factors`] from the terrain.
pub fn remove_sketch_factors(terrain: &mut Terrain) {
    terrain.layers.retain(|_, layer| layer.traits.lifetime != Lifetime::Stage);
}

impl Run {
    /// Creates the first terrain from the sketch, if the run starts from flat terrain.
    pub(super) fn create_sketched_land(&mut self) -> MassBalance {
        let Some(sketch) = self.sketch.as_ref().filter(|_| self.turn == 0) else { return MassBalance::default() };
        let coarse = self.grids.first().map_or(1.0, |grid| grid.cell);
        let balance = sketch.create_land(&mut self.terrain, coarse);
        self.add_mass_balance(balance)
    }

    /// Restores the terrain to the sketch, several times in a turn and at its end.
    pub(super) fn restore_sketch(&mut self, turn: Turn, steps: u32) -> MassBalance {
        let [globals, _] = self.recipe.count_global_and_all(self.grids.len());
        let shapes = |stage: &Stage| {
            stage.model.about().family != Family::Analysis && !stage.muted && !stage.model.plays_role(Role::Strokes)
        };
        let later = self.turns.iter().skip(self.turn + 1).take_while(|later| later.level == turn.level);
        // After the last shaping stage of a level, a change of the terrain would leave water layers that do not fit it.
        let is_last = !later.filter_map(|later| self.recipe.stages.get(later.stage?)).any(shapes);
        let is_ended = self.step >= steps;
        let is_shaping = |stage: &Stage| {
            // The water layers that the last of these stages leaves must remain consistent with the terrain.
            let follows_water = stage.model.about().writes.iter().any(|spec| spec.traits.follows_water);
            shapes(stage) && (!follows_water || (is_ended && !is_last))
        };
        let stage = turn.stage.and_then(|stage| self.recipe.stages.get(stage));
        // The quotient grows at HOLDS nearly equally spaced steps, or at each step if there are fewer; the last of them
        // is the turn's end.
        let part = |step: u32| u64::from(step) * RESTORES_PER_TURN / u64::from(steps.max(1));
        let is_due = part(self.step) != part(self.step - 1);
        let Some(sketch) = self
            .sketch
            .as_ref()
            .filter(|_| is_due && !turn.trims && turn.level < globals && stage.is_none_or(is_shaping))
        else {
            return MassBalance::default();
        };
        let coarse = self.grids.first().map_or(1.0, |grid| grid.cell);
        let balance = sketch.restore_features(&mut self.terrain, coarse, is_ended);
        // A stepper may have stored the elevations of cells.
        self.stepper = None;
        balance
    }

    /// Adds to the current turn's mass balance.
    fn add_mass_balance(&mut self, budget: MassBalance) -> MassBalance {
        if let Some(report) = self.reports.last_mut() {
            report.mass_balance += budget;
        }
        budget
    }
}
