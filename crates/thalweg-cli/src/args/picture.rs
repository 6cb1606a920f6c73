//! The arguments of `picture`, in builds with the studio.

use std::path::PathBuf;

use clap::builder::{PossibleValue, RangedU64ValueParser};
use clap::{Args, ValueEnum};
use thalweg_studio::picture::ViewDirection;

use super::shared::LoadArgs;
use super::values::{parse_picture_size, seed_parser, two_numbers};

/// `picture`.
#[derive(Args)]
pub struct PictureArgs {
    /// The terrain file to read, a folder that `build` wrote, or a preset or recipe, which is built first.
    pub input: PathBuf,
    /// The PNG file to write.
    #[arg(short, long, value_name = "PNG")]
    pub output: PathBuf,
    /// Direction from which the terrain is seen.
    #[arg(long, value_name = "VIEW", default_value = "iso")]
    pub view: ViewWord,
    /// Width and height in pixels.
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = parse_picture_size, default_value = "1280x800")]
    pub size: [usize; 2],
    /// Azimuth of the camera as seen from the terrain, in degrees clockwise from north [default: that of the view].
    #[arg(long, value_name = "DEGREES", allow_negative_numbers = true)]
    pub azimuth: Option<f32>,
    /// Elevation angle of the camera in degrees above the horizon [default: that of the view].
    #[arg(long, value_name = "DEGREES")]
    pub elevation: Option<f32>,
    /// Zoom factor; with 1, the whole terrain fits into the picture.
    #[arg(long, value_name = "X", default_value = "1")]
    pub zoom: f32,
    /// Azimuth (clockwise from north) and altitude of the sun in degrees.
    #[arg(long, value_name = "AZIMUTH,ALTITUDE", value_parser = two_numbers("AZIMUTH,ALTITUDE"), default_value = "315,45", allow_hyphen_values = true)]
    pub sun: [f64; 2],
    /// Factor on heights, which exaggerates the relief; 1 is true to scale [default: chosen from the terrain].
    #[arg(long, value_name = "X")]
    pub exaggeration: Option<f32>,
    /// Data to draw over the terrain, such as height, slope, drainage_area or basins, or the name of a layer; the error
    /// for an unknown name lists all.
    #[arg(long, value_name = "NAME")]
    pub overlay: Option<String>,
    /// Draws the terrain in the natural colours of its ground cover, such as rock, grass and snow.
    #[arg(long, conflicts_with = "overlay")]
    pub natural: bool,
    /// The terrain before erosion, for overlays that show changes, such as difference.
    #[arg(long, value_name = "FILE")]
    pub start: Option<PathBuf>,
    /// Draws snow above this elevation in metres.
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub snow_line: Option<f32>,
    /// Sea level in metres; ground at or below it is drawn as sea [default: that of the folder or recipe].
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
    /// Draws no water: no sea, lakes or streams.
    #[arg(long)]
    pub no_water: bool,
    /// Draws no trees.
    #[arg(long)]
    pub no_trees: bool,
    /// Number of cells on the long side, for a preset or recipe [default: the recipe's].
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 20))]
    pub cells: Option<usize>,
    /// Seed of the world, for a preset or recipe [default: the recipe's].
    #[arg(long, value_name = "N", value_parser = seed_parser())]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// The name of a view.
#[derive(Clone, Copy)]
pub struct ViewWord(pub ViewDirection);

impl ValueEnum for ViewWord {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [ViewWord; ViewDirection::ALL.len()] = {
            let mut all = [ViewWord(ViewDirection::Iso); ViewDirection::ALL.len()];
            let mut k = 0;
            while k < all.len() {
                all[k] = ViewWord(ViewDirection::ALL[k]);
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
