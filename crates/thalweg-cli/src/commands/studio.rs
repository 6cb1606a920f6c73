//! `studio`: opens the live window, if this program was built with it.

use std::process::ExitCode;

use thalweg_core::Result;

use crate::args::StudioArgs;
use crate::console::Reporter;

/// Explains how to build the program with the studio.
///
/// # Errors
/// Never returns an error.
#[cfg(not(feature = "studio"))]
pub fn open_studio(_: &StudioArgs, voice: Reporter) -> Result<ExitCode> {
    voice.report_failure(
        "this program was built without the studio; build it with `--features studio`: \
         cargo run --release --features studio -- studio",
    );
    Ok(ExitCode::FAILURE)
}

/// Opens the window and returns when it is closed.
///
/// # Errors
/// Returns an error if there is no such recipe, or if the file is neither a recipe nor a terrain.
#[cfg(feature = "studio")]
pub fn open_studio(args: &StudioArgs, voice: Reporter) -> Result<ExitCode> {
    use thalweg_studio::{PresetCard, StudioOptions};

    use crate::recipes as presets;

    let (recipe, path) = load_initial_recipe(args)?;
    let options = StudioOptions {
        recipe,
        path,
        playing: !args.paused,
        presets: presets::with_thumbnails()
            .map(|(name, text, thumbnail)| PresetCard { name, text, thumbnail })
            .collect(),
        cells: args.cells.unwrap_or(CELLS),
        pictures: args.pictures.clone().unwrap_or_default(),
        asker: Box::new(thalweg_studio::platform::open_dialog),
        page: None,
    };
    match thalweg_studio::open_studio(options) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(problem) => {
            voice.report_failure(&problem);
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Returns the initial recipe according to the command line, and its file if it has one.
#[cfg(feature = "studio")]
fn load_initial_recipe(args: &StudioArgs) -> Result<(thalweg_sim::recipe::Recipe, Option<std::path::PathBuf>)> {
    use std::path::PathBuf;

    use thalweg_core::base::error::Error;

    use crate::recipes as presets;

    let path = PathBuf::from(&args.recipe);
    let preset =
        args.recipe.to_str().and_then(presets::find_preset).map(|preset| preset.and_then(presets::with_dem_file));
    let own = preset.is_none();
    let mut recipe = match preset {
        Some(preset) => preset?,
        None if path.exists() => thalweg_sim::recipe::Recipe::open(&path)?,
        None if path.extension().is_some() => {
            return Err(Error::io(&path, "read")(std::io::ErrorKind::NotFound.into()));
        }
        None => {
            return Err(Error::unknown_name(
                "preset",
                &thalweg_core::base::names::format_path(&path),
                presets::preset_names(),
            ));
        }
    };
    match args.cells {
        Some(cells) => recipe.cells = cells,
        None if !own => recipe.limit_cells(CELLS)?,
        _ => {}
    }
    recipe.seed = args.seed.unwrap_or(recipe.seed);
    if recipe.dem().is_none() {
        recipe.check_memory(&recipe.last_grid()?)?;
    }
    Ok((recipe, (own && thalweg_sim::recipe::Recipe::is_named(&path)).then_some(path)))
}

/// The number of cells on the long side with which presets open: a world that runs smoothly on two cores. More cells
/// show finer relief but take longer per step.
#[cfg(feature = "studio")]
const CELLS: usize = 512;
