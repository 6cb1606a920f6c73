//! Undo and redo of edits and strokes.

use crate::recipe::strokes::Stroke;
use crate::recipe::{Recipe, Stage};
use crate::session::{Position, Session};
use thalweg_core::Result;

/// The most actions that can be undone.
const MAX_UNDO_ACTIONS: usize = 1000;

/// A change of the recipe that undoes or redoes an action.
pub(super) enum RecipeChange {
    /// Change to another recipe, with the position of the run by it.
    Recipe(Box<Recipe>, StrokePosition),
    /// Remove the last strokes of a stage, and the stage too if it was added for them.
    Take { at: StrokePlace, strokes: usize, with_stage: bool },
    /// Add them.
    Put { at: StrokePlace, strokes: Vec<Stroke>, added: Option<Box<Stage>> },
}

/// A position of the run within its strokes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StrokePosition {
    pub(super) place: Position,
    /// Number of strokes made there.
    pub(super) strokes: usize,
}

/// Where strokes were made.
#[derive(Clone, Copy)]
pub(super) struct StrokePlace {
    /// The index of their stage.
    pub(super) stage: usize,
    /// The position of the run.
    pub(super) place: Position,
    /// Number of strokes made there before them, and including them.
    pub(super) count: [usize; 2],
}

impl RecipeChange {
    /// Changes a recipe, by which the run is at `here`; returns the change that reverses this.
    fn apply(self, recipe: &mut Recipe, here: StrokePosition) -> Self {
        match self {
            Self::Recipe(other, _) => Self::Recipe(Box::new(std::mem::replace(recipe, *other)), here),
            Self::Take { at, strokes, with_stage } => {
                // Strokes are appended to a stage, so the last ones are those of the action.
                let made = recipe.stages.get_mut(at.stage).map(|stage| &mut stage.strokes);
                let strokes = made.map_or_else(Vec::new, |made| made.split_off(made.len().saturating_sub(strokes)));
                let added = with_stage.then(|| Box::new(recipe.stages.remove(at.stage)));
                Self::Put { at, strokes, added }
            }
            Self::Put { at, strokes, added } => {
                let undo = Self::Take { at, strokes: strokes.len(), with_stage: added.is_some() };
                added.into_iter().for_each(|added| recipe.stages.insert(at.stage, *added));
                recipe
                    .stages
                    .get_mut(at.stage)
                    .into_iter()
                    .for_each(|stage| stage.strokes.extend(strokes.iter().cloned()));
                undo
            }
        }
    }

    /// Returns the position to which a run at `here` returns, with the number of strokes to be made there.
    fn position_after(&self, here: StrokePosition) -> StrokePosition {
        match self {
            Self::Recipe(_, stood) if stood.place == here.place => *stood,
            Self::Take { at, .. } if at.place == here.place => StrokePosition { place: at.place, strokes: at.count[0] },
            Self::Put { at, .. } if at.place >= here.place => StrokePosition { place: at.place, strokes: at.count[1] },
            _ => here,
        }
    }
}

/// The changes that undo the actions of a session, and those that redo undone ones; the last action is the last item.
#[derive(Default)]
pub(super) struct Acts {
    done: Vec<RecipeChange>,
    undone: Vec<RecipeChange>,
}

impl Acts {
    /// Records an action, which `undo` reverses.
    pub(super) fn push(&mut self, undo: RecipeChange) {
        // After a new action, undone ones no longer fit the recipe.
        self.undone.clear();
        if self.done.len() >= MAX_UNDO_ACTIONS {
            self.done.remove(0);
        }
        self.done.push(undo);
    }

    /// Records a stroke, and whether its stage was added for it. It becomes part of the last action if `is_part`, and
    /// that was a stroke in the same stage.
    pub(super) fn push_stroke(&mut self, made: StrokePlace, is_added: bool, is_part: bool) {
        if let Some(RecipeChange::Take { at, strokes, .. }) =
            self.done.last_mut().filter(|_| is_part && self.undone.is_empty())
            && at.stage == made.stage
        {
            *strokes += 1;
            // The run may have gone on since the first part.
            if at.place == made.place {
                at.count[1] = made.count[1];
            }
        } else {
            self.push(RecipeChange::Take { at: made, strokes: 1, with_stage: is_added });
        }
    }
}

impl Session {
    /// Undoes the last edit or stroke, as if it had never been made; returns false if there is nothing to undo. The
    /// run returns to the last mark before it. A paused session then continues by itself to its previous position
    /// ([`Session::is_going`]). The last thousand actions can be undone.
    ///
    /// # Errors
    /// Returns an error, and changes nothing, if the previous recipe cannot begin any more, for example because a
    /// file is missing.
    ///
    /// # Examples
    /// ```
    /// use thalweg_sim::recipe::Recipe;
    /// use thalweg_sim::recipe::strokes::{Stroke, Tool};
    /// use thalweg_sim::session::Session;
    ///
    /// let mut session = Session::new(Recipe::parse("extent = [640.0, 640.0]\ncells = 32\n")?)?;
    /// session.add_stroke(Stroke::new(Tool::Raise, vec![[320.0, 320.0].into()]))?;
    /// assert!(session.terrain().sum_solid() > 0);
    /// assert!(session.undo()?);
    /// assert_eq!(session.terrain().sum_solid(), 0);
    /// // There is nothing else to undo.
    /// assert!(!session.undo()?);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn undo(&mut self) -> Result<bool> {
        let Some(change) = self.acts.done.pop() else { return Ok(false) };
        let (done, back) = self.apply_change(change);
        if done.is_ok() {
            self.acts.undone.push(back)
        } else {
            self.acts.done.push(back)
        }
        done.map(|()| true)
    }

    /// Redoes the action that was undone last; returns false if there is none.
    ///
    /// # Errors
    /// Returns the errors of [`Session::undo`].
    pub fn redo(&mut self) -> Result<bool> {
        let Some(change) = self.acts.undone.pop() else { return Ok(false) };
        let (done, back) = self.apply_change(change);
        if done.is_ok() {
            self.acts.done.push(back)
        } else {
            self.acts.undone.push(back)
        }
        done.map(|()| true)
    }

    /// Continues by the changed recipe. Returns the change that reverses it or, if it failed, the change itself.
    fn apply_change(&mut self, change: RecipeChange) -> (Result<()>, RecipeChange) {
        let mut recipe = self.run.recipe().clone();
        let here = self.return_position();
        let stood = change.position_after(here);
        let back = change.apply(&mut recipe, here);
        // All strokes are in the recipe, so none has to be merged into the next one.
        self.user_edits.forget();
        match self.continue_from(&self.run.save_mark(), recipe.clone(), stood, false) {
            Ok(()) => (Ok(()), back),
            Err(error) => (Err(error), back.apply(&mut recipe, stood)),
        }
    }
}
