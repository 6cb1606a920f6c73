//! [`Run`]: the execution of a recipe. The caller owns the loop, and with it progress reports, pausing, cancelling
//! and live views.

pub mod checkpoint;
mod finer;
mod layers;
mod local;
mod manual;
mod margin;
pub mod mark;
mod sketched;
pub mod tiles;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::plan::Turn;
use crate::recipe::strokes;
use crate::recipe::{Levels, Recipe, Stage};
use crate::sketch::Sketch;
use thalweg_core::base::clock::Clock;
use thalweg_core::declare::params::{Value, Written};
use thalweg_core::terrain::Mass;
use thalweg_core::{Error, Grid, Result, Terrain};
use thalweg_io as io;
use thalweg_models::model::{MassBalance, Model, Stepper, Tick};
use thalweg_noise::given::springs::{self, SPRINGS, Spring};
use thalweg_refine::Frame;

/// The report of one turn: a stage on one level, or a step from level to level.
///
/// # Examples
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_models::models::thermal::Thermal;
/// use thalweg_sim::recipe::Recipe;
/// use thalweg_sim::run::Run;
///
/// let terrain = Terrain::from_metres(Grid::new([1, 2], 10.0)?, &[100.0, 0.0])?;
/// let recipe = Recipe::single(Box::new(Thermal { steps: 4, ..Thermal::default() }), 1);
/// let mut run = Run::over(recipe, terrain)?;
/// while run.step()?.is_some() {}
/// let report = &run.reports()[0];
/// assert_eq!((report.label.as_str(), report.steps, report.cells), ("thermal", 4, 2));
/// assert_eq!(report.parameters["steps"], 4);
/// // Nothing has left the map.
/// assert_eq!(report.budget.solid_change(), 0);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StageReport {
    /// The stage's label; for a turn without a stage, that of [`Run::label`].
    pub label: String,
    /// Name of its model; for a turn without a stage `finer`, `local` or `trim`.
    pub model: String,
    /// Its parameters: an object of their values by name; empty without a stage.
    pub parameters: serde_json::Value,
    /// Wall-clock seconds spent in its steps and strokes.
    pub seconds: f64,
    /// Number of cells of its level's grid.
    pub cells: u64,
    /// Number of steps taken.
    pub steps: u32,
    /// Its mass balance, including that of its strokes.
    pub budget: MassBalance,
    /// The level on which it ran, from 0, the coarsest.
    pub level: usize,
    /// True if the stage was skipped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub muted: bool,
    /// Parameters that were changed while it ran; `parameters` has their last values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// The change of a parameter between two steps of its stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Number of steps that the stage had taken before.
    pub(crate) step: u32,
    /// The parameter's name.
    pub parameter: String,
    /// Its value until then.
    pub from: serde_json::Value,
    /// Its value from then on.
    pub to: serde_json::Value,
}

/// The progress of a run after a step.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RunProgress {
    /// Index of the turn, from 0, among [`Run::turns`]: if there is one level, that of the stage.
    pub turn: usize,
    /// Number of all turns.
    pub turns: usize,
    /// Index of the stage in the recipe, from 0; `None` if the terrain is refined, the whole level is a local one, or
    /// the margin is cut away.
    pub stage: Option<usize>,
    /// The level, from 0, the coarsest, and the number of levels.
    pub level: [usize; 2],
    /// The name of the turn ([`Run::label`]).
    pub label: String,
    /// Number of steps done in this turn.
    pub step: u32,
    /// Number of all steps of this turn.
    pub steps: u32,
    /// The mass balance of the step, including the strokes before it and, for the last step, those after it.
    pub budget: MassBalance,
}

/// A recipe that is executed on a terrain.
///
/// # Examples
/// ```
/// use thalweg_models::models::shape::{Shape, ShapeKind};
/// use thalweg_sim::recipe::Recipe;
/// use thalweg_sim::run::Run;
///
/// let plane = Shape { kind: ShapeKind::Plane, height: 100.0, tilt: 0.0, ..Shape::default() };
/// let mut recipe = Recipe::single(Box::new(plane), 1);
/// recipe.set_extent([640.0, 640.0])?;
/// recipe.cells = 32;
///
/// let mut run = Run::new(recipe)?;
/// while let Some(progress) = run.step()? {
///     assert_eq!((progress.label.as_str(), progress.step, progress.steps), ("shape", 1, 1));
/// }
/// assert_eq!(run.into_terrain().ground[(0, 0)].metres(), 100.0);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub struct Run {
    pub(crate) recipe: Recipe,
    pub(crate) terrain: Terrain,
    /// The grid of each level, and the turns on them.
    grids: Vec<Grid>,
    turns: Vec<Turn>,
    /// Index of the current turn, and the number of steps taken in it.
    pub(crate) turn: usize,
    pub(crate) step: u32,
    /// Number of strokes of this step that have been made.
    pub(crate) strokes: usize,
    pub(crate) reports: Vec<StageReport>,
    stepper: Option<Box<dyn Stepper>>,
    /// The finished rows of a local level.
    half: Option<local::Half>,
    input: Input,
    /// The sketch, if the recipe has one.
    sketch: Option<Sketch>,
}

/// Notes about the recipe and the elevation model from which a run started; empty for a run that was resumed.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Input {
    /// Warnings about assumptions, omissions and doubtful values ([`io::Loaded::warnings`]).
    pub warnings: Vec<String>,
    /// What the file states about its units and what was overridden ([`io::Loaded::overridden`]).
    pub overridden: Vec<String>,
    /// The sample that meant no data in the file, in the file's own unit; `None` if there was none, and without a
    /// file.
    pub nodata: Option<f64>,
}

impl Run {
    /// Creates a run from the recipe's own start: flat terrain of its extent on the coarsest level, or its elevation
    /// model.
    ///
    /// # Errors
    /// Returns the errors of [`Recipe::grids`] or, for an elevation model, as [`Run::over_file`]; also if a stage's
    /// parameters or the
    /// sketch contradict a grid, or the sketch cannot be read.
    pub fn new(recipe: Recipe) -> Result<Self> {
        let Some(path) = recipe.dem() else {
            let grids = recipe.grids()?;
            let first = grids.first().cloned().ok_or_else(|| Error::Recipe("has no level".into()))?;
            return Self::on(recipe, Terrain::new(first), grids);
        };
        let path = recipe.folder.join(path);
        Self::over_file(recipe, path, &io::LoadOptions::default())
    }

    /// Creates a run over the elevation model in a file, whatever the recipe's start is. The elevation model is
    /// resampled to the recipe's cells. The reader's notes are available from [`Run::input`].
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, it cannot be resampled to the recipe's cells, or there is not
    /// enough memory for the run; also as [`Run::over`].
    pub fn over_file(recipe: Recipe, path: impl Into<io::FilePath>, options: &io::LoadOptions) -> Result<Self> {
        let io::Loaded { terrain, warnings, nodata, overridden, .. } = io::load(path, options)?;
        recipe.check_memory(&Grid::new(recipe.size_over(terrain.grid.size), terrain.grid.cell)?)?;
        let terrain = recipe.over(terrain)?;
        let mut run = Self::over(recipe, terrain)?;
        run.input.warnings.extend(warnings);
        (run.input.overridden, run.input.nodata) = (overridden, nodata);
        Ok(run)
    }

    /// Returns the notes about its input.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Creates a run over a given terrain, whose grid it keeps: the recipe's levels and margin are ignored.
    ///
    /// # Errors
    /// Returns an error if a stage's parameters or the sketch contradict the grid, or the sketch cannot be read.
    pub fn over(mut recipe: Recipe, terrain: Terrain) -> Result<Self> {
        recipe.set_levels(Levels::default())?;
        recipe.set_margin(0.0)?;
        let grids = vec![terrain.grid.clone()];
        Self::on(recipe, terrain, grids)
    }

    /// Checks a recipe that has an extent, as [`Run::new`] does, without creating a run.
    ///
    /// # Errors
    /// Returns the errors of [`Run::new`]; also if the recipe has no extent.
    pub fn check(recipe: &Recipe) -> Result<()> {
        let grids = recipe.grids()?;
        sketched::read_sketch(recipe, &grids)?;
        planned(recipe, &grids).map(drop)
    }

    /// Creates a run on these levels.
    fn on(recipe: Recipe, terrain: Terrain, grids: Vec<Grid>) -> Result<Self> {
        let turns = planned(&recipe, &grids)?;
        let sketch = sketched::read_sketch(&recipe, &grids)?;
        let reports = Vec::new();
        Ok(Self {
            recipe,
            terrain,
            grids,
            turns,
            turn: 0,
            step: 0,
            strokes: 0,
            reports,
            stepper: None,
            half: None,
            input: Input::default(),
            sketch,
        })
    }

    /// Takes the next step, after the strokes that are due before it; returns `None` if everything is done. A muted
    /// stage is skipped in one step that does nothing; between two levels the terrain is refined in one step.
    ///
    /// # Errors
    /// Returns an error if a stage's input layer is missing or does not fit, or a stroke's layer does not. The
    /// terrain is then as before the step, except for strokes that were made before the failure; they are not made
    /// again.
    pub fn step(&mut self) -> Result<Option<RunProgress>> {
        let Some(turn) = self.turns.get(self.turn).copied() else { return Ok(None) };
        let mut budget = self.begin()?;
        budget += self.make_strokes()?;
        let steps = self.steps_of(turn);
        if self.step < steps {
            let clock = Clock::start();
            let done = match turn.stage.and_then(|stage| self.recipe.stages.get(stage)) {
                None if turn.trims => self.trim(),
                None if turn.level >= self.globals() => self.make_local(turn.level)?,
                None => self.make_finer(turn.level)?,
                Some(stage) => {
                    let stepper = match &mut self.stepper {
                        Some(stepper) => stepper,
                        none => none.insert(stage.model_at(turn.pass)?.start(&self.terrain.grid)?),
                    };
                    let tick = Tick { key: stage.key(self.recipe.seed), step: self.step };
                    let terrain = &mut self.terrain;
                    // A step consists of many parallel loops, which are small on small maps. If a thread of the pool
                    // itself begins them, no thread has to be woken for the caller's thread, which would then sleep.
                    rayon::scope(|_| stepper.step(terrain, tick))?
                }
            };
            self.step += 1;
            self.strokes = 0;
            let mut done = done;
            done += self.hold_sketch(turn, steps);
            if let Some(report) = self.reports.last_mut() {
                report.seconds += clock.seconds();
                report.steps = self.step;
                report.budget += done;
            }
            budget += done;
        }
        if self.step >= steps {
            budget += self.make_strokes()?;
        }
        let progress = RunProgress {
            turn: self.turn,
            turns: self.turns.len(),
            stage: turn.stage,
            level: [turn.level, self.grids.len()],
            label: self.label(turn).to_string(),
            step: self.step,
            steps,
            budget,
        };
        if self.step >= steps {
            self.end();
        }
        Ok(Some(progress))
    }

    /// Returns the stage of a turn, if it has one.
    fn stage_of(&self, turn: usize) -> Option<&Stage> {
        self.recipe.stages.get(self.turns.get(turn)?.stage?)
    }

    /// Returns the name of a turn: its stage's label; without a stage `finer ground`, `local level` or `margin`.
    pub fn label(&self, turn: Turn) -> &str {
        let stage = turn.stage.and_then(|stage| self.recipe.stages.get(stage));
        stage.map_or_else(|| self.unstaged(turn).0, |stage| &stage.label)
    }

    /// Returns the name of a turn without a stage, and the name that takes the place of its model in a report.
    fn unstaged(&self, turn: Turn) -> (&'static str, &'static str) {
        match turn {
            Turn { trims: true, .. } => ("margin", "trim"),
            Turn { level, .. } if level < self.globals() => ("finer ground", "finer"),
            _ => ("local level", "local"),
        }
    }

    /// Returns the number of steps of a turn; 0 if the turn is on no level of this run.
    pub fn steps_of(&self, turn: Turn) -> u32 {
        let Some(grid) = self.grids.get(turn.level) else { return 0 };
        match turn.stage.and_then(|stage| self.recipe.stages.get(stage)) {
            // The plan has been checked for errors of this call.
            Some(stage) => stage.steps(grid, turn.pass).unwrap_or(0),
            None if turn.level >= self.globals() && !turn.trims => local::steps(grid),
            None => 1,
        }
    }

    /// Returns all turns, in order.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// Returns the grid of each level, from the coarsest.
    pub fn grids(&self) -> &[Grid] {
        &self.grids
    }

    /// Returns the labels of the stages that never run, because no level has cells of the widths on which they run;
    /// muted ones are not included. A build of fewer cells may end before the levels of a stage.
    pub fn idle(&self) -> Vec<&str> {
        let stages = self.recipe.idle(&self.turns).filter_map(|number| self.recipe.stages.get(number));
        stages.map(|stage| stage.label.as_str()).collect()
    }

    /// Begins the current turn, if it has not begun: inserts its layers and tables. Standing water in an inserted
    /// layer counts as poured, and the water of the layer that it replaces as drained.
    fn begin(&mut self) -> Result<MassBalance> {
        let mut budget = MassBalance::default();
        let Some(turn) = self.turns.get(self.turn).copied().filter(|_| self.reports.len() <= self.turn) else {
            return Ok(budget);
        };
        let cells = self.grids.get(turn.level).map_or(0, |grid| grid.len() as u64);
        let report = match turn.stage.and_then(|stage| self.recipe.stages.get(stage)) {
            Some(stage) => {
                if !stage.muted {
                    let layers = layers::fetch_all(stage, &self.recipe.folder, &self.terrain, &self.grids)?;
                    let gives_water = layers.iter().any(|(spec, _)| spec.traits.mass == Mass::Water);
                    let before = if gives_water { self.terrain.standing() } else { 0.0 };
                    layers::put(stage, layers, &mut self.terrain)?;
                    sketched::put_factors(self.sketch.as_ref(), stage, &mut self.terrain, &self.grids)?;
                    if gives_water {
                        let change = self.terrain.standing() - before;
                        (budget.poured, budget.drained) = (change.max(0.0), (-change).max(0.0));
                    }
                }
                let parameters = parameters(&*stage.model_at(turn.pass)?);
                let [label, model] = [&stage.label, stage.model.about().name].map(String::from);
                StageReport {
                    label,
                    model,
                    parameters,
                    budget,
                    muted: stage.muted,
                    ..StageReport::empty(turn.level, cells)
                }
            }
            None => {
                let (label, model) = self.unstaged(turn);
                let [label, model] = [label, model].map(String::from);
                StageReport { label, model, ..StageReport::empty(turn.level, cells) }
            }
        };
        self.reports.push(report);
        budget += self.lay_sketch();
        Ok(budget)
    }

    /// Ends the current turn: removes the layers and tables that were for its stage only.
    fn end(&mut self) {
        let stage = self.turns.get(self.turn).and_then(|turn| self.recipe.stages.get(turn.stage?));
        if let Some(stage) = stage.filter(|stage| !stage.muted) {
            layers::take(stage, &mut self.terrain);
            sketched::take_factors(&mut self.terrain);
        }
        self.stepper = None;
        self.turn += 1;
        (self.step, self.strokes) = (0, 0);
    }

    /// Returns the index of the current turn, from 0, and the steps taken in it; when everything is done, the number
    /// of all turns, and 0. If there is one level, turns are the recipe's stages.
    pub fn position(&self) -> (usize, u32) {
        (self.turn, self.step)
    }

    /// Returns true if all turns are done.
    pub fn is_done(&self) -> bool {
        self.turn >= self.turns.len()
    }

    /// Returns the terrain in its present state.
    pub fn terrain(&self) -> &Terrain {
        &self.terrain
    }

    /// Returns the terrain in its present state, without the margin around the map.
    pub fn map(&self) -> Cow<'_, Terrain> {
        let grid = &self.terrain.grid;
        match self.recipe.map_window(grid).filter(|map| map.size() != grid.size) {
            Some(_) => Cow::Owned(margin::trimmed(&self.recipe, &self.terrain)),
            None => Cow::Borrowed(&self.terrain),
        }
    }

    /// Returns the terrain in its present state, and consumes the run.
    pub fn into_terrain(self) -> Terrain {
        self.terrain
    }

    /// Returns the terrain, for the caller to change between steps: its ground, its `rain` layer, its tables.
    pub fn terrain_mut(&mut self) -> &mut Terrain {
        // A stepper may have stored which cells are wet; it is started again and reads the terrain again.
        self.stepper = None;
        self.half = None;
        &mut self.terrain
    }

    /// Changes a parameter of a stage that is not done, between two steps. Later steps are those of a run that had
    /// the value from there on; the report lists the change, and a checkpoint preserves it.
    ///
    /// # Errors
    /// Returns an error, and changes nothing, if there is no such stage or parameter, the stage is done, the value is
    /// not allowed, or it would leave the stage no more steps than it has taken.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{Grid, Terrain};
    /// use thalweg_models::models::thermal::Thermal;
    /// use thalweg_sim::recipe::Recipe;
    /// use thalweg_sim::run::Run;
    ///
    /// let terrain = Terrain::from_metres(Grid::new([1, 2], 10.0)?, &[100.0, 0.0])?;
    /// let recipe = Recipe::single(Box::new(Thermal { steps: 4, ..Thermal::default() }), 1);
    /// let mut run = Run::over(recipe, terrain)?;
    /// run.step()?;
    /// run.set("thermal", "rate", &0.5.into())?;
    /// assert_eq!(run.reports()[0].changes[0].parameter, "rate");
    /// // One step has been taken, so there must be at least two.
    /// assert!(run.set("thermal", "steps", &1u32.into()).is_err());
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn set(&mut self, label: &str, parameter: &str, value: &Written) -> Result<()> {
        let labels = self.recipe.stages.iter().map(|stage| stage.label.as_str());
        let number = labels.clone().position(|known| known == label);
        let number = number.ok_or_else(|| Error::unknown("stage", label, labels))?;
        if !self.turns.iter().skip(self.turn).any(|turn| turn.stage == Some(number)) {
            return Err(Error::value("stage", label, "a stage that is not done yet"));
        }
        let here = self.turns.get(self.turn).copied().filter(|turn| turn.stage == Some(number));
        let Some(stage) = self.recipe.stages.get_mut(number) else { return Ok(()) };
        let owner = stage.model.about().name;
        let before = stage.model.get(parameter);
        stage.model.set(owner, parameter, value)?;
        let after = stage.model.get(parameter);
        let Some(before) = before.filter(|before| Some(*before) != after) else { return Ok(()) };
        let taken = if here.is_some() { self.step } else { 0 };
        // The old value is restored if the plan is invalid with the new one, or if no step would be left.
        let refusal = match planned(&self.recipe, &self.grids) {
            Ok(_) if taken > 0 && here.is_some_and(|turn| self.steps_of(turn) <= taken) => {
                let allowed = format!("a value with which the stage has more steps than the {taken} that it has taken");
                Some(Error::value(format!("{owner}.{parameter}"), value, allowed))
            }
            checked => checked.err(),
        };
        let Some(stage) = self.recipe.stages.get_mut(number) else { return Ok(()) };
        if let Some(refusal) = refusal {
            stage.model.set(owner, parameter, &before.into())?;
            return Err(refusal);
        }
        if here.is_some() {
            self.stepper = None;
        }
        if let Some((report, turn)) = here.and_then(|turn| Some((self.reports.get_mut(self.turn)?, turn))) {
            let json = |value: Option<Value>| serde_json::to_value(value).unwrap_or_default();
            let change =
                Change { step: taken, parameter: parameter.to_string(), from: json(Some(before)), to: json(after) };
            report.parameters = parameters(&*stage.model_at(turn.pass)?);
            report.changes.push(change);
        }
        Ok(())
    }

    /// Adds a spring that flows from now on, until the running stage ends. A checkpoint preserves it.
    ///
    /// # Errors
    /// Returns an error if the stage's model reads no springs, a number of the spring is out of its range, it is
    /// outside the world, or the terrain's table of springs has other columns.
    pub fn add_spring(&mut self, spring: Spring) -> Result<()> {
        match self.stage_of(self.turn) {
            Some(stage) if stage.takes_springs() => springs::add_springs(&mut self.terrain, &[spring]),
            Some(stage) => {
                let model = stage.model.about().name;
                let problem = format!(
                    "cannot be added while `{model}` runs; only models with a table of {SPRINGS} accept springs"
                );
                Err(Error::unsupported("a spring", problem))
            }
            None => Err(Error::unsupported("a spring", "cannot be added after the last stage")),
        }
    }

    /// Returns the recipe.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Returns the reports of the turns so far, one for each that has begun, in order.
    pub fn reports(&self) -> &[StageReport] {
        &self.reports
    }

    /// Returns the numbers of steps done and of all steps, over all turns.
    pub fn steps(&self) -> [u64; 2] {
        let of = |turn: &Turn| u64::from(self.steps_of(*turn));
        let done: u64 = self.turns.iter().take(self.turn).map(of).sum();
        let all = self.turns.iter().map(of).sum();
        [done + u64::from(self.step), all]
    }

    /// Returns the simulated years so far, over all turns of models with a time scale; `None` before the first of
    /// them.
    pub fn years(&self) -> Option<f64> {
        let begun = self.turns.iter().take(self.reports.len()).enumerate();
        let years = begun.filter_map(|(number, turn)| {
            let stage = self.recipe.stages.get(turn.stage?).filter(|stage| !stage.muted)?;
            let (model, grid) = (stage.model_at(turn.pass).ok()?, self.grids.get(turn.level)?);
            model.years(grid, if number < self.turn { model.steps(grid) } else { self.step })
        });
        years.fold(None, |sum, years| Some(sum.unwrap_or(0.0) + years))
    }

    /// Returns the report of the run so far (its JSON Schema is in the documentation): for each stage its model,
    /// parameters, seconds, steps and mass balance; then the fingerprint of every layer and table. If there are local
    /// levels, also the local form of each stage.
    pub fn report(&self) -> serde_json::Value {
        let grid = &self.terrain.grid;
        // The conversion goes through text: a sum beyond 64 bits then becomes a floating-point number instead of a
        // failure.
        let stages = serde_json::to_vec(&self.reports).and_then(|text| serde_json::from_slice(&text));
        let stages: serde_json::Value = stages.unwrap_or_default();
        let mut report = json!({
            "thalweg": env!("CARGO_PKG_VERSION"),
            "recipe": self.recipe.name,
            "recipe_hash": self.recipe.hash(),
            "seed": self.recipe.seed,
            "rows": grid.rows(),
            "columns": grid.cols(),
            "cell_size": grid.cell,
            "nodata_cells": self.terrain.nodata_count(),
            "complete": self.is_done(),
            "stages": stages,
            "idle": self.idle(),
            "fingerprints": self.terrain.fingerprints(),
        });
        if self.recipe.local_levels().is_ok_and(|levels| levels > 0) {
            let forms = self.recipe.stages.iter().zip(self.recipe.local_forms());
            let form = |(stage, (label, form)): (&Stage, (&str, Option<&str>))| {
                let form = form.filter(|_| !stage.muted);
                json!({"label": label, "model": stage.model.about().name, "form": form})
            };
            report["local_forms"] = forms.map(form).collect();
        }
        report
    }

    /// Restores a run from the parts of a checkpoint or a mark, which are checked.
    ///
    /// # Errors
    /// Returns an error if the turn does not exist, does not have the step, fewer strokes are due there than were
    /// made, or the terrain is one of another level; also as [`Run::new`].
    pub(crate) fn restored(
        recipe: Recipe,
        terrain: Terrain,
        [turn, strokes]: [usize; 2],
        step: u32,
        reports: Vec<StageReport>,
    ) -> Result<Self> {
        let grids = if recipe.has_levels() { recipe.grids()? } else { vec![terrain.grid.clone()] };
        let run = Self { turn, step, strokes, reports, ..Self::on(recipe, terrain, grids)? };
        let turns = run.turns.len();
        if turn > turns {
            return Err(Error::value("turn", turn, format!("0 to {turns} (the recipe's turns, and their end)")));
        }
        // A turn has its report from its beginning on.
        let begun = run.reports.len();
        if begun < turn || begun > turns.min(turn + 1) || (begun == turn && (step > 0 || strokes > 0)) {
            return Err(Error::value("reports", begun, "one per turn that has begun"));
        }
        let here = run.turns.get(turn).copied();
        let steps = here.map_or(0, |here| run.steps_of(here));
        if step > steps {
            return Err(Error::value("step", step, format!("0 to {steps} (the turn's steps)")));
        }
        let made = run.stage_of(turn).zip(here).map_or(0, |(stage, here)| stage.strokes_at(here.pass, step).count());
        if strokes > made {
            return Err(Error::value("strokes", strokes, format!("0 to {made} (those of the step)")));
        }
        let level = match here {
            // The terrain is that of the level before until the finer one is complete.
            Some(Turn { level, trims: true, .. }) if step == 0 => level,
            Some(Turn { level, stage: None, .. }) if step == 0 || level >= run.globals() => level.saturating_sub(1),
            Some(Turn { level, .. }) => level,
            None => run.grids.len() - 1,
        };
        // After trimming, the terrain is the map of its level.
        let is_trimmed = run.turns.iter().take(turn).any(|turn| turn.trims);
        let want = run.grids.get(level).map(|grid| if is_trimmed { run.recipe.map(grid).size } else { grid.size });
        let have = Some(run.terrain.grid.size);
        if want != have {
            let [rows, cols] = run.terrain.grid.size;
            return Err(Error::value(
                "terrain",
                format!("{cols} × {rows} cells"),
                format!("the size of level {level}"),
            ));
        }
        Ok(run)
    }
}

impl StageReport {
    fn empty(level: usize, cells: u64) -> Self {
        Self {
            label: String::new(),
            model: String::new(),
            parameters: json!({}),
            seconds: 0.0,
            cells,
            steps: 0,
            budget: MassBalance::default(),
            level,
            muted: false,
            changes: Vec::new(),
        }
    }
}

/// Returns the turns of a recipe on these grids, checked.
fn planned(recipe: &Recipe, grids: &[Grid]) -> Result<Vec<Turn>> {
    let widths: Vec<f64> = grids.iter().map(|grid| grid.cell).collect();
    let turns = recipe.turns(&widths);
    recipe.check_local(&widths)?;
    let [global, _] = recipe.counts(widths.len());
    for turn in &turns {
        match turn.stage.and_then(|stage| recipe.stages.get(stage)) {
            Some(stage) => stage.check(&grids[turn.level], turn.pass)?,
            None if turn.trims => {}
            None if turn.level >= global => {
                // A global level from which no finer level can be computed is refused before anything is solved.
                Frame::of(&recipe.map(&grids[global - 1]))?;
                recipe.local(grids[global - 1].cell).rules.check()?;
            }
            None => drop(recipe.octaves(&widths, turn.level)?),
        }
    }
    for (number, stage) in recipe.stages.iter().enumerate().filter(|(_, stage)| !stage.muted) {
        let passes = turns.iter().filter(|turn| turn.stage == Some(number)).count() as u32;
        // A stage that never runs makes none of its strokes, and `Run::idle` names it.
        let late = stage.strokes.iter().position(|stroke| passes > 0 && stroke.pass >= passes);
        if let Some((stroke, late)) = late.and_then(|late| Some((stage.strokes.get(late)?, late))) {
            let name = format!("{}.{}.pass", stage.label, strokes::name(late));
            let allowed = format!("0 to {} (the stage's levels in this build, from the coarsest)", passes - 1);
            return Err(Error::value(name, stroke.pass, allowed));
        }
    }
    Ok(turns)
}

/// Returns the parameters of a model, by name.
fn parameters(model: &dyn Model) -> serde_json::Value {
    let value = |name: &str| serde_json::to_value(model.get(name)?).ok();
    let declared = model.declared();
    declared.iter().filter_map(|p| Some((p.name.to_string(), value(p.name)?))).collect()
}
