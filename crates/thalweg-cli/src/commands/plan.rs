//! `plan`, `stage`, `verify`, `layer`: work in parts for the queue of a cluster, and the handling of its results.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use thalweg_core::base::names::shown;
use thalweg_core::{Error, Result};
use thalweg_io::Format;
use thalweg_store::{Access, ApplyJob, BuildJob, Job, Level, Outcome, Plan, Store, Task, Work, is_zarr};

use crate::args;
use crate::console::Voice;
use crate::recipes::{OneModel, named, of_model};

/// The exit code of `stage` if the part has to wait for an earlier one.
const WAITS: u8 = 3;

/// Writes a plan.
///
/// # Errors
/// Returns an error if the source is unusable or the plan cannot be written.
pub fn plan(args: &args::Plan, voice: Voice) -> Result<()> {
    let job = job(args)?;
    voice.warn_all(&job.warnings()?);
    let store = args.store.clone().unwrap_or_else(|| args.output.with_extension("zarr"));
    let plan = match args.memory {
        Some(memory) => Plan::within(&job, &store, args.tile, memory, 1)?.0,
        None => Plan::of(job, &store, args.tile)?,
    };
    plan.write(&args.output)?;
    let stages: Vec<&str> = plan.stages.iter().map(|stage| stage.name.as_str()).collect();
    voice.say(&format!("{} tiles, numbered from 0; the stages in order, each solved after its tiles:", plan.tiles));
    voice.say(&format!("  {}", stages.join(" ")));
    voice.event(&json!({"event": "result", "plan": plan.hash, "tiles": plan.tiles, "stages": stages}));
    Ok(())
}

/// Makes the job that the arguments name. A single source means the drainage of an elevation model, or a recipe's
/// world.
fn job(args: &args::Plan) -> Result<Job> {
    let words: Vec<&OsString> = args.work.iter().collect();
    let verb = words.first().and_then(|word| word.to_str()).unwrap_or_default();
    match (verb, &words[..]) {
        ("apply", [_, model, source]) => {
            let name = model.to_str().unwrap_or_default();
            let recipe = of_model(&OneModel {
                name,
                set: &args.set,
                layers: &args.layer,
                seed: args.seed.unwrap_or(1),
                sea_level: args.map.sea_level,
                edges: args.map.edges.edges(),
            })?;
            Ok(Job::Apply(ApplyJob::of(&recipe, Path::new(source), args.load.options())?))
        }
        ("drain", [_, source]) => drainage(args, Path::new(source)),
        ("build", [_, recipe]) => world(args, recipe),
        (_, [source]) => {
            let path = Path::new(source);
            let is_map = Format::of(path).is_ok() || is_zarr(path);
            if is_map { drainage(args, path) } else { world(args, source) }
        }
        _ => {
            let typed: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            let allowed = "drain FILE, build PRESET or RECIPE, apply MODEL FILE, or only a source";
            Err(Error::value("work", typed.join(" "), allowed))
        }
    }
}

fn world(args: &args::Plan, name: &OsString) -> Result<Job> {
    let mut recipe = named(name)?;
    recipe.cells = args.cells.unwrap_or(recipe.cells);
    recipe.seed = args.seed.unwrap_or(recipe.seed);
    Ok(Job::Build(BuildJob::part(&recipe, args.level, args.rect)?))
}

fn drainage(args: &args::Plan, path: &Path) -> Result<Job> {
    Ok(Job::Drain(args::drain_job(path, &args.load, &args.map, &args.drainage)?))
}

/// Carries out one part of a plan.
///
/// # Errors
/// Returns an error if the plan cannot be read or does not have this stage or tile, or the errors of the part's own
/// work.
pub fn stage(args: &args::Stage, voice: Voice) -> Result<ExitCode> {
    let plan = Plan::read(&args.plan)?;
    let stage = plan.stage(&args.stage)?;
    let number = || args.tile.parse().map_err(|_| Error::value("tile", &args.tile, "a number, or `solve`"));
    let task = match args.tile.as_str() {
        "solve" => Task::Solve { stage },
        _ => Task::Tile { stage, tile: number()? },
    };
    args.memory.map_or(Ok(()), |memory| plan.check_memory(memory, rayon::current_num_threads()))?;
    let last = stage + 1 == plan.stages.len() && matches!(task, Task::Solve { .. });
    let work = Work::open(plan, Access::Shared)?;
    match work.carry_out(task)? {
        Outcome::Done => {
            if last {
                work.write_report()?;
            }
            voice.event(&json!({"event": "result", "done": true}));
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Waits(missing) => {
            voice.say(&format!("waits: {missing}"));
            voice.event(&json!({"event": "result", "done": false, "waits": missing}));
            Ok(ExitCode::from(WAITS))
        }
    }
}

/// Reports what is missing or altered in a store, and repairs it if requested.
///
/// # Errors
/// Returns an error if the folder is not a store, or if a store to repair has no plan.
pub fn verify(args: &args::Verify, voice: Voice) -> Result<ExitCode> {
    let level = match (args.quick, args.deep) {
        (true, _) => Level::Lengths,
        (_, true) => Level::Samples,
        _ => Level::Bytes,
    };
    let look = |store: &Store| Ok::<_, Error>((store.verify(level)?, store.verify_files(level)?));
    let (faults, files) = look(&Store::open_read(&args.store)?)?;
    let told: Vec<String> =
        faults.iter().map(ToString::to_string).chain(files.iter().map(ToString::to_string)).collect();
    told.iter().take(SHOWN).for_each(|fault| voice.say(fault));
    if told.len() > SHOWN {
        voice.say(&format!("and {} more", told.len() - SHOWN));
    }
    let mut left = told.len();
    if args.mend && left > 0 {
        let work = Work::open(Plan::beside(&args.store)?, Access::Alone)?;
        work.mend(&faults)?;
        work.mend_files(&files)?;
        let (faults, files) = look(work.store())?;
        left = faults.len() + files.len();
        voice.say(&format!("recreated: {} of {}", told.len().saturating_sub(left), told.len()));
        if left > 0 {
            voice.say(&format!(
                "{left} remain: they were never written, or the messages of stages about them ({}) are missing; the \
                 command that made the store writes them",
                shown(&work.messages())
            ));
        }
    } else if told.is_empty() {
        voice.say("all tiles and files are intact");
    }
    voice.event(&json!({"event": "result", "faults": told, "left": left}));
    Ok(if left == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The maximum number of faults that are listed individually.
const SHOWN: usize = 20;

/// Writes a layer to a file.
///
/// # Errors
/// Returns an error if the folder is not a store, if the layer is not done, or if the file cannot be written.
pub fn layer(args: &args::Layer, voice: Voice) -> Result<()> {
    if Format::of(&args.output)? != Format::Tiff {
        let problem = "is written as a cloud-optimised GeoTIFF; use the extension .tif";
        return Err(Error::file(&args.output, problem));
    }
    Store::open_read(&args.store)?.save_cog(&args.layer, &args.output, args.coarser)?;
    voice.wrote(std::slice::from_ref(&args.output));
    Ok(())
}
