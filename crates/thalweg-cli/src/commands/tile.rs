//! `tile`: computes the tiles of a world of any size: one of them, or a folder of all.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use thalweg_core::base::names::{format_count, format_path};
use thalweg_core::declare::operation::{Operation as _, WorkForm};
use thalweg_core::{Error, Point, Result};
use thalweg_export::world_files::{TileFolder, TileOptions, check_folder, draft_tile, tile_rect};
use thalweg_io::output;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::world::World;

use crate::args::WorldArgs;
use crate::args::declared::{OperationArgs, typed_flag};
use crate::console::{Reporter, list_paths, paths_to_text};
use crate::job::lock_folder;
use crate::progress::Counting;
use crate::signals::{INTERRUPTED, install_signal_handler, is_stop_requested};
use crate::verb::{Group, Verb};
use crate::worlds::{load_world_recipe, name_place, solve_rect};

/// The arguments of `tile`.
#[derive(Args)]
pub struct TileArgs {
    #[command(flatten)]
    world: WorldArgs,
    /// The folder to write into. Without --at, it gets the tiles LEVEL/COLUMN/ROW.tif, and existing tiles of the same
    /// world are kept.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    options: OperationArgs<TileOptions>,
}

impl Verb for TileArgs {
    const NAME: &'static str = "tile";
    const GROUP: Group = Group::Make;
    const ABOUT: &'static str = "Computes one tile of a world of any size, with heights, flow directions, rivers and a \
                                 shaded map; or a folder of tiles";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        self.options.check_form(WorkForm::Folder, typed_flag)?;
        let written = match self.options.at {
            Some(point) => write_tile(self, point, voice),
            None => write_tiles(self, voice),
        };
        written.map_err(|error| self.options.as_typed(error))
    }
}

/// Opens the world with the changes of the options; returns it with its recipe.
fn open_world(args: &TileArgs) -> Result<(World, Recipe)> {
    let changes = args.options.recipe.changed_options();
    let change = changes.iter().find(|(option, _)| option.name != "seed");
    if let Some((option, _)) = change.filter(|_| Path::new(&args.world.world).is_dir()) {
        let problem = "does not apply to the folder of a world, which has a complete recipe; give a preset or a \
                       recipe file";
        return Err(Error::conflict(typed_flag(option), problem));
    }
    args.options.open_world(load_world_recipe(&args.world.world)?)
}

/// Computes a tile and writes it into a folder.
fn write_tile(args: &TileArgs, point: Point, voice: Reporter) -> Result<ExitCode> {
    let (start, level) = (Instant::now(), args.options.level);
    let (world, recipe) = open_world(args)?;
    let rect = tile_rect(&world, level, point).map_err(name_place)?;
    check_folder(&args.output)?;
    install_signal_handler(voice);
    if !solve_rect(&world, level, rect, &mut Counting::new(voice))? {
        voice.print_line("stopped; nothing was written");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    // Level 0 is solved once per world and may take most of the time, so it is reported on its own.
    let seconds_solved = start.elapsed().as_secs_f64();
    let mut draft = draft_tile(&world, &recipe, level, rect, &args.output)?;
    voice.warn_all(draft.warnings());
    let seconds = start.elapsed().as_secs_f64();
    draft.report["seconds"] = json!(seconds);
    draft.report["seconds_level_0"] = json!(seconds_solved);
    let files = draft.final_paths();
    let report = draft.commit(&[])?;
    let width = world.frame().cell_width(level);
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
    let (start, dir, range) = (Instant::now(), &args.output, args.options.tile_range());
    let (world, recipe) = open_world(args)?;
    // If the work cannot be started, no folder is left behind, and a folder that another run has locked stays as it
    // is.
    TileFolder::check(dir, &world, &recipe, &range)?;
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
            voice.print_line(&format!(
                "stopped after {}; the same command continues the work",
                format_count(made, "tile")
            ));
            return Ok(ExitCode::from(INTERRUPTED));
        }
        folder.write_tiles(level, &batch)?;
        made += batch.len();
        show.report_count(&format!("tiles of level {level}"), [done, all]);
    }
    drop(show);
    let seconds = start.elapsed().as_secs_f64();
    voice.print_line(&format!(
        "wrote {made} of {} in {seconds:.1} s into {}",
        format_count(all, "tile"),
        format_path(dir)
    ));
    voice.print_event(&json!({"event": "result", "tiles": all, "written": made, "seconds": seconds}));
    Ok(ExitCode::SUCCESS)
}
