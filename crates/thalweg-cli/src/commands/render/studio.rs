//! `render studio` and `render natural`: draw a terrain as the studio shows it, without a window.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{PossibleValue, RangedU64ValueParser};
use clap::{Args, ValueEnum};
use thalweg_core::{Error, Result, Terrain};
use thalweg_export::world_folder::{list_input_files, read_recipe, read_texture_rules};
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::output;
use thalweg_render::pictures::light::Sun;
use thalweg_render::pictures::ramps::Ramp;
use thalweg_render::products::overlay::Overlay;
use thalweg_sim::recipe::Recipe;
use thalweg_studio::picture::{PictureOptions, ViewDirection, draw_picture};
use thalweg_studio::view::look::Appearance;
use thalweg_studio::view::surface::Natural;

use super::finish_picture;
use crate::args::values::{parse_picture_size, seed_parser, two_numbers};
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
    scene: SceneArgs,
    /// Data to draw over the terrain, such as height, slope, catchment or basins, or the name of a layer; the error for
    /// an unknown name lists all.
    #[arg(long, value_name = "NAME")]
    overlay: Option<String>,
    /// The terrain before erosion, for overlays that show changes, such as difference.
    #[arg(long, value_name = "FILE")]
    start: Option<PathBuf>,
}

/// The arguments of `render natural`.
#[derive(Args)]
pub struct NaturalViewArgs {
    #[command(flatten)]
    scene: SceneArgs,
}

/// The terrain, the camera and the light.
#[derive(Args)]
struct SceneArgs {
    /// The terrain file to read, a folder that `build` wrote, or a preset or recipe, which is built first.
    input: PathBuf,
    /// The PNG file to write.
    #[arg(short, long, value_name = "PNG")]
    output: PathBuf,
    /// Direction from which the terrain is seen.
    #[arg(long, value_name = "VIEW", default_value = "iso")]
    view: ViewWord,
    /// Width and height in pixels.
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = parse_picture_size, default_value = "1280x800")]
    size: [usize; 2],
    /// Azimuth of the camera as seen from the terrain, in degrees clockwise from north [default: that of the view].
    #[arg(long, value_name = "DEGREES", allow_negative_numbers = true)]
    azimuth: Option<f32>,
    /// Elevation angle of the camera in degrees above the horizon [default: that of the view].
    #[arg(long, value_name = "DEGREES")]
    elevation: Option<f32>,
    /// Zoom factor; with 1, the whole terrain fits into the picture.
    #[arg(long, value_name = "X", default_value = "1")]
    zoom: f32,
    /// Azimuth (clockwise from north) and altitude of the sun in degrees.
    #[arg(long, value_name = "AZIMUTH,ALTITUDE", value_parser = two_numbers("AZIMUTH,ALTITUDE"), default_value = "315,45", allow_hyphen_values = true)]
    sun: [f64; 2],
    /// Factor on heights, which exaggerates the relief; 1 is true to scale [default: chosen from the terrain].
    #[arg(long, value_name = "X")]
    exaggeration: Option<f32>,
    /// Draws snow above this elevation in metres.
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    snow_line: Option<f32>,
    #[command(flatten)]
    sea: SeaArgs,
    /// Draws no water: no sea, lakes or streams.
    #[arg(long)]
    no_water: bool,
    /// Draws no trees.
    #[arg(long)]
    no_trees: bool,
    /// Number of cells on the long side, for a preset or recipe [default: the recipe's].
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 20))]
    cells: Option<usize>,
    /// Seed of the world, for a preset or recipe [default: the recipe's].
    #[arg(long, value_name = "N", value_parser = seed_parser())]
    seed: Option<u64>,
    #[command(flatten)]
    load: LoadArgs,
}

/// The name of a view.
#[derive(Clone, Copy)]
struct ViewWord(ViewDirection);

impl ValueEnum for ViewWord {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [ViewWord; ViewDirection::ALL.len()] = {
            let mut all = [ViewWord(ViewDirection::Iso); ViewDirection::ALL.len()];
            let mut k = 0;
            while k < all.len() {
                all[k] = ViewWord(ViewDirection::ALL[k]);
                k += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()))
    }
}

impl Verb for StudioViewArgs {
    const NAME: &'static str = "studio";
    const GROUP: Group = Group::Draw;
    const ABOUT: &'static str = "Draws a terrain in perspective or as a map, as the studio shows it";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        draw_scene(&self.scene, Some(self), voice)
    }
}

impl Verb for NaturalViewArgs {
    const NAME: &'static str = "natural";
    const GROUP: Group = Group::Draw;
    const ABOUT: &'static str = "Draws a terrain like `render studio`, in the natural colours of its ground cover, \
                                 such as rock, grass and snow";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        draw_scene(&self.scene, None, voice)
    }
}

/// Draws a terrain with the given data over it, or in natural colours.
fn draw_scene(args: &SceneArgs, data: Option<&StudioViewArgs>, voice: Reporter) -> Result<ExitCode> {
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
    let [height, width] = args.size;
    let what =
        format!("picture of {} × {} cells at {width} × {height} pixels", terrain.grid.cols(), terrain.grid.rows());
    memory::PICTURE.check(&what, terrain.grid.size, args.size)?;
    if natural.is_some() {
        memory::NATURAL.check("a natural picture", terrain.grid.size, [0, 0])?;
    }
    let overlay = data.and_then(|data| data.overlay.as_deref());
    let overlay = overlay.map(|name| Overlay::find(name, &terrain)).transpose()?;
    let side = |n: usize| u32::try_from(n).map_err(|_| Error::invalid_value("size", n, "1 to 16384 pixels"));
    let options = PictureOptions {
        size: [side(width)?, side(height)?],
        view: args.view.0,
        azimuth: args.azimuth,
        elevation: args.elevation,
        zoom: args.zoom,
        exaggeration: args.exaggeration,
        overlay,
        natural,
        start: start.as_ref(),
        look: build_appearance(args, ramp),
    };
    let picture = draw_picture(&terrain, &options).map_err(|problem| Error::invalid_file(&args.output, problem))?;
    finish_picture(&args.output, &picture, voice)
}

/// Returns the appearance of the terrain.
fn build_appearance(args: &SceneArgs, ramp: &'static Ramp) -> Appearance {
    let [azimuth, altitude] = args.sun;
    Appearance {
        sun: Sun { azimuth, altitude },
        snow_line: args.snow_line,
        water: !args.no_water,
        streams: !args.no_water,
        trees: !args.no_trees,
        ramp,
        ..Appearance::default()
    }
}

/// Returns the settings of natural colours: those of the recipe that is built, or of the one in the folder.
fn read_natural_colours(args: &SceneArgs, recipe: Option<&Recipe>) -> Result<Natural> {
    if let Some(recipe) = recipe {
        return Ok(Natural::from_recipe(recipe));
    }
    let (rules, rock) = read_texture_rules(&args.input)?;
    Ok(Natural { rules, rock })
}

/// Returns the recipe of a world that must be built first, if one is named.
fn read_world_recipe(args: &SceneArgs) -> Result<Option<Recipe>> {
    let path = &args.input;
    let ending = path.extension();
    // A name without extension that is no file or folder is that of a preset.
    let is_recipe = ending.is_some_and(|ending| ending == "toml") || (ending.is_none() && !path.exists());
    if !is_recipe {
        return Ok(None);
    }
    let mut recipe = load_recipe(path.as_os_str())?;
    recipe.cells = args.cells.unwrap_or(recipe.cells);
    recipe.seed = args.seed.unwrap_or(recipe.seed);
    recipe.sea_level = args.sea.sea_level.or(recipe.sea_level);
    Ok(Some(recipe))
}

/// Returns the terrain of a file or folder, or of a world that is built now, and its colour ramp.
fn load_terrain(args: &SceneArgs, recipe: Option<Recipe>, voice: Reporter) -> Result<(Terrain, &'static Ramp)> {
    let Some(recipe) = recipe else {
        let path = &args.input;
        let ramp = read_recipe(path)?.map_or(Ramp::land(), |recipe| recipe.ramp);
        return Ok((read_displayed_terrain(path, &args.load, args.sea.sea_level, voice)?, ramp));
    };
    if recipe.dem().is_none() {
        recipe.check_memory(&recipe.last_grid()?)?;
    }
    let mut run = start_run(recipe, voice)?;
    while run.take_step()?.is_some() {}
    Ok((run.terrain().clone(), run.recipe().ramp))
}
