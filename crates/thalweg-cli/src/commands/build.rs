//! `build`: a world from a recipe.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use thalweg::base::names::shown;
use thalweg::io::apart::same;
use thalweg::io::atomic::Temporary;
use thalweg::io::{LoadOptions, output};
use thalweg::presets::{ELEVATION_MODEL, laid};
use thalweg::recipe::{Coarsest, Recipe};
use thalweg::run::Run;
use thalweg::world_folder::{Ending, is_of_another};
use thalweg::{Error, Result};

use crate::args::Build;
use crate::args::values::UnitWord;
use crate::console::Voice;
use crate::drive::drive;
use crate::job::{Job, locked, sample_type};
use crate::recipes::{each_once, end_at, found, recipe_file, set};

/// Builds a world.
///
/// # Errors
/// No such recipe, a recipe that cannot be, a folder that cannot be written or is in use.
pub fn build(args: &Build, voice: Voice) -> Result<ExitCode> {
    let Asked { recipe, own_model, dir } = asked(args)?;
    if recipe.from.is_none() {
        recipe.check_memory(&recipe.grid()?)?;
    }
    // What cannot be begun leaves no folder. A preset's elevation model is read from a passing place in it, and is laid beside
    // the world when that is done.
    let options = LoadOptions { unit: args.unit.map(UnitWord::unit), ..LoadOptions::default() };
    let run = if own_model {
        output::make_folder(&dir)?;
        let passing = Temporary::folder(&dir).map_err(Error::io(&dir, "write into"))?;
        let recipe = laid(recipe, passing.path())?;
        let model = passing.path().join(ELEVATION_MODEL.0);
        Run::over_file(Recipe { folder: output::absolute(&dir)?, ..recipe }, &model, &options)?
    } else if let Some(model) = &recipe.from {
        let model = recipe.folder.join(model);
        Run::over_file(recipe, &model, &options)?
    } else {
        Run::new(recipe)?
    };
    voice.warn_all(&run.input().warnings);
    output::make_folder(&dir)?;
    let _lock = locked(&dir, voice)?;
    // A world may be built anew from the recipe in its own folder, if that stays as it is.
    let own = run.recipe().within(&dir).map(|recipe| recipe.to_toml());
    let stays = |path: &PathBuf| {
        same(path, &dir.join("recipe.toml")) && std::fs::read_to_string(path).ok() == own.as_ref().ok().cloned()
    };
    let reads: Vec<PathBuf> = recipe_file(&args.recipe).into_iter().filter(|path| !stays(path)).collect();
    let ending = Ending::World { dir: dir.clone(), sample: args.sample.map(sample_type), model: own_model };
    let job =
        Job { units_overridden: run.input().overridden.clone(), ..Job::new(ending, &args.run, run.recipe(), &reads)? };
    if args.out.is_none() && is_of_another(&dir, run.recipe()) {
        let replaced = "another world lay here, which this one replaces; --out names another folder";
        voice.warn(&format!("{}: {replaced}", shown(&dir)));
    }
    let idle = run.idle();
    if !idle.is_empty() {
        voice.say(&format!("not run, for no level has cells of their widths: {}", idle.join(", ")));
    }
    drive(run, job, voice)
}

/// What is to be built, and where.
struct Asked {
    recipe: Recipe,
    /// Whether it begins with a preset's elevation model, which is to be laid beside the world.
    own_model: bool,
    dir: PathBuf,
}

/// The recipe with what the command line overrides. Knobs come first: a parameter that is set is as it is set.
fn asked(args: &Build) -> Result<Asked> {
    let (mut recipe, is_preset) = found(&args.recipe)?;
    let own_model = is_preset && recipe.from.is_some() && args.from.is_none();
    if let Some(from) = &args.from {
        if recipe.from.is_none() {
            let allowed = "a recipe that begins with an elevation model, such as aged";
            return Err(Error::value("--from", &recipe.name, allowed));
        }
        // Missing, before it is asked what format its ending names.
        std::fs::metadata(from).map_err(Error::io(from, "read"))?;
        recipe.from = Some(output::absolute(from)?);
    }
    if let Some(cells) = args.cells {
        recipe.cells = cells;
    }
    recipe.seed = args.seed.unwrap_or(recipe.seed);
    args.knobs.single()?.turn(&mut recipe)?;
    each_once(&args.set)?;
    for (key, value) in &args.set {
        set(&mut recipe, key, value)?;
    }
    args.until.as_deref().map_or(Ok(()), |label| end_at(&mut recipe, label))?;
    let by_itself = || folder(args, &recipe);
    let dir = args.out.clone().map_or_else(by_itself, Ok)?;
    if args.preview {
        if recipe.coarsest == Coarsest::None {
            let allowed =
                "a recipe with `coarsest`, which is built in levels; with --cells any recipe is built coarser";
            return Err(Error::value("--preview", &recipe.name, allowed));
        }
        recipe.cells = recipe.preview()?;
    }
    Ok(Asked { recipe, own_model, dir })
}

/// The folder of a world where none is said: of its name and seed; where it is another one than the recipe's, of its
/// fingerprint too, so that every world has its own; of a preview, one apart.
fn folder(args: &Build, recipe: &Recipe) -> Result<PathBuf> {
    let mut name = OsString::from("worlds/");
    name.push(Path::new(&args.recipe).file_stem().unwrap_or("world".as_ref()));
    name.push(format!("-{}", recipe.seed));
    let is_changed = args.from.is_some() || args.until.is_some() || !args.set.is_empty();
    if is_changed || !args.knobs.turns()?.is_empty() {
        name.push(format!("-{:.6}", recipe.hash()));
    }
    if args.preview {
        name.push("-preview");
    }
    Ok(name.into())
}
