//! Commands that work tile by tile, on one machine or in the queue of a cluster.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;

use super::shared::{DrainageArgs, LoadArgs, VoiceArgs};
use super::values::{bytes, four_numbers, layers, named_file, pair, seed, threads};

/// Side of a tile in cells, if nothing is said.
pub const TILE: usize = 1024;

/// `plan`.
#[derive(Args)]
pub struct Plan {
    /// `drain` and an elevation model, whose drainage is to be worked out; `build` and a preset or recipe, whose world is to be built; `apply`, a model
    /// and an elevation model. Before an elevation model alone `drain` may be left out, before a preset or recipe `build`.
    #[arg(value_name = "WORK", required = true, num_args = 1..=3)]
    pub work: Vec<OsString>,
    /// The plan to write.
    #[arg(short, long, value_name = "PLAN.json")]
    pub output: PathBuf,
    /// The store that the work goes into [default: the plan's name with .zarr].
    #[arg(long, value_name = "DIR.zarr")]
    pub store: Option<PathBuf>,
    /// Cells of a tile's side, which is a shard of the store.
    #[arg(long, value_name = "N", default_value_t = TILE)]
    pub tile: usize,
    /// Most memory that a process takes that does a part of the work on one thread, such as 500M: tiles are smaller where they must.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub memory: Option<u64>,
    /// Cells on the long side of a world.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 24))]
    pub cells: Option<usize>,
    /// The level of a world that is built [default: the recipe's last].
    #[arg(long, value_name = "L")]
    pub level: Option<u32>,
    /// This part of the level alone, in the world's metres eastward and southward.
    #[arg(long, value_name = "W,N,E,S", value_parser = four_numbers, allow_hyphen_values = true)]
    pub rect: Option<[f64; 4]>,
    /// The world's seed, or that of a model's random numbers.
    #[arg(long, value_name = "N", value_parser = seed())]
    pub seed: Option<u64>,
    /// Set a parameter of the model: NAME=VALUE.
    #[arg(long, value_name = "SET", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// An input layer of the model: NAME=FILE.
    #[arg(long, value_name = "LAYER", value_parser = named_file())]
    pub layer: Vec<(String, PathBuf)>,
    #[command(flatten)]
    pub drainage: DrainageArgs,
    #[command(flatten)]
    pub voice: VoiceArgs,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// `stage`.
#[derive(Args)]
pub struct Stage {
    /// A plan that `plan` wrote.
    pub plan: PathBuf,
    /// The stage, by its name in the plan.
    pub stage: String,
    /// Number of the tile, or `solve` for what follows from all tiles of the stage.
    #[arg(value_name = "TILE|solve")]
    pub tile: String,
    /// Threads to work with [default: 1; of `solve` all cores]; the result does not depend on it.
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    /// Refuse a plan whose parts take more memory, such as 500M.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub memory: Option<u64>,
    #[command(flatten)]
    pub voice: VoiceArgs,
}

/// `verify`.
#[derive(Args)]
pub struct Verify {
    /// A store.
    pub store: PathBuf,
    /// Decode every tile, in place of comparing the hashes of its bytes.
    #[arg(long, conflicts_with = "quick")]
    pub deep: bool,
    /// Look at lengths alone.
    #[arg(long)]
    pub quick: bool,
    /// Make anew what is missing or altered, and nothing else.
    #[arg(long)]
    pub mend: bool,
    /// Threads to work with [default: all cores].
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub voice: VoiceArgs,
}

/// `layer`.
#[derive(Args)]
pub struct Layer {
    /// A store.
    pub store: PathBuf,
    /// The layer's name.
    #[arg(value_parser = layers(), hide_possible_values = true)]
    pub layer: String,
    /// The file to write, a cloud-optimised GeoTIFF.
    #[arg(short, long, value_name = "FILE.tif")]
    pub output: PathBuf,
    /// Cells of the store to a side of the file's: a look at the whole.
    #[arg(long, value_name = "N", default_value = "1")]
    pub coarser: usize,
}
