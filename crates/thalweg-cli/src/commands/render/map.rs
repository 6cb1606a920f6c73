//! `render map`: draws a terrain as a shaded map, or a layer of it.

use std::process::ExitCode;

use clap::Args;
use thalweg_core::declare::operation::{Operation as _, WorkForm};
use thalweg_core::{Error, Grid, Result};
use thalweg_export::world_folder::draw_layer;
use thalweg_io::{MapPixels, output, save_picture, save_shaded, save_world_file};
use thalweg_render::pictures::drawn_land::DrawnLand;
use thalweg_render::pictures::shade::{self, ShadeOptions};
use thalweg_store::{ElevationFile, MapRows, is_zarr};

use super::{LandArgs, read_ramp};
use crate::args::declared::{OperationArgs, typed_flag};
use crate::args::values::layer_parser;
use crate::console::Reporter;
use crate::memory;
use crate::terrains::{
    check_distinct_output, open_squares_by_windows, parse_sea_level, read_terrain, read_trees, report_row_work,
};
use crate::verb::{Group, Verb};

/// The arguments of `render map`.
#[derive(Args)]
pub struct ShadeArgs {
    #[command(flatten)]
    land: LandArgs,
    /// Draws this layer of the folder over grey relief instead of the colours of the ground. `momentum` draws both of
    /// its components; `wetness` is computed if the folder does not contain it.
    #[arg(long, value_name = "NAME", value_parser = layer_parser(), hide_possible_values = true)]
    layer: Option<String>,
    #[command(flatten)]
    options: OperationArgs<ShadeOptions>,
}

impl Verb for ShadeArgs {
    const NAME: &'static str = "map";
    const GROUP: Group = Group::Draw;
    const ABOUT: &'static str = "Draws a terrain as a shaded map";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        shade_terrain(self, voice).map(|()| ExitCode::SUCCESS)
    }
}

/// Draws a shaded map, or a map of a layer.
fn shade_terrain(args: &ShadeArgs, voice: Reporter) -> Result<()> {
    let LandArgs { input, output, water, trees, sea, load } = &args.land;
    output::check_ending(output, &["png"])?;
    args.options.check_form(WorkForm::Folder, typed_flag)?;
    check_distinct_output([input], water, trees.as_deref(), output)?;
    let over = whole_map_option(args);
    // A Zarr map is drawn by rows, unless something is drawn onto it that needs the whole map.
    let asked = is_zarr(input) && over.is_none();
    if let Some(file) = open_squares_by_windows(input, load, asked, |size| memory::SHADE.required_bytes(size))? {
        return match over {
            Some(flag) => {
                let problem = "cannot be drawn, because the map does not fit in memory and is drawn row by row; `crop` \
                               or `resample` the map first";
                Err(Error::unsupported(flag, problem))
            }
            None => shade_rows(args, &file, voice),
        };
    }
    let mut terrain = read_terrain(input, load, sea.sea_level, voice)?;
    memory::SHADE.check_terrain("map", &terrain)?;
    water.insert_water(&mut terrain)?;
    if let Some(name) = &args.layer {
        save_picture(output, &draw_layer(&terrain, name, args.options.scale_bar, args.options.max_size)?)?;
        return finish_map(args, &terrain.grid, voice);
    }
    let trees = read_trees(input, trees.as_deref(), &terrain, voice)?;
    let land = DrawnLand { water: water.select_water(&terrain), trees: &trees, ..(&terrain).into() };
    save_picture(output, &shade::draw_map(land, &shade_options(args)?)?)?;
    finish_map(args, &terrain.grid, voice)
}

/// Writes the map's world file next to it, and reports both.
fn finish_map(args: &ShadeArgs, grid: &Grid, voice: Reporter) -> Result<()> {
    let output = &args.land.output;
    let place = save_world_file(output, grid, MapPixels::for_shaded_map(grid.size, args.options.max_size))?;
    voice.report_files(&[output.clone(), place]);
    Ok(())
}

/// Draws a shaded map of a terrain that may be larger than memory, with the same bytes as [`shade_terrain()`].
fn shade_rows(args: &ShadeArgs, file: &ElevationFile, voice: Reporter) -> Result<()> {
    let options = shade_options(args)?;
    let bytes = MapRows::shade_bytes(file);
    report_row_work(bytes, voice);
    memory::check_row_memory("map", file.grid(), bytes)?;
    let map = MapRows::from_file(file, parse_sea_level(args.land.sea.sea_level)?)?;
    voice.warn_all(map.warnings());
    save_shaded(&args.land.output, map.to_shaded_map(&options)?)?;
    finish_map(args, file.grid(), voice)
}

/// The options for the map itself.
fn shade_options(args: &ShadeArgs) -> Result<ShadeOptions> {
    let look = args.options.look.with_default_ramp(read_ramp(&args.land.input)?);
    Ok(ShadeOptions { look, ..args.options.clone() })
}

/// Returns the option for something that is drawn onto the map and needs the whole map in memory, if one is given.
fn whole_map_option(args: &ShadeArgs) -> Option<&'static str> {
    let LandArgs { water, trees, .. } = &args.land;
    let given = [
        ("--layer", args.layer.is_some()),
        ("--water", water.water.is_some()),
        ("--pools", water.pools.is_some()),
        ("--streams", water.streams.is_some()),
        ("--trees", trees.is_some()),
    ];
    given.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
}
