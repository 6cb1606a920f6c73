//! [`Session`]: a run that is watched, changed and gone back in. A window, a notebook or a web page is a face of one.
//!
//! A session owns no thread and no loop. Its face takes the steps, and says between them what is to be done: another recipe
//! ([`Session::edit`]), an act of the hand ([`Session::stroke`]), a place to go back to ([`Session::go_to`]). Whatever was done, the
//! recipe tells it, and a fresh run of that recipe comes to the same bits. The one exception is [`Session::edit_live`].
//!
//! ```
//! use thalweg_sim::recipe::strokes::{Stroke, Tool};
//! use thalweg_core::base::error::Result;
//! use thalweg_sim::session::Session;
//! use thalweg_sim::presets;
//!
//! # fn main() -> Result<()> {
//! let mut recipe = presets::find_preset("hills")?;
//! # recipe.cells = 64;
//! let mut session = Session::new(recipe.clone())?;
//! while session.step()?.is_some() {}
//! recipe.stages.truncate(2);
//! session.edit(recipe)?; // It goes on from the last mark that agrees with this.
//! session.stroke(Stroke { radius: 300.0, ..Stroke::new(Tool::Raise, vec![[1000.0, 1000.0].into()]) })?;
//! session.undo()?; // As if the stroke had never been made.
//! session.play();
//! while session.is_going() {
//!     session.step()?; // Here a face shows `session.terrain()`.
//! }
//! # Ok(())
//! # }
//! ```

mod before;
mod edit;
mod goal;
mod hand;
mod marks;
mod undo;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::recipe::{Recipe, Stage};
use crate::run::{Run, RunProgress};
use thalweg_core::{Result, Terrain};
use thalweg_render::products::resample::reduce;

use before::Before;
use goal::Goal;
use hand::Hand;
use marks::Marks;
use undo::Acts;

/// Bytes that a new session's marks may take: 192 MiB.
pub const MEMORY: u64 = 192 << 20;

/// Most cells on a side of a [snapshot](Session::snapshot).
pub const SHOWN: usize = 4096;

/// Where a run stands, or stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// Number of the turn, from 0, among [`Run::turns`]: where there is one level, that of the stage. The number of turns when all is
    /// done.
    pub turn: usize,
    /// Number of steps taken in it.
    pub step: u32,
}

/// A run with what is kept of its past.
pub struct Session {
    run: Run,
    /// Counts states of the ground, and pasts that were left.
    version: u64,
    pasts: u64,
    marks: Marks,
    goal: Goal,
    before: Option<Before>,
    /// The snapshot taken last, and its version.
    last: Option<(u64, Arc<Terrain>)>,
    hand: Hand,
    acts: Acts,
}

impl Session {
    /// A session at the recipe's start, at rest. It holds [`MEMORY`] bytes of marks at most.
    ///
    /// # Errors
    /// As [`Run::new`].
    pub fn new(recipe: Recipe) -> Result<Self> {
        let mut session = Self {
            run: Run::new(recipe)?,
            version: 0,
            pasts: 0,
            marks: Marks::new(MEMORY),
            goal: Goal::default(),
            before: None,
            last: None,
            hand: Hand::default(),
            acts: Acts::default(),
        };
        session.keep();
        Ok(session)
    }

    /// Begins another world. What was done before is forgotten, what is bound ([`Session::set_memory`]) stays.
    ///
    /// # Errors
    /// As [`Run::new`]; nothing is changed then.
    pub fn open(&mut self, recipe: Recipe) -> Result<()> {
        self.start(recipe)?;
        (self.goal.place, self.goal.steps) = (None, None);
        self.acts = Acts::default();
        self.hand.forget();
        Ok(())
    }

    /// Begins the same world again, its files read anew.
    ///
    /// # Errors
    /// As [`Run::new`]; nothing is changed then.
    pub fn restart(&mut self) -> Result<()> {
        self.start(self.run.recipe().clone())?;
        (self.goal.place, self.goal.steps) = (None, None);
        Ok(())
    }

    /// Puts a run from its recipe's start in the present one's place.
    fn start(&mut self, recipe: Recipe) -> Result<()> {
        self.run = Run::new(recipe)?;
        self.marks.clear();
        self.before = None;
        self.ground_is_another();
        self.keep();
        Ok(())
    }

    /// Takes the next step; `None` when all is done. A mark is kept before the first step of every turn. A step that fails ends
    /// playing.
    ///
    /// # Errors
    /// As [`Run::step`].
    pub fn step(&mut self) -> Result<Option<RunProgress>> {
        if self.run.is_done() {
            return Ok(None);
        }
        self.marks.leave();
        let Position { turn, step } = self.position();
        if self.before.is_none() && !self.is_base(turn) {
            self.before = Some(Before::new(turn, shown(self.run.terrain())));
        }
        if step == 0 {
            self.keep();
        }
        let progress = self.run.step().inspect_err(|_| self.goal = Goal::default())?;
        self.version += 1;
        self.fit_before();
        self.goal.count();
        self.arrive();
        Ok(progress)
    }

    /// The run. Its recipe has all strokes of the hand in it.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The terrain as it stands, on the grid of the running level.
    pub fn terrain(&self) -> &Terrain {
        self.run.terrain()
    }

    /// Where the run stands.
    pub fn position(&self) -> Position {
        let (turn, step) = self.run.position();
        Position { turn, step }
    }

    /// Counts states of the ground: the same number, the same ground.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Counts how often the ground has come about otherwise than by steps and strokes on what was: by going back, by an edit of
    /// what had been done, by opening another world. What was drawn of its past is then of another.
    pub fn pasts(&self) -> u64 {
        self.pasts
    }

    /// A copy of the terrain, for another thread to look at. Of more than [`SHOWN`] cells on a side it is averaged down to that
    /// many. Until the ground changes it is the same one.
    pub fn snapshot(&mut self) -> Arc<Terrain> {
        let terrain = match self.last.take() {
            Some((version, terrain)) if version == self.version => terrain,
            _ => Arc::new(shown(self.run.terrain())),
        };
        self.last = Some((self.version, Arc::clone(&terrain)));
        terrain
    }

    /// The stage that runs, or comes next; `None` when all is done or the turn has no stage ([`Turn::stage`](crate::plan::Turn::stage)).
    pub fn stage(&self) -> Option<&Stage> {
        self.stage_of(self.position().turn)
    }

    fn stage_of(&self, turn: usize) -> Option<&Stage> {
        self.run.recipe().stages.get(self.run.turns().get(turn)?.stage?)
    }

    /// The ground has come about in another way than by a step or a stroke: what ran over it is seen no more.
    fn ground_is_another(&mut self) {
        self.version += 1;
        self.pasts += 1;
        self.hand.showered = false;
    }
}

/// A terrain as it is shown: copied, or averaged down if it is larger than can be.
fn shown(terrain: &Terrain) -> Terrain {
    let size = terrain.grid.size;
    if size[0].max(size[1]) <= SHOWN {
        return terrain.clone();
    }
    // Both sides shrink alike, so that it fits; else it is shown as it is.
    reduce(terrain, shown_size(size)).unwrap_or_else(|_| terrain.clone())
}

/// Rows and columns at which a terrain of `size` is shown.
fn shown_size(size: [usize; 2]) -> [usize; 2] {
    let long = size[0].max(size[1]);
    if long <= SHOWN {
        return size;
    }
    size.map(|n| ((n * SHOWN) as f64 / long as f64).round().max(1.0) as usize)
}
