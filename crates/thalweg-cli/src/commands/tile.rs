//! `tile`: makes one tile of a world of any size.

use std::process::ExitCode;
use std::time::Instant;

use serde_json::json;
use thalweg_core::Result;
use thalweg_export::world_files::{check_folder, draft_tile, tile_rect};

use crate::args::Tile;
use crate::console::{Voice, list, texts};
use crate::progress::Counting;
use crate::signals::{INTERRUPTED, listen};
use crate::worlds::{opened, solved};

/// Makes a tile and writes it into a folder.
///
/// # Errors
/// Returns an error if there is no such world, level or place, or if the folder cannot be written.
pub fn tile(args: &Tile, voice: Voice) -> Result<ExitCode> {
    let start = Instant::now();
    let (recipe, world) = opened(&args.world)?;
    let world = world.with_tiles(args.size)?;
    let rect = tile_rect(&world, args.level, args.at)?;
    check_folder(&args.output)?;
    listen(voice);
    if !solved(&world, args.level, rect, &mut Counting::new(voice))? {
        voice.say("stopped; nothing was written");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let seconds_solved = start.elapsed().as_secs_f64();
    let mut draft = draft_tile(&world, &recipe, args.level, rect, &args.output)?;
    voice.warn_all(draft.warnings());
    let seconds = start.elapsed().as_secs_f64();
    draft.report["seconds"] = json!(seconds);
    draft.report["seconds_level_0"] = json!(seconds_solved);
    let files = draft.files();
    let report = draft.commit(&[])?;
    let (level, width) = (args.level, world.frame().width(args.level));
    voice.say(&format!(
        "level {level}, cells of {width} m; wrote in {seconds:.1} s, level 0 in {seconds_solved:.1} s:\n  {}",
        list(&files)
    ));
    voice.event(&json!({"event": "result", "files": texts(&files), "tile": report}));
    Ok(ExitCode::SUCCESS)
}
