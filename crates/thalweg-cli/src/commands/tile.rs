//! `tile`: makes one tile of a world of any size.

use std::process::ExitCode;
use std::time::Instant;

use serde_json::json;
use thalweg_core::Result;
use thalweg_export::world_files::{check_folder, draft_tile, tile_rect};

use crate::args::TileArgs;
use crate::console::{Reporter, list_paths, paths_to_text};
use crate::progress::Counting;
use crate::signals::{INTERRUPTED, install_signal_handler};
use crate::worlds::{open_world, solve_rect};

/// Makes a tile and writes it into a folder.
///
/// # Errors
/// Returns an error if there is no such world, level or place, or if the folder cannot be written.
pub fn write_tile(args: &TileArgs, voice: Reporter) -> Result<ExitCode> {
    let start = Instant::now();
    let (recipe, world) = open_world(&args.world)?;
    let world = world.with_tiles(args.size)?;
    let rect = tile_rect(&world, args.level, args.at)?;
    check_folder(&args.output)?;
    install_signal_handler(voice);
    if !solve_rect(&world, args.level, rect, &mut Counting::new(voice))? {
        voice.print_line("stopped; nothing was written");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    // Level 0 is solved once per world and may take most of the time, so it is reported on its own.
    let seconds_solved = start.elapsed().as_secs_f64();
    let mut draft = draft_tile(&world, &recipe, args.level, rect, &args.output)?;
    voice.warn_all(draft.warnings());
    let seconds = start.elapsed().as_secs_f64();
    draft.report["seconds"] = json!(seconds);
    draft.report["seconds_level_0"] = json!(seconds_solved);
    let files = draft.final_paths();
    let report = draft.commit(&[])?;
    let (level, width) = (args.level, world.frame().cell_width(args.level));
    voice.print_line(&format!(
        "level {level} with cells of {width} m; wrote in {seconds:.1} s, {seconds_solved:.1} s of it for level 0:\n  \
         {}",
        list_paths(&files)
    ));
    voice.print_event(&json!({"event": "result", "files": paths_to_text(&files), "tile": report}));
    Ok(ExitCode::SUCCESS)
}
