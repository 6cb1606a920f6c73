//! `studio`: opens the live window, if this program was built with it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use thalweg_core::Result;

use crate::args::values::{MAX_CELLS, recipe_parser, whole_number};
use crate::console::Reporter;
use crate::verb::{Group, Verb};

/// The arguments of `studio`.
#[derive(Args)]
pub struct StudioArgs {
    /// The name of a preset (see `thalweg presets`), a recipe file, or the file of an elevation model.
    #[arg(value_name = "RECIPE|FILE", default_value = "alpine", value_parser = recipe_parser(), hide_possible_values = true)]
    recipe: OsString,
    /// Number of cells on the long side [allowed: 1 to 1048576] [default: that of the recipe; for presets, at most
    /// 512].
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>(1..=MAX_CELLS))]
    cells: Option<usize>,
    /// Seed of the world [allowed: a whole number of 0 or more] [default: that of the recipe].
    #[arg(long, value_name = "N", value_parser = whole_number::<u64>(0..=u64::MAX))]
    seed: Option<u64>,
    /// Opens the window without starting the simulation.
    #[arg(long)]
    paused: bool,
    /// The folder into which the studio saves pictures [default: the current folder].
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,
}

impl Verb for StudioArgs {
    const NAME: &'static str = "studio";
    const GROUP: Group = Group::Make;
    const ABOUT: &'static str =
        "Opens the studio, a window that shows the erosion of a terrain and in which you can edit it";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        open_studio(self, voice)
    }
}

/// Explains how to build the program with the studio.
#[cfg(not(feature = "studio"))]
fn open_studio(_: &StudioArgs, voice: Reporter) -> Result<ExitCode> {
    voice.report_failure(
        "this program was built without the studio; build it with `--features studio`: \
         cargo run --release --features studio -- studio",
    );
    Ok(ExitCode::FAILURE)
}

/// Opens the window and returns when it is closed.
#[cfg(feature = "studio")]
fn open_studio(args: &StudioArgs, voice: Reporter) -> Result<ExitCode> {
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
fn load_initial_recipe(args: &StudioArgs) -> Result<(thalweg_sim::recipe::Recipe, Option<PathBuf>)> {
    use thalweg_core::base::error::Error;

    use crate::recipes as presets;

    let path = PathBuf::from(&args.recipe);
    let own = presets::recipe_file(&args.recipe).is_some();
    let mut recipe = match own {
        false => presets::load_recipe(&args.recipe)?,
        true if path.exists() => thalweg_sim::recipe::Recipe::open(&path)?,
        true if path.extension().is_some() => {
            return Err(Error::io(&path, "read")(std::io::ErrorKind::NotFound.into()));
        }
        true => {
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
