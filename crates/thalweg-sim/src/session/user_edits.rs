//! User edits while a run is in progress.

use crate::recipe::strokes::{Stroke, Tool};
use crate::recipe::{Recipe, Stage, When};
use crate::run::Run;
use crate::session::Session;
use crate::session::undo::{StrokePlace, StrokePosition};
use thalweg_core::{Point, Result};
use thalweg_models::model::Role;
use thalweg_models::models;
use thalweg_models::models::droplets::{Droplets, TracePoint, trace_droplet};
use thalweg_noise::input_tables::springs::SPRINGS;

/// The most points of the path of a droplet that is traced.
const POINTS: usize = 100_000;

/// The user edits so far.
#[derive(Default)]
pub(super) struct UserEdits {
    /// Number of strokes made so far.
    count: u64,
    /// Strokes that the author of the next recipe may not know: number, label of the stage, stroke.
    made: Vec<(u64, String, Stroke)>,
    /// True if the last one was a shower.
    pub(super) showered: bool,
}

impl UserEdits {
    /// Forgets the strokes, because all of them are in the recipe.
    pub(super) fn forget(&mut self) {
        self.made.clear();
    }
}

impl Session {
    /// Makes a stroke now, before the next step, and adds it to the recipe ([`Run::add_stroke`]). A mark is kept before
    /// it. A spring after the end gets a stage of its own without rain; to run it, let the session
    /// [play](Session::play).
    ///
    /// # Errors
    /// Returns the errors of [`Run::add_stroke`]. The recipe is not changed then, and no mark is lost.
    pub fn add_stroke(&mut self, stroke: Stroke) -> Result<()> {
        self.apply_stroke(stroke, false)
    }

    /// Makes a stroke that belongs to the last one, as the parts of a drag do: they share the mark before the first
    /// of them, and are undone as one.
    ///
    /// # Errors
    /// Returns the errors of [`Session::add_stroke`].
    pub fn add_drag_stroke(&mut self, stroke: Stroke) -> Result<()> {
        self.apply_stroke(stroke, true)
    }

    fn apply_stroke(&mut self, stroke: Stroke, is_part: bool) -> Result<()> {
        let stages = self.run.recipe().stages.len();
        // The mark is made before the stroke but kept only if the stroke succeeds.
        let mark = (!is_part && !self.marks.has(self.version)).then(|| self.run.save_mark());
        let (version, steps, before) = (self.version, self.run.steps()[0], self.position_and_strokes());
        let is_shower = stroke.tool == Tool::Droplets && stroke.count > 1;
        let mut dry = None;
        if stroke.tool == Tool::Spring && self.run.is_done() {
            stroke.check("spring", &self.run.terrain().grid, true)?;
            let with_springs = self.with_springs()?;
            // The finished run is put aside, so that it can be restored if the stroke is refused.
            dry = Some(std::mem::replace(&mut self.run, with_springs));
        }
        let made = self.run.add_stroke(stroke);
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
            None => self.marks.discard_later_marks(),
        }
        let number = self.run.turns().get(self.position().turn).and_then(|turn| turn.stage);
        let stage = number.and_then(|number| Some((number, self.run.recipe().stages.get(number)?)));
        if let Some((number, stage)) = stage
            && let Some(stroke) = stage.strokes.last()
        {
            self.hand.count += 1;
            self.hand.made.push((self.hand.count, stage.label.clone(), stroke.clone()));
            let StrokePosition { place, strokes: count } = self.position_and_strokes();
            // If the run had to go on to another position first, the strokes there before this one are those of the
            // recipe.
            let first = if place == before.place { before.strokes } else { count - 1 };
            let made = StrokePlace { stage: number, place, count: [first, count] };
            self.acts.push_stroke(made, self.run.recipe().stages.len() > stages, is_part);
        }
        Ok(())
    }

    /// Returns the finished run with one more stage, in which springs run and no rain falls.
    fn with_springs(&self) -> Result<Run> {
        let mut recipe = self.run.recipe().clone();
        let label = recipe.free_label(SPRINGS);
        recipe
            .stages
            .push(Stage { when: When::Last, ..Stage::new(label, models::find_model_for_role(Role::Springs)?) });
        Run::from_mark(recipe, &self.run.save_mark())
    }

    /// Returns the number of strokes made so far, including those that were undone.
    pub fn stroke_count(&self) -> u64 {
        self.hand.count
    }

    /// Adds to a recipe, whose author knew only the first `known` strokes, the others: for user interfaces that edit
    /// while the run goes on.
    ///
    /// # Errors
    /// Returns no error for a session's own recipe.
    pub fn with_strokes_since(&mut self, known: u64, mut recipe: Recipe) -> Result<Recipe> {
        // Strokes that the author knew are in the recipe, or were removed on purpose.
        self.hand.made.retain(|(number, ..)| *number > known);
        for (_, label, stroke) in &self.hand.made {
            let number = match recipe.stages.iter().position(|stage| stage.label == *label) {
                Some(number) => number,
                None => {
                    let model = models::find_model_for_role(Role::Strokes)?;
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
    /// not change. The path is that of [`trace_droplet`] and has at most 100 000 points.
    ///
    /// # Errors
    /// Returns the errors of [`trace_droplet`].
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
    /// session.take_step()?;
    /// let path = session.trace_droplet([7000.0, 8000.0])?;
    /// assert!(!path.is_empty() && path.iter().all(|point| point.elevation.is_finite()));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn trace_droplet(&self, place: impl Into<Point>) -> Result<Vec<TracePoint>> {
        trace_droplet(&self.run.droplet_settings()?, self.run.terrain(), place, POINTS)
    }

    /// Returns the settings of droplets that run now, in a stage of them, or that the user released last; `None` if
    /// there are none.
    pub fn active_droplets(&self) -> Option<Droplets> {
        let rains = self.stage().is_some_and(|stage| stage.model.plays_role(Role::Droplets)) && self.is_going();
        if rains || self.hand.showered { self.run.droplet_settings().ok() } else { None }
    }
}
