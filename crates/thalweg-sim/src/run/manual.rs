//! Strokes in a run: those of the recipe at their steps, and those that are made while it runs.

use crate::plan::Turn;
use crate::recipe::strokes::{Hand, MAX_STROKES, Stroke};
use crate::recipe::{MAX_STAGES, Stage, When};
use crate::run::{Run, planned};
use thalweg_core::base::clock::Clock;
use thalweg_core::base::rng::Key;
use thalweg_core::declare::params::Parameters;
use thalweg_core::{Error, Result};
use thalweg_models::model::{MassBalance, Model, Role};
use thalweg_models::models;
use thalweg_models::models::droplets::Droplets;

/// Separates the random numbers of strokes from those of their stage.
const KEY: u64 = 0x7374_726f_6b65;

impl Run {
    /// Makes a stroke now, before the next step, and adds it to the running stage with the present step number, so
    /// that a build of the changed recipe gives the same bits. Strokes of the recipe that are due come first. If
    /// everything is done, the stroke is added to a stage of the model `manual` at the recipe's end, which is created
    /// if necessary; the run is done again after one more step. Returns the stroke's mass balance.
    ///
    /// # Errors
    /// Returns the errors of [`Stroke::check`] and [`Stroke::act`]; also if the next stage cannot begin, or the recipe
    /// has no room. The
    /// stroke is then neither made nor added.
    pub fn stroke(&mut self, stroke: Stroke) -> Result<MassBalance> {
        // A muted stage makes no strokes, so it is skipped; a refinement that is due is done first.
        while let Some(turn) = self.turns.get(self.turn) {
            match turn.stage.and_then(|stage| self.recipe.stages.get(stage)) {
                None => drop(self.step()?),
                Some(stage) if stage.muted => {
                    self.begin()?;
                    self.end();
                }
                Some(_) => break,
            }
        }
        let springs = self.stage_of(self.turn).is_some_and(Stage::takes_springs);
        stroke.check("stroke", &self.terrain.grid, springs)?;
        if self.is_done() {
            self.open_manual()?;
        }
        self.begin()?;
        self.make_strokes()?;
        let written = self.stage_of(self.turn).map_or(0, |stage| stage.strokes.len());
        if written >= MAX_STROKES {
            return Err(Error::value("strokes", written + 1, format!("up to {MAX_STROKES} per stage")));
        }
        let Some(Turn { stage: Some(number), pass, .. }) = self.turns.get(self.turn).copied() else {
            return Ok(MassBalance::default());
        };
        let stroke = Stroke { step: self.step, pass, ..stroke };
        let budget = self.make(&stroke)?;
        if let Some(stage) = self.recipe.stages.get_mut(number) {
            stage.strokes.push(stroke);
        }
        Ok(budget)
    }

    /// Makes strokes that are due now and would be made by the next step, until `strokes` of them have been made
    /// here.
    ///
    /// # Errors
    /// Returns the errors of [`Run::step`].
    pub(crate) fn catch_up(&mut self, strokes: usize) -> Result<()> {
        self.begin()?;
        self.make_due(strokes.saturating_sub(self.strokes)).map(drop)
    }

    /// Returns to the end of the last stage if that is one for strokes; otherwise adds such a stage.
    fn open_manual(&mut self) -> Result<()> {
        let is_manual = |last: &Stage| last.model.plays(Role::Strokes) && !last.muted;
        let last = self.turns.last().copied();
        if let Some((turn, stage)) =
            last.zip(self.stage_of(self.turns.len().saturating_sub(1))).filter(|(_, s)| is_manual(s))
        {
            let step = self.steps_of(turn);
            self.strokes = stage.strokes_at(turn.pass, step).count();
            (self.turn, self.step) = (self.turn - 1, step);
            return Ok(());
        }
        let stages = &self.recipe.stages;
        if stages.len() >= MAX_STAGES {
            return Err(Error::value("stages", stages.len() + 1, format!("up to {MAX_STAGES}")));
        }
        let model = models::playing(Role::Strokes)?;
        let label = self.recipe.free_label(model.about().name);
        self.recipe.stages.push(Stage { when: When::Last, ..Stage::new(label, model) });
        // It runs on the last level, and so at the end.
        self.turns = planned(&self.recipe, &self.grids)?;
        Ok(())
    }

    /// Makes the strokes of the present step that have not been made yet.
    pub(super) fn make_strokes(&mut self) -> Result<MassBalance> {
        self.make_due(usize::MAX)
    }

    /// Makes at most `most` of them.
    fn make_due(&mut self, most: usize) -> Result<MassBalance> {
        let Some(stage) = self.stage_of(self.turn).filter(|stage| !stage.muted) else {
            return Ok(MassBalance::default());
        };
        let pass = self.turns.get(self.turn).map_or(0, |turn| turn.pass);
        let due: Vec<Stroke> = stage.strokes_at(pass, self.step).skip(self.strokes).take(most).cloned().collect();
        due.iter().try_fold(MassBalance::default(), |mut sum, stroke| {
            sum += self.make(stroke)?;
            Ok(sum)
        })
    }

    /// Makes a stroke of the present step.
    fn make(&mut self, stroke: &Stroke) -> Result<MassBalance> {
        let clock = Clock::start();
        let label = self.stage_of(self.turn).map_or("", |stage| &stage.label);
        let key = Key::new(self.recipe.seed, label).and(KEY).and(self.step.into()).and(self.strokes as u64);
        // On a stage's first level the key does not include the pass.
        let key = if stroke.pass == 0 { key } else { key.and(stroke.pass.into()) };
        let droplets = self.droplets()?;
        let budget = stroke.act(&mut self.terrain, &Hand { droplets: &droplets, key })?;
        self.strokes += 1;
        // A stepper may have stored which cells are wet, or their elevations.
        self.stepper = None;
        if let Some(report) = self.reports.last_mut() {
            report.seconds += clock.seconds();
            report.budget += budget;
        }
        Ok(budget)
    }

    /// Returns the settings for droplets of user edits: those of the last stage of droplets up to now, or else the
    /// model's defaults.
    ///
    /// # Errors
    /// None for a checked recipe.
    pub fn droplets(&self) -> Result<Droplets> {
        let mut droplets = Droplets::default();
        let name = droplets.about().name;
        let stages = self.turns.iter().take(self.turn + 1).rev().filter_map(|turn| self.recipe.stages.get(turn.stage?));
        if let Some(stage) = stages.filter(|stage| !stage.muted).find(|stage| stage.model.plays(Role::Droplets)) {
            for param in droplets.declared() {
                if let Some(value) = stage.model.get(param.name) {
                    droplets.set(name, param.name, &value.into())?;
                }
            }
        }
        Ok(droplets)
    }
}
