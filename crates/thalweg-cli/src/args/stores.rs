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
    /// The work: `drain FILE` computes the drainage of an elevation model, `build RECIPE` builds the world of a preset
    /// or recipe, and `apply MODEL FILE` runs a model over an elevation model. The words `drain` and `build` may be
    /// omitted.
    #[arg(value_name = "WORK", required = true, num_args = 1..=3)]
    pub work: Vec<OsString>,
    /// The plan file to write; `stage` does the parts of the work that it lists.
    #[arg(short, long, value_name = "PLAN.json")]
    pub output: PathBuf,
    /// The Zarr store that the work is written to [default: the plan's name with .zarr].
    #[arg(long, value_name = "DIR.zarr")]
    pub store: Option<PathBuf>,
    /// Side of a tile in cells; each tile is a shard of the store.
    #[arg(long, value_name = "N", default_value_t = TILE)]
    pub tile: usize,
    /// Maximum memory of a process that does a part of the work on one thread, such as 500M; tiles become smaller if
    /// necessary.
    #[arg(long, value_name = "BYTES", value_parser = parse_byte_count)]
    pub memory: Option<u64>,
    /// Number of cells on the long side of a world that is built [default: the recipe's].
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 24))]
    pub cells: Option<usize>,
    /// The level of a world to build; level 0 has the widest cells [default: the recipe's last].
    #[arg(long, value_name = "L")]
    pub level: Option<u32>,
    /// Builds only this rectangle of the level: its western, northern, eastern and southern sides in metres east and
    /// south of the world's origin.
    #[arg(long, value_name = "W,N,E,S", value_parser = four_numbers, allow_hyphen_values = true)]
    pub rect: Option<[f64; 4]>,
    /// Seed of the world, or of the model's random numbers [default: the recipe's; for `apply`, 1].
    #[arg(long, value_name = "N", value_parser = seed_parser())]
    pub seed: Option<u64>,
    /// Sets a parameter of the model of `apply`: NAME=VALUE; may be repeated.
    #[arg(long, value_name = "SET", value_parser = parse_name_and_value)]
    pub set: Vec<(String, String)>,
    /// An input layer of the model of `apply`: NAME=FILE; may be repeated.
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
    /// The name of a stage that the plan file lists.
    pub stage: String,
    /// The number of a tile, or `solve` for the step that combines all tiles of the stage when they are done.
    #[arg(value_name = "TILE|solve")]
    pub tile: String,
    /// Exits with an error if the part may need more memory than this, such as 500M.
    #[arg(long, value_name = "BYTES", value_parser = parse_byte_count)]
    pub memory: Option<u64>,
}

/// `verify`.
#[derive(Args)]
pub struct VerifyArgs {
    /// The Zarr store (DIR.zarr).
    pub store: PathBuf,
    /// Decodes every tile, in addition to comparing the hashes of its bytes.
    #[arg(long, conflicts_with = "quick")]
    pub deep: bool,
    /// Compares only the lengths of files, which is faster.
    #[arg(long)]
    pub quick: bool,
    /// Recreates the missing or altered tiles and files; intact ones stay as they are.
    #[arg(long)]
    pub mend: bool,
}

/// `layer`.
#[derive(Args)]
pub struct LayerArgs {
    /// The Zarr store (DIR.zarr).
    pub store: PathBuf,
    /// The name of the layer.
    #[arg(value_parser = layer_parser(), hide_possible_values = true)]
    pub layer: String,
    /// The file to write, a cloud-optimised GeoTIFF.
    #[arg(short, long, value_name = "FILE.tif")]
    pub output: PathBuf,
    /// Factor by which the cells of the file are wider than those of the store, for an overview of a large map.
    #[arg(long, value_name = "N", default_value = "1")]
    pub coarser: usize,
}
