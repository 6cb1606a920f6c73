//! `job`: work in parts for the queue of a cluster, and the check of its results.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use thalweg_core::base::names::{format_count, format_path};
use thalweg_core::declare::operation::{Operation as _, OptionSpec, WorkForm, find_option};
use thalweg_core::{Error, Result};
use thalweg_export::build::{BuildOptions, resolve_build};
use thalweg_export::survey::DrainOptions;
use thalweg_io::Format;
use thalweg_sim::single_model::ApplyOptions;
use thalweg_store::{Access, ApplyJob, BuildJob, Job, Outcome, Plan, PlannedWork, Store, Task, VerifyLevel, is_zarr};

use crate::args::declared::{StoreOperationArgs, typed_flag};
use crate::args::values::{parse_byte_count, whole_number};
use crate::args::{LoadArgs, MapArgs, drain_job};
use crate::console::Reporter;
use crate::stores::TILE;
use crate::verb::{Entry, Group, Verb, family, verb};

/// The word `job` with its verbs.
pub const JOB: Entry = family("job", "Does work in parts, in the queue of a cluster", VERBS);

/// What can be done with a job.
const VERBS: &[Entry] = &[verb::<PlanArgs>(), verb::<TaskArgs>(), verb::<VerifyArgs>()];

/// The arguments of `job plan`.
#[derive(Args)]
pub struct PlanArgs {
    /// The work: `drain FILE` computes the drainage of an elevation model, `build RECIPE` builds the world of a preset
    /// or recipe, and `apply MODEL FILE` runs a model over an elevation model. The words `drain` and `build` may be
    /// omitted.
    #[arg(value_name = "WORK", required = true, num_args = 1..=3)]
    work: Vec<OsString>,
    /// The plan file to write; `job run` does the parts of the work that it lists.
    #[arg(short, long, value_name = "PLAN.json")]
    output: PathBuf,
    /// The Zarr store that the work is written to [default: the plan's name with .zarr].
    #[arg(long, value_name = "DIR.zarr")]
    store: Option<PathBuf>,
    /// Side of a tile in cells; each tile is one file, a shard, of the store [allowed: 2 to 16384].
    #[arg(long, value_name = "N", default_value_t = TILE, value_parser = whole_number::<usize>(2..=16_384))]
    tile: usize,
    /// Maximum memory in bytes of a process that does a part of the work on one thread; tiles become smaller if
    /// necessary [allowed: 1M or more, such as 500M or 2.5G] [default: no limit].
    #[arg(long, value_name = "BYTES", value_parser = parse_byte_count)]
    memory: Option<u64>,
    #[command(flatten)]
    load: LoadArgs,
    // A heading applies to all arguments after it.
    #[command(flatten, next_help_heading = "Options of `build`")]
    build: StoreOperationArgs<BuildOptions>,
    #[command(flatten, next_help_heading = "Options of `apply` and `drain`")]
    map: MapArgs,
    #[command(flatten, next_help_heading = "Options of `apply`")]
    apply: StoreOperationArgs<ApplyOptions>,
    #[command(flatten, next_help_heading = "Options of `drain`")]
    drain: StoreOperationArgs<DrainOptions>,
}

/// The arguments of `job run`.
#[derive(Args)]
pub struct TaskArgs {
    /// A plan that `job plan` wrote.
    plan: PathBuf,
    /// The name of a stage that the plan file lists.
    stage: String,
    /// The number of a tile, or `solve` for the step that combines all tiles of the stage when they are done.
    #[arg(value_name = "TILE|solve")]
    tile: String,
    /// Exits with an error if the part may need more memory than this, in bytes [allowed: 1M or more, such as 500M or
    /// 2.5G] [default: no limit].
    #[arg(long, value_name = "BYTES", value_parser = parse_byte_count)]
    memory: Option<u64>,
}

/// The arguments of `job verify`.
#[derive(Args)]
pub struct VerifyArgs {
    /// The Zarr store (DIR.zarr).
    store: PathBuf,
    /// Decodes every tile, in addition to comparing the hashes of its bytes [not with: --quick].
    #[arg(long, conflicts_with = "quick")]
    deep: bool,
    /// Compares only the lengths of files, which is faster [not with: --deep].
    #[arg(long)]
    quick: bool,
    /// Recreates the missing or altered tiles and files; intact ones stay as they are.
    #[arg(long)]
    mend: bool,
}

impl Verb for PlanArgs {
    const NAME: &'static str = "plan";
    const GROUP: Group = Group::Large;
    const ABOUT: &'static str =
        "Divides large work into tiles that the processes of a cluster can do, and writes the plan to a file";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        let job = create_job(self)?;
        voice.warn_all(&job.warnings()?);
        let store = self.store.clone().unwrap_or_else(|| self.output.with_extension("zarr"));
        let plan = match self.memory {
            // Each part is a job of the queue with its own memory, so one tile at a time must fit.
            Some(memory) => Plan::fit_to_memory(&job, &store, self.tile, memory, 1)?.0,
            None => Plan::from_job(job, &store, self.tile)?,
        };
        plan.write(&self.output)?;
        let stages: Vec<&str> = plan.stages.iter().map(|stage| stage.name.as_str()).collect();
        voice.print_line(&format!(
            "{}, numbered from 0. The stages in order; `job run` does the tiles of a stage, and then its step `solve`:",
            format_count(plan.tiles, "tile")
        ));
        voice.print_line(&format!("  {}", stages.join(" ")));
        voice.print_event(&json!({"event": "result", "plan": plan.hash, "tiles": plan.tiles, "stages": stages}));
        Ok(ExitCode::SUCCESS)
    }
}

impl Verb for TaskArgs {
    const NAME: &'static str = "run";
    const GROUP: Group = Group::Large;
    const ABOUT: &'static str = "Does one part of a plan: one tile of a stage, or the step that combines its tiles";
    /// The parts of a plan share a machine with others.
    const THREADS: Option<usize> = Some(1);

    fn help_end(_typed: &[OsString]) -> Option<String> {
        Some(format!(
            "Exits with 0 if the part is done, with {EXIT_WAITING} if it has to wait for other parts, and with 1 after \
             an error."
        ))
    }

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        let plan = Plan::read(&self.plan)?;
        let stage = plan.find_stage(&self.stage)?;
        let number = || self.tile.parse().map_err(|_| Error::invalid_value("tile", &self.tile, "a number, or `solve`"));
        let task = match self.tile.as_str() {
            "solve" => Task::Solve { stage },
            _ => Task::Tile { stage, tile: number()? },
        };
        self.memory.map_or(Ok(()), |memory| plan.check_memory(memory, rayon::current_num_threads()))?;
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
}

impl Verb for VerifyArgs {
    const NAME: &'static str = "verify";
    const GROUP: Group = Group::Large;
    const ABOUT: &'static str = "Finds missing or altered tiles of a Zarr store, and with --mend recreates them";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        let level = match (self.quick, self.deep) {
            (true, _) => VerifyLevel::Lengths,
            (_, true) => VerifyLevel::Samples,
            _ => VerifyLevel::Bytes,
        };
        let look = |store: &Store| Ok::<_, Error>((store.verify_tiles(level)?, store.verify_files(level)?));
        let (faults, files) = look(&Store::open_read(&self.store)?)?;
        let told: Vec<String> =
            faults.iter().map(ToString::to_string).chain(files.iter().map(ToString::to_string)).collect();
        told.iter().take(MAX_SHOWN_FAULTS).for_each(|fault| voice.print_line(fault));
        if told.len() > MAX_SHOWN_FAULTS {
            voice.print_line(&format!("and {} more", told.len() - MAX_SHOWN_FAULTS));
        }
        let mut left = told.len();
        if self.mend && left > 0 {
            let work = PlannedWork::open(Plan::read_sidecar(&self.store)?, Access::Alone)?;
            work.repair_tiles(&faults)?;
            work.repair_files(&files)?;
            // Check again, because tiles whose messages are gone cannot be recreated.
            let (faults, files) = look(work.store())?;
            left = faults.len() + files.len();
            let recreated = told.len().saturating_sub(left);
            voice.print_line(&format!("recreated {recreated} of {} damaged or missing items", told.len()));
            if left > 0 {
                voice.print_line(&format!(
                    "{left} could not be recreated: they were never written, or the summaries of their stages in {} \
                     are missing; run the command that created the store again to write them",
                    format_path(&work.messages_folder())
                ));
            }
        } else if told.is_empty() {
            voice.print_line("all tiles and files are intact");
        }
        voice.print_event(&json!({"event": "result", "faults": told, "left": left}));
        Ok(if left == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// The exit code of `job run` if the part has to wait for an earlier one.
const EXIT_WAITING: u8 = 3;

/// The maximum number of faults that are listed individually.
const MAX_SHOWN_FAULTS: usize = 20;

/// Makes the job that the arguments name. A single source means the drainage of an elevation model, or a recipe's
/// world.
fn create_job(args: &PlanArgs) -> Result<Job> {
    let words: Vec<&OsString> = args.work.iter().collect();
    let verb = words.first().and_then(|word| word.to_str()).unwrap_or_default();
    match (verb, &words[..]) {
        ("apply", [_, model, source]) => {
            args.check_options("apply", &args.apply.declared())?;
            let recipe = args.apply.to_recipe(model.to_str().unwrap_or_default())?;
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

fn create_build_job(args: &PlanArgs, name: &OsString) -> Result<Job> {
    let options = &args.build;
    args.check_options("build", &options.declared())?;
    options.check_form(WorkForm::Store, typed_flag)?;
    let job = resolve_build(name, options)
        .and_then(|request| BuildJob::from_recipe_part(&request.recipe, options.level, options.rect));
    Ok(Job::Build(job.map_err(|error| options.as_typed(error))?))
}

fn create_drain_job(args: &PlanArgs, path: &Path) -> Result<Job> {
    let (options, boundary) = (&args.drain, &*args.map);
    args.check_options("drain", &[options.declared(), boundary.declared()].concat())?;
    options.check_form(WorkForm::Store, typed_flag)?;
    let job = drain_job(path, &args.load, boundary, options).map_err(|error| options.as_typed(error))?;
    Ok(Job::Drain(job))
}

impl PlanArgs {
    /// Refuses options that were typed and that are not among those of the operation.
    fn check_options(&self, operation: &str, options: &[OptionSpec]) -> Result<()> {
        let typed = [self.build.changed_options(), self.apply.changed_options(), self.drain.changed_options()].concat();
        match typed.iter().find(|(option, _)| find_option(options, option.name).is_err()) {
            Some((option, _)) => Err(Error::conflict(typed_flag(option), format!("does not apply to `{operation}`"))),
            None => Ok(()),
        }
    }
}
