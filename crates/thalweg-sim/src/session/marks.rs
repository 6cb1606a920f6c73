//! Places in a run that can be gone back to, within a bound of memory.

use crate::recipe::Recipe;
use crate::run::Run;
use crate::run::mark::Mark;
use crate::session::{Position, Session};
use thalweg_core::{Error, Result};

/// A mark in its place.
struct Kept {
    mark: Mark,
    /// Version of the ground that it holds.
    version: u64,
    /// Steps of the run before it.
    steps: u64,
}

/// Marks in the order of the run.
pub(super) struct Marks {
    kept: Vec<Kept>,
    /// The mark that was gone back to, while nothing has been done since: later ones can still be gone to.
    at: Option<usize>,
    /// Bytes that they hold, and may hold.
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

    /// Something is done: marks beyond the one that was gone back to are of another run.
    pub(super) fn leave(&mut self) {
        if let Some(number) = self.at {
            self.cut(number + 1);
        }
    }

    /// Another recipe goes on from the mark that was gone back to: of the marks beyond, those stay that agree with it.
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

    /// Whether the run stands at a mark: one of this version of the ground, at which the next would be put.
    pub(super) fn has(&self, version: u64) -> bool {
        let here = self.at.or(self.kept.len().checked_sub(1));
        here.and_then(|here| self.kept.get(here)).is_some_and(|kept| kept.version == version)
    }

    /// Adds one behind the others, of a run that has taken so many steps.
    pub(super) fn push(&mut self, mark: Mark, version: u64, steps: u64) {
        self.leave();
        self.held += mark.bytes();
        self.kept.push(Kept { mark, version, steps });
        self.thin();
    }

    /// Lets marks go while they hold too much; the first and the last one stay. It is the one without which the fewest steps lie
    /// between its neighbours, and one within a stage as long as there are such: so they stay spread over the run.
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

    /// The last mark from which a run by `recipe` may go on, with its number. Where it is to come to the bits of a fresh run, no
    /// parameter was changed while a stage ran.
    pub(super) fn agreeing(&self, recipe: &Recipe, to_the_bit: bool) -> Option<(usize, &Mark)> {
        let agrees = |kept: &Kept| kept.mark.agrees(recipe) && !(to_the_bit && kept.mark.is_turned());
        let number = self.kept.iter().rposition(agrees)?;
        self.kept.get(number).map(|kept| (number, &kept.mark))
    }

    /// The run goes on from a mark, by another recipe: later ones are of another run.
    pub(super) fn go_on_from(&mut self, number: usize, version: u64) {
        self.cut(number + 1);
        self.stand_at(number, version);
    }

    /// The run stands at a mark, whose ground is of this version from now on.
    fn stand_at(&mut self, number: usize, version: u64) {
        if let Some(kept) = self.kept.get_mut(number) {
            kept.version = version;
        }
    }
}

impl Session {
    /// Keeps a mark of the run as it stands: a copy of its terrain. A face asks for it as often as it wants to go back at most,
    /// say every two seconds; every turn's start has one anyway. Where marks come to hold too much, others go for it.
    pub fn keep(&mut self) {
        if !self.marks.has(self.version) {
            self.marks.push(self.run.mark(), self.version, self.run.steps()[0]);
        }
    }

    /// Bounds the bytes that marks hold. The first and the last mark stay whatever they hold, so the true bound is the greater of
    /// this and those two.
    pub fn set_memory(&mut self, bytes: u64) {
        self.marks.most = bytes;
        self.marks.thin();
    }

    /// Bytes that marks hold.
    pub fn memory(&self) -> u64 {
        self.marks.held
    }

    /// Where marks are, in the order of the run; the first is its start.
    pub fn marks(&self) -> impl ExactSizeIterator<Item = Position> {
        self.marks.kept.iter().map(place)
    }

    /// Goes to the mark there, or to the last one before, and rests; where it then stands is returned. Later marks can still be
    /// gone to until something is done.
    ///
    /// # Errors
    /// When the place lies before the first mark; as [`Run::from_mark`]. Nothing is changed then.
    pub fn go_to(&mut self, to: Position) -> Result<Position> {
        let number = self.marks.kept.iter().rposition(|kept| place(kept) <= to);
        let number = number.ok_or_else(|| Error::value("place", format!("{to:?}"), "the first mark, or later"))?;
        self.run = Run::from_mark(self.run.recipe().clone(), &self.marks.kept[number].mark)?;
        self.pause();
        self.ground_is_another();
        self.marks.stand_at(number, self.version);
        self.marks.at = Some(number);
        self.review_before();
        Ok(self.position())
    }
}
