//! `build`: a world from a recipe.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use thalweg::io::terrain::{LoadOptions, load};
use thalweg::levels::Coarsest;
use thalweg::params::typed;
use thalweg::recipe::Recipe;
use thalweg::run::Run;
use thalweg::terrain::Terrain;
use thalweg::{Error, Result};

use crate::args::Build;
use crate::drive::drive;
use crate::job::{Ending, Job};
use crate::voice::Voice;
use crate::{memory, output, presets};

/// Builds a world.
///
/// # Errors
/// No such recipe, a recipe that cannot be, a folder that cannot be written or is in use.
pub fn build(args: &Build, voice: Voice) -> Result<ExitCode> {
    let recipe = recipe(args)?;
    let dir = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("worlds/{}-{}", stem(args), recipe.seed)));
    if recipe.from.is_none() {
        memory::check(&recipe, &recipe.grid()?)?;
    }
    output::make_folder(&dir)?;
    let _lock = Lock::take(&dir, voice)?;
    let job = Job::new(Ending::World { dir }, &args.run, &recipe)?;
    drive(start(recipe, voice)?, job, voice)
}

/// The recipe with what the command line overrides. Knobs come first: a parameter that is set is as it is set.
fn recipe(args: &Build) -> Result<Recipe> {
    let mut recipe = named(&args.recipe)?;
    if let Some(from) = &args.from {
        if recipe.from.is_none() {
            let allowed = "a recipe that begins with an elevation model, such as aged";
            return Err(Error::value("--from", &recipe.name, allowed));
        }
        recipe.from = Some(output::absolute(from)?);
    }
    if let Some(cells) = args.cells {
        set_cells(&mut recipe, cells)?;
    }
    if args.preview {
        if recipe.coarsest == Coarsest::None {
            let allowed =
                "a recipe with `coarsest`, which is built in levels; with --cells any recipe is built coarser";
            return Err(Error::value("--preview", &recipe.name, allowed));
        }
        recipe.cells = recipe.preview()?;
    }
    recipe.seed = args.seed.unwrap_or(recipe.seed);
    args.knobs.single()?.turn(&mut recipe)?;
    for (key, value) in &args.set {
        set(&mut recipe, key, value)?;
    }
    args.until.as_deref().map_or(Ok(()), |label| end_at(&mut recipe, label))?;
    Ok(recipe)
}

/// Sets the number of cells.
///
/// # Errors
/// When the recipe's grid is a file's.
pub fn set_cells(recipe: &mut Recipe, cells: usize) -> Result<()> {
    if let Some(from) = &recipe.from {
        let allowed = format!("no --cells: the recipe's grid comes from {}", from.display());
        return Err(Error::value("--cells", cells, allowed));
    }
    recipe.cells = cells;
    Ok(())
}

/// Sets LABEL.PARAMETER to a value as typed.
///
/// # Errors
/// No such stage or parameter, a value that it does not take.
pub fn set(recipe: &mut Recipe, key: &str, value: &str) -> Result<()> {
    let Some((label, param)) = key.split_once('.') else {
        return Err(Error::value("--set", key, "LABEL.PARAMETER=VALUE"));
    };
    let number = stage(recipe, label)?;
    recipe.stages[number].model.set(label, param, &typed(value))
}

/// Leaves out the stages after that one.
///
/// # Errors
/// No such stage.
pub fn end_at(recipe: &mut Recipe, label: &str) -> Result<()> {
    let number = stage(recipe, label)?;
    recipe.stages.truncate(number + 1);
    Ok(())
}

/// The preset of that name, or the recipe in that file.
///
/// # Errors
/// When there is neither.
pub fn named(name: &str) -> Result<Recipe> {
    let path = Path::new(name);
    match presets::find(name) {
        Some(preset) => preset,
        None if path.exists() || path.extension().is_some_and(|e| e == "toml") => Recipe::read(path),
        None => Err(Error::unknown("preset", name, presets::names())),
    }
}

/// The number of the stage of that label.
fn stage(recipe: &Recipe, label: &str) -> Result<usize> {
    let labels = || recipe.stages.iter().map(|stage| stage.label.as_str());
    labels().position(|known| known == label).ok_or_else(|| Error::unknown("stage", label, labels()))
}

/// The name of a world's folder, before its seed.
fn stem(args: &Build) -> String {
    Path::new(&args.recipe).file_stem().map_or("world".into(), |stem| stem.to_string_lossy().into_owned())
}

/// The run from the recipe's own start, warnings said.
///
/// # Errors
/// When the recipe cannot be run, or its own terrain not be read.
pub fn start(recipe: Recipe, voice: Voice) -> Result<Run> {
    let Some(path) = &recipe.from else { return Run::new(recipe) };
    let loaded = load(recipe.folder.join(path), &LoadOptions::default())?;
    voice.warn_all(loaded.warnings);
    let grid = recipe.framed(loaded.terrain.grid.clone())?;
    memory::check(&recipe, &grid)?;
    Run::over(recipe, Terrain { grid, ..loaded.terrain })
}

/// A folder held by this process. The lock file stays: to remove it would let two others in at once.
pub struct Lock(#[expect(dead_code, reason = "held open, and so locked, until it is dropped")] Option<File>);

impl Lock {
    /// Takes the folder, if nobody has it.
    ///
    /// # Errors
    /// When another process builds there.
    pub fn take(dir: &Path, voice: Voice) -> Result<Self> {
        let path = dir.join(".lock");
        let file = File::options().create(true).append(true).open(&path).map_err(Error::io(&path, "write"))?;
        match file.try_lock() {
            Ok(()) => Ok(Self(Some(file))),
            Err(TryLockError::WouldBlock) => {
                Err(Error::file(dir, "is in use by another run; wait for it, or choose another folder with --out"))
            }
            Err(TryLockError::Error(error)) => {
                voice.warn(&format!("{}: cannot be locked against a second run ({error})", path.display()));
                Ok(Self(None))
            }
        }
    }
}
