//! The arguments of `explore`, in builds with the studio.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use thalweg_core::Point;

use super::values::{parse_picture_size, parse_point, recipe_parser, seed_parser};

/// `explore`.
#[derive(Args)]
pub struct ExploreArgs {
    /// The name of a preset (see `thalweg presets`) or a recipe file.
    #[arg(value_parser = recipe_parser(), hide_possible_values = true)]
    pub recipe: OsString,
    /// Draws the view into this PNG file instead of opening a window.
    #[arg(short, long, value_name = "PNG")]
    pub output: Option<PathBuf>,
    /// Number of cells on the long side of level 0, the coarsest [default: the recipe's].
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 20))]
    pub cells: Option<usize>,
    /// Seed of the world [default: the recipe's].
    #[arg(long, value_name = "N", value_parser = seed_parser())]
    pub seed: Option<u64>,
    /// The point at which the camera looks, in metres east and south of the world's origin [default: the middle of the
    /// world].
    #[arg(long, value_name = "X,Y", value_parser = parse_point, allow_hyphen_values = true)]
    pub at: Option<Point>,
    /// Distance of the camera from that point in metres [default: so far that the whole world is visible].
    #[arg(long, value_name = "M")]
    pub distance: Option<f32>,
    /// Azimuth of the camera as seen from that point, in degrees clockwise from north, -360 to 360.
    #[arg(long, value_name = "DEGREES", default_value = "205", allow_negative_numbers = true)]
    pub azimuth: f32,
    /// Elevation angle of the camera in degrees above the horizon.
    #[arg(long, value_name = "DEGREES", default_value = "34")]
    pub elevation: f32,
    /// Width and height of the PNG in pixels.
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = parse_picture_size, default_value = "1280x800")]
    pub size: [usize; 2],
}
