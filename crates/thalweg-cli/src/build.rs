//! `build`: a world from a recipe.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use thalweg::base::names::shown;
use thalweg::declare::params::typed;
use thalweg::io::apart::same;
use thalweg::io::atomic::Temporary;
use thalweg::io::output;
use thalweg::io::plain;
use thalweg::io::terrain::{LoadOptions, load};
use thalweg::recipe::{Coarsest, Recipe};
use thalweg::run::Run;
use thalweg::terrain::grid::Grid;
use thalweg::{Error, Result};

use crate::args::{Build, UnitWord};
use crate::console::Voice;
use crate::drive::drive;
use crate::job::{Ending, Job, sample_type};
use crate::{memory, presets};

/// The longest report that is looked into.
const REPORT: u64 = 16 << 20;

/// Builds a world.
///
/// # Errors
/// No such recipe, a recipe that cannot be, a folder that cannot be written or is in use.
pub fn build(args: &Build, voice: Voice) -> Result<ExitCode> {
    let Asked { recipe, own_model, dir } = asked(args)?;
    if recipe.from.is_none() {
        memory::check(&recipe, &recipe.grid()?)?;
    }
    // What cannot be begun leaves no folder. A preset's elevation model is read from a passing place in it, and is laid beside
    // the world when that is done.
    let options = LoadOptions { unit: args.unit.map(UnitWord::unit), ..LoadOptions::default() };
    let (run, units_overridden) = if own_model {
        output::make_folder(&dir)?;
        let passing = Temporary::folder(&dir).map_err(Error::io(&dir, "write into"))?;
        let recipe = presets::laid(recipe, passing.path())?;
        let model = passing.path().join(presets::MODEL_NAME);
        over(Recipe { folder: output::absolute(&dir)?, ..recipe }, &model, &options, voice)?
    } else {
        begun(recipe, &options, voice)?
    };
    output::make_folder(&dir)?;
    let _lock = Lock::take(&dir, voice)?;
    // A world may be built anew from the recipe in its own folder, if that stays as it is.
    let own = run.recipe().within(&dir).map(|recipe| recipe.to_toml());
    let stays = |path: &PathBuf| {
        same(path, &dir.join("recipe.toml")) && std::fs::read_to_string(path).ok() == own.as_ref().ok().cloned()
    };
    let reads: Vec<PathBuf> = recipe_file(&args.recipe).into_iter().filter(|path| !stays(path)).collect();
    let ending = Ending::World { dir: dir.clone(), sample: args.sample.map(sample_type), model: own_model };
    let job = Job { units_overridden, ..Job::new(ending, &args.run, run.recipe(), &reads)? };
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

/// Whether the world of another recipe lies in a folder.
fn is_of_another(dir: &Path, recipe: &Recipe) -> bool {
    let report = plain::read(&dir.join("report.json"), REPORT).ok();
    let report: Option<serde_json::Value> = report.and_then(|text| serde_json::from_slice(&text).ok());
    report.is_some_and(|report| report["recipe_hash"].as_str().is_some_and(|hash| hash != recipe.hash()))
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

/// Refuses a parameter that is given twice.
///
/// # Errors
/// When one is.
pub fn each_once(sets: &[(String, String)]) -> Result<()> {
    for (number, (key, value)) in sets.iter().enumerate() {
        if let Some((_, before)) = sets[..number].iter().find(|(known, _)| known == key) {
            return Err(Error::value("--set", format!("{key}={before} and {key}={value}"), "each parameter once"));
        }
    }
    Ok(())
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

/// The preset of that name, its elevation model at hand as long as this process is, or the recipe in that file.
///
/// # Errors
/// When there is neither.
pub fn named(name: &OsStr) -> Result<Recipe> {
    match found(name)? {
        (preset, true) => presets::borrowed(preset),
        (recipe, false) => Ok(recipe),
    }
}

/// The file that a recipe is read from, if it is none of the presets.
pub fn recipe_file(name: &OsStr) -> Option<PathBuf> {
    name.to_str().is_none_or(|name| presets::find(name).is_none()).then(|| name.into())
}

/// The preset of that name, or the recipe in that file; and whether it is a preset.
fn found(name: &OsStr) -> Result<(Recipe, bool)> {
    let path = Path::new(name);
    match name.to_str().and_then(presets::find) {
        Some(preset) => Ok((preset?, true)),
        None if path.exists() || path.extension().is_some_and(|e| e == "toml") => Ok((Recipe::read(path)?, false)),
        None => Err(Error::unknown("preset", &shown(path), presets::names())),
    }
}

/// The number of the stage of that label.
fn stage(recipe: &Recipe, label: &str) -> Result<usize> {
    let labels = || recipe.stages.iter().map(|stage| stage.label.as_str());
    labels().position(|known| known == label).ok_or_else(|| Error::unknown("stage", label, labels()))
}

/// The run from the recipe's own start, warnings said.
///
/// # Errors
/// When the recipe cannot be run, or its own terrain not be read.
pub fn start(recipe: Recipe, voice: Voice) -> Result<Run> {
    Ok(begun(recipe, &LoadOptions::default(), voice)?.0)
}

/// As [`start`], its elevation model read so; and what that says of its units that was overridden.
fn begun(recipe: Recipe, options: &LoadOptions, voice: Voice) -> Result<(Run, Vec<String>)> {
    let Some(path) = &recipe.from else { return Ok((Run::new(recipe)?, Vec::new())) };
    let path = recipe.folder.join(path);
    over(recipe, &path, options, voice)
}

/// The run over the elevation model in that file, and what that says of its units that was overridden.
fn over(recipe: Recipe, path: &Path, options: &LoadOptions, voice: Voice) -> Result<(Run, Vec<String>)> {
    let loaded = load(path, options)?;
    voice.warn_all(&loaded.warnings);
    let old = &loaded.terrain.grid;
    memory::check(&recipe, &Grid::new(recipe.size_over(old.size), old.cell)?)?;
    let terrain = recipe.over(loaded.terrain)?;
    Ok((Run::over(recipe, terrain)?, loaded.overridden))
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
        if std::fs::symlink_metadata(&path).is_ok_and(|about| !about.is_file()) {
            return Err(Error::file(&path, "is no plain file, and no lock of ours"));
        }
        let file = File::options().create(true).append(true).open(&path).map_err(Error::io(&path, "write"))?;
        match file.try_lock() {
            Ok(()) => Ok(Self(Some(file))),
            Err(TryLockError::WouldBlock) => {
                Err(Error::file(dir, "is in use by another run; wait for it, or choose another folder with --out"))
            }
            Err(TryLockError::Error(error)) => {
                voice.warn(&format!("{}: cannot be locked against a second run ({error})", shown(&path)));
                Ok(Self(None))
            }
        }
    }
}
