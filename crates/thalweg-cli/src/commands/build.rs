//! `build`: builds a world from a recipe.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use thalweg_core::Result;
use thalweg_core::base::names::format_path;
use thalweg_core::declare::operation::{Operation as _, WorkForm};
use thalweg_export::build::{BuildOptions, BuildRequest, resolve_build};
use thalweg_export::world_folder::{Ending, is_of_another, is_unchanged_recipe};
use thalweg_io::output;
use thalweg_store::{BuildJob, Job};

use crate::args::WorkArgs;
use crate::args::declared::{OperationArgs, typed_flag};
use crate::args::values::recipe_parser;
use crate::console::Reporter;
use crate::drive::complete_run;
use crate::job::{RunJob, lock_folder};
use crate::recipes::recipe_file;
use crate::stores::{choose_form, execute_job};
use crate::verb::{Group, Verb};

/// The arguments of `build`.
#[derive(Args)]
pub struct BuildArgs {
    /// The name of a preset (see `thalweg presets`) or a recipe file.
    #[arg(default_value = "alpine", value_parser = recipe_parser(), hide_possible_values = true)]
    recipe: OsString,
    #[command(flatten)]
    options: OperationArgs<BuildOptions>,
    /// The folder to write into; a name that ends in .zarr makes a Zarr store, which may be larger than memory
    /// [default: worlds/NAME-SEED; for a preview, worlds/NAME-SEED-preview; with knobs, --set, --from, --for or
    /// --until, worlds/NAME-SEED- and six digits of the recipe's hash].
    #[arg(short, long, alias = "out", value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    work: WorkArgs,
}

impl Verb for BuildArgs {
    const NAME: &'static str = "build";
    const GROUP: Group = Group::Make;
    const ABOUT: &'static str = "Builds a world from a preset or a recipe into a folder";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        let form = self.output.as_deref().map_or(WorkForm::Folder, choose_form);
        self.options.check_form(form, typed_flag)?;
        self.work.check_form(form)?;
        let request = resolve_build(&self.recipe, &self.options).map_err(|error| self.options.as_typed(error))?;
        let Some(store) = self.output.as_deref().filter(|_| form == WorkForm::Store) else {
            return build_whole_world(self, request, voice);
        };
        let job = BuildJob::from_recipe_part(&request.recipe, self.options.level, self.options.rect)
            .map_err(|error| self.options.as_typed(error))?;
        execute_job(Job::Build(job), store, self.work.memory, voice)
    }
}

/// Builds a whole world into its folder.
fn build_whole_world(args: &BuildArgs, request: BuildRequest, voice: Reporter) -> Result<ExitCode> {
    let BuildRequest { recipe, own_model, default_folder } = request;
    let dir = args.output.clone().unwrap_or(default_folder);
    // If the run cannot be started, no folder is left behind. The elevation model of a preset will be written there,
    // next to the world.
    let run = args.options.start(recipe, own_model.then_some(dir.as_path()))?;
    voice.warn_all(&run.input().warnings);
    output::make_folder(&dir)?;
    let _lock = lock_folder(&dir, voice)?;
    // A world may be rebuilt from the recipe in its own folder if that file stays unchanged.
    let stays = |path: &PathBuf| is_unchanged_recipe(&dir, run.recipe(), path);
    let reads: Vec<PathBuf> = recipe_file(&args.recipe).into_iter().filter(|path| !stays(path)).collect();
    let ending = Ending::World { dir: dir.clone(), sample: args.options.sample, model: own_model };
    let job = RunJob {
        units_overridden: run.input().overridden.clone(),
        ..RunJob::new(ending, &args.work.run, run.recipe(), &reads)?
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
