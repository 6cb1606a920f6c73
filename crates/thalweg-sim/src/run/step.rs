//! One step of a run, and the beginning and end of its turn.

use crate::run::report::{StageReport, collect_parameters};
use crate::run::{Run, RunProgress, layers, sketch_restoration};
use thalweg_core::Result;
use thalweg_core::base::clock::Clock;
use thalweg_core::terrain::Mass;
use thalweg_models::model::{MassBalance, Tick};

impl Run {
    /// Takes the next step, after the strokes that are due before it; returns `None` if everything is done. A muted
    /// stage is skipped in one step that does nothing; between two levels the terrain is refined in one step.
    ///
    /// # Errors
    /// Returns an error if a stage's input layer is missing or does not fit, or a stroke's layer does not. The
    /// terrain is then as before the step, except for strokes that were made before the failure; they are not made
    /// again.
    pub fn take_step(&mut self) -> Result<Option<RunProgress>> {
        let Some(turn) = self.turns.get(self.turn).copied() else { return Ok(None) };
        // Inputs come first, then the strokes that are due before this step, and then the step itself.
        let mut budget = self.begin_turn()?;
        budget += self.make_strokes()?;
        let steps = self.steps_in_turn(turn);
        // A stage without steps, for example a muted one or one for strokes only, skips this part.
        if self.step < steps {
            let clock = Clock::start();
            let done = match turn.stage.and_then(|stage| self.recipe.stages.get(stage)) {
                None if turn.trims => self.trim(),
                None if turn.level >= self.count_global_levels() => self.make_local(turn.level)?,
                None => self.make_finer(turn.level)?,
                Some(stage) => {
                    let stepper = match &mut self.stepper {
                        Some(stepper) => stepper,
                        none => none.insert(stage.model_for_pass(turn.pass)?.start(&self.terrain.grid)?),
                    };
                    let tick = Tick { key: stage.key(self.recipe.seed), step: self.step };
                    let terrain = &mut self.terrain;
                    // A step consists of many parallel loops, which are small on small maps. If a thread of the pool
                    // itself begins them, no thread has to be woken for the caller's thread, which would then sleep.
                    rayon::scope(|_| stepper.run_step(terrain, tick))?
                }
            };
            self.step += 1;
            self.strokes = 0;
            let mut done = done;
            done += self.restore_sketch(turn, steps);
            if let Some(report) = self.reports.last_mut() {
                report.seconds += clock.elapsed_seconds();
                report.steps = self.step;
                report.mass_balance += done;
            }
            budget += done;
        }
        if self.step >= steps {
            budget += self.make_strokes()?;
        }
        let progress = RunProgress {
            turn: self.turn,
            turns: self.turns.len(),
            stage: turn.stage,
            level: [turn.level, self.grids.len()],
            label: self.label(turn).to_string(),
            step: self.step,
            steps,
            mass_balance: budget,
        };
        if self.step >= steps {
            self.end_turn();
        }
        Ok(Some(progress))
    }

    /// Begins the current turn, if it has not begun: inserts its layers and tables. Standing water in an inserted
    /// layer counts as poured, and the water of the layer that it replaces as drained.
    pub(super) fn begin_turn(&mut self) -> Result<MassBalance> {
        let mut budget = MassBalance::default();
        let Some(turn) = self.turns.get(self.turn).copied().filter(|_| self.reports.len() <= self.turn) else {
            return Ok(budget);
        };
        let cells = self.grids.get(turn.level).map_or(0, |grid| grid.len() as u64);
        let report = match turn.stage.and_then(|stage| self.recipe.stages.get(stage)) {
            Some(stage) => {
                if !stage.muted {
                    let layers = layers::fetch_all(stage, &self.recipe.folder, &self.terrain, &self.grids)?;
                    // Summing the water reads every cell, so it is done only if an inserted layer can change it.
                    let gives_water = layers.iter().any(|(spec, _)| spec.traits.mass == Mass::Water);
                    let before = if gives_water { self.terrain.sum_standing_water() } else { 0.0 };
                    layers::insert_inputs(stage, layers, &mut self.terrain)?;
                    sketch_restoration::insert_sketch_factors(
                        self.sketch.as_ref(),
                        stage,
                        &mut self.terrain,
                        &self.grids,
                    )?;
                    if gives_water {
                        let change = self.terrain.sum_standing_water() - before;
                        (budget.poured, budget.drained) = (change.max(0.0), (-change).max(0.0));
                    }
                }
                let parameters = collect_parameters(&*stage.model_for_pass(turn.pass)?);
                let [label, model] = [&stage.label, stage.model.about().name].map(String::from);
                StageReport {
                    label,
                    model,
                    parameters,
                    mass_balance: budget,
                    muted: stage.muted,
                    ..StageReport::empty(turn.level, cells)
                }
            }
            None => {
                let (label, model) = self.name_unstaged_turn(turn);
                let [label, model] = [label, model].map(String::from);
                StageReport { label, model, ..StageReport::empty(turn.level, cells) }
            }
        };
        // A turn counts as begun from the moment its report exists.
        self.reports.push(report);
        budget += self.create_sketched_land();
        Ok(budget)
    }

    /// Ends the current turn: removes the layers and tables that were for its stage only.
    pub(super) fn end_turn(&mut self) {
        let stage = self.turns.get(self.turn).and_then(|turn| self.recipe.stages.get(turn.stage?));
        if let Some(stage) = stage.filter(|stage| !stage.muted) {
            layers::remove_inputs(stage, &mut self.terrain);
            sketch_restoration::remove_sketch_factors(&mut self.terrain);
        }
        self.stepper = None;
        self.turn += 1;
        (self.step, self.strokes) = (0, 0);
    }
}
