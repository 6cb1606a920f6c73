//! Changes of the recipe while it runs.

use crate::recipe::Recipe;
use crate::run::Run;
use crate::run::mark::Mark;
use crate::session::undo::{RecipeChange, StrokePosition};
use crate::session::{Position, Session};
use crate::sketch::SketchFeature;
use thalweg_core::Result;
use thalweg_core::declare::params::Written;

impl Session {
    /// Continues by an edited recipe, to the bits of a fresh run of it: immediately if the edit does not affect what
    /// has been done, otherwise from the last mark that agrees with it, or else from the start. A paused session then
    /// continues by itself to its previous position ([`Session::is_going`]). For example, after an edit of the last
    /// stage the run usually continues from the beginning of that stage.
    ///
    /// # Errors
    /// Returns an error, and changes nothing, if the recipe cannot begin, as [`Run::new`].
    ///
    /// # Examples
    /// ```
    /// use thalweg_models::models::shape::{Shape, ShapeKind};
    /// use thalweg_sim::recipe::Recipe;
    /// use thalweg_sim::session::Session;
    ///
    /// let plane = Shape { kind: ShapeKind::Plane, height: 100.0, tilt: 0.0, ..Shape::default() };
    /// let mut recipe = Recipe::with_single_stage(Box::new(plane), 1);
    /// recipe.set_extent([640.0, 640.0])?;
    /// recipe.cells = 32;
    /// let mut session = Session::new(recipe.clone())?;
    /// while session.take_step()?.is_some() {}
    /// recipe.set_parameter("shape", "height", &50.0.into())?;
    /// session.edit(recipe)?;
    /// // The session returns to its former position, here the end.
    /// while session.is_going() {
    ///     session.take_step()?;
    /// }
    /// assert_eq!(session.terrain().ground[(0, 0)].metres(), 50.0);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn edit(&mut self, recipe: Recipe) -> Result<()> {
        let (before, stood) = (self.run.recipe().clone(), self.return_position());
        self.continue_from(&self.run.save_mark(), recipe, stood, true)?;
        self.acts.push(RecipeChange::Recipe(Box::new(before), stood));
        Ok(())
    }

    /// Like [`Session::edit`], except that parameters of the running stage, if nothing else is changed, take effect
    /// from the next step on, so that a user can change them and watch the effect. A fresh run of the recipe then has
    /// another result, and the stage's report lists the changes. For example, a user can turn up the rain of a stage
    /// and watch the rivers grow.
    ///
    /// # Errors
    /// Returns the errors of [`Session::edit`].
    pub fn edit_live(&mut self, recipe: Recipe) -> Result<()> {
        let (before, stood) = (self.run.recipe().clone(), self.return_position());
        let here = self.run.save_mark();
        if !self.change_live_parameters(&recipe, &here)? {
            self.continue_from(&here, recipe, stood, false)?;
        }
        self.acts.push(RecipeChange::Recipe(Box::new(before), stood));
        Ok(())
    }

    /// Draws a ridge, a river, a coast or a height ([`Recipe::draw`]). This is an edit after which the run begins
    /// again.
    ///
    /// # Errors
    /// Returns the errors of [`Recipe::draw`] and [`Session::edit`]. Nothing is changed then.
    pub fn draw(&mut self, feature: SketchFeature) -> Result<()> {
        let mut recipe = self.run.recipe().clone();
        recipe.draw(feature, &self.run.terrain().grid)?;
        self.edit(recipe)
    }

    /// Removes the feature with this index, from 0, from the sketch ([`Recipe::erase`]); like [`Session::draw`].
    ///
    /// # Errors
    /// Returns the errors of [`Recipe::erase`] and [`Session::edit`].
    pub fn erase(&mut self, number: usize) -> Result<()> {
        let mut recipe = self.run.recipe().clone();
        recipe.erase(number, &self.run.terrain().grid)?;
        self.edit(recipe)
    }

    /// Continues from `here`, the present state of the run, or from as far back as necessary. A paused session
    /// returns to its previous position, with the same number of strokes made there.
    pub(super) fn continue_from(
        &mut self,
        here: &Mark,
        recipe: Recipe,
        stood: StrokePosition,
        to_the_bit: bool,
    ) -> Result<()> {
        // Where the margin has been cut away, the position before that is not the end of a recipe with another stage.
        let was_closed = self.run.is_done() && self.run.is_past_strokes();
        // The present state belongs to the new recipe as well: the run goes on from here.
        if here.is_consistent_with(&recipe) && !(to_the_bit && here.is_turned()) {
            self.marks.discard_inconsistent(&recipe);
            self.run = Run::from_mark(recipe, here)?;
        } else {
            match self.marks.find_last_consistent(&recipe, to_the_bit) {
                // Otherwise it goes back to the last mark whose past the new recipe shares.
                Some((number, mark)) => {
                    self.run = Run::from_mark(recipe, mark)?;
                    self.record_ground_change();
                    self.marks.continue_from_mark(number, self.version);
                    self.review_before();
                }
                None => self.start_run(recipe)?,
            }
        }
        self.return_to_position(if was_closed { self.end_position() } else { stood });
        self.pause_at_goal();
        Ok(())
    }

    /// Returns the position of the run when everything is done.
    pub(super) fn end_position(&self) -> StrokePosition {
        StrokePosition { place: Position { turn: self.run.turns().len(), step: 0 }, strokes: 0 }
    }

    /// Returns the run's position, and the number of strokes made there.
    pub(super) fn position_and_strokes(&self) -> StrokePosition {
        StrokePosition { place: self.position(), strokes: self.run.strokes }
    }

    /// Returns the same for the position to which it is returning, if it is on its way there.
    pub(super) fn return_position(&self) -> StrokePosition {
        let here = self.position_and_strokes();
        self.goal.place.filter(|goal| goal.place > here.place).unwrap_or(here)
    }

    /// Changes parameters of the running stage if only these differ; returns true if that is so.
    fn change_live_parameters(&mut self, recipe: &Recipe, here: &Mark) -> Result<bool> {
        let place = self.position();
        let before = self.run.recipe().clone();
        let mut trial = before.clone();
        let number = self.run.turns().get(place.turn).and_then(|turn| turn.stage);
        let stages = number.and_then(|number| Some((trial.stages.get_mut(number)?, recipe.stages.get(number)?)));
        let Some((old, new)) = stages.filter(|_| place.step > 0 && !here.is_consistent_with(recipe)) else {
            return Ok(false);
        };
        let (label, owner) = (old.label.clone(), old.model.about().name);
        let mut changed = Vec::new();
        for param in new.model.declared() {
            if let Some(value) = new.model.get(param.name).filter(|value| old.model.get(param.name) != Some(*value)) {
                if old.model.set(owner, param.name, &value.into()).is_err() {
                    return Ok(false);
                }
                changed.push((param.name, Written::from(value)));
            }
        }
        // With these parameters equal, the recipes must agree in everything that was done so far.
        if !trial.leads_to_same_state(recipe, place.turn, place.step) {
            return Ok(false);
        }
        // A value that leaves the stage no more steps needs a run from the stage's start.
        let set = changed.iter().try_for_each(|(name, value)| self.run.set_parameter(&label, name, value));
        let turned = self.run.save_mark();
        if set.is_ok()
            && turned.is_consistent_with(recipe)
            && let Ok(run) = Run::from_mark(recipe.clone(), &turned)
        {
            self.run = run;
            self.marks.discard_later_marks();
            return Ok(true);
        }
        // A part of the parameters may have been set before one failed; the state before the attempt is restored.
        self.run = Run::from_mark(before, here)?;
        Ok(false)
    }
}
