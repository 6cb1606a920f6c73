//! Changes of the recipe while it runs.

use crate::recipe::Recipe;
use crate::run::Run;
use crate::run::mark::Mark;
use crate::session::undo::Change;
use crate::session::{Position, Session};
use crate::sketch::SketchFeature;
use thalweg_core::Result;
use thalweg_core::declare::params::Written;

impl Session {
    /// Continues by an edited recipe, to the bits of a fresh run of it: immediately if the edit does not affect what
    /// has been done, otherwise from the last mark that agrees with it, or else from the start. A paused session then
    /// continues by itself to its previous position ([`Session::is_going`]).
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
    /// let mut recipe = Recipe::single(Box::new(plane), 1);
    /// recipe.set_extent([640.0, 640.0])?;
    /// recipe.cells = 32;
    /// let mut session = Session::new(recipe.clone())?;
    /// while session.step()?.is_some() {}
    /// recipe.set("shape", "height", &50.0.into())?;
    /// session.edit(recipe)?;
    /// // The session returns to its former position, here the end.
    /// while session.is_going() {
    ///     session.step()?;
    /// }
    /// assert_eq!(session.terrain().ground[(0, 0)].metres(), 50.0);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn edit(&mut self, recipe: Recipe) -> Result<()> {
        let (before, stood) = (self.run.recipe().clone(), self.stood());
        self.go_on(&self.run.mark(), recipe, stood, true)?;
        self.acts.push(Change::Recipe(Box::new(before), stood));
        Ok(())
    }

    /// Like [`Session::edit`], except that parameters of the running stage, if nothing else is changed, take effect
    /// from the next step on, so that a user can change them and watch the effect. A fresh run of the recipe then has
    /// another result, and the stage's report lists the changes.
    ///
    /// # Errors
    /// Returns the errors of [`Session::edit`].
    pub fn edit_live(&mut self, recipe: Recipe) -> Result<()> {
        let (before, stood) = (self.run.recipe().clone(), self.stood());
        let here = self.run.mark();
        if !self.turn(&recipe, &here)? {
            self.go_on(&here, recipe, stood, false)?;
        }
        self.acts.push(Change::Recipe(Box::new(before), stood));
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
    pub(super) fn go_on(
        &mut self,
        here: &Mark,
        recipe: Recipe,
        stood: (Position, usize),
        to_the_bit: bool,
    ) -> Result<()> {
        if here.agrees(&recipe) && !(to_the_bit && here.is_turned()) {
            self.marks.leave_others(&recipe);
            self.run = Run::from_mark(recipe, here)?;
        } else {
            match self.marks.agreeing(&recipe, to_the_bit) {
                Some((number, mark)) => {
                    self.run = Run::from_mark(recipe, mark)?;
                    self.ground_is_another();
                    self.marks.go_on_from(number, self.version);
                    self.review_before();
                }
                None => self.start(recipe)?,
            }
        }
        self.come_back_to(stood);
        self.arrive();
        Ok(())
    }

    /// Returns the run's position, and the number of strokes made there.
    pub(super) fn stands(&self) -> (Position, usize) {
        (self.position(), self.run.strokes)
    }

    /// Returns the same for the position to which it is returning, if it is on its way there.
    pub(super) fn stood(&self) -> (Position, usize) {
        let here = self.stands();
        self.goal.place.filter(|(place, _)| *place > here.0).unwrap_or(here)
    }

    /// Changes parameters of the running stage if only these differ; returns true if that is so.
    fn turn(&mut self, recipe: &Recipe, here: &Mark) -> Result<bool> {
        let place = self.position();
        let before = self.run.recipe().clone();
        let mut trial = before.clone();
        let number = self.run.turns().get(place.turn).and_then(|turn| turn.stage);
        let stages = number.and_then(|number| Some((trial.stages.get_mut(number)?, recipe.stages.get(number)?)));
        let Some((old, new)) = stages.filter(|_| place.step > 0 && !here.agrees(recipe)) else { return Ok(false) };
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
        if !trial.same_until(recipe, place.turn, place.step) {
            return Ok(false);
        }
        // A value that leaves the stage no more steps needs a run from the stage's start.
        let set = changed.iter().try_for_each(|(name, value)| self.run.set(&label, name, value));
        let turned = self.run.mark();
        if set.is_ok()
            && turned.agrees(recipe)
            && let Ok(run) = Run::from_mark(recipe.clone(), &turned)
        {
            self.run = run;
            self.marks.leave();
            return Ok(true);
        }
        self.run = Run::from_mark(before, here)?;
        Ok(false)
    }
}
