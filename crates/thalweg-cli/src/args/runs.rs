//! The arguments of commands that run models.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use thalweg_core::{MapPoint, Result};
use thalweg_export::world_folder::{Ending, FramesOptions, StateInterval, States};
use thalweg_render::pictures::look::LookOptions;
use thalweg_sim::recipe::Recipe;

use super::declared::OperationArgs;
use super::export::target_parser;
use super::knobs::KnobArgs;
use super::shared::LoadArgs;
use super::values::{
    CellCounts, EdgeWord, SampleWord, UnitWord, four_numbers, map_point, model_parser, named_file, parse_byte_count,
    parse_cell_counts, parse_name_and_value, parse_seconds, recipe_parser, seed_parser,
};

/// `build`.
#[derive(Args)]
pub struct BuildArgs {
    /// The name of a preset (see `thalweg presets`) or a recipe file.
    #[arg(default_value = "alpine", value_parser = recipe_parser(), hide_possible_values = true)]
    pub recipe: OsString,
    /// Number of cells on the long side; more cells show the same world in finer detail. If the recipe begins with an
    /// elevation model, that is resampled to this number [default: the recipe's].
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 20))]
    pub cells: Option<usize>,
    /// The elevation model to start from, for a recipe that starts from one, such as the preset `aged`.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Reads the elevation model in this unit, even if the file specifies another. A file in degrees is refused in any
    /// case; project it first.
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<UnitWord>,
    /// Builds the world at the size accepted by this program that is nearest to its number of cells, so that `export
    /// --for` need not resample it.
    #[arg(long = "for", value_name = "TARGET", value_parser = target_parser(), conflicts_with_all = ["preview", "from", "tile_dir", "level", "rect"])]
    pub target: Option<String>,
    /// Builds only the coarse levels, up to the first with more than 256 cells on the long side: the same world in less
    /// detail.
    #[arg(long)]
    pub preview: bool,
    /// Seed of the world [default: the recipe's].
    #[arg(long, value_name = "N", value_parser = seed_parser())]
    pub seed: Option<u64>,
    /// Projected coordinate system in metres, such as EPSG:32632, that georeferences the world for GIS; it does not
    /// affect the terrain. Requires --origin.
    #[arg(long, value_name = "EPSG:CODE", requires = "origin", conflicts_with_all = ["tile_dir", "from"])]
    pub crs: Option<String>,
    /// Easting and northing in metres of the world's north-western corner in the coordinate system of --crs.
    #[arg(long, value_name = "X,Y", value_parser = map_point, requires = "crs", allow_hyphen_values = true)]
    pub origin: Option<MapPoint>,
    /// The folder to write into; a name that ends in .zarr makes a Zarr store, which may be larger than memory
    /// [default: worlds/NAME-SEED; for a preview, worlds/NAME-SEED-preview; with knobs, --set, --from, --for or
    /// --until, worlds/NAME-SEED- and six digits of the recipe's hash].
    #[arg(short, long, alias = "out", value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Maximum memory of the process, such as 500M or 2G, if the output is a Zarr store (-o DIR.zarr) [default: the
    /// free memory].
    #[arg(long, value_name = "BYTES", value_parser = parse_byte_count)]
    pub memory: Option<u64>,
    /// Label of the last stage to run; the stages after it are omitted (`thalweg presets NAME` lists labels).
    #[arg(long, value_name = "LABEL")]
    pub until: Option<String>,
    /// Sets a parameter of the stage with this label: LABEL.PARAMETER=VALUE; may be repeated.
    #[arg(long, value_name = "SET", value_parser = parse_name_and_value)]
    pub set: Vec<(String, String)>,
    /// Number format of height.tif and the layers [default: f32].
    #[arg(long = "type", value_name = "TYPE")]
    pub sample: Option<SampleWord>,
    /// Zarr store (-o DIR.zarr): the level to build. Level 0 has the widest cells, and the cells of each further level
    /// are half as wide [default: the recipe's last].
    #[arg(long, value_name = "L", conflicts_with_all = ["tile_dir", "preview", "sample", "from"])]
    pub level: Option<u32>,
    /// Zarr store (-o DIR.zarr): builds only this rectangle of the level: its western, northern, eastern and southern
    /// sides in metres east and south of the world's origin. An endless world requires it.
    #[arg(long, value_name = "W,N,E,S", value_parser = four_numbers, conflicts_with_all = ["tile_dir", "preview", "sample", "from"], allow_hyphen_values = true)]
    pub rect: Option<[f64; 4]>,
    /// Writes tiles into this folder instead of a whole world: LEVEL/COLUMN/ROW.tif. Existing tiles of the same world
    /// are kept.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "preview", "sample", "from"])]
    pub tile_dir: Option<PathBuf>,
    /// Finest level of the tiles of --tile-dir; the coarser levels are also written.
    #[arg(long, value_name = "L", default_value = "0", requires = "tile_dir")]
    pub tile_level: u32,
    /// Writes only the tiles in this rectangle of the world: its western, northern, eastern and southern sides in
    /// metres east and south of the world's origin [default: the whole world].
    #[arg(
        long,
        value_name = "W,N,E,S",
        value_delimiter = ',',
        num_args = 1,
        requires = "tile_dir",
        allow_hyphen_values = true
    )]
    pub tile_within: Vec<f64>,
    #[command(flatten)]
    pub run: RunArgs,
    // The heading of the knobs applies to all arguments after them, so they are last.
    #[command(flatten)]
    pub knobs: KnobArgs,
}

/// `studio`.
#[derive(Args)]
pub struct StudioArgs {
    /// The name of a preset (see `thalweg presets`), a recipe file, or the file of an elevation model.
    #[arg(value_name = "RECIPE|FILE", default_value = "alpine", value_parser = recipe_parser(), hide_possible_values = true)]
    pub recipe: OsString,
    /// Number of cells on the long side [default: the recipe's; for presets, at most 512].
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 20))]
    pub cells: Option<usize>,
    /// Seed of the world [default: the recipe's].
    #[arg(long, value_name = "N", value_parser = seed_parser())]
    pub seed: Option<u64>,
    /// Opens the window without starting the simulation.
    #[arg(long)]
    pub paused: bool,
    /// The folder in which the pictures are saved that you take in the studio [default: the current folder].
    #[arg(long, value_name = "DIR")]
    pub pictures: Option<PathBuf>,
}

/// `generate`.
#[derive(Args)]
pub struct GenerateArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// Numbers of columns and rows of the terrain; a single number makes a square.
    #[arg(long, value_name = "COLS[xROWS]", value_parser = parse_cell_counts)]
    pub cells: CellCounts,
    /// Side of a cell in metres.
    #[arg(long, value_name = "M")]
    pub cell_size: f64,
    #[command(flatten)]
    pub run: RunArgs,
}

/// `apply`.
#[derive(Args)]
pub struct ApplyArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// The file of the elevation model that the model runs over.
    #[arg(index = 2)]
    pub input: PathBuf,
    /// Maximum memory of the process, such as 500M or 2G, if the output is a Zarr store (-o DIR.zarr) [default: the
    /// free memory].
    #[arg(long, value_name = "BYTES", value_parser = parse_byte_count)]
    pub memory: Option<u64>,
    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// A model with its parameters and layers, and the output; shared by `generate` and `apply`.
#[derive(Args)]
pub struct ModelArgs {
    /// The model (see `thalweg models`).
    #[arg(index = 1, value_parser = model_parser(), hide_possible_values = true)]
    pub model: String,
    /// The file to write; its extension determines the format: .tif, .png, .npy, .asc, .exr, .r16 or .r32. With
    /// `apply`, DIR.zarr makes a Zarr store.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Sets a parameter of the model: NAME=VALUE; may be repeated.
    #[arg(long, value_name = "SET", value_parser = parse_name_and_value)]
    pub set: Vec<(String, String)>,
    /// Seed of the model's random numbers.
    #[arg(long, value_name = "N", default_value = "1", value_parser = seed_parser())]
    pub seed: u64,
    /// An input layer of the model, such as a mask: NAME=FILE; may be repeated.
    #[arg(long, value_name = "LAYER", value_parser = named_file())]
    pub layer: Vec<(String, PathBuf)>,
    /// Writes the layers of the result, in addition to the heights, into this folder.
    #[arg(long, value_name = "DIR")]
    pub layers: Option<PathBuf>,
    /// Number format of heights and layers [default: that of the file format].
    #[arg(long = "type", value_name = "TYPE")]
    pub sample: Option<SampleWord>,
    /// Boundary condition of the four sides.
    #[arg(long, default_value = "open")]
    pub edges: EdgeWord,
    /// Sea level in metres; ground at or below it is sea [default: no sea].
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub sea_level: Option<f64>,
}

/// `resume`.
#[derive(Args)]
pub struct ResumeArgs {
    /// The checkpoint file that an interrupted run wrote.
    pub checkpoint: PathBuf,
}

/// The options of commands that run for a long time.
#[derive(Args)]
pub struct RunArgs {
    /// The file in which the run is saved at intervals and on Ctrl-C; `thalweg resume` continues it [default: a file
    /// next to the output, which is written only on Ctrl-C].
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Deletes the checkpoint of an interrupted run and starts again; without this option, the command refuses to
    /// start.
    #[arg(long)]
    pub fresh: bool,
    /// Seconds between two checkpoints [default: 300 if --checkpoint is given, otherwise only on Ctrl-C].
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    pub every: Option<f64>,
    /// Writes a report of the run to this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub frames: FramesArgs,
    #[command(flatten)]
    pub states: StatesArgs,
}

impl RunArgs {
    /// Returns the first given option that does not apply to a map that is written by tiles, into a store or a folder.
    pub fn in_memory_only_option(&self) -> Option<&'static str> {
        let asked = [
            ("--checkpoint", self.checkpoint.is_some()),
            ("--fresh", self.fresh),
            ("--every", self.every.is_some()),
            ("--report", self.report.is_some()),
            ("--frames", self.frames.frames.is_some()),
            ("--save-every", self.states.save_every.is_some()),
        ];
        asked.into_iter().find(|(_, asked)| *asked).map(|(name, _)| name)
    }
}

/// Heights that are saved during a run.
#[derive(Args)]
pub struct StatesArgs {
    /// Saves the heights during the run as GeoTIFFs, with a table of their times: every so many steps of a stage, such
    /// as 20, or simulated years, such as 5000y. Only heights of the last level are saved.
    #[arg(long, value_name = "STEPS|YEARSy")]
    pub save_every: Option<StateInterval>,
    /// The folder of the heights of --save-every [default: `states` in the world's folder; if the output is a file,
    /// NAME_states].
    #[arg(long, value_name = "DIR", requires = "save_every")]
    pub states: Option<PathBuf>,
}

impl StatesArgs {
    /// Converts the arguments to the library's type; returns `None` if no states were requested.
    pub fn to_states(&self, ending: &Ending, recipe: &Recipe) -> Result<Option<States>> {
        let Some(every) = self.save_every else { return Ok(None) };
        // States have the sample type of the final heights.
        let (by_itself, sample) = match ending {
            Ending::World { dir, sample, .. } => (dir.join("states"), *sample),
            Ending::File { output, sample, .. } => {
                let mut name = output.with_extension("").into_os_string();
                name.push("_states");
                (name.into(), *sample)
            }
        };
        States::new(self.states.as_deref().unwrap_or(&by_itself), every, sample, recipe).map(Some)
    }
}

/// Pictures that are drawn during a run.
#[derive(Args)]
pub struct FramesArgs {
    /// Draws shaded maps of the terrain and its water during the run into this folder: frame_00001.png and so on.
    #[arg(long, value_name = "DIR")]
    pub frames: Option<PathBuf>,
    /// Number of steps between two frames.
    #[arg(long, value_name = "K", requires = "frames", default_value = "10", value_parser = clap::value_parser!(u32).range(1..))]
    pub frames_every: u32,
    /// Draws frames only during the stage with this label.
    #[arg(long, value_name = "LABEL", requires = "frames")]
    pub frames_of: Option<String>,
    /// Maximum length of the longer side of a frame in pixels.
    #[arg(long, value_name = "PIXELS", requires = "frames", default_value = "640", value_parser = RangedU64ValueParser::<usize>::new().range(16..=8192))]
    pub frames_size: usize,
    /// Writes an animated PNG of the frames at the end of the run.
    #[arg(long, value_name = "PNG", requires = "frames")]
    pub animation: Option<PathBuf>,
}

impl FramesArgs {
    /// Converts the arguments to the library's type; returns `None` if no frames were requested.
    pub fn to_frames_options(&self) -> Option<FramesOptions> {
        Some(FramesOptions {
            folder: self.frames.clone()?,
            every: self.frames_every,
            of: self.frames_of.clone(),
            size: self.frames_size,
            animation: self.animation.clone(),
        })
    }
}

/// `vary`.
#[derive(Args)]
pub struct VaryArgs {
    /// The name of a preset (see `thalweg presets`) or a recipe file.
    #[arg(value_parser = recipe_parser(), hide_possible_values = true)]
    pub recipe: OsString,
    /// The PNG file to write.
    #[arg(short, long, value_name = "PNG")]
    pub output: PathBuf,
    /// Seeds: a number of seeds, or a list of seeds such as 3,5,8 [default: 9 seeds if nothing else varies].
    #[arg(long, value_name = "N|LIST")]
    pub seeds: Option<String>,
    /// Seed of the worlds; if --seeds is a number, the first seed [default: the recipe's].
    #[arg(long, value_name = "N", value_parser = seed_parser())]
    pub seed: Option<u64>,
    /// Values of a parameter of the stage with this label: LABEL.PARAMETER=VALUE,VALUE,…; a single value applies to all
    /// worlds. May be repeated.
    #[arg(long, value_name = "SET", value_parser = parse_name_and_value)]
    pub set: Vec<(String, String)>,
    /// Number of cells on the long side [default: about 256; for a recipe with levels, its nearest level].
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 20))]
    pub cells: Option<usize>,
    /// Label of the last stage to run; the stages after it are omitted (`thalweg presets NAME` lists labels).
    #[arg(long, value_name = "LABEL")]
    pub until: Option<String>,
    /// Draws perspective views instead of shaded maps.
    #[arg(long)]
    pub view: bool,
    /// Width of each picture in pixels.
    #[arg(long, value_name = "PIXELS", default_value = "256", value_parser = RangedU64ValueParser::<usize>::new().range(32..=2048))]
    pub pixels: usize,
    /// A line of text above the sheet.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    #[command(flatten)]
    pub look: OperationArgs<LookOptions>,
    // The heading of the knobs applies to all arguments after them, so they are last.
    #[command(flatten)]
    pub knobs: KnobArgs,
}
