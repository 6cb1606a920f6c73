//! Worlds of any size that commands refer to: their recipes, and the parts that a command needs.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::Path;

use thalweg_core::{CellRect, Error, ProgressReport, Result};
use thalweg_export::world_files::read_folder_recipe;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::world::World;

use crate::args::declared::rename_setting;
use crate::progress::Counting;
use crate::recipes::load_recipe;
use crate::signals::is_stop_requested;

/// Returns the recipe of a world: that of a preset, of a recipe file, or of the folder of a world or of tiles.
///
/// # Errors
/// Returns an error if there is no such preset, recipe or folder.
pub fn load_world_recipe(name: &OsStr) -> Result<Recipe> {
    let path = Path::new(name);
    // A folder contains the recipe of its world; any other name is that of a preset or a recipe file.
    if path.is_dir() { read_folder_recipe(path) } else { load_recipe(name) }
}

/// Names the option `--at` in an error about a place outside the world.
pub fn name_place(error: Error) -> Error {
    rename_setting(error, |name| (name == "place").then(|| "--at".to_string()))
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
