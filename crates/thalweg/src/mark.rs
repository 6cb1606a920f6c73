//! [`Mark`]: a place in a run that one can go back to, under a recipe that has changed since.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::bytes::Values;
use crate::error::Result;
use crate::recipe::{From, Recipe, Stage};
use crate::run::{Run, StageReport};
use crate::terrain::Terrain;

/// A run as it stood between two steps, without its recipe. Copies share the terrain.
#[derive(Clone)]
pub struct Mark {
    terrain: Arc<Terrain>,
    stage: usize,
    step: u32,
    strokes: usize,
    reports: Vec<StageReport>,
    /// Of the recipe, what made the terrain.
    past: String,
}

impl Mark {
    /// The terrain as it stood.
    pub fn terrain(&self) -> &Arc<Terrain> {
        &self.terrain
    }

    /// Number of the stage that was running or about to begin, from 0.
    pub fn stage(&self) -> usize {
        self.stage
    }

    /// Steps that it had taken.
    pub fn step(&self) -> u32 {
        self.step
    }

    /// Bytes that it holds, its terrain's above all; copies of it hold the same ones.
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

    /// Whether a recipe gives this terrain: the start, the seed and the stages before are those that it was made by; of the
    /// stage that was running, all but the strokes that it had not made. Then [`Run::from_mark`] goes on to the bits that a
    /// fresh run of that recipe comes to. (A run whose parameters or terrain were changed between steps has another past than
    /// its recipe tells; its marks agree with the recipe as it was then.)
    pub fn agrees(&self, recipe: &Recipe) -> bool {
        recipe.past(self.stage, self.step, self.strokes, self.reports.len() > self.stage).as_ref() == Some(&self.past)
    }
}

impl Run {
    /// Remembers the run as it stands. It copies the terrain once.
    pub fn mark(&self) -> Mark {
        let is_begun = self.reports.len() > self.stage;
        Mark {
            terrain: Arc::new(self.terrain.clone()),
            stage: self.stage,
            step: self.step,
            strokes: self.strokes,
            reports: self.reports.clone(),
            past: self.recipe.past(self.stage, self.step, self.strokes, is_begun).unwrap_or_default(),
        }
    }

    /// The run back at a mark, going on by a recipe that may have changed from there on; [`Mark::agrees`] says whether it has
    /// only there.
    ///
    /// # Errors
    /// When the recipe does not have the mark's stage, or that stage not its step or its strokes; as [`Run::over`].
    pub fn from_mark(recipe: Recipe, mark: &Mark) -> Result<Self> {
        let place = [mark.stage, mark.strokes];
        Self::restored(recipe, Terrain::clone(&mark.terrain), place, mark.step, mark.reports.clone())
    }
}

impl Recipe {
    /// Whether another recipe gives the same terrain up to after `step` steps of stage number `stage`, before the strokes
    /// that are made there: the same start, seed and stages before; of the stage, if it has taken a step, the same but for
    /// strokes from there on. False where one of them has no such stage.
    pub fn same_until(&self, other: &Self, stage: usize, step: u32) -> bool {
        let past = |recipe: &Self| recipe.past(stage, step, 0, step > 0);
        past(self).is_some_and(|own| past(other) == Some(own))
    }

    /// What decides the terrain of a run that stands in stage `stage`, after `step` steps and `strokes` of the strokes made
    /// there, as text; of that stage nothing if it has not begun. `None` without such a stage.
    fn past(&self, stage: usize, step: u32, strokes: usize, is_begun: bool) -> Option<String> {
        let before = self.stages.get(..stage)?;
        let present = self.stages.get(stage).filter(|_| is_begun);
        let mut text = format!("{:?} {:?} {:?} ", self.extent, self.extent.map(|_| self.cells), self.from);
        let _ = writeln!(text, "{} {:?} {:?}", self.seed, self.edges, self.sea_level);
        let reads = |stage: &Stage| stage.layers.values().any(|source| matches!(source.from, From::File(_)));
        if self.from.is_some() || before.iter().chain(present).any(reads) {
            let _ = writeln!(text, "{:?}", self.folder);
        }
        for stage in before {
            if stage.muted {
                // Its place counts and its report stays; what it would do does not matter.
                let _ = writeln!(text, "muted {:?} {}", stage.label, stage.model.about().name);
            } else {
                text += &stage.to_toml(stage.strokes.iter());
            }
        }
        if let Some(stage) = present {
            let made = stage.strokes.iter().filter(|stroke| stroke.step < step);
            text += &stage.to_toml(made.chain(stage.strokes_at(step).take(strokes)));
        }
        Some(text)
    }
}
