//! Commands that run models.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use thalweg_core::{MapPoint, Result};
use thalweg_export::world_folder::{Ending, FramesOptions, StateEvery, States};
use thalweg_sim::recipe::Recipe;

use super::export::targets;
use super::knobs::KnobArgs;
use super::pictures::LookArgs;
use super::shared::{LoadArgs, VoiceArgs};
use super::values::{
    EdgeWord, Sample, Sides, UnitWord, bytes, four_numbers, map_point, models, named_file, pair, recipes, seconds,
    seed, sides, threads,
};

/// `build`.
#[derive(Args)]
pub struct Build {
    /// A preset's name (see `thalweg presets`) or a recipe file.
    #[arg(default_value = "alpine", value_parser = recipes(), hide_possible_values = true)]
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
    /// Build it of a size that this program takes, the nearest to its cells, so that `export --for` it writes each cell as it is.
    #[arg(long = "for", value_name = "TARGET", value_parser = targets(), conflicts_with_all = ["preview", "from", "tile_dir", "level", "rect"])]
    pub target: Option<String>,
    /// Build the first levels only, up to the first with more than 256 cells on the long side: the same land, coarser.
    #[arg(long)]
    pub preview: bool,
    /// The world's seed.
    #[arg(long, value_name = "N", value_parser = seed())]
    pub seed: Option<u64>,
    /// Lay the world on Earth, for GIS: a projected coordinate system in metres, such as EPSG:32632; the land is the same everywhere.
    #[arg(long, value_name = "EPSG:CODE", requires = "origin", conflicts_with_all = ["tile_dir", "from"])]
    pub crs: Option<String>,
    /// Easting and northing of its north-western corner there.
    #[arg(long, value_name = "X,Y", value_parser = map_point, requires = "crs", allow_hyphen_values = true)]
    pub origin: Option<MapPoint>,
    /// The folder to write into [default: worlds/NAME-SEED; of a preview NAME-SEED-preview; with knobs, --set, --from or --until
    /// NAME-SEED- and six digits of what the world is made from].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Most memory that the process takes, such as 500M or 2G, where the world goes into a store [default: what is free].
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub memory: Option<u64>,
    /// Leave out the stages after this one.
    #[arg(long, value_name = "LABEL")]
    pub until: Option<String>,
    /// Set a parameter of a stage: LABEL.PARAMETER=VALUE.
    #[arg(long, value_name = "SET", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// How height.tif and the layers are stored: f64 is exact.
    #[arg(long = "type", value_name = "TYPE")]
    pub sample: Option<Sample>,
    /// Of a store (--out X.zarr): the level that is built; 0 has the recipe's widest cells, each further one cells of half the width [default: the
    /// recipe's last].
    #[arg(long, value_name = "L", conflicts_with_all = ["tile_dir", "preview", "sample", "from"])]
    pub level: Option<u32>,
    /// Of a store: this part of the level alone, in the world's metres eastward and southward; a world without end is built so.
    #[arg(long, value_name = "W,N,E,S", value_parser = four_numbers, conflicts_with_all = ["tile_dir", "preview", "sample", "from"], allow_hyphen_values = true)]
    pub rect: Option<[f64; 4]>,
    /// Write tiles into this folder instead of one world: LEVEL/COLUMN/ROW.tif. What is there of the same world already is kept.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "preview", "sample", "from"])]
    pub tile_dir: Option<PathBuf>,
    /// The finest level of the tiles; those before it are written too.
    #[arg(long, value_name = "L", default_value = "0", requires = "tile_dir")]
    pub tile_level: u32,
    /// Tiles of this part of the world alone, in its metres eastward and southward [default: the whole world].
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
    pub knobs: KnobArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// `studio`.
#[derive(Args)]
pub struct Studio {
    /// A preset's name (see `thalweg presets`), a recipe file, or an elevation model.
    #[arg(value_name = "RECIPE|FILE", default_value = "alpine", value_parser = recipes(), hide_possible_values = true)]
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
    /// Most memory that the process takes, such as 500M or 2G, where the result goes into a store [default: what is free].
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub memory: Option<u64>,
    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// A model with its parameters and layers, and where the result goes; `generate` and `apply` share it.
#[derive(Args)]
pub struct ModelArgs {
    /// The model (see `thalweg models`).
    #[arg(index = 1, value_parser = models(), hide_possible_values = true)]
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
    pub states: StatesArgs,
    #[command(flatten)]
    pub voice: VoiceArgs,
}

impl RunArgs {
    /// What was asked for that a map written by tiles, into a store or a folder, has no place for.
    pub fn of_a_whole(&self) -> Option<&'static str> {
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

/// Heights of a run under way.
#[derive(Args)]
pub struct StatesArgs {
    /// Keep the heights as the run goes, as GeoTIFFs with a table of their times: every so many steps of a stage (20), or simulated years (5000y).
    /// Of a world in levels those of the last one are kept.
    #[arg(long, value_name = "STEPS|YEARSy")]
    pub save_every: Option<StateEvery>,
    /// The folder that they go into [default: `states` in the world's folder; of a file NAME_states].
    #[arg(long, value_name = "DIR", requires = "save_every")]
    pub states: Option<PathBuf>,
}

impl StatesArgs {
    /// As the library takes it, if states are wanted.
    pub fn of(&self, ending: &Ending, recipe: &Recipe) -> Result<Option<States>> {
        let Some(every) = self.save_every else { return Ok(None) };
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

impl FramesArgs {
    /// As the library takes it, if frames are wanted.
    pub fn options(&self) -> Option<FramesOptions> {
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
pub struct Vary {
    /// A preset's name (see `thalweg presets`) or a recipe file.
    #[arg(value_parser = recipes(), hide_possible_values = true)]
    pub recipe: OsString,
    /// The PNG to write.
    #[arg(short, long, value_name = "PNG")]
    pub output: PathBuf,
    /// Seeds: a number of them, from the recipe's own on, or a list [default: 9 where nothing else varies].
    #[arg(long, value_name = "N|LIST")]
    pub seeds: Option<String>,
    /// The first of the seeds.
    #[arg(long, value_name = "N", value_parser = seed())]
    pub seed: Option<u64>,
    /// Values of a parameter of a stage: LABEL.PARAMETER=VALUE,VALUE,…; one value sets it in all pictures.
    #[arg(long, value_name = "SET", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// Cells on the long side [default: 256, or the recipe's level that is nearest].
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 20))]
    pub cells: Option<usize>,
    /// Leave out the stages after this one.
    #[arg(long, value_name = "LABEL")]
    pub until: Option<String>,
    /// Draw perspective views instead of maps.
    #[arg(long)]
    pub view: bool,
    /// Width of each picture in pixels.
    #[arg(long, value_name = "PIXELS", default_value = "256", value_parser = RangedU64ValueParser::<usize>::new().range(32..=2048))]
    pub pixels: usize,
    /// A line above the sheet.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Threads to work with [default: all cores]; the result does not depend on it.
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub knobs: KnobArgs,
    #[command(flatten)]
    pub look: LookArgs,
    #[command(flatten)]
    pub voice: VoiceArgs,
}
