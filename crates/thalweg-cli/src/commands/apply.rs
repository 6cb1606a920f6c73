//! `apply` and `generate`: one model over a file's ground, or over flat ground.

use std::path::PathBuf;
use std::process::ExitCode;

use thalweg::declare::params::typed;
use thalweg::io::Sidecar;
use thalweg::model::{Family, give};
use thalweg::recipe::{From, LayerSource, Recipe};
use thalweg::run::Run;
use thalweg::terrain::Terrain;
use thalweg::terrain::grid::Grid;
use thalweg::world_folder::Ending;
use thalweg::{Error, Result, models};

use crate::args::{Apply, Generate, ModelArgs, RunArgs};
use crate::console::Voice;
use crate::drive::drive;
use crate::job::{Job, sample_type};

/// Runs a model over an elevation model.
///
/// # Errors
/// No such model, parameter or layer; an unusable input; an output that cannot be written.
pub fn apply(args: &Apply, voice: Voice) -> Result<ExitCode> {
    let recipe = recipe(&args.model)?;
    let mut job = job(&args.model, &args.run, &recipe, &Sidecar::files(&args.input))?;
    let run = Run::over_file(recipe, &args.input, &args.load.options())?;
    let input = run.input();
    voice.warn_all(&input.warnings);
    job.units_overridden = input.overridden.clone();
    if let Ending::File { nodata, .. } = &mut job.ending {
        *nodata = input.nodata;
    }
    drive(run, job, voice)
}

/// Makes ground with a base model.
///
/// # Errors
/// As [`apply`], and for a model that makes no ground.
pub fn generate(args: &Generate, voice: Voice) -> Result<ExitCode> {
    let recipe = recipe(&args.model)?;
    if recipe.stages.iter().any(|stage| stage.model.about().family != Family::Base) {
        let base = models::all().map(|model| model.about()).filter(|about| about.family == Family::Base);
        let names: Vec<&str> = base.map(|about| about.name).collect();
        let allowed = format!("one that makes ground ({}); `apply` runs the others", names.join(", "));
        return Err(Error::value("model", &args.model.model, allowed));
    }
    let size = [args.cells.rows.unwrap_or(args.cells.cols), args.cells.cols];
    let grid = recipe.framed(Grid::new(size, args.cell_size)?)?;
    recipe.check_memory(&grid)?;
    let job = job(&args.model, &args.run, &recipe, &[])?;
    drive(Run::over(recipe, Terrain::new(grid))?, job, voice)
}

fn recipe(args: &ModelArgs) -> Result<Recipe> {
    let mut model = models::find(&args.model)?;
    let about = model.about();
    let set: Vec<_> = args.set.iter().map(|(name, value)| (name.as_str(), typed(value))).collect();
    give(&mut *model, set.iter().map(|(name, value)| (*name, value)))?;
    let mut recipe = Recipe::single(model, args.seed);
    // Layers are read when the stage begins, which after a resume may be in another folder.
    recipe.folder = std::env::current_dir().map_err(Error::io(".", "find"))?;
    recipe.sea_level = args.sea_level;
    recipe.edges = args.edges.edges();
    let inputs = || about.needs.iter().chain(about.uses).map(|spec| spec.name);
    for (name, file) in &args.layer {
        if !inputs().any(|known| known == name) {
            return Err(Error::unknown("input layer", name, inputs()));
        }
        for stage in &mut recipe.stages {
            stage.layers.insert(name.clone(), LayerSource { from: From::File(file.clone()), scale: None });
        }
    }
    Ok(recipe)
}

fn job(args: &ModelArgs, run: &RunArgs, recipe: &Recipe, reads: &[PathBuf]) -> Result<Job> {
    let (output, layers) = (args.output.clone(), args.layers.clone());
    Job::new(Ending::File { output, sample: args.sample.map(sample_type), nodata: None, layers }, run, recipe, reads)
}
