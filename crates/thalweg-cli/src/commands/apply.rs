//! `apply` and `generate`: run one model over the terrain of a file, or over a flat terrain.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use thalweg_core::Result;
use thalweg_core::declare::operation::{Operation as _, WorkForm};
use thalweg_export::world_folder::Ending;
use thalweg_models::model::{Family, page};
use thalweg_models::models;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;
use thalweg_sim::single_model::{ApplyOptions, GenerateOptions};
use thalweg_store::{ApplyJob, Job, is_zarr};

use crate::args::declared::{OperationArgs, typed_flag};
use crate::args::values::model_parser;
use crate::args::{LoadArgs, RunArgs, WorkArgs};
use crate::console::Reporter;
use crate::drive::complete_run;
use crate::job::RunJob;
use crate::stores::{choose_form, execute_job};
use crate::terrains::{list_source_files, open_terrain};
use crate::verb::{Group, Verb};

/// The arguments of `generate`.
#[derive(Args)]
pub struct GenerateArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    options: OperationArgs<GenerateOptions>,
    #[command(flatten)]
    run: RunArgs,
}

/// The arguments of `apply`.
#[derive(Args)]
pub struct ApplyArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// The file of the elevation model that the model runs over.
    #[arg(index = 2)]
    input: PathBuf,
    #[command(flatten)]
    options: OperationArgs<ApplyOptions>,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    work: WorkArgs,
}

/// A model and the output.
#[derive(Args)]
struct ModelArgs {
    /// The model (see `thalweg models`).
    #[arg(index = 1, value_parser = model_parser(), hide_possible_values = true)]
    model: String,
    /// The file to write; its extension determines the format: .tif, .png, .npy, .asc, .exr, .r16 or .r32. `apply` also
    /// writes Zarr stores (DIR.zarr), which may be larger than memory.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl Verb for GenerateArgs {
    const NAME: &'static str = "generate";
    const GROUP: Group = Group::Make;
    const ABOUT: &'static str = "Generates terrain with one base model, such as noise or a volcano";

    fn help_end(typed: &[OsString]) -> Option<String> {
        Some(describe_models(typed, |family| family == Family::Base))
    }

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        self.options.check_form(WorkForm::Folder, typed_flag)?;
        let recipe = self.options.to_recipe(&self.model.model)?;
        let terrain = self.options.create_terrain(&recipe)?;
        let job = create_job(&self.model, &self.options.model, &self.run, &recipe, &[])?;
        complete_run(Run::with_terrain(recipe, terrain)?, job, voice)
    }
}

impl Verb for ApplyArgs {
    const NAME: &'static str = "apply";
    const GROUP: Group = Group::Make;
    const ABOUT: &'static str = "Runs one erosion or analysis model over an elevation model";

    fn help_end(typed: &[OsString]) -> Option<String> {
        Some(describe_models(typed, |_| true))
    }

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        let (output, reads) = (&self.model.output, list_source_files(&self.input));
        let form = choose_form(output);
        self.options.check_form(form, typed_flag)?;
        self.work.check_form(form)?;
        let recipe = self.options.to_recipe(&self.model.model)?;
        if form == WorkForm::Store {
            let job = ApplyJob::from_recipe(&recipe, &self.input, self.load.clone())?;
            return execute_job(Job::Apply(job), output, self.work.memory, voice);
        }
        let mut job = create_job(&self.model, &self.options, &self.work.run, &recipe, &reads)?;
        // A file is read by the run itself. A Zarr array is read here, because `Run::from_elevation_file` does not
        // support it.
        let run = if is_zarr(&self.input) {
            let opened = open_terrain(&self.input, &self.load, &self.options.boundary, voice)?;
            recipe.check_memory(&opened.terrain.grid)?;
            job.units_overridden = opened.overridden;
            Run::with_terrain(recipe.clone(), recipe.prepare_start_terrain(opened.terrain)?)?
        } else {
            let run = Run::from_elevation_file(recipe, &self.input, &self.load)?;
            let input = run.input();
            voice.warn_all(&input.warnings);
            job.units_overridden = input.overridden.clone();
            if let Ending::File { nodata, .. } = &mut job.ending {
                *nodata = input.nodata;
            }
            run
        };
        complete_run(run, job, voice)
    }
}

/// Returns the parameters of the model that the command line names, or else the list of the models of these families.
fn describe_models(typed: &[OsString], is_listed: impl Fn(Family) -> bool) -> String {
    // The first word is the program and the second the verb, so a model's name can only follow them.
    if let Some(model) = typed.iter().skip(2).find_map(|word| models::find_model(word.to_str()?).ok()) {
        return page::format_parameters(&*model);
    }
    let abouts = models::all_models().map(|model| model.about()).filter(|about| is_listed(about.family));
    let list: Vec<String> = abouts.map(|about| format!("  {:<21} {}", about.name, about.summary)).collect();
    format!("Models:\n{}\n\n`thalweg models NAME` shows a model's page and parameters.", list.join("\n"))
}

/// Makes the job of a run that writes a file.
fn create_job(
    args: &ModelArgs,
    options: &ApplyOptions,
    run: &RunArgs,
    recipe: &Recipe,
    reads: &[PathBuf],
) -> Result<RunJob> {
    let (output, layers) = (args.output.clone(), options.layers_folder.clone());
    RunJob::new(Ending::File { output, sample: options.sample, nodata: None, layers }, run, recipe, reads)
}
