//! User edits while a run is in progress.

use crate::recipe::strokes::{Stroke, Tool};
use crate::recipe::{Recipe, Stage, When};
use crate::run::Run;
use crate::run::mark::Mark;
use crate::session::undo::{StrokePlace, StrokePosition};
use crate::session::{Position, Session};
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
    /// [play](Session::play). If the margin has been cut away or a local level has begun, the stroke is made at the end
    /// of the last global level; the margin is cut away again at once, and the session computes local levels again by
    /// itself ([`Session::is_going`]).
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
        // The run returns to this mark, if it has gone beyond the stages that change the whole terrain.
        let late = self.find_closing_mark();
        // The mark is made before the stroke but kept only if the stroke succeeds.
        let is_marked = is_part || late.is_some() || self.marks.has(self.version);
        let mark = (!is_marked).then(|| self.run.save_mark());
        let (version, steps, before) = (self.version, self.run.steps()[0], self.position_and_strokes());
        let is_shower = stroke.tool == Tool::Droplets && stroke.count > 1;
        let is_closed = self.run.is_done() && !self.run.is_past_strokes();
        let is_last_spring = stroke.tool == Tool::Spring && (is_closed || late.is_some());
        let mut aside = None;
        if is_last_spring || late.is_some() {
            let name = if is_last_spring { "spring" } else { "stroke" };
            stroke.check(name, &self.run.terrain().grid, is_last_spring)?;
            let here = late.as_ref().map_or_else(|| self.run.save_mark(), |(_, mark)| mark.clone());
            let recipe = if is_last_spring { self.with_springs()? } else { self.run.recipe().clone() };
            // The run is put aside, so that it can be restored if the stroke is refused.
            aside = Some(std::mem::replace(&mut self.run, Run::from_mark(recipe, &here)?));
        }
        let made = self.run.add_stroke(stroke);
        if let Some(run) = aside.filter(|_| made.is_err()) {
            self.run = run;
        }
        // Even if the stroke was refused, the terrain may have been refined on the way to its stage.
        self.version += 1;
        self.fit_before();
        made?;
        self.user_edits.showered = is_shower;
        let is_added = self.run.recipe().stages.len() > stages;
        match (mark, &late) {
            // The state after the part of a drag before this one is not kept.
            (_, Some((number, _))) if is_part && !is_added => self.marks.discard_after(number.saturating_sub(1)),
            (_, Some((number, _))) => self.marks.discard_after(*number),
            (Some(mark), None) => self.marks.push(mark, version, steps),
            (None, None) => self.marks.discard_later_marks(),
        }
        let number = self.run.turns().get(self.position().turn).and_then(|turn| turn.stage);
        let stage = number.and_then(|number| Some((number, self.run.recipe().stages.get(number)?)));
        if let Some((number, stage)) = stage
            && let Some(stroke) = stage.strokes.last()
        {
            self.user_edits.count += 1;
            self.user_edits.made.push((self.user_edits.count, stage.label.clone(), stroke.clone()));
            let StrokePosition { place, strokes: count } = self.position_and_strokes();
            // If the run had to go on to another position first, the strokes there before this one are those of the
            // recipe.
            let first = if place == before.place { before.strokes } else { count - 1 };
            let made = StrokePlace { stage: number, place, count: [first, count] };
            self.acts.push_stroke(made, is_added, is_part);
        }
        if late.is_some() { self.close_again() } else { Ok(()) }
    }

    /// Returns the mark at the end of the stages that change the whole terrain, with its index, if the run has gone
    /// beyond it.
    fn find_closing_mark(&self) -> Option<(usize, Mark)> {
        let place = Position { turn: self.run.closing_turn(), step: 0 };
        let (number, mark) = self.marks.find_last_at(place).filter(|_| self.run.is_past_strokes())?;
        Some((number, mark.clone()))
    }

    /// Goes on to the end, from which a stroke has taken the run back. The step of a stage for strokes and the cut of
    /// the margin are done at once, so that no view shows the margin.
    fn close_again(&mut self) -> Result<()> {
        self.return_to_position(self.end_position());
        let is_strokes = |stage: &Stage| stage.model.plays_role(Role::Strokes);
        while let Some(turn) = self.run.turns().get(self.position().turn)
            && (turn.trims || self.stage().is_some_and(is_strokes))
        {
            self.take_step()?;
        }
        Ok(())
    }

    /// Returns the recipe with one more stage, in which springs run and no rain falls.
    fn with_springs(&self) -> Result<Recipe> {
        let mut recipe = self.run.recipe().clone();
        let label = recipe.free_label(SPRINGS);
        let model = models::find_model_for_role(Role::Springs)?;
        recipe.stages.push(Stage { when: When::Last, ..Stage::new(label, model) });
        Ok(recipe)
    }

    /// Returns the number of strokes made so far, including those that were undone.
    pub fn stroke_count(&self) -> u64 {
        self.user_edits.count
    }

    /// Adds to a recipe, whose author knew only the first `known` strokes, the others: for user interfaces that edit
    /// while the run goes on.
    ///
    /// # Errors
    /// Returns no error for a session's own recipe.
    pub fn with_strokes_since(&mut self, known: u64, mut recipe: Recipe) -> Result<Recipe> {
        // Strokes that the author knew are in the recipe, or were removed on purpose.
        self.user_edits.made.retain(|(number, ..)| *number > known);
        for (_, label, stroke) in &self.user_edits.made {
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
        if rains || self.user_edits.showered { self.run.droplet_settings().ok() } else { None }
    }
}
