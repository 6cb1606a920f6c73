//! The arguments of commands that work tile by tile, on one machine or in the queue of a cluster.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use thalweg_export::survey::DrainOptions;

use super::declared::StoreOperationArgs;
use super::shared::{LoadArgs, MapArgs};
use super::values::{four_numbers, layer_parser, named_file, parse_byte_count, parse_name_and_value, seed_parser};

/// The default side of a tile in cells.
pub const TILE: usize = 1024;

/// `plan`.
#[derive(Args)]
pub struct PlanArgs {
    /// The work: `drain` and an elevation model, whose drainage is computed; `build` and a preset or recipe, whose
    /// world is built; or `apply`, a model and an elevation model. If the only argument is an elevation model, `drain`
    /// may be omitted; if it is a preset or recipe, `build` may be.
    #[arg(value_name = "WORK", required = true, num_args = 1..=3)]
    pub work: Vec<OsString>,
    /// The plan file to write.
    #[arg(short, long, value_name = "PLAN.json")]
    pub output: PathBuf,
    /// The store to write [default: the plan's name with .zarr].
    #[arg(long, value_name = "DIR.zarr")]
    pub store: Option<PathBuf>,
    /// Side of a tile in cells; a tile is a shard of the store.
    #[arg(long, value_name = "N", default_value_t = TILE)]
    pub tile: usize,
    /// Maximum memory of a process that does a part of the work on one thread, such as 500M; tiles become smaller if
    /// necessary.
    #[arg(long, value_name = "BYTES", value_parser = parse_byte_count)]
    pub memory: Option<u64>,
    /// Number of cells on the long side of a world.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 24))]
    pub cells: Option<usize>,
    /// The level of a world to build [default: the recipe's last].
    #[arg(long, value_name = "L")]
    pub level: Option<u32>,
    /// Builds only this part of the level, in the world's metres eastward and southward.
    #[arg(long, value_name = "W,N,E,S", value_parser = four_numbers, allow_hyphen_values = true)]
    pub rect: Option<[f64; 4]>,
    /// Seed of the world, or of the model's random numbers.
    #[arg(long, value_name = "N", value_parser = seed_parser())]
    pub seed: Option<u64>,
    /// Sets a parameter of the model: NAME=VALUE.
    #[arg(long, value_name = "SET", value_parser = parse_name_and_value)]
    pub set: Vec<(String, String)>,
    /// An input layer of the model: NAME=FILE.
    #[arg(long, value_name = "LAYER", value_parser = named_file())]
    pub layer: Vec<(String, PathBuf)>,
    #[command(flatten)]
    pub drainage: StoreOperationArgs<DrainOptions>,
    #[command(flatten)]
    pub map: MapArgs,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// `stage`.
#[derive(Args)]
pub struct StageArgs {
    /// A plan that `plan` wrote.
    pub plan: PathBuf,
    /// The name of the stage in the plan.
    pub stage: String,
    /// The number of the tile, or `solve` for the solution that follows from all tiles of the stage.
    #[arg(value_name = "TILE|solve")]
    pub tile: String,
    /// Refuses a plan whose parts need more memory than this, such as 500M.
    #[arg(long, value_name = "BYTES", value_parser = parse_byte_count)]
    pub memory: Option<u64>,
}

/// `verify`.
#[derive(Args)]
pub struct VerifyArgs {
    /// The store.
    pub store: PathBuf,
    /// Decodes every tile instead of comparing the hashes of its bytes.
    #[arg(long, conflicts_with = "quick")]
    pub deep: bool,
    /// Checks lengths only.
    #[arg(long)]
    pub quick: bool,
    /// Recreates missing or altered tiles and files, and nothing else.
    #[arg(long)]
    pub mend: bool,
}

/// `layer`.
#[derive(Args)]
pub struct LayerArgs {
    /// The store.
    pub store: PathBuf,
    /// The name of the layer.
    #[arg(value_parser = layer_parser(), hide_possible_values = true)]
    pub layer: String,
    /// The file to write, a cloud-optimised GeoTIFF.
    #[arg(short, long, value_name = "FILE.tif")]
    pub output: PathBuf,
    /// Number of cells of the store along the side of one cell of the file, for an overview of the whole.
    #[arg(long, value_name = "N", default_value = "1")]
    pub coarser: usize,
}
