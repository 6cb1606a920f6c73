//! The arguments of commands that examine a terrain file or change its cells.

use std::path::PathBuf;

use clap::Args;
use thalweg_core::{Cell, MapPoint};
use thalweg_export::survey::DrainOptions;
use thalweg_render::products::measure::MeasureOptions;

use super::declared::OperationArgs;
use super::shared::{LoadArgs, MapArgs};
use super::values::{
    CellCounts, EdgeWord, SampleWord, map_point, named_file, parse_area, parse_byte_count, parse_cell,
    parse_cell_counts, parse_cell_with_number, parse_name_and_value, parse_window, seed_parser,
};

/// `info`.
#[derive(Args)]
pub struct InfoArgs {
    /// The terrain file.
    pub file: PathBuf,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// `drain`.
#[derive(Args)]
pub struct DrainArgs {
    /// The terrain file to read.
    pub input: PathBuf,
    /// The folder to write into.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    #[command(flatten)]
    pub options: OperationArgs<DrainOptions>,
    #[command(flatten)]
    pub map: MapArgs,
    /// Maximum memory of the process, such as 500M or 2G. A GeoTIFF or Zarr array that needs more is processed by tiles
    /// [default: the free memory].
    #[arg(long, value_name = "BYTES", value_parser = parse_byte_count)]
    pub memory: Option<u64>,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// `rivers`.
#[derive(Args)]
pub struct RiversArgs {
    /// The terrain file to read.
    pub input: PathBuf,
    /// The folder to write into.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Smallest drainage area of a river in m², such as 250000, 250000m2 or 0.25km2 [default: 1km2; for small terrains,
    /// 1/250 of their area, but at least 200 cells].
    #[arg(long, value_name = "AREA", value_parser = parse_area)]
    pub catchment: Option<f64>,
    /// Sets a parameter of the model `river_network` (see `thalweg models river_network`): NAME=VALUE; may be repeated.
    #[arg(long, value_name = "SET", value_parser = parse_name_and_value)]
    pub set: Vec<(String, String)>,
    /// A cell where water leaves the map, counted from 0 in the north-west; may be repeated.
    #[arg(long, value_name = "ROW,COL", value_parser = parse_cell)]
    pub mouth: Vec<Cell>,
    /// A point where water leaves the map, in the coordinates of the file; may be repeated.
    #[arg(long, value_name = "X,Y", value_parser = map_point, allow_hyphen_values = true)]
    pub mouth_at: Vec<MapPoint>,
    /// A spring: its cell, and its discharge in m³/s; may be repeated.
    #[arg(long, value_name = "ROW,COL,RATE", value_parser = parse_cell_with_number)]
    pub spring: Vec<(Cell, f64)>,
    /// A cell that a river is made to pass through, and the distance in metres from which water is diverted to it; may
    /// be repeated.
    #[arg(long, value_name = "ROW,COL,REACH", value_parser = parse_cell_with_number)]
    pub pass: Vec<(Cell, f64)>,
    /// An input layer: NAME=FILE; may be repeated. NAME is `rain` (a factor on the runoff), `hardness` (of the rock) or
    /// `protect` (1 for ground that rivers avoid).
    #[arg(long, value_name = "LAYER", value_parser = named_file())]
    pub layer: Vec<(String, PathBuf)>,
    /// Seed of the random meanders of rivers.
    #[arg(long, value_name = "N", default_value = "1", value_parser = seed_parser())]
    pub seed: u64,
    /// Boundary condition of the four sides. If they are closed, water leaves only at mouths, into the sea and into
    /// no-data cells.
    #[arg(long, default_value = "open")]
    pub edges: EdgeWord,
    /// Sea level in metres; ground at or below it is sea [default: no sea].
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// `measure`.
#[derive(Args)]
pub struct MeasureArgs {
    /// The terrain to measure: a file, or a folder that `build` wrote, whose recipe specifies edges and sea level.
    pub input: PathBuf,
    /// A second terrain to measure; the measures of both are printed side by side.
    #[arg(long, value_name = "FILE or FOLDER")]
    pub against: Option<PathBuf>,
    /// Draws the main curves, such as the hypsometric curve, into this SVG file.
    #[arg(long, value_name = "SVG")]
    pub plot: Option<PathBuf>,
    /// Prints for each measure which values are usual in nature, and the source.
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub options: OperationArgs<MeasureOptions>,
    /// Sea level in metres; ground at or below it is sea and is not measured [default: that of the folder, otherwise no
    /// sea].
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// `resample`.
#[derive(Args)]
pub struct ResampleArgs {
    /// The terrain file to read.
    pub input: PathBuf,
    /// The file to write; its extension determines the format: .tif, .png, .npy, .asc, .exr, .r16 or .r32.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Numbers of columns and rows of the result; by default, the number of rows is chosen so that cells stay square.
    #[arg(long, value_name = "COLS[xROWS]", value_parser = parse_cell_counts)]
    pub cells: CellCounts,
    /// Treats samples as classes, which are not interpolated: each new sample is the nearest old one. Unsigned 8-bit or
    /// 32-bit integers in a TIFF are always treated so, unless the file specifies that they are heights.
    #[arg(long)]
    pub classes: bool,
    /// Number format of the heights [default: that of the file format].
    #[arg(long = "type", value_name = "TYPE")]
    pub sample: Option<SampleWord>,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// `crop`.
#[derive(Args)]
pub struct CropArgs {
    /// The terrain file to read.
    pub input: PathBuf,
    /// The file to write; its extension determines the format: .tif, .png, .npy, .asc, .exr, .r16 or .r32.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// First column and row, counted from 0 in the north-west, then the numbers of columns and rows.
    #[arg(long, value_name = "COL,ROW,COLS,ROWS", value_parser = parse_window)]
    pub window: [usize; 4],
    /// Number format of the heights [default: that of the file format].
    #[arg(long = "type", value_name = "TYPE")]
    pub sample: Option<SampleWord>,
    #[command(flatten)]
    pub load: LoadArgs,
}
