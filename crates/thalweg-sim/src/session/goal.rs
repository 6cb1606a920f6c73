//! How far a session goes by itself.

use crate::session::{Position, Session};

/// What is still to be gone.
#[derive(Default)]
pub(super) struct Goal {
    /// To the end.
    end: bool,
    /// To where the run stood when its past was changed; and strokes that were made there.
    pub(super) place: Option<(Position, usize)>,
    /// So many steps from there on.
    pub(super) steps: Option<u32>,
}

impl Goal {
    /// Counts a step that was taken.
    pub(super) fn count(&mut self) {
        if self.place.is_none() {
            self.steps = self.steps.map(|steps| steps - 1).filter(|steps| *steps > 0);
        }
    }
}

impl Session {
    /// Goes on to the end from here on: as long as [`Session::is_going`], the face takes steps.
    pub fn play(&mut self) {
        self.goal = Goal { end: true, ..Goal::default() };
    }

    /// Goes on for `steps` steps; for 0 it stands.
    pub fn play_for(&mut self, steps: u32) {
        self.goal = Goal { steps: Some(steps).filter(|steps| *steps > 0), ..Goal::default() };
    }

    /// Goes on until that place is reached or passed; stands where it is already.
    pub fn play_until(&mut self, place: Position) {
        self.goal = Goal { place: Some((place, 0)).filter(|_| self.position() < place), ..Goal::default() };
    }

    /// Rests.
    pub fn pause(&mut self) {
        self.goal = Goal::default();
    }

    /// Whether there is a step to be taken: the session plays, and the run is not done. A session that plays goes on playing after
    /// its end, should something be added there.
    pub fn is_going(&self) -> bool {
        let Goal { end, place, steps } = &self.goal;
        (*end || place.is_some() || steps.is_some()) && !self.run.is_done()
    }

    /// Has the run come back to where it stood before its past was changed, or on from there? A session that plays on to the
    /// end has no need to.
    pub(super) fn come_back_to(&mut self, stood: (Position, usize)) {
        if self.goal.end {
            self.goal.place = None;
        } else if self.goal.place.is_none_or(|(known, _)| known <= stood.0) {
            // During a run back to where it stood, that place still counts.
            self.goal.place = Some(stood);
        }
    }

    /// Rests where that was the goal.
    pub(super) fn arrive(&mut self) {
        let done = self.run.is_done();
        if done {
            (self.goal.place, self.goal.steps) = (None, None);
        }
        let here = self.position();
        if let Some((place, strokes)) = self.goal.place.take_if(|(place, _)| here >= *place)
            && here == place
            && self.run.strokes < strokes
        {
            // As it stood there: with what was done by hand since the last step. What fails of it fails in the coming step, and is
            // said then.
            let _ = self.run.catch_up(strokes);
            self.version += 1;
        }
    }
}
