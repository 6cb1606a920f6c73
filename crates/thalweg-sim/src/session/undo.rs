//! What was done, so that it can be undone and done again.

use crate::recipe::strokes::Stroke;
use crate::recipe::{Recipe, Stage};
use crate::session::{Position, Session};
use thalweg_core::Result;

/// Acts that can be undone at most.
const MOST: usize = 1000;

/// What undoes an act, or does it again, as a change of the recipe.
pub(super) enum Change {
    /// To another recipe, by which the run stood there, with so many strokes made.
    Recipe(Box<Recipe>, (Position, usize)),
    /// The last strokes of a stage go, and the stage with them if it was added for them.
    Take { at: Made, strokes: usize, with_stage: bool },
    /// They come.
    Put { at: Made, strokes: Vec<Stroke>, added: Option<Box<Stage>> },
}

/// Where strokes were made.
#[derive(Clone, Copy)]
pub(super) struct Made {
    /// The number of their stage.
    pub(super) stage: usize,
    /// Where the run stood.
    pub(super) place: Position,
    /// Strokes made there before them, and with them.
    pub(super) count: [usize; 2],
}

impl Change {
    /// Changes a recipe, by which the run stands `here`; what changes it back is returned.
    fn apply(self, recipe: &mut Recipe, here: (Position, usize)) -> Self {
        match self {
            Self::Recipe(other, _) => Self::Recipe(Box::new(std::mem::replace(recipe, *other)), here),
            Self::Take { at, strokes, with_stage } => {
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

    /// Where a run that stands at `here` comes back to, and with how many strokes made there.
    fn stand(&self, here: (Position, usize)) -> (Position, usize) {
        match self {
            Self::Recipe(_, stood) if stood.0 == here.0 => *stood,
            Self::Take { at, .. } if at.place == here.0 => (at.place, at.count[0]),
            Self::Put { at, .. } if at.place >= here.0 => (at.place, at.count[1]),
            _ => here,
        }
    }
}

/// What undoes the acts of a session, and what does again those that were undone; the last act is the last.
#[derive(Default)]
pub(super) struct Acts {
    done: Vec<Change>,
    undone: Vec<Change>,
}

impl Acts {
    /// An act was done, which this undoes.
    pub(super) fn push(&mut self, undo: Change) {
        self.undone.clear();
        if self.done.len() >= MOST {
            self.done.remove(0);
        }
        self.done.push(undo);
    }

    /// A stroke was made, in a stage that was added for it or not, as a part of the last act if that was a stroke there.
    pub(super) fn push_stroke(&mut self, made: Made, is_added: bool, is_part: bool) {
        if let Some(Change::Take { at, strokes, .. }) =
            self.done.last_mut().filter(|_| is_part && self.undone.is_empty())
            && (at.stage, at.place) == (made.stage, made.place)
        {
            *strokes += 1;
            at.count[1] = made.count[1];
        } else {
            self.push(Change::Take { at: made, strokes: 1, with_stage: is_added });
        }
    }
}

impl Session {
    /// Undoes the last edit or stroke, as if it had never been; false where nothing is left to undo. The run goes back to the last
    /// mark before it. A session at rest then goes on by itself to where it stood ([`Session::is_going`]). The last thousand acts
    /// can be undone.
    ///
    /// # Errors
    /// When the recipe as it was cannot begin any more, say because a file has gone. Nothing is changed then.
    pub fn undo(&mut self) -> Result<bool> {
        let Some(change) = self.acts.done.pop() else { return Ok(false) };
        let (done, back) = self.walk(change);
        if done.is_ok() {
            self.acts.undone.push(back)
        } else {
            self.acts.done.push(back)
        }
        done.map(|()| true)
    }

    /// Does again what was undone last; false where there is nothing.
    ///
    /// # Errors
    /// As [`Session::undo`].
    pub fn redo(&mut self) -> Result<bool> {
        let Some(change) = self.acts.undone.pop() else { return Ok(false) };
        let (done, back) = self.walk(change);
        if done.is_ok() {
            self.acts.done.push(back)
        } else {
            self.acts.undone.push(back)
        }
        done.map(|()| true)
    }

    /// Goes on by the changed recipe. What changes it back is returned, or, where that failed, the change again.
    fn walk(&mut self, change: Change) -> (Result<()>, Change) {
        let mut recipe = self.run.recipe().clone();
        let here = self.stood();
        let stood = change.stand(here);
        let back = change.apply(&mut recipe, here);
        self.hand.forget();
        match self.go_on(&self.run.mark(), recipe.clone(), stood, false) {
            Ok(()) => (Ok(()), back),
            Err(error) => (Err(error), back.apply(&mut recipe, stood)),
        }
    }
}
