//! [`Run`]: the execution of a recipe. The caller owns the loop, and with it progress reports, pausing, cancelling
//! and live views.

pub mod checkpoint;
mod finer;
mod layers;
mod local;
mod manual;
mod margin;
pub mod mark;
mod parameter_change;
mod progress;
mod report;
mod saved_parts;
mod sketch_restoration;
mod step;
pub mod tiles;
mod turns;

use std::borrow::Cow;

use crate::plan::Turn;
use crate::recipe::{Levels, Recipe};
use crate::run::turns::plan_checked_turns;
use crate::sketch::Sketch;
use thalweg_core::{Error, Grid, Result, Terrain};
use thalweg_io as io;
use thalweg_models::model::Stepper;

pub use self::parameter_change::ParameterChange;
pub use self::progress::RunProgress;
pub use self::report::StageReport;

/// A recipe that is executed on a terrain.
///
/// # Examples
/// ```
/// use thalweg_models::models::shape::{Shape, ShapeKind};
/// use thalweg_sim::recipe::Recipe;
/// use thalweg_sim::run::Run;
///
/// let plane = Shape { kind: ShapeKind::Plane, height: 100.0, tilt: 0.0, ..Shape::default() };
/// let mut recipe = Recipe::with_single_stage(Box::new(plane), 1);
/// recipe.set_extent([640.0, 640.0])?;
/// recipe.cells = 32;
///
/// let mut run = Run::new(recipe)?;
/// while let Some(progress) = run.take_step()? {
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
    half: Option<local::LocalLevel>,
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

/// What needs square cells, in messages.
const SUBJECT: &str = "a recipe";

impl Run {
    /// Creates a run from the recipe's own start: flat terrain of its extent on the coarsest level, or its elevation
    /// model.
    ///
    /// # Errors
    /// Returns the errors of [`Recipe::grids`] or, for an elevation model, those of [`Run::from_elevation_file`]; also
    /// returns an error if a stage's parameters or the sketch contradict a grid, or the sketch cannot be read.
    pub fn new(recipe: Recipe) -> Result<Self> {
        let Some(path) = recipe.dem() else {
            let grids = recipe.grids()?;
            let first = grids.first().cloned().ok_or_else(|| Error::Recipe("the recipe has no levels".into()))?;
            return Self::with_levels(recipe, Terrain::new(first), grids);
        };
        let path = recipe.folder.join(path);
        Self::from_elevation_file(recipe, path, &io::LoadOptions::default())
    }

    /// Creates a run over the elevation model in a file, whatever the recipe's start is. The elevation model is
    /// resampled to the recipe's cells. The reader's notes are available from [`Run::input`].
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, it cannot be resampled to the recipe's cells, or there is not
    /// enough memory for the run; also returns the errors of [`Run::with_terrain`].
    pub fn from_elevation_file(
        recipe: Recipe,
        path: impl Into<io::FilePath>,
        options: &io::LoadOptions,
    ) -> Result<Self> {
        let io::Loaded { terrain, warnings, nodata, overridden, .. } = io::load_square_terrain(path, options, SUBJECT)?;
        recipe.check_memory(&Grid::new(recipe.resampled_size(terrain.grid.size), terrain.grid.cell)?)?;
        let terrain = recipe.prepare_start_terrain(terrain)?;
        let mut run = Self::with_terrain(recipe, terrain)?;
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
    pub fn with_terrain(mut recipe: Recipe, terrain: Terrain) -> Result<Self> {
        recipe.set_levels(Levels::default())?;
        recipe.set_margin(0.0)?;
        let grids = vec![terrain.grid.clone()];
        Self::with_levels(recipe, terrain, grids)
    }

    /// Checks a recipe that has an extent, as [`Run::new`] does, without creating a run.
    ///
    /// # Errors
    /// Returns the errors of [`Run::new`]; also returns an error if the recipe has no extent.
    pub fn check(recipe: &Recipe) -> Result<()> {
        let grids = recipe.grids()?;
        sketch_restoration::read_sketch(recipe, &grids)?;
        plan_checked_turns(recipe, &grids).map(drop)
    }

    /// Creates a run on these levels.
    fn with_levels(recipe: Recipe, terrain: Terrain, grids: Vec<Grid>) -> Result<Self> {
        terrain.grid.check_square(SUBJECT)?;
        let turns = plan_checked_turns(&recipe, &grids)?;
        let sketch = sketch_restoration::read_sketch(&recipe, &grids)?;
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

    /// Returns the recipe.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Returns the terrain in its present state.
    pub fn terrain(&self) -> &Terrain {
        &self.terrain
    }

    /// Returns the terrain in its present state, without the margin around the map.
    pub fn terrain_without_margin(&self) -> Cow<'_, Terrain> {
        let grid = &self.terrain.grid;
        match self.recipe.map_window(grid).filter(|map| map.size() != grid.size) {
            Some(_) => Cow::Owned(margin::trim_to_map(&self.recipe, &self.terrain)),
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
}
