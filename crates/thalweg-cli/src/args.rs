//! What can be typed. Models and their parameters are not listed here: they come from their declarations.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, PossibleValue, RangedU64ValueParser, TypedValueParser};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use thalweg::base::names;
use thalweg::flow::breach::Limits;
use thalweg::io::Unit;
use thalweg::io::terrain::LoadOptions;
use thalweg::models;
use thalweg::pictures::ramps::RAMPS;
use thalweg::survey::SurveyOptions;
use thalweg::terrain::grid::{Edge, Edges};

use crate::knobs::KnobArgs;

/// Makes terrain, erodes it, and writes it for game engines and GIS.
#[derive(Parser)]
#[command(name = "thalweg", version, max_term_width = 120, subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Build a world from a preset or a recipe into a folder.
    Build(Build),
    /// Build variations of a recipe, and draw them on one sheet: seeds, knobs, parameters.
    Vary(crate::vary::Vary),
    /// Open the studio: a window in which the land erodes.
    Studio(Studio),
    /// Make ground with one base model.
    Generate(Generate),
    /// Run one model over an elevation model.
    Apply(Apply),
    /// Go on with a run from its checkpoint.
    Resume(Resume),
    /// List the models, or show one model's whole page.
    Models {
        /// A model's name.
        name: Option<String>,
    },
    /// List the presets that `build` knows.
    Presets,
    /// List the rocks that --rock knows, with their figures.
    Rocks,
    /// Print the JSON Schema of recipes, for editors.
    Schema,
    /// Say what is in a terrain file.
    Info(Info),
    /// Work out where water goes: directions, catchments, basins, lakes, streams, for GIS.
    Drain(Drain),
    /// Put rivers and lakes into a terrain: lines, rasters, meshes and the corrected ground.
    Rivers(Rivers),
    /// Check what `rivers` wrote.
    CheckRivers {
        /// The folder that it wrote into.
        folder: PathBuf,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Measure a terrain's slopes, drainage and channels, and say what is usual in nature.
    Measure(Measure),
    /// Draw a shaded map.
    Shade(Shade),
    /// Draw a terrain in perspective.
    View(View),
    /// Draw terrains side by side: two in perspective, or a sheet of several.
    Compare(Compare),
    /// Draw a terrain as the studio shows it.
    #[cfg(feature = "studio")]
    Picture(crate::picture::Picture),
    /// Write a mesh with normals and tangents.
    Mesh(Mesh),
    /// Write a normal map, or a bump map.
    Normals(Normals),
    /// Change the number of cells over the same extent.
    Resample(Resample),
    /// Cut out a window of cells.
    Crop(Crop),
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the man page, or that of one command.
    Man {
        /// A command's name.
        command: Option<String>,
    },
}

/// `build`.
#[derive(Args)]
pub struct Build {
    /// A preset's name (see `thalweg presets`) or a recipe file.
    #[arg(default_value = "alpine")]
    pub recipe: OsString,
    /// Cells on the long side; more make the same world finer. An elevation model is brought to so many.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 20))]
    pub cells: Option<usize>,
    /// Begin with this elevation model, in a recipe that begins with one (see the preset `aged`).
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Take that elevation model, or the recipe's own, in this unit, whatever it says; degrees stay refused.
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<UnitWord>,
    /// Build the first levels only, up to the first with more than 256 cells on the long side: the same land, coarser.
    #[arg(long)]
    pub preview: bool,
    /// The world's seed.
    #[arg(long, value_name = "N", value_parser = seed())]
    pub seed: Option<u64>,
    /// The folder to write into [default: worlds/NAME-SEED; of a preview NAME-SEED-preview; with knobs, --set, --from or --until
    /// NAME-SEED- and six digits of what the world is made from].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Leave out the stages after this one.
    #[arg(long, value_name = "LABEL")]
    pub until: Option<String>,
    /// Set a parameter of a stage: LABEL.PARAMETER=VALUE.
    #[arg(long, value_name = "SET", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// How height.tif and the layers are stored: f64 is exact.
    #[arg(long = "type", value_name = "TYPE")]
    pub sample: Option<Sample>,
    #[command(flatten)]
    pub knobs: KnobArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// `studio`.
#[derive(Args)]
pub struct Studio {
    /// A preset's name (see `thalweg presets`), a recipe file, or an elevation model.
    #[arg(value_name = "RECIPE|FILE", default_value = "alpine")]
    pub recipe: OsString,
    /// Cells on the long side [default: the recipe's, for presets at most 512].
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 20))]
    pub cells: Option<usize>,
    /// The world's seed.
    #[arg(long, value_name = "N", value_parser = seed())]
    pub seed: Option<u64>,
    /// Open without beginning to erode.
    #[arg(long)]
    pub paused: bool,
    /// The folder in which pictures are saved [default: the current one].
    #[arg(long, value_name = "DIR")]
    pub pictures: Option<PathBuf>,
}

/// `generate`.
#[derive(Args)]
pub struct Generate {
    #[command(flatten)]
    pub model: ModelArgs,
    /// Columns and rows of the terrain; one number makes a square.
    #[arg(long, value_name = "COLS[xROWS]", value_parser = sides)]
    pub cells: Sides,
    /// Side of a cell in metres.
    #[arg(long, value_name = "M")]
    pub cell_size: f64,
    #[command(flatten)]
    pub run: RunArgs,
}

/// `apply`.
#[derive(Args)]
pub struct Apply {
    #[command(flatten)]
    pub model: ModelArgs,
    /// The elevation model to work on.
    #[arg(index = 2)]
    pub input: PathBuf,
    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// A model with its parameters and layers, and where the result goes; `generate` and `apply` share it.
#[derive(Args)]
pub struct ModelArgs {
    /// The model (see `thalweg models`).
    #[arg(index = 1)]
    pub model: String,
    /// The file to write; its ending picks the format.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Set a parameter: NAME=VALUE.
    #[arg(long, value_name = "SET", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// The seed of its random numbers.
    #[arg(long, value_name = "N", default_value = "1", value_parser = seed())]
    pub seed: u64,
    /// An input layer: NAME=FILE, such as a mask.
    #[arg(long, value_name = "LAYER", value_parser = named_file())]
    pub layer: Vec<(String, PathBuf)>,
    /// Write all other layers into this folder.
    #[arg(long, value_name = "DIR")]
    pub layers: Option<PathBuf>,
    /// How heights and layers are stored, where the format leaves a choice: f64 is exact.
    #[arg(long = "type", value_name = "TYPE")]
    pub sample: Option<Sample>,
    /// What happens at the four sides.
    #[arg(long, default_value = "open")]
    pub edges: EdgeWord,
    /// Below this height in metres there is sea.
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
}

/// `resume`.
#[derive(Args)]
pub struct Resume {
    /// The checkpoint that an earlier run wrote.
    pub checkpoint: PathBuf,
    /// Threads to work with [default: all cores].
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub voice: VoiceArgs,
}

/// Options of whatever takes long.
#[derive(Args)]
pub struct RunArgs {
    /// Threads to work with [default: all cores]; the result does not depend on it.
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    /// Where the run is saved, every so often and on Ctrl-C.
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Begin anew where an interrupted run has left its checkpoint, which is given up.
    #[arg(long)]
    pub fresh: bool,
    /// Seconds between two checkpoints [default: 300, when there is a --checkpoint].
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub every: Option<f64>,
    /// Write a report of what was done, as JSON.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub frames: FramesArgs,
    #[command(flatten)]
    pub voice: VoiceArgs,
}

/// Pictures of a run under way.
#[derive(Args)]
pub struct FramesArgs {
    /// Draw shaded maps with their water into this folder as the run goes: frame_00001.png and so on.
    #[arg(long, value_name = "DIR")]
    pub frames: Option<PathBuf>,
    /// Steps between two frames.
    #[arg(long, value_name = "K", requires = "frames", default_value = "10", value_parser = clap::value_parser!(u32).range(1..))]
    pub frames_every: u32,
    /// Draw this stage alone.
    #[arg(long, value_name = "LABEL", requires = "frames")]
    pub frames_of: Option<String>,
    /// Longer side of a frame in pixels at most.
    #[arg(long, value_name = "PIXELS", requires = "frames", default_value = "640", value_parser = RangedU64ValueParser::<usize>::new().range(16..=8192))]
    pub frames_size: usize,
    /// Make an animated PNG of the frames when the run is done.
    #[arg(long, value_name = "PNG", requires = "frames")]
    pub animation: Option<PathBuf>,
}

/// How much is said, and how.
#[derive(Args, Clone, Copy)]
pub struct VoiceArgs {
    /// No progress and no summary; warnings and errors stay.
    #[arg(short, long)]
    pub quiet: bool,
    /// Progress, warnings, errors and the result as lines of JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// How a terrain file is to be understood.
#[derive(Args)]
pub struct LoadArgs {
    /// Metres of the lowest and the highest sample of a file without a unit.
    #[arg(long, value_name = "MIN,MAX", value_parser = two_numbers("MIN,MAX"), allow_hyphen_values = true)]
    pub height: Option<[f64; 2]>,
    /// Side of a cell in metres, where the file does not say.
    #[arg(long, value_name = "M")]
    pub cell_size: Option<f64>,
    /// Smooth the terraces of 8-bit heights away.
    #[arg(long)]
    pub deterrace: bool,
    /// Take coordinates and heights in this unit, whatever the file says; degrees stay refused.
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<UnitWord>,
    /// Take infinite samples as nodata instead of refusing them.
    #[arg(long)]
    pub infinite_is_nodata: bool,
}

impl LoadArgs {
    /// As the library takes it.
    pub fn options(&self) -> LoadOptions {
        LoadOptions {
            height: self.height,
            cell_size: self.cell_size,
            infinite_is_nodata: self.infinite_is_nodata,
            deterrace: self.deterrace,
            unit: self.unit.map(UnitWord::unit),
        }
    }
}

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
    /// Catchment from which on there is a stream, such as 250000, 250000m2 or 0.25km2 [default: 0.5km2, but at least 100
    /// cells].
    #[arg(long, value_name = "AREA", value_parser = area)]
    pub threshold: Option<f64>,
    /// A cell where water leaves, counted from 0 in the north-west; may be given again.
    #[arg(long, value_name = "ROW,COL", value_parser = cell)]
    pub outlet: Vec<[usize; 2]>,
    /// The same by coordinates of the file.
    #[arg(long, value_name = "X,Y", value_parser = two_numbers("X,Y"), allow_hyphen_values = true)]
    pub outlet_at: Vec<[f64; 2]>,
    /// Cut channels out of depressions at most so deep and so long, in metres, before the rest is filled.
    #[arg(long, value_name = "DEPTH,LENGTH", value_parser = two_numbers("DEPTH,LENGTH"))]
    pub breach: Option<[f64; 2]>,
    /// What happens at the four sides: closed ones let water out at outlets, into sea and nodata only.
    #[arg(long, default_value = "open")]
    pub edges: EdgeWord,
    /// Water that runs off in a year, in millimetres: writes discharge, wetness, rivers with their widths, lakes.
    #[arg(long, value_name = "MM", value_parser = factor)]
    pub runoff: Option<f64>,
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

impl Drain {
    /// As the library takes it, but for the outlets: those may be given in coordinates of the file.
    pub fn options(&self) -> SurveyOptions {
        let breach = self.breach.map(|[depth, length]| Limits { depth, length });
        SurveyOptions { threshold: self.threshold, breach, runoff: self.runoff, ..SurveyOptions::default() }
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
    pub mouth: Vec<[usize; 2]>,
    /// The same by coordinates of the file.
    #[arg(long, value_name = "X,Y", value_parser = two_numbers("X,Y"), allow_hyphen_values = true)]
    pub mouth_at: Vec<[f64; 2]>,
    /// A spring: its cell, and its water in m³/s.
    #[arg(long, value_name = "ROW,COL,RATE", value_parser = placed)]
    pub spring: Vec<([usize; 2], f64)>,
    /// A cell that a river passes through, and from how far in metres water is drawn to it.
    #[arg(long, value_name = "ROW,COL,REACH", value_parser = placed)]
    pub pass: Vec<([usize; 2], f64)>,
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

/// `shade`.
#[derive(Args)]
pub struct Shade {
    /// The terrain file to read, or a folder that `build` or `drain` wrote: its water is drawn too.
    pub input: PathBuf,
    /// The PNG to write.
    #[arg(short, long, value_name = "PNG")]
    pub output: PathBuf,
    /// Draw a layer of the folder over grey relief instead: its name, or `momentum` or `wetness`.
    #[arg(long, value_name = "NAME")]
    pub layer: Option<String>,
    #[command(flatten)]
    pub water: WaterArgs,
    /// Trees to draw: a table that `build` or `apply trees` wrote; of a folder, its own where none is given.
    #[arg(long, value_name = "CSV")]
    pub trees: Option<PathBuf>,
    /// Draw sea up to this height in metres.
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
    /// Draw a scale bar.
    #[arg(long)]
    pub scale: bool,
    /// Draw a legend of heights.
    #[arg(long)]
    pub legend: bool,
    /// Longer side of the map in pixels at most [default: a pixel a cell].
    #[arg(long, value_name = "PIXELS", value_parser = RangedU64ValueParser::<usize>::new().range(1..=65535))]
    pub max_size: Option<usize>,
    #[command(flatten)]
    pub look: LookArgs,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// `view`.
#[derive(Args)]
pub struct View {
    /// The terrain file to read, or a folder that `build` or `drain` wrote: its water is drawn too.
    pub input: PathBuf,
    /// The PNG to write.
    #[arg(short, long, value_name = "PNG")]
    pub output: PathBuf,
    #[command(flatten)]
    pub water: WaterArgs,
    /// Trees to draw: a table that `build` or `apply trees` wrote; of a folder, its own where none is given.
    #[arg(long, value_name = "CSV")]
    pub trees: Option<PathBuf>,
    #[command(flatten)]
    pub camera: CameraArgs,
    #[command(flatten)]
    pub look: LookArgs,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// `compare`.
#[derive(Args)]
pub struct Compare {
    /// Two terrains or more, files or folders that `build` wrote, from the left; two are of one size.
    #[arg(required = true, num_args = 2..)]
    pub inputs: Vec<PathBuf>,
    /// Draw a sheet, maps above views, each under its caption; more than two always are.
    #[arg(long)]
    pub sheet: bool,
    /// A terrain's caption on a sheet, once for each [default: its folder's or file's name].
    #[arg(long, value_name = "TEXT")]
    pub caption: Vec<String>,
    #[command(flatten)]
    pub water: WaterArgs,
    /// The PNG to write.
    #[arg(short, long, value_name = "PNG")]
    pub output: PathBuf,
    #[command(flatten)]
    pub camera: CameraArgs,
    #[command(flatten)]
    pub look: LookArgs,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// Water over a terrain; over the last where there are several.
#[derive(Args)]
pub struct WaterArgs {
    /// Depth of flowing water in metres, a layer of the same size.
    #[arg(long, value_name = "FILE")]
    pub water: Option<PathBuf>,
    /// Depth of standing water in metres, a layer of the same size.
    #[arg(long, value_name = "FILE")]
    pub pools: Option<PathBuf>,
    /// Discharge in m³/s, a layer of the same size: draws streams.
    #[arg(long, value_name = "FILE")]
    pub streams: Option<PathBuf>,
    /// Discharges in m³/s at which streams begin to show and are opaque [default: chosen by the map].
    #[arg(long, value_name = "LOW,HIGH", value_parser = two_numbers("LOW,HIGH"))]
    pub stream_range: Option<[f64; 2]>,
    /// Draw streams from this discharge in m³/s on, all alike.
    #[arg(long, value_name = "Q", conflicts_with = "stream_range")]
    pub stream_threshold: Option<f64>,
}

/// Where a perspective view is seen from.
#[derive(Args)]
pub struct CameraArgs {
    /// Width and height of a view in pixels.
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = pixels, default_value = "1080x720")]
    pub size: [usize; 2],
    /// Where the camera stands: azimuth (clockwise from north) and degrees above the horizon.
    #[arg(long, value_name = "AZIMUTH,ELEVATION", value_parser = two_numbers("AZIMUTH,ELEVATION"), default_value = "205,34", allow_hyphen_values = true)]
    pub from: [f64; 2],
    /// How near it looks: 1 frames the whole block.
    #[arg(long, value_name = "X", default_value = "1")]
    pub zoom: f64,
    /// Draw sea up to this height in metres.
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
    /// A line above the picture.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

/// Colour and light.
#[derive(Args)]
pub struct LookArgs {
    /// Colours of the ground by height.
    #[arg(long, value_name = "NAME", value_parser = ramps())]
    pub ramp: Option<String>,
    /// The sun's azimuth (clockwise from north) and altitude in degrees.
    #[arg(long, value_name = "AZIMUTH,ALTITUDE", value_parser = two_numbers("AZIMUTH,ALTITUDE"), default_value = "315,45", allow_hyphen_values = true)]
    pub sun: [f64; 2],
    /// Factor on heights [default: chosen so that the relief reads well].
    #[arg(long, value_name = "X")]
    pub exaggeration: Option<f64>,
}

/// `mesh`.
#[derive(Args)]
pub struct Mesh {
    /// The terrain file to read.
    pub input: PathBuf,
    /// The file to write: .glb, .obj or .stl.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Scale heights so that the highest ground stands at so many metres.
    #[arg(long, value_name = "M")]
    pub max_height: Option<f64>,
    /// Put the shaded map on the mesh (.glb).
    #[arg(long)]
    pub texture: bool,
    /// Trees to stand on the mesh (.glb): a table that `build` or `apply trees` wrote.
    #[arg(long, value_name = "CSV")]
    pub trees: Option<PathBuf>,
    /// Most trees in the file; of more, so many are taken evenly.
    #[arg(long, value_name = "N", requires = "trees", default_value = "20000", value_parser = RangedU64ValueParser::<usize>::new().range(1..=200_000))]
    pub max_trees: usize,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// `normals`.
#[derive(Args)]
pub struct Normals {
    /// The terrain file to read.
    pub input: PathBuf,
    /// The PNG to write.
    #[arg(short, long, value_name = "PNG")]
    pub output: PathBuf,
    /// Write a bump map (grey heights) instead.
    #[arg(long)]
    pub bump: bool,
    /// 16 bits to a channel instead of 8.
    #[arg(long)]
    pub sixteen: bool,
    /// Green points down (DirectX, Unreal) instead of up (OpenGL, glTF, Blender, Unity, Godot).
    #[arg(long)]
    pub directx: bool,
    /// Factor on heights for the normals.
    #[arg(long, value_name = "X", default_value = "1", value_parser = factor)]
    pub scale: f64,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// Columns, and rows if they were given.
#[derive(Debug, Clone, Copy)]
pub struct Sides {
    /// Columns, 1 or more.
    pub cols: usize,
    /// Rows, 1 or more.
    pub rows: Option<usize>,
}

/// Type of written samples.
#[derive(Clone, Copy, ValueEnum)]
pub enum Sample {
    /// 32-bit floats: to a millimetre or better.
    F32,
    /// 64-bit floats: exact.
    F64,
}

/// A unit that a file is taken in.
#[derive(Clone, Copy, ValueEnum)]
pub enum UnitWord {
    /// Metres.
    Metre,
}

impl UnitWord {
    /// As the library takes it.
    pub fn unit(self) -> Unit {
        match self {
            Self::Metre => Unit::Metre,
        }
    }
}

/// What happens at the sides of the terrain.
#[derive(Clone, Copy, ValueEnum)]
pub enum EdgeWord {
    /// Water and sediment leave.
    Open,
    /// A wall keeps everything inside.
    Closed,
}

impl EdgeWord {
    /// All four sides alike.
    pub fn edges(self) -> Edges {
        match self {
            Self::Open => [Edge::Open; 4],
            Self::Closed => [Edge::Closed; 4],
        }
    }
}

/// What was typed. A wrong use, and a call for help, end the process here.
pub fn parse() -> Cli {
    let typed: Vec<OsString> = std::env::args_os().collect();
    let matches = command(&typed).try_get_matches_from(&typed);
    matches.and_then(|matches| Cli::from_arg_matches(&matches)).unwrap_or_else(|error| refused(&error, &typed))
}

/// Ends the process with a wrong use's message, or the help that was called for. Words that a terminal would obey are repeated
/// as they are written, not as they act.
fn refused(error: &clap::Error, typed: &[OsString]) -> ! {
    let is_harmless = |word: &OsString| word.to_str().is_some_and(|word| names::line(word) == word);
    if typed.iter().all(is_harmless) {
        error.exit();
    }
    let text = error.render().to_string();
    crate::console::eprint(&names::lines(&text));
    std::process::exit(error.exit_code())
}

/// The whole command. The help of `apply` and `generate` names the models, or, where a model was `typed` already,
/// shows that model's page.
pub fn command(typed: &[OsString]) -> clap::Command {
    let named = typed.iter().skip(2).find_map(|word| models::find(word.to_str()?).ok());
    let after = match named {
        Some(model) => thalweg::model::page::parameters(&*model),
        None => {
            let list: Vec<String> =
                models::all().map(|model| format!("  {:<20} {}", model.about().name, model.about().summary)).collect();
            format!("Models:\n{}\n\n`thalweg models NAME` shows a model's page and parameters.", list.join("\n"))
        }
    };
    let model_help = |command: clap::Command| command.after_help(after.clone());
    Cli::command().mut_subcommand("apply", model_help).mut_subcommand("generate", model_help)
}

/// Recipes hold seeds as TOML integers, which end at 2⁶³ − 1.
pub(crate) fn seed() -> RangedU64ValueParser<u64> {
    RangedU64ValueParser::new().range(0..=i64::MAX as u64)
}

pub(crate) fn threads() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=MOST_THREADS as u64)
}

/// Most threads.
pub const MOST_THREADS: usize = 1024;

fn ramps() -> clap::builder::PossibleValuesParser {
    RAMPS.iter().map(|ramp| PossibleValue::new(ramp.name).help(ramp.about)).collect::<Vec<_>>().into()
}

fn seconds(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|s| (0.0..=1e9).contains(s)).ok_or_else(|| "allowed is 0 to 1000000000 seconds".into())
}

fn factor(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|x| (1e-6..=1e6).contains(x)).ok_or_else(|| "allowed is 0.000001 to 1000000".into())
}

fn area(text: &str) -> Result<f64, String> {
    let (number, factor) = match (text.strip_suffix("km2"), text.strip_suffix("m2")) {
        (Some(number), _) => (number, 1e6),
        (None, Some(number)) => (number, 1.0),
        (None, None) => (text, 1.0),
    };
    let area = number.trim().parse::<f64>().ok().map(|number| number * factor);
    area.filter(|m2| (0.0..=1e15).contains(m2))
        .ok_or_else(|| "allowed is an area of 0 to 1e15 m2, such as 0.5km2".into())
}

fn cell(text: &str) -> Result<[usize; 2], String> {
    let numbers: Option<Vec<usize>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
    let numbers = numbers.and_then(|n| <[usize; 2]>::try_from(n).ok());
    numbers.ok_or_else(|| "allowed is ROW,COL, two whole numbers from 0".into())
}

fn placed(text: &str) -> Result<([usize; 2], f64), String> {
    let wrong = || "allowed is ROW,COL,NUMBER, with whole ROW and COL from 0".to_string();
    let (place, number) = text.rsplit_once(',').ok_or_else(wrong)?;
    let number = number.trim().parse().ok().filter(|x: &f64| x.is_finite()).ok_or_else(wrong)?;
    Ok((cell(place).map_err(|_| wrong())?, number))
}

pub(crate) fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("allowed is NAME=VALUE")?;
    Ok((name.trim().to_string(), value.trim().to_string()))
}

/// NAME=FILE, a file of any name.
fn named_file() -> impl TypedValueParser<Value = (String, PathBuf)> {
    OsStringValueParser::new().try_map(|text| {
        let bytes = text.as_encoded_bytes();
        let at = bytes.iter().position(|byte| *byte == b'=').ok_or("allowed is NAME=FILE")?;
        let name = std::str::from_utf8(&bytes[..at]).map_err(|_| "allowed is NAME=FILE")?.trim().to_string();
        // Blanks about a name that is text are cut off, as in other pairs.
        let file = text.to_str().map(|text| PathBuf::from(text[at + 1..].trim()));
        Ok::<_, &str>((name, file.unwrap_or_else(|| behind(&text, at + 1))))
    })
}

/// What stands from a byte on.
fn behind(text: &OsStr, at: usize) -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        PathBuf::from(OsStr::from_bytes(&text.as_bytes()[at..]))
    }
    #[cfg(not(unix))]
    PathBuf::from(text.to_string_lossy().chars().skip(at).collect::<String>())
}

fn sides(text: &str) -> Result<Sides, String> {
    let number = |text: &str| text.trim().parse().ok().filter(|n| *n > 0);
    let sides = match text.split_once(['x', 'X']) {
        None => number(text).map(|cols| Sides { cols, rows: None }),
        Some((cols, rows)) => number(cols).zip(number(rows)).map(|(cols, rows)| Sides { cols, rows: Some(rows) }),
    };
    sides.ok_or_else(|| "allowed is COLSxROWS or COLS, whole numbers from 1".into())
}

pub(crate) fn pixels(text: &str) -> Result<[usize; 2], String> {
    let Sides { cols, rows } = sides(text)?;
    rows.map(|rows| [rows, cols]).ok_or_else(|| "allowed is WIDTHxHEIGHT in pixels".into())
}

/// Two numbers with a comma between them; `names` says which.
pub(crate) fn two_numbers(names: &'static str) -> impl Fn(&str) -> Result<[f64; 2], String> + Clone + Send + Sync {
    move |text| {
        let numbers: Option<Vec<f64>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
        let numbers = numbers.and_then(|n| <[f64; 2]>::try_from(n).ok());
        numbers.filter(|n| n.iter().all(|x| x.is_finite())).ok_or_else(|| format!("allowed is {names}, two numbers"))
    }
}

fn window(text: &str) -> Result<[usize; 4], String> {
    let numbers: Option<Vec<usize>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
    let numbers = numbers.and_then(|n| <[usize; 4]>::try_from(n).ok());
    numbers.ok_or_else(|| "allowed is COL,ROW,COLS,ROWS, four whole numbers".into())
}
