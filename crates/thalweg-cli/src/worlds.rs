//! Worlds of any size that commands refer to: opening them, and solving the parts that a command needs.

use std::ops::ControlFlow;
use std::path::Path;

use thalweg_core::{CellRect, Error, ProgressReport, Result};
use thalweg_export::world_files::read_folder_recipe;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::world::World;

use crate::args::WorldArgs;
use crate::progress::Counting;
use crate::recipes::load_recipe;
use crate::signals::is_stop_requested;

/// Opens the named world; returns it with its recipe.
///
/// # Errors
/// Returns an error if there is no such preset, recipe or folder, or if the recipe cannot be run.
pub fn open_world(args: &WorldArgs) -> Result<(Recipe, World)> {
    let path = Path::new(&args.world);
    // A folder contains the recipe of its world; any other name is that of a preset or a recipe file.
    let mut recipe = if path.is_dir() { read_folder_recipe(path)? } else { load_recipe(&args.world)? };
    recipe.seed = args.seed.unwrap_or(recipe.seed);
    let world = World::open(&recipe)?;
    Ok((recipe, world))
}

/// Solves the part of level 0 that a rectangle needs. Returns true if it was done, false after Ctrl-C.
///
/// # Errors
/// Returns the errors of solving the world.
pub fn solve_rect(world: &World, level: u32, rect: CellRect<i64>, show: &mut Counting) -> Result<bool> {
    let mut progress = |report: &ProgressReport<'_>| {
        // The solution asks after each part of its work whether it should go on.
        show.report_count(report.task, [report.done, report.total]);
        if is_stop_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    match world.solve(level, rect, &mut progress) {
        Ok(()) => Ok(true),
        Err(Error::Stopped { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
