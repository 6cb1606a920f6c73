//! `tile`: computes the tiles of a world of any size: one of them, or a folder of all.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use thalweg_core::base::names::format_path;
use thalweg_core::{Error, Point, Result};
use thalweg_export::world_files::{TileFolder, TileRange, check_folder, draft_tile, tile_rect};
use thalweg_io::output;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::world::{TILE, World};

use crate::args::knobs::KnobArgs;
use crate::args::values::{four_numbers, parse_point};
use crate::args::{RecipeArgs, WorldArgs};
use crate::console::{Reporter, list_paths, paths_to_text};
use crate::job::{as_typed, lock_folder};
use crate::progress::Counting;
use crate::signals::{INTERRUPTED, install_signal_handler, is_stop_requested};
use crate::verb::{Group, Verb};
use crate::worlds::{load_world_recipe, solve_rect};

/// The arguments of `tile`.
#[derive(Args)]
pub struct TileArgs {
    #[command(flatten)]
    world: WorldArgs,
    /// The folder to write into. Without --at, it gets the tiles LEVEL/COLUMN/ROW.tif, and existing tiles of the same
    /// world are kept.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Level of the tile, or without --at, the finest level of the tiles; level 0 has the recipe's widest cells, and
    /// each further level has cells of half the width.
    #[arg(long, value_name = "L", default_value = "0")]
    level: u32,
    /// A point in the tile, in metres east and south of the world's origin; only this tile is computed.
    #[arg(long, value_name = "X,Y", value_parser = parse_point, allow_hyphen_values = true)]
    at: Option<Point>,
    /// Side of the tile of --at in cells, 16 to 4096; the tiles of a side form a grid that begins at the world's origin
    /// [default: 512].
    #[arg(long, value_name = "N")]
    side: Option<usize>,
    /// Without --at: writes only the tiles in this rectangle of the world: its western, northern, eastern and southern
    /// sides in metres east and south of the world's origin [default: the whole world].
    #[arg(long, value_name = "W,N,E,S", value_parser = four_numbers, allow_hyphen_values = true)]
    within: Option<[f64; 4]>,
    #[command(flatten)]
    changes: RecipeArgs,
    // The heading of the knobs applies to all arguments after them, so they are last.
    #[command(flatten)]
    knobs: KnobArgs,
}

impl Verb for TileArgs {
    const NAME: &'static str = "tile";
    const GROUP: Group = Group::Make;
    const ABOUT: &'static str = "Computes one tile of a world of any size, with heights, flow directions, rivers and a \
                                 shaded map; or a folder of tiles";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        match self.at {
            Some(_) if self.within.is_some() => {
                Err(Error::conflict("--within", "does not apply together with --at, which computes a single tile"))
            }
            None if self.side.is_some() => {
                Err(Error::conflict("--side", "only applies together with --at; the tiles of a folder have 512 cells"))
            }
            Some(point) => write_tile(self, point, voice),
            None => write_tiles(self, voice),
        }
    }
}

/// Returns the recipe with the changes of the command line.
fn load_recipe(args: &TileArgs) -> Result<Recipe> {
    let (world, changes) = (Path::new(&args.world.world), &args.changes);
    let given = [
        ("--cells", changes.cells.is_some()),
        ("--until", changes.until.is_some()),
        ("--set", !changes.set.is_empty()),
        ("a knob", !args.knobs.collect_settings()?.is_empty()),
    ];
    if let Some((name, _)) = given.into_iter().find(|(_, given)| *given && world.is_dir()) {
        let problem = "does not apply to the folder of a world, which has a complete recipe; give a preset or a \
                       recipe file";
        return Err(Error::conflict(name, problem));
    }
    load_world_recipe(&args.world.world, |recipe| changes.apply_to(recipe, &args.knobs))
}

/// Computes a tile and writes it into a folder.
fn write_tile(args: &TileArgs, point: Point, voice: Reporter) -> Result<ExitCode> {
    let start = Instant::now();
    let recipe = load_recipe(args)?;
    let world = World::open(&recipe)?.with_tiles(args.side.unwrap_or(TILE))?;
    let rect = tile_rect(&world, args.level, point)?;
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

/// Computes the tiles of a world that do not exist yet, of all levels up to the requested one.
fn write_tiles(args: &TileArgs, voice: Reporter) -> Result<ExitCode> {
    let (start, dir) = (Instant::now(), &args.output);
    let range = TileRange { level: args.level, within: args.within };
    let recipe = load_recipe(args)?;
    let world = World::open(&recipe)?;
    // If the work cannot be started, no folder is left behind, and a folder that another run has locked stays as it
    // is.
    TileFolder::check(dir, &world, &recipe, &range).map_err(as_typed)?;
    output::make_folder(dir)?;
    let _lock = lock_folder(dir, voice)?;
    let folder = TileFolder::open(dir, &world, &recipe, &range)?;
    install_signal_handler(voice);
    let mut show = Counting::new(voice);
    let (all, mut done, mut made) = (folder.tile_count(), 0, 0);
    let mut left = folder.tiles().peekable();
    while let Some((level, first)) = left.next() {
        done += 1;
        if folder.has_tile(level, first) {
            continue;
        }
        // As many tiles of one level as there are threads, because neighbours share the coarser cells that they are
        // computed from.
        let mut batch = vec![first];
        while batch.len() < rayon::current_num_threads() && left.peek().is_some_and(|(of, _)| *of == level) {
            batch.extend(left.next().map(|(_, tile)| tile).filter(|tile| !folder.has_tile(level, *tile)));
            done += 1;
        }
        // Solve the coarser cells for the whole batch at once.
        let rects = batch.iter().map(|tile| world.tile_rect(level, *tile));
        let whole = rects.reduce(|a, b| a.union(b)).unwrap_or(world.tile_rect(level, first));
        if !solve_rect(&world, level, whole, &mut show)? || is_stop_requested() {
            voice.print_line(&format!("stopped after {made} tiles; the same command continues the work"));
            return Ok(ExitCode::from(INTERRUPTED));
        }
        folder.write_tiles(level, &batch)?;
        made += batch.len();
        show.report_count(&format!("tiles of level {level}"), [done, all]);
    }
    drop(show);
    let seconds = start.elapsed().as_secs_f64();
    voice.print_line(&format!("wrote {made} of {all} tiles in {seconds:.1} s into {}", format_path(dir)));
    voice.print_event(&json!({"event": "result", "tiles": all, "written": made, "seconds": seconds}));
    Ok(ExitCode::SUCCESS)
}
