//! States of a run to which it can return, within a memory limit.

use crate::recipe::Recipe;
use crate::run::Run;
use crate::run::mark::Mark;
use crate::session::{Position, Session};
use thalweg_core::{Error, Result};

/// A mark in the list.
struct Kept {
    mark: Mark,
    /// Version of its terrain.
    version: u64,
    /// Steps of the run before it.
    steps: u64,
}

/// Marks in the order of the run.
pub(super) struct Marks {
    kept: Vec<Kept>,
    /// Index of the mark to which the run returned, while nothing has been done since: later marks are still
    /// available.
    at: Option<usize>,
    /// Bytes that they take, and their limit.
    held: u64,
    most: u64,
}

fn place(kept: &Kept) -> Position {
    Position { turn: kept.mark.turn(), step: kept.mark.step() }
}

impl Marks {
    pub(super) fn new(most: u64) -> Self {
        Self { kept: Vec::new(), at: None, held: 0, most }
    }

    pub(super) fn clear(&mut self) {
        self.cut(0);
    }

    /// Something is done: marks after the one to which the run returned belong to another run.
    pub(super) fn leave(&mut self) {
        if let Some(number) = self.at {
            self.cut(number + 1);
        }
    }

    /// The run continues by another recipe from the mark to which it returned: of the marks after it, those that
    /// agree with the recipe stay.
    pub(super) fn leave_others(&mut self, recipe: &Recipe) {
        while let Some(at) = self.at.filter(|at| at + 1 < self.kept.len()) {
            if self.kept.last().is_none_or(|last| last.mark.agrees(recipe)) {
                return;
            }
            self.cut(self.kept.len() - 1);
            self.at = Some(at);
        }
    }

    fn cut(&mut self, count: usize) {
        self.at = None;
        self.kept.truncate(count);
        self.held = self.kept.iter().map(|kept| kept.mark.bytes()).sum();
    }

    /// Returns true if the run is at a mark with this version of the terrain, after which the next would be added.
    pub(super) fn has(&self, version: u64) -> bool {
        let here = self.at.or(self.kept.len().checked_sub(1));
        here.and_then(|here| self.kept.get(here)).is_some_and(|kept| kept.version == version)
    }

    /// Adds a mark after the others, for a run that has taken `steps` steps.
    pub(super) fn push(&mut self, mark: Mark, version: u64, steps: u64) {
        self.leave();
        self.held += mark.bytes();
        self.kept.push(Kept { mark, version, steps });
        self.thin();
    }

    /// Removes marks while they take too much memory; the first and the last one stay. It removes the mark without
    /// which the gap in steps between its neighbours is smallest, and one within a stage as long as there are such:
    /// marks therefore stay spread over the run.
    fn thin(&mut self) {
        while self.held > self.most && self.kept.len() > 2 {
            let gap = |number: usize| self.kept[number + 1].steps - self.kept[number - 1].steps;
            let inner = 1..self.kept.len() - 1;
            let Some(number) = inner.min_by_key(|number| (self.kept[*number].mark.step() == 0, gap(*number))) else {
                return;
            };
            self.held -= self.kept.remove(number).mark.bytes();
        }
    }

    /// Returns the last mark from which a run by `recipe` may continue, with its index. If it is to lead to the bits
    /// of a fresh run (`to_the_bit`), marks after a parameter change during a stage do not count.
    pub(super) fn agreeing(&self, recipe: &Recipe, to_the_bit: bool) -> Option<(usize, &Mark)> {
        let agrees = |kept: &Kept| kept.mark.agrees(recipe) && !(to_the_bit && kept.mark.is_turned());
        let number = self.kept.iter().rposition(agrees)?;
        self.kept.get(number).map(|kept| (number, &kept.mark))
    }

    /// The run continues from a mark by another recipe: later marks belong to another run.
    pub(super) fn go_on_from(&mut self, number: usize, version: u64) {
        self.cut(number + 1);
        self.stand_at(number, version);
    }

    /// The run is at a mark, whose terrain has this version from now on.
    fn stand_at(&mut self, number: usize, version: u64) {
        if let Some(kept) = self.kept.get_mut(number) {
            kept.version = version;
        }
    }
}

impl Session {
    /// Keeps a mark of the present state of the run: a copy of its terrain. A user interface calls this at the
    /// interval at which it wants to be able to go back, for example every two seconds; every turn's start has a mark
    /// anyway. If marks take too much memory, others are removed.
    pub fn keep(&mut self) {
        if !self.marks.has(self.version) {
            self.marks.push(self.run.mark(), self.version, self.run.steps()[0]);
        }
    }

    /// Limits the bytes that marks take. The first and the last mark always stay, so the true limit is the greater of
    /// this and the size of those two.
    pub fn set_memory(&mut self, bytes: u64) {
        self.marks.most = bytes;
        self.marks.thin();
    }

    /// Returns the number of bytes that marks take.
    pub fn memory(&self) -> u64 {
        self.marks.held
    }

    /// Returns the positions of the marks, in the order of the run; the first is its start.
    pub fn marks(&self) -> impl ExactSizeIterator<Item = Position> {
        self.marks.kept.iter().map(place)
    }

    /// Goes to the mark at that position, or to the last one before it, and pauses; returns its position. Later marks
    /// stay available until something is done.
    ///
    /// # Errors
    /// Returns an error, and changes nothing, if the position is before the first mark; also as [`Run::from_mark`].
    pub fn go_to(&mut self, to: Position) -> Result<Position> {
        let number = self.marks.kept.iter().rposition(|kept| place(kept) <= to);
        let number = number.ok_or_else(|| {
            Error::value("place", format!("{to:?}"), "the position of the first mark, or a later one")
        })?;
        self.run = Run::from_mark(self.run.recipe().clone(), &self.marks.kept[number].mark)?;
        self.pause();
        self.ground_is_another();
        self.marks.stand_at(number, self.version);
        self.marks.at = Some(number);
        self.review_before();
        Ok(self.position())
    }
}
