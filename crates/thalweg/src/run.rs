//! [`Run`]: a recipe at work. The caller owns the loop; progress, pause, cancel and live view are then its own.

mod hands;

use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::{Error, Result};
use crate::field::Field;
use crate::grid::Grid;
use crate::io;
use crate::model::{Budget, Stepper, Tick};
use crate::models::elevation::ELEVATION;
use crate::params::Value;
use crate::products::resample::resample;
use crate::recipe::{From, Recipe, Source, Stage};
use crate::rng::Key;
use crate::springs::{self, SPRINGS, Spring};
use crate::tables;
use crate::terrain::{Cells, LayerSpec, Terrain};

/// What one stage did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageReport {
    /// The stage's label.
    pub label: String,
    /// Its model.
    pub model: String,
    /// Its parameters.
    pub parameters: serde_json::Value,
    /// Wall-clock seconds spent in its steps.
    pub seconds: f64,
    /// Cells of the grid.
    pub cells: u64,
    /// Steps taken.
    pub steps: u32,
    /// Its ledger, that of its strokes included.
    pub budget: Budget,
    /// Whether it was passed over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub muted: bool,
    /// Parameters that were changed while it ran; `parameters` has their last values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// A parameter changed between two steps of its stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Steps that the stage had taken before.
    pub step: u32,
    /// The parameter's name.
    pub parameter: String,
    /// Its value until then.
    pub from: serde_json::Value,
    /// Its value from then on.
    pub to: serde_json::Value,
}

/// Where a run stands after a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Number of the stage, from 0.
    pub stage: usize,
    /// Number of stages.
    pub stages: usize,
    /// The stage's label.
    pub label: String,
    /// Steps done in this stage.
    pub step: u32,
    /// Steps of this stage in all.
    pub steps: u32,
    /// The step's ledger, that of the strokes before it, and after the last one, included.
    pub budget: Budget,
}

/// A recipe at work on a terrain.
pub struct Run {
    pub(crate) recipe: Recipe,
    pub(crate) terrain: Terrain,
    pub(crate) stage: usize,
    pub(crate) step: u32,
    /// Strokes of this step that are made.
    pub(crate) strokes: usize,
    pub(crate) reports: Vec<StageReport>,
    stepper: Option<Box<dyn Stepper>>,
}

impl Run {
    /// A run from the recipe's own start: flat ground of its extent, or its elevation model.
    ///
    /// # Errors
    /// When the elevation model cannot be read, or a stage's parameters contradict the grid.
    pub fn new(recipe: Recipe) -> Result<Self> {
        let terrain = match &recipe.from {
            None => Terrain::new(recipe.grid()?),
            Some(path) => {
                let loaded = io::terrain::load(recipe.folder.join(path), &io::terrain::LoadOptions::default())?;
                let grid = recipe.framed(loaded.terrain.grid.clone())?;
                Terrain { grid, ..loaded.terrain }
            }
        };
        Self::over(recipe, terrain)
    }

    /// A run over a given terrain, whose grid it keeps.
    ///
    /// # Errors
    /// When a stage's parameters contradict the grid.
    pub fn over(recipe: Recipe, terrain: Terrain) -> Result<Self> {
        for stage in &recipe.stages {
            stage.check(&terrain.grid)?;
        }
        Ok(Self { recipe, terrain, stage: 0, step: 0, strokes: 0, reports: Vec::new(), stepper: None })
    }

    /// Takes the next step, after the strokes that are made before it; `None` when all is done. A muted stage is passed in
    /// one step that does nothing.
    ///
    /// # Errors
    /// When a stage's input layer is missing or does not fit, or a stroke's layer does not. The terrain is then as before the
    /// step, but for strokes that went before what failed; they are not made again.
    pub fn step(&mut self) -> Result<Option<Progress>> {
        if self.is_done() {
            return Ok(None);
        }
        self.begin()?;
        let mut budget = self.make_strokes()?;
        let Some(stage) = self.recipe.stages.get(self.stage) else { return Ok(None) };
        let steps = stage.steps(&self.terrain.grid);
        if self.step < steps {
            let start = Instant::now();
            let stepper = match &mut self.stepper {
                Some(stepper) => stepper,
                none => none.insert(stage.model.start(&self.terrain.grid)?),
            };
            let key = Key::new(self.recipe.seed, &stage.label);
            let done = stepper.step(&mut self.terrain, Tick { key, step: self.step })?;
            self.step += 1;
            self.strokes = 0;
            if let Some(report) = self.reports.last_mut() {
                report.seconds += start.elapsed().as_secs_f64();
                report.steps = self.step;
                report.budget += done;
            }
            budget += done;
        }
        if self.step >= steps {
            budget += self.make_strokes()?;
        }
        let Some(stage) = self.recipe.stages.get(self.stage) else { return Ok(None) };
        let progress = Progress {
            stage: self.stage,
            stages: self.recipe.stages.len(),
            label: stage.label.clone(),
            step: self.step,
            steps,
            budget,
        };
        if self.step >= steps {
            self.end();
        }
        Ok(Some(progress))
    }

    /// Begins the present stage, if it is not begun: its layers and tables come in.
    fn begin(&mut self) -> Result<()> {
        let Some(stage) = self.recipe.stages.get(self.stage).filter(|_| self.reports.len() <= self.stage) else {
            return Ok(());
        };
        if !stage.muted {
            prepare(stage, &self.recipe.folder, &mut self.terrain)?;
        }
        self.reports.push(begun(stage, &self.terrain.grid));
        Ok(())
    }

    /// Ends the present stage: what was its alone goes.
    fn end(&mut self) {
        if let Some(stage) = self.recipe.stages.get(self.stage).filter(|stage| !stage.muted) {
            // A layer that the model also writes is its result.
            let writes = stage.model.about().writes;
            for name in stage.layers.keys().filter(|name| !writes.iter().any(|spec| spec.name == *name)) {
                self.terrain.layers.remove(name);
            }
            tables::take(&mut self.terrain, stage.model.about().tables);
        }
        self.stepper = None;
        self.stage += 1;
        (self.step, self.strokes) = (0, 0);
    }

    /// Number of the running stage, that of all stages when done, and the steps taken in it.
    pub fn position(&self) -> (usize, u32) {
        (self.stage, self.step)
    }

    /// Whether all stages are done.
    pub fn is_done(&self) -> bool {
        self.stage >= self.recipe.stages.len()
    }

    /// The terrain as it stands.
    pub fn terrain(&self) -> &Terrain {
        &self.terrain
    }

    /// The terrain, for the caller to keep or to change between steps: its ground, the `rain` that falls, its tables.
    pub fn terrain_mut(&mut self) -> &mut Terrain {
        // A stepper may know which cells are wet; it is started again and looks anew.
        self.stepper = None;
        &mut self.terrain
    }

    /// Changes a parameter of a stage that is not done, between two steps. Later steps are those of a run that had the
    /// value from there on; the report tells the change, a checkpoint goes on with it.
    ///
    /// # Errors
    /// No such stage or parameter, a stage that is done, a value that is not allowed, or one that would leave the stage
    /// no more steps than it has taken. Nothing is changed then.
    pub fn set(&mut self, label: &str, parameter: &str, value: &toml::Value) -> Result<()> {
        let labels = self.recipe.stages.iter().map(|stage| stage.label.as_str());
        let number = labels.clone().position(|known| known == label);
        let number = number.ok_or_else(|| Error::unknown("stage", label, labels))?;
        if number < self.stage {
            return Err(Error::value("stage", label, "one that is not done yet"));
        }
        let Some(stage) = self.recipe.stages.get_mut(number) else { return Ok(()) };
        let owner = stage.model.about().name;
        let before = stage.model.get(parameter);
        stage.model.set(owner, parameter, value)?;
        let (after, grid) = (stage.model.get(parameter), &self.terrain.grid);
        let Some(before) = before.filter(|before| Some(*before) != after) else { return Ok(()) };
        let taken = if number == self.stage { self.step } else { 0 };
        let refusal = match stage.check(grid) {
            Ok(()) if taken > 0 && stage.steps(grid) <= taken => {
                let allowed = format!("a value that leaves the stage more than the {taken} steps it has taken");
                Some(Error::value(format!("{owner}.{parameter}"), value, allowed))
            }
            checked => checked.err(),
        };
        if let Some(refusal) = refusal {
            stage.model.set(owner, parameter, &before.to_toml())?;
            return Err(refusal);
        }
        if number == self.stage {
            self.stepper = None;
        }
        if let Some(report) = self.reports.get_mut(number) {
            let json =
                |value: Option<Value>| value.and_then(|v| serde_json::to_value(v.to_toml()).ok()).unwrap_or_default();
            let change =
                Change { step: taken, parameter: parameter.to_string(), from: json(Some(before)), to: json(after) };
            report.parameters = parameters(stage);
            report.changes.push(change);
        }
        Ok(())
    }

    /// Lets a spring rise from here on, until the running stage ends. A checkpoint keeps it.
    ///
    /// # Errors
    /// When the stage's model reads no springs, or the spring is none or lies outside the world.
    pub fn add_spring(&mut self, spring: Spring) -> Result<()> {
        match self.recipe.stages.get(self.stage) {
            Some(stage) if stage.takes_springs() => springs::add(&mut self.terrain, &[spring]),
            stage => {
                let model = stage.map_or("none", |stage| stage.model.about().name);
                Err(Error::value("running model", model, format!("one that keeps a table of {SPRINGS}")))
            }
        }
    }

    /// The recipe.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// What the stages did so far.
    pub fn reports(&self) -> &[StageReport] {
        &self.reports
    }

    /// Steps done and steps in all, over all stages.
    pub fn steps(&self) -> [u64; 2] {
        let of = |stage: &Stage| u64::from(stage.steps(&self.terrain.grid));
        let done: u64 = self.recipe.stages.iter().take(self.stage).map(of).sum();
        let all = self.recipe.stages.iter().map(of).sum();
        [done + u64::from(self.step), all]
    }

    /// Simulated years so far, over all stages whose models know time; `None` before the first of them.
    pub fn years(&self) -> Option<f64> {
        let grid = &self.terrain.grid;
        let stages = self.recipe.stages.iter().take(self.reports.len()).enumerate();
        let years = stages.filter(|(_, stage)| !stage.muted).filter_map(|(number, stage)| {
            stage.model.years(grid, if number < self.stage { stage.steps(grid) } else { self.step })
        });
        years.fold(None, |sum, years| Some(sum.unwrap_or(0.0) + years))
    }

    /// The report of the run so far (its JSON Schema is in the documentation): per stage model, parameters, seconds,
    /// steps and ledger, then the fingerprint of every layer and table.
    pub fn report(&self) -> serde_json::Value {
        let grid = &self.terrain.grid;
        // By way of text: a sum beyond 64 bits then becomes a floating-point number and not a failure.
        let stages = serde_json::to_vec(&self.reports).and_then(|text| serde_json::from_slice(&text));
        let stages: serde_json::Value = stages.unwrap_or_default();
        json!({
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
            "fingerprints": self.terrain.fingerprints(),
        })
    }

    /// A run taken up again from a checkpoint's or a mark's parts, which are checked.
    ///
    /// # Errors
    /// A stage that does not exist, a step that it does not have, more strokes than are made there; as [`Run::over`].
    pub(crate) fn restored(
        recipe: Recipe,
        terrain: Terrain,
        [stage, strokes]: [usize; 2],
        step: u32,
        reports: Vec<StageReport>,
    ) -> Result<Self> {
        let run = Self { stage, step, strokes, reports, ..Self::over(recipe, terrain)? };
        let stages = run.recipe.stages.len();
        if stage > stages {
            return Err(Error::value("stage", stage, format!("0 to {stages} (the recipe's stages, and their end)")));
        }
        // A stage has its report from its beginning on.
        let begun = run.reports.len();
        if begun < stage || begun > stages.min(stage + 1) || (begun == stage && (step > 0 || strokes > 0)) {
            return Err(Error::value("reports", begun, "one for every stage that has begun"));
        }
        let here = run.recipe.stages.get(stage);
        let steps = here.map_or(0, |here| here.steps(&run.terrain.grid));
        if step > steps {
            return Err(Error::value("step", step, format!("0 to {steps} (the stage's steps)")));
        }
        let made = here.map_or(0, |here| here.strokes_at(step).count());
        if strokes > made {
            return Err(Error::value("strokes", strokes, format!("0 to {made} (those of the step)")));
        }
        Ok(run)
    }
}

/// The parameters of a stage's model, by name.
fn parameters(stage: &Stage) -> serde_json::Value {
    let value = |name: &str| serde_json::to_value(stage.model.get(name)?.to_toml()).ok();
    let declared = stage.model.declared();
    declared.iter().filter_map(|p| Some((p.name.to_string(), value(p.name)?))).collect()
}

fn begun(stage: &Stage, grid: &Grid) -> StageReport {
    StageReport {
        label: stage.label.clone(),
        model: stage.model.about().name.to_string(),
        parameters: parameters(stage),
        seconds: 0.0,
        cells: grid.len() as u64,
        steps: 0,
        budget: Budget::default(),
        muted: stage.muted,
        changes: Vec::new(),
    }
}

/// Brings a stage's input layers and tables into the terrain and checks that those it needs are there.
fn prepare(stage: &Stage, folder: &std::path::Path, terrain: &mut Terrain) -> Result<()> {
    let about = stage.model.about();
    for spec in about.needs {
        if !stage.layers.contains_key(spec.name) && !terrain.layers.contains_key(spec.name) {
            let problem = format!("is needed by `{}` and missing ({})", about.name, spec.meaning);
            return Err(Error::layer(spec.name, problem));
        }
    }
    // All are fetched before one is put in: a failure leaves the terrain as it was.
    let wanted = about.needs.iter().chain(about.uses).filter_map(|spec| Some((spec, stage.layers.get(spec.name)?)));
    let fetched: Vec<_> =
        wanted.map(|(spec, source)| Ok((spec, fetch(spec, source, folder, terrain)?))).collect::<Result<_>>()?;
    stage.tables.fit(terrain)?;
    fetched.into_iter().try_for_each(|(spec, cells)| terrain.insert(spec, cells))?;
    stage.tables.put(terrain)
}

fn fetch(spec: &LayerSpec, source: &Source, folder: &std::path::Path, terrain: &Terrain) -> Result<Cells> {
    let cells = match &source.from {
        From::File(path) => {
            let path: PathBuf = folder.join(path);
            if *spec == ELEVATION {
                // An elevation model brings its own size; it is laid over the whole world.
                let loaded = io::terrain::load(&path, &io::terrain::LoadOptions::default())?;
                let laid = resample(&loaded.terrain, terrain.grid.size)?;
                let metres = |i, j| if laid.is_nodata(i, j) { f32::NAN } else { laid.ground[(i, j)].metres_f32() };
                Cells::Float(Field::generate(terrain.grid.size, metres))
            } else {
                io::terrain::load_layer(&path, &terrain.grid, spec)?
            }
        }
        From::Layer(name) => layer(name, terrain)?,
    };
    let Some([zero, one]) = source.scale else { return Ok(cells) };
    let values = cells.to_float();
    Ok(Cells::Float(values.map(|x| ((f64::from(*x) - zero) / (one - zero)).clamp(0.0, 1.0) as f32)))
}

/// A layer left by an earlier stage, as real numbers.
fn layer(name: &str, terrain: &Terrain) -> Result<Cells> {
    let float = |heights: &Field<crate::height::Height>| Cells::Float(heights.map(|h| h.metres_f32()));
    match (name, &terrain.loose) {
        ("ground", _) => Ok(float(&terrain.ground)),
        ("loose", Some(loose)) => Ok(float(loose)),
        _ => match terrain.layers.get(name) {
            Some(layer) => Ok(Cells::Float(layer.cells.to_float())),
            None => {
                let known = terrain.layers.keys().map(String::as_str).chain(["ground"]);
                Err(Error::unknown("layer", name, known))
            }
        },
    }
}
