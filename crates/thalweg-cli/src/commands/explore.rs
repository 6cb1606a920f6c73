//! `explore`: shows a world from any distance, in a window or as a picture.

use std::process::ExitCode;

use thalweg_core::base::range::check_range;
use thalweg_core::{Error, Result};
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::{output, save_picture};
use thalweg_sim::world::World;
use thalweg_studio::explore::draw_world_picture;
use thalweg_studio::explore::viewpoint::Viewpoint;
use thalweg_studio::view::look::Appearance;

use crate::args::explore::ExploreArgs;
use crate::console::Reporter;
use crate::recipes::load_recipe;

/// The allowed distances of the eye in metres.
const DISTANCES: [f32; 2] = [1.0, 1e7];

/// Opens the window and returns when it is closed; or draws the view of the window.
///
/// # Errors
/// Returns an error if there is no such recipe, if the place is outside the world, if an option is out of range, if
/// nothing can draw, or if the output cannot be written.
pub fn explore_world(args: &ExploreArgs, voice: Reporter) -> Result<ExitCode> {
    let mut recipe = load_recipe(&args.recipe)?;
    recipe.cells = args.cells.unwrap_or(recipe.cells);
    recipe.seed = args.seed.unwrap_or(recipe.seed);
    let look = Appearance { ramp: recipe.ramp, ..Appearance::default() };
    let world = World::open(&recipe)?;
    let stand = choose_viewpoint(args, &world)?;
    let Some(path) = &args.output else {
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
    let [height, width] = args.size.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let picture = draw_world_picture(&world, stand, &look, [width, height])
        .map_err(|problem| Error::invalid_file(path, problem))?;
    save_picture(path, &picture)?;
    voice.report_files(std::slice::from_ref(path));
    Ok(ExitCode::SUCCESS)
}

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
