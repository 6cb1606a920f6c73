//! `explore`: shows a world from any distance, in a window or as a picture.

use std::process::ExitCode;

use thalweg_core::base::range::check_range;
use thalweg_core::{Error, Result};
use thalweg_io::apart::apart;
use thalweg_io::{output, save_picture};
use thalweg_sim::world::World;
use thalweg_studio::explore::stand::Stand;
use thalweg_studio::explore::still;
use thalweg_studio::view::look::Look;

use crate::args::explore::Explore;
use crate::console::Voice;
use crate::recipes::named;

/// The allowed distances of the eye in metres.
const DISTANCES: [f32; 2] = [1.0, 1e7];

/// Opens the window and returns when it is closed; or draws the view of the window.
///
/// # Errors
/// Returns an error if there is no such recipe, if the place is outside the world, if an option is out of range, if
/// nothing can draw, or if the output cannot be written.
pub fn explore(args: &Explore, voice: Voice) -> Result<ExitCode> {
    let mut recipe = named(&args.recipe)?;
    recipe.cells = args.cells.unwrap_or(recipe.cells);
    recipe.seed = args.seed.unwrap_or(recipe.seed);
    let look = Look { ramp: recipe.ramp, ..Look::default() };
    let world = World::open(&recipe)?;
    let stand = stand(args, &world)?;
    let Some(path) = &args.output else {
        return Ok(match thalweg_studio::explore(world, stand, look) {
            Ok(()) => ExitCode::SUCCESS,
            Err(problem) => {
                voice.problem(&problem);
                ExitCode::FAILURE
            }
        });
    };
    output::check_ending(path, &["png"])?;
    apart(&recipe.reads(), std::slice::from_ref(path))?;
    let [height, width] = args.size.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let picture = still(&world, stand, &look, [width, height]).map_err(|problem| Error::file(path, problem))?;
    save_picture(path, &picture)?;
    voice.wrote(std::slice::from_ref(path));
    Ok(ExitCode::SUCCESS)
}

/// Returns the viewpoint.
fn stand(args: &Explore, world: &World) -> Result<Stand> {
    let mut stand = Stand::whole(world.frame());
    if let Some(place) = args.at {
        world.cell_at(0, place.x, place.y)?;
        stand.place = place;
    }
    (stand.camera.azimuth, stand.camera.elevation) = (args.azimuth, args.elevation);
    stand.camera.distance = args.distance.unwrap_or(stand.camera.distance);
    let [low, high] = DISTANCES;
    check_range("distance", stand.camera.distance, low..=high)?;
    check_range("azimuth", args.azimuth, -360.0..=360.0)?;
    check_range("elevation of the eye", args.elevation, 1.0..=90.0)?;
    Ok(stand)
}
