//! `picture`: draws a terrain as the studio shows it, without a window.

use std::path::PathBuf;

use thalweg_core::{Error, Result, Terrain};
use thalweg_export::world_folder::{list_input_files, read_recipe, read_texture_rules};
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::{output, save_picture};
use thalweg_render::pictures::light::Sun;
use thalweg_render::pictures::ramps::Ramp;
use thalweg_render::products::overlay::Overlay;
use thalweg_sim::recipe::Recipe;
use thalweg_studio::picture::{PictureOptions, draw_picture as draw};
use thalweg_studio::view::look::Appearance;
use thalweg_studio::view::surface::Natural;

use crate::args::picture::PictureArgs;
use crate::console::Reporter;
use crate::memory;
use crate::recipes::{load_recipe, start_run};
use crate::terrains::read_displayed_terrain;

/// Draws a terrain.
///
/// # Errors
/// Returns an error if an input or option is unusable, if nothing on this machine can draw, or if the output cannot be
/// written.
pub fn draw_studio_picture(args: &PictureArgs, voice: Reporter) -> Result<()> {
    output::check_ending(&args.output, &["png"])?;
    let recipe = read_world_recipe(args)?;
    let inputs = [Some(&args.input), args.start.as_ref()].into_iter().flatten();
    let mut reads: Vec<PathBuf> = inputs.flat_map(|input| list_input_files(input)).collect();
    reads.extend(recipe.iter().flat_map(Recipe::list_input_files));
    check_distinct_files(&reads, std::slice::from_ref(&args.output))?;
    let natural = if args.natural { Some(read_natural_colours(args, recipe.as_ref())?) } else { None };
    let (terrain, ramp) = load_terrain(args, recipe, voice)?;
    let begun = args.start.as_deref().map(|path| read_displayed_terrain(path, &args.load, None, voice)).transpose()?;
    let [height, width] = args.size;
    let what =
        format!("picture of {} × {} cells at {width} × {height} pixels", terrain.grid.cols(), terrain.grid.rows());
    memory::PICTURE.check(&what, terrain.grid.size, args.size)?;
    if args.natural {
        memory::NATURAL.check("a natural picture", terrain.grid.size, [0, 0])?;
    }
    let overlay = args.overlay.as_deref().map(|name| Overlay::find(name, &terrain)).transpose()?;
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
        start: begun.as_ref(),
        look: build_appearance(args, ramp),
    };
    let picture = draw(&terrain, &options).map_err(|problem| Error::invalid_file(&args.output, problem))?;
    save_picture(&args.output, &picture)?;
    voice.report_files(std::slice::from_ref(&args.output));
    Ok(())
}

/// Returns the appearance of the terrain.
fn build_appearance(args: &PictureArgs, ramp: &'static Ramp) -> Appearance {
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
fn read_natural_colours(args: &PictureArgs, recipe: Option<&Recipe>) -> Result<Natural> {
    if let Some(recipe) = recipe {
        return Ok(Natural::from_recipe(recipe));
    }
    let (rules, rock) = read_texture_rules(&args.input)?;
    Ok(Natural { rules, rock })
}

/// Returns the recipe of a world that must be built first, if one is named.
fn read_world_recipe(args: &PictureArgs) -> Result<Option<Recipe>> {
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
    recipe.sea_level = args.sea_level.or(recipe.sea_level);
    Ok(Some(recipe))
}

/// Returns the terrain of a file or folder, or of a world that is built now, and its colour ramp.
fn load_terrain(args: &PictureArgs, recipe: Option<Recipe>, voice: Reporter) -> Result<(Terrain, &'static Ramp)> {
    let Some(recipe) = recipe else {
        let path = &args.input;
        let ramp = read_recipe(path)?.map_or(Ramp::land(), |recipe| recipe.ramp);
        return Ok((read_displayed_terrain(path, &args.load, args.sea_level, voice)?, ramp));
    };
    if recipe.dem().is_none() {
        recipe.check_memory(&recipe.last_grid()?)?;
    }
    let mut run = start_run(recipe, voice)?;
    while run.take_step()?.is_some() {}
    Ok((run.terrain().clone(), run.recipe().ramp))
}
