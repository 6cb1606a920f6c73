//! `build`: builds a world from a recipe.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use serde_json::json;
use thalweg_core::base::names::format_path;
use thalweg_core::{Error, Result};
use thalweg_export::export::{ExportTarget, fit_recipe};
use thalweg_export::world_files::{TileFolder, TileRange};
use thalweg_export::world_folder::{Ending, begin_run, is_of_another, is_unchanged_recipe};
use thalweg_io::{LoadOptions, output};
use thalweg_sim::recipe::{Recipe, WorldPlace};
use thalweg_sim::run::Run;
use thalweg_sim::world::World;
use thalweg_store::BuildJob;

use crate::args::values::UnitWord;
use crate::args::{BuildArgs, TILE};
use crate::console::Reporter;
use crate::drive::complete_run;
use crate::job::{RunJob, as_typed, lock_folder, sample_type};
use crate::progress::Counting;
use crate::recipes::{check_unique_parameters, find_recipe, recipe_file, set_parameter, with_dem_file};
use crate::signals::{INTERRUPTED, install_signal_handler, is_stop_requested};
use crate::stores::{execute_job, is_store_name};
use crate::worlds::solve_rect;

/// Builds a world.
///
/// # Errors
/// Returns an error if there is no such recipe, if the recipe is invalid, or if the folder cannot be written or is in
/// use.
pub fn build_world(args: &BuildArgs, voice: Reporter) -> Result<ExitCode> {
    let asked = resolve_request(args)?;
    let is_store = is_store_name(&asked.dir);
    if let Some(name) = args.run.in_memory_only_option().filter(|_| args.tile_dir.is_some() || is_store) {
        let problem = "does not apply when the output is a folder of tiles or a Zarr store: the report is always \
                       written, and running the same command again continues an interrupted run";
        return Err(Error::conflict(name, problem));
    }
    if let Some(dir) = &args.tile_dir {
        let recipe = if asked.own_model { with_dem_file(asked.recipe)? } else { asked.recipe };
        return build_tiles(args, &recipe, dir, voice);
    }
    if is_store {
        let job = BuildJob::from_recipe_part(&asked.recipe, args.level, args.rect).map_err(as_typed)?;
        return execute_job(thalweg_store::Job::Build(job), &asked.dir, TILE, args.memory, voice);
    }
    let of_stores = [("--level", args.level.is_some()), ("--rect", args.rect.is_some())];
    if let Some((name, _)) = of_stores.into_iter().find(|(_, asked)| *asked) {
        return Err(Error::conflict(name, "only applies when the output is a Zarr store (-o DIR.zarr)"));
    }
    build_whole_world(args, asked, voice)
}

/// Builds a whole world into its folder.
fn build_whole_world(
    args: &BuildArgs,
    BuildRequest { recipe, own_model, dir }: BuildRequest,
    voice: Reporter,
) -> Result<ExitCode> {
    // If the run cannot be started, no folder is left behind.
    let run = begin_world_run(args, recipe, own_model.then_some(dir.as_path()))?;
    voice.warn_all(&run.input().warnings);
    output::make_folder(&dir)?;
    let _lock = lock_folder(&dir, voice)?;
    // A world may be rebuilt from the recipe in its own folder if that file stays unchanged.
    let stays = |path: &PathBuf| is_unchanged_recipe(&dir, run.recipe(), path);
    let reads: Vec<PathBuf> = recipe_file(&args.recipe).into_iter().filter(|path| !stays(path)).collect();
    let ending = Ending::World { dir: dir.clone(), sample: args.sample.map(sample_type), model: own_model };
    let job = RunJob {
        units_overridden: run.input().overridden.clone(),
        ..RunJob::new(ending, &args.run, run.recipe(), &reads)?
    };
    if args.output.is_none() && is_of_another(&dir, run.recipe()) {
        let replaced = "contains another world, which this run replaces; choose another folder with -o to keep it";
        voice.warn(&format!("{} {replaced}", format_path(&dir)));
    }
    let idle = run.idle_stages();
    if !idle.is_empty() {
        let why = "these stages do not run, because no level has cells of their widths";
        voice.print_line(&format!("{why}: {}", idle.join(", ")));
    }
    complete_run(run, job, voice)
}

/// Starts the run. If the folder `own` is given, a preset's elevation model will be written there, next to the world.
fn begin_world_run(args: &BuildArgs, recipe: Recipe, own: Option<&Path>) -> Result<Run> {
    let options = LoadOptions { unit: args.unit.map(UnitWord::to_unit), ..LoadOptions::default() };
    match (recipe.dem(), own) {
        (None, _) => {
            recipe.check_memory(&recipe.last_grid()?)?;
            Run::new(recipe)
        }
        (Some(_), Some(dir)) => begin_run(recipe, dir, &options),
        (Some(model), None) => {
            let model = recipe.folder.join(model);
            Run::from_elevation_file(recipe, &model, &options)
        }
    }
}

/// Builds the tiles of a world that do not exist yet.
fn build_tiles(args: &BuildArgs, recipe: &Recipe, dir: &Path, voice: Reporter) -> Result<ExitCode> {
    let start = Instant::now();
    let range = tile_range(args)?;
    let world = World::open(recipe)?;
    // If the work cannot be started, no folder is left behind, and a folder that another run has locked stays as it
    // is.
    TileFolder::check(dir, &world, recipe, &range).map_err(as_typed)?;
    output::make_folder(dir)?;
    let _lock = lock_folder(dir, voice)?;
    let folder = TileFolder::open(dir, &world, recipe, &range)?;
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

/// Returns the range of requested tiles.
fn tile_range(args: &BuildArgs) -> Result<TileRange> {
    let within = match args.tile_within[..] {
        [] => None,
        [west, north, east, south] => Some([west, north, east, south]),
        _ => {
            let typed: Vec<String> = args.tile_within.iter().map(ToString::to_string).collect();
            return Err(Error::invalid_value("--tile-within", typed.join(","), "W,N,E,S, four numbers in metres"));
        }
    };
    Ok(TileRange { level: args.tile_level, within })
}

/// The recipe to build and the folder for its world.
struct BuildRequest {
    recipe: Recipe,
    /// True if the world starts with a preset's elevation model, which is written next to the world.
    own_model: bool,
    dir: PathBuf,
}

/// Determines the recipe and the folder from the command line.
fn resolve_request(args: &BuildArgs) -> Result<BuildRequest> {
    let (mut recipe, is_preset) = find_recipe(&args.recipe)?;
    let own_model = is_preset && recipe.dem().is_some() && args.from.is_none();
    apply_overrides(&mut recipe, args)?;
    let by_itself = || default_folder(args, &recipe);
    let dir = args.output.clone().map_or_else(by_itself, Ok)?;
    if args.preview {
        if !recipe.has_levels() {
            let problem = "only applies to a recipe that is built in levels (`coarsest`); use --cells N to build any \
                           recipe coarser";
            return Err(Error::conflict("--preview", problem));
        }
        recipe.cells = recipe.preview_cells()?;
    }
    Ok(BuildRequest { recipe, own_model, dir })
}

/// Applies the command line's settings to a recipe. Knobs come first, so that a parameter that is set explicitly keeps
/// its value.
fn apply_overrides(recipe: &mut Recipe, args: &BuildArgs) -> Result<()> {
    if let Some(from) = &args.from {
        let Some(dem) = recipe.dem_mut() else {
            let problem = "only applies to a recipe that begins with an elevation model, such as `aged`";
            return Err(Error::conflict("--from", problem));
        };
        // Report a missing file before an unknown format of its extension.
        std::fs::metadata(from).map_err(Error::io(from, "read"))?;
        *dem = output::absolute_path(from)?;
    }
    if let Some(cells) = args.cells {
        recipe.cells = cells;
    }
    recipe.seed = args.seed.unwrap_or(recipe.seed);
    if let (Some(crs), Some(corner)) = (&args.crs, args.origin) {
        recipe.set_place(WorldPlace::new(crs, corner)?)?;
    }
    args.knobs.to_single_knobs()?.apply_to(recipe)?;
    check_unique_parameters(&args.set)?;
    for (key, value) in &args.set {
        set_parameter(recipe, key, value)?;
    }
    args.until.as_deref().map_or(Ok(()), |label| recipe.truncate_after(label))?;
    args.target.as_deref().map_or(Ok(()), |target| fit_recipe(recipe, ExportTarget::find(target)?).map_err(as_typed))
}

/// The default folder of a world: `worlds/` with the recipe's name and the seed. If the world differs from the
/// recipe's, six digits of its hash are appended, so that every world has a folder of its own. A preview has a
/// separate folder.
fn default_folder(args: &BuildArgs, recipe: &Recipe) -> Result<PathBuf> {
    let mut name = OsString::from("worlds/");
    name.push(Path::new(&args.recipe).file_stem().unwrap_or("world".as_ref()));
    name.push(format!("-{}", recipe.seed));
    // Two commands with different settings must not write into the same folder.
    let is_changed = args.from.is_some() || args.until.is_some() || args.target.is_some() || !args.set.is_empty();
    if is_changed || !args.knobs.collect_settings()?.is_empty() {
        name.push(format!("-{:.6}", recipe.hash()));
    }
    if args.preview {
        name.push("-preview");
    }
    Ok(name.into())
}
