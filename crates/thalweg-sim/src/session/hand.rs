//! User edits while a run is in progress.

use crate::recipe::strokes::{Stroke, Tool};
use crate::recipe::{Recipe, Stage, When};
use crate::run::Run;
use crate::session::Session;
use crate::session::undo::Made;
use thalweg_core::{Point, Result};
use thalweg_models::model::Role;
use thalweg_models::models;
use thalweg_models::models::droplets::{Droplets, TracePoint, trace};
use thalweg_noise::given::springs::SPRINGS;

/// The most points of the path of a droplet that is traced.
const POINTS: usize = 100_000;

/// The user edits so far.
#[derive(Default)]
pub(super) struct Hand {
    /// Number of strokes made so far.
    count: u64,
    /// Strokes that the author of the next recipe may not know: number, label of the stage, stroke.
    made: Vec<(u64, String, Stroke)>,
    /// True if the last one was a shower.
    pub(super) showered: bool,
}

impl Hand {
    /// Forgets the strokes, because all of them are in the recipe.
    pub(super) fn forget(&mut self) {
        self.made.clear();
    }
}

impl Session {
    /// Makes a stroke now, before the next step, and adds it to the recipe ([`Run::stroke`]). A mark is kept before
    /// it. A spring after the end gets a stage of its own without rain; to run it, let the session
    /// [play](Session::play).
    ///
    /// # Errors
    /// Returns the errors of [`Run::stroke`]. The recipe is not changed then, and no mark is lost.
    pub fn stroke(&mut self, stroke: Stroke) -> Result<()> {
        self.make(stroke, false)
    }

    /// Makes a stroke that belongs to the last one, as the parts of a drag do: they share the mark before the first
    /// of them, and are undone as one.
    ///
    /// # Errors
    /// Returns the errors of [`Session::stroke`].
    pub fn drag(&mut self, stroke: Stroke) -> Result<()> {
        self.make(stroke, true)
    }

    fn make(&mut self, stroke: Stroke, is_part: bool) -> Result<()> {
        let stages = self.run.recipe().stages.len();
        let mark = (!is_part && !self.marks.has(self.version)).then(|| self.run.mark());
        let (version, steps, before) = (self.version, self.run.steps()[0], self.stands());
        let is_shower = stroke.tool == Tool::Droplets && stroke.count > 1;
        let mut dry = None;
        if stroke.tool == Tool::Spring && self.run.is_done() {
            stroke.check("spring", &self.run.terrain().grid, true)?;
            let with_springs = self.with_springs()?;
            dry = Some(std::mem::replace(&mut self.run, with_springs));
        }
        let made = self.run.stroke(stroke);
        if let Some(dry) = dry.filter(|_| made.is_err()) {
            self.run = dry;
        }
        // Even if the stroke was refused, the terrain may have been refined on the way to its stage.
        self.version += 1;
        self.fit_before();
        made?;
        self.hand.showered = is_shower;
        match mark {
            Some(mark) => self.marks.push(mark, version, steps),
            None => self.marks.leave(),
        }
        let number = self.run.turns().get(self.position().turn).and_then(|turn| turn.stage);
        let stage = number.and_then(|number| Some((number, self.run.recipe().stages.get(number)?)));
        if let Some((number, stage)) = stage
            && let Some(stroke) = stage.strokes.last()
        {
            self.hand.count += 1;
            self.hand.made.push((self.hand.count, stage.label.clone(), stroke.clone()));
            let (place, count) = self.stands();
            let first = if place == before.0 { before.1 } else { count - 1 };
            let made = Made { stage: number, place, count: [first, count] };
            self.acts.push_stroke(made, self.run.recipe().stages.len() > stages, is_part);
        }
        Ok(())
    }

    /// Returns the finished run with one more stage, in which springs run and no rain falls.
    fn with_springs(&self) -> Result<Run> {
        let mut recipe = self.run.recipe().clone();
        let label = recipe.free_label(SPRINGS);
        recipe.stages.push(Stage { when: When::Last, ..Stage::new(label, models::playing(Role::Springs)?) });
        Run::from_mark(recipe, &self.run.mark())
    }

    /// Returns the number of strokes made so far, including those that were undone.
    pub fn strokes(&self) -> u64 {
        self.hand.count
    }

    /// Adds to a recipe, whose author knew only the first `known` strokes, the others: for user interfaces that edit
    /// while the run goes on.
    ///
    /// # Errors
    /// None for a session's own recipe.
    pub fn with_strokes_since(&mut self, known: u64, mut recipe: Recipe) -> Result<Recipe> {
        self.hand.made.retain(|(number, ..)| *number > known);
        for (_, label, stroke) in &self.hand.made {
            let number = match recipe.stages.iter().position(|stage| stage.label == *label) {
                Some(number) => number,
                None => {
                    let model = models::playing(Role::Strokes)?;
                    recipe.stages.push(Stage { when: When::Last, ..Stage::new(label, model) });
                    recipe.stages.len() - 1
                }
            };
            if let Some(stage) = recipe.stages.get_mut(number).filter(|stage| !stage.strokes.contains(stroke)) {
                stage.strokes.push(stroke.clone());
            }
        }
        Ok(recipe)
    }

    /// Returns the path that one droplet takes from `place`, in world metres, over the present terrain, which does
    /// not change. The path is that of [`trace`] and has at most 100 000 points.
    ///
    /// # Errors
    /// Returns the errors of [`trace`].
    ///
    /// # Examples
    /// ```
    /// use thalweg_sim::presets::find_preset;
    /// use thalweg_sim::session::Session;
    ///
    /// let mut recipe = find_preset("hills")?;
    /// recipe.cells = 64;
    /// let mut session = Session::new(recipe)?;
    /// // After one step there are hills of noise.
    /// session.step()?;
    /// let path = session.follow([7000.0, 8000.0])?;
    /// assert!(!path.is_empty() && path.iter().all(|point| point.elevation.is_finite()));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn follow(&self, place: impl Into<Point>) -> Result<Vec<TracePoint>> {
        trace(&self.run.droplets()?, self.run.terrain(), place, POINTS)
    }

    /// Returns the settings of droplets that run now, in a stage of them, or that the user released last; `None` if
    /// there are none.
    pub fn falling(&self) -> Option<Droplets> {
        let rains = self.stage().is_some_and(|stage| stage.model.plays(Role::Droplets)) && self.is_going();
        if rains || self.hand.showered { self.run.droplets().ok() } else { None }
    }
}
