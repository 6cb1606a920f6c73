//! `explore`: shows a world from any distance, in a window or as a picture.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use thalweg_core::base::range::check_range;
use thalweg_core::{Error, Point, Result};
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::{output, save_picture};
use thalweg_sim::world::World;
use thalweg_studio::explore::draw_world_picture;
use thalweg_studio::explore::viewpoint::Viewpoint;
use thalweg_studio::view::look::Appearance;

use crate::args::values::{parse_picture_size, parse_point, recipe_parser};
use crate::console::Reporter;
use crate::recipes::load_recipe;
use crate::verb::{Group, Verb};

/// The arguments of `explore`.
#[derive(Args)]
pub struct ExploreArgs {
    /// The name of a preset (see `thalweg presets`) or a recipe file.
    #[arg(value_parser = recipe_parser(), hide_possible_values = true)]
    recipe: OsString,
    /// Draws the view into this PNG file instead of opening a window.
    #[arg(short, long, value_name = "PNG")]
    output: Option<PathBuf>,
    /// Number of cells on the long side of level 0, the coarsest [default: the recipe's].
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 20))]
    cells: Option<usize>,
    /// Seed of the world [default: the recipe's].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The point at which the camera looks, in metres east and south of the world's origin [default: the middle of the
    /// world].
    #[arg(long, value_name = "X,Y", value_parser = parse_point, allow_hyphen_values = true)]
    at: Option<Point>,
    /// Distance of the camera from that point in metres [default: so far that the whole world is visible].
    #[arg(long, value_name = "M")]
    distance: Option<f32>,
    /// Azimuth of the camera as seen from that point, in degrees clockwise from north, -360 to 360.
    #[arg(long, value_name = "DEGREES", default_value = "205", allow_negative_numbers = true)]
    azimuth: f32,
    /// Elevation angle of the camera in degrees above the horizon.
    #[arg(long, value_name = "DEGREES", default_value = "34")]
    elevation: f32,
    /// Width and height of the PNG in pixels.
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = parse_picture_size, default_value = "1280x800")]
    size: [usize; 2],
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
        let stand = choose_viewpoint(self, &world)?;
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
        let [height, width] = self.size.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let picture = draw_world_picture(&world, stand, &look, [width, height])
            .map_err(|problem| Error::invalid_file(path, problem))?;
        save_picture(path, &picture)?;
        voice.report_files(std::slice::from_ref(path));
        Ok(ExitCode::SUCCESS)
    }
}

/// The allowed distances of the eye in metres.
const DISTANCES: [f32; 2] = [1.0, 1e7];

/// Returns the viewpoint.
fn choose_viewpoint(args: &ExploreArgs, world: &World) -> Result<Viewpoint> {
    let mut stand = Viewpoint::from_frame(world.frame());
    if let Some(place) = args.at {
        // The cell itself is not needed; this refuses a place outside the world.
        world.cell_at(0, place.x, place.y)?;
        stand.place = place;
    }
    (stand.camera.azimuth, stand.camera.elevation) = (args.azimuth, args.elevation);
    stand.camera.distance = args.distance.unwrap_or(stand.camera.distance);
    let [low, high] = DISTANCES;
    check_range("--distance", stand.camera.distance, low..=high)?;
    check_range("--azimuth", args.azimuth, -360.0..=360.0)?;
    check_range("--elevation", args.elevation, 1.0..=90.0)?;
    Ok(stand)
}
