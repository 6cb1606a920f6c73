//! `render studio` and `render natural`: draw a terrain as the studio shows it, without a window.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use thalweg_core::{Error, Result, Terrain};
use thalweg_export::world_folder::{list_input_files, read_texture_rules};
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::output;
use thalweg_render::pictures::ramps::Ramp;
use thalweg_sim::recipe::Recipe;
use thalweg_studio::picture::{DrawOptions, PictureOptions, SceneOptions, draw_picture};
use thalweg_studio::view::surface::Natural;

use super::{finish_picture, read_ramp};
use crate::args::declared::OperationArgs;
use crate::args::values::{MAX_CELLS, whole_number};
use crate::args::{LoadArgs, SeaArgs};
use crate::console::Reporter;
use crate::memory;
use crate::recipes::{load_recipe, start_run};
use crate::terrains::read_displayed_terrain;
use crate::verb::{Group, Verb};

/// The arguments of `render studio`.
#[derive(Args)]
pub struct StudioViewArgs {
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    options: OperationArgs<DrawOptions>,
    /// The terrain before erosion, a file or a folder, for overlays that show changes, such as `difference`.
    #[arg(long, value_name = "FILE|DIR")]
    start: Option<PathBuf>,
}

/// The arguments of `render natural`.
#[derive(Args)]
pub struct NaturalViewArgs {
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    options: OperationArgs<SceneOptions>,
}

/// The terrain and the picture.
#[derive(Args)]
struct FileArgs {
    /// The terrain file to read, a folder that `build` wrote, or a preset or recipe, which is built first.
    input: PathBuf,
    /// The PNG file to write.
    #[arg(short, long, value_name = "PNG")]
    output: PathBuf,
    #[command(flatten)]
    sea: SeaArgs,
    /// Number of cells on the long side, for a preset or recipe [allowed: 1 to 1048576] [default: that of the recipe].
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>(1..=MAX_CELLS))]
    cells: Option<usize>,
    /// Seed of the world, for a preset or recipe [allowed: a whole number of 0 or more] [default: that of the recipe].
    #[arg(long, value_name = "N", value_parser = whole_number::<u64>(0..=u64::MAX))]
    seed: Option<u64>,
    #[command(flatten)]
    load: LoadArgs,
}

impl Verb for StudioViewArgs {
    const NAME: &'static str = "studio";
    const GROUP: Group = Group::Draw;
    const ABOUT: &'static str = "Draws a terrain in perspective or as a map, as the studio shows it";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        draw_scene(&self.files, &self.options.scene, Some(self), voice)
    }
}

impl Verb for NaturalViewArgs {
    const NAME: &'static str = "natural";
    const GROUP: Group = Group::Draw;
    const ABOUT: &'static str = "Draws a terrain like `render studio`, in the natural colours of its ground cover, \
                                 such as rock, grass and snow";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        draw_scene(&self.files, &self.options, None, voice)
    }
}

/// Draws a terrain with the given data over it, or in natural colours.
fn draw_scene(
    args: &FileArgs,
    scene: &SceneOptions,
    data: Option<&StudioViewArgs>,
    voice: Reporter,
) -> Result<ExitCode> {
    output::check_ending(&args.output, &["png"])?;
    let recipe = read_world_recipe(args)?;
    let start = data.and_then(|data| data.start.as_deref());
    let inputs = [Some(args.input.as_path()), start].into_iter().flatten();
    let mut reads: Vec<PathBuf> = inputs.flat_map(list_input_files).collect();
    reads.extend(recipe.iter().flat_map(Recipe::list_input_files));
    check_distinct_files(&reads, std::slice::from_ref(&args.output))?;
    let natural = if data.is_none() { Some(read_natural_colours(args, recipe.as_ref())?) } else { None };
    let (terrain, ramp) = load_terrain(args, recipe, voice)?;
    let start = start.map(|path| read_displayed_terrain(path, &args.load, None, voice)).transpose()?;
    let [height, width] = scene.size;
    let what =
        format!("picture of {} × {} cells at {width} × {height} pixels", terrain.grid.cols(), terrain.grid.rows());
    memory::PICTURE.check(&what, terrain.grid.size, scene.size)?;
    if natural.is_some() {
        memory::NATURAL.check("a natural picture", terrain.grid.size, [0, 0])?;
    }
    let options = match data {
        Some(data) => data.options.resolve(&terrain, ramp, start.as_ref())?,
        None => PictureOptions { natural, ..scene.resolve(ramp)? },
    };
    let picture = draw_picture(&terrain, &options).map_err(|problem| Error::invalid_file(&args.output, problem))?;
    finish_picture(&args.output, &picture, voice)
}

/// Returns the settings of natural colours: those of the recipe that is built, or of the one in the folder.
fn read_natural_colours(args: &FileArgs, recipe: Option<&Recipe>) -> Result<Natural> {
    if let Some(recipe) = recipe {
        return Ok(Natural::from_recipe(recipe));
    }
    let (rules, rock) = read_texture_rules(&args.input)?;
    Ok(Natural { rules, rock })
}

/// Returns the recipe of a world that must be built first, if one is named.
fn read_world_recipe(args: &FileArgs) -> Result<Option<Recipe>> {
    let path = &args.input;
    let ending = path.extension();
    // A name without extension that is no file or folder is that of a preset.
    let is_recipe = ending.is_some_and(|ending| ending == "toml") || (ending.is_none() && !path.exists());
    if !is_recipe {
        let given = [("--cells", args.cells.is_some()), ("--seed", args.seed.is_some())];
        return match given.into_iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(Error::conflict(flag, "only applies to a preset or a recipe, which is built first")),
            None => Ok(None),
        };
    }
    let mut recipe = load_recipe(path.as_os_str())?;
    recipe.cells = args.cells.unwrap_or(recipe.cells);
    recipe.seed = args.seed.unwrap_or(recipe.seed);
    recipe.sea_level = args.sea.sea_level.or(recipe.sea_level);
    Ok(Some(recipe))
}

/// Returns the terrain of a file or folder, or of a world that is built now, and its colour ramp.
fn load_terrain(args: &FileArgs, recipe: Option<Recipe>, voice: Reporter) -> Result<(Terrain, &'static Ramp)> {
    let Some(recipe) = recipe else {
        let path = &args.input;
        let ramp = read_ramp(path)?.unwrap_or(Ramp::land());
        return Ok((read_displayed_terrain(path, &args.load, args.sea.sea_level, voice)?, ramp));
    };
    if recipe.dem().is_none() {
        recipe.check_memory(&recipe.last_grid()?)?;
    }
    let mut run = start_run(recipe, voice)?;
    while run.take_step()?.is_some() {}
    Ok((run.terrain().clone(), run.recipe().ramp))
}
