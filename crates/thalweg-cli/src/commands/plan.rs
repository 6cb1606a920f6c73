//! `plan`, `stage`, `verify`, `layer`: work in parts for the queue of a cluster, and the handling of its results.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use thalweg_core::base::names::format_path;
use thalweg_core::{Error, Result};
use thalweg_io::Format;
use thalweg_store::{Access, ApplyJob, BuildJob, Job, Outcome, Plan, PlannedWork, Store, Task, VerifyLevel, is_zarr};

use crate::args;
use crate::console::Reporter;
use crate::job::as_typed;
use crate::recipes::{OneModel, create_model_recipe, load_recipe};

/// The exit code of `stage` if the part has to wait for an earlier one.
const EXIT_WAITING: u8 = 3;

/// Writes a plan.
///
/// # Errors
/// Returns an error if the source is unusable or the plan cannot be written.
pub fn write_plan(args: &args::PlanArgs, voice: Reporter) -> Result<()> {
    let job = create_job(args)?;
    voice.warn_all(&job.warnings()?);
    let store = args.store.clone().unwrap_or_else(|| args.output.with_extension("zarr"));
    let plan = match args.memory {
        // Each part is a job of the queue with its own memory, so one tile at a time must fit.
        Some(memory) => Plan::fit_to_memory(&job, &store, args.tile, memory, 1)?.0,
        None => Plan::from_job(job, &store, args.tile)?,
    };
    plan.write(&args.output)?;
    let stages: Vec<&str> = plan.stages.iter().map(|stage| stage.name.as_str()).collect();
    voice.print_line(&format!(
        "{} tiles, numbered from 0; the stages in order, each solved after its tiles:",
        plan.tiles
    ));
    voice.print_line(&format!("  {}", stages.join(" ")));
    voice.print_event(&json!({"event": "result", "plan": plan.hash, "tiles": plan.tiles, "stages": stages}));
    Ok(())
}

/// Makes the job that the arguments name. A single source means the drainage of an elevation model, or a recipe's
/// world.
fn create_job(args: &args::PlanArgs) -> Result<Job> {
    let words: Vec<&OsString> = args.work.iter().collect();
    let verb = words.first().and_then(|word| word.to_str()).unwrap_or_default();
    match (verb, &words[..]) {
        ("apply", [_, model, source]) => {
            let name = model.to_str().unwrap_or_default();
            let recipe = create_model_recipe(&OneModel {
                name,
                set: &args.set,
                layers: &args.layer,
                seed: args.seed.unwrap_or(1),
                sea_level: args.map.sea_level,
                edges: args.map.edges.to_edges(),
            })?;
            Ok(Job::Apply(ApplyJob::from_recipe(&recipe, Path::new(source), args.load.clone())?))
        }
        ("drain", [_, source]) => create_drain_job(args, Path::new(source)),
        ("build", [_, recipe]) => create_build_job(args, recipe),
        (_, [source]) => {
            let path = Path::new(source);
            // A source with the extension of an elevation file is drained; everything else is taken for a recipe.
            let is_map = Format::from_path(path).is_ok() || is_zarr(path);
            if is_map { create_drain_job(args, path) } else { create_build_job(args, source) }
        }
        _ => {
            let typed: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            let allowed = "drain FILE, build PRESET, build RECIPE, apply MODEL FILE, or only a FILE, PRESET or RECIPE";
            Err(Error::invalid_value("work", typed.join(" "), allowed))
        }
    }
}

fn create_build_job(args: &args::PlanArgs, name: &OsString) -> Result<Job> {
    let mut recipe = load_recipe(name)?;
    recipe.cells = args.cells.unwrap_or(recipe.cells);
    recipe.seed = args.seed.unwrap_or(recipe.seed);
    let job = BuildJob::from_recipe_part(&recipe, args.level, args.rect).map_err(as_typed)?;
    Ok(Job::Build(job))
}

fn create_drain_job(args: &args::PlanArgs, path: &Path) -> Result<Job> {
    Ok(Job::Drain(args::drain_job(path, &args.load, &args.map, &args.drainage)?))
}

/// Carries out one part of a plan.
///
/// # Errors
/// Returns an error if the plan cannot be read or does not have this stage or tile, or the errors of the part's own
/// work.
pub fn execute_task(args: &args::StageArgs, voice: Reporter) -> Result<ExitCode> {
    let plan = Plan::read(&args.plan)?;
    let stage = plan.find_stage(&args.stage)?;
    let number = || args.tile.parse().map_err(|_| Error::invalid_value("tile", &args.tile, "a number, or `solve`"));
    let task = match args.tile.as_str() {
        "solve" => Task::Solve { stage },
        _ => Task::Tile { stage, tile: number()? },
    };
    args.memory.map_or(Ok(()), |memory| plan.check_memory(memory, rayon::current_num_threads()))?;
    // The report needs the findings of all stages, so it is written after the last solution.
    let last = stage + 1 == plan.stages.len() && matches!(task, Task::Solve { .. });
    let work = PlannedWork::open(plan, Access::Shared)?;
    match work.execute_task(task)? {
        Outcome::Done => {
            if last {
                work.write_report()?;
            }
            voice.print_event(&json!({"event": "result", "done": true}));
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Waits(missing) => {
            voice.print_line(&format!("cannot run yet: {missing}"));
            voice.print_event(&json!({"event": "result", "done": false, "waits": missing}));
            Ok(ExitCode::from(EXIT_WAITING))
        }
    }
}

/// Reports what is missing or altered in a store, and repairs it if requested.
///
/// # Errors
/// Returns an error if the folder is not a store, or if a store to repair has no plan.
pub fn verify_store(args: &args::VerifyArgs, voice: Reporter) -> Result<ExitCode> {
    let level = match (args.quick, args.deep) {
        (true, _) => VerifyLevel::Lengths,
        (_, true) => VerifyLevel::Samples,
        _ => VerifyLevel::Bytes,
    };
    let look = |store: &Store| Ok::<_, Error>((store.verify_tiles(level)?, store.verify_files(level)?));
    let (faults, files) = look(&Store::open_read(&args.store)?)?;
    let told: Vec<String> =
        faults.iter().map(ToString::to_string).chain(files.iter().map(ToString::to_string)).collect();
    told.iter().take(MAX_SHOWN_FAULTS).for_each(|fault| voice.print_line(fault));
    if told.len() > MAX_SHOWN_FAULTS {
        voice.print_line(&format!("and {} more", told.len() - MAX_SHOWN_FAULTS));
    }
    let mut left = told.len();
    if args.mend && left > 0 {
        let work = PlannedWork::open(Plan::read_sidecar(&args.store)?, Access::Alone)?;
        work.repair_tiles(&faults)?;
        work.repair_files(&files)?;
        // Check again, because tiles whose messages are gone cannot be recreated.
        let (faults, files) = look(work.store())?;
        left = faults.len() + files.len();
        let recreated = told.len().saturating_sub(left);
        voice.print_line(&format!("recreated {recreated} of {} damaged or missing items", told.len()));
        if left > 0 {
            voice.print_line(&format!(
                "{left} could not be recreated: they were never written, or the summaries of their stages in {} are \
                 missing; run the command that created the store again to write them",
                format_path(&work.messages_folder())
            ));
        }
    } else if told.is_empty() {
        voice.print_line("all tiles and files are intact");
    }
    voice.print_event(&json!({"event": "result", "faults": told, "left": left}));
    Ok(if left == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The maximum number of faults that are listed individually.
const MAX_SHOWN_FAULTS: usize = 20;

/// Writes a layer to a file.
///
/// # Errors
/// Returns an error if the folder is not a store, if the layer is not done, or if the file cannot be written.
pub fn export_layer(args: &args::LayerArgs, voice: Reporter) -> Result<()> {
    if Format::from_path(&args.output)? != Format::Tiff {
        let problem =
            "cannot be written, because layers are written as cloud-optimised GeoTIFFs; use the extension .tif";
        return Err(Error::invalid_file(&args.output, problem));
    }
    Store::open_read(&args.store)?.save_cog(&args.layer, &args.output, args.coarser)?;
    voice.report_files(std::slice::from_ref(&args.output));
    Ok(())
}
