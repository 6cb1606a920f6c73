//! [`Session`]: an interactive run, which can be watched, changed and returned to earlier states. A user interface
//! shows it, for example a window, a notebook or a web page.
//!
//! A session owns no thread and no loop. The user interface takes the steps, and requests changes between them: another
//! recipe ([`Session::edit`]), a user edit ([`Session::add_stroke`]), a return to an earlier state
//! ([`Session::return_to_mark`]). Every change is recorded in the recipe, and a fresh run of that recipe leads to the
//! same bits. The one exception is [`Session::edit_live`].
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
//! while session.take_step()?.is_some() {}
//! recipe.stages.truncate(2);
//! session.edit(recipe)?; // It goes on from the last mark that agrees with this.
//! session.add_stroke(Stroke { radius: 300.0, ..Stroke::new(Tool::Raise, vec![[1000.0, 1000.0].into()]) })?;
//! session.undo()?; // As if the stroke had never been made.
//! session.play();
//! while session.is_going() {
//!     session.take_step()?; // Here a face shows `session.terrain()`.
//! }
//! # Ok(())
//! # }
//! ```

mod edit;
mod marks;
mod playback;
mod undo;
mod uneroded_terrain;
mod user_edits;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::recipe::{Recipe, Stage};
use crate::run::{Run, RunProgress};
use thalweg_core::{Result, Terrain};
use thalweg_render::products::resample::reduce_terrain;

use marks::MarkHistory;
use playback::Goal;
use undo::Acts;
use uneroded_terrain::Before;
use user_edits::UserEdits;

/// The limit of the marks of a new session in bytes: 192 MiB.
pub const MEMORY: u64 = 192 << 20;

/// The most cells on a side of a [snapshot](Session::snapshot_terrain).
pub const MAX_SNAPSHOT_CELLS: usize = 4096;

/// A position in a run. For example, turn 2 with step 0 is the beginning of the third turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// Index of the turn, from 0, among [`Run::turns`]: if there is one level, that of the stage. The number of turns
    /// when everything is done.
    pub turn: usize,
    /// Number of steps taken in it.
    pub step: u32,
}

/// A run with saved states of its past.
///
/// # Examples
/// ```
/// use thalweg_models::models::shape::{Shape, ShapeKind};
/// use thalweg_sim::recipe::Recipe;
/// use thalweg_sim::session::{Position, Session};
///
/// let plane = Shape { kind: ShapeKind::Plane, height: 100.0, tilt: 0.0, ..Shape::default() };
/// let mut recipe = Recipe::with_single_stage(Box::new(plane), 1);
/// recipe.set_extent([640.0, 640.0])?;
/// recipe.cells = 32;
/// let mut session = Session::new(recipe)?;
/// session.play();
/// while session.is_going() {
///     session.take_step()?;
/// }
/// assert_eq!(session.terrain().ground[(0, 0)].metres(), 100.0);
/// session.return_to_mark(Position { turn: 0, step: 0 })?;
/// assert_eq!(session.terrain().ground[(0, 0)].metres(), 0.0);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub struct Session {
    run: Run,
    /// Counters of the states of the terrain, and of discarded histories.
    version: u64,
    pasts: u64,
    marks: MarkHistory,
    goal: Goal,
    before: Option<Before>,
    /// The last snapshot, and its version.
    last: Option<(u64, Arc<Terrain>)>,
    user_edits: UserEdits,
    acts: Acts,
}

impl Session {
    /// Creates a session at the recipe's start, paused. Its marks take at most [`MEMORY`] bytes.
    ///
    /// # Errors
    /// Returns the errors of [`Run::new`].
    pub fn new(recipe: Recipe) -> Result<Self> {
        let mut session = Self {
            run: Run::new(recipe)?,
            version: 0,
            pasts: 0,
            marks: MarkHistory::new(MEMORY),
            goal: Goal::default(),
            before: None,
            last: None,
            user_edits: UserEdits::default(),
            acts: Acts::default(),
        };
        session.record_mark();
        Ok(session)
    }

    /// Begins another world. The history is discarded; the memory limit ([`Session::set_memory`]) stays.
    ///
    /// # Errors
    /// Returns the errors of [`Run::new`]; nothing is changed then.
    pub fn open(&mut self, recipe: Recipe) -> Result<()> {
        self.start_run(recipe)?;
        (self.goal.place, self.goal.steps) = (None, None);
        self.acts = Acts::default();
        self.user_edits.forget();
        Ok(())
    }

    /// Begins the same world again, and reads its files again.
    ///
    /// # Errors
    /// Returns the errors of [`Run::new`]; nothing is changed then.
    pub fn restart(&mut self) -> Result<()> {
        self.start_run(self.run.recipe().clone())?;
        (self.goal.place, self.goal.steps) = (None, None);
        Ok(())
    }

    /// Replaces the run by one from the start of this recipe.
    fn start_run(&mut self, recipe: Recipe) -> Result<()> {
        self.run = Run::new(recipe)?;
        self.marks.clear();
        self.before = None;
        self.record_ground_change();
        self.record_mark();
        Ok(())
    }

    /// Takes the next step; returns `None` if everything is done. A mark is kept before the first step of every turn.
    /// A step that fails pauses the session.
    ///
    /// # Errors
    /// Returns the errors of [`Run::take_step`].
    pub fn take_step(&mut self) -> Result<Option<RunProgress>> {
        if self.run.is_done() {
            return Ok(None);
        }
        // A step makes another run of what follows, so later marks are discarded first.
        self.marks.discard_later_marks();
        let Position { turn, step } = self.position();
        if self.before.is_none() && !self.is_base(turn) {
            // The copy is taken at the last moment before the first stage that erodes.
            self.before = Some(Before::new(turn, copy_for_display(self.run.terrain())));
        }
        if step == 0 {
            self.record_mark();
        }
        let progress = self.run.take_step().inspect_err(|_| self.goal = Goal::default())?;
        self.version += 1;
        self.fit_before();
        self.goal.count_step();
        self.pause_at_goal();
        Ok(progress)
    }

    /// Returns the run. Its recipe contains all user edits.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Returns the terrain in its present state, on the grid of the running level.
    pub fn terrain(&self) -> &Terrain {
        self.run.terrain()
    }

    /// Returns the position of the run.
    pub fn position(&self) -> Position {
        let (turn, step) = self.run.position();
        Position { turn, step }
    }

    /// Returns the number of the terrain's state: the same number means the same terrain.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns how often the terrain has changed in another way than by steps and strokes: by a return to an earlier
    /// state, by an edit of what had been done, or by opening another world. Displays of its history are then
    /// invalid.
    pub fn rewrite_count(&self) -> u64 {
        self.pasts
    }

    /// Returns a copy of the terrain, for use by another thread. If it has more than [`MAX_SNAPSHOT_CELLS`] cells on a
    /// side it is averaged down to that many. Until the terrain changes, the same copy is returned.
    pub fn snapshot_terrain(&mut self) -> Arc<Terrain> {
        let terrain = match self.last.take() {
            // The same version means the same terrain, so the last copy is still valid.
            Some((version, terrain)) if version == self.version => terrain,
            _ => Arc::new(copy_for_display(self.run.terrain())),
        };
        self.last = Some((self.version, Arc::clone(&terrain)));
        terrain
    }

    /// Returns the stage that runs, or comes next; `None` if everything is done or the turn has no stage
    /// ([`Turn::stage`](crate::plan::Turn::stage)).
    pub fn stage(&self) -> Option<&Stage> {
        self.stage_for_turn(self.position().turn)
    }

    fn stage_for_turn(&self, turn: usize) -> Option<&Stage> {
        self.run.recipe().stages.get(self.run.turns().get(turn)?.stage?)
    }

    /// Records that the terrain has changed in another way than by a step or a stroke: droplets over it are not shown
    /// any more.
    fn record_ground_change(&mut self) {
        self.version += 1;
        self.pasts += 1;
        self.user_edits.showered = false;
    }
}

/// Returns a terrain for display: a copy, averaged down if it is too large.
fn copy_for_display(terrain: &Terrain) -> Terrain {
    let size = terrain.grid.size;
    if size[0].max(size[1]) <= MAX_SNAPSHOT_CELLS {
        return terrain.clone();
    }
    // Both sides shrink by the same factor, so reducing succeeds; if it did not, the terrain would be copied
    // unchanged.
    reduce_terrain(terrain, snapshot_size(size)).unwrap_or_else(|_| terrain.clone())
}

/// Returns the rows and columns at which a terrain of `size` is displayed.
fn snapshot_size(size: [usize; 2]) -> [usize; 2] {
    let long = size[0].max(size[1]);
    if long <= MAX_SNAPSHOT_CELLS {
        return size;
    }
    size.map(|n| ((n * MAX_SNAPSHOT_CELLS) as f64 / long as f64).round().max(1.0) as usize)
}
