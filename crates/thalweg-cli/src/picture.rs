//! `picture`: a terrain as the studio shows it, drawn without a window.

use std::path::PathBuf;

use clap::builder::{PossibleValue, RangedU64ValueParser};
use clap::{Args, ValueEnum};
use thalweg::io::apart::apart;
use thalweg::io::output;
use thalweg::io::save_picture;
use thalweg::pictures::light::Sun;
use thalweg::pictures::ramps::Ramp;
use thalweg::recipe::Recipe;
use thalweg::terrain::Terrain;
use thalweg::{Error, Result};
use thalweg_studio::picture::{PictureOptions, View, picture as draw};
use thalweg_studio::view::look::Look;
use thalweg_studio::view::overlay::Overlay;

use crate::args::{LoadArgs, pixels, seed, two_numbers};
use crate::build::{named, start};
use crate::console::Voice;
use crate::{memory, pictures};

/// `picture`.
#[derive(Args)]
pub struct Picture {
    /// The terrain file to read, a folder that `build` wrote, or a preset or recipe, which is built first.
    pub input: PathBuf,
    /// The PNG to write.
    #[arg(short, long, value_name = "PNG")]
    pub output: PathBuf,
    /// From where it is seen.
    #[arg(long, value_name = "VIEW", default_value = "iso")]
    pub view: ViewWord,
    /// Width and height in pixels.
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = pixels, default_value = "1280x800")]
    pub size: [usize; 2],
    /// Where the camera stands instead, degrees clockwise from north.
    #[arg(long, value_name = "DEGREES", allow_negative_numbers = true)]
    pub azimuth: Option<f32>,
    /// Degrees above the horizon that it stands instead.
    #[arg(long, value_name = "DEGREES")]
    pub elevation: Option<f32>,
    /// How near it looks: 1 frames the whole terrain.
    #[arg(long, value_name = "X", default_value = "1")]
    pub zoom: f32,
    /// The sun's azimuth (clockwise from north) and altitude in degrees.
    #[arg(long, value_name = "AZIMUTH,ALTITUDE", value_parser = two_numbers("AZIMUTH,ALTITUDE"), default_value = "315,45", allow_hyphen_values = true)]
    pub sun: [f64; 2],
    /// Factor on heights [default: chosen so that relief and extent are in good proportion].
    #[arg(long, value_name = "X")]
    pub exaggeration: Option<f32>,
    /// Data laid over the land, such as height, slope, catchment or basins, or a layer's name.
    #[arg(long, value_name = "NAME")]
    pub overlay: Option<String>,
    /// The terrain at the start, for overlays that compare with it.
    #[arg(long, value_name = "FILE")]
    pub start: Option<PathBuf>,
    /// Draw snow above this height in metres.
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub snow_line: Option<f32>,
    /// Draw sea up to this height in metres.
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
    /// Draw no water: no sea, lakes or streams.
    #[arg(long)]
    pub no_water: bool,
    /// Draw no trees.
    #[arg(long)]
    pub no_trees: bool,
    /// Cells on the long side of a world that is built first.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 20))]
    pub cells: Option<usize>,
    /// The seed of a world that is built first.
    #[arg(long, value_name = "N", value_parser = seed())]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// A view's name.
#[derive(Clone, Copy)]
pub struct ViewWord(View);

impl ValueEnum for ViewWord {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [ViewWord; View::ALL.len()] = {
            let mut all = [ViewWord(View::Iso); View::ALL.len()];
            let mut k = 0;
            while k < all.len() {
                all[k] = ViewWord(View::ALL[k]);
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

/// Draws a terrain.
///
/// # Errors
/// An unusable input or option, nothing that can draw, an output that cannot be written.
pub fn picture(args: &Picture, voice: Voice) -> Result<()> {
    output::check_ending(&args.output, &["png"])?;
    let recipe = recipe(args)?;
    let inputs = [Some(&args.input), args.start.as_ref()].into_iter().flatten();
    let mut reads: Vec<PathBuf> = inputs.flat_map(|input| pictures::reads_of(input)).collect();
    reads.extend(recipe.iter().flat_map(Recipe::reads));
    apart(&reads, std::slice::from_ref(&args.output))?;
    let (terrain, ramp) = terrain(args, recipe, voice)?;
    let begun = args.start.as_deref().map(|path| pictures::world(path, &args.load, None, voice)).transpose()?;
    let [height, width] = args.size;
    let what =
        format!("picture of {} × {} cells at {width} × {height} pixels", terrain.grid.cols(), terrain.grid.rows());
    memory::PICTURE.check(&what, terrain.grid.size, args.size)?;
    let overlay = args.overlay.as_deref().map(|name| Overlay::find(name, &terrain)).transpose()?;
    let side = |n: usize| u32::try_from(n).map_err(|_| Error::value("size", n, "1 to 16384 pixels"));
    let [azimuth, altitude] = args.sun;
    let options = PictureOptions {
        size: [side(width)?, side(height)?],
        view: args.view.0,
        azimuth: args.azimuth,
        elevation: args.elevation,
        zoom: args.zoom,
        exaggeration: args.exaggeration,
        overlay,
        start: begun.as_ref(),
        look: Look {
            sun: Sun { azimuth, altitude },
            snow_line: args.snow_line,
            water: !args.no_water,
            streams: !args.no_water,
            trees: !args.no_trees,
            ramp,
            ..Look::default()
        },
    };
    let picture = draw(&terrain, &options).map_err(|problem| Error::file(&args.output, problem))?;
    save_picture(&args.output, &picture)
}

/// The recipe of a world that is to be built first, if one was named.
fn recipe(args: &Picture) -> Result<Option<Recipe>> {
    let path = &args.input;
    let ending = path.extension();
    let is_recipe = ending.is_some_and(|ending| ending == "toml") || (ending.is_none() && !path.exists());
    if !is_recipe {
        return Ok(None);
    }
    let mut recipe = named(path.as_os_str())?;
    recipe.cells = args.cells.unwrap_or(recipe.cells);
    recipe.seed = args.seed.unwrap_or(recipe.seed);
    recipe.sea_level = args.sea_level.or(recipe.sea_level);
    Ok(Some(recipe))
}

/// The terrain of a file or folder, or of a world that is built now; and its colours.
fn terrain(args: &Picture, recipe: Option<Recipe>, voice: Voice) -> Result<(Terrain, &'static Ramp)> {
    let Some(recipe) = recipe else {
        let path = &args.input;
        let ramp = pictures::recipe_of(path)?.map_or(Ramp::land(), |recipe| recipe.ramp);
        return Ok((pictures::world(path, &args.load, args.sea_level, voice)?, ramp));
    };
    if recipe.from.is_none() {
        memory::check(&recipe, &recipe.grid()?)?;
    }
    let mut run = start(recipe, voice)?;
    while run.step()?.is_some() {}
    Ok((run.terrain().clone(), run.recipe().ramp))
}
