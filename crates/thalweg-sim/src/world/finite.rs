//! [`Finite`]: a level 0 that is a single terrain, solved as a whole.

use std::sync::{Mutex, PoisonError};

use xxhash_rust::xxh3::Xxh3;

use super::coarse::{CoarseLevel, CoarseWater, Solved, finish_run};
use super::lazy_value::LazyValue;
use crate::recipe::Recipe;
use crate::run::Run;
use thalweg_core::{CellRect, Error, Progress, Result, Terrain};
use thalweg_refine::{Frame, LocalWindow, Rules};

/// A level 0 that is a whole terrain: that of a recipe, solved when it is first needed, or a given one.
pub struct Finite {
    frame: Frame,
    whole: LazyValue<Solved>,
    /// The run that solves it, until it is solved.
    run: Mutex<Option<Run>>,
    identity: u64,
}

impl Finite {
    /// Opens the terrain of a recipe. Nothing is solved yet, but an elevation model is read if the recipe starts from
    /// one.
    ///
    /// # Errors
    /// Returns the errors of [`Run::new`]; also returns an error if there is not enough memory for the run, a file that
    /// it reads cannot be read, or its sides are looped.
    pub fn open(recipe: &Recipe) -> Result<Self> {
        if recipe.dem().is_none() {
            recipe.check_memory(&recipe.last_grid()?)?;
        }
        let mut hash = Xxh3::new();
        hash.update(recipe.to_toml().as_bytes());
        // The content of the files is part of the identity: the same recipe over a changed file is another world.
        for path in recipe.list_input_files().iter().filter(|path| path.exists()) {
            hash.update(&std::fs::read(path).map_err(Error::io(path, "read"))?);
        }
        let run = Run::new(recipe.clone())?;
        let grid = run.grids().last().ok_or_else(|| Error::Recipe("the recipe has no levels".into()))?;
        let frame = Frame::from_grid(&recipe.map_grid(grid))?;
        Ok(Self { frame, whole: LazyValue::default(), run: Mutex::new(Some(run)), identity: hash.digest() })
    }

    /// Creates a level 0 from a given whole terrain, to be refined by these rules.
    ///
    /// # Errors
    /// Returns the errors of [`LocalWindow::from_terrain`].
    pub fn from_terrain(terrain: &Terrain, rules: &Rules) -> Result<Self> {
        let (frame, solved) = Solved::from_terrain(terrain, rules)?;
        let Solved { window, water } = &solved;
        let mut hash = Xxh3::new();
        // The text is part of the identity: it must not change with how `Frame` is declared.
        let Frame { first, cells, cell, edges, sea } = &frame;
        let first = [first.row, first.col];
        let text =
            format!("Frame {{ first: {first:?}, cells: {cells:?}, cell: {cell:?}, edges: {edges:?}, sea: {sea:?} }}");
        hash.update(text.as_bytes());
        window.ground.as_slice().iter().for_each(|height| hash.update(&height.0.to_le_bytes()));
        hash.update(window.receivers.as_slice());
        window.area.as_slice().iter().for_each(|area| hash.update(&area.to_le_bytes()));
        if let Some(lakes) = &window.lakes {
            lakes.id.as_slice().iter().for_each(|id| hash.update(&id.to_le_bytes()));
            lakes.level.as_slice().iter().for_each(|level| hash.update(&level.0.to_le_bytes()));
        }
        if let Some(loose) = &window.loose {
            loose.as_slice().iter().for_each(|thick| hash.update(&thick.0.to_le_bytes()));
        }
        if let Some(water) = water {
            water.rain.as_slice().iter().for_each(|share| hash.update(&share.to_le_bytes()));
        }
        let whole = LazyValue::default();
        whole.get_or_make(|| Ok(solved))?;
        Ok(Self { frame, whole, run: Mutex::new(None), identity: hash.digest() })
    }

    fn solve_level(&self, progress: &mut dyn Progress) -> Result<Solved> {
        let mut slot = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        let run = slot
            .as_mut()
            .ok_or_else(|| Error::unsupported("level 0", "cannot be solved, because its run is missing"))?;
        let name = format!("level 0 of {}", run.recipe().name);
        finish_run(run, &name, progress)?;
        let rules = run.recipe().combine_local_forms(self.frame.cell).rules;
        let (_, solved) = Solved::from_terrain(run.terrain(), &rules)?;
        // The run is dropped only after its terrain was converted, so a failure can be repeated.
        *slot = None;
        Ok(solved)
    }
}

impl CoarseLevel for Finite {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn window(&self, rect: CellRect<i64>, progress: &mut dyn Progress) -> Result<LocalWindow> {
        thalweg_refine::check_window(rect, self.frame.world_rect(0))?;
        self.whole.get_or_make(|| self.solve_level(progress))?.window.crop(rect)
    }

    fn water(&self, rect: CellRect<i64>, progress: &mut dyn Progress) -> Result<Option<CoarseWater>> {
        let world = self.frame.world_rect(0);
        thalweg_refine::check_window(rect, world)?;
        let solved = self.whole.get_or_make(|| self.solve_level(progress))?;
        solved.water.as_ref().map(|water| water.crop_to(world, rect)).transpose()
    }

    fn bytes(&self) -> u64 {
        self.whole.get().map_or(0, Solved::bytes)
    }

    fn identity(&self) -> u64 {
        self.identity
    }
}
