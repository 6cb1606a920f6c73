//! States of a run to which it can return, within a memory limit.

use crate::recipe::Recipe;
use crate::run::Run;
use crate::run::mark::Mark;
use crate::session::{Position, Session};
use thalweg_core::{Error, Result};

/// A mark in the list.
struct StoredMark {
    mark: Mark,
    /// Version of its terrain.
    version: u64,
    /// Steps of the run before it.
    steps: u64,
}

/// Marks in the order of the run.
pub(super) struct MarkHistory {
    kept: Vec<StoredMark>,
    /// Index of the mark to which the run returned, while nothing has been done since: later marks are still
    /// available.
    at: Option<usize>,
    /// Bytes that they take, and their limit.
    bytes: u64,
    most: u64,
}

fn mark_position(kept: &StoredMark) -> Position {
    Position { turn: kept.mark.turn(), step: kept.mark.step() }
}

impl MarkHistory {
    pub(super) fn new(most: u64) -> Self {
        Self { kept: Vec::new(), at: None, bytes: 0, most }
    }

    pub(super) fn clear(&mut self) {
        self.truncate_to(0);
    }

    /// Discards the marks after the one to which the run returned: once something is done, they belong to another run.
    pub(super) fn discard_later_marks(&mut self) {
        if let Some(number) = self.at {
            self.truncate_to(number + 1);
        }
    }

    /// Discards marks from the end of the list until one agrees with the recipe by which the run continues, but none
    /// up to the mark to which it returned.
    pub(super) fn discard_inconsistent(&mut self, recipe: &Recipe) {
        while let Some(at) = self.at.filter(|at| at + 1 < self.kept.len()) {
            if self.kept.last().is_none_or(|last| last.mark.is_consistent_with(recipe)) {
                return;
            }
            self.truncate_to(self.kept.len() - 1);
            self.at = Some(at);
        }
    }

    fn truncate_to(&mut self, count: usize) {
        self.at = None;
        self.kept.truncate(count);
        self.bytes = self.kept.iter().map(|kept| kept.mark.bytes()).sum();
    }

    /// Returns true if the run is at a mark with this version of the terrain, after which the next would be added.
    pub(super) fn has(&self, version: u64) -> bool {
        let here = self.at.or(self.kept.len().checked_sub(1));
        here.and_then(|here| self.kept.get(here)).is_some_and(|kept| kept.version == version)
    }

    /// Adds a mark after the others, for a run that has taken `steps` steps.
    pub(super) fn push(&mut self, mark: Mark, version: u64, steps: u64) {
        self.discard_later_marks();
        self.bytes += mark.bytes();
        self.kept.push(StoredMark { mark, version, steps });
        self.thin();
    }

    /// Removes marks while they take too much memory; the first and the last one stay. It removes the mark without
    /// which the gap in steps between its neighbours is smallest, and one within a stage as long as there are such:
    /// marks therefore stay spread over the run.
    fn thin(&mut self) {
        while self.bytes > self.most && self.kept.len() > 2 {
            let gap = |number: usize| self.kept[number + 1].steps - self.kept[number - 1].steps;
            let inner = 1..self.kept.len() - 1;
            // `false` is less than `true`, so marks within a stage are removed before those at the start of one.
            let Some(number) = inner.min_by_key(|number| (self.kept[*number].mark.step() == 0, gap(*number))) else {
                return;
            };
            self.bytes -= self.kept.remove(number).mark.bytes();
            // The indices after the removed mark shrink by one. If the run had returned to that very mark, the marks
            // after it are still those that it may go on to.
            self.at = self.at.map(|at| if at >= number { at - 1 } else { at });
        }
    }

    /// Returns the last mark from which a run by `recipe` may continue, with its index. If it is to lead to the bits
    /// of a fresh run (`to_the_bit`), marks after a parameter change during a stage do not count.
    pub(super) fn find_last_consistent(&self, recipe: &Recipe, to_the_bit: bool) -> Option<(usize, &Mark)> {
        let agrees = |kept: &StoredMark| kept.mark.is_consistent_with(recipe) && !(to_the_bit && kept.mark.is_turned());
        let number = self.kept.iter().rposition(agrees)?;
        self.kept.get(number).map(|kept| (number, &kept.mark))
    }

    /// Returns the last mark at a position, with its index.
    pub(super) fn find_last_at(&self, place: Position) -> Option<(usize, &Mark)> {
        let number = self.kept.iter().rposition(|kept| mark_position(kept) == place)?;
        self.kept.get(number).map(|kept| (number, &kept.mark))
    }

    /// Discards the marks after this one.
    pub(super) fn discard_after(&mut self, number: usize) {
        self.truncate_to(number + 1);
    }

    /// Discards the marks after the one from which the run continues by another recipe: they belong to another run.
    pub(super) fn continue_from_mark(&mut self, number: usize, version: u64) {
        self.truncate_to(number + 1);
        self.set_mark_version(number, version);
    }

    /// Records that the run is at a mark, whose terrain has this version from now on.
    fn set_mark_version(&mut self, number: usize, version: u64) {
        if let Some(kept) = self.kept.get_mut(number) {
            kept.version = version;
        }
    }
}

impl Session {
    /// Keeps a mark of the present state of the run: a copy of its terrain. A user interface calls this at the
    /// interval at which it wants to be able to go back, for example every two seconds; every turn's start has a mark
    /// anyway. If marks take too much memory, others are removed.
    pub fn record_mark(&mut self) {
        if !self.marks.has(self.version) {
            self.marks.push(self.run.save_mark(), self.version, self.run.steps()[0]);
        }
    }

    /// Limits the bytes that marks take. The first and the last mark always stay, so the true limit is the greater of
    /// this and the size of those two. For example, `1 << 30` allows 1 GiB.
    pub fn set_memory(&mut self, bytes: u64) {
        self.marks.most = bytes;
        self.marks.thin();
    }

    /// Returns the number of bytes that marks take.
    pub fn mark_bytes(&self) -> u64 {
        self.marks.bytes
    }

    /// Returns the positions of the marks, in the order of the run; the first is its start.
    pub fn marks(&self) -> impl ExactSizeIterator<Item = Position> {
        self.marks.kept.iter().map(mark_position)
    }

    /// Goes to the mark at that position, or to the last one before it, and pauses; returns its position. Later marks
    /// stay available until something is done.
    ///
    /// # Errors
    /// Returns an error, and changes nothing, if the position is before the first mark; also returns the errors of
    /// [`Run::from_mark`].
    pub fn return_to_mark(&mut self, to: Position) -> Result<Position> {
        let number = self.marks.kept.iter().rposition(|kept| mark_position(kept) <= to);
        let number = number.ok_or_else(|| {
            let place = format!("turn {}, step {}", to.turn, to.step);
            Error::invalid_value("place", place, "the position of the first mark, or a later one")
        })?;
        self.run = Run::from_mark(self.run.recipe().clone(), &self.marks.kept[number].mark)?;
        self.pause();
        self.record_ground_change();
        self.marks.set_mark_version(number, self.version);
        self.marks.at = Some(number);
        self.review_before();
        Ok(self.position())
    }
}
