//! [`Mark`]: a place in a run that one can go back to, under a recipe that has changed since.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::plan::Turn;
use crate::recipe::strokes::Stroke;
use crate::recipe::{From, Recipe, Stage};
use crate::run::{Run, StageReport};
use crate::sketch::SketchFrom;
use thalweg_core::terrain::bytes::Values;
use thalweg_core::{Result, Terrain};

/// A run as it stood between two steps, without its recipe. Copies share the terrain.
#[derive(Clone)]
pub struct Mark {
    terrain: Arc<Terrain>,
    turn: usize,
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

    /// Number of the turn that was running or about to begin, from 0, among [`Run::turns`]; of turns in all when all was done.
    pub fn turn(&self) -> usize {
        self.turn
    }

    /// Number of steps that it had taken.
    pub fn step(&self) -> u32 {
        self.step
    }

    /// Whether a parameter was changed while a stage ran: its recipe alone does not lead here.
    pub(crate) fn is_turned(&self) -> bool {
        self.reports.iter().any(|report| !report.changes.is_empty())
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
        recipe.past(self.turn, self.step, self.strokes, self.reports.len() > self.turn).as_ref() == Some(&self.past)
    }
}

impl Run {
    /// Remembers the run as it stands. It copies the terrain once.
    pub fn mark(&self) -> Mark {
        let is_begun = self.reports.len() > self.turn;
        Mark {
            terrain: Arc::new(self.terrain.clone()),
            turn: self.turn,
            step: self.step,
            strokes: self.strokes,
            reports: self.reports.clone(),
            past: self.recipe.past(self.turn, self.step, self.strokes, is_begun).unwrap_or_default(),
        }
    }

    /// The run back at a mark, going on by a recipe that may have changed from there on; [`Mark::agrees`] says whether it has
    /// only there.
    ///
    /// # Errors
    /// When the recipe does not have the mark's stage, or that stage not its step or its strokes; as [`Run::over`].
    pub fn from_mark(recipe: Recipe, mark: &Mark) -> Result<Self> {
        let place = [mark.turn, mark.strokes];
        Self::restored(recipe, Terrain::clone(&mark.terrain), place, mark.step, mark.reports.clone())
    }
}

impl Recipe {
    /// Whether another recipe gives the same terrain up to after `step` steps of turn number `turn`, from 0, before the strokes
    /// that are made there: the same start, seed, levels and turns before; of the turn's stage, if it has taken a step, the same
    /// but for strokes from there on. False where one of them has no such turn.
    pub fn same_until(&self, other: &Self, turn: usize, step: u32) -> bool {
        let past = |recipe: &Self| recipe.past(turn, step, 0, step > 0);
        past(self).is_some_and(|own| past(other) == Some(own))
    }

    /// What decides the terrain of a run that stands in turn `turn`, after `step` steps and `strokes` of the strokes made
    /// there, as text; of that turn nothing if it has not begun. `None` without such a turn. How many levels are yet to come
    /// decides nothing.
    fn past(&self, turn: usize, step: u32, strokes: usize, is_begun: bool) -> Option<String> {
        let grids = if self.has_levels() { self.grids().ok()? } else { Vec::new() };
        let widths: Vec<f64> = grids.iter().map(|grid| grid.cell).collect();
        let turns = self.turns(if widths.is_empty() { &[1.0] } else { &widths });
        let before = turns.get(..turn)?;
        let present = turns.get(turn).filter(|_| is_begun);
        let first = grids.first().map_or(self.cells, |grid| grid.size[0].max(grid.size[1]));
        let mut text =
            format!("{:?} {:?} {:?} ", self.extent().map(<[f64; 2]>::from), self.extent().map(|_| first), self.dem());
        if self.dem().is_some() {
            let _ = writeln!(text, "{}", self.cells);
        }
        let _ = writeln!(text, "{} {:?} {:?} {}", self.seed, self.edges, self.sea_level, self.margin());
        let _ = writeln!(text, "{:?}", self.place());
        match &self.sketch {
            Some(SketchFrom::File(path)) => drop(writeln!(text, "sketch {path:?} {:?}", self.folder)),
            Some(SketchFrom::Here(sketch)) => drop(writeln!(text, "sketch {:?}", sketch.features)),
            None => {}
        }
        let stage = |turn: &Turn| self.stages.get(turn.stage?);
        let reads = |stage: &Stage| stage.layers.values().any(|source| matches!(source.from, From::File(_)));
        if self.dem().is_some() || before.iter().chain(present).filter_map(stage).any(reads) {
            let _ = writeln!(text, "{:?}", self.folder);
        }
        let [global, _] = self.counts(widths.len());
        let is_local = |turn: &Turn| turn.stage.is_none() && !turn.trims && turn.level >= global;
        let local = |text: &mut String| {
            let cell = widths.get(global - 1).copied().unwrap_or(1.0);
            let _ = writeln!(text, "local {:?}", self.local(cell).rules);
        };
        for turn in before {
            if is_local(turn) {
                local(&mut text);
                continue;
            }
            if turn.trims {
                let _ = writeln!(text, "trim {:?}", <[usize; 2]>::from(self.cut()));
                continue;
            }
            let Some(stage) = stage(turn) else {
                // What base stages add together is another ground than what they add one by one.
                let label = |number: &usize| self.stages.get(*number).map(|stage| &stage.label);
                let blocks = self.octaves(&widths, turn.level).ok()?;
                let blocks: Vec<Vec<_>> = blocks.iter().map(|block| block.iter().map(label).collect()).collect();
                let _ = writeln!(text, "finer {blocks:?}");
                continue;
            };
            if stage.muted {
                // Its place counts and its report stays; what it would do does not matter.
                let _ = writeln!(text, "muted {:?} {}", stage.label, stage.model.about().name);
            } else {
                text += &with(stage, stage.strokes.iter().filter(|stroke| stroke.pass == turn.pass));
            }
        }
        if present.is_some_and(is_local) {
            local(&mut text);
        }
        if let Some((turn, stage)) = present.and_then(|turn| Some((turn, stage(turn)?))) {
            let made = stage.strokes.iter().filter(|stroke| stroke.pass == turn.pass && stroke.step < step);
            text += &with(stage, made.chain(stage.strokes_at(turn.pass, step).take(strokes)));
        }
        Some(text)
    }
}

/// A stage as it stands in a recipe, with these strokes alone.
fn with<'a>(stage: &Stage, strokes: impl Iterator<Item = &'a Stroke>) -> String {
    Stage { strokes: strokes.cloned().collect(), ..stage.clone() }.to_toml()
}
