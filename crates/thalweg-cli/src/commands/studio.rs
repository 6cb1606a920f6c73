//! `studio`: the live window, where this program was built with it.

use std::process::ExitCode;

use thalweg_core::Result;

use crate::args::Studio;
use crate::console::Voice;

/// Says how to come by a studio.
///
/// # Errors
/// None.
#[cfg(not(feature = "studio"))]
pub fn studio(_: &Studio, voice: Voice) -> Result<ExitCode> {
    voice.problem(
        "this program was built without its window; build it with `--features studio`: \
         cargo run --release --features studio -- studio",
    );
    Ok(ExitCode::FAILURE)
}

/// Opens the window and stays until it is closed.
///
/// # Errors
/// No such recipe, or a file that is neither recipe nor terrain.
#[cfg(feature = "studio")]
pub fn studio(args: &Studio, voice: Voice) -> Result<ExitCode> {
    use thalweg_studio::{Options, PresetCard};

    use crate::recipes as presets;

    let (recipe, path) = opened(args)?;
    let options = Options {
        recipe,
        path,
        playing: !args.paused,
        presets: presets::with_thumbnails()
            .map(|(name, text, thumbnail)| PresetCard { name, text, thumbnail })
            .collect(),
        cells: args.cells.unwrap_or(CELLS),
        pictures: args.pictures.clone().unwrap_or_default(),
        asker: Box::new(thalweg_studio::platform::ask),
        page: None,
    };
    match thalweg_studio::open(options) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(problem) => {
            voice.problem(&problem);
            Ok(ExitCode::FAILURE)
        }
    }
}

/// The recipe to begin with, as the command line says, and its file where it has one of its own.
#[cfg(feature = "studio")]
fn opened(args: &Studio) -> Result<(thalweg_sim::recipe::Recipe, Option<std::path::PathBuf>)> {
    use std::path::PathBuf;

    use thalweg_core::base::error::Error;

    use crate::recipes as presets;

    let path = PathBuf::from(&args.recipe);
    let preset = args.recipe.to_str().and_then(presets::find).map(|preset| preset.and_then(presets::borrowed));
    let own = preset.is_none();
    let mut recipe = match preset {
        Some(preset) => preset?,
        None if path.exists() => thalweg_sim::recipe::Recipe::open(&path)?,
        None if path.extension().is_some() => {
            return Err(Error::io(&path, "read")(std::io::ErrorKind::NotFound.into()));
        }
        None => return Err(Error::unknown("preset", &thalweg_core::base::names::shown(&path), presets::names())),
    };
    match args.cells {
        Some(cells) => recipe.cells = cells,
        None if !own => recipe.limit_cells(CELLS)?,
        _ => {}
    }
    recipe.seed = args.seed.unwrap_or(recipe.seed);
    if recipe.dem().is_none() {
        recipe.check_memory(&recipe.grid()?)?;
    }
    Ok((recipe, (own && thalweg_sim::recipe::Recipe::is_named(&path)).then_some(path)))
}

/// Cells on the long side at which presets open: a world that lives on two cores.
#[cfg(feature = "studio")]
const CELLS: usize = 512;
