//! How far a session runs by itself.

use crate::session::undo::StrokePosition;
use crate::session::{Position, Session};

/// The remaining goals.
#[derive(Default)]
pub(super) struct Goal {
    /// Run to the end.
    end: bool,
    /// Run to the position before the edit, and make the strokes that had been made there.
    pub(super) place: Option<StrokePosition>,
    /// Run this number of steps from there on.
    pub(super) steps: Option<u32>,
}

impl Goal {
    /// Counts a step that was taken.
    pub(super) fn count_step(&mut self) {
        // Steps of a return to an earlier position are not counted.
        if self.place.is_none() {
            self.steps = self.steps.map(|steps| steps - 1).filter(|steps| *steps > 0);
        }
    }
}

impl Session {
    /// Plays to the end: as long as [`Session::is_going`], the user interface takes steps.
    pub fn play(&mut self) {
        self.goal = Goal { end: true, ..Goal::default() };
    }

    /// Plays `steps` steps; 0 pauses. For example, a button for single steps plays 1.
    pub fn play_for(&mut self, steps: u32) {
        self.goal = Goal { steps: Some(steps).filter(|steps| *steps > 0), ..Goal::default() };
    }

    /// Plays until that position is reached or passed; pauses if it is reached already.
    pub fn play_until(&mut self, place: Position) {
        self.goal = Goal {
            place: Some(StrokePosition { place, strokes: 0 }).filter(|_| self.position() < place),
            ..Goal::default()
        };
    }

    /// Pauses.
    pub fn pause(&mut self) {
        self.goal = Goal::default();
    }

    /// Returns true if there is a step to take: the session plays, and the run is not done. A session that plays to
    /// the end continues if something is added there later.
    pub fn is_going(&self) -> bool {
        let Goal { end, place, steps } = &self.goal;
        (*end || place.is_some() || steps.is_some()) && !self.run.is_done()
    }

    /// Makes the run return to its position before an edit of what had been done, unless the session plays to the
    /// end, which includes it.
    pub(super) fn return_to_position(&mut self, stood: StrokePosition) {
        if self.goal.end {
            self.goal.place = None;
        } else if self.goal.place.is_none_or(|known| known.place <= stood.place) {
            // During a return to an earlier goal, the farther position still counts.
            self.goal.place = Some(stood);
        }
    }

    /// Pauses if this was the goal.
    pub(super) fn pause_at_goal(&mut self) {
        let done = self.run.is_done();
        if done {
            (self.goal.place, self.goal.steps) = (None, None);
        }
        let here = self.position();
        if let Some(StrokePosition { place, strokes }) = self.goal.place.take_if(|goal| here >= goal.place)
            && here == place
            && self.run.strokes < strokes
        {
            // Restore the state there, with the user edits since the last step. If one of them fails, it fails again
            // in the next step and is reported then.
            let _ = self.run.make_missed_strokes(strokes);
            self.version += 1;
        }
    }
}
