//! Commands that look at a terrain file, or put it into other cells.

use std::path::PathBuf;

use clap::Args;
use thalweg_core::{Cell, MapPoint};
use thalweg_export::survey::SurveyOptions;
use thalweg_flow::breach::BreachLimits;

use super::shared::{DrainageArgs, LoadArgs, VoiceArgs};
use super::values::{
    EdgeWord, Sample, Sides, area, bytes, cell, factor, map_point, named_file, pair, placed, seed, sides, threads,
    two_numbers, window,
};

/// `info`.
#[derive(Args)]
pub struct Info {
    /// A terrain file.
    pub file: PathBuf,
    #[command(flatten)]
    pub load: LoadArgs,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

/// `drain`.
#[derive(Args)]
pub struct Drain {
    /// The terrain file to read.
    pub input: PathBuf,
    /// The folder to write into.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    #[command(flatten)]
    pub drainage: DrainageArgs,
    /// Cut channels out of depressions at most so deep and so long, in metres, before the rest is filled.
    #[arg(long, value_name = "DEPTH,LENGTH", value_parser = two_numbers("DEPTH,LENGTH"))]
    pub breach: Option<[f64; 2]>,
    /// Water that runs off in a year, in millimetres: writes discharge, wetness, rivers with their widths, lakes.
    #[arg(long, value_name = "MM", value_parser = factor)]
    pub runoff: Option<f64>,
    /// Most memory that the process takes, such as 500M or 2G, where work goes by tiles [default: what is free].
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub memory: Option<u64>,
    /// Threads to work with [default: all cores]; the result does not depend on it.
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub voice: VoiceArgs,
    #[command(flatten)]
    pub load: LoadArgs,
}

impl Drain {
    /// As the library takes it, but for the outlets: those may be given in coordinates of the file.
    pub fn options(&self) -> SurveyOptions {
        let breach = self.breach.map(|[depth, length]| BreachLimits { depth, length });
        let DrainageArgs { threshold, depressions, .. } = self.drainage;
        let runoff = self.runoff;
        SurveyOptions { threshold, breach, runoff, depressions, ..SurveyOptions::default() }
    }
}

/// `rivers`.
#[derive(Args)]
pub struct Rivers {
    /// The terrain file to read.
    pub input: PathBuf,
    /// The folder to write into.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Catchment from which on there is a river, such as 250000, 250000m2 or 0.25km2 [default: 1km2; of small files a 250th, but at least 200 cells].
    #[arg(long, value_name = "AREA", value_parser = area)]
    pub catchment: Option<f64>,
    /// Set a parameter of the model river_network: NAME=VALUE.
    #[arg(long, value_name = "SET", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// A cell where water leaves, counted from 0 in the north-west; may be given again.
    #[arg(long, value_name = "ROW,COL", value_parser = cell)]
    pub mouth: Vec<Cell>,
    /// The same by coordinates of the file.
    #[arg(long, value_name = "X,Y", value_parser = map_point, allow_hyphen_values = true)]
    pub mouth_at: Vec<MapPoint>,
    /// A spring: its cell, and its water in m³/s.
    #[arg(long, value_name = "ROW,COL,RATE", value_parser = placed)]
    pub spring: Vec<(Cell, f64)>,
    /// A cell that a river passes through, and from how far in metres water is drawn to it.
    #[arg(long, value_name = "ROW,COL,REACH", value_parser = placed)]
    pub pass: Vec<(Cell, f64)>,
    /// An input layer: NAME=FILE, of rain, hardness, and protect (where rivers are not to go).
    #[arg(long, value_name = "LAYER", value_parser = named_file())]
    pub layer: Vec<(String, PathBuf)>,
    /// The seed of the rivers' bends.
    #[arg(long, value_name = "N", default_value = "1", value_parser = seed())]
    pub seed: u64,
    /// What happens at the four sides: closed ones let water out at mouths, into sea and nodata only.
    #[arg(long, default_value = "open")]
    pub edges: EdgeWord,
    /// Up to this height in metres there is sea.
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
    /// Threads to work with [default: all cores]; the result does not depend on it.
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub voice: VoiceArgs,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// `measure`.
#[derive(Args)]
pub struct Measure {
    /// The terrain to measure: a file, or a folder that `build` wrote, with its recipe's edges and sea.
    pub input: PathBuf,
    /// Measure another terrain too and set both side by side.
    #[arg(long, value_name = "FILE or FOLDER")]
    pub against: Option<PathBuf>,
    /// Draw a sheet of the main curves.
    #[arg(long, value_name = "SVG")]
    pub plot: Option<PathBuf>,
    /// Say under each measure what is usual in nature, and who found it.
    #[arg(long)]
    pub explain: bool,
    /// Catchment in km² from which on a cell is a channel [default: 0.1, but no less than 100 cells].
    #[arg(long, value_name = "KM2")]
    pub channel_area: Option<f64>,
    /// How far landforms look, in cells.
    #[arg(long, value_name = "CELLS", default_value = "20")]
    pub search: usize,
    /// Angle in degrees under which landforms take ground for level.
    #[arg(long, value_name = "DEGREES", default_value = "1")]
    pub flatness: f64,
    /// Below this height in metres there is sea.
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
    /// Threads to work with [default: all cores]; no figure depends on it.
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub load: LoadArgs,
    /// As JSON, with all curves.
    #[arg(long)]
    pub json: bool,
}

/// `resample`.
#[derive(Args)]
pub struct Resample {
    /// The terrain file to read.
    pub input: PathBuf,
    /// The file to write; its ending picks the format.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Columns and rows of the result; rows that are not given are so many that cells stay square.
    #[arg(long, value_name = "COLS[xROWS]", value_parser = sides)]
    pub cells: Sides,
    /// Take samples as classes: each new one is the nearest old one as it is. Whole numbers of 8 or of 32 bits without sign in a TIFF are
    /// taken so unless the file says that they are heights.
    #[arg(long)]
    pub classes: bool,
    /// How heights are stored, where the format leaves a choice.
    #[arg(long = "type", value_name = "TYPE")]
    pub sample: Option<Sample>,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// `crop`.
#[derive(Args)]
pub struct Crop {
    /// The terrain file to read.
    pub input: PathBuf,
    /// The file to write; its ending picks the format.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// First column and row, counted from 0, then columns and rows.
    #[arg(long, value_name = "COL,ROW,COLS,ROWS", value_parser = window)]
    pub window: [usize; 4],
    /// How heights are stored, where the format leaves a choice.
    #[arg(long = "type", value_name = "TYPE")]
    pub sample: Option<Sample>,
    #[command(flatten)]
    pub load: LoadArgs,
}
