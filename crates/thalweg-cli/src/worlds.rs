//! Worlds of any size that commands name: opened, and solved where a command looks.

use std::ops::ControlFlow;
use std::path::Path;

use thalweg_core::{CellRect, Error, ProgressReport, Result};
use thalweg_export::world_files::recipe_of;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::world::World;

use crate::args::WorldArgs;
use crate::progress::Counting;
use crate::recipes::named;
use crate::signals::is_asked;

/// The world that was named, with its recipe.
///
/// # Errors
/// No such preset, recipe or folder; a recipe that cannot be run.
pub fn opened(args: &WorldArgs) -> Result<(Recipe, World)> {
    let path = Path::new(&args.world);
    let mut recipe = if path.is_dir() { recipe_of(path)? } else { named(&args.world)? };
    recipe.seed = args.seed.unwrap_or(recipe.seed);
    let world = World::open(&recipe)?;
    Ok((recipe, world))
}

/// Solves what a rectangle needs of level 0. Whether it was done; if not, Ctrl-C came.
///
/// # Errors
/// What cannot be solved.
pub fn solved(world: &World, level: u32, rect: CellRect<i64>, show: &mut Counting) -> Result<bool> {
    let mut progress = |report: &ProgressReport<'_>| {
        show.step(report.task, [report.done, report.total]);
        if is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    match world.solve(level, rect, &mut progress) {
        Ok(()) => Ok(true),
        Err(Error::Stopped { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
