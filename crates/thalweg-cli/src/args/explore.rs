//! `explore`, in builds with the studio.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use thalweg_core::Point;

use super::values::{pixels, point, recipes, seed};

/// `explore`.
#[derive(Args)]
pub struct Explore {
    /// A preset's name, or a recipe's file.
    #[arg(value_parser = recipes(), hide_possible_values = true)]
    pub recipe: OsString,
    /// Draw into this PNG, without a window.
    #[arg(short, long, value_name = "PNG")]
    pub output: Option<PathBuf>,
    /// Cells on the long side of level 0, which is solved whole [default: the recipe's].
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 20))]
    pub cells: Option<usize>,
    /// The seed.
    #[arg(long, value_name = "N", value_parser = seed())]
    pub seed: Option<u64>,
    /// The place looked at, in world metres east and south [default: the middle].
    #[arg(long, value_name = "X,Y", value_parser = point, allow_hyphen_values = true)]
    pub at: Option<Point>,
    /// How far away from it the eye is, in metres [default: the whole world is seen].
    #[arg(long, value_name = "M")]
    pub distance: Option<f32>,
    /// Where the eye stands, degrees clockwise from north.
    #[arg(long, value_name = "DEGREES", default_value = "205", allow_negative_numbers = true)]
    pub azimuth: f32,
    /// Degrees above the horizon that it stands.
    #[arg(long, value_name = "DEGREES", default_value = "34")]
    pub elevation: f32,
    /// Width and height of the PNG in pixels.
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = pixels, default_value = "1280x800")]
    pub size: [usize; 2],
}
