//! `apply` and `generate`: run one model over the terrain of a file, or over a flat terrain.

use std::path::PathBuf;
use std::process::ExitCode;

use thalweg_core::{Error, Grid, Result, Terrain};
use thalweg_export::world_folder::Ending;
use thalweg_models::model::Family;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;
use thalweg_store::{ApplyJob, is_zarr};

use crate::args::{ApplyArgs, GenerateArgs, ModelArgs, RunArgs, TILE};
use crate::console::Reporter;
use crate::drive::complete_run;
use crate::job::{RunJob, sample_type};
use crate::recipes::{OneModel, create_model_recipe};
use crate::stores::{execute_job, is_store_name};
use crate::terrains::{list_source_files, open_terrain};

/// Runs a model over an elevation model.
///
/// # Errors
/// Returns an error if there is no such model, parameter or layer, if the input is unusable, or if the output cannot
/// be written.
pub fn apply_model(args: &ApplyArgs, voice: Reporter) -> Result<ExitCode> {
    let recipe = assemble_recipe(&args.model)?;
    if is_store_name(&args.model.output) {
        return apply_by_tiles(args, &recipe, voice);
    }
    let mut job = create_job(&args.model, &args.run, &recipe, &list_source_files(&args.input))?;
    // A file is read by the run itself. A Zarr array is read here, because `Run::from_elevation_file` does not support
    // it.
    let run = if is_zarr(&args.input) {
        let opened = open_terrain(&args.input, &args.load, args.model.edges, args.model.sea_level, voice)?;
        recipe.check_memory(&opened.terrain.grid)?;
        job.units_overridden = opened.overridden;
        Run::with_terrain(recipe.clone(), recipe.prepare_start_terrain(opened.terrain)?)?
    } else {
        let run = Run::from_elevation_file(recipe, &args.input, &args.load)?;
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

/// Runs a model over a map of any size, into a store.
fn apply_by_tiles(args: &ApplyArgs, recipe: &Recipe, voice: Reporter) -> Result<ExitCode> {
    let asked = [("--layers", args.model.layers.is_some()), ("--type", args.model.sample.is_some())];
    let asked = asked.into_iter().find(|(_, asked)| *asked).map(|(name, _)| name);
    if let Some(name) = asked.or_else(|| args.run.in_memory_only_option()) {
        let problem = "does not apply when the output is a Zarr store: the layers and the report are always written, \
                       and running the same command again continues an interrupted run";
        return Err(Error::conflict(name, problem));
    }
    let job = ApplyJob::from_recipe(recipe, &args.input, args.load.clone())?;
    execute_job(thalweg_store::Job::Apply(job), &args.model.output, TILE, args.memory, voice)
}

/// Generates a terrain with a base model.
///
/// # Errors
/// Returns the errors of [`apply_model`]; also if the model is not a base model.
pub fn generate_terrain(args: &GenerateArgs, voice: Reporter) -> Result<ExitCode> {
    let recipe = assemble_recipe(&args.model)?;
    if recipe.stages.iter().any(|stage| stage.model.about().family != Family::Base) {
        let base = thalweg_models::models::all_models()
            .map(|model| model.about())
            .filter(|about| about.family == Family::Base);
        let names: Vec<&str> = base.map(|about| about.name).collect();
        let allowed = format!("a base model ({}); `apply` runs the others", names.join(", "));
        return Err(Error::invalid_value("model", &args.model.model, allowed));
    }
    let size = [args.cells.rows.unwrap_or(args.cells.cols), args.cells.cols];
    let grid = recipe.configure_grid(Grid::new(size, args.cell_size)?)?;
    recipe.check_memory(&grid)?;
    let job = create_job(&args.model, &args.run, &recipe, &[])?;
    complete_run(Run::with_terrain(recipe, Terrain::new(grid))?, job, voice)
}

fn assemble_recipe(args: &ModelArgs) -> Result<Recipe> {
    create_model_recipe(&OneModel {
        name: &args.model,
        set: &args.set,
        layers: &args.layer,
        seed: args.seed,
        sea_level: args.sea_level,
        edges: args.edges.to_edges(),
    })
}

fn create_job(args: &ModelArgs, run: &RunArgs, recipe: &Recipe, reads: &[PathBuf]) -> Result<RunJob> {
    let (output, layers) = (args.output.clone(), args.layers.clone());
    RunJob::new(Ending::File { output, sample: args.sample.map(sample_type), nodata: None, layers }, run, recipe, reads)
}
