//! [`Mark`]: a saved state of a run in memory, from which the run can continue under a changed recipe.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::plan::Turn;
use crate::recipe::strokes::Stroke;
use crate::recipe::{LayerOrigin, Recipe, Stage};
use crate::run::{Run, StageReport};
use crate::sketch::SketchFrom;
use thalweg_core::terrain::bytes::Values;
use thalweg_core::{Result, Terrain};

/// The state of a run between two steps, without its recipe. Copies share the terrain.
///
/// # Examples
/// ```
/// use thalweg_models::models::find_model;
/// use thalweg_models::models::shape::{Shape, ShapeKind};
/// use thalweg_sim::recipe::{Recipe, Stage};
/// use thalweg_sim::run::Run;
///
/// let plane = Shape { kind: ShapeKind::Plane, height: 100.0, tilt: 0.0, ..Shape::default() };
/// let mut recipe = Recipe::with_single_stage(Box::new(plane), 1);
/// recipe.set_extent([640.0, 640.0])?;
/// recipe.cells = 32;
/// recipe.stages.push(Stage::new("scree", find_model("thermal")?));
/// let mut run = Run::new(recipe.clone())?;
/// run.take_step()?;
/// let mark = run.save_mark();
/// // A stage that has not begun may change, but not one that is done.
/// recipe.set_parameter("scree", "talus", &30.0.into())?;
/// assert!(mark.is_consistent_with(&recipe));
/// let other = Run::from_mark(recipe.clone(), &mark)?;
/// assert_eq!(other.position(), (1, 0));
/// recipe.set_parameter("shape", "height", &50.0.into())?;
/// assert!(!mark.is_consistent_with(&recipe));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Mark {
    terrain: Arc<Terrain>,
    turn: usize,
    step: u32,
    strokes: usize,
    reports: Vec<StageReport>,
    /// The parts of the recipe that determined the terrain, as text.
    past: String,
}

impl Mark {
    /// Returns the terrain of the state.
    pub fn terrain(&self) -> &Arc<Terrain> {
        &self.terrain
    }

    /// Returns the index of the turn that was running or about to begin, from 0, among [`Run::turns`]; the number of
    /// turns if all were done.
    pub fn turn(&self) -> usize {
        self.turn
    }

    /// Returns the number of steps that the turn had taken.
    pub fn step(&self) -> u32 {
        self.step
    }

    /// Returns true if a parameter was changed while a stage ran: a fresh run of its recipe does not lead to this
    /// state.
    pub(crate) fn is_turned(&self) -> bool {
        self.reports.iter().any(|report| !report.changes.is_empty())
    }

    /// Returns the bytes that it takes, mostly those of its terrain; copies share them.
    pub fn bytes(&self) -> u64 {
        let Terrain { ground, loose, nodata, layers, tables, .. } = &*self.terrain;
        let columns = tables.values().flat_map(|table| &table.columns);
        let values = std::iter::once(Values::Heights(ground.as_slice()))
            .chain(loose.iter().map(|loose| Values::Heights(loose.as_slice())))
            .chain(nodata.iter().map(|mask| Values::Flags(mask.as_slice())))
            .chain(layers.values().map(|layer| Values::from(&layer.cells)))
            .chain(columns.map(|(_, _, column)| Values::from(column)));
        values.map(Values::byte_count).sum::<u64>() + self.past.len() as u64
    }

    /// Returns true if a recipe leads to this terrain: it has the same start, seed and stages before, and the same
    /// running stage except for strokes that had not been made. [`Run::from_mark`] then continues to the same bits as
    /// a fresh run of that recipe. (A run whose parameters or terrain were changed between steps has a history that
    /// its recipe does not tell; its marks agree with the recipe as it was then.)
    pub fn is_consistent_with(&self, recipe: &Recipe) -> bool {
        recipe.describe_past(self.turn, self.step, self.strokes, self.reports.len() > self.turn).as_ref()
            == Some(&self.past)
    }
}

impl Run {
    /// Saves the present state of the run. It copies the terrain once.
    pub fn save_mark(&self) -> Mark {
        let is_begun = self.reports.len() > self.turn;
        Mark {
            terrain: Arc::new(self.terrain.clone()),
            turn: self.turn,
            step: self.step,
            strokes: self.strokes,
            reports: self.reports.clone(),
            past: self.recipe.describe_past(self.turn, self.step, self.strokes, is_begun).unwrap_or_default(),
        }
    }

    /// Returns the run to a mark, to continue by a recipe that may have changed after that;
    /// [`Mark::is_consistent_with`] tells whether it has changed only after that.
    ///
    /// # Errors
    /// Returns an error if the recipe does not have the mark's stage, or the stage does not have its step or its
    /// strokes; also returns the errors of [`Run::with_terrain`].
    pub fn from_mark(recipe: Recipe, mark: &Mark) -> Result<Self> {
        let place = [mark.turn, mark.strokes];
        Self::from_saved_parts(recipe, Terrain::clone(&mark.terrain), place, mark.step, mark.reports.clone())
    }
}

impl Recipe {
    /// Returns true if another recipe leads to the same terrain after `step` steps of turn `turn`, from 0, before the
    /// strokes that are due there: it has the same start, seed, levels and turns before; and, if the turn has taken a
    /// step, the same stage except for strokes from there on. Returns false if one of them has no such turn.
    pub fn leads_to_same_state(&self, other: &Self, turn: usize, step: u32) -> bool {
        let past = |recipe: &Self| recipe.describe_past(turn, step, 0, step > 0);
        past(self).is_some_and(|own| past(other) == Some(own))
    }

    /// Returns, as text, the parts of the recipe that determine the terrain of a run in turn `turn`, after `step`
    /// steps and `strokes` of the strokes due there; nothing about that turn if it has not begun. `None` without such
    /// a turn. The number of levels that follow has no effect on the terrain, so it is not included.
    fn describe_past(&self, turn: usize, step: u32, strokes: usize, is_begun: bool) -> Option<String> {
        let grids = if self.has_levels() { self.grids().ok()? } else { Vec::new() };
        let widths: Vec<f64> = grids.iter().map(|grid| grid.cell).collect();
        let turns = self.turns(if widths.is_empty() { &[1.0] } else { &widths });
        let before = turns.get(..turn)?;
        let present = turns.get(turn).filter(|_| is_begun);
        // Only the first level's size matters, so a smaller build agrees with the beginning of a larger one.
        let first = grids.first().map_or(self.cells, |grid| grid.size[0].max(grid.size[1]));
        let mut text =
            format!("{:?} {:?} {:?} ", self.extent().map(<[f64; 2]>::from), self.extent().map(|_| first), self.dem());
        if self.dem().is_some() {
            let _ = writeln!(text, "{}", self.cells);
        }
        let _ = writeln!(text, "{} {:?} {:?} {}", self.seed, self.edges, self.sea_level, self.margin());
        let _ = writeln!(text, "{:?}", self.world_place());
        match &self.sketch {
            Some(SketchFrom::File(path)) => drop(writeln!(text, "sketch {path:?} {:?}", self.folder)),
            Some(SketchFrom::Here(sketch)) => drop(writeln!(text, "sketch {:?}", sketch.features)),
            None => {}
        }
        let stage = |turn: &Turn| self.stages.get(turn.stage?);
        let reads = |stage: &Stage| stage.layers.values().any(|source| matches!(source.from, LayerOrigin::File(_)));
        // The folder matters only if a file is read: a recipe without files gives the same terrain from anywhere.
        if self.dem().is_some() || before.iter().chain(present).filter_map(stage).any(reads) {
            let _ = writeln!(text, "{:?}", self.folder);
        }
        let [global, _] = self.count_global_and_all(widths.len());
        let is_local = |turn: &Turn| turn.stage.is_none() && !turn.trims && turn.level >= global;
        let local = |text: &mut String| {
            let cell = widths.get(global - 1).copied().unwrap_or(1.0);
            let _ = writeln!(text, "local {:?}", self.combine_local_forms(cell).rules);
        };
        for turn in before {
            if is_local(turn) {
                local(&mut text);
                continue;
            }
            if turn.trims {
                let _ = writeln!(text, "trim {:?}", <[usize; 2]>::from(self.map_trim()));
                continue;
            }
            let Some(stage) = stage(turn) else {
                // Base stages that add their detail together lead to another terrain than when they add it one by
                // one.
                let label = |number: &usize| self.stages.get(*number).map(|stage| &stage.label);
                let blocks = self.group_detail_stages(&widths, turn.level).ok()?;
                let blocks: Vec<Vec<_>> = blocks.iter().map(|block| block.iter().map(label).collect()).collect();
                let _ = writeln!(text, "finer {blocks:?}");
                continue;
            };
            if stage.muted {
                // Its place counts and its report stays; its parameters do not matter.
                let _ = writeln!(text, "muted {:?} {}", stage.label, stage.model.about().name);
            } else {
                text +=
                    &write_stage_with_strokes(stage, stage.strokes.iter().filter(|stroke| stroke.pass == turn.pass));
            }
        }
        if present.is_some_and(is_local) {
            local(&mut text);
        }
        if let Some((turn, stage)) = present.and_then(|turn| Some((turn, stage(turn)?))) {
            // The strokes that the running stage has not made yet do not belong to the past.
            let made = stage.strokes.iter().filter(|stroke| stroke.pass == turn.pass && stroke.step < step);
            text += &write_stage_with_strokes(stage, made.chain(stage.strokes_after(turn.pass, step).take(strokes)));
        }
        Some(text)
    }
}

/// Returns a stage as a recipe's text, with these strokes only.
fn write_stage_with_strokes<'a>(stage: &Stage, strokes: impl Iterator<Item = &'a Stroke>) -> String {
    Stage { strokes: strokes.cloned().collect(), ..stage.clone() }.to_toml()
}
