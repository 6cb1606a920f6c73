//! `apply` and `generate`: run one model over the terrain of a file, or over a flat terrain.

use std::path::PathBuf;
use std::process::ExitCode;

use thalweg_core::{Error, Grid, Result, Terrain};
use thalweg_export::world_folder::Ending;
use thalweg_models::model::Family;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;
use thalweg_store::{ApplyJob, is_zarr};

use crate::args::{Apply, Generate, ModelArgs, RunArgs, TILE};
use crate::console::Voice;
use crate::drive::drive;
use crate::job::{Job, sample_type};
use crate::recipes::{OneModel, of_model};
use crate::stores::{carry_out, is_store_name};
use crate::terrains::{files_of, opened};

/// Runs a model over an elevation model.
///
/// # Errors
/// Returns an error if there is no such model, parameter or layer, if the input is unusable, or if the output cannot
/// be written.
pub fn apply(args: &Apply, voice: Voice) -> Result<ExitCode> {
    let recipe = recipe(&args.model)?;
    if is_store_name(&args.model.output) {
        return by_tiles(args, &recipe, voice);
    }
    let mut job = job(&args.model, &args.run, &recipe, &files_of(&args.input))?;
    let run = if is_zarr(&args.input) {
        let opened = opened(&args.input, &args.load, args.model.edges, args.model.sea_level, voice)?;
        recipe.check_memory(&opened.terrain.grid)?;
        job.units_overridden = opened.overridden;
        Run::over(recipe.clone(), recipe.over(opened.terrain)?)?
    } else {
        let run = Run::over_file(recipe, &args.input, &args.load.options())?;
        let input = run.input();
        voice.warn_all(&input.warnings);
        job.units_overridden = input.overridden.clone();
        if let Ending::File { nodata, .. } = &mut job.ending {
            *nodata = input.nodata;
        }
        run
    };
    drive(run, job, voice)
}

/// Runs a model over a map of any size, into a store.
fn by_tiles(args: &Apply, recipe: &Recipe, voice: Voice) -> Result<ExitCode> {
    let asked = [("--layers", args.model.layers.is_some()), ("--type", args.model.sample.is_some())];
    let asked = asked.into_iter().find(|(_, asked)| *asked).map(|(name, _)| name);
    if let Some(name) = asked.or_else(|| args.run.of_a_whole()) {
        let problem = "does not apply when the output is a Zarr store: the layers and the report are written with it, \
                       and the same command continues an interrupted run";
        return Err(Error::conflict(name, problem));
    }
    let job = ApplyJob::of(recipe, &args.input, args.load.options())?;
    carry_out(thalweg_store::Job::Apply(job), &args.model.output, TILE, args.memory, voice)
}

/// Generates a terrain with a base model.
///
/// # Errors
/// Returns the errors of [`apply`]; also if the model is not a base model.
pub fn generate(args: &Generate, voice: Voice) -> Result<ExitCode> {
    let recipe = recipe(&args.model)?;
    if recipe.stages.iter().any(|stage| stage.model.about().family != Family::Base) {
        let base = thalweg_models::models::all_models()
            .map(|model| model.about())
            .filter(|about| about.family == Family::Base);
        let names: Vec<&str> = base.map(|about| about.name).collect();
        let allowed = format!("a base model ({}); `apply` runs the others", names.join(", "));
        return Err(Error::value("model", &args.model.model, allowed));
    }
    let size = [args.cells.rows.unwrap_or(args.cells.cols), args.cells.cols];
    let grid = recipe.framed(Grid::new(size, args.cell_size)?)?;
    recipe.check_memory(&grid)?;
    let job = job(&args.model, &args.run, &recipe, &[])?;
    drive(Run::over(recipe, Terrain::new(grid))?, job, voice)
}

fn recipe(args: &ModelArgs) -> Result<Recipe> {
    of_model(&OneModel {
        name: &args.model,
        set: &args.set,
        layers: &args.layer,
        seed: args.seed,
        sea_level: args.sea_level,
        edges: args.edges.edges(),
    })
}

fn job(args: &ModelArgs, run: &RunArgs, recipe: &Recipe, reads: &[PathBuf]) -> Result<Job> {
    let (output, layers) = (args.output.clone(), args.layers.clone());
    Job::new(Ending::File { output, sample: args.sample.map(sample_type), nodata: None, layers }, run, recipe, reads)
}
