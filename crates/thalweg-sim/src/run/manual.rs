//! Strokes in a run: those of the recipe at their steps, and those that are made while it runs.

use crate::plan::Turn;
use crate::recipe::strokes::{MAX_STROKES, Stroke, StrokeContext};
use crate::recipe::{MAX_STAGES, Stage, When};
use crate::run::Run;
use crate::run::turns::plan_checked_turns;
use thalweg_core::base::clock::Clock;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::declare::params::Parameters;
use thalweg_core::{Error, Result};
use thalweg_models::model::{MassBalance, Model, Role};
use thalweg_models::models;
use thalweg_models::models::droplets::Droplets;

/// Separates the random numbers of strokes from those of their stage.
// These are the ASCII codes of "stroke". Another value would change every world that has strokes with droplets.
const KEY: u64 = 0x7374_726f_6b65;

impl Run {
    /// Makes a stroke now, before the next step, and adds it to the running stage with the present step number, so
    /// that a build of the changed recipe gives the same bits. Strokes of the recipe that are due come first. If all
    /// stages are done, the stroke is added to a stage of the model `manual` at the recipe's end, which is created if
    /// the last stage is none; it is done again after one more step. Returns the stroke's mass balance.
    ///
    /// # Errors
    /// Returns the errors of [`Stroke::check`] and [`Stroke::apply_to`]; also returns an error if the next stage cannot
    /// begin, if the recipe has no room, or if the margin has been cut away or a local level has begun
    /// ([`Session::add_stroke`](crate::session::Session::add_stroke) goes back before that). The stroke is then neither
    /// made nor added.
    pub fn add_stroke(&mut self, stroke: Stroke) -> Result<MassBalance> {
        if self.is_past_strokes() {
            let problem = "cannot be made after the margin was cut away or a local level has begun; return to a mark \
                           before that, or start the run again";
            return Err(Error::conflict("stroke", problem));
        }
        let closing = self.closing_turn();
        // A muted stage makes no strokes, so it is skipped; a refinement that is due is done first.
        while let Some(turn) = self.turns.get(self.turn).filter(|_| self.turn < closing) {
            match turn.stage.and_then(|stage| self.recipe.stages.get(stage)) {
                None => drop(self.take_step()?),
                Some(stage) if stage.muted => {
                    self.begin_turn()?;
                    self.end_turn();
                }
                Some(_) => break,
            }
        }
        let springs = self.stage_for_turn(self.turn).is_some_and(Stage::reads_springs);
        stroke.check("stroke", &self.terrain.grid, springs)?;
        if self.turn >= closing {
            self.open_manual()?;
        }
        self.begin_turn()?;
        self.make_strokes()?;
        let written = self.stage_for_turn(self.turn).map_or(0, |stage| stage.strokes.len());
        if written >= MAX_STROKES {
            return Err(Error::invalid_value("strokes", written + 1, format!("up to {MAX_STROKES} per stage")));
        }
        let Some(Turn { stage: Some(number), pass, .. }) = self.turns.get(self.turn).copied() else {
            return Ok(MassBalance::default());
        };
        let stroke = Stroke { step: self.step, pass, ..stroke };
        let budget = self.apply_stroke(&stroke)?;
        if let Some(stage) = self.recipe.stages.get_mut(number) {
            stage.strokes.push(stroke);
        }
        Ok(budget)
    }

    /// Makes strokes that are due now and would be made by the next step, until `strokes` of them have been made
    /// here.
    ///
    /// # Errors
    /// Returns the errors of [`Run::take_step`].
    pub(crate) fn make_missed_strokes(&mut self, strokes: usize) -> Result<()> {
        self.begin_turn()?;
        self.make_due_strokes(strokes.saturating_sub(self.strokes)).map(drop)
    }

    /// Returns the index of the turn that follows the last one in which a stage changes the whole terrain: the turn
    /// that cuts the margin away, or that of the first local level; the number of turns if there is none of these.
    pub(crate) fn closing_turn(&self) -> usize {
        let global = self.count_global_levels();
        let is_closing = |turn: &Turn| turn.trims || turn.level >= global;
        self.turns.iter().position(is_closing).unwrap_or(self.turns.len())
    }

    /// Returns true if strokes can no longer be made, because the margin was cut away or a local level has begun.
    pub(crate) fn is_past_strokes(&self) -> bool {
        let closing = self.closing_turn();
        // The report of a turn exists from its beginning on.
        closing < self.turns.len() && self.reports.len() > closing
    }

    /// Returns to the end of the stage before if that is one for strokes; otherwise adds such a stage, which comes
    /// next. The run is after all stages that change the whole terrain.
    fn open_manual(&mut self) -> Result<()> {
        let is_manual = |stage: &Stage| stage.model.plays_role(Role::Strokes) && !stage.muted;
        if let Some(before) = self.turn.checked_sub(1)
            && let Some(turn) = self.turns.get(before).copied()
            && let Some(stage) = self.stage_for_turn(before).filter(|stage| is_manual(stage))
        {
            // The strokes that were made after the last step are counted as made, so they are not made again.
            let step = self.steps_in_turn(turn);
            self.strokes = stage.strokes_after(turn.pass, step).count();
            (self.turn, self.step) = (before, step);
            return Ok(());
        }
        let stages = &self.recipe.stages;
        if stages.len() >= MAX_STAGES {
            return Err(Error::invalid_value("stages", stages.len() + 1, format!("up to {MAX_STAGES}")));
        }
        let model = models::find_model_for_role(Role::Strokes)?;
        let label = self.recipe.free_label(model.about().name);
        self.recipe.stages.push(Stage { when: When::Last, ..Stage::new(label, model) });
        // It runs on the last global level after all others, so its turn is the next one.
        self.turns = plan_checked_turns(&self.recipe, &self.grids)?;
        Ok(())
    }

    /// Makes the strokes of the present step that have not been made yet.
    pub(super) fn make_strokes(&mut self) -> Result<MassBalance> {
        self.make_due_strokes(usize::MAX)
    }

    /// Makes at most `most` of the strokes of the present step that have not been made yet.
    fn make_due_strokes(&mut self, most: usize) -> Result<MassBalance> {
        let Some(stage) = self.stage_for_turn(self.turn).filter(|stage| !stage.muted) else {
            return Ok(MassBalance::default());
        };
        let pass = self.turns.get(self.turn).map_or(0, |turn| turn.pass);
        let due: Vec<Stroke> = stage.strokes_after(pass, self.step).skip(self.strokes).take(most).cloned().collect();
        // Strokes are made in their order in the recipe, because each changes the terrain that the next one reads.
        due.iter().try_fold(MassBalance::default(), |mut sum, stroke| {
            sum += self.apply_stroke(stroke)?;
            Ok(sum)
        })
    }

    /// Makes a stroke of the present step.
    fn apply_stroke(&mut self, stroke: &Stroke) -> Result<MassBalance> {
        let clock = Clock::start();
        let label = self.stage_for_turn(self.turn).map_or("", |stage| &stage.label);
        let key = RandomKey::new(self.recipe.seed, label)
            .derive_key(KEY)
            .derive_key(self.step.into())
            .derive_key(self.strokes as u64);
        // On a stage's first level the key does not include the pass.
        let key = if stroke.pass == 0 { key } else { key.derive_key(stroke.pass.into()) };
        let droplets = self.droplet_settings()?;
        let budget = stroke.apply_to(&mut self.terrain, &StrokeContext { droplets: &droplets, key })?;
        self.strokes += 1;
        // A stepper may have stored which cells are wet, or their elevations.
        self.stepper = None;
        if let Some(report) = self.reports.last_mut() {
            report.seconds += clock.elapsed_seconds();
            report.mass_balance += budget;
        }
        Ok(budget)
    }

    /// Returns the settings for droplets of user edits: those of the last stage of droplets up to now, or else the
    /// model's defaults.
    ///
    /// # Errors
    /// Returns no error for a checked recipe.
    pub fn droplet_settings(&self) -> Result<Droplets> {
        let mut droplets = Droplets::default();
        let name = droplets.about().name;
        let stages = self.turns.iter().take(self.turn + 1).rev().filter_map(|turn| self.recipe.stages.get(turn.stage?));
        if let Some(stage) = stages.filter(|stage| !stage.muted).find(|stage| stage.model.plays_role(Role::Droplets)) {
            for param in droplets.declared() {
                if let Some(value) = stage.model.get(param.name) {
                    droplets.set(name, param.name, &value.into())?;
                }
            }
        }
        Ok(droplets)
    }
}
