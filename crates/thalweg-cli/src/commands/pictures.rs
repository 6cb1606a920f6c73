//! `shade`, `view`, `compare`: draw a terrain.

use std::path::{Path, PathBuf};

use thalweg_core::base::names::format_path;
use thalweg_core::declare::operation::{Operation as _, WorkForm};
use thalweg_core::{Error, Grid, Result, Terrain};
use thalweg_export::world_folder::{draw_layer, read_cover, read_recipe};
use thalweg_io::{MapPixels, output, save_picture, save_shaded, save_world_file};
use thalweg_render::pictures::drawn_land::DrawnLand;
use thalweg_render::pictures::perspective::{self, ViewOptions};
use thalweg_render::pictures::picture::Picture;
use thalweg_render::pictures::shade::{self, ShadeOptions};
use thalweg_render::pictures::sheet::{SheetTerrain, draw_sheet};
use thalweg_store::{ElevationFile, MapRows, is_zarr};

use crate::args::declared::typed_flag;
use crate::args::pictures::with_recipe_ramp;
use crate::args::{CompareArgs, ShadeArgs, ViewArgs};
use crate::console::Reporter;
use crate::memory;
use crate::terrains::{
    check_distinct_output, open_by_windows, parse_sea_level, read_terrain, read_trees, report_row_work,
};

/// Draws a shaded map, or a map of a layer.
///
/// # Errors
/// Returns an error if the input is unusable, if water has another size, if a layer does not exist, or if the output
/// cannot be written.
pub fn shade_terrain(args: &ShadeArgs, voice: Reporter) -> Result<()> {
    output::check_ending(&args.output, &["png"])?;
    args.options.check_form(WorkForm::Folder, typed_flag)?;
    check_distinct_output([&args.input], &args.water, args.trees.as_deref(), &args.output)?;
    let over = whole_map_option(args);
    // A Zarr map is drawn by rows, unless something is drawn onto it that needs the whole map.
    let asked = is_zarr(&args.input) && over.is_none();
    if let Some(file) = open_by_windows(&args.input, &args.load, asked, |size| memory::SHADE.required_bytes(size))? {
        return match over {
            Some(flag) => {
                let problem = "cannot be drawn, because the map does not fit in memory and is drawn row by row; `crop` \
                               or `resample` the map first";
                Err(Error::unsupported(flag, problem))
            }
            None => shade_rows(args, &file, voice),
        };
    }
    let mut terrain = read_terrain(&args.input, &args.load, args.sea_level, voice)?;
    memory::SHADE.check_terrain("shade", &terrain)?;
    args.water.insert_water(&mut terrain)?;
    if let Some(name) = &args.layer {
        save_picture(&args.output, &draw_layer(&terrain, name, args.options.scale_bar, args.options.max_size)?)?;
        return finish_map(args, &terrain.grid, voice);
    }
    let trees = read_trees(&args.input, args.trees.as_deref(), &terrain, voice)?;
    let land = DrawnLand { water: args.water.select_water(&terrain), trees: &trees, ..(&terrain).into() };
    save_picture(&args.output, &shade::draw_map(land, &shade_options(args)?)?)?;
    finish_map(args, &terrain.grid, voice)
}

/// Writes the map's world file next to it, and reports both.
fn finish_map(args: &ShadeArgs, grid: &Grid, voice: Reporter) -> Result<()> {
    let place = save_world_file(&args.output, grid, MapPixels::for_shaded_map(grid.size, args.options.max_size))?;
    voice.report_files(&[args.output.clone(), place]);
    Ok(())
}

/// Draws a shaded map of a terrain that may be larger than memory, with the same bytes as [`shade_terrain()`].
fn shade_rows(args: &ShadeArgs, file: &ElevationFile, voice: Reporter) -> Result<()> {
    let options = shade_options(args)?;
    let bytes = MapRows::shade_bytes(file);
    report_row_work(bytes, voice);
    memory::check_row_memory("shade", file.grid(), bytes)?;
    let map = MapRows::from_file(file, parse_sea_level(args.sea_level)?)?;
    voice.warn_all(map.warnings());
    save_shaded(&args.output, map.to_shaded_map(&options)?)?;
    finish_map(args, file.grid(), voice)
}

/// The options for the map itself.
fn shade_options(args: &ShadeArgs) -> Result<ShadeOptions> {
    let look = with_recipe_ramp(&args.options.look, read_recipe(&args.input)?.as_ref());
    Ok(ShadeOptions { look, ..args.options.clone() })
}

/// Returns the option for something that is drawn onto the map and needs the whole map in memory, if one is given.
fn whole_map_option(args: &ShadeArgs) -> Option<&'static str> {
    let water = &args.water;
    let given = [
        ("--layer", args.layer.is_some()),
        ("--water", water.water.is_some()),
        ("--pools", water.pools.is_some()),
        ("--streams", water.streams.is_some()),
        ("--trees", args.trees.is_some()),
    ];
    given.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
}

/// Draws a terrain in perspective.
///
/// # Errors
/// Returns the errors of [`shade_terrain()`].
pub fn draw_view(args: &ViewArgs, voice: Reporter) -> Result<()> {
    output::check_ending(&args.output, &["png"])?;
    args.options.check_form(WorkForm::Folder, typed_flag)?;
    args.options.check()?;
    check_distinct_output([&args.input], &args.water, args.trees.as_deref(), &args.output)?;
    let mut terrain = read_terrain(&args.input, &args.load, args.sea_level, voice)?;
    check_view_memory("view", args.options.camera.size, [&terrain])?;
    args.water.insert_water(&mut terrain)?;
    let trees = read_trees(&args.input, args.trees.as_deref(), &terrain, voice)?;
    let water = args.water.select_water(&terrain);
    let look = with_recipe_ramp(&args.options.look, read_recipe(&args.input)?.as_ref());
    let options = ViewOptions { look, ..args.options.clone() };
    // Natural colours are computed per sample of the view, which may be finer than the cells.
    let samples = options.sample_size(terrain.grid.size);
    if options.natural {
        memory::NATURAL.check("a natural view", samples, [0, 0])?;
    }
    let natural = options.natural.then(|| Ok(read_cover(&args.input, &terrain)?.resized(samples)?.from_air()));
    let natural = natural.transpose()?;
    let land = DrawnLand { water, trees: &trees, natural: natural.as_ref(), ..(&terrain).into() };
    finish_picture(&args.output, &perspective::draw_view(land, &options)?, voice)
}

/// Writes a picture and reports it.
fn finish_picture(path: &PathBuf, picture: &Picture, voice: Reporter) -> Result<()> {
    save_picture(path, picture)?;
    voice.report_files(std::slice::from_ref(path));
    Ok(())
}

/// Draws two terrains in perspective, or a sheet of several.
///
/// # Errors
/// Returns the errors of [`shade_terrain()`]; also if two terrains differ in size, or if the number of captions does
/// not match.
pub fn compare_terrains(args: &CompareArgs, voice: Reporter) -> Result<()> {
    output::check_ending(&args.output, &["png"])?;
    check_distinct_output(&args.inputs, &args.water, None, &args.output)?;
    let options = ViewOptions { camera: args.camera.clone(), look: args.look.clone(), ..ViewOptions::default() };
    options.check()?;
    let captions = choose_captions(args)?;
    let sea = args.sea_level;
    let terrains =
        args.inputs.iter().map(|path| read_terrain(path, &args.load, sea, voice)).collect::<Result<Vec<_>>>();
    let mut terrains = terrains?;
    check_same_size(args, &terrains)?;
    check_view_memory("compare", options.camera.size, &terrains)?;
    if let Some(last) = terrains.last_mut() {
        args.water.insert_water(last)?;
    }
    let look = with_recipe_ramp(&args.look, read_recipe(&args.inputs[0])?.as_ref());
    let options = ViewOptions { look, ..options };
    let woods = args.inputs.iter().zip(&terrains).map(|(path, terrain)| read_trees(path, None, terrain, voice));
    let woods = woods.collect::<Result<Vec<_>>>()?;
    let lands = terrains.iter().zip(&woods);
    let lands =
        lands.map(|(terrain, trees)| DrawnLand { water: args.water.select_water(terrain), trees, ..terrain.into() });
    let lands: Vec<DrawnLand<'_>> = lands.collect();
    // Two terrains without captions are drawn side by side; everything else is a sheet.
    if let ([before, after], false, true) = (lands.as_slice(), args.sheet, args.caption.is_empty()) {
        return finish_picture(&args.output, &perspective::draw_comparison(*before, *after, &options)?, voice);
    }
    let shown: Vec<SheetTerrain<'_>> =
        lands.into_iter().zip(&captions).map(|(land, caption)| SheetTerrain { land, caption }).collect();
    finish_picture(&args.output, &draw_sheet(&shown, &options)?, voice)
}

/// The captions of the pictures: those given, or the terrains' names.
fn choose_captions(args: &CompareArgs) -> Result<Vec<String>> {
    let count = args.inputs.len();
    match args.caption.len() {
        0 => Ok(args.inputs.iter().map(|path| default_caption(path)).collect()),
        given if given == count => Ok(args.caption.clone()),
        given => Err(Error::invalid_value("number of captions", given, format!("{count}, one for each terrain"))),
    }
}

/// Refuses two terrains of different sizes.
fn check_same_size(args: &CompareArgs, terrains: &[Terrain]) -> Result<()> {
    match terrains {
        [before, after] if before.grid.size != after.grid.size => {
            let size = |terrain: &Terrain| format!("{} × {}", terrain.grid.cols(), terrain.grid.rows());
            let allowed = format!("{} (columns × rows of {})", size(before), format_path(&args.inputs[0]));
            Err(Error::invalid_value(format_path(&args.inputs[1]), size(after), allowed))
        }
        _ => Ok(()),
    }
}

/// The name of a terrain in its caption.
fn default_caption(path: &Path) -> String {
    let folder = path.is_dir();
    let part = if folder { path.file_name() } else { path.file_stem() };
    part.map_or_else(|| format_path(path), |part| format_path(Path::new(part)))
}

/// Refuses views of this size, drawn one after the other, if they cannot fit into memory.
fn check_view_memory<'a>(what: &str, size: [usize; 2], terrains: impl IntoIterator<Item = &'a Terrain>) -> Result<()> {
    let [height, width] = size;
    let sizes: Vec<_> = terrains.into_iter().map(|terrain| terrain.grid.size).collect();
    let largest = sizes.iter().copied().max_by_key(|[rows, cols]| rows * cols).unwrap_or_default();
    let what = format!("{what} of {} × {} cells at {width} × {height} pixels", largest[1], largest[0]);
    // Each picture is kept until all are assembled.
    let need = memory::Need { pixel: memory::VIEW.pixel + 8 * sizes.len() as u64, ..memory::VIEW };
    need.check(&what, largest, size)
}
