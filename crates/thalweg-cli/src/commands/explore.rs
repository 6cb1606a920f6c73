//! `explore`: shows a world from any distance, in a window or as a picture.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use thalweg_core::declare::operation::Operation;
use thalweg_core::{Error, Point, Result, Size, operation};
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::{output, save_picture};
use thalweg_sim::world::World;
use thalweg_studio::explore::draw_world_picture;
use thalweg_studio::explore::viewpoint::Viewpoint;
use thalweg_studio::view::look::Appearance;

use crate::args::declared::OperationArgs;
use crate::args::values::{MAX_CELLS, recipe_parser, whole_number};
use crate::console::Reporter;
use crate::recipes::load_recipe;
use crate::verb::{Group, Verb};
use crate::worlds::name_place;

operation! {
    /// Chooses the camera of the explorer and the size of its picture.
    pub struct ExploreOptions, "explore" {
        /// The point at which the camera looks, in metres east and south of the world's origin. By default, it is the
        /// middle of the world.
        at: Option<Point> = None, within .., unit "1";
        /// Distance of the camera from that point. By default, the whole world is visible.
        distance: Option<f64> = None, within 1.0..=1e7, unit "m";
        /// Azimuth of the camera as seen from that point, clockwise from north.
        azimuth: f64 = 205.0, within -360.0..=360.0, unit "°";
        /// Elevation angle of the camera above the horizon.
        elevation: f64 = 34.0, within 1.0..=90.0, unit "°";
        /// Size of the PNG; the graphics card limits its sides, usually to 16384 pixels.
        size: Size = [800, 1280], within .., unit "pixels";
    }
}

/// Returns the declared operation.
pub fn operation() -> Option<Box<dyn Operation>> {
    Some(Box::new(ExploreOptions::default()))
}

/// The arguments of `explore`.
#[derive(Args)]
pub struct ExploreArgs {
    /// The name of a preset (see `thalweg presets`) or a recipe file.
    #[arg(value_parser = recipe_parser(), hide_possible_values = true)]
    recipe: OsString,
    /// Draws the view into this PNG file instead of opening a window.
    #[arg(short, long, value_name = "PNG")]
    output: Option<PathBuf>,
    /// Number of cells on the long side of level 0, the coarsest [allowed: 1 to 1048576] [default: that of the recipe].
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>(1..=MAX_CELLS))]
    cells: Option<usize>,
    /// Seed of the world [allowed: a whole number of 0 or more] [default: that of the recipe].
    #[arg(long, value_name = "N", value_parser = whole_number::<u64>(0..=u64::MAX))]
    seed: Option<u64>,
    #[command(flatten)]
    options: OperationArgs<ExploreOptions>,
}

impl Verb for ExploreArgs {
    const NAME: &'static str = "explore";
    const GROUP: Group = Group::Make;
    const ABOUT: &'static str = "Opens the explorer, a window that shows a world at any distance, from the whole world \
                                 to a gully; or draws one view as a PNG";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        let mut recipe = load_recipe(&self.recipe)?;
        recipe.cells = self.cells.unwrap_or(recipe.cells);
        recipe.seed = self.seed.unwrap_or(recipe.seed);
        let look = Appearance { ramp: recipe.ramp, ..Appearance::default() };
        let world = World::open(&recipe)?;
        let stand = choose_viewpoint(&self.options, &world)?;
        let Some(path) = &self.output else {
            return Ok(match thalweg_studio::open_explorer(world, stand, look) {
                Ok(()) => ExitCode::SUCCESS,
                Err(problem) => {
                    voice.report_failure(&problem);
                    ExitCode::FAILURE
                }
            });
        };
        output::check_ending(path, &["png"])?;
        check_distinct_files(&recipe.list_input_files(), std::slice::from_ref(path))?;
        let [height, width] = self.options.size.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let picture = draw_world_picture(&world, stand, &look, [width, height])
            .map_err(|problem| Error::invalid_file(path, problem))?;
        save_picture(path, &picture)?;
        voice.report_files(std::slice::from_ref(path));
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the viewpoint.
fn choose_viewpoint(options: &ExploreOptions, world: &World) -> Result<Viewpoint> {
    let mut stand = Viewpoint::from_frame(world.frame());
    if let Some(place) = options.at {
        // The cell itself is not needed; this refuses a place outside the world.
        world.cell_at(0, place.x, place.y).map_err(name_place)?;
        stand.place = place;
    }
    (stand.camera.azimuth, stand.camera.elevation) = (options.azimuth as f32, options.elevation as f32);
    stand.camera.distance = options.distance.map_or(stand.camera.distance, |metres| metres as f32);
    Ok(stand)
}
